// The recurrences of GRU and LSTM over a window. Symbols as in models/gated.py.
//
// Products with the inputs are made for all steps at once (input_layer.h). Here is what depends on the step before.
#pragma once
#include "activations.h"
#include "packed_products.h"
#include "word_matrices.h"

// A vector of a row, of which `count` lanes belong to the row.
struct Part {
  int count;

  INLINE vec get(const float* p) const { return load_partial(p, count); }
  INLINE void put(float* p, vec a) const { store_partial(p, a, count); }
};

template <class F> INLINE void for_each_part(int n, F&& f) {
  int i = 0;
  for (; i + LANES <= n; i += LANES) f(i, Part{LANES});
  if (i < n) f(i, Part{n - i});
}

// T steps of B rows. A row of `a` and `da` (T, B, a_row) has G logistic gates in the order of the equations, then the
// candidate, H numbers each: first the products with the input, after the forward pass their values.
struct Window {
  int32_t T, B, H, G, a_row;
  float *a, *h, *c;        // h and c (T+1, B, H): row 0 is the first state
  float *tanh_c, *reset;   // (T, B, H); reset: r h(t-1) of a GRU
  float *U, *b;            // of the gates, (G H, H) and (G H,)
  float *U_c, *b_c;        // of the candidate, (H, H) if all words share one matrix, and (K, H)
  float *dh, *da;          // dh (T, B, H): derivatives by h through the softmax
  float *dU, *dU_c;        // gradients, as U and U_c; dU_c is null if the candidate's matrix depends on the word
  int64_t* matrix_of_row;  // (T, B)

  long row(int t, int b) const { return (long)t * B + b; }
  const float* bias(int t, int b) const { return b_c + matrix_of_row[row(t, b)] * H; }
};

// The products of a step with the states, and those of the way back with derivatives.
class Products {
 public:
  Floats of_gates, of_candidate, carried;  // (B, gates_row), (B, state_row), (B, H)
  long gates_row = 0, state_row = 0;

  // `words` is null if all words share one matrix.
  void begin(const Window& window, const WordMatrices* word_matrices, bool back) {
    w = &window, words = word_matrices;
    const int H = w->H, gates = w->G * H;
    gates_row = vectors(gates) * LANES, state_row = vectors(H) * LANES;
    of_gates.reserve(w->B * std::max(gates_row, state_row)), of_candidate.reserve(w->B * state_row);
    carried.reserve((long)w->B * H);
    pack(U, w->U, gates, back);
    if (!words) pack(U_c, w->U_c, H, back);
  }

  void multiply_gates(const float* h) {
    multiply(h, w->H, w->B, w->H, U.by_row.data, U.n, of_gates.data, gates_row, false);
  }
  void multiply_candidate(int t, const float* h) {
    if (words) multiply_by_word(*words, t, h, of_candidate.data);
    else multiply(h, w->H, w->B, w->H, U_c.by_row.data, U_c.n, of_candidate.data, state_row, false);
  }

  // From the derivatives of step t by gates and candidate.
  void multiply_gates_back(int t) {
    const float* d = w->da + w->row(t, 0) * w->a_row;
    multiply(d, w->a_row, w->B, U.n, U.by_column.data, w->H, of_gates.data, state_row, false);
  }
  void multiply_candidate_back(int t) {
    const float* d = w->da + w->row(t, 0) * w->a_row + U.n;
    if (words) multiply_by_transposed_word(*words, t, d, w->a_row, of_candidate.data);
    else multiply(d, w->a_row, w->B, w->H, U_c.by_column.data, w->H, of_candidate.data, state_row, false);
  }

  // The weights' gradients, once `da` is complete. `met` (T, B, H) is what the candidate's matrix multiplied.
  void compute_gradients(const float* met) {
    compute_gradient(w->da, w->h, U, w->dU);
    if (w->dU_c) compute_gradient(w->da + U.n, met, U_c, w->dU_c);
  }

