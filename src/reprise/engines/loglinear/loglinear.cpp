// What a log-linear RNN needs beside plain matrix products, each in one pass: LSTM layers, the softmax, RMSProp.
//
// Symbols as in models/loglinear.py. Everything is summed in a fixed order.
#include <cmath>
#include "loglinear_classes.h"
#include "loglinear_layer.h"

// RMSProp as in Keras, of some numbers: a = rho a + (1 - rho) g^2, p -= rate g / (sqrt(a + epsilon_inside) + epsilon).
struct Rates {
  float rate, rho, epsilon, epsilon_inside;

  INLINE void update(float* p, float* a, vec g, int n) const {
    const vec mean = load_partial(a, n) * rho + g * g * (1.f - rho);
    store_partial(a, mean, n);
    store_partial(p, load_partial(p, n) - g * rate / (square_root(mean + epsilon_inside) + epsilon), n);
  }
};

constexpr int GROUP = 16 * BLOCK_ROWS;
constexpr int AHEAD = 512;  // floats that an update fetches before it comes to them

// out (R, TILE) = d' h. d is (depth, R), R numbers a row; h (depth, TILE) is a tile.
template <int R>
INLINE void compute_gradient_block(int depth, const float* d, const float* tile, float* out, long row) {
  vec sum[R][TILE_VECTORS] = {};
  add_products(sum, depth, d, 1, R, tile, TILE);
  store_block(sum, out, row);
}

