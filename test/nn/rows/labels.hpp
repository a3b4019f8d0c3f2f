// Labels of the rows of losses: example i has class 2 i modulo the number of classes; number 1 may be ignored.
#pragma once
#include "../references/losses.hpp"

namespace cases {

constexpr std::int64_t ignored_label = -7;
inline Labels some_labels(const Extents& shape, std::int64_t axis, bool second_ignored) {
  Extents rest = shape;
  rest.erase(axis);
  Labels labels;
  for (std::int64_t i = 0; i < rest.elements(); ++i)
    labels.push_back(second_ignored && i == 1 ? ignored_label : 2 * i % shape[axis]);
  return labels;
}
// Allocates nothing besides tensors.
inline reel::Tensor some_labels(const reel::Tensor& x, int axis, bool second_ignored) {
  reel::Shape rest = x.shape();
  rest.erase(axis < 0 ? axis + rest.rank() : axis);
  const std::int64_t n = rest.elements();
  reel::Tensor labels = reel::mod(2 * reel::arange(n), x.shape()[axis]);
  if (second_ignored && n > 1) labels = reel::where(reel::equal(reel::arange(n), 1), ignored_label, labels);
  return reel::reshape(labels, rest);
}

}  // namespace cases
