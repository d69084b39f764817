// Products with a matrix of which dropout has zeroed entries. The kept ones are listed by rows, and the others cost
// nothing: at a dropout of one half, half of the multiply-adds.
//
// Rows keep different entries, so each is computed by itself, and loads of the dense factor set the pace. They have to
// come from the L1 cache: the dense factor lies in strips of columns, and a block of a strip's rows fits into L1. All
// rows of the sparse matrix run through a block.
#pragma once
#include <algorithm>
#include <vector>
#include "caches.h"
#include "vec.h"

constexpr int STRIP_VECTORS = REGISTERS == 32 ? 8 : 6, STRIP = STRIP_VECTORS * LANES;
constexpr int BLOCK = L1D_BYTES / 32 * 31 / (STRIP * (int)sizeof(float));

struct Entry {
  float value;
  int32_t column;
};

// The kept entries of a matrix by rows, then by columns. The columns are cut into blocks of at most BLOCK: entries of
// block k of row r are starts[r * blocks + k] up to the next start.
struct SparseMatrix {
  int32_t rows, columns, blocks;
  Entry* entries;
  int32_t* starts;

  int begin(int k) const { return (long)columns * k / blocks; }
  int count() const { return starts[(long)rows * blocks]; }

  // f(row, first entry, count) over the rows' entries in block k.
  template <class F> INLINE void each_row(int k, F&& f) const {
    const int32_t* start = starts + k;
    for (int r = 0; r < rows; r++, start += blocks) f(r, start[0], start[1] - start[0]);
  }
};

constexpr int count_blocks(int columns) { return (columns + BLOCK - 1) / BLOCK; }

// Lists `values` times `mask`, both (rows, columns), where the mask is not 0; without a mask all values. LANES more
// entries are written, which products may read.
inline void list_entries(const SparseMatrix& m, const float* values, const float* mask) {
  int32_t count = 0;
  for (int r = 0; r < m.rows; r++, values += m.columns)
    for (int k = 0; k < m.blocks; k++) {
      m.starts[(long)r * m.blocks + k] = count;
      for (int c = m.begin(k), end = m.begin(k + 1); c < end; c++) {
        const float factor = mask ? mask[(long)r * m.columns + c] : 1.f;
        m.entries[count] = {values[c] * factor, c};
        count += factor != 0;
      }
    }
  m.starts[(long)m.rows * m.blocks] = count;
  std::fill_n(m.entries + count, LANES, Entry{0, 0});
}

// Lists the entries of `m` by columns.
inline void transpose_entries(const SparseMatrix& m, const SparseMatrix& transposed) {
  const long places = (long)transposed.rows * transposed.blocks;
  std::vector<int32_t> next(places + 1);
  const auto each_entry = [&](auto f) {
    for (int k = 0; k < transposed.blocks; k++)
      for (int r = transposed.begin(k), end = transposed.begin(k + 1); r < end; r++)
        for (int i = m.starts[(long)r * m.blocks]; i < m.starts[(long)(r + 1) * m.blocks]; i++)
          f((long)m.entries[i].column * transposed.blocks + k, Entry{m.entries[i].value, r});
  };
  each_entry([&](long place, Entry) { next[place + 1]++; });
  for (long place = 0; place < places; place++) next[place + 1] += next[place];
  std::copy_n(next.data(), places + 1, transposed.starts);
  each_entry([&](long place, Entry entry) { transposed.entries[next[place]++] = entry; });
}

// out (rows, STRIP), in rows of `out_row` numbers, = a times a strip (columns, STRIP).
inline void multiply_sparse(const SparseMatrix& a, const float* strip, float* out, long out_row) {
  for (int k = 0; k < a.blocks; k++)
    a.each_row(k, [&](int r, int first, int count) {
      vec sum[STRIP_VECTORS];
      float* o = out + r * out_row;
#pragma GCC unroll 8
      for (int c = 0; c < STRIP_VECTORS; c++) sum[c] = k ? load(o + c * LANES) : zeros();
      for (const Entry *e = a.entries + first, *end = e + count; e < end; e++) {
        const vec x = keep_in_register(broadcast(e->value));
        const float* row = keep_in_register(strip + (long)e->column * STRIP);
#pragma GCC unroll 8
        for (int c = 0; c < STRIP_VECTORS; c++) sum[c] += x * load(row + c * LANES);
      }
#pragma GCC unroll 8
      for (int c = 0; c < STRIP_VECTORS; c++) store(o + c * LANES, sum[c]);
    });
}

// Multiplies a row g with the N rows of a strip that entries name. Each product is the sum of LANES / N neighbouring
// lanes.
template <int N> INLINE vec multiply_rows(const vec (&g)[STRIP_VECTORS], const Entry* entry, const float* strip) {
  if constexpr (N > 1) {
    return pair_sums(multiply_rows<N / 2>(g, entry, strip), multiply_rows<N / 2>(g, entry + N / 2, strip));
  } else {
    const float* row = strip + (long)entry->column * STRIP;
    vec sum = g[0] * load(row);
#pragma GCC unroll 8
    for (int c = 1; c < STRIP_VECTORS; c++) sum += g[c] * load(row + c * LANES);
    return sum;
  }
}

// sums[i] += what g times the transposed strip has at the place of entry i of a: g (rows, STRIP), strip (columns,
// STRIP). Reads up to LANES entries and sums beyond the last.
inline void multiply_where_kept(const SparseMatrix& a, const float* g, const float* strip, float* sums) {
  for (int k = 0; k < a.blocks; k++)
    a.each_row(k, [&](int r, int first, int count) {
      vec x[STRIP_VECTORS];
#pragma GCC unroll 8
      for (int c = 0; c < STRIP_VECTORS; c++) x[c] = load(g + (long)r * STRIP + c * LANES);
      const Entry* entry = a.entries + first;
      float* s = sums + first;
      for (; count > 0; count -= LANES, entry += LANES, s += LANES) {
        const vec products = count > LANES / 2 ? multiply_rows<LANES>(x, entry, strip)
                                               : pair_sums(multiply_rows<LANES / 2>(x, entry, strip), zeros());
        store_unaligned(s, load_unaligned(s) + first_lanes(products, count));
      }
    });
}

// out (rows, columns) = the values at the entries of a, 0 elsewhere.
inline void scatter_entries(const SparseMatrix& a, const float* values, float* out) {
  std::fill_n(out, (long)a.rows * a.columns, 0.f);
  for (int r = 0; r < a.rows; r++)
    for (int i = a.starts[(long)r * a.blocks]; i < a.starts[(long)(r + 1) * a.blocks]; i++)
      out[(long)r * a.columns + a.entries[i].column] = values[i];
}