 private:
  const Window* w = nullptr;
  const WordMatrices* words = nullptr;
  Weights U, U_c;
  Floats panels;

  void pack(Weights& weights, const float* from, int rows, bool back) {
    weights.resize(rows, w->H);
    if (back) weights.read_by_column(from);
    else weights.read_by_row(from);
  }

  // out (n, H) = the sum over all rows of d h': d begins in a row of `da`, h is (T B, H).
  void compute_gradient(const float* d, const float* h, Weights& weights, float* out) {
    panels.reserve((size_t)GRADIENT_ROWS * state_row);
    weights.clear_gradient();
    for (long first = 0, all = w->row(w->T, 0); first < all; first += GRADIENT_ROWS) {
      const int rows = std::min<long>(GRADIENT_ROWS, all - first);
      pack_panels(rows, w->H, panels.data, [&](int i, int j) {
        return load_partial(h + (first + i) * w->H + j, w->H - j);
      });
      add_transposed(d + first * w->a_row, w->a_row, weights.n, rows, panels.data, w->H, weights.gradient.data);
    }
    weights.write_gradient(out);
  }
};

// Equations (10)-(15); the gates are f, i and o.
inline void run_lstm(const Window& w, Products& products) {
  const int H = w.H;
  const long step = w.row(1, 0) * H;
  for (int t = 0; t < w.T; t++) {
    products.multiply_gates(w.h + t * step);
    products.multiply_candidate(t, w.h + t * step);
    for (int b = 0; b < w.B; b++) {
      float* a = w.a + w.row(t, b) * w.a_row;
      const float *gates = products.of_gates.data + b * products.gates_row, *b_c = w.bias(t, b);
      const float* candidates = products.of_candidate.data + b * products.state_row;
      const long state = w.row(t, b) * H;
      for_each_part(H, [&](int j, Part p) {
        const auto gate = [&](int g) {
          const int k = g * H + j;
          return logistic(p.get(a + k) + p.get(gates + k) + p.get(w.b + k));
        };
        const vec f = gate(0), i = gate(1), o = gate(2);
        const vec candidate = tanh(p.get(a + 3 * H + j) + p.get(candidates + j) + p.get(b_c + j));
        const vec c = i * candidate + f * p.get(w.c + state + j), tanh_c = tanh(c);
        p.put(a + j, f), p.put(a + H + j, i), p.put(a + 2 * H + j, o), p.put(a + 3 * H + j, candidate);
        p.put(w.c + state + step + j, c), p.put(w.tanh_c + state + j, tanh_c);
        p.put(w.h + state + step + j, o * tanh_c);
      });
    }
  }
}

inline void run_lstm_back(const Window& w, Products& products) {
  const int H = w.H;
  for (int t = w.T - 1; t >= 0; t--) {
    const bool last = t == w.T - 1;
    if (!last) products.multiply_gates_back(t + 1), products.multiply_candidate_back(t + 1);
    for (int b = 0; b < w.B; b++) {
      const float* a = w.a + w.row(t, b) * w.a_row;
      float* da = w.da + w.row(t, b) * w.a_row;
      const float* by_gates = products.of_gates.data + b * products.state_row;
      const float* by_candidate = products.of_candidate.data + b * products.state_row;
      float* carried = products.carried.data + (long)b * H;
      const long state = w.row(t, b) * H;
      for_each_part(H, [&](int j, Part p) {
        const vec f = p.get(a + j), i = p.get(a + H + j), o = p.get(a + 2 * H + j), candidate = p.get(a + 3 * H + j);
        const vec tanh_c = p.get(w.tanh_c + state + j);
        vec d = p.get(w.dh + state + j), dc = zeros();
        if (!last) {
          d += p.get(by_gates + j) + p.get(by_candidate + j);
          dc = p.get(carried + j);
        }
        dc += d * o * (1.f - tanh_c * tanh_c);
        p.put(da + j, dc * p.get(w.c + state + j) * f * (1.f - f));
        p.put(da + H + j, dc * candidate * i * (1.f - i));
        p.put(da + 2 * H + j, d * tanh_c * o * (1.f - o));
        p.put(da + 3 * H + j, dc * i * (1.f - candidate * candidate));
        p.put(carried + j, dc * f);
      });
    }
  }
  products.compute_gradients(w.h);
}

