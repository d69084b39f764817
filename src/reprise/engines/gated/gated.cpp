// GRU and LSTM: what is computed for a window of words, for grouped.py. Matrices and states have any sizes.
#include "input_layer.h"
#include "recurrence.h"
#include "softmax.h"

static thread_local Products products;

extern "C" {

// Lists the kept entries of `values` (rows, columns), by rows in `m`, by columns in `transposed` unless it is null.
void reprise_list_entries(const SparseMatrix* m, const SparseMatrix* transposed, const float* values,
                          const float* mask) {
  list_entries(*m, values, mask);
  if (transposed) transpose_entries(*m, *transposed);
}

void reprise_multiply_inputs(const SparseMatrix* x, const float* W, int strips, float* out) {
  multiply_inputs(*x, W, strips, out);
}

void reprise_differentiate_inputs(const SparseMatrix* x, const SparseMatrix* x_transposed, const float* d,
                                  const float* W, int strips, float* dx, float* dW) {
  differentiate_inputs(*x, *x_transposed, d, W, strips, dx, dW);
}

double reprise_differentiate_softmax(const Softmax* m, const SparseMatrix* s, const SparseMatrix* s_transposed,
                                     float share) {
  return differentiate_softmax(*m, *s, s_transposed, share);
}

void reprise_run_lstm(const Window* w, const WordMatrices* words) {
  products.begin(*w, words, false);
  run_lstm(*w, products);
}

void reprise_run_lstm_back(const Window* w, const WordMatrices* words) {
  products.begin(*w, words, true);
  run_lstm_back(*w, products);
}

void reprise_run_gru(const Window* w, const WordMatrices* words) {
  products.begin(*w, words, false);
  run_gru(*w, products);
}

void reprise_run_gru_back(const Window* w, const WordMatrices* words) {
  products.begin(*w, words, true);
  run_gru_back(*w, products);
}

int reprise_count_blocks(int columns) { return count_blocks(columns); }
int reprise_get_strip() { return STRIP; }
int reprise_get_lanes() { return LANES; }
}
