// Tensors compared by their bits: dtype, shape and every element, whatever the layout.
#pragma once
#include <cstddef>
#include <vector>

#include "core/block.hpp"
#include "loops/loops.hpp"

namespace support {

inline std::vector<std::byte> bytes_of(const reel::Tensor& x) {
  const reel::Tensor dense = reel::loops::contiguous(x);
  const std::byte* data = reel::detail::block(dense)->data;
  return {data, data + static_cast<std::size_t>(dense.size()) * item_size(dense.dtype())};
}

/// Two empty handles are the same.
inline bool same_bits(const reel::Tensor& a, const reel::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.dtype() == b.dtype() && a.shape() == b.shape() && bytes_of(a) == bytes_of(b);
}

}  // namespace support
