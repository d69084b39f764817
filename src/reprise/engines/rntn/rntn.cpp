// Batch-1 training of s-RNN, RNTN, r-RNTN and m-RNN language models: forward pass, backward pass and SGD step of one
// subsequence after another, in one call. The readable models are models/rntn.py and models/mrnn.py; symbols and
// equation numbers here are theirs. One thread: at this size as many processes as cores are faster than threads.
//
// Only the rows of W_h, v and b_h and the matrices of U_h that a subsequence used are touched, so that the cost does
// not depend on K. Sums run in a fixed order: the same inputs give the same bits on the same machine.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include "output_layer.h"
#include "recurrence.h"

// Dropout as in counters.py: the same key gives the same bits.
struct Dropout {
  uint64_t key;
  uint64_t threshold;  // a unit is kept iff its number reaches it; 0 keeps every unit
  float scale;         // 1 / (1 - p)
  uint32_t number(uint64_t counter) const {
    uint64_t z = (counter + 1) * 0x9E3779B97F4A7C15u + key;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (uint32_t)((z ^ (z >> 31)) >> 32);
  }
  // The factors of the H units of one token; token counts from the start of the epoch.
  void mask(int64_t token, int H, float* out) const {
    const uint64_t first = (uint64_t)token * (uint64_t)H;
    for (int j = 0; j < H; j++) out[j] = number(first + (uint64_t)j) >= threshold ? scale : 0.f;
  }
};

// Filled by native.py, in this order. width(n) is n rounded up to whole vectors; what fills up is 0.
struct Model {
  int32_t V, H, M;           // M: factors of an m-RNN, 0 for the others
  float h_0;
  const int32_t* matrix_of;  // (V,): the recurrence matrix of each word
  const int32_t* bias_of;    // (V,): the row of b_h of each word
  float* W_h;                // (V, width(H))
  float* U_h;                // (K, H, width(H)): the matrices' transposes; an m-RNN has none
  float* b_h;                // (K or 1, width(H))
  float* W_o;                // the tiles of output_layer.h, b_o among them
  float* v;                  // (V, width(M))
  float* U_l;                // (M, width(H)): the transpose
  float* U_r;                // (H, width(M)): the transpose
};

struct Data {  // as in subsequences.py
  const int32_t *inputs, *targets;
  const int64_t* offsets;
  const uint8_t* reset;
  int64_t count, first_token;
};

constexpr int width(int n) { return rounded_up(n, LANES); }

struct Buffer {  // zeros on a page boundary
  float* data;
  explicit Buffer(size_t floats) {
    void* memory = nullptr;
    if (posix_memalign(&memory, 4096, (floats + LANES) * sizeof(float))) throw std::bad_alloc();
    data = (float*)std::memset(memory, 0, (floats + LANES) * sizeof(float));
  }
  Buffer(const Buffer&) = delete;
  ~Buffer() { std::free(data); }
};

struct Run {
  const Model& m;
  const int H, Hw, Mw, H1, tiles;
  Buffer h, masks, inputs, steps, dH, dH_sums, L, maxima, sums;  // around the output layer
  Buffer r, f, dr, df, dz, dh;                                   // of the recurrence
  OutputLayer out;

  explicit Run(const Model& model)
      : m(model), H(m.H), Hw(width(H)), Mw(width(m.M)), H1(width(H + 1)), tiles(count_tiles(m.V)),
        h((MAX_T + 1) * Hw), masks(MAX_T * Hw), inputs((H + 1) * MAX_T), steps(MAX_T * H1),
        dH(MAX_T * H1), dH_sums(dH_sums_size(H)), L((size_t)MAX_T * tiles * WORDS),
        maxima((size_t)MAX_T * tiles), sums((size_t)MAX_T * tiles * 2), r(MAX_T * Mw),
        f(MAX_T * Mw), dr(MAX_T * Mw), df(MAX_T * Mw), dz(MAX_T * Hw), dh(Hw),
        out{H, tiles, count_group_tiles(m.V, H), m.W_o, L.data, inputs.data, steps.data,
            dH_sums.data, dH.data, maxima.data, (double*)sums.data} {}

  float* state(int t) { return h.data + t * Hw; }  // before word t
  float* U(int x) { return m.U_h + (long)m.matrix_of[x] * H * Hw; }

  // h = sigma(W_h x + U h + b), (4); in an m-RNN U h is U_l (v_x * (U_r h)), (3).
  void step(int t, int x) {
    float* next = state(t + 1);
    const float *W_h = m.W_h + (long)x * Hw, *b_h = m.b_h + (long)m.bias_of[x] * Hw;
    for (int i = 0; i < Hw; i += LANES) store(next + i, load(W_h + i) + load(b_h + i));
    if (m.M) {
      float *rt = r.data + t * Mw, *ft = f.data + t * Mw;
      std::fill(rt, rt + Mw, 0.f);
      add_product(m.U_r, H, Mw, state(t), rt);
      const float* v = m.v + (long)x * Mw;
      for (int i = 0; i < Mw; i += LANES) store(ft + i, load(rt + i) * load(v + i));
      add_product(m.U_l, m.M, Hw, ft, next);
    } else {
      add_product(U(x), H, Hw, state(t), next);
    }
    for (int i = 0; i < Hw; i += LANES) store(next + i, sigmoid(load(next + i)));
  }

