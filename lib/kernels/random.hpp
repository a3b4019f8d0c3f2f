// Random numbers.
#pragma once
#include <cstdint>

#include "kernels/loop.hpp"
#include "kernels/set.hpp"

namespace reel::kernels {

// A stream is a sequence of blocks of 128 bits. Element i uses its share of block first + i / k, where
// a block serves k elements: 2 of float64, 4 of float32. Bits are the same on every instruction set.
struct RandomPlace {
  std::uint64_t seed, first;
};
// Uniform numbers in [low, low + width), times factor. Results beyond `last` become `last`.
struct UniformRange {
  double low, width, factor, last;
};
struct Draws {
  void (*uniform)(RandomPlace from, const UniformRange& range, void* out, std::ptrdiff_t n);
  void (*normal)(RandomPlace from, double mean, double stddev, void* out, std::ptrdiff_t n);
};

/// float32, float64.
struct DrawKernels : ByDType<Draws> {
  static constexpr KernelFamily family = KernelFamily::random;
};

}  // namespace reel::kernels
