// Trees as vectors.
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/optim/minimize.hpp>

#include "core/fail.hpp"
#include "ops/apply/operation.hpp"
#include "ops/engine.hpp"

namespace reel::detail {

namespace {

void require_alike(const char* op, std::span<const Tensor> x, std::span<const Tensor> y) {
  if (x.size() != y.size())
    fail<ShapeError>(op, "one tree has {} leaves, the other {}: they must be equal", x.size(), y.size());
  for (std::size_t k = 0; k < x.size(); ++k)
    if (x[k].shape() != y[k].shape())
      fail<ShapeError>(op, "leaf {} has shape {} in one tree, {} in the other: they must be equal", k, x[k].shape(),
                       y[k].shape());
}

}  // namespace

void require_untraced(const char* method) {
  if (ops::Tracer::current())
    fail<TraceError>(
        method,
        "it reads elements to decide how to go on, which tensors of a traced function do not have; call it "
        "outside, and compile the function that it calls");
}

void require_gradient(const char* op, const ResidualFunction& f, std::span<const double> x) {
  if (x.empty()) return;
  const Tensor at = from_data(x, {static_cast<std::int64_t>(x.size())});
  GradientTape tape;
  tape.watch(at);
  const Gradient gradient = tape.gradient(f(at), at);
  if (!gradient)
    fail<ValueError>(op,
                     "no gradient reaches the parameters: {}; compute the result from them by ops, not from elements "
                     "that are read",
                     gradient.why_none());
}

Tensor dot_leaves(std::span<const Tensor> x, std::span<const Tensor> y) {
  require_alike("dot", x, y);
  Tensor total;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const Tensor own = sum((is_complex(x[k].dtype()) ? conj(x[k]) : x[k]) * y[k]);
    total = total.defined() ? total + own : own;
  }
  return total.defined() ? total : zeros({});
}

Tensor norm_leaves(std::span<const Tensor> x) {
  List<Tensor> norms;
  for (const Tensor& leaf : x) norms.push_back(norm(leaf));
  return norms.empty() ? zeros({}) : norms.size() == 1 ? norms[0] : norm(stack(norms));
}

List<Tensor> axpy_leaves(const Operand& alpha, std::span<const Tensor> x, std::span<const Tensor> y) {
  require_alike("axpy", x, y);
  List<Tensor> sums;
  for (std::size_t k = 0; k < x.size(); ++k) sums.push_back(alpha * x[k] + y[k]);
  return sums;
}

Tensor ravel_leaves(std::span<const Tensor> leaves) {
  if (leaves.empty()) return zeros({0});
  DType dtype = leaves.front().dtype();
  for (const Tensor& leaf : leaves) dtype = promote(dtype, leaf.dtype());
  List<Tensor> parts;
  for (const Tensor& leaf : leaves) parts.push_back(reshape(ops::cast_to(leaf, dtype), {leaf.size()}));
  return concatenate(parts, 0);
}

Tensor ravel_reals(std::span<const Tensor> leaves) {
  const Tensor vector = ravel_leaves(leaves);
  if (is_complex(vector.dtype()))
    fail<TypeError>("objective", "a leaf of the tree is complex; start from as_real(z), and take as_complex of that");
  return cast(vector, DType::float64);
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