  // The softmax inputs mask * h: with time along the row for the logits, and times -learning rate for the update.
  void prepare_output(int T, int64_t token, const Dropout& dropout, float learning_rate) {
    for (int t = 0; t < T; t++) {
      float *mask = masks.data + t * Hw, *scaled = steps.data + t * H1;
      dropout.mask(token + t, H, mask);
      for (int j = 0; j < H; j++) {
        const float x = state(t + 1)[j] * mask[j];
        inputs.data[j * T + t] = x;
        scaled[j] = -learning_rate * x;
      }
      inputs.data[H * T + t] = 1;
      scaled[H] = -learning_rate;
    }
  }

  // dz: the loss's derivative by the argument of sigma, from the last step to the first. The derivative by a state is
  // that from its output plus that from the next state, each cut off at plus and minus `bound`.
  void backward_through_time(int T, const int32_t* x, float bound) {
    const auto clip = [bound](float d) { return std::min(std::max(d, -bound), bound); };  // leaves NaN as it is
    std::fill(dh.data, dh.data + Hw, 0.f);
    for (int t = T - 1; t >= 0; t--) {
      const float *mask = masks.data + t * Hw, *dH_t = dH.data + t * H1, *h_t = state(t + 1);
      float *z = dz.data + t * Hw, *dr_t = dr.data + t * Mw, *df_t = df.data + t * Mw;
      for (int j = 0; j < H; j++)
        z[j] = (clip(dh.data[j]) + clip(mask[j] * dH_t[j])) * h_t[j] * (1 - h_t[j]);
      if (m.M) {  // df = U_l' dz, dr = v_x * df, dh = U_r' dr
        compute_row_products(m.U_l, m.M, Hw, z, df_t);
        const float* v = m.v + (long)x[t] * Mw;
        for (int i = 0; i < Mw; i += LANES) store(dr_t + i, load(df_t + i) * load(v + i));
        compute_row_products(m.U_r, H, Mw, dr_t, dh.data);
      } else if (t > 0) {
        compute_row_products(U(x[t]), H, Hw, z, dh.data);
      }
    }
  }

  void update_recurrence(int T, const int32_t* x, float learning_rate) {
    for (int i = 0; i < T * Hw; i++) dz.data[i] *= -learning_rate;
    int same[MAX_T];
    if (m.M) {
      for (int t = 0; t < T; t++) same[t] = t;
      for (int i = 0; i < T * Mw; i++) dr.data[i] *= -learning_rate;
      for (int i = 0; i < T * Mw; i++) df.data[i] *= -learning_rate * r.data[i];
      add_outer_products(m.U_l, m.M, Hw, same, T, f.data, Mw, dz.data, Hw);
      add_outer_products(m.U_r, H, Mw, same, T, h.data, Hw, dr.data, Mw);
    } else {
      bool done[MAX_T] = {};
      for (int t = 0; t < T; t++) {
        int count = 0;
        for (int s = t; s < T; s++)
          if (!done[s] && U(x[s]) == U(x[t])) same[count++] = s, done[s] = true;
        if (count) add_outer_products(U(x[t]), H, Hw, same, count, h.data, Hw, dz.data, Hw);
      }
    }
    for (int t = 0; t < T; t++) {
      add_vector(m.W_h + (long)x[t] * Hw, dz.data + t * Hw, Hw);
      add_vector(m.b_h + (long)m.bias_of[x[t]] * Hw, dz.data + t * Hw, Hw);
      if (m.M) add_vector(m.v + (long)x[t] * Mw, df.data + t * Mw, Mw);
    }
  }

  // The summed loss in nats of all subsequences; `hidden` (H,) is the state before and after.
  double read(const Data& data, float* hidden, const Dropout& dropout, bool train,
              float learning_rate, bool mean, float bound) {
    double loss = 0;  // double: millions of terms
    std::copy(hidden, hidden + H, state(0));
    for (int64_t s = 0; s < data.count; s++) {
      const int64_t begin = data.offsets[s];
      const int T = (int)(data.offsets[s + 1] - begin);
      const int32_t *x = data.inputs + begin, *y = data.targets + begin;
      if (data.reset[s]) std::fill(state(0), state(0) + H, m.h_0);
      for (int t = 0; t < T; t++) step(t, x[t]);
      prepare_output(T, data.first_token + begin, dropout, learning_rate);
      loss += forward(out, T, y);
      if (train) {
        backward(out, T, y, mean ? 1.f / (float)T : 1.f);
        backward_through_time(T, x, bound);
        update_recurrence(T, x, learning_rate);
      }
      std::copy(state(T), state(T) + H, state(0));
    }
    std::copy(state(0), state(0) + H, hidden);
    return loss;
  }
};

extern "C" {
int reprise_lanes() { return LANES; }
int reprise_tile() { return WORDS; }
int reprise_max_length() { return MAX_T; }

double reprise_train(const Model* m, const Data* data, float* hidden, float learning_rate, int mean,
                     uint64_t key, uint64_t threshold, float scale, float bound) {
  const Dropout dropout{key, threshold, scale};
  return Run(*m).read(*data, hidden, dropout, true, learning_rate, mean != 0, bound);
}

double reprise_evaluate(const Model* m, const Data* data, float* hidden) {
  return Run(*m).read(*data, hidden, Dropout{0, 0, 1.f}, false, 0.f, false, 0.f);
}
}
