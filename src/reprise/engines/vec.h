// A vector of floats as wide as this CPU's registers, in the vector extensions of GCC and Clang: no intrinsics, so that
// one source serves AVX-512, AVX2, SSE and NEON.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__AVX512F__)
constexpr int LANES = 16;
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#elif defined(__AVX__)
constexpr int LANES = 8;
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14
#define ODD 1, 3, 5, 7, 9, 11, 13, 15
#else
constexpr int LANES = 4;
#define EVEN 0, 2, 4, 6
#define ODD 1, 3, 5, 7
#endif

#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int REGISTERS = 32;
#else
constexpr int REGISTERS = 16;
#endif

typedef float vec __attribute__((vector_size(LANES * 4), may_alias));
typedef uint32_t bits __attribute__((vector_size(LANES * 4), may_alias));
typedef float unaligned_vec __attribute__((vector_size(LANES * 4), may_alias, aligned(4)));

#define INLINE inline __attribute__((always_inline))

INLINE vec load(const float* p) { return *reinterpret_cast<const vec*>(p); }  // p: vector boundary
INLINE void store(float* p, vec a) { *reinterpret_cast<vec*>(p) = a; }
INLINE vec load_unaligned(const float* p) { return *reinterpret_cast<const unaligned_vec*>(p); }
INLINE void store_unaligned(float* p, vec a) { *reinterpret_cast<unaligned_vec*>(p) = a; }
INLINE vec zeros() { return vec{}; }
INLINE vec broadcast(float x) { return x - vec{}; }
INLINE vec max(vec a, vec b) { return a > b ? a : b; }

// The last vector of a row of any length: n numbers, if n < LANES, and `rest` in the other lanes. Any place in memory.
INLINE vec load_partial(const float* p, int n, float rest = 0) {
  if (n >= LANES) return load_unaligned(p);
  vec a = broadcast(rest);
  std::memcpy(&a, p, n * sizeof(float));
  return a;
}
INLINE void store_partial(float* p, vec a, int n) {
  if (n >= LANES) store_unaligned(p, a);
  else std::memcpy(p, &a, n * sizeof(float));
}

// The first n lanes of a; 0 in the others.
INLINE vec first_lanes(vec a, int n) {
  bits lane;
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) lane[i] = i;
  return lane < (uint32_t)(n < LANES ? n : LANES) ? a : vec{};
}

constexpr int rounded_up(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }

// Keeps a factor of several products in a register. GCC 12 would load it anew for each, and the loads, not the
// multiplications, would set the pace: 5 % slower at the sizes of PTB.
INLINE vec keep_in_register(vec a) {
#if defined(__AVX512F__)
  __asm__("" : "+v"(a));
#elif defined(__x86_64__)
  __asm__("" : "+x"(a));
#elif defined(__aarch64__)
  __asm__("" : "+w"(a));
#endif
  return a;
}

// Keeps an address in one register. A vector instruction whose address is a sum of two counts double on Intel's
// processors.
INLINE const float* keep_in_register(const float* p) {
  __asm__("" : "+r"(p));
  return p;
}

// x = (n + f) ln 2 with whole n and |f| <= 1/2. Adding 1.5 * 2^23 rounds to a whole number and leaves it in the low
// bits of the sum: `exponent` has n where floats have their exponents.
struct PowersOfTwo {
  bits exponent;
  vec f;
};

INLINE PowersOfTwo powers_of_two(vec x) {
  const float log2e = 1.44269504f, log2e_rest = 1.92596299e-8f, round = 12582912.f;
  const vec shifted = x * log2e + round;
  const vec n = shifted - round;
#if defined(__FMA__) || defined(__aarch64__)
  const vec f = x * log2e - n;
  return {reinterpret_cast<bits>(shifted) << 23, x * log2e_rest + f};
#else
  // Without a fused multiply-add that product is rounded before n is taken from it: at x = -60 by 2e-6. The first
  // product here is exact, since 0.693359375, ln 2 to ten bits, has as many as leave room for n.
  const vec rest = x - n * 0.693359375f + n * 2.12194440e-4f;
  return {reinterpret_cast<bits>(shifted) << 23, rest * log2e};
#endif
}

// e^x for x <= 88. Smaller x than -69 count as -69 (1e-30), so that no denormal numbers arise, which some CPUs add
// slowly; NaN stays NaN. 2^f is a polynomial (relative error 8e-8 in float32, coefficients fitted for the smallest
// largest error).
INLINE vec exp(vec x) {
  const auto [exponent, f] = powers_of_two(x < -69.f ? broadcast(-69.f) : x);
  vec p = f * 0.00015353362f + 0.0013398875f;
  p = p * f + 0.00961843692f;
  p = p * f + 0.0555033237f;
  p = p * f + 0.240226477f;
  p = p * f + 0.693147182f;
  p = p * f + 1.f;
  return reinterpret_cast<vec>(reinterpret_cast<bits>(p) + exponent);
}

INLINE vec sigmoid(vec x) {
  x = x < -69.f ? broadcast(-69.f) : x;
  return 1.f / (1.f + exp(-x));
}

INLINE float largest(vec a) {
  float m = a[0];
  for (int i = 1; i < LANES; i++) m = a[i] > m ? a[i] : m;
  return m;
}

// Every other lane of a, then of b.
#if defined(__clang__) || __GNUC__ >= 12
INLINE vec evens(vec a, vec b) { return __builtin_shufflevector(a, b, EVEN); }
INLINE vec odds(vec a, vec b) { return __builtin_shufflevector(a, b, ODD); }
#else
INLINE vec evens(vec a, vec b) { return __builtin_shuffle(a, b, bits{EVEN}); }
INLINE vec odds(vec a, vec b) { return __builtin_shuffle(a, b, bits{ODD}); }
#endif

// Sums of neighbours: the first half of the lanes from a, the second from b.
INLINE vec pair_sums(vec a, vec b) { return evens(a, b) + odds(a, b); }

// Lane i of the result is the sum of the lanes of a[i]. A tree of pair sums takes 3 instructions a vector, summing each
// on its own 8. It is a recursion of templates because a loop that writes into the array would keep the array in
// memory.
template <int N = LANES> INLINE vec lane_sums(const vec* a) {
  if constexpr (N == 1) return a[0];
  else return pair_sums(lane_sums<N / 2>(a), lane_sums<N / 2>(a + N / 2));
}

template <int N> using constant = std::integral_constant<int, N>;

template <int LARGEST, class F> INLINE void with_constant(int n, int start, F&& f) {
  if (n == LARGEST) f(constant<LARGEST>{}, start);
  else if constexpr (LARGEST > 1) with_constant<LARGEST - 1>(n, start, f);
}

// Cuts 0 .. n-1 into blocks of nearly equal size, at most LARGEST, and calls f(constant<size>, first) for each. Loops
// over a size that the compiler knows keep their sums in registers, and equal blocks leave no slow remainder of one.
template <int LARGEST, class F> INLINE void for_each_block(int n, F&& f) {
  const int blocks = (n + LARGEST - 1) / LARGEST;
  for (int b = 0, start = 0; b < blocks; b++) {
    const int size = n / blocks + (b < n % blocks);
    with_constant<LARGEST>(size, start, f);
    start += size;
  }
}
