// Tensor: the queries that its block answers.
#include <reel/tensor.hpp>

#include "core/block.hpp"
#include "core/fail.hpp"

namespace reel {

namespace {
const detail::Block& checked(const Tensor& x) {
  if (!x.defined()) fail<ValueError>("tensor", "this handle is empty (default-constructed or moved from)");
  return *detail::block(x);
}
}  // namespace

Shape Tensor::shape() const { return checked(*this).shape(); }
Shape Tensor::strides() const {
  const detail::Block& b = checked(*this);
  return {b.strides(), b.rank};
}
DType Tensor::dtype() const { return checked(*this).dtype; }
int Tensor::rank() const { return checked(*this).rank; }
std::int64_t Tensor::size() const { return checked(*this).size; }
std::uint64_t Tensor::id() const { return checked(*this).id; }
bool Tensor::is_contiguous() const { return checked(*this).contiguous(); }

}  // namespace reel
