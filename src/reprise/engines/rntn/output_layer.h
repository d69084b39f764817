// The output layer over one subsequence: P = Softmax(W_o h + b_o), its loss, gradient and update.
//
// It is 99 % of the work: three products of (T, H) with (H, V) or (T, V). W_o lies in tiles of WORDS words, each
// [H+1][WORDS] with b_o as the last row, so that the bias is one more product (with 1, or with -learning rate). Tiles
// come in groups that fit the L2 cache. The first visit to a group makes logits and exponentials, relative to the
// group's own maximum; the sums and maxima of all groups then give the softmax. The second visit makes dH and updates
// W_o: one trip of W_o from the L3 cache or from memory for both, where separate loops would take two. It goes through
// the groups backwards, so that either visit begins with what the other left in the cache.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include "caches.h"
#include "products.h"

constexpr int MAX_T = 64;         // longest subsequence
constexpr int WORDS = 2 * LANES;  // of a tile
constexpr int LINE = 16;          // floats of a cache line
constexpr int AHEAD = 8;          // tiles from the one in use to the one that is fetched meanwhile

// Blocks whose sums stay in registers: rows of the batch, or of W_o, by tiles side by side; and of dH, rows by columns.
// With many registers each load serves 4 or 6 multiply-adds. With fewer, an Intel core that shares its front end with
// another thread runs out of instructions a cycle before it runs out of arithmetic.
constexpr int ROWS = MANY ? 6 : 5, SIDE_BY_SIDE = MANY ? 2 : 1, COLUMNS = MANY ? 4 : 2;
constexpr int BLOCK = rounded_up(ROWS * COLUMNS, LANES);  // floats for the sums of a block of dH

// Of W_o in a group: 0.29 of L2, less where the L1 data cache is small. A row of blocks of dH reads the dL of the whole
// group again and again: 15 KB at H = 100.
constexpr long GROUP_BYTES = std::min(300000L * L2_BYTES / (1 << 20), 300000L * L1D_BYTES / (48 << 10));

struct OutputLayer {
  int H, tiles, group_tiles;
  float* W;        // [tiles][H+1][WORDS]
  float* L;        // [tiles][T][WORDS]: logits, then exponentials, then the loss's derivatives
  float* inputs;   // [H+1][T]: softmax inputs, time along the row; row H is 1
  float* steps;    // [MAX_T][H1()]: -learning rate * softmax inputs; column H is -learning rate
  float* dH_sums;  // the blocks of dH as dH_block leaves them
  float* dH;       // [MAX_T][H1()]
  float* maxima;   // [groups][MAX_T]: the largest logit of a group
  double* sums;    // [groups][MAX_T]: the sum of exp(logit - that)

  int H1() const { return rounded_up(H + 1, LANES); }
  int groups() const { return (tiles + group_tiles - 1) / group_tiles; }
  int first(int group) const { return group * group_tiles; }
  int last(int group) const { return std::min(tiles, first(group) + group_tiles); }
  float* W_tile(int k) const { return W + (long)k * (H + 1) * WORDS; }
  float* L_row(int k, int T, int t) const { return L + ((long)k * T + t) * WORDS; }
};

inline int count_tiles(int V) { return (V + WORDS - 1) / WORDS; }
inline int count_group_tiles(int V, int H) {
  const long fitting = GROUP_BYTES / ((H + 1) * WORDS * (int)sizeof(float));
  return std::max(1, (int)std::min<long>(fitting, count_tiles(V)));
}
inline size_t dH_sums_size(int H) {
  return (size_t)((MAX_T + ROWS - 1) / ROWS) * ((H + COLUMNS - 1) / COLUMNS) * BLOCK;
}

// sum[r] += sum over s of a[s a_step + r] times row s of N tiles, `tile_step` floats apart. Meanwhile a line a row is
// brought to the L2 cache, from `ahead` on: in bursts they would wait for each other.
template <int R, int N>
INLINE void add_tile_products(vec (&sum)[R][2 * N], int depth, const float* a, long a_step, const float* tile,
                              long tile_step, const float* ahead) {
  for (int s = 0; s < depth; s++, a += a_step, tile += WORDS, ahead += LINE) {
    __builtin_prefetch(ahead, 0, 2);
    vec factor[2 * N];
#pragma GCC unroll 4
    for (int c = 0; c < 2 * N; c++) factor[c] = load(tile + c / 2 * tile_step + c % 2 * LANES);
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) {
      const vec x = keep_in_register(broadcast(a[r]));
#pragma GCC unroll 4
      for (int c = 0; c < 2 * N; c++) sum[r][c] += x * factor[c];
    }
  }
}

