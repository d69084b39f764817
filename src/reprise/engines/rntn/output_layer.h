// The output layer over one subsequence: P = Softmax(W_o h + b_o), its loss, gradient and update.
//
// It is 99 % of the work: three products of (T, H) with (H, V) or (T, V). W_o lies in tiles of TILE words, each
// [H+1][TILE] with b_o as the last row, so that the bias is one more product (with 1, or with -learning rate). Tiles
// come in groups that fit the L2 cache. The first visit to a group makes logits and exponentials, relative to the
// group's own maximum; the sums and maxima of all groups then give the softmax. The second visit makes dH and updates
// W_o: one trip of W_o from the L3 cache or from memory for both, where separate loops would take two. It goes through
// the groups backwards, so that either visit begins with what the other left in the cache.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include "caches.h"
#include "products.h"

constexpr int MAX_T = 64;                              // longest subsequence
constexpr int TILE = 2 * LANES;                        // words a tile
constexpr int ROWS = NARROW_ROWS;                      // 2 ROWS sums and factors fit the registers
constexpr int SLOTS = (2 * ROWS + LANES - 1) / LANES;  // vectors for the sums of a block of dH

// Of W_o in a group: 0.29 of L2, less where the L1 data cache is small. A row of blocks of dH reads the dL of the whole
// group again and again: 29 KB at H = 100, where L1 has 48 KB.
constexpr long GROUP_BYTES = std::min(300000L * L2_BYTES / (1 << 20), 300000L * L1D_BYTES / (48 << 10));

struct OutputLayer {
  int H, tiles, group_tiles;
  float* W;        // [tiles][H+1][TILE]
  float* L;        // [tiles][T][TILE]: logits, then exponentials, then the loss's derivatives
  float* inputs;   // [H+1][MAX_T]: softmax inputs, time along the row; row H is 1
  float* steps;    // [MAX_T][H1()]: -learning rate * softmax inputs; column H is -learning rate
  float* dH_sums;  // the blocks of dH as dH_block leaves them
  float* dH;       // [MAX_T][H1()]
  float* maxima;   // [groups][MAX_T]: the largest logit of a group
  double* sums;    // [groups][MAX_T]: the sum of exp(logit - that)

  int H1() const { return rounded_up(H + 1, LANES); }
  int groups() const { return (tiles + group_tiles - 1) / group_tiles; }
  int first(int group) const { return group * group_tiles; }
  int last(int group) const { return std::min(tiles, first(group) + group_tiles); }
  float* W_tile(int k) const { return W + (long)k * (H + 1) * TILE; }
  float* L_row(int k, int T, int t) const { return L + ((long)k * T + t) * TILE; }
};

inline int count_tiles(int V) { return (V + TILE - 1) / TILE; }
inline int count_group_tiles(int V, int H) {
  const long fitting = GROUP_BYTES / ((H + 1) * TILE * (int)sizeof(float));
  return std::max(1, (int)std::min<long>(fitting, count_tiles(V)));
}
inline size_t dH_sums_size(int H) {
  return (size_t)((MAX_T + ROWS - 1) / ROWS) * ((H + 1) / 2) * SLOTS * LANES;
}

// R rows of logits of one tile, and their running maxima.
template <int R>
INLINE void compute_logits_block(const float* W, int H, const float* inputs, float* L, vec* maxima) {
  vec sum[R][2] = {};
  for (int j = 0; j <= H; j++, W += TILE) {
    const vec w0 = load(W), w1 = load(W + LANES);
    __builtin_prefetch(W + (H + 1) * TILE);  // the next tile: from memory it arrives just in time
    __builtin_prefetch(W + (H + 1) * TILE + LANES);
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) {
      const vec x = keep_in_register(broadcast(inputs[j * MAX_T + r]));
      sum[r][0] += x * w0;
      sum[r][1] += x * w1;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; r++) {
    store(L + r * TILE, sum[r][0]);
    store(L + r * TILE + LANES, sum[r][1]);
    maxima[r] = max(maxima[r], max(sum[r][0], sum[r][1]));
  }
}

