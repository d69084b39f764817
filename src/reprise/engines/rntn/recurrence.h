// The pieces of the recurrence: products with a small matrix stored by rows of whole vectors.
//
// A recurrence matrix U lies as its transpose, row j holding U[0][j] .. U[H-1][j] and zeros: then the forward product
// adds up rows, the backward product takes inner products with rows and the update adds to rows, so that all three run
// through memory in order. What fills up rows is 0 and stays 0.
#pragma once
#include "vec.h"

constexpr int STRIP = REGISTERS / 2 - 4;  // vectors of a row whose sums stay in registers together

// out[i] += sum over the rows j of x[j] A[j][i].
inline void add_product(const float* A, int rows, int width, const float* x, float* out) {
  for_each_block<STRIP>(width / LANES, [&](auto size, int v) {
    constexpr int n = decltype(size)::value;
    vec sum[n];
    const float* a = A + v * LANES;
#pragma GCC unroll 16
    for (int i = 0; i < n; i++) sum[i] = load(out + (v + i) * LANES);
    for (int j = 0; j < rows; j++, a += width)
#pragma GCC unroll 16
      for (int i = 0; i < n; i++) sum[i] += x[j] * load(a + i * LANES);
#pragma GCC unroll 16
    for (int i = 0; i < n; i++) store(out + (v + i) * LANES, sum[i]);
  });
}

// out[j] = inner product of row j with x, and zeros up to the next whole vector.
inline void compute_row_products(const float* A, int rows, int width, const float* x, float* out) {
  for_each_block<LANES>(rows, [&](auto size, int j) {
    constexpr int n = decltype(size)::value;
    vec sum[LANES];
#pragma GCC unroll 16
    for (int r = 0; r < LANES; r++) sum[r] = zeros();
    for (int i = 0; i < width; i += LANES) {
      const vec b = load(x + i);
#pragma GCC unroll 16
      for (int r = 0; r < n; r++) sum[r] += b * load(A + (long)(j + r) * width + i);
    }
    store_unaligned(out + j, lane_sums(sum));
  });
}

// A[j][i] += sum over the listed steps s of x[s][j] y[s][i]: a matrix that several words of the subsequence share is
// read and written once.
inline void add_outer_products(float* A, int rows, int width, const int* steps, int count,
                               const float* x, int x_width, const float* y, int y_width) {
  for_each_block<STRIP>(width / LANES, [&](auto size, int v) {
    constexpr int n = decltype(size)::value;
    for (int j = 0; j < rows; j++) {
      float* a = A + (long)j * width + v * LANES;
      vec sum[n];
#pragma GCC unroll 16
      for (int i = 0; i < n; i++) sum[i] = load(a + i * LANES);
      for (int s = 0; s < count; s++) {
        const float* b = y + steps[s] * y_width + v * LANES;
        const float factor = x[steps[s] * x_width + j];
#pragma GCC unroll 16
        for (int i = 0; i < n; i++) sum[i] += factor * load(b + i * LANES);
      }
#pragma GCC unroll 16
      for (int i = 0; i < n; i++) store(a + i * LANES, sum[i]);
    }
  });
}

inline void add_vector(float* a, const float* b, int width) {
  for (int i = 0; i < width; i += LANES) store(a + i, load(a + i) + load(b + i));
}