// R rows of logits of N tiles, and their running maxima.
template <int R, int N>
INLINE void compute_logits_block(const float* W, int H, int T, const float* inputs, float* L, vec* maxima,
                                 const float* ahead) {
  vec sum[R][2 * N] = {};
  add_tile_products<R, N>(sum, H + 1, inputs, T, W, (H + 1) * WORDS, ahead);
#pragma GCC unroll 16
  for (int r = 0; r < R; r++)
#pragma GCC unroll 2
    for (int n = 0; n < N; n++) {
      float* l = L + ((long)n * T + r) * WORDS;
      store(l, sum[r][2 * n]), store(l + LANES, sum[r][2 * n + 1]);
      maxima[r] = max(maxima[r], max(sum[r][2 * n], sum[r][2 * n + 1]));
    }
}

// R times C elements of dH: dH[t][j] += sum over the words of a group of dL[t][word] W_o[word][j]. The sums stay
// vectors over words until the group is done.
template <int R, int C>
INLINE void dH_block(const float* W, int H, int tiles, const float* dL, int T, float* out) {
  vec sum[BLOCK];
#pragma GCC unroll 64
  for (int i = 0; i < BLOCK; i++) sum[i] = zeros();
  for (int k = 0; k < tiles; k++, W += (H + 1) * WORDS, dL += T * WORDS) {
#pragma GCC unroll 2
    for (int q = 0; q < 2; q++) {
      vec w[C];
#pragma GCC unroll 4
      for (int c = 0; c < C; c++) w[c] = load(W + c * WORDS + q * LANES);
#pragma GCC unroll 16
      for (int r = 0; r < R; r++) {
        const vec d = keep_in_register(load(dL + r * WORDS + q * LANES));
#pragma GCC unroll 4
        for (int c = 0; c < C; c++) sum[r * C + c] += d * w[c];
      }
    }
  }
#pragma GCC unroll 8
  for (int s = 0; s < BLOCK; s += LANES)
    if (s < R * C) store(out + s, load(out + s) + lane_sums(sum + s));
}

// R rows of N tiles of W_o, updated by all T words of text: each is read and written once.
template <int R, int N>
INLINE void update_block(float* W, int H, int T, const float* dL, const float* steps, int H1, const float* ahead) {
  vec w[R][2 * N];
  const auto place = [&](int r, int c) { return W + (c / 2 * (H + 1) + r) * WORDS + c % 2 * LANES; };
#pragma GCC unroll 16
  for (int r = 0; r < R; r++)
#pragma GCC unroll 4
    for (int c = 0; c < 2 * N; c++) w[r][c] = load(place(r, c));
  add_tile_products<R, N>(w, T, steps, H1, dL, T * WORDS, ahead);
#pragma GCC unroll 16
  for (int r = 0; r < R; r++)
#pragma GCC unroll 4
    for (int c = 0; c < 2 * N; c++) store(place(r, c), w[r][c]);
}

// Calls f(constant<N>, k) for the tiles of group g, N of them from k on.
template <class F> INLINE void for_each_tile(const OutputLayer& o, int g, F&& f) {
  int k = o.first(g);
  for (; k + SIDE_BY_SIDE <= o.last(g); k += SIDE_BY_SIDE) f(constant<SIDE_BY_SIDE>{}, k);
  if (k < o.last(g)) f(constant<1>{}, k);
}

// Logits of group g and their maxima.
inline void compute_group_logits(const OutputLayer& o, int g, int T, vec* maxima) {
  std::fill(maxima, maxima + T, broadcast(-std::numeric_limits<float>::infinity()));
  for_each_tile(o, g, [&](auto tiles, int k) {
    const float* ahead = o.W_tile(k + AHEAD);
    for_each_block<ROWS>(T, [&](auto rows, int t) {
      compute_logits_block<rows, tiles>(o.W_tile(k), o.H, T, o.inputs + t, o.L_row(k, T, t), maxima + t, ahead);
      ahead += (o.H + 1) * LINE;
    });
  });
}

