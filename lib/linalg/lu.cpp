// lu_factor, lu and lu_solve. Of packed factors [m, n] with k = min(m, n): l1 and u1 are the triangles of the first k
// rows and columns; below them l2 = a2 u1^-1, or to their right u2 = l1^-1 a2.
#include <reel/ops/sorting.hpp>

#include "linalg/factor_derivatives.hpp"
#include "linalg/gauge.hpp"
#include "linalg/write.hpp"
#include "loops/loops.hpp"
#include "ops/promote.hpp"

namespace reel {
namespace ops {
namespace {

constexpr TriangularOptions unit_lower{.lower = true, .transpose = false, .unit_diagonal = true};
constexpr TriangularOptions unit_lower_transposed{.lower = true, .transpose = true, .unit_diagonal = true};

// l1^-1 x and l1^-H x
Tensor solve_lower(const Tensor& square, const Tensor& x) { return triangular_solve_any(square, x, unit_lower); }
Tensor solve_lower_adjoint(const Tensor& square, const Tensor& x) {
  return conjugate(triangular_solve_any(square, conjugate(x), unit_lower_transposed));
}

Tensor block(const Tensor& x, std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
  if (row == 0 && column == 0 && rows == x.shape()[-2] && columns == x.shape()[-1]) return x;
  return slice(x, {ellipsis, range(row, rows), range(column, columns)});
}
// L with its diagonal of 1, of the rows of x.
Tensor unit_triangle(const Tensor& x) { return add(tril(x, -1), eye(x.shape()[-2], x.shape()[-1], x.dtype())); }

// The packed factors in blocks.
struct LuBlocks {
  std::int64_t m, n, k;
  Tensor square, l2, u2;
  explicit LuBlocks(const Tensor& packed)
      : m(packed.shape()[-2]), n(packed.shape()[-1]), k(std::min(m, n)), square(block(packed, 0, k, 0, k)) {
    if (m > k) l2 = block(packed, k, m, 0, k);
    if (n > k) u2 = block(packed, 0, k, k, n);
  }
};

// Rows in another order; `order` broadcasts to x's batch axes.
Tensor permute_rows(const Tensor& x, const Tensor& order) {
  Shape shape = x.shape();
  return take_along_axis(x, broadcast_to(as_column(order), shape), -2);
}

// ---- The cotangent of square matrices, by a loop where no tape follows it. Inputs: the packed factors, their
// cotangent.
void infer_square_vjp(const Call& call, Metas& out) { out.add(call.input(0).dtype(), call.input(1).shape()); }
void evaluate_square_vjp(const Call& call, Outputs& out) {
  Tensor copied;
  loops::copy(call.input(1), out[0]);
  loops::lu_vjp(loops::contiguous(call.input(0), copied), out[0]);
}
constexpr Primitive square_vjp_primitive = {
    .rule = {.name = "lu.vjp"}, .infer = infer_square_vjp, .evaluate = evaluate_square_vjp, .write_c = write_lu_vjp};

// The tangent of the packed factors, of that of the matrix with its rows in their order.
void evaluate_square_jvp(const Call& call, Outputs& out) {
  Tensor copied;
  loops::copy(call.input(1), out[0]);
  loops::lu_jvp(loops::contiguous(call.input(0), copied), out[0]);
}
constexpr Primitive square_jvp_primitive = {
    .rule = {.name = "lu.jvp"}, .infer = infer_square_vjp, .evaluate = evaluate_square_jvp, .write_c = write_lu_jvp};

Tensor square_jvp(const Tensor& packed, const Tensor& da) {
  if (!followed(packed, da) && da.size() > 0) return evaluate(square_jvp_primitive, {&packed, &da});
  const Tensor inner = divide_upper(solve_lower(packed, da), packed);
  return add(mm(unit_triangle(packed), tril(inner, -1)), mm(triu(inner), triu(packed)));
}

Tensor square_vjp(const Tensor& packed, const Tensor& g) {
  if (!followed(packed, g)) return evaluate(square_vjp_primitive, {&packed, &g});
  const Tensor inner = add(tril(adjoint_product("lu", unit_triangle(packed), tril(g, -1)), -1),
                           triu(product_adjoint("lu", triu(g), triu(packed))));
  return divide_upper_adjoint(solve_lower_adjoint(packed, inner), packed);
}
// ---- lu_factor: saved the packed factors and the order of rows.
void lu_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const LuBlocks f(r.saved(0));
  const LuBlocks gf(g[0]);
  Tensor of_square = gf.square, of_block;
  if (f.m > f.k) {
    of_block = divide_upper_adjoint(gf.l2, f.square);
    of_square = subtract(of_square, triu(adjoint_product("lu", f.l2, of_block)));
  }
  if (f.n > f.k) {
    of_block = solve_lower_adjoint(f.square, gf.u2);
    of_square = subtract(of_square, tril(product_adjoint("lu", of_block, f.u2), -1));
  }
  Tensor da = square_vjp(f.square, of_square);
  if (of_block.defined()) da = concatenate({da, of_block}, f.m > f.k ? -2 : -1);
  dx[0] = permute_rows(da, argsort(r.saved(1), -1));
}

void lu_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const LuBlocks f(r.saved(0)), da(permute_rows(dx[0], r.saved(1)));
  const Tensor square = square_jvp(f.square, da.square);
  dy[0] = square;
  if (f.m > f.k) dy[0] = concatenate({square, divide_upper(subtract(da.l2, mm(f.l2, triu(square))), f.square)}, -2);
  if (f.n > f.k) dy[0] = concatenate({square, solve_lower(f.square, subtract(da.u2, mm(tril(square, -1), f.u2)))}, -1);
}

// Outputs the packed factors, pivots and the order of rows.
void infer_lu(const Call& call, Metas& out) {
  const Tensor& a = call.input(0);
  Shape batch = batch_of(a), rows = batch;
  batch.push_back(std::min(a.shape()[-2], a.shape()[-1]));
  rows.push_back(a.shape()[-2]);
  out.add(a.dtype(), a.shape());
  out.add(DType::int32, batch);
  out.add(DType::int64, rows);
}
void evaluate_lu(const Call& call, Outputs& out) { loops::lu(call.input(0), out[0], out[1], out[2]); }
constexpr Primitive lu_primitive = {.rule = batched({"lu", lu_vjp, lu_jvp}),
                                    .infer = infer_lu,
                                    .evaluate = evaluate_lu,
                                    .keeps = {keep_output(0), keep_output(2)},
                                    .auxiliary = 2,
                                    .write_c = write_lu};

struct Factors {
  Tensor packed, pivots, rows;
};
Factors factors_of(const char* op, const Operand& a) {
  const Tensor x = matrix_operand(op, a);
  Tensor y[3];
  const Tensor* const inputs[] = {&x};
  apply(lu_primitive, inputs, {}, y);
  return {y[0], y[1], y[2]};
}

// ---- The order of rows that pivots [..., n] make.
void infer_rows(const Call& call, Metas& out) { out.add(DType::int64, call.input(0).shape()); }
void evaluate_rows(const Call& call, Outputs& out) {
  if (!loops::rows_of_pivots(call.input(0), out[0]))
    fail<ValueError>("lu_solve", "a pivot is not the number of a row at or below its own");
}
constexpr Primitive rows_of_pivots = {.rule = {"lu_solve.rows"},
                                      .infer = infer_rows,
                                      .evaluate = evaluate_rows,
                                      .constants = 1,
                                      .effects = may_throw,
                                      .write_c = write_rows_of_pivots};

}  // namespace
}  // namespace ops

