// Matrix products for packed rows: row matrices of any stride times matrices in panels of whole vectors.
//
// A matrix of r rows and v vectors of columns lies in panels of up to COLUMNS vectors, cut by for_each_block: the panel
// that begins with vector u starts at u r LANES and holds its rows one after another. A product runs through a panel in
// order, for up to ROWS rows at a time, whose sums stay in registers. Panels of 3 vectors and 8 rows lose least at a
// few rows and at widths such as 400, where wider panels would be filled up with zeros.
#pragma once
#include <algorithm>
#include <cstring>
#include "floats.h"
#include "products.h"

constexpr int COLUMNS = MANY ? 3 : 2, ROWS = MANY ? 8 : 5;
constexpr int GRADIENT_ROWS = 128;  // of the two factors of a weight gradient: their panels stay in the L1 cache

constexpr int vectors(int n) { return (n + LANES - 1) / LANES; }

// Calls f(constant<C>, first vector) for each panel of a matrix of n columns.
template <class F> INLINE void for_each_panel(int n, F&& f) { for_each_block<COLUMNS>(vectors(n), f); }

// out (rows, columns) = a (rows, depth) times a matrix (depth, columns) in panels; or added to out.
inline void multiply(const float* a, long a_row, int rows, int depth, const float* matrix, int columns, float* out,
                     long out_row, bool add) {
  for_each_panel(columns, [&](auto width, int v) {
    constexpr int C = decltype(width)::value;
    const float* panel = matrix + (long)v * LANES * depth;
    for_each_block<ROWS>(rows, [&](auto size, int first) {
      constexpr int R = decltype(size)::value;
      vec sum[R][C] = {};
      add_products<R, C>(sum, depth, a + first * a_row, a_row, 1, panel, C * LANES);
      store_block<R, C>(sum, out + first * out_row + v * LANES, out_row, add);
    });
  });
}

// matrix (n, columns) in panels += a' b for a (depth, n) and b (depth, columns) in panels.
inline void add_transposed(const float* a, long a_row, int n, int depth, const float* b, int columns, float* matrix) {
  for_each_panel(columns, [&](auto width, int v) {
    constexpr int C = decltype(width)::value;
    const float* panel = b + (long)v * LANES * depth;
    for_each_block<ROWS>(n, [&](auto size, int first) {
      constexpr int R = decltype(size)::value;
      vec sum[R][C] = {};
      add_products<R, C>(sum, depth, a + first, 1, a_row, panel, C * LANES);
      store_block<R, C>(sum, matrix + ((long)v * n + (long)first * C) * LANES, C * LANES, true);
    });
  });
}

// Rows row(0) .. row(depth-1), each of whole vectors, into panels.
template <class F> inline void pack_panels(int depth, int columns, float* panels, F&& row) {
  for_each_panel(columns, [&](auto width, int v) {
    constexpr int C = decltype(width)::value;
    float* panel = panels + (long)v * LANES * depth;
    for (int s = 0; s < depth; s++, panel += C * LANES)
#pragma GCC unroll 4
      for (int c = 0; c < C; c++) store(panel + c * LANES, row(s, (v + c) * LANES));
  });
}

// A weight matrix w (n, k) as the readable model has it, and what the products need of it; the gradient's padding is 0.
struct Weights {
  int n = 0, k = 0;
  Floats by_row;      // w' (k, n) in panels: x w' is the forward product
  Floats by_column;   // w (n, k) in panels: d w is the backward product
  Floats gradient;    // (n, k) in panels

  void resize(int rows, int columns) {
    n = rows, k = columns;
    by_row.reserve((size_t)k * vectors(n) * LANES), by_column.reserve((size_t)n * vectors(k) * LANES);
    gradient.reserve((size_t)n * vectors(k) * LANES);
  }

  void read_by_row(const float* w) {
    for_each_panel(n, [&](auto width, int v) {
      constexpr int columns = decltype(width)::value * LANES;
      const int first = v * LANES, used = std::min(columns, n - first);
      float* out = by_row.data + (size_t)first * k;
      for (int j = 0; j < k; j++, out += columns)
        for (int i = 0; i < used; i++) out[i] = w[(size_t)(first + i) * k + j];
    });
  }

  // Copies rows of every panel: from w, or into w.
  void read_by_column(const float* w) {
    for_each_row([&](size_t at, size_t place, int count) {
      std::memcpy(by_column.data + at, w + place, sizeof(float) * count);
    });
  }
  void write_gradient(float* w) const {
    for_each_row([&](size_t at, size_t place, int count) {
      std::memcpy(w + place, gradient.data + at, sizeof(float) * count);
    });
  }
  void clear_gradient() { std::memset(gradient.data, 0, sizeof(float) * gradient.size); }

  template <class F> void for_each_row(F&& f) const {
    for_each_panel(k, [&](auto width, int v) {
      constexpr int columns = decltype(width)::value * LANES;
      const int first = v * LANES, used = std::min(columns, k - first);
      for (int i = 0; i < n; i++) f((size_t)first * n + (size_t)i * columns, (size_t)i * k + first, used);
    });
  }
};

// A row a symbol (symbols, n), padded to whole vectors, and its gradient; with one row all symbols share it.
struct SymbolRows {
  int symbols = 0, n = 0;
  Floats values, gradient;

  int width() const { return vectors(n) * LANES; }
  size_t at(int x) const { return symbols == 1 ? 0 : (size_t)x * width(); }
  const float* row(int x) const { return values.data + at(x); }
  float* slope(int x) const { return gradient.data + at(x); }

  void resize(int rows, int columns) {
    symbols = rows, n = columns;
    values.reserve((size_t)symbols * width()), gradient.reserve((size_t)symbols * width());
  }
  void read(const float* w) {
    for (int x = 0; x < symbols; x++)
      std::memcpy(values.data + (size_t)x * width(), w + (size_t)x * n, sizeof(float) * n);
  }
  void write_gradient(float* w) const {
    for (int x = 0; x < symbols; x++)
      std::memcpy(w + (size_t)x * n, gradient.data + (size_t)x * width(), sizeof(float) * n);
  }
  void clear_gradient() {
    if (gradient.size) std::memset(gradient.data, 0, sizeof(float) * gradient.size);
  }
};
