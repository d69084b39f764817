// The three matrix products of a recurrent layer over a batch, on matrices packed into tiles of whole vectors.
//
// A matrix of r rows and c columns in tiles of w columns lies as [c / w][r][w]: a product runs through a tile in order,
// and a block of the result stays in registers while it does.
#pragma once
#include "vec.h"

constexpr bool MANY = REGISTERS == 32;
// Columns of a tile, and rows of a block of sums. With 32 registers a step of the depth loads 10 times for 24
// multiply-adds. Blocks of 12 x 2 load 14 times: on Intel's processors the loads then set the pace.
constexpr int TILE_VECTORS = MANY ? 4 : 2, TILE = TILE_VECTORS * LANES, BLOCK_ROWS = MANY ? 6 : 5;
constexpr int WIDE = 4 * LANES, WIDE_ROWS = MANY ? 6 : 2;  // of W_h': four vectors of units, or of an LSTM's gates

// sum[r][c] += sum over s of a[r a_row + s a_step] b[s b_step + c], c counting vectors.
template <int R, int C>
INLINE void add_products(vec (&sum)[R][C], int depth, const float* a, long a_row, long a_step, const float* b,
                         long b_step) {
  for (int s = 0; s < depth; s++, a += a_step, b += b_step) {
    vec factor[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; c++) factor[c] = load(b + c * LANES);
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) {
      const vec x = keep_in_register(broadcast(a[r * a_row]));
#pragma GCC unroll 4
      for (int c = 0; c < C; c++) sum[r][c] += x * factor[c];
    }
  }
}

// Rows of C vectors into memory, or added to what is there.
template <int R, int C> INLINE void store_block(const vec (&sum)[R][C], float* out, long out_row, bool add = false) {
#pragma GCC unroll 16
  for (int r = 0; r < R; r++)
#pragma GCC unroll 4
    for (int c = 0; c < C; c++) {
      float* o = out + r * out_row + c * LANES;
      store(o, add ? load(o) + sum[r][c] : sum[r][c]);
    }
}

// out[r] (WIDE columns each) = start[r] + rows r of a, times a tile of WIDE columns.
template <int R>
INLINE void multiply_wide(const float* const* start, const float* a, long a_row, int depth, const float* tile,
                          float* out) {
  vec sum[R][4];
#pragma GCC unroll 16
  for (int r = 0; r < R; r++)
#pragma GCC unroll 4
    for (int c = 0; c < 4; c++) sum[r][c] = load(start[r] + c * LANES);
  add_products<R, 4>(sum, depth, a, a_row, 1, tile, WIDE);
  store_block<R, 4>(sum, out, WIDE);
}

// out (rows, tiles * TILE) = a (rows, depth) times a matrix (depth, tiles * TILE) in tiles.
inline void multiply_tiles(const float* a, long a_row, int rows, int depth, const float* matrix, int tiles,
                           float* out) {
  for (int k = 0; k < tiles; k++, matrix += (long)depth * TILE)
    for_each_block<BLOCK_ROWS>(rows, [&](auto size, int first) {
      constexpr int R = decltype(size)::value;
      vec sum[R][TILE_VECTORS] = {};
      add_products(sum, depth, a + first * a_row, a_row, 1, matrix, TILE);
      store_block(sum, out + ((long)first * tiles + k) * TILE, (long)tiles * TILE);
    });
}

// What the next step reads from memory, brought to the cache a few lines at a time while this one computes.
struct Prefetch {
  const float *at, *end;

  INLINE void lines(int count) {
    for (; count > 0 && at < end; count--, at += 16) __builtin_prefetch(at, 0, 2);
  }
};

// matrix (columns, tiles * TILE) in tiles += a' b for a (depth, columns) and b (depth, tiles * TILE). The product is
// summed by itself first: over thousands of calls fewer roundings meet the large sum.
inline void add_transposed_product(const float* a, long a_row, int columns, const float* b, long b_row, int depth,
                                   float* matrix, int tiles, Prefetch next) {
  const int lines = 1 + (next.end - next.at) / 16 * BLOCK_ROWS / (columns * tiles);
  for_each_block<BLOCK_ROWS>(columns, [&](auto size, int first) {
    constexpr int R = decltype(size)::value;
    for (int k = 0; k < tiles; k++) {
      next.lines(lines);
      float* m = matrix + ((long)k * columns + first) * TILE;
      vec sum[R][TILE_VECTORS] = {};
      add_products(sum, depth, a + first, 1, a_row, b + k * TILE, b_row);
      store_block(sum, m, TILE, true);
    }
  });
}
