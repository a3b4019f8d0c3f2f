#include "io/elements.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reel::io {

std::string fault_of_size(std::uint64_t bytes, const Shape& shape, DType dtype) {
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  // Strides of an empty tensor are products of its other extents.
  constexpr std::uint64_t largest_stride = std::uint64_t{1} << 58;
  const std::uint64_t limit = empty ? largest_stride : bytes / item_size(dtype);
  std::uint64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent == 0) continue;
    const auto n = static_cast<std::uint64_t>(extent);
    if (n > limit / count)
      return fmt::format("{} {} does not fit the {} bytes there are", name(dtype), to_string(shape), bytes);
    count *= n;
  }
  const std::uint64_t needed = empty ? 0 : count * item_size(dtype);
  if (needed == bytes) return {};
  return fmt::format("{} {} has {} bytes, there are {}", name(dtype), to_string(shape), needed, bytes);
}

void swap_bytes(void* elements, std::uint64_t bytes, DType dtype) {
  const std::size_t size = item_size(dtype) / (is_complex(dtype) ? 2 : 1);
  auto* at = static_cast<std::byte*>(elements);
  for (std::byte* end = at + bytes; at != end; at += size) std::reverse(at, at + size);
}

void normalize_booleans(void* elements, std::uint64_t bytes) {
  auto* at = static_cast<unsigned char*>(elements);
  std::transform(at, at + bytes, at, [](unsigned char b) { return static_cast<unsigned char>(b != 0); });
}

RowMajor::RowMajor(const Tensor& x) : bytes_(static_cast<std::uint64_t>(x.size()) * item_size(x.dtype())) {
  if (x.is_contiguous()) {
    data_ = detail::contiguous_data(x, x.dtype());
  } else {
    copy_.resize(static_cast<std::size_t>(bytes_));
    detail::copy_out(x, x.dtype(), copy_.data(), false);
    data_ = copy_.data();
  }
}

}  // namespace reel::io
