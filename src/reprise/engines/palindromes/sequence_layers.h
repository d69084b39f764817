// The recurrent layers themselves: what stands between the products, for a few rows of the batch and one tile.
//
// A tile of WIDE columns of z = W_x x + W_h h + b is four vectors of units (Elman), or one vector of units with its
// gates g, i, f, o (LSTM). `kept` is what the backward pass needs of a step beside h.
#pragma once
#include "activations.h"
#include "products.h"

// h = tanh(z)   (models/elman.py)
struct ElmanLayer {
  static constexpr int GATES = 1, UNITS = WIDE, KEPT = 0;  // per tile and row

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

// c = g * i + c(t-1) * f,  h = tanh(c) * o   (models/lstm.py); kept: g, i, f, o, c
struct LSTMLayer {
  static constexpr int GATES = 4, UNITS = LANES, KEPT = 5 * LANES;

  static int unit(int column) { return column / WIDE * LANES + column % LANES; }
  static int gate(int column) { return column / LANES % 4; }

  static INLINE void forward(const float* z, const float* before, float* kept, float* h) {
    const vec g = tanh(load(z)), i = logistic(load(z + LANES));
    const vec f = logistic(load(z + 2 * LANES)), o = logistic(load(z + 3 * LANES));
    const vec c = g * i + load(before + 4 * LANES) * f;
    store(kept, g), store(kept + LANES, i), store(kept + 2 * LANES, f), store(kept + 3 * LANES, o);
    store(kept + 4 * LANES, c);
    store(h, tanh(c) * o);
  }

  // dc: in, what step t+1 left; out, what step t-1 finds. Factors in autograd's order, so that the same ones overflow.
  static INLINE void backward(const float* kept, const float* before, const float*, const float* dh_row, float* dc_row,
                              float* dz) {
    const vec g = load(kept), i = load(kept + LANES), f = load(kept + 2 * LANES), o = load(kept + 3 * LANES);
    const vec tanh_c = tanh(load(kept + 4 * LANES)), dh = load(dh_row);
    const vec dc = load(dc_row) + dh * o * (1.f - tanh_c * tanh_c);
    store(dz, dc * i * (1.f - g * g));
    store(dz + LANES, dc * g * (1.f - i) * i);
    store(dz + 2 * LANES, dc * load(before + 4 * LANES) * (1.f - f) * f);
    store(dz + 3 * LANES, dh * tanh_c * (1.f - o) * o);
    store(dc_row, dc * f);
  }
};
