// Sparse matrices: products, and the dense matrix.
#include <reel/ops/index.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "ops/engine.hpp"
#include "sparse/patterns.hpp"

namespace reel {

Tensor to_dense(const Csr& matrix) {
  constexpr const char* op = "to_dense";
  const autodiff::CheckedPattern pattern(op, matrix.pattern);
  autodiff::require_values(op, matrix.pattern, matrix.values);
  const Shape& shape = pattern.shape();
  ops::require_shape(op, shape);
  const Tensor places = pattern.rows() * shape[1] + pattern.columns();
  return reshape(segment_sum(matrix.values, places, shape[0] * shape[1]), shape);
}

Tensor csr_matmul(const Tensor& values, const SparsityPattern& unchecked, const Tensor& x, bool transposed) {
  constexpr const char* op = "csr_matmul";
  const autodiff::CheckedPattern pattern(op, unchecked);
  autodiff::require_values(op, unchecked, values);
  ops::require_defined(op, x);
  const Shape& shape = pattern.shape();
  const std::int64_t inner = shape[transposed ? 0 : 1], outer = shape[transposed ? 1 : 0];
  if ((x.rank() != 1 && x.rank() != 2) || x.shape()[0] != inner)
    fail<ShapeError>(op, "x has shape {}, must have {} rows: the matrix is {}{}", x.shape(), inner, shape,
                     transposed ? " transposed" : "");
  const Tensor &rows = pattern.rows(), &columns = pattern.columns();
  const Tensor factors = gather(x, transposed ? rows : columns);
  const Tensor terms = (x.rank() == 2 ? expand_dims(values, 1) : values) * factors;
  return segment_sum(terms, transposed ? columns : rows, outer);
}

Tensor sampled_matmul(const SparsityPattern& unchecked, const Tensor& x, const Tensor& y) {
  constexpr const char* op = "sampled_matmul";
  const autodiff::CheckedPattern pattern(op, unchecked);
  ops::require_defined(op, x);
  ops::require_defined(op, y, "y");
  if (x.rank() != 2 || y.rank() != 2 || x.shape()[0] != pattern.shape()[0] || y.shape()[1] != pattern.shape()[1] ||
      x.shape()[1] != y.shape()[0])
    fail<ShapeError>(op, "x is {}, y is {}: their product must have the shape of the pattern, {}", x.shape(), y.shape(),
                     pattern.shape());
  return sum(gather(x, pattern.rows()) * gather(transpose(y), pattern.columns()), 1);
}

}  // namespace reel
