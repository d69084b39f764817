// An LSTM layer of models/loglinear.py over a window: products with U and the gates in one pass, forward and back.
//
// U' and U lie in tiles, packed anew in each direction, since the weights change with every step. Arrays of the caller
// are (T, B, H) or (T, B, 4H), the gates i, f, g, o side by side.
#pragma once
#include <algorithm>
#include "floats.h"
#include "loglinear_products.h"

INLINE vec hard_sigmoid(vec v) {
  v = v * 0.2f + 0.5f;
  v = v < 0.f ? zeros() : v;
  return v > 1.f ? broadcast(1.f) : v;
}
// Its derivative, from its value.
INLINE vec hard_slope(vec s) { return (s > 0.f) & (s < 1.f) ? broadcast(0.2f) : zeros(); }

struct Window {  // what a layer reads and leaves; h_0 and c_0 may be null: zeros
  int T, B;
  const float* x;         // rows x W + b
  const int64_t* number;  // (T, B): the row of x of each word; null: row t B + b
  const float *h_0, *c_0;
  float *gates, *c, *tanh_c, *h;
};

struct LSTMLayer {
  const int H, width, d_row;  // units, padded units, row of `d` (no power of two: sets of the cache)
  Floats down, up;            // U in tiles [width / TILE][4][H][TILE] by unit, U' in [width / TILE][4H][TILE]
  Floats sums;                // (B, 4, TILE): of the gates of some units
  Floats d, dh, dc;

  explicit LSTMLayer(int H) : H(H), width(rounded_up(H, TILE)), d_row(4 * H + LANES) {
    down.reserve((size_t)width * 4 * (H + 1)), up.reserve((size_t)width * 4 * H);
  }

  // Their distance is no power of two: sets of the cache.
  float* down_tile(int unit, int gate) const { return down.data + ((size_t)unit * 4 + gate * TILE) * (H + 1); }

  void pack_down(const float* U) {
    for (int i = 0; i < H; i++)  // in the order of memory
      for (int gate = 0; gate < 4; gate++)
        for (int unit = 0; unit < H; unit += TILE)
          pack_piece(U + ((size_t)i * 4 + gate) * H + unit, 0, 1, H - unit, down_tile(unit, gate) + i * TILE);
  }

  void pack_up(const float* U) {
    for (int unit = 0; unit < H; unit += TILE)
      pack_transposed_piece(U + (size_t)unit * 4 * H, 4 * H, 4 * H, H - unit, up.data + (size_t)unit * 4 * H);
  }

  void forward(const Window& w, const float* U) {
    pack_down(U);
    sums.reserve((size_t)w.B * 4 * TILE);
    const size_t step = (size_t)w.B * H;
    for (int t = 0; t < w.T; t++)
      for (int unit = 0; unit < H; unit += TILE) {
        add_states(w, t, unit, t ? w.h + (t - 1) * step : w.h_0);
        step_forward(w, t, unit, t ? w.c + (t - 1) * step : w.c_0);
      }
  }

  // sums = rows of x + h U of TILE units.
  void add_states(const Window& w, int t, int unit, const float* h) const {
    for (int gate = 0; gate < 4; gate++)
      for (int s = 0; s < (h ? H : 1); s += PART) {
        const int depth = h ? std::min(PART, H - s) : 0;
        float* out = sums.data + gate * TILE;
        const auto start = [&](int b) -> const float* {
          const long at = (long)t * w.B + b;
          if (s) return out + (long)b * 4 * TILE;
          const float* x = w.x + ((w.number ? w.number[at] : at) * 4 + gate) * H + unit;
          const float* next = x + (gate < 3 ? H : TILE - 3 * H);  // of the product after this one
          __builtin_prefetch(next), __builtin_prefetch(next + LANES);
          return x;
        };
        const int n = s ? TILE : H - unit;
        multiply_piece(h + s, H, w.B, depth, down_tile(unit, gate) + (long)s * TILE, start, out, 4 * TILE, n);
      }
  }

