#include "loops/make/fill.hpp"

#include <algorithm>
#include <cfenv>
#include <cstring>

#include "core/visit.hpp"
#include "kernels/baseline/copy.hpp"
#include "loops/loops.hpp"

namespace reel::loops {
namespace {

using tuning::fill_grain;

// A one of any dtype, as bytes.
struct One {
  alignas(16) std::byte bytes[16];
  explicit One(DType d) noexcept {
    visit(d, [&]<class T>() {
      const T one(1);
      std::memcpy(bytes, &one, sizeof one);
    });
  }
};

// The sign bit alone of a floating number, or of both parts of a complex one; 0 for integers.
struct NegativeZero {
  alignas(16) std::byte bytes[16] = {};
  explicit NegativeZero(DType d) noexcept {
    const std::size_t size = item_size(d);
    if (is_floating(d) || is_complex(d))
      bytes[size - 1] = bytes[is_complex(d) ? size / 2 - 1 : size - 1] = std::byte{0x80};
  }
};

// Calls part(begin, end) on ranges of n elements.
template <class Part>
void for_ranges(std::int64_t n, const Part& part) {
  if (n == 0) return;  // there may be no memory to address
  if (n <= fill_grain)
    part(std::int64_t{0}, n);
  else
    parallel_for(n, fill_grain, part);
}

// Fills with elements of `bytes` bytes each, all equal to the one at `value`.
void fill_bytes(const detail::Block* y, const std::byte* value) {
  const std::size_t bytes = item_size(y->dtype);
  for_ranges(y->size, [=](std::int64_t begin, std::int64_t end) {
    kernels::fill(value, y->data + begin * static_cast<std::int64_t>(bytes), 1, end - begin, bytes);
  });
}

// y[i] = value(i).
template <class T, class F>
void generate(const Tensor& y, const F& value) {
  T* data = detail::mutable_data<T>(y);
  parallel_for(y.size(), fill_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) data[i] = value(i);
  });
}

}  // namespace

void fill_zero(const Tensor& y) {
  const detail::Block* b = detail::block(y);
  const auto bytes = static_cast<std::int64_t>(item_size(b->dtype));
  for_ranges(b->size, [=](std::int64_t begin, std::int64_t end) {
    std::memset(b->data + begin * bytes, 0, static_cast<std::size_t>((end - begin) * bytes));
  });
}

void fill_additive_identity(const Tensor& y) {
  if (std::fegetround() == FE_DOWNWARD) return fill_zero(y);  // +0 + -0 is -0 then
  const NegativeZero value(detail::block(y)->dtype);
  fill_bytes(detail::block(y), value.bytes);
}

void fill_one(const Tensor& y) {
  const One one(detail::block(y)->dtype);
  fill_bytes(detail::block(y), one.bytes);
}

void fill(const Tensor& y, const Tensor& value) { fill_bytes(detail::block(y), detail::block(value)->data); }

void fill_identity(const Tensor& y) {
  fill_zero(y);
  const detail::Block* b = detail::block(y);
  const One one(b->dtype);
  const std::int64_t rows = b->extents()[0], columns = b->extents()[1];
  kernels::fill(one.bytes, b->data, columns + 1, std::min(rows, columns), item_size(b->dtype));
}

void fill_identity_rows(const Tensor& y, std::int64_t rows, std::int64_t period, std::int64_t first) {
  fill_zero(y);
  const detail::Block* b = detail::block(y);
  const One one(b->dtype);
  const std::size_t bytes = item_size(b->dtype);
  const std::int64_t n = b->size / rows;
  for (std::int64_t r = 0; r < rows; ++r)
    if (const std::int64_t at = first + r; at < n)
      kernels::fill(one.bytes, b->data + (r * n + at) * static_cast<std::int64_t>(bytes), period,
                    (n - at - 1) / period + 1, bytes);
}

void fill_sequence(const Tensor& y, double start, double step) {
  generate<double>(y, [=](std::int64_t i) { return start + static_cast<double>(i) * step; });
}

void fill_sequence(const Tensor& y, std::int64_t start, std::int64_t step) {
  const auto u = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
  generate<std::int64_t>(y, [=](std::int64_t i) { return static_cast<std::int64_t>(u(start) + u(i) * u(step)); });
}

void fill_evenly(const Tensor& y, double start, double stop) {
  const std::int64_t count = y.size();
  const double step = count > 1 ? (stop - start) / static_cast<double>(count - 1) : 0;
  generate<double>(
      y, [=](std::int64_t i) { return i > 0 && i == count - 1 ? stop : start + static_cast<double>(i) * step; });
}

void fill_one_hot(const Tensor& y, const Tensor& strided) {
  fill_zero(y);
  const Tensor indices = contiguous(strided);
  const One one(y.dtype());
  const std::int64_t depth = y.shape()[-1];
  const std::size_t bytes = item_size(y.dtype());
  std::byte* data = detail::block(y)->data;
  const auto* index = detail::mutable_data<std::int64_t>(indices);
  for (std::int64_t i = 0; i < indices.size(); ++i)
    if (index[i] >= 0 && index[i] < depth)
      std::memcpy(data + (i * depth + index[i]) * static_cast<std::int64_t>(bytes), one.bytes, bytes);
}

}  // namespace reel::loops
