// The softmax layer: logits L = s W + b of inputs s, which dropout has made sparse; the loss; its derivatives by all.
//
// A first pass over strips of the vocabulary leaves exp(L - m), m being the greatest logit of the row so far. When the
// sums over all words are known, a second pass turns these into probabilities and multiplies while they are in cache.
#pragma once
#include <cmath>
#include "denormals.h"
#include "floats.h"
#include "sparse_products.h"

// n inputs of H units, words in strips. W and dW are (strips, H, STRIP), b and db (strips, STRIP). Places beyond the
// last word have a bias of minus infinity.
struct Softmax {
  int32_t n, H, strips;
  const float *W, *b;
  const int64_t* targets;
  float *ds, *dW, *db;  // ds (n, H): 0 where dropout zeroed s
};

struct SoftmaxRow {
  vec total;  // by lanes, of exp(L - greatest)
  float greatest, target;
};

// Turns logits without bias of a row and strip into exp(L - m); returns m.
INLINE float exponentiate(float* L, const float* b, int64_t target, SoftmaxRow& row) {
  vec x[STRIP_VECTORS], most = broadcast(-INFINITY);
#pragma GCC unroll 8
  for (int c = 0; c < STRIP_VECTORS; c++) {
    x[c] = load(L + c * LANES) + load(b + c * LANES);
    most = max(x[c], most);
  }
  if (0 <= target && target < STRIP) row.target = L[target] + b[target];
  const float greatest = largest(most);
  if (greatest > row.greatest) {
    row.total *= exp(broadcast(row.greatest - greatest));
    row.greatest = greatest;
  }
#pragma GCC unroll 8
  for (int c = 0; c < STRIP_VECTORS; c++) {
    x[c] = exp(x[c] - row.greatest);
    store(L + c * LANES, x[c]);
    row.total += x[c];
  }
  return row.greatest;
}

// Returns the summed loss of the targets, nats, with inputs s (n, H). Given s transposed, computes the derivatives of
// `share` times the loss.
inline double differentiate_softmax(const Softmax& m, const SparseMatrix& s, const SparseMatrix* s_transposed,
                                    float share) {
  const DenormalsAreZero scope;
  static thread_local Floats exponentials, greatest_so_far, probabilities, kept_sums;
  const long strip = (long)m.n * STRIP, weights = (long)m.H * STRIP;
  const long kept = s_transposed ? m.strips : 1;  // without derivatives nothing is read again
  exponentials.reserve(kept * strip), greatest_so_far.reserve((long)m.strips * m.n);
  std::vector<SoftmaxRow> rows(m.n, SoftmaxRow{zeros(), -INFINITY, 0});
  for (int t = 0; t < m.strips; t++) {
    float* L = exponentials.data + t % kept * strip;
    multiply_sparse(s, m.W + t * weights, L, STRIP);
    for (int r = 0; r < m.n; r++)
      greatest_so_far.data[(long)t * m.n + r] =
          exponentiate(L + (long)r * STRIP, m.b + t * STRIP, m.targets[r] - t * STRIP, rows[r]);
  }
  double loss = 0;
  std::vector<float> scale(m.n);
  for (int r = 0; r < m.n; r++) {
    float Z = 0;
    for (int i = 0; i < LANES; i++) Z += rows[r].total[i];
    scale[r] = share / Z;
    loss += std::log((double)Z) - (rows[r].target - rows[r].greatest);
  }
  if (!s_transposed) return loss;
  probabilities.reserve(strip), kept_sums.reserve((long)m.n * m.H + LANES);
  std::fill_n(kept_sums.data, s.count(), 0.f);
  for (int t = 0; t < m.strips; t++) {
    vec db[STRIP_VECTORS] = {};
    for (int r = 0; r < m.n; r++) {
      const float before = greatest_so_far.data[(long)t * m.n + r], greatest = rows[r].greatest;
      const float factor = before == greatest ? scale[r] : scale[r] * std::exp(before - greatest);
      const float* e = exponentials.data + t * strip + (long)r * STRIP;
      float* p = probabilities.data + (long)r * STRIP;
#pragma GCC unroll 8
      for (int c = 0; c < STRIP_VECTORS; c++) store(p + c * LANES, load(e + c * LANES) * factor);
      const int64_t target = m.targets[r] - t * STRIP;
      if (0 <= target && target < STRIP) p[target] -= share;
#pragma GCC unroll 8
      for (int c = 0; c < STRIP_VECTORS; c++) db[c] += load(p + c * LANES);
    }
#pragma GCC unroll 8
    for (int c = 0; c < STRIP_VECTORS; c++) store(m.db + t * STRIP + c * LANES, db[c]);
    multiply_where_kept(s, probabilities.data, m.W + t * weights, kept_sums.data);
    multiply_sparse(*s_transposed, probabilities.data, m.dW + t * weights, STRIP);
  }
  scatter_entries(s, kept_sums.data, m.ds);
  return loss;
}
