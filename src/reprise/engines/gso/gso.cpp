// The recurrent networks of document 000 on packed rows: one batch forward, backward and its weight gradients.
//
//   h_t = phi(A(B x_t * C h_{t-1}) + S x_t * W h_{t-1} + D x_t),  logits V h_t + c
//
// with any term but D missing, is every model of models/gso.py (native.py says how). The lines of a batch lie in
// order of decreasing length and the rows of a step one behind the other (packing.py): row r of a step belongs to line
// r, and its state before is row r of the step before. Step by step only what depends on the step before is computed;
// the output layer and the weight gradients are products over all rows. One thread, sums in a fixed order.
#include "packed_output.h"
#include "packed_products.h"
#include "activations.h"

struct Sizes {
  int32_t V, H, M;                  // M = 0: no A, B, C
  int32_t linear, scaled, shared;   // whether the model has W; S; one row of D for all symbols
  int32_t tanh;
};

struct Parameters {  // B, S and D with a row a symbol; null where a term is missing
  float *A, *B, *C, *W, *S, *D, *V, *c;
};

struct Batch {
  int64_t steps;
  const int64_t* starts;            // (steps + 1,): where the rows of each step begin
  const int32_t *inputs, *targets;  // (rows,)
  const float* share;               // (lines,): what a row of each line counts in the loss that is differentiated
};

// Rows of whole vectors, a little apart from a power of 2, which would meet few sets of the caches.
struct Rows {
  Floats floats;
  long stride = 0;

  void reserve(int64_t rows, int n) {
    stride = vectors(n) * LANES + LANES;
    floats.reserve((size_t)rows * stride);
  }
  float* operator[](int64_t i) const { return floats.data + i * stride; }
};

struct Packed {
  const Sizes s;
  const int H, M, h_width, m_width;
  Weights A, C, W;
  SymbolRows B, S, D;
  OutputLayer out;
  Rows h;                // states of all rows
  Rows Ch, Wh;           // C h_{t-1}, and W h_{t-1} where S scales it: of all rows in training, else of one step
  Rows dz, dCh, dWh;     // dz is dh before its step is reached; dWh is dz without S
  Rows product;          // B x * C h of one step
  Floats panels;         // of one factor of a weight gradient
  Floats step_sum;       // of dz

  explicit Packed(const Sizes& sizes)
      : s(sizes), H(s.H), M(s.M), h_width(vectors(H) * LANES), m_width(vectors(M) * LANES) {
    if (M) A.resize(H, M), C.resize(M, H), B.resize(s.V, M);
    if (s.linear) W.resize(H, H);
    if (s.scaled) S.resize(s.V, H);
    D.resize(s.shared ? 1 : s.V, H);
    out.resize(s.V, H);
    panels.reserve((size_t)GRADIENT_ROWS * std::max(h_width, m_width)), step_sum.reserve(h_width);
  }

  void read_parameters(const Parameters& p, bool both) {
    struct Pair { Weights* to; const float* from; };
    for (auto [to, from] : {Pair{&A, p.A}, Pair{&C, p.C}, Pair{&W, p.W}, Pair{&out.V, p.V}}) {
      if (!to->n) continue;
      to->read_by_row(from);
      if (both) to->read_by_column(from), to->clear_gradient();
    }
    B.read(p.B), S.read(p.S), D.read(p.D), out.c.read(p.c);
    if (both) B.clear_gradient(), S.clear_gradient(), D.clear_gradient(), out.c.clear_gradient();
  }

  void write_gradients(const Parameters& g) const {
    struct Pair { const Weights* from; float* to; };
    for (auto [from, to] : {Pair{&A, g.A}, Pair{&C, g.C}, Pair{&W, g.W}, Pair{&out.V, g.V}})
      if (from->n) from->write_gradient(to);
    B.write_gradient(g.B), S.write_gradient(g.S), D.write_gradient(g.D), out.c.write_gradient(g.c);
  }

