// Elman and LSTM over a batch of sequences with a loss on the last state: h(T), and the gradients from dh(T).
//
// W_h and its gradient lie in the L2 cache from the first step to the last; what the backward pass needs of the forward
// pass streams through memory once in each direction. Everything is summed in a fixed order.
//
// Rows are padded to whole tiles: padded columns of the weights are 0, and padded columns of dz are kept at 0, where 0
// * infinity would make them NaN and reach the others.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include "activations.h"
#include "denormals.h"
#include "floats.h"
#include "products.h"

// The recurrent layers themselves: what stands between the products, for a few rows of the batch and one tile.
//
// A tile of WIDE columns of z = W_x x + W_h h + b is four vectors of units (Elman), or one vector of units with its
// gates g, i, f, o (LSTM). `saved` is what the backward pass needs of a step beside h.

// h = tanh(z)   (models/elman.py)
struct ElmanLayer {
  static constexpr int GATES = 1, UNITS = WIDE, SAVED = 0;  // per tile and row

  static int unit(int column) { return column; }
  static int gate(int) { return 0; }

  // z (WIDE) -> h (UNITS).
  static INLINE void forward(const float* z, const float*, float*, float* h) {
    for (int i = 0; i < WIDE; i += LANES) store(h + i, tanh(load(z + i)));
  }

  // dh (UNITS) -> dz (WIDE).
  static INLINE void backward(const float*, const float*, const float* h, const float* dh, float*, float* dz) {
    for (int i = 0; i < WIDE; i += LANES) {
      const vec y = load(h + i);
      store(dz + i, load(dh + i) * (1.f - y * y));
    }
  }
};

// c = g * i + c(t-1) * f,  h = tanh(c) * o   (models/lstm.py); saved: g, i, f, o, c
struct LSTMLayer {
  static constexpr int GATES = 4, UNITS = LANES, SAVED = 5 * LANES;

  static int unit(int column) { return column / WIDE * LANES + column % LANES; }
  static int gate(int column) { return column / LANES % 4; }

  static INLINE void forward(const float* z, const float* before, float* saved, float* h) {
    const vec g = tanh(load(z)), i = logistic(load(z + LANES));
    const vec f = logistic(load(z + 2 * LANES)), o = logistic(load(z + 3 * LANES));
    const vec c = g * i + load(before + 4 * LANES) * f;
    store(saved, g), store(saved + LANES, i), store(saved + 2 * LANES, f), store(saved + 3 * LANES, o);
    store(saved + 4 * LANES, c);
    store(h, tanh(c) * o);
  }

  // dc: in, what step t+1 left; out, what step t-1 finds. Factors in autograd's order, so that the same ones overflow.
  static INLINE void backward(const float* saved, const float* before, const float*, const float* dh_row, float* dc_row,
                              float* dz) {
    const vec g = load(saved), i = load(saved + LANES), f = load(saved + 2 * LANES), o = load(saved + 3 * LANES);
    const vec tanh_c = tanh(load(saved + 4 * LANES)), dh = load(dh_row);
    const vec dc = load(dc_row) + dh * o * (1.f - tanh_c * tanh_c);
    store(dz, dc * i * (1.f - g * g));
    store(dz + LANES, dc * g * (1.f - i) * i);
    store(dz + 2 * LANES, dc * load(before + 4 * LANES) * (1.f - f) * f);
    store(dz + 3 * LANES, dh * tanh_c * (1.f - o) * o);
    store(dc_row, dc * f);
  }
};

struct Parameters {  // as the readable model has them, GATES n rows in the order of the gates
  float *W_x, *W_h, *b;
};

struct Sequence {
  virtual ~Sequence() = default;
  virtual void forward(const Parameters&, const int64_t* x, int T, int B, float* h_T) = 0;
  virtual void backward(const Parameters& gradients, const int64_t* x, int T, int B, const float* dh_T) = 0;
};

