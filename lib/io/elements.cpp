#include "io/elements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace reel::io {

namespace {

std::string name_of(const Stored& type) {
  if (!type.integer_bytes) return std::string(name(type.dtype));
  return fmt::format("{}int{}", type.is_unsigned ? "u" : "", 8 * type.integer_bytes);
}

// out[i] = in[i] for ascending i; the bytes of in end where those of out do.
template <class From, class To>
void widen_each(const std::byte* in, std::byte* out, std::uint64_t bytes) {
  for (const std::byte* const end = in + bytes; in != end; in += sizeof(From), out += sizeof(To)) {
    From from;
    std::memcpy(&from, in, sizeof from);
    const auto to = static_cast<To>(from);
    std::memcpy(out, &to, sizeof to);
  }
}

}  // namespace

std::string fault_of_size(std::uint64_t bytes, const Shape& shape, const Stored& type) {
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  // Strides of an empty tensor are products of its other extents.
  constexpr std::uint64_t largest_stride = std::uint64_t{1} << 58;
  const std::uint64_t limit = empty ? largest_stride : bytes / type.size();
  std::uint64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent == 0) continue;
    const auto n = static_cast<std::uint64_t>(extent);
    if (n > limit / count)
      return fmt::format("{} {} does not fit the {} bytes there are", name_of(type), to_string(shape), bytes);
    count *= n;
  }
  const std::uint64_t needed = empty ? 0 : count * type.size();
  if (needed == bytes) return {};
  return fmt::format("{} {} has {} bytes, there are {}", name_of(type), to_string(shape), needed, bytes);
}

void* place_of_stored(const Tensor& x, void* data, std::uint64_t bytes) {
  return static_cast<std::byte*>(data) + static_cast<std::uint64_t>(x.size()) * item_size(x.dtype()) - bytes;
}

std::string widen(void* data, std::uint64_t bytes, const Stored& type) {
  if (!type.integer_bytes) return {};
  auto* out = static_cast<std::byte*>(data);
  const std::byte* in = out + bytes / type.size() * item_size(type.dtype) - bytes;
  if (type.integer_bytes == 1) widen_each<std::int8_t, std::int32_t>(in, out, bytes);
  if (type.integer_bytes == 2 && type.is_unsigned) widen_each<std::uint16_t, std::int32_t>(in, out, bytes);
  if (type.integer_bytes == 2 && !type.is_unsigned) widen_each<std::int16_t, std::int32_t>(in, out, bytes);
  if (type.integer_bytes == 4) widen_each<std::uint32_t, std::int64_t>(in, out, bytes);
  if (type.integer_bytes == 8)  // in place already
    for (std::uint64_t k = 0, value = 0; k < bytes / sizeof value; ++k) {
      std::memcpy(&value, out + k * sizeof value, sizeof value);
      if (!std::in_range<std::int64_t>(value)) return fmt::format("element {} is {}, too large for int64", k, value);
    }
  return {};
}

void swap_bytes(void* elements, std::uint64_t bytes, const Stored& type) {
  const std::size_t size = type.size() / (is_complex(type.dtype) ? 2 : 1);
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
