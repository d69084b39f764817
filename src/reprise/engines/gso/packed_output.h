// The output layer on packed rows, OUTPUT_ROWS at a time: logits, softmax and derivatives stay in the caches.
#pragma once
#include <cmath>
#include "packed_products.h"

constexpr int OUTPUT_ROWS = 64;
constexpr float NEVER = -1e30f;  // the logit of what fills up the last vector

struct OutputLayer {
  Weights V;       // (symbols, H)
  SymbolRows c;    // one row
  Floats logits;   // of OUTPUT_ROWS rows; after `forward` exponentials, after `backward` the loss's derivatives
  Floats panels;   // of as many states
  Floats share;    // of every row of the batch
  double sums[OUTPUT_ROWS];

  long stride() const { return c.width() + LANES; }

  void resize(int symbols, int H) {
    V.resize(symbols, H), c.resize(1, symbols);
    std::fill(c.values.data + symbols, c.values.data + c.width(), NEVER);
    logits.reserve(OUTPUT_ROWS * stride()), panels.reserve((size_t)OUTPUT_ROWS * vectors(H) * LANES);
  }

  // The rows of every step are those of lines 0, 1, ...
  void set_shares(const float* of_lines, const int64_t* starts, int64_t steps) {
    share.reserve(starts[steps]);
    for (int64_t t = 0; t < steps; t++)
      std::memcpy(share.data + starts[t], of_lines, sizeof(float) * (starts[t + 1] - starts[t]));
  }

  // The summed loss of some rows in nats; also row by row, and the most probable symbols, where asked for.
  double forward(const float* h, long h_row, int rows, const int32_t* targets, float* nats, int32_t* best) {
    multiply(h, h_row, rows, V.k, V.by_row.data, V.n, logits.data, stride(), false);
    double loss = 0;
    for (int i = 0; i < rows; i++) {
      float* l = logits.data + i * stride();
      vec top = broadcast(NEVER);
      for (int j = 0; j < c.width(); j += LANES) {
        const vec z = load(l + j) + load(c.values.data + j);
        store(l + j, z);
        top = max(top, z);
      }
      const float maximum = largest(top), target = l[targets[i]];
      if (best) best[i] = std::max_element(l, l + V.n) - l;
      vec sum = zeros();
      for (int j = 0; j < c.width(); j += LANES) {
        const vec e = exp(load(l + j) - maximum);
        store(l + j, e);
        sum += e;
      }
      sums[i] = 0;
      for (int lane = 0; lane < LANES; lane++) sums[i] += sum[lane];
      const double loss_of_row = std::log(sums[i]) + ((double)maximum - target);
      if (nats) nats[i] = loss_of_row;
      loss += loss_of_row;
    }
    return loss;
  }

  // After `forward` on the same rows, the first of them row `first` of the batch: dh, and adds to the gradients.
  void backward(const float* h, long h_row, int rows, const int32_t* targets, int64_t first, float* dh, long dh_row) {
    for (int i = 0; i < rows; i++) {
      float *l = logits.data + i * stride(), weight = share.data[first + i], scale = weight / sums[i];
      for (int j = 0; j < c.width(); j += LANES) store(l + j, load(l + j) * scale);
      l[targets[i]] -= weight;
    }
    multiply(logits.data, stride(), rows, V.n, V.by_column.data, V.k, dh, dh_row, false);
    pack_panels(rows, V.k, panels.data, [&](int i, int j) { return load(h + i * h_row + j); });
    add_transposed(logits.data, stride(), V.n, rows, panels.data, V.k, V.gradient.data);
    for (int j = 0; j < c.width(); j += LANES) {
      vec sum = zeros();
      for (int i = 0; i < rows; i++) sum += load(logits.data + i * stride() + j);
      store(c.gradient.data + j, load(c.gradient.data + j) + sum);
    }
  }
};