  void forward(const Batch& b, bool training) {
    const int64_t rows = b.starts[b.steps], stored_rows = training ? rows : b.starts[1];
    h.reserve(rows, H);
    if (M) Ch.reserve(stored_rows, M), product.reserve(b.starts[1], M);
    if (s.scaled) Wh.reserve(stored_rows, H);
    for (int64_t t = 0; t < b.steps; t++) step_forward(b, t, training);
  }

  void step_forward(const Batch& b, int64_t t, bool training) {
    const int64_t first = b.starts[t], k = b.starts[t + 1] - first, first_stored = training ? first : 0;
    const int32_t* x = b.inputs + first;
    const float* h_before = t ? h[b.starts[t - 1]] : nullptr;
    if (t && M) {
      multiply(h_before, h.stride, k, H, C.by_row.data, M, Ch[first_stored], Ch.stride, false);
      for (int64_t r = 0; r < k; r++) multiply_second_order(x[r], Ch[first_stored + r], product[r]);
      multiply(product[0], product.stride, k, M, A.by_row.data, H, h[first], h.stride, false);
    }
    if (t && s.linear) {
      float* to = s.scaled ? Wh[first_stored] : h[first];
      multiply(h_before, h.stride, k, H, W.by_row.data, H, to, s.scaled ? Wh.stride : h.stride, !s.scaled && M);
    }
    for (int64_t r = 0; r < k; r++) activate(x[r], t > 0, s.scaled ? Wh[first_stored + r] : nullptr, h[first + r]);
  }

  // B x * C h.
  void multiply_second_order(int x, const float* Ch_row, float* to) const {
    const float* Bx = B.row(x);
    for (int j = 0; j < m_width; j += LANES) store(to + j, load(Bx + j) * load(Ch_row + j));
  }

  // A row of h from z without D, and without S x * W h where the model has S.
  void activate(int x, bool recurrent, const float* Wh_row, float* row) const {
    for (int j = 0; j < h_width; j += LANES) {
      vec z = load(D.row(x) + j);
      if (recurrent && (M || !s.scaled)) z += load(row + j);
      if (recurrent && s.scaled) z += load(S.row(x) + j) * load(Wh_row + j);
      store(row + j, s.tanh ? tanh(z) : z);
    }
  }

  // From dh, by each state through the softmax alone, in dz.
  void backward(const Batch& b) {
    const int64_t rows = b.starts[b.steps];
    if (M) dCh.reserve(rows, M);
    if (s.scaled) dWh.reserve(rows, H);
    for (int64_t t = b.steps - 1; t >= 0; t--) step_backward(b, t);
    add_weight_gradients(b);
  }

  void step_backward(const Batch& b, int64_t t) {
    const int64_t first = b.starts[t], k = b.starts[t + 1] - first;
    float* sum = step_sum.data;
    if (s.shared) std::memset(sum, 0, sizeof(float) * h_width);
    for (int64_t i = first; i < first + k; i++) differentiate(b.inputs[i], i, t > 0, sum);
    if (s.shared)
      for (int j = 0; j < h_width; j += LANES) store(D.slope(0) + j, load(D.slope(0) + j) + load(sum + j));
    if (!t) return;
    float* dh_before = dz[b.starts[t - 1]];
    if (M) {
      multiply(dz[first], dz.stride, k, H, A.by_column.data, M, dCh[first], dCh.stride, false);
      for (int64_t i = first; i < first + k; i++) differentiate_product(b.inputs[i], Ch[i], dCh[i]);
      multiply(dCh[first], dCh.stride, k, M, C.by_column.data, H, dh_before, dz.stride, true);
    }
    if (s.linear) {
      const Rows& d = s.scaled ? dWh : dz;
      multiply(d[first], d.stride, k, H, W.by_column.data, H, dh_before, dz.stride, true);
    }
  }