// Exponentials of group g, relative to each row's maximum, and their sums.
inline void compute_group_exponentials(const OutputLayer& o, int g, int T) {
  vec sum[MAX_T][2];
  std::fill(sum[0], sum[T], zeros());
  for (int k = o.first(g); k < o.last(g); k++)
    for (int t = 0; t < T; t++) {
      float* l = o.L_row(k, T, t);
      const float maximum = o.maxima[g * MAX_T + t];
      const vec e0 = exp(load(l) - maximum), e1 = exp(load(l + LANES) - maximum);
      store(l, e0), store(l + LANES, e1);
      sum[t][0] += e0, sum[t][1] += e1;
    }
  for (int t = 0; t < T; t++) {
    double total = 0;
    for (int i = 0; i < LANES; i++) total += (double)sum[t][0][i] + sum[t][1][i];
    o.sums[g * MAX_T + t] = total;
  }
}

// The summed loss of the subsequence in nats. Afterwards sums[g][t] is the factor that makes the exponentials of group
// g probabilities. Loss and normaliser are double: a loss is a difference of large numbers, and a normaliser the sum of
// thousands of small ones.
inline double forward(const OutputLayer& o, int T, const int32_t* targets) {
  double loss = 0;
  const int groups = o.groups();
  for (int g = 0; g < groups; g++) {
    vec maxima[MAX_T];
    compute_group_logits(o, g, T, maxima);
    for (int t = 0; t < T; t++) {
      const int k = targets[t] / WORDS;
      if (k >= o.first(g) && k < o.last(g)) loss -= o.L_row(k, T, t)[targets[t] % WORDS];
      o.maxima[g * MAX_T + t] = largest(maxima[t]);
    }
    compute_group_exponentials(o, g, T);
  }
  for (int t = 0; t < T; t++) {
    double top = o.maxima[t], Z = 0;
    for (int g = 1; g < groups; g++) top = std::max(top, (double)o.maxima[g * MAX_T + t]);
    for (int g = 0; g < groups; g++)
      Z += o.sums[g * MAX_T + t] * std::exp(o.maxima[g * MAX_T + t] - top);
    for (int g = 0; g < groups; g++)
      o.sums[g * MAX_T + t] = std::exp(o.maxima[g * MAX_T + t] - top) / Z;
    loss += std::log(Z) + top;
  }
  return loss;
}

// Of group g: dL = weight * (P - 1 at the target), dH += dL W_o, W_o -= learning rate * dL' inputs.
inline void backward_group(const OutputLayer& o, int g, int T, const int32_t* targets,
                           float weight) {
  const int first = o.first(g), last = o.last(g);
  for (int k = first; k < last; k++)
    for (int t = 0; t < T; t++) {
      float* l = o.L_row(k, T, t);
      const float scale = weight * (float)o.sums[g * MAX_T + t];
      store(l, load(l) * scale), store(l + LANES, load(l + LANES) * scale);
      if (targets[t] / WORDS == k) l[targets[t] % WORDS] -= weight;
    }
  float* out = o.dH_sums;
  for_each_block<ROWS>(T, [&](auto rows, int t) {
    for_each_block<COLUMNS>(o.H, [&](auto columns, int j) {
      const float* W = o.W_tile(first) + j * WORDS;
      dH_block<rows, columns>(W, o.H, last - first, o.L_row(first, T, t), T, out);
      out += BLOCK;
    });
  });
  for_each_tile(o, g, [&](auto tiles, int k) {
    const float* ahead = o.W_tile(std::max(k - o.group_tiles, 0));  // of the group that comes next
    for_each_block<ROWS>(o.H + 1, [&](auto rows, int j) {
      update_block<rows, tiles>(o.W_tile(k) + j * WORDS, o.H, T, o.L_row(k, T, 0), o.steps + j, o.H1(), ahead);
      ahead += T * LINE;
    });
  });
}

inline void backward(const OutputLayer& o, int T, const int32_t* targets, float weight) {
  std::memset(o.dH_sums, 0, sizeof(float) * dH_sums_size(o.H));
  for (int g = o.groups() - 1; g >= 0; g--) backward_group(o, g, T, targets, weight);
  const float* sums = o.dH_sums;
  for_each_block<ROWS>(T, [&](auto rows, int t) {
    for_each_block<COLUMNS>(o.H, [&](auto columns, int j) {
      for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++) o.dH[(t + r) * o.H1() + j + c] = sums[r * columns + c];
      sums += BLOCK;
    });
  });
}