LuFactors lu_factor(const Operand& a) {
  const tape::OpScope scope(a);
  const ops::Factors f = ops::factors_of("lu_factor", a);
  return {ops::in_dtype_of(a, f.packed), f.pivots};
}

Lu lu(const Operand& a) {
  const tape::OpScope scope(a);
  const ops::Factors f = ops::factors_of("lu", a);
  const ops::LuBlocks blocks(f.packed);
  const Tensor l = ops::unit_triangle(ops::block(f.packed, 0, blocks.m, 0, blocks.k));
  const Tensor u = triu(ops::block(f.packed, 0, blocks.k, 0, blocks.n));
  const Tensor p = ops::swap_matrix_axes(one_hot(f.rows, blocks.m, ops::real_dtype(f.packed.dtype())));
  return {ops::in_dtype_of(a, p), ops::in_dtype_of(a, l), ops::in_dtype_of(a, u)};
}

Tensor lu_solve(const LuFactors& factors, const Operand& b) {
  const tape::OpScope scope(b);
  const char* op = "lu_solve";
  const Operand lu = factors.lu;
  const auto [dtype, computed] = ops::promote_operands(op, {&lu, &b}, ops::Accept::number);
  const Tensor packed = ops::cast_to(ops::square_operand(op, lu, "lu"), computed);
  ops::require_defined(op, factors.pivots, "pivots");
  if (factors.pivots.dtype() != DType::int32)
    fail<TypeError>(op, "pivots are {}, not int32: take them from lu_factor", factors.pivots.dtype());
  if (factors.pivots.shape() != ops::pivots_shape(packed))
    fail<ShapeError>(op, "pivots are {}, lu is {}: take both from lu_factor", factors.pivots.shape(), packed.shape());
  const Tensor y = ops::cast_to(ops::to_tensor(op, b, "b"), computed);
  const std::int64_t n = packed.shape().back();
  const bool vector = ops::is_vector_side(op, "lu", packed.shape(), y.shape());
  const Tensor columns = vector ? ops::as_column(y) : y;
  const Shape batch = ops::broadcast_shapes(op, ops::batch_of(packed), ops::batch_of(columns));
  Shape full = batch, order = batch;
  full.push_back(n), order.push_back(n);
  full.push_back(columns.shape().back());
  const Tensor rows = ops::apply(ops::rows_of_pivots, {&factors.pivots});
  const Tensor sides = ops::permute_rows(broadcast_to(columns, full), broadcast_to(rows, order));
  const Tensor half = ops::triangular_solve_for(ops::Caller::lu_solve, packed, sides, ops::unit_lower, false);
  const Tensor x = ops::triangular_solve_for(ops::Caller::lu_solve, packed, half, {.lower = false}, false);
  const Tensor result = vector ? squeeze(x, -1) : x;
  return ops::is_half(dtype) ? cast(result, dtype) : result;
}

}  // namespace reel