  void step_forward(const Window& w, int t, int first, const float* c) const {
    for (int b = 0; b < w.B; b++)
      for (int unit = first; unit < std::min(H, first + TILE); unit += LANES) {
        const int n = H - unit;
        const float* v = sums.data + (long)b * 4 * TILE + (unit - first);
        const vec i = hard_sigmoid(load(v)), f = hard_sigmoid(load(v + TILE));
        const vec g = tanh(load(v + 2 * TILE)), o = hard_sigmoid(load(v + 3 * TILE));
        const size_t row = ((size_t)t * w.B + b) * H + unit;
        vec cell = i * g;
        if (c) cell += f * load_partial(c + (size_t)b * H + unit, n);
        const vec tanh_c = tanh(cell);
        float* gates = w.gates + 4 * (row - unit) + unit;
        store_partial(gates, i, n), store_partial(gates + H, f, n), store_partial(gates + 2 * H, g, n);
        store_partial(gates + 3 * H, o, n), store_partial(w.c + row, cell, n), store_partial(w.tanh_c + row, tanh_c, n);
        store_partial(w.h + row, o * tanh_c, n);
      }
  }

  // dh_outside: derivatives by the states from above the layer, (T, B, H) if `every`, else (B, H) for the last step.
  // d_gates (T, B, 4H).
  void backward(const Window& w, const float* U, const float* dh_outside, bool every, float* d_gates) {
    pack_up(U);
    const size_t step = (size_t)w.B * H;
    d.reserve((size_t)w.B * d_row), dh.reserve((size_t)w.B * width), dc.reserve((size_t)w.B * width);
    std::memset(dc.data, 0, sizeof(float) * w.B * width);
    for (int t = w.T - 1; t >= 0; t--) {
      const float* outside = every ? dh_outside + t * step : t == w.T - 1 ? dh_outside : nullptr;
      for (int unit = 0; t < w.T - 1 && unit < H; unit += TILE)
        for (int s = 0; s < 4 * H; s += PART) {
          float* out = dh.data + unit;
          const auto start = [&](int b) { return s ? out + (long)b * width : nullptr; };
          multiply_piece(d.data + s, d_row, w.B, std::min(PART, 4 * H - s), up.data + (size_t)unit * 4 * H + s * TILE,
                         start, out, width, TILE);
        }
      for (int b = 0; b < w.B; b++) step_backward(w, t, b, outside, d_gates);
    }
  }

  void step_backward(const Window& w, int t, int b, const float* outside, float* d_gates) {
    const size_t row = ((size_t)t * w.B + b) * H;
    const float* gates = w.gates + 4 * row;
    const float* before = t ? w.c + row - (size_t)w.B * H : w.c_0 ? w.c_0 + (size_t)b * H : nullptr;
    float *out = d_gates + 4 * row, *padded = d.data + (size_t)b * d_row;
    for (int j = 0; j < H; j += LANES) {
      const int n = H - j;
      const vec i = load_partial(gates + j, n), f = load_partial(gates + H + j, n);
      const vec g = load_partial(gates + 2 * H + j, n);
      const vec o = load_partial(gates + 3 * H + j, n), tanh_c = load_partial(w.tanh_c + row + j, n);
      vec by_h = t < w.T - 1 ? load(dh.data + (size_t)b * width + j) : zeros();
      if (outside) by_h += load_partial(outside + (size_t)b * H + j, n);
      float* by_c = dc.data + (size_t)b * width + j;
      const vec dcell = load(by_c) + by_h * o * (1.f - tanh_c * tanh_c);
      const vec c = before ? load_partial(before + j, n) : zeros();
      const vec slopes[4] = {dcell * g * hard_slope(i), dcell * c * hard_slope(f), dcell * i * (1.f - g * g),
                             by_h * tanh_c * hard_slope(o)};
#pragma GCC unroll 4
      for (int k = 0; k < 4; k++) {
        store_partial(out + k * H + j, slopes[k], n);
        store_partial(padded + k * H + j, slopes[k], n);
      }
      store(by_c, dcell * f);
    }
  }
};
