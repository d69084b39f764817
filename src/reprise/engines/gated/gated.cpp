// GRU and LSTM between the large products of a window: the cells, the products with the words' own matrices, and the
// softmax. The large products are PyTorch's (engines/gemm.py). Symbols as in models/gated.py.
//
// Rows have any length: the last vector of a row may be partial.
#include <cmath>
#include <cstdint>
#include <cstring>
#include "activations.h"
#include "floats.h"

// A vector of a row, of which `count` lanes belong to the row.
struct Part {
  int count;

  INLINE vec get(const float* p, float rest = 0) const { return load_partial(p, count, rest); }
  INLINE void put(float* p, vec a) const { store_partial(p, a, count); }
};

template <class F> INLINE void for_each_part(int n, F&& f) {
  int i = 0;
  for (; i + LANES <= n; i += LANES) f(i, Part{LANES});
  if (i < n) f(i, Part{n - i});
}

// The cells. `gates` (T, B, G H) and `candidate` (T, B, H) hold the products with the input and the biases, and after
// the forward pass the values of the gates and of the candidate. `h` and `c` are (T+1, B, H): row 0 is the first state.

struct Window {
  int32_t B, H;
  float *gates, *candidate, *h, *c, *tanh_c, *reset;  // reset: r h(t-1) of a GRU
  float *dh, *d_gates, *d_candidate, *carried;        // carried (B, H): what step t+1 leaves for step t

  long at(int t, int b) const { return ((long)t * B + b) * H; }

  // f(place in (T, B, H), place in (T, B, G H), place in (B, H), part) over step t.
  template <class F> INLINE void each(int t, int G, F&& f) const {
    for (int b = 0; b < B; b++)
      for_each_part(H, [&](int i, Part part) { f(at(t, b) + i, G * at(t, b) + i, (long)b * H + i, part); });
  }
};

// Words' matrices: row b of step t of a window uses `matrix_of_row[t B + b]`; `order` has the rows of each step by
// matrix. Matrices (K, width, width) are padded with zeros to whole vectors.
struct Matrices {
  int32_t B, H, width;
  float* matrices;
  int64_t *matrix_of_row, *order;
};

constexpr int ROWS = 3, COLUMNS = REGISTERS == 32 ? 8 : 4;  // rows and vectors whose sums stay in registers

// out[r] = h[r] times a matrix, of which C vectors of columns.
template <int R, int C>
INLINE void multiply(const float* const (&h)[ROWS], const float* matrix, int H, int width, float* const (&out)[ROWS],
                     int first) {
  vec sum[R][C] = {};
  matrix += first * LANES;
  for (int s = 0; s < H; s++, matrix += width) {
    vec factor[C];
#pragma GCC unroll 8
    for (int c = 0; c < C; c++) factor[c] = load(matrix + c * LANES);
#pragma GCC unroll 3
    for (int r = 0; r < R; r++) {
      const vec x = keep_in_register(broadcast(h[r][s]));
#pragma GCC unroll 8
      for (int c = 0; c < C; c++) sum[r][c] += x * factor[c];
    }
  }
  for (int r = 0; r < R; r++)
    for (int c = 0; c < C; c++) {
      const int i = (first + c) * LANES;
      store_partial(out[r] + i, sum[r][c], H - i);
    }
}

// Calls f(matrix, rows, count) for up to ROWS rows of step t at a time that use one matrix.
template <class F> INLINE void each_run(const Matrices& m, int t, F&& f) {
  const int64_t *matrix_of_row = m.matrix_of_row + (long)t * m.B, *order = m.order + (long)t * m.B;
  for (int i = 0, count; i < m.B; i += count) {
    const int64_t k = matrix_of_row[order[i]];
    for (count = 1; count < ROWS && i + count < m.B && matrix_of_row[order[i + count]] == k;) count++;
    f(m.matrices + k * m.width * m.width, order + i, count);
  }
}

