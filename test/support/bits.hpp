// Tensors compared by their bits: dtype, shape and every element, whatever the layout.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <vector>

#include "core/block.hpp"
#include "loops/loops.hpp"

namespace support {

inline std::vector<std::byte> bytes_of(const reel::Tensor& x) {
  const reel::Tensor dense = reel::loops::contiguous(x);
  const std::byte* data = reel::detail::block(dense)->data;
  return {data, data + static_cast<std::size_t>(dense.size()) * item_size(dense.dtype())};
}

// Gives every NaN among numbers of type T one sign and payload.
template <class T>
void make_nans_alike(std::vector<std::byte>& bytes) {
  for (std::size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    T x;
    std::memcpy(&x, &bytes[i], sizeof(T));
    if (!std::isnan(x)) continue;
    x = std::numeric_limits<T>::quiet_NaN();
    std::memcpy(&bytes[i], &x, sizeof(T));
  }
}

inline std::vector<std::byte> comparable_bytes_of(const reel::Tensor& x) {
  std::vector<std::byte> bytes = bytes_of(x);
  if (x.dtype() == reel::DType::float32 || x.dtype() == reel::DType::complex64) make_nans_alike<float>(bytes);
  if (x.dtype() == reel::DType::float64 || x.dtype() == reel::DType::complex128) make_nans_alike<double>(bytes);
  return bytes;
}

/// Two empty handles are the same, and all NaNs of a dtype of at least 32 bits: a NaN's sign depends on which operand
/// came first in an instruction, which is the compiler's choice.
inline bool same_bits(const reel::Tensor& a, const reel::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.dtype() == b.dtype() && a.shape() == b.shape() && comparable_bytes_of(a) == comparable_bytes_of(b);
}

}  // namespace support
