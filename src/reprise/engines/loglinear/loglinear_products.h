// Products of a few rows with a matrix, in pieces of it that stay in the L2 cache while all the rows meet them.
//
// A piece is PART rows of TILE columns, packed: [PART][TILE]. Numbers are summed in the order of the depth whatever the
// pieces, since the sums of one go on where those of the last ended.
#pragma once
#include <algorithm>
#include "activations.h"
#include "floats.h"
#include "products.h"

// One instruction. Of a loop GCC 12 makes two of half the width, and joins their results in memory, which stalls.
INLINE vec square_root(vec a) {
  vec r;
#if defined(__AVX512F__)
  __asm__("vsqrtps %1, %0" : "=v"(r) : "v"(a));
#elif defined(__AVX__)
  __asm__("vsqrtps %1, %0" : "=x"(r) : "x"(a));
#else
  for (int i = 0; i < LANES; i++) r[i] = __builtin_sqrtf(a[i]);
#endif
  return r;
}

INLINE double add_lanes(vec a) {
  double s = 0;
  for (int i = 0; i < LANES; i++) s += a[i];
  return s;
}

// Transposes LANES vectors. A pass moves the lowest bit of an element's lane to bit K of its vector's number, and that
// bit to the top of its lane: after one pass a bit, lanes and numbers have changed places.
template <int K = 1> INLINE void transpose(vec* rows) {
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++)
    if (!(i & K)) {
      const vec a = rows[i], b = rows[i | K];
      rows[i] = evens(a, b);
      rows[i | K] = odds(a, b);
    }
  if constexpr (2 * K < LANES) transpose<2 * K>(rows);
}

constexpr int PART = 256;  // a piece of 8 to 64 KB, by the width of vectors

INLINE vec load_partial_or_zeros(const float* p, int n) { return n > 0 ? load_partial(p, n) : zeros(); }

// A tile's row: n <= TILE numbers, or zeros where there are none.
INLINE void begin_row(float* row, const float* numbers, int n) {
#pragma GCC unroll 4
  for (int c = 0; c < TILE; c += LANES)
    store_unaligned(row + c, numbers ? load_partial_or_zeros(numbers + c, n - c) : zeros());
}

// out[r] (n <= TILE columns) = start(r), or 0 where that is null, + row r of a times a piece.
//
// The start is put where the sums will be, part of a tile to a whole one, and read from there: the blocks, of which one
// is compiled for every number of rows, have no cases then.
template <class Start>
inline void multiply_piece(const float* a, long a_row, int rows, int depth, const float* piece, const Start& start,
                           float* out, long out_row, int n) {
  alignas(vec) float part[BLOCK_ROWS * TILE];
  const size_t bytes = sizeof(float) * std::min(n, TILE);
  for_each_block<BLOCK_ROWS>(rows, [&](auto size, int first) {
    constexpr int R = decltype(size)::value;
    float* const at = n < TILE ? part : out + first * out_row;
    const long row = n < TILE ? TILE : out_row;
    for (int r = 0; r < R; r++) begin_row(at + r * row, start(first + r), n);
    vec sum[R][TILE_VECTORS];
#pragma GCC unroll 16
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
      for (int c = 0; c < TILE_VECTORS; c++) sum[r][c] = load_unaligned(at + r * row + c * LANES);
    add_products(sum, depth, a + first * a_row, a_row, 1, piece, TILE);
#pragma GCC unroll 16
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
      for (int c = 0; c < TILE_VECTORS; c++) store_unaligned(at + r * row + c * LANES, sum[r][c]);
    if (n < TILE)
      for (int r = 0; r < R; r++) std::memcpy(out + (first + r) * out_row, at + r * row, bytes);
  });
}

// n <= TILE columns of a matrix (depth, ...) with rows of so many numbers, packed.
inline void pack_piece(const float* matrix, long row, int depth, int n, float* out) {
  for (int s = 0; s < depth; s++, matrix += row, out += TILE)
#pragma GCC unroll 4
    for (int c = 0; c < TILE; c += LANES) store(out + c, load_partial_or_zeros(matrix + c, n - c));
}

// The same of the transpose: n rows of a matrix (..., depth).
inline void pack_transposed_piece(const float* matrix, long row, int depth, int n, float* out) {
  for (int c = 0; c < TILE; c += LANES)
    for (int s = 0; s < depth; s += LANES) {
      vec rows[LANES];
      for (int i = 0; i < LANES; i++)
        rows[i] = c + i < n ? load_partial(matrix + (c + i) * row + s, depth - s) : zeros();
      transpose(rows);
      for (int i = 0; i < std::min(LANES, depth - s); i++) store(out + (long)(s + i) * TILE + c, rows[i]);
    }
}

// out (rows, columns) = x (rows, depth) W + b. W is (depth, columns), or (columns, depth) if transposed; b may be null.
inline void product(const float* x, int rows, int depth, const float* W, bool transposed, int columns, const float* b,
                    float* out) {
  static thread_local Floats space;
  space.reserve((size_t)(std::min(PART, rounded_up(depth, LANES)) + 1) * rounded_up(columns, TILE));
  float* const pieces = space.data;  // looked up once: each look-up of a thread's own memory is a call
  for (int s = 0; s == 0 || s < depth; s += PART) {
    const int part = std::min(PART, depth - s);
    const auto piece = [&](int j) { return pieces + (transposed ? 0 : (long)j * (part + 1)); };
    // Rows in the order of memory, to pieces whose distance is no power of two: sets of the cache.
    for (int i = 0; !transposed && i < part; i++)
      for (int j = 0; j < columns; j += TILE)
        pack_piece(W + (long)(s + i) * columns + j, columns, 1, columns - j, piece(j) + i * TILE);
    for (int j = 0; j < columns; j += TILE) {
      if (transposed) pack_transposed_piece(W + (long)j * depth + s, depth, part, columns - j, piece(j));
      const auto start = [&](int r) { return s ? out + (long)r * columns + j : b ? b + j : nullptr; };
      multiply_piece(x + s, depth, rows, part, piece(j), start, out + j, columns, columns - j);
    }
  }
}
