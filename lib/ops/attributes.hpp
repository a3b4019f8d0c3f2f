// Attributes of a primitive, composed of words and a shape in memory of fixed size.
#pragma once
#include <algorithm>

#include "ops/apply/apply.hpp"

namespace reel::ops {

/// Up to `Most` words, followed by the extents of a shape.
template <std::size_t Most>
class ShapedAttributes {
 public:
  ShapedAttributes(std::span<const std::int64_t> first, const Shape& shape) : size_(first.size() + shape.size()) {
    std::copy(shape.begin(), shape.end(), std::copy(first.begin(), first.end(), words_));
  }
  operator Attributes() const noexcept { return {words_, size_}; }
  operator std::span<std::int64_t>() noexcept { return {words_, size_}; }

 private:
  std::int64_t words_[Most + max_rank];
  std::size_t size_;
};
/// Concatenates lists of words; the shape comes last.
template <std::size_t Count>
ShapedAttributes<Count> shaped(const std::array<std::int64_t, Count>& first, const Shape& shape) {
  return {first, shape};
}

/// The shape behind the first `count` words.
inline Shape shape_behind(Attributes a, std::size_t count) { return {a.data() + count, a.size() - count}; }

}  // namespace reel::ops
