// What one core can do at most: multiply-adds a second in chains that never leave the registers, and bytes a second
// that it reads from where they lie.
#include "vec.h"

// Independent chains hide the latency of one multiply-add (4 or 5 cycles at 2 a cycle), and together with the two
// factors they fit 16 registers.
constexpr int CHAINS = 12;

extern "C" {
double reprise_flops_a_round() { return 2.0 * CHAINS * LANES; }

// x = a x + b, `rounds` times in each chain. The result is of no use, but without one the compiler would leave out the
// work.
float reprise_multiply_adds(int64_t rounds, float a, float b) {
  const vec factor = keep_in_register(broadcast(a)), summand = keep_in_register(broadcast(b));
  vec chain[CHAINS];
#pragma GCC unroll 16
  for (int i = 0; i < CHAINS; i++) chain[i] = broadcast((float)i);
  for (int64_t n = 0; n < rounds; n++)
#pragma GCC unroll 16
    for (int i = 0; i < CHAINS; i++) chain[i] = keep_in_register(chain[i] * factor + summand);
  vec sum = zeros();
  for (int i = 0; i < CHAINS; i++) sum += chain[i];
  return largest(sum);
}

// Reads `count` floats, a multiple of CHAINS * LANES on a vector boundary, `rounds` times.
float reprise_read(const float* numbers, int64_t count, int64_t rounds) {
  vec sum[CHAINS] = {};
  for (int64_t n = 0; n < rounds; n++)
    for (int64_t i = 0; i < count; i += CHAINS * LANES)
#pragma GCC unroll 16
      for (int c = 0; c < CHAINS; c++) sum[c] = keep_in_register(sum[c] + load(numbers + i + c * LANES));
  vec total = zeros();
  for (int c = 0; c < CHAINS; c++) total += sum[c];
  return largest(total);
}
}
