// Floats on a page boundary, zero when new, in huge pages where the system has them: matrices of a megabyte otherwise
// miss the CPU's buffer of page addresses.
#pragma once
#include <sys/mman.h>
#include <cstdlib>
#include <cstring>

struct Floats {
  float* data = nullptr;
  size_t size = 0;

  Floats() = default;
  Floats(const Floats&) = delete;
  ~Floats() { std::free(data); }

  // Provide at least `count` floats. Growing discards the old values and zeroes the new ones.
  void reserve(size_t count) {
    if (count <= size) return;
    std::free(data);
    const size_t page = 1 << 21, bytes = (count * sizeof(float) + page - 1) / page * page;
    data = static_cast<float*>(std::aligned_alloc(page, bytes));
    if (!data) std::abort();
#ifdef MADV_HUGEPAGE
    madvise(data, bytes, MADV_HUGEPAGE);
#endif
    std::memset(data, 0, bytes);
    size = count;
  }
};
