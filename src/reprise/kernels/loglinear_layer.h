// An LSTM layer of models/loglinear.py over a window: products with U and the gates in one pass, forward and back.
//
// U' and U lie in tiles, packed anew in each direction, since the weights change with every step. Arrays of the caller
// are (T, B, H) or (T, B, 4H), the gates i, f, g, o side by side.
#pragma once
#include <algorithm>
#include "floats.h"
#include "loglinear_vectors.h"
#include "sequence_products.h"

INLINE vec hard_sigmoid(vec v) {
  v = v * 0.2f + 0.5f;
  v = v < 0.f ? zeros() : v;
  return v > 1.f ? all(1.f) : v;
}
// Its derivative, from its value.
INLINE vec hard_slope(vec s) { return (s > 0.f) & (s < 1.f) ? all(0.2f) : zeros(); }

struct Window {  // what a layer reads and leaves; h_0 and c_0 may be null: zeros
  int T, B;
  const float* x;         // rows x W + b
  const int64_t* number;  // (T, B): the row of x of each word; null: row t B + b
  const float *h_0, *c_0;
  float *gates, *c, *tanh_c, *h;
};

struct LSTMLayer {
  const int H, width, d_row;  // units, padded units, row of `d` (no power of two: sets of the cache)
  Floats down, up;            // U in tiles [units / LANES][H][WIDE] by unit, U' in tiles [width / NARROW][4H][NARROW]
  Floats d, dh, dc;

  explicit LSTMLayer(int H) : H(H), width(rounded_up(H, NARROW)), d_row(4 * H + LANES) {
    down.need((size_t)rounded_up(H, LANES) / LANES * H * WIDE), up.need((size_t)width * 4 * H);
  }

  void pack_down(const float* U) {
    float* out = down.data;
    for (int unit = 0; unit < H; unit += LANES)
      for (int j = 0; j < H; j++, out += WIDE)
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) store(out + k * LANES, load_some(U + (size_t)j * 4 * H + k * H + unit, H - unit));
  }

  void pack_up(const float* U) {
    for (int unit = 0; unit < H; unit += LANES)
      for (int g = 0; g < 4 * H; g += LANES) {
        vec rows[LANES];
        for (int i = 0; i < LANES; i++)
          rows[i] = unit + i < H ? load_some(U + (size_t)(unit + i) * 4 * H + g, 4 * H - g) : zeros();
        transpose(rows);
        float* out = up.data + (size_t)(unit / NARROW) * 4 * H * NARROW + unit % NARROW;
        for (int i = 0; i < std::min(LANES, 4 * H - g); i++) store(out + (size_t)(g + i) * NARROW, rows[i]);
      }
  }

  void forward(const Window& w, const float* U) {
    pack_down(U);
    const size_t step = (size_t)w.B * H;
    for (int t = 0; t < w.T; t++) {
      const float* h = t ? w.h + (t - 1) * step : w.h_0;
      const float* c = t ? w.c + (t - 1) * step : w.c_0;
      for (int unit = 0; unit < H; unit += LANES)
        in_blocks<WIDE_ROWS>(w.B, [&](auto rows, int b) { step_forward<rows>(w, t, b, unit, h, c); });
    }
  }

  // Rows b .. b+R-1 of step t, LANES units.
  template <int R> void step_forward(const Window& w, int t, int b, int unit, const float* h, const float* c) const {
    const int n = H - unit;
    vec v[R][4];
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) {
      const long at = (long)t * w.B + b + r;
      const float* x = w.x + (w.number ? w.number[at] : at) * 4 * H + unit;
#pragma GCC unroll 4
      for (int k = 0; k < 4; k++) v[r][k] = load_some(x + k * H, n);
    }
    if (h) add_products<R, 4>(v, H, h + (size_t)b * H, H, 1, down.data + (size_t)unit / LANES * H * WIDE, WIDE);
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) {
      const vec i = hard_sigmoid(v[r][0]), f = hard_sigmoid(v[r][1]), g = tanh(v[r][2]), o = hard_sigmoid(v[r][3]);
      const size_t row = ((size_t)t * w.B + b + r) * H + unit;
      vec cell = i * g;
      if (c) cell += f * load_some(c + (size_t)(b + r) * H + unit, n);
      const vec tanh_c = tanh(cell);
      float* gates = w.gates + 4 * (row - unit) + unit;
      store_some(gates, i, n), store_some(gates + H, f, n), store_some(gates + 2 * H, g, n);
      store_some(gates + 3 * H, o, n), store_some(w.c + row, cell, n), store_some(w.tanh_c + row, tanh_c, n);
      store_some(w.h + row, o * tanh_c, n);
    }
  }

  // given: by the states from outside the layer, (T, B, H), or (B, H) for the last one alone. d_gates (T, B, 4H).
  void backward(const Window& w, const float* U, const float* given, bool every, float* d_gates) {
    pack_up(U);
    const size_t step = (size_t)w.B * H;
    d.need((size_t)w.B * d_row), dh.need((size_t)w.B * width), dc.need((size_t)w.B * width);
    std::memset(dc.data, 0, sizeof(float) * w.B * width);
    for (int t = w.T - 1; t >= 0; t--) {
      const float* outside = every ? given + t * step : t == w.T - 1 ? given : nullptr;
      if (t < w.T - 1) narrow_product(d.data, d_row, w.B, 4 * H, up.data, width / NARROW, dh.data);
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
      const vec i = load_some(gates + j, n), f = load_some(gates + H + j, n), g = load_some(gates + 2 * H + j, n);
      const vec o = load_some(gates + 3 * H + j, n), tanh_c = load_some(w.tanh_c + row + j, n);
      vec by_h = t < w.T - 1 ? load(dh.data + (size_t)b * width + j) : zeros();
      if (outside) by_h += load_some(outside + (size_t)b * H + j, n);
      float* by_c = dc.data + (size_t)b * width + j;
      const vec dcell = load(by_c) + by_h * o * (1.f - tanh_c * tanh_c);
      const vec c = before ? load_some(before + j, n) : zeros();
      const vec slopes[4] = {dcell * g * hard_slope(i), dcell * c * hard_slope(f), dcell * i * (1.f - g * g),
                             by_h * tanh_c * hard_slope(o)};
#pragma GCC unroll 4
      for (int k = 0; k < 4; k++) {
        store_some(out + k * H + j, slopes[k], n);
        store_some(padded + k * H + j, slopes[k], n);
      }
      store(by_c, dcell * f);
    }
  }
};