// Equations (6)-(9); the gates are r and z.
inline void run_gru(const Window& w, Products& products) {
  const int H = w.H;
  const long step = w.row(1, 0) * H;
  for (int t = 0; t < w.T; t++) {
    products.multiply_gates(w.h + t * step);
    for (int b = 0; b < w.B; b++) {
      float* a = w.a + w.row(t, b) * w.a_row;
      const float* gates = products.of_gates.data + b * products.gates_row;
      const long state = w.row(t, b) * H;
      for_each_part(H, [&](int j, Part p) {
        const auto gate = [&](int g) {
          const int k = g * H + j;
          return logistic(p.get(a + k) + p.get(gates + k) + p.get(w.b + k));
        };
        const vec r = gate(0);
        p.put(a + j, r), p.put(a + H + j, gate(1)), p.put(w.reset + state + j, r * p.get(w.h + state + j));
      });
    }
    products.multiply_candidate(t, w.reset + t * step);
    for (int b = 0; b < w.B; b++) {
      float* a = w.a + w.row(t, b) * w.a_row;
      const float *candidates = products.of_candidate.data + b * products.state_row, *b_c = w.bias(t, b);
      const long state = w.row(t, b) * H;
      for_each_part(H, [&](int j, Part p) {
        const vec candidate = tanh(p.get(a + 2 * H + j) + p.get(candidates + j) + p.get(b_c + j));
        p.put(a + 2 * H + j, candidate);
        p.put(w.h + state + step + j, candidate + p.get(a + H + j) * (p.get(w.h + state + j) - candidate));
      });
    }
  }
}

inline void run_gru_back(const Window& w, Products& products) {
  const int H = w.H;
  for (int t = w.T - 1; t >= 0; t--) {
    const bool last = t == w.T - 1;
    if (!last) products.multiply_gates_back(t + 1);
    for (int b = 0; b < w.B; b++) {
      const float* a = w.a + w.row(t, b) * w.a_row;
      float* da = w.da + w.row(t, b) * w.a_row;
      const float* by_gates = products.of_gates.data + b * products.state_row;
      float* carried = products.carried.data + (long)b * H;
      const long state = w.row(t, b) * H;
      for_each_part(H, [&](int j, Part p) {
        const vec update = p.get(a + H + j), candidate = p.get(a + 2 * H + j);
        vec d = p.get(w.dh + state + j);
        if (!last) d += p.get(by_gates + j) + p.get(carried + j);
        p.put(da + 2 * H + j, d * (1.f - update) * (1.f - candidate * candidate));
        p.put(da + H + j, d * (p.get(w.h + state + j) - candidate) * update * (1.f - update));
        p.put(carried + j, d * update);
      });
    }
    products.multiply_candidate_back(t);
    for (int b = 0; b < w.B; b++) {
      const float* a = w.a + w.row(t, b) * w.a_row;
      float* da = w.da + w.row(t, b) * w.a_row;
      const float* by_reset = products.of_candidate.data + b * products.state_row;
      float* carried = products.carried.data + (long)b * H;
      const long state = w.row(t, b) * H;
      for_each_part(H, [&](int j, Part p) {
        const vec r = p.get(a + j), d = p.get(by_reset + j);
        p.put(da + j, d * p.get(w.h + state + j) * r * (1.f - r));
        p.put(carried + j, p.get(carried + j) + d * r);
      });
    }
  }
  products.compute_gradients(w.reset);
}
