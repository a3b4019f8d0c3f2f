// Products composed of matmul and pointwise ops.
#include <algorithm>
#include <limits>
#include <reel/linalg/products.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/reduce.hpp>
#include <string>

#include "linalg/matrices.hpp"
#include "ops/promote.hpp"
#include "ops/shape/view.hpp"

namespace reel {
namespace ops {
namespace {

struct ProductOperands {
  Tensor a, b;
};
// Both operands in their common dtype.
ProductOperands in_common_dtype(const char* op, const Operand& a, const Operand& b) {
  const Operand* both[] = {&a, &b};
  const DType dtype = common_dtype(op, both);
  return {to_tensor(op, a, dtype, "a"), to_tensor(op, b, dtype, "b")};
}

// The shape, with extents of 1 in front up to this rank.
Shape with_rank(const Shape& shape, int rank) {
  Shape full;
  for (int d = shape.rank(); d < rank; ++d) full.push_back(1);
  for (const std::int64_t extent : shape) full.push_back(extent);
  return full;
}
// The shape, with an extent of 1 before or after each extent.
Shape interleaved(const Shape& shape, bool before) {
  Shape all;
  for (const std::int64_t extent : shape) {
    if (before) all.push_back(1);
    all.push_back(extent);
    if (!before) all.push_back(1);
  }
  return all;
}

// The operands of a product of vectors, with the axis of the vectors moved to the end.
struct VectorsAlongAxis {
  Tensor a, b;  // the axis comes last
};
VectorsAlongAxis last_axes(const char* op, const ProductOperands& x, std::int64_t axis) {
  return {moveaxis(x.a, normalize(op, axis, x.a), -1), moveaxis(x.b, normalize(op, axis, x.b), -1)};
}

// ---- multi_dot

// Matrices i to j are multiplied in the order of the split with the least cost (Cormen et al., Introduction to
// Algorithms, section 15.2).
class Chain {
 public:
  explicit Chain(std::span<const Tensor> factors) : factors_(factors), count_(factors.size()) {
    extents_.push_back(static_cast<double>(factors[0].shape()[0]));
    for (const Tensor& x : factors) extents_.push_back(static_cast<double>(x.shape()[1]));
    splits_.resize(count_ * count_);
    detail::List<double> cost(count_ * count_);
    for (std::size_t length = 1; length < count_; ++length)
      for (std::size_t i = 0; i + length < count_; ++i) {
        const std::size_t j = i + length;
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t k = i; k < j; ++k) {
          const double here =
              cost[i * count_ + k] + cost[(k + 1) * count_ + j] + extents_[i] * extents_[k + 1] * extents_[j + 1];
          if (here < least) least = here, splits_[i * count_ + j] = k;
        }
        cost[i * count_ + j] = least;
      }
  }
  Tensor product(std::size_t i, std::size_t j) const {
    if (i == j) return factors_[i];
    const std::size_t k = splits_[i * count_ + j];
    return ops::product("multi_dot", product(i, k), product(k + 1, j));
  }

 private:
  std::span<const Tensor> factors_;
  std::size_t count_;
  detail::List<double> extents_;
  detail::List<std::size_t> splits_;
};

// The factors as matrices of one dtype.
detail::List<Tensor> chain_of(std::span<const Tensor> operands) {
  constexpr const char* op = "multi_dot";
  if (operands.empty()) fail<ValueError>(op, "there are no factors; pass at least one");
  CommonDType common;
  for (const Tensor& x : operands) common.add(op, x);
  detail::List<Tensor> factors;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Tensor x = cast_to(operands[i], common.dtype());
    const bool first = i == 0, last = i + 1 == operands.size();
    if (x.rank() != 2 && !(x.rank() == 1 && (first || last)))
      fail<ShapeError>(op, "factor {} has shape {}: factors are matrices, the first and the last one may be vectors", i,
                       x.shape());
    if (x.rank() == 1) x = expand_dims(x, first ? 0 : 1);
    if (i > 0 && factors.back().shape()[1] != x.shape()[0])
      fail<ShapeError>(op, "factor {} has {} columns, factor {} has {} rows; they must be equal", i - 1,
                       factors.back().shape()[1], i, x.shape()[0]);
    factors.push_back(std::move(x));
  }
  return factors;
}

// The number of elements along the axes [first, last).
std::int64_t count_along(const char* op, const Shape& shape, int first, int last) {
  std::int64_t count = 1;
  for (int d = first; d < last; ++d) count = multiply_extents(op, count, shape[d]);
  return count;
}
Shape axes_between(const Shape& shape, int first, int last) {
  return {shape.data() + first, static_cast<std::size_t>(last - first)};
}

}  // namespace

}  // namespace ops

