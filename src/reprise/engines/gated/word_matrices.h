// Products of a batch's rows with matrices that depend on the word: U^k h, k = f(w), of r-GRU and r-LSTM.
//
// The rows of a step are sorted by their matrix, and each matrix that occurs is read where it lies.
#pragma once
#include <cstring>
#include "floats.h"
#include "vec.h"

// Row b of step t of a window uses matrix `matrix_of_row[t B + b]`; `order` has the rows of each step by matrix.
// Matrices (K, width, width), transposed, are filled up with zeros to whole vectors.
struct WordMatrices {
  int32_t B, H, width;
  float* matrices;
  int64_t *matrix_of_row, *order;
};

constexpr int RUN = 3, RUN_VECTORS = REGISTERS == 32 ? 8 : 4;  // rows and vectors whose sums stay in registers

// out[r] = h[r] times a matrix, of which C vectors of columns.
template <int R, int C>
INLINE void multiply_run(const float* const (&h)[RUN], const float* matrix, int H, int width, float* const (&out)[RUN],
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
    for (int c = 0; c < C; c++) store(out[r] + (first + c) * LANES, sum[r][c]);
}

// Calls f(matrix, rows, count) for up to RUN rows of step t at a time that use one matrix.
template <class F> INLINE void each_run(const WordMatrices& m, int t, F&& f) {
  const int64_t *matrix_of_row = m.matrix_of_row + (long)t * m.B, *order = m.order + (long)t * m.B;
  for (int i = 0, count; i < m.B; i += count) {
    const int64_t k = matrix_of_row[order[i]];
    for (count = 1; count < RUN && i + count < m.B && matrix_of_row[order[i + count]] == k;) count++;
    f(m.matrices + k * m.width * m.width, order + i, count);
  }
}

// out (B, width): row b of h (B, H) times its matrix.
inline void multiply_by_word(const WordMatrices& m, int t, const float* h, float* out) {
  each_run(m, t, [&](const float* matrix, const int64_t* rows, int count) {
    const float* from[RUN];
    float* to[RUN];
    for (int r = 0; r < count; r++) from[r] = h + rows[r] * m.H, to[r] = out + rows[r] * m.width;
    for_each_block<RUN_VECTORS>(m.width / LANES, [&](auto size, int first) {
      constexpr int C = decltype(size)::value;
      if (count == 1) multiply_run<1, C>(from, matrix, m.H, m.width, to, first);
      else if (count == 2) multiply_run<2, C>(from, matrix, m.H, m.width, to, first);
      else multiply_run<3, C>(from, matrix, m.H, m.width, to, first);
    });
  });
}

// out (B, width): the matrix of row b times row b of d, whose rows lie `d_row` numbers apart.
inline void multiply_by_transposed_word(const WordMatrices& m, int t, const float* d, long d_row, float* out) {
  static thread_local Floats padded;
  padded.reserve((size_t)RUN * m.width);
  float* const copies = padded.data;  // looked up once: each look-up of a thread's own memory is a call
  each_run(m, t, [&](const float* matrix, const int64_t* rows, int count) {
    for (int r = 0; r < count; r++) {
      float* row = copies + (long)r * m.width;
      std::memcpy(row, d + rows[r] * d_row, sizeof(float) * m.H);
      std::memset(row + m.H, 0, sizeof(float) * (m.width - m.H));
    }
    for (int s = 0; s < m.H; s += LANES, matrix += (long)LANES * m.width)
      for (int r = 0; r < count; r++) {
        vec sum[LANES] = {};
        const float* row = copies + (long)r * m.width;
        for (int j = 0; j < m.width; j += LANES) {
          const vec x = load(row + j);
#pragma GCC unroll 16
          for (int i = 0; i < LANES; i++) sum[i] += x * load(matrix + (long)i * m.width + j);
        }
        store(out + rows[r] * m.width + s, lane_sums(sum));
      }
  });
}
