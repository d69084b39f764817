// Vectors of rows of any width and place: the last one of a row may be partly used.
#pragma once
#include <cstring>
#include "activations.h"

INLINE vec load_anywhere(const float* p) { return *reinterpret_cast<const loose_vec*>(p); }

INLINE vec load_some(const float* p, int n) {
  if (n >= LANES) return load_anywhere(p);
  vec a{};
  std::memcpy(&a, p, n * sizeof(float));
  return a;
}
INLINE void store_some(float* p, vec a, int n) {
  if (n >= LANES) store_anywhere(p, a);
  else std::memcpy(p, &a, n * sizeof(float));
}

INLINE vec root(vec a) {
  vec r;
  for (int i = 0; i < LANES; i++) r[i] = __builtin_sqrtf(a[i]);
  return r;
}

INLINE double sum_of(vec a) {
  double s = 0;
  for (int i = 0; i < LANES; i++) s += a[i];
  return s;
}

INLINE vec evens(vec a, vec b) {
#if defined(__clang__) || __GNUC__ >= 12
  return __builtin_shufflevector(a, b, EVEN);
#else
  return __builtin_shuffle(a, b, bits{EVEN});
#endif
}
INLINE vec odds(vec a, vec b) {
#if defined(__clang__) || __GNUC__ >= 12
  return __builtin_shufflevector(a, b, ODD);
#else
  return __builtin_shuffle(a, b, bits{ODD});
#endif
}

// Transposes LANES vectors. A pass moves the lowest bit of an element's lane to bit K of its vector's number, and that
// bit to the top of its lane: after one pass a bit, lanes and numbers have changed places.
template <int K = 1> INLINE void transpose(vec* rows) {
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++)
    if (!(i & K)) {
      const vec a = rows[i], b = rows[i | K];
      rows[i] = evens(a, b);
      rows[i | K] = odds(a, b);
    }
  if constexpr (2 * K < LANES) transpose<2 * K>(rows);
}
