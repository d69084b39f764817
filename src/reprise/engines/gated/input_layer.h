// The products of a recurrent layer with its inputs: x W for all steps of a window at once, x being sparse by dropout.
#pragma once
#include "denormals.h"
#include "floats.h"
#include "sparse_products.h"

// out (n, strips * STRIP) = x (n, E) times W (strips, E, STRIP).
inline void multiply_inputs(const SparseMatrix& x, const float* W, int strips, float* out) {
  const long row = (long)strips * STRIP;
  for (int t = 0; t < strips; t++) multiply_sparse(x, W + (long)t * x.columns * STRIP, out + t * STRIP, row);
}

// From the derivatives d (n, strips * STRIP) by those products, those by x, 0 where dropout zeroed it, and by W.
inline void differentiate_inputs(const SparseMatrix& x, const SparseMatrix& x_transposed, const float* d,
                                 const float* W, int strips, float* dx, float* dW) {
  const DenormalsAreZero scope;
  static thread_local Floats strip, kept_sums;
  strip.reserve((long)x.rows * STRIP), kept_sums.reserve((long)x.rows * x.columns + LANES);
  std::fill_n(kept_sums.data, x.count(), 0.f);
  const long weights = (long)x.columns * STRIP;
  for (int t = 0; t < strips; t++) {
    for (int r = 0; r < x.rows; r++)
      std::copy_n(d + ((long)r * strips + t) * STRIP, STRIP, strip.data + (long)r * STRIP);
    multiply_where_kept(x, strip.data, W + t * weights, kept_sums.data);
    multiply_sparse(x_transposed, strip.data, dW + t * weights, STRIP);
  }
  scatter_entries(x, kept_sums.data, dx);
}