Tensor kron(const Operand& first, const Operand& second) {
  const tape::OpScope scope(first);
  const auto [a, b] = ops::in_common_dtype("kron", first, second);
  const int rank = std::max(a.rank(), b.rank());
  ops::require_rank("kron", 2 * rank);
  const Shape sa = ops::with_rank(a.shape(), rank), sb = ops::with_rank(b.shape(), rank);
  Shape blocks, shape;
  for (int d = 0; d < rank; ++d) {
    blocks.push_back(sa[d]);
    blocks.push_back(sb[d]);
  }
  ops::require_shape("kron", blocks);
  for (int d = 0; d < rank; ++d) shape.push_back(ops::multiply_extents("kron", sa[d], sb[d]));
  return reshape(multiply(reshape(a, ops::interleaved(sa, false)), reshape(b, ops::interleaved(sb, true))), shape);
}

Tensor cross(const Operand& first, const Operand& second, std::int64_t axis) {
  constexpr const char* op = "cross";
  const tape::OpScope scope(first);
  const ops::ProductOperands pair = ops::in_common_dtype(op, first, second);
  if (pair.a.dtype() == DType::boolean) fail<TypeError>(op, "booleans have no cross product; cast the operands first");
  const auto [a, b] = ops::last_axes(op, pair, axis);
  if (a.shape()[-1] != 3 || b.shape()[-1] != 3)
    fail<ShapeError>(op, "axis {} must have 3 elements: a is {}, b is {}", axis, pair.a.shape(), pair.b.shape());
  const int place = ops::normalize(op, axis, ops::broadcast_shapes(op, a.shape(), b.shape()));
  const Tensor x = ops::widened(a), y = ops::widened(b);
  const Tensor z = subtract(multiply(roll(x, -1, -1), roll(y, -2, -1)), multiply(roll(x, -2, -1), roll(y, -1, -1)));
  return moveaxis(ops::cast_to(z, a.dtype()), -1, place);
}

Tensor inner(const Operand& first, const Operand& second) {
  const tape::OpScope scope(first);
  const auto [a, b] = ops::in_common_dtype("inner", first, second);
  if (a.rank() == 0 || b.rank() == 0) return multiply(a, b);
  if (a.shape()[-1] != b.shape()[-1])
    fail<ShapeError>("inner", "the last axes of a and b differ: a is {}, b is {}", a.shape(), b.shape());
  ops::require_rank("inner", a.rank() + b.rank() - 2);
  return tensordot(a, b, -1, -1);
}

Tensor vdot(const Operand& first, const Operand& second) {
  const tape::OpScope scope(first);
  const auto [a, b] = ops::in_common_dtype("vdot", first, second);
  if (a.size() != b.size())
    fail<ShapeError>("vdot", "a has {} elements, b has {}: a is {}, b is {}", a.size(), b.size(), a.shape(), b.shape());
  const Tensor flat = reshape(a, {a.size()});
  return ops::product("vdot", is_complex(a.dtype()) ? conj(flat) : flat, reshape(b, {b.size()}));
}