template <class Layer> struct SequenceOf : Sequence {
  const int d, n;                     // symbols, units
  const int width, columns, z_row;    // padded units, padded columns of z, row of dz (no power of 2: cache sets)
  const int wide, tiles;              // tiles of WIDE columns, and of TILE
  Floats W_down, W_up, Wx;            // W_h' in tiles of WIDE, W_h in tiles of TILE, W_x' + b by symbol
  Floats h, saved;                    // [T+1][B][h_row], [T+1][wide][B][SAVED]
  Floats dh, dc, dz, dW, dWx;

  SequenceOf(int d, int n)
      : d(d), n(n), width(rounded_up(n, std::max<int>(Layer::UNITS, TILE))), columns(Layer::GATES * width),
        z_row(columns + LANES), wide(columns / WIDE), tiles(width / TILE) {
    W_down.reserve((size_t)columns * n), W_up.reserve((size_t)columns * width), dW.reserve((size_t)columns * width);
    Wx.reserve((size_t)d * columns), dWx.reserve((size_t)d * columns);
  }

  long h_row() const { return width + LANES; }
  float* state(int t, int B) const { return h.data + (size_t)t * B * h_row(); }
  float* record(int t, int B) const { return saved.data + (size_t)t * B * wide * Layer::SAVED; }

  // f(column, row of the readable parameters) for every column that is not padding.
  template <class F> void for_each_column(F&& f) const {
    for (int k = 0; k < columns; k++)
      if (Layer::unit(k) < n) f(k, Layer::gate(k) * n + Layer::unit(k));
  }
  float* up(const Floats& matrix, int column, int j) const {
    return matrix.data + ((size_t)(j / TILE) * columns + column) * TILE + j % TILE;
  }

  void pack(const Parameters& p) {
    for_each_column([&](int k, int row) {
      const float* w = p.W_h + (size_t)row * n;
      float* down = W_down.data + (size_t)(k / WIDE) * n * WIDE + k % WIDE;
      for (int j = 0; j < n; j++) down[(size_t)j * WIDE] = w[j];
      for (int j = 0; j < n; j += TILE) std::memcpy(up(W_up, k, j), w + j, sizeof(float) * std::min(TILE, n - j));
      for (int s = 0; s < d; s++) Wx.data[(size_t)s * columns + k] = p.W_x[(size_t)row * d + s] + p.b[row];
    });
  }

  void forward(const Parameters& p, const int64_t* x, int T, int B, float* h_T) override {
    pack(p);
    h.reserve((size_t)(T + 1) * B * h_row());
    saved.reserve(1 + (size_t)(T + 1) * B * wide * Layer::SAVED);
    std::memset(state(0, B), 0, sizeof(float) * B * h_row());
    std::memset(record(0, B), 0, sizeof(float) * B * wide * Layer::SAVED);
    for (int t = 1; t <= T; t++, x += B)
      for (int k = 0; k < wide; k++)
        for_each_block<WIDE_ROWS>(B, [&](auto rows, int b) { step_forward<rows>(x, t, B, k, b); });
    for (int b = 0; b < B; b++) std::memcpy(h_T + (size_t)b * n, state(T, B) + b * h_row(), sizeof(float) * n);
  }

  // Rows b .. b+R-1 and tile k of step t, x its symbols.
  template <int R> void step_forward(const int64_t* x, int t, int B, int k, int b) {
    alignas(64) float z[R * WIDE];
    const float* start[R];
    for (int r = 0; r < R; r++) start[r] = Wx.data + x[b + r] * columns + k * WIDE;
    multiply_wide<R>(start, state(t - 1, B) + b * h_row(), h_row(), n, W_down.data + (size_t)k * n * WIDE, z);
    const size_t at = ((size_t)k * B + b) * Layer::SAVED;
    const float* before = record(t - 1, B) + at;
    float* now = record(t, B) + at;
    float* out = state(t, B) + b * h_row() + k * Layer::UNITS;
    for (int r = 0; r < R; r++)
      Layer::forward(z + r * WIDE, before + r * Layer::SAVED, now + r * Layer::SAVED, out + r * h_row());
  }

  void backward(const Parameters& gradients, const int64_t* x, int T, int B, const float* dh_T) override {
    for (Floats* f : {&dh, &dc}) f->reserve((size_t)B * width), std::memset(f->data, 0, sizeof(float) * B * width);
    for (Floats* f : {&dW, &dWx}) std::memset(f->data, 0, sizeof(float) * f->size);
    dz.reserve((size_t)B * z_row);
    for (int b = 0; b < B; b++) std::memcpy(dh.data + (size_t)b * width, dh_T + (size_t)b * n, sizeof(float) * n);
    for (int t = T; t >= 1; t--) {
      step_backward(x + (size_t)(t - 1) * B, t, B);
      add_transposed_product(dz.data, z_row, columns, state(t - 1, B), h_row(), B, dW.data, tiles,
                             {record(t - 1, B), record(t, B)});
      if (t > 1) multiply_tiles(dz.data, z_row, B, columns, W_up.data, tiles, dh.data);
    }
    unpack(gradients);
  }

  // dz of step t from dh, and its sum by symbol.
  void step_backward(const int64_t* x, int t, int B) {
    for (int k = 0; k < wide; k++)
      for (int b = 0; b < B; b++) {
        const size_t at = ((size_t)k * B + b) * Layer::SAVED, unit = (size_t)b * width + k * Layer::UNITS;
        float* out = dz.data + (size_t)b * z_row + k * WIDE;
        Layer::backward(record(t, B) + at, record(t - 1, B) + at, state(t, B) + b * h_row() + k * Layer::UNITS,
                        dh.data + unit, dc.data + unit, out);
        for (int i = 0; i < WIDE; i++)
          if (k * Layer::UNITS + Layer::UNITS > n && Layer::unit(k * WIDE + i) >= n) out[i] = 0;
        float* sum = dWx.data + x[b] * columns + k * WIDE;
        for (int i = 0; i < WIDE; i += LANES) store(sum + i, load(sum + i) + load(out + i));
      }
  }

  void unpack(const Parameters& gradients) const {
    for_each_column([&](int k, int row) {
      float *w = gradients.W_h + (size_t)row * n, sum = 0;
      for (int j = 0; j < n; j += TILE) std::memcpy(w + j, up(dW, k, j), sizeof(float) * std::min(TILE, n - j));
      for (int s = 0; s < d; s++) sum += gradients.W_x[(size_t)row * d + s] = dWx.data[(size_t)s * columns + k];
      gradients.b[row] = sum;
    });
  }
};

extern "C" {

Sequence* reprise_sequence(int gates, int d, int n) {
  if (gates == 4) return new SequenceOf<LSTMLayer>(d, n);
  return new SequenceOf<ElmanLayer>(d, n);
}
void reprise_sequence_free(Sequence* s) { delete s; }

// Symbols x (T, B) -> h(T) (B, n).
void reprise_sequence_forward(Sequence* s, const Parameters* p, const int64_t* x, int T, int B, float* h_T) {
  const DenormalsAreZero guard;
  s->forward(*p, x, T, B, h_T);
}

// dh(T) (B, n) -> the gradients; after the forward pass over the same x.
void reprise_sequence_backward(Sequence* s, const Parameters* g, const int64_t* x, int T, int B, const float* dh_T) {
  const DenormalsAreZero guard;
  s->backward(*g, x, T, B, dh_T);
}
}