  // Row i from dh to dz, with the gradients of D and S; one row of D is summed a step at a time, in `sum`.
  void differentiate(int x, int64_t i, bool recurrent, float* sum) {
    float *d = dz[i], *dD = s.shared ? sum : D.slope(x);
    for (int j = 0; j < h_width; j += LANES) {
      vec g = load(d + j);
      const vec y = load(h[i] + j);
      if (s.tanh) g *= 1.f - y * y;
      store(d + j, g);
      store(dD + j, load(dD + j) + g);
      if (!recurrent || !s.scaled) continue;
      store(S.slope(x) + j, load(S.slope(x) + j) + g * load(Wh[i] + j));
      store(dWh[i] + j, g * load(S.row(x) + j));
    }
  }

  // d (B x * C h) -> d (C h) in place, with the gradient of B.
  void differentiate_product(int x, const float* Ch_row, float* d) {
    for (int j = 0; j < m_width; j += LANES) {
      const vec g = load(d + j);
      store(B.slope(x) + j, load(B.slope(x) + j) + g * load(Ch_row + j));
      store(d + j, g * load(B.row(x) + j));
    }
  }

  // dA = sum dz (B x * C h)', dC = sum d(C h) h_{t-1}', dW likewise: every row but those of the first step.
  void add_weight_gradients(const Batch& b) {
    const float* state_before[GRADIENT_ROWS];
    int64_t t = 1;
    for (int64_t first = b.starts[std::min<int64_t>(1, b.steps)]; first < b.starts[b.steps]; first += GRADIENT_ROWS) {
      const int rows = std::min<int64_t>(GRADIENT_ROWS, b.starts[b.steps] - first);
      for (int i = 0; i < rows; i++) {
        while (b.starts[t + 1] <= first + i) t++;
        state_before[i] = h[b.starts[t - 1] + first + i - b.starts[t]];
      }
      pack_panels(rows, H, panels.data, [&](int i, int j) { return load(state_before[i] + j); });
      if (M) add_transposed(dCh[first], dCh.stride, M, rows, panels.data, H, C.gradient.data);
      const Rows& d = s.scaled ? dWh : dz;
      if (s.linear) add_transposed(d[first], d.stride, H, rows, panels.data, H, W.gradient.data);
      if (!M) continue;
      pack_panels(rows, M, panels.data, [&](int i, int j) {
        return load(B.row(b.inputs[first + i]) + j) * load(Ch[first + i] + j);
      });
      add_transposed(dz[first], dz.stride, H, rows, panels.data, M, A.gradient.data);
    }
  }
};

extern "C" {

Packed* reprise_packed(const Sizes* sizes) { return new Packed(*sizes); }
void reprise_packed_free(Packed* p) { delete p; }

// The summed loss of a batch in nats; fills the gradients of the loss in which each row counts its line's share.
double reprise_packed_train(Packed* p, const Parameters* parameters, const Parameters* gradients, const Batch* b) {
  p->read_parameters(*parameters, true);
  p->forward(*b, true);
  const int64_t rows = b->starts[b->steps];
  p->dz.reserve(rows, p->H);
  double loss = 0;
  p->out.set_shares(b->share, b->starts, b->steps);
  for (int64_t i = 0; i < rows; i += OUTPUT_ROWS) {
    const int count = std::min<int64_t>(OUTPUT_ROWS, rows - i);
    loss += p->out.forward(p->h[i], p->h.stride, count, b->targets + i, nullptr, nullptr);
    p->out.backward(p->h[i], p->h.stride, count, b->targets + i, i, p->dz[i], p->dz.stride);
  }
  p->backward(*b);
  p->write_gradients(*gradients);
  return loss;
}

// The loss of every row in nats, and the most probable symbol.
void reprise_packed_evaluate(Packed* p, const Parameters* parameters, const Batch* b, float* nats, int32_t* best) {
  p->read_parameters(*parameters, false);
  p->forward(*b, false);
  const int64_t rows = b->starts[b->steps];
  for (int64_t i = 0; i < rows; i += OUTPUT_ROWS) {
    const int count = std::min<int64_t>(OUTPUT_ROWS, rows - i);
    p->out.forward(p->h[i], p->h.stride, count, b->targets + i, nats + i, best + i);
  }
}
}