Tensor vecdot(const Operand& first, const Operand& second, std::int64_t axis) {
  constexpr const char* op = "vecdot";
  const tape::OpScope scope(first);
  const ops::ProductOperands pair = ops::in_common_dtype(op, first, second);
  const auto [a, b] = ops::last_axes(op, pair, axis);
  if (a.shape()[-1] != b.shape()[-1])
    fail<ShapeError>(op, "axis {} differs: a is {}, b is {}", axis, pair.a.shape(), pair.b.shape());
  ops::require_rank(op, ops::broadcast_shapes(op, a.shape(), b.shape()).rank() + 1);
  const Tensor left = is_complex(a.dtype()) ? conj(a) : a;
  return squeeze(ops::product(op, expand_dims(left, -2), expand_dims(b, -1)), {-2, -1});
}

Tensor matvec(const Operand& first, const Operand& second) {
  constexpr const char* op = "matvec";
  const tape::OpScope scope(first);
  const auto [a, x] = ops::in_common_dtype(op, first, second);
  if (a.rank() < 2 || x.rank() < 1 || a.shape()[-1] != x.shape()[-1])
    fail<ShapeError>(op, "a is {}, x is {}: a must be matrices, and x vectors of as many elements as they have columns",
                     a.shape(), x.shape());
  ops::require_rank(op, x.rank() + 1);
  static_cast<void>(ops::broadcast_shapes(op, ops::batch_of(a), ops::batch_of(x, 1)));
  return squeeze(ops::product(op, a, expand_dims(x, -1)), -1);
}

Tensor multi_dot(std::span<const Tensor> operands, const detail::CallLine& at) {
  const tape::CallScope scope(at);
  detail::List<Tensor> factors = ops::chain_of(operands);
  const DType dtype = factors[0].dtype();
  if (operands.size() > 2)
    for (Tensor& x : factors) x = ops::widened(x);
  Tensor y = ops::cast_to(ops::Chain(factors).product(0, factors.size() - 1), dtype);
  if (operands.size() == 1) y = identity(y);
  if (operands.back().rank() == 1 && operands.size() > 1) y = squeeze(y, 1);
  return operands.front().rank() == 1 ? squeeze(y, 0) : y;
}
Tensor multi_dot(std::initializer_list<Tensor> factors, const detail::CallLine& at) {
  return multi_dot(std::span(factors.begin(), factors.size()), at);
}

Tensor matrix_power(const Operand& a, std::int64_t n) {
  const tape::OpScope scope(a);
  const Tensor x = ops::square_operand("matrix_power", a);
  if (n == 0) return where(false, x, eye(x.shape()[-1], x.dtype()));
  const Tensor wide = ops::widened(x);
  Tensor factor = n < 0 ? ops::named("matrix_power", [&wide] { return inverse(wide); }) : wide, power;
  for (std::uint64_t rest = n < 0 ? ~static_cast<std::uint64_t>(n) + 1 : static_cast<std::uint64_t>(n);; rest /= 2) {
    if (rest % 2) power = power.defined() ? ops::product("matrix_power", power, factor) : factor;
    if (rest < 2) return n == 1 ? identity(x) : ops::in_dtype_of(a, power);
    factor = ops::product("matrix_power", factor, factor);
  }
}

Tensor householder_product(const Operand& reflectors, const Operand& factors) {
  constexpr const char* op = "householder_product";
  const tape::OpScope scope(reflectors);
  const auto [dtype, computed] = ops::promote_operands(op, {&reflectors, &factors}, ops::Accept::number);
  const Tensor a = ops::cast_to(ops::to_tensor(op, reflectors, "a"), computed),
               tau = ops::cast_to(ops::to_tensor(op, factors, "tau"), computed);
  if (a.rank() < 2 || tau.rank() < 1 || a.shape()[-2] < a.shape()[-1] || a.shape()[-1] < tau.shape()[-1])
    fail<ShapeError>(op, "a is {}, tau {}; they must be [..., m, n] and [..., k], m >= n >= k", a.shape(), tau.shape());
  ops::require_rank(op, ops::broadcast_shapes(op, ops::batch_of(a), ops::batch_of(tau, 1)).rank() + 2);
  const std::int64_t m = a.shape()[-2], n = a.shape()[-1], k = tau.shape()[-1];
  const auto rows = [](const Tensor& x, std::int64_t count) {
    return slice(x, {ellipsis, range(0, count), range_from(0)});
  };
  const Tensor v = tril(slice(a, {ellipsis, range_from(0), range(0, k)}), -1) + eye(m, k, computed);
  // The product is 1 - v t v^H with (1 + d u) t = d, d the diagonal matrix of tau, u the triangle of v^H v above it.
  const Tensor scale = expand_dims(tau, -1), u = triu(ops::adjoint_product(op, v, v), 1);
  const Tensor right = multiply(scale, ops::adjoint(rows(v, n)));
  const Tensor t = ops::triangular_solve_for(ops::Caller::rule, multiply(scale, u), right,
                                             {.lower = false, .unit_diagonal = true}, false);
  return ops::cast_to(eye(m, n, computed) - ops::product(op, v, t), dtype);
}

