// The normaliser over classes, and the expected minus the observed features: models/loglinear.py, equations (13), (16).
//
// LANES rows of the batch are computed side by side, one in each lane: a class is then a few additions of whole
// vectors, and no product with the matrix of tags is needed.
#pragma once
#include <algorithm>
#include <cmath>
#include "floats.h"
#include "loglinear_products.h"

struct Classes {  // C classes; class c < M has the feature c, others the feature M if there are identities
  int C, M, identities, features;
  const int64_t *indptr, *indices;  // the other features of each class, by their numbers
  const float* log_mass;
};

struct ClassSoftmax {
  const Classes& k;
  float *a, *da, *z;  // [features][LANES] twice, [C][LANES]

  // rows (count <= LANES, features) into lanes, or back.
  void load_rows(const float* rows, int count) const {
    for (int f = 0; f < k.features; f += LANES) {
      vec block[LANES];
      for (int i = 0; i < LANES; i++)
        block[i] = i < count ? load_partial(rows + (long)i * k.features + f, k.features - f) : zeros();
      transpose(block);
      for (int i = 0; i < std::min(LANES, k.features - f); i++) store(a + (f + i) * LANES, block[i]);
    }
  }
  void store_rows(float* rows, int count) const {
    for (int f = 0; f < k.features; f += LANES) {
      vec block[LANES];
      for (int i = 0; i < LANES; i++) block[i] = f + i < k.features ? load(da + (f + i) * LANES) : zeros();
      transpose(block);
      for (int i = 0; i < count; i++) store_partial(rows + (long)i * k.features + f, block[i], k.features - f);
    }
  }

  vec compute_scores() const {
    vec most = broadcast(-INFINITY);
    for (int c = 0; c < k.C; c++) {
      vec v = broadcast(k.log_mass[c]);
      if (k.identities) v += load(a + std::min(c, k.M) * LANES);
      for (int64_t i = k.indptr[c]; i < k.indptr[c + 1]; i++) v += load(a + k.indices[i] * LANES);
      store(z + c * LANES, v);
      most = max(v, most);
    }
    return most;
  }

  void compute_exponentials(vec most, double* total) const {
    std::fill(total, total + LANES, 0.);
    for (int c = 0; c < k.C;) {
      vec sum{};  // of so few numbers that float32 is enough
      for (const int stop = std::min(k.C, c + 64); c < stop; c++) {
        const vec e = exp(load(z + c * LANES) - most);
        store(z + c * LANES, e);
        sum += e;
      }
      for (int l = 0; l < LANES; l++) total[l] += sum[l];
    }
  }

  // z holds weight * (p - 1 at the target): by the features of each class.
  void compute_feature_gradients() const {
    std::fill(da, da + (long)k.features * LANES, 0.f);
    vec rest{};
    for (int c = 0; c < k.C; c++) {
      const vec d = load(z + c * LANES);
      if (c < k.M) store(da + c * LANES, d);
      else rest += d;
      for (int64_t i = k.indptr[c]; i < k.indptr[c + 1]; i++) {
        float* f = da + k.indices[i] * LANES;
        store(f, load(f) + d);
      }
    }
    if (k.identities) store(da + k.M * LANES, rest);
  }

  // Rows a (count, features), targets (count,) classes: derivatives, and -log p of the classes in nats.
  void run(const float* rows, int count, const int64_t* target, float weight, float* out, double* losses) const {
    load_rows(rows, count);
    const vec most = compute_scores();
    double at_target[LANES], total[LANES];
    for (int l = 0; l < count; l++) at_target[l] = (double)z[target[l] * LANES + l] - most[l];
    compute_exponentials(most, total);
    vec factor{};
    for (int l = 0; l < count; l++) {
      losses[l] = std::log(total[l]) - at_target[l];
      factor[l] = (float)(weight / total[l]);
    }
    if (!out) return;
    for (int c = 0; c < k.C; c++) store(z + c * LANES, load(z + c * LANES) * factor);
    for (int l = 0; l < count; l++) z[target[l] * LANES + l] -= weight;
    compute_feature_gradients();
    store_rows(out, count);
  }
};