// R times C elements of dH: dH[t][j] += sum over the words of a group of dL[t][word] W_o[word][j]. The sums stay
// vectors over words until the group is done.
template <int R, int C>
INLINE void dH_block(const float* W, int H, int tiles, const float* dL, int T, float* out) {
  vec sum[SLOTS * LANES];
#pragma GCC unroll 64
  for (int i = 0; i < SLOTS * LANES; i++) sum[i] = zeros();
  for (int k = 0; k < tiles; k++, W += (H + 1) * TILE, dL += T * TILE) {
#pragma GCC unroll 2
    for (int q = 0; q < 2; q++) {
      vec w[C];
#pragma GCC unroll 2
      for (int c = 0; c < C; c++) w[c] = load(W + c * TILE + q * LANES);
#pragma GCC unroll 16
      for (int r = 0; r < R; r++) {
        const vec d = keep_in_register(load(dL + r * TILE + q * LANES));
#pragma GCC unroll 2
        for (int c = 0; c < C; c++) sum[r * C + c] += d * w[c];
      }
    }
  }
#pragma GCC unroll 8
  for (int s = 0; s < SLOTS; s++)
    if (s * LANES < R * C)
      store(out + s * LANES, load(out + s * LANES) + lane_sums(sum + s * LANES));
}

// R rows of one tile of W_o, updated by all T words of text: each is read and written once.
template <int R>
INLINE void update_block(float* W, int T, const float* dL, const float* steps, int H1) {
  vec w[R][2];
#pragma GCC unroll 16
  for (int r = 0; r < R; r++) w[r][0] = load(W + r * TILE), w[r][1] = load(W + r * TILE + LANES);
  add_products<R, 2>(w, T, steps, 1, H1, dL, TILE);
  store_block<R, 2>(w, W, TILE);
}

// Logits of group g and their maxima.
inline void compute_group_logits(const OutputLayer& o, int g, int T, vec* maxima) {
  std::fill(maxima, maxima + T, broadcast(-std::numeric_limits<float>::infinity()));
  for (int k = o.first(g); k < o.last(g); k++)
    for_each_block<ROWS>(T, [&](auto rows, int t) {
      compute_logits_block<rows>(o.W_tile(k), o.H, o.inputs + t, o.L_row(k, T, t), maxima + t);
    });
}

// Exponentials of row t of group g, relative to its maximum, and their sum.
inline double compute_row_exponentials(const OutputLayer& o, int g, int T, int t, float maximum) {
  vec sum0 = zeros(), sum1 = zeros();
  for (int k = o.first(g); k < o.last(g); k++) {
    float* l = o.L_row(k, T, t);
    const vec e0 = exp(load(l) - maximum), e1 = exp(load(l + LANES) - maximum);
    store(l, e0), store(l + LANES, e1);
    sum0 += e0, sum1 += e1;
  }
  double sum = 0;
  for (int i = 0; i < LANES; i++) sum += (double)sum0[i] + sum1[i];
  return sum;
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
      const int k = targets[t] / TILE;
      if (k >= o.first(g) && k < o.last(g)) loss -= o.L_row(k, T, t)[targets[t] % TILE];
      o.maxima[g * MAX_T + t] = largest(maxima[t]);
      o.sums[g * MAX_T + t] = compute_row_exponentials(o, g, T, t, o.maxima[g * MAX_T + t]);
    }
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
      if (targets[t] / TILE == k) l[targets[t] % TILE] -= weight;
    }
  float* out = o.dH_sums;
  for_each_block<ROWS>(T, [&](auto rows, int t) {
    for_each_block<2>(o.H, [&](auto columns, int j) {
      const float* W = o.W_tile(first) + j * TILE;
      dH_block<rows, columns>(W, o.H, last - first, o.L_row(first, T, t), T, out);
      out += SLOTS * LANES;
    });
  });
  for (int k = first; k < last; k++) {
    const float* next = o.W_tile(std::max(k - o.group_tiles, 0));  // of the group that comes next
    for_each_block<ROWS>(o.H + 1, [&](auto rows, int j) {
      for (int r = 0; r < decltype(rows)::value; r++) {  // under way while this block computes
        __builtin_prefetch(next + (j + r) * TILE);
        __builtin_prefetch(next + (j + r) * TILE + LANES);
      }
      update_block<rows>(o.W_tile(k) + j * TILE, T, o.L_row(k, T, 0), o.steps + j, o.H1());
    });
  }
}

inline void backward(const OutputLayer& o, int T, const int32_t* targets, float weight) {
  std::memset(o.dH_sums, 0, sizeof(float) * dH_sums_size(o.H));
  for (int g = o.groups() - 1; g >= 0; g--) backward_group(o, g, T, targets, weight);
  const float* sums = o.dH_sums;
  for_each_block<ROWS>(T, [&](auto rows, int t) {
    for_each_block<2>(o.H, [&](auto columns, int j) {
      for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++) o.dH[(t + r) * o.H1() + j + c] = sums[r * columns + c];
      sums += SLOTS * LANES;
    });
  });
}