extern "C" {

// out (B, H): row b of h (B, H) times its matrix.
void reprise_multiply(const Matrices* m, int t, const float* h, float* out) {
  each_run(*m, t, [&](const float* matrix, const int64_t* rows, int count) {
    const float* from[ROWS];
    float* to[ROWS];
    for (int r = 0; r < count; r++) from[r] = h + rows[r] * m->H, to[r] = out + rows[r] * m->H;
    for_each_block<COLUMNS>(m->width / LANES, [&](auto size, int first) {
      constexpr int C = decltype(size)::value;
      if (count == 1) multiply<1, C>(from, matrix, m->H, m->width, to, first);
      else if (count == 2) multiply<2, C>(from, matrix, m->H, m->width, to, first);
      else multiply<3, C>(from, matrix, m->H, m->width, to, first);
    });
  });
}

// out (B, H): the matrix of row b times row b of d (B, H).
void reprise_multiply_transposed(const Matrices* m, int t, const float* d, float* out) {
  static thread_local Floats padded;
  padded.reserve((size_t)ROWS * m->width);
  float* const copies = padded.data;  // looked up once: each look-up of a thread's own memory is a call
  each_run(*m, t, [&](const float* matrix, const int64_t* rows, int count) {
    for (int r = 0; r < count; r++) {
      float* row = copies + (long)r * m->width;
      std::memcpy(row, d + rows[r] * m->H, sizeof(float) * m->H);
      std::memset(row + m->H, 0, sizeof(float) * (m->width - m->H));
    }
    for (int s = 0; s < m->H; s += LANES, matrix += (long)LANES * m->width)
      for (int r = 0; r < count; r++) {
        vec sum[LANES] = {};
        const float* row = copies + (long)r * m->width;
        for (int j = 0; j < m->width; j += LANES) {
          const vec x = load(row + j);
#pragma GCC unroll 16
          for (int i = 0; i < LANES; i++) sum[i] += x * load(matrix + (long)i * m->width + j);
        }
        store_partial(out + rows[r] * m->H + s, lane_sums(sum), m->H - s);
      }
  });
}

// Equations (10)-(15) of step t from the products with h(t-1): of the gates f, i, o, and of the candidate.
void reprise_lstm_forward(const Window* w, int t, const float* of_gates, const float* of_candidate) {
  const int H = w->H;
  const long step = (long)w->B * H;
  w->each(t, 3, [&](long at, long gate, long row, Part p) {
    float* g = w->gates + gate;
    const float* from = of_gates + gate - 3 * t * step;
    const vec f = logistic(p.get(g) + p.get(from)), i = logistic(p.get(g + H) + p.get(from + H));
    const vec o = logistic(p.get(g + 2 * H) + p.get(from + 2 * H));
    const vec candidate = tanh(p.get(w->candidate + at) + p.get(of_candidate + row));
    const vec c = i * candidate + f * p.get(w->c + at), tanh_c = tanh(c);
    p.put(g, f), p.put(g + H, i), p.put(g + 2 * H, o), p.put(w->candidate + at, candidate);
    p.put(w->c + at + step, c), p.put(w->tanh_c + at, tanh_c), p.put(w->h + at + step, o * tanh_c);
  });
}

// Derivatives by gates and candidate of step t, from those by h(t): `dh` of the softmax, and of step t+1 through the
// gates' product and the candidate's, both null in the last step.
void reprise_lstm_backward(const Window* w, int t, const float* by_gates, const float* by_candidate) {
  const int H = w->H;
  w->each(t, 3, [&](long at, long gate, long row, Part p) {
    const float* g = w->gates + gate;
    const vec f = p.get(g), i = p.get(g + H), o = p.get(g + 2 * H);
    const vec candidate = p.get(w->candidate + at), tanh_c = p.get(w->tanh_c + at);
    vec d = p.get(w->dh + at), dc = zeros();
    if (by_gates) {
      d += p.get(by_gates + row) + p.get(by_candidate + row);
      dc = p.get(w->carried + row);
    }
    dc += d * o * (1.f - tanh_c * tanh_c);
    float* out = w->d_gates + gate;
    p.put(out, dc * p.get(w->c + at) * f * (1.f - f));
    p.put(out + H, dc * candidate * i * (1.f - i));
    p.put(out + 2 * H, d * tanh_c * o * (1.f - o));
    p.put(w->d_candidate + at, dc * i * (1.f - candidate * candidate));
    p.put(w->carried + row, dc * f);
  });
}

// Equations (6), (7) of step t, and r h(t-1), from the gates' product with h(t-1).
void reprise_gru_gates(const Window* w, int t, const float* of_gates) {
  const int H = w->H;
  const long step = (long)w->B * H;
  w->each(t, 2, [&](long at, long gate, long, Part p) {
    float* g = w->gates + gate;
    const float* from = of_gates + gate - 2 * t * step;
    const vec r = logistic(p.get(g) + p.get(from)), z = logistic(p.get(g + H) + p.get(from + H));
    p.put(g, r), p.put(g + H, z), p.put(w->reset + at, r * p.get(w->h + at));
  });
}

// Equations (8), (9) of step t from the candidate's product with r h(t-1).
void reprise_gru_state(const Window* w, int t, const float* of_candidate) {
  const long step = (long)w->B * w->H;
  w->each(t, 2, [&](long at, long gate, long row, Part p) {
    const vec candidate = tanh(p.get(w->candidate + at) + p.get(of_candidate + row));
    const vec z = p.get(w->gates + gate + w->H);
    p.put(w->candidate + at, candidate);
    p.put(w->h + at + step, candidate + z * (p.get(w->h + at) - candidate));
  });
}

// Derivatives by z and the candidate of step t, from those by h(t): `dh` of the softmax, what step t+1 carried, and
// what came through its gates' product, null in the last step.
void reprise_gru_backward(const Window* w, int t, const float* by_gates) {
  w->each(t, 2, [&](long at, long gate, long row, Part p) {
    const vec z = p.get(w->gates + gate + w->H), candidate = p.get(w->candidate + at);
    vec d = p.get(w->dh + at);
    if (by_gates) d += p.get(by_gates + row) + p.get(w->carried + row);
    p.put(w->d_candidate + at, d * (1.f - z) * (1.f - candidate * candidate));
    p.put(w->d_gates + gate + w->H, d * (p.get(w->h + at) - candidate) * z * (1.f - z));
    p.put(w->carried + row, d * z);
  });
}

// The derivative by r of step t, and what goes to h(t-1), from those by r h(t-1).
void reprise_gru_backward_reset(const Window* w, int t, const float* by_reset) {
  w->each(t, 2, [&](long at, long gate, long row, Part p) {
    const vec r = p.get(w->gates + gate), d = p.get(by_reset + row);
    p.put(w->d_gates + gate, d * p.get(w->h + at) * r * (1.f - r));
    p.put(w->carried + row, p.get(w->carried + row) + d * r);
  });
}

// Logits L (n, V) become the derivatives of the loss by them; returns the summed loss of targets (n,), nats. Adds the
// derivatives to `sums` (V,).
double reprise_softmax_minus_target(float* L, int n, int V, const int64_t* targets, float* sums) {
  double loss = 0;
  for (int r = 0; r < n; r++, L += V) {
    vec most = broadcast(-INFINITY), total = zeros();
    for_each_part(V, [&](int i, Part p) { most = max(p.get(L + i, -INFINITY), most); });
    const float greatest = largest(most), target = L[targets[r]];
    for_each_part(V, [&](int i, Part p) {
      const vec e = exp(p.get(L + i) - greatest);
      p.put(L + i, e);
      total += p.get(L + i);
    });
    float Z = 0;
    for (int i = 0; i < LANES; i++) Z += total[i];
    const float share = 1.f / Z;
    for_each_part(V, [&](int i, Part p) {
      const vec probability = p.get(L + i) * share;
      p.put(L + i, probability);
      p.put(sums + i, p.get(sums + i) + probability);
    });
    L[targets[r]] -= 1.f, sums[targets[r]] -= 1.f;
    loss += std::log((double)Z) - (target - greatest);
  }
  return loss;
}

int reprise_lanes() { return LANES; }
}
