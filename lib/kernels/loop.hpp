// What the kernels have in common: loops over raw elements. A loop sees pointers, strides and counts. It never
// allocates and never throws. An element gets the same bits whatever its position and whatever the strides are.
#pragma once
#include <cstddef>
#include <reel/dtype.hpp>

namespace reel::kernels {

inline constexpr std::size_t dtype_count = static_cast<std::size_t>(DType::complex128) + 1;
constexpr std::size_t index(DType d) { return static_cast<std::size_t>(d); }

// An operand: its first element and its stride in elements. A stride of 0 repeats one element.
struct Strided {
  const void* data;
  std::ptrdiff_t stride;
};
// out is contiguous. It may be the memory of an operand of stride 1, and otherwise overlaps no operand. n >= 0.
using Loop = void (*)(const Strided* in, void* out, std::ptrdiff_t n);

/// A T for each dtype.
template <class T>
struct ByDType {
  T of[dtype_count];

  const T& operator[](DType d) const { return of[index(d)]; }
  T& operator[](DType d) { return of[index(d)]; }
};

// 0..4 for elements of 1, 2, 4, 8, 16 bytes.
constexpr std::size_t size_class(std::size_t bytes) {
  return bytes == 16 ? 4 : bytes == 8 ? 3 : bytes == 4 ? 2 : bytes == 2 ? 1 : 0;
}

}  // namespace reel::kernels