extern "C" {

LSTMLayer* reprise_ll_layer(int H) { return new LSTMLayer(H); }
void reprise_ll_layer_free(LSTMLayer* layer) { delete layer; }
void reprise_ll_forward(LSTMLayer* layer, const Window* w, const float* U) { layer->forward(*w, U); }
void reprise_ll_backward(LSTMLayer* layer, const Window* w, const float* U, const float* dh, int every, float* d) {
  layer->backward(*w, U, dh, every, d);
}

void reprise_ll_product(int rows, int depth, int columns, int transposed, const float* x, const float* W,
                        const float* b, float* out) {
  product(x, rows, depth, W, transposed, columns, b, out);
}

// out[r] = the sum of the rows indices[indptr[c]] .. of a table, c = number[r], and of its row min(c, M) unless M < 0.
void reprise_ll_sum_rows(int rows, int width, int M, const float* table, const int64_t* indptr, const int64_t* indices,
                         const int64_t* number, float* out) {
  for (int r = 0; r < rows; r++, out += width) {
    const int64_t c = number[r];
    for (int j = 0; j < width; j += LANES) {
      vec sum{};
      for (int64_t i = indptr[c]; i < indptr[c + 1]; i++)
        sum += load_partial(table + indices[i] * width + j, width - j);
      if (M >= 0) sum += load_partial(table + std::min<int64_t>(c, M) * width + j, width - j);
      store_partial(out + j, sum, width - j);
    }
  }
}

// Scores L (rows, n) become weight * (softmax - 1 at the target); -log p of each target in nats.
void reprise_ll_softmax(int rows, int n, float* L, const int64_t* target, float weight, double* losses) {
  for (int r = 0; r < rows; r++) {
    float* l = L + (long)r * n;
    vec most = broadcast(-INFINITY);
    int c = 0;
    for (; c + LANES <= n; c += LANES) most = max(load_partial(l + c, LANES), most);
    float greatest = largest(most);
    for (; c < n; c++) greatest = l[c] > greatest ? l[c] : greatest;
    const double at_target = (double)l[target[r]] - greatest;
    double total = 0;
    for (c = 0; c < n;) {
      vec sum{};  // of so few numbers that float32 is enough
      for (const int stop = c + 64 * LANES < n ? c + 64 * LANES : n; c < stop; c += LANES) {
        vec e = exp(load_partial(l + c, n - c) - greatest);
        store_partial(l + c, e, n - c);
        if (n - c < LANES)
          for (int i = n - c; i < LANES; i++) e[i] = 0;
        sum += e;
      }
      total += add_lanes(sum);
    }
    losses[r] = std::log(total) - at_target;
    const vec factor = broadcast((float)(weight / total));
    for (c = 0; c < n; c += LANES) store_partial(l + c, load_partial(l + c, n - c) * factor, n - c);
    l[target[r]] -= weight;
  }
}

// See ClassSoftmax; `out` may be null.
void reprise_ll_class_softmax(const Classes* classes, int rows, const float* a, const int64_t* target, float weight,
                              float* out, double* losses) {
  static thread_local Floats space;
  const long F = classes->features;
  space.reserve((size_t)(2 * F + classes->C) * LANES);
  const ClassSoftmax softmax{*classes, space.data, space.data + F * LANES, space.data + 2 * F * LANES};
  for (int r = 0; r < rows; r += LANES)
    softmax.run(a + r * F, std::min(LANES, rows - r), target + r, weight, out ? out + r * F : nullptr, losses + r);
}

void reprise_ll_rmsprop(long n, float* p, float* a, const float* g, const Rates* by) {
  const Rates rates = *by;
  for (long j = 0; j < n; j += LANES) {
    const int some = n - j < LANES ? (int)(n - j) : LANES;
    rates.update(p + j, a + j, load_partial(g + j, some), some);
  }
}

// Of rows numbers[r] of a table, whose gradients are g (rows, width): each a first falls by rho for every step missed.
void reprise_ll_rmsprop_rows(int rows, int width, const int64_t* numbers, float* p, float* a, int64_t* seen,
                             const float* g, int64_t step, const Rates* by) {
  const Rates rates = *by;
  for (int r = 0; r < rows; r++, g += width) {
    const int64_t row = numbers[r];
    const float fallen = (float)std::pow((double)rates.rho, (double)(step - 1 - seen[row]));
    seen[row] = step;
    for (int j = 0; j < width; j += LANES) {
      float* mean = a + row * width + j;
      store_partial(mean, load_partial(mean, width - j) * fallen, width - j);
      rates.update(p + row * width + j, mean, load_partial(g + j, width - j), width - j);
    }
  }
}

// The same for p (rows, H) whose gradient is d' h, with d (depth, rows) and h (depth, H). If dh (depth, H) is not null,
// it becomes d p, of p before the update.
//
// Goes by groups of rows: a group's p, a, gradient and columns of d stay in the cache. Updating blocks of p and a as
// they come out of the product, rows apart in memory, takes three times as long as going through them in order.
void reprise_ll_rmsprop_product(int rows, int H, int depth, const float* d, const float* h, float* p, float* a,
                                const Rates* by, float* dh) {
  const Rates rates = *by;
  static thread_local Floats tile_buffer, column_buffer, gradient_buffer, piece_buffer;
  const int width = rounded_up(H, TILE), row = width + TILE;  // no power of two: sets of the cache
  const long apart = depth + 1;  // distances that are no powers of two either
  tile_buffer.reserve(apart * width), column_buffer.reserve(apart * GROUP);
  gradient_buffer.reserve((size_t)GROUP * row), piece_buffer.reserve((size_t)GROUP * TILE);
  // Looked up once: each look-up of a thread's own memory is a call.
  float *const tiles = tile_buffer.data, *const columns = column_buffer.data, *const gradient = gradient_buffer.data;
  float* const piece = piece_buffer.data;
  // A few rows at a time: a column of h lies on as many pages as there are rows.
  for (int first = 0; first < depth; first += LANES)
    for (int j = 0; j < width; j += LANES)
      for (int s = first; s < std::min(depth, first + LANES); s++)
        store(tiles + (j / TILE * apart + s) * TILE + j % TILE,
              j < H ? load_partial(h + (long)s * H + j, H - j) : zeros());
  for (int start = 0; start < rows; start += GROUP) {
    const int count = std::min(GROUP, rows - start);
    for (int j = 0; dh && j < H; j += TILE) {
      pack_piece(p + (long)start * H + j, H, count, H - j, piece);
      const auto sum_before = [&](int r) { return start ? dh + (long)r * H + j : nullptr; };
      multiply_piece(d + start, rows, depth, count, piece, sum_before, dh + j, H, H - j);
    }
    for (int s = 0; s < depth; s++)
      for_each_block<BLOCK_ROWS>(count, [&](auto size, int first) {
        std::memcpy(columns + first * apart + s * size, d + (long)s * rows + start + first, sizeof(float) * size);
      });
    for (int j = 0; j < H; j += TILE)
      for_each_block<BLOCK_ROWS>(count, [&](auto size, int first) {
        float* out = gradient + (long)first * row + j;
        compute_gradient_block<size>(depth, columns + first * apart, tiles + j * apart, out, row);
      });
    for (int r = 0; r < count; r++)
      for (int j = 0; j < H; j += LANES) {
        const long at = (long)(start + r) * H + j;
        __builtin_prefetch(p + at + AHEAD, 1, 2), __builtin_prefetch(a + at + AHEAD, 1, 2);
        rates.update(p + at, a + at, load(gradient + r * row + j), H - j);
      }
  }
}
}
