#include "linalg/matrices.hpp"

#include <optional>

#include "linalg/systems.hpp"
#include "ops/promote.hpp"

namespace reel::ops {
namespace {

Shape with(Shape batch, std::initializer_list<std::int64_t> extents) {
  for (std::int64_t e : extents) batch.push_back(e);
  return batch;
}

// The batch axes of a x = b, where `own` are those of b; nothing if they do not broadcast.
std::optional<Shape> common_batch(const Shape& leading, const Shape& own) {
  Shape batch;
  const int rank = std::max(leading.rank(), own.rank());
  for (int d = 0; d < rank; ++d) {
    const int da = d - (rank - leading.rank()), db = d - (rank - own.rank());
    const std::int64_t ea = da < 0 ? 1 : leading[da], eb = db < 0 ? 1 : own[db];
    if (ea != eb && ea != 1 && eb != 1) return std::nullopt;
    batch.push_back(ea == 1 ? eb : ea);
  }
  return batch;
}

}  // namespace

Shape batch_of(const Tensor& a, int own_axes) {
  Shape batch = a.shape();
  for (int d = 0; d < own_axes; ++d) batch.pop_back();
  return batch;
}

std::string matrix_name(std::int64_t at, const Shape& batch) {
  Shape index = batch;
  for (int d = batch.rank() - 1; d >= 0; --d) {
    index[d] = at % batch[d];
    at /= batch[d];
  }
  return batch.empty() ? std::string() : " of matrix " + to_string(index);
}

Tensor hermitian_part(const Tensor& x) { return multiply(add(x, adjoint(x)), 0.5); }

DType lapack_dtype(DType d) { return widened(floating_of(d)); }

Tensor square_operand(const char* op, const Operand& a, const char* operand) {
  Tensor x = to_tensor(op, a, operand);
  const Shape shape = x.shape();
  if (shape.rank() < 2 || shape[-1] != shape[-2])
    fail<ShapeError>(op, "{} must be square in its last two axes, it is {}", operand, shape);
  return x;
}

Tensor square_matrices(const char* op, const Operand& a, const char* operand) {
  const Tensor x = square_operand(op, a, operand);
  return cast_to(x, lapack_dtype(x.dtype()));
}

bool is_vector_side(const char* op, const char* operand, const Shape& a, const Shape& b, const SideOptions& options) {
  Shape batch = a;
  for (int d = 0; d < options.matrix_axes; ++d) batch.pop_back();
  const std::int64_t rows = a[-options.matrix_axes];
  if (b.rank() == 1 && b[0] == rows) return true;
  const bool matrices = b.rank() > 1 && b[-2] == rows;
  Shape leading = b;
  if (matrices) leading.pop_back(), leading.pop_back();
  if (b.rank() > 1 && b == with(batch, {rows}) && !(matrices && common_batch(batch, leading)))
    fail<ShapeError>(
        op,
        "{0} is {1}, {2} is {3}: with more than one axis, {2} is matrices of {4} rows, [..., {4}, m]; pass "
        "a batch of vectors as expand_dims({2}, -1), which is {5}",
        operand, a, options.side, b, rows, with(b, {1}));
  if (!matrices)
    fail<ShapeError>(op, "{0} is {1}, {2} is {3}: {2} must be a vector of {4} elements or have {4} rows", operand, a,
                     options.side, b, rows);
  return false;
}

Shape pivots_shape(const Tensor& a) {
  Shape shape = a.shape();
  shape.pop_back();
  return shape;
}

void add_factors(Metas& out, const Tensor& a) {
  out.add(a.dtype(), a.shape());
  out.add(DType::int32, pivots_shape(a));
}

// ---- Systems a x = b

SystemShape system_of(const char* op, const Tensor& a, const Tensor& b, bool vector, const char* operand) {
  const std::int64_t n = a.shape().back();
  const std::optional<Shape> batch = common_batch(batch_of(a), batch_of(b, vector ? 1 : 2));
  if (!batch)
    fail<ShapeError>(op, "batch axes do not broadcast: {} is {}, b is {} (the leading axes must agree or be 1)",
                     operand, a.shape(), b.shape());
  const std::int64_t columns = vector ? 1 : b.shape().back();
  return {*batch, vector ? with(*batch, {n}) : with(*batch, {n, columns}), columns};
}

SystemOperands system_operands(const char* op, const Operand& a, const Operand& b, const char* operand) {
  const auto [dtype, computed] = promote_operands(op, {&a, &b}, Accept::number);
  const Tensor x = square_operand(op, a, operand);
  return {cast_to(x, computed), cast_to(to_tensor(op, b, "b"), computed), is_half(dtype) ? dtype : computed};
}

Tensor minus_outer(const Tensor& y, const Tensor& x, bool vector, bool transpose) {
  if (transpose) return minus_outer(conjugate(x), conjugate(y), vector, false);
  return negative(vector ? product_adjoint("solve", expand_dims(y, -1), expand_dims(x, -1))
                         : product_adjoint("solve", y, x));
}
Tensor apply_matrix(const Tensor& a, const Tensor& x, bool transpose, bool vector) {
  if (!vector) return product("solve", a, x, {transpose, false});
  return squeeze(product("solve", a, expand_dims(x, -1), {transpose, false}), -1);
}

CallerNames caller_names(std::int64_t caller, const char* itself) {
  constexpr CallerNames names[] = {
      {"lu_solve", "lu"}, {"cholesky_solve", "l"}, {"cholesky_inverse", "l"}, {"eigh", "b"}};
  constexpr auto first = static_cast<std::int64_t>(Caller::lu_solve);
  return caller < first ? CallerNames{itself, "a"} : names[caller - first];
}

constexpr const char* singular_remedy = "add a multiple of eye(n), or solve a least-squares problem instead";

void require_nonsingular(const char* op, const Tensor& a, const loops::FactorInfo& info) {
  if (info)
    fail<ValueError>(op, "a is singular: pivot {}{} is zero; {}", info.order, matrix_name(info.batch, batch_of(a)),
                     singular_remedy);
}

}  // namespace reel::ops
