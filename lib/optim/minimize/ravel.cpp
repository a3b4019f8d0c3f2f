// Trees as vectors.
#include <reel/minimize.hpp>

#include "core/fail.hpp"

namespace reel::detail {

Tensor ravel_leaves(std::span<const Tensor> leaves) {
  if (leaves.empty()) return zeros({0});
  DType dtype = leaves.front().dtype();
  for (const Tensor& leaf : leaves) dtype = promote(dtype, leaf.dtype());
  List<Tensor> parts;
  for (const Tensor& leaf : leaves) parts.push_back(reshape(cast(leaf, dtype), {-1}));
  return concatenate(parts, 0);
}

Tensor unravel_leaf(const Tensor& vector, std::int64_t& offset, const Tensor& like) {
  const std::int64_t begin = offset;
  offset += like.size();
  return cast(reshape(slice(vector, {range(begin, offset)}), like.shape()), like.dtype());
}

void require_raveled(const Tensor& vector, std::int64_t size) {
  if (vector.shape() != Shape{size})
    fail<ShapeError>("unravel", "the vector has shape {}, must have {}", vector.shape(), Shape{size});
}

}  // namespace reel::detail
