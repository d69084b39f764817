// The C++ twin of training/counters.py: the same key gives the same bits.
#pragma once
#include <cstdint>

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