Tensor tensorsolve(const Operand& first, const Operand& second) {
  constexpr const char* op = "tensorsolve";
  const tape::OpScope scope(first);
  const Tensor a = ops::to_tensor(op, first, "a"), b = ops::to_tensor(op, second, "b");
  const Shape shape = a.shape();
  const int leading = b.rank();
  if (a.rank() < leading || ops::axes_between(shape, 0, leading) != b.shape() ||
      ops::count_along(op, shape, leading, a.rank()) != b.size())
    fail<ShapeError>(op, "a is {}, b is {}: a needs the axes of b, and further ones of as many elements", shape,
                     b.shape());
  const std::int64_t n = b.size();
  const Tensor x = ops::named(op, [&, n] { return solve(reshape(a, {n, n}), reshape(b, {n})); });
  return reshape(x, ops::axes_between(shape, leading, a.rank()));
}

Tensor tensorinv(const Operand& operand, std::int64_t leading) {
  constexpr const char* op = "tensorinv";
  const tape::OpScope scope(operand);
  const Tensor a = ops::to_tensor(op, operand, "a");
  if (leading < 1 || leading > a.rank())
    fail<ValueError>(op, "leading is {}; it must be between 1 and the rank of a, {}", leading, a.rank());
  const Shape shape = a.shape();
  const int rows = static_cast<int>(leading);
  const std::int64_t n = ops::count_along(op, shape, 0, rows);
  if (ops::count_along(op, shape, rows, a.rank()) != n)
    fail<ShapeError>(op, "a is {}: its first {} axes must have as many elements as the others", shape, leading);
  Shape result = ops::axes_between(shape, rows, a.rank());
  for (int d = 0; d < rows; ++d) result.push_back(shape[d]);
  return reshape(ops::named(op, [&, n] { return inverse(reshape(a, {n, n})); }), result);
}

Tensor matrix_norm(const Operand& operand, MatrixNorm kind, bool keepdims) {
  constexpr const char* op = "matrix_norm";
  const tape::OpScope scope(operand);
  const Tensor a = ops::to_tensor(op, operand, "a");
  if (a.rank() < 2) fail<ShapeError>(op, "a must have rank 2 at least, it is {}", a.shape());
  if (kind == MatrixNorm::frobenius) return norm(a, 2, {-2, -1}, keepdims);
  if (kind > MatrixNorm::nuclear) fail<ValueError>(op, "norm {} is none of the enumeration", static_cast<int>(kind));
  if (kind == MatrixNorm::spectral || kind == MatrixNorm::nuclear)
    return ops::norm_by_spectrum(operand, kind == MatrixNorm::spectral, keepdims);
  const int summed = kind == MatrixNorm::one ? -2 : -1, other = -3 - summed;
  if (a.shape()[other] == 0 && a.size() == 0)
    fail<ShapeError>(op, "a is {}: there is no largest of no sums", a.shape());
  const Tensor largest = max(norm(a, 1, summed, true), other, true);
  return keepdims ? largest : squeeze(largest, {-2, -1});
}

}  // namespace reel
