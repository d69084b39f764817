// tanh and the logistic function with IEEE's limits: NaN stays NaN, large arguments give exactly 0, 1 or -1 (the
// sigmoid of vec.h stops at 1e-30, which is enough for a gate, but not for a comparison of diverging trainings).
#pragma once
#include "vec.h"

// 2^(x log2 e) = scale (1 + q), with scale a power of two and |q| < 1/2.
struct Power {
  vec scale, q;
};

// e^x for -87 <= x <= 89 in two parts: of x = (n + f) ln 2, q = 2^f - 1 is f times a polynomial (relative error 1.1e-8,
// coefficients fitted for the smallest largest error), so that it is right to a few rounding errors however small x is.
// From n = 128 on scale is infinite.
INLINE Power power(vec x) {
  const auto [exponent, f] = powers_of_two(x);
  vec p = f * 0.00015403512f + 0.00133907353f;
  p = p * f + 0.00961823761f;
  p = p * f + 0.0555035733f;
  p = p * f + 0.240226492f;
  p = p * f + 0.693147182f;
  return {reinterpret_cast<vec>(exponent + 0x3f800000u), p * f};
}

// 1 / (1 + e^-x): 0 from x = -89 down.
INLINE vec logistic(vec x) {
  vec y = -x;
  y = y > 89.f ? broadcast(89.f) : y;
  y = y < -87.f ? broadcast(-87.f) : y;
  const Power e = power(y);
  return 1.f / (1.f + e.scale * (1.f + e.q));
}

// (e^2|x| - 1) / (e^2|x| + 1) with the sign of x. The numerator is scale q + (scale - 1): nothing cancels near 0.
INLINE vec tanh(vec x) {
  const bits sign = reinterpret_cast<bits>(x) & 0x80000000u;
  vec y = reinterpret_cast<vec>(reinterpret_cast<bits>(x) ^ sign);
  y = y > 10.f ? broadcast(10.f) : y;
  const Power e = power(y + y);
  const vec t = (e.scale * e.q + (e.scale - 1.f)) / (e.scale * e.q + (e.scale + 1.f));
  return reinterpret_cast<vec>(reinterpret_cast<bits>(t) | sign);
}
