// Denormal numbers, below 1e-38, count as 0 while an object of this class lives.
//
// Gradients that vanish over hundreds of steps pass through them, and processors take a hundred times as long for each:
// an LSTM on palindromes of 300 digits that has learnt its task trained 16 times slower. What they are added to is
// larger by more than float32 resolves, so that the sums keep their bits.
#pragma once
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

class DenormalsAreZero {
#if defined(__SSE__)
  static constexpr unsigned BOTH = 0x8040;  // results and operands
  const unsigned before = _mm_getcsr();

 public:
  DenormalsAreZero() { _mm_setcsr(before | BOTH); }
  ~DenormalsAreZero() { _mm_setcsr(before); }
#else
 public:
  DenormalsAreZero() {}  // slower there, and the same
  ~DenormalsAreZero() {}
#endif
  DenormalsAreZero(const DenormalsAreZero&) = delete;
};
