// Solvers for banded and Toeplitz matrices. Rules are written with shifted rows: the band of an outer product, and the
// product of a band and a matrix, cost as much memory as the band itself.
#include <algorithm>
#include <reel/linalg/structured.hpp>
#include <reel/ops/arranging.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>

#include "csource/steps.hpp"
#include "linalg/banded_loops.hpp"
#include "linalg/matrices.hpp"
#include "loops/loops.hpp"
#include "ops/apply/apply.hpp"
#include "ops/promote.hpp"

namespace reel {
namespace ops {
namespace {

// The rows [..., n, m] of x moved down by `count`, or up by -count, with zeros behind them.
Tensor shift_rows(const Tensor& x, std::int64_t count) {
  if (count == 0) return x;
  const std::int64_t n = x.shape()[-2], size = std::min(n, count < 0 ? -count : count);
  const Tensor kept = slice(x, {ellipsis, count > 0 ? range(0, n - size) : range(size, n), range_from(0)});
  Shape gap = x.shape();
  gap[-2] = size;
  const Tensor zero = zeros(gap, x.dtype());
  return count > 0 ? concatenate({zero, kept}, -2) : concatenate({kept, zero}, -2);
}

// ---- Banded matrices. Attributes: the bandwidths, whether the adjoint is solved. Saved: bands, x.

struct Band {
  std::int64_t below, above;
  bool adjoint;
  explicit Band(std::span<const std::int64_t> a) : below(a[0]), above(a[1]), adjoint(a[2] != 0) {}
  Band(std::int64_t l, std::int64_t u, bool adjoint_system) : below(l), above(u), adjoint(adjoint_system) {}
  Band flipped() const { return {below, above, !adjoint}; }
};

Tensor solve_bands(const Band& band, const Tensor& bands, const Tensor& b);

// The band of left right^H: element (j + d, j) at (above + d, j).
Tensor band_of_product(const Band& band, const Tensor& left, const Tensor& right) {
  detail::List<Tensor> rows;
  const Tensor factor = conjugate(right);
  for (std::int64_t d = -band.above; d <= band.below; ++d)
    rows.push_back(sum(multiply(shift_rows(left, -d), factor), -1));
  return stack(rows, -2);
}

// The banded matrix, or its adjoint, times x.
Tensor band_times(const Band& band, const Tensor& bands, const Tensor& x) {
  Tensor y;
  for (std::int64_t d = -band.above; d <= band.below; ++d) {
    const Tensor diagonal = expand_dims(slice(bands, {ellipsis, band.above + d, range_from(0)}), -1);
    const Tensor term =
        band.adjoint ? multiply(conjugate(diagonal), shift_rows(x, -d)) : shift_rows(multiply(diagonal, x), d);
    y = y.defined() ? add(y, term) : term;
  }
  return y;
}

void banded_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Band band(r.attributes());
  const Tensor& bands = r.saved(0);
  const Tensor db = solve_bands(band.flipped(), bands, g[0]);
  if (r.wanted(1)) dx[1] = sum_to(r, db, r.shape(1));
  if (!r.wanted(0)) return;
  const Tensor x = r.saved(1);
  const Tensor of_product = band.adjoint ? band_of_product(band, x, db) : band_of_product(band, db, x);
  dx[0] = sum_to(r, negative(of_product), r.shape(0));
}
void banded_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const Band band(r.attributes());
  Tensor b;
  if (r.wanted(1)) b = dx[1];
  if (r.wanted(0)) {
    const Tensor p = band_times(band, dx[0], r.saved(1));
    b = b.defined() ? subtract(b, p) : negative(p);
  }
  dy[0] = solve_bands(band, r.saved(0), b);
}

void infer_banded(const Call& call, Metas& out) {
  const Tensor &bands = call.input(0), &b = call.input(1);
  Shape shape = broadcast_shapes("banded_solve", batch_of(bands), batch_of(b));
  shape.push_back(b.shape()[-2]);
  shape.push_back(b.shape()[-1]);
  out.add(b.dtype(), shape);
}
void evaluate_banded(const Call& call, Outputs& out) {
  const Band band(call.attributes);
  loops::copy(call.input(1), out[0]);
  const Shape batch = batch_of(out[0]);
  if (const loops::FactorInfo info =
          loops::solve_banded(call.input(0), {band.below, band.above}, band.adjoint, out[0], batch, out[0].shape()[-1]))
    fail<ValueError>("banded_solve", "the matrix is singular: pivot {}{} is zero; add a multiple of the identity",
                     info.order, matrix_name(info.batch, batch));
}
void write_banded(const Call& call, csource::Writer& w) {
  const Band band(call.attributes);
  const std::int64_t below = band.adjoint ? band.above : band.below, above = band.adjoint ? band.below : band.above;
  const Shape b = call.input(1).shape();
  csource::write_steps(w, call.input(1).dtype(),
                       "copy i1 o0\ntemp t0 real #0 #1\nfor i0:2 o0:2\n"
                       "refuse $banded(i0, #2, #3, #4, t0, o0, #0, #5) != 0|the matrix is singular",
                       {b[-2], 2 * below + above + 1, below, above, band.adjoint, b[-1]});
}
constexpr Primitive banded_primitive = {.rule = batched({"banded_solve", banded_vjp, banded_jvp}),
                                        .infer = infer_banded,
                                        .evaluate = evaluate_banded,
                                        .keeps = {keep_input(0), keep_output(0, 0b01)},
                                        .effects = may_throw,
                                        .write_c = write_banded};

Tensor solve_bands(const Band& band, const Tensor& bands, const Tensor& b) {
  return apply(banded_primitive, {&bands, &b}, words(band.below, band.above, band.adjoint));
}

// ---- Toeplitz matrices, as their 2 n - 1 diagonals from the last of the first row to the last of the first column.
// Saved: the diagonals, x.

Tensor toeplitz_solution(const Tensor& diagonals, const Tensor& b);

Tensor adjoint_diagonals(const Tensor& diagonals) { return conjugate(flip(diagonals, -1)); }

// The sums of left right^H along its diagonals. Rows of n elements beside n zeros, read as rows of 2 n - 1, are shifted
// each by one more: with its columns in reverse order, a diagonal becomes a column.
Tensor diagonal_sums(const Tensor& left, const Tensor& right) {
  const std::int64_t n = left.shape()[-2];
  const Tensor p = product("toeplitz_solve", left, swap_matrix_axes(flip(conjugate(right), -2)));
  Shape shape = p.shape();
  const Tensor wide = concatenate({p, zeros(shape, p.dtype())}, -1);
  shape.pop_back();
  shape[-1] = 2 * n * n;
  const Tensor flat = slice(reshape(wide, shape), {ellipsis, range(0, n * (2 * n - 1))});
  shape[-1] = n;
  shape.push_back(2 * n - 1);
  return sum(reshape(flat, shape), -2);
}

// The matrix: element (i, j) is diagonal n - 1 + i - j.
Tensor toeplitz_matrix(const Tensor& diagonals) {
  const std::int64_t n = (diagonals.shape()[-1] + 1) / 2;
  const Tensor row = arange(n);
  return gather(diagonals, expand_dims(row, 1) + flip(row, 0), -1);
}

void toeplitz_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor db = toeplitz_solution(adjoint_diagonals(r.saved(0)), g[0]);
  if (r.wanted(1)) dx[1] = sum_to(r, db, r.shape(1));
  if (r.wanted(0)) dx[0] = sum_to(r, negative(diagonal_sums(db, r.saved(1))), r.shape(0));
}
void toeplitz_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  Tensor b;
  if (r.wanted(1)) b = dx[1];
  if (r.wanted(0)) {
    const Tensor p = product("toeplitz_solve", toeplitz_matrix(dx[0]), r.saved(1));
    b = b.defined() ? subtract(b, p) : negative(p);
  }
  dy[0] = toeplitz_solution(r.saved(0), b);
}

void infer_toeplitz(const Call& call, Metas& out) {
  const Tensor &diagonals = call.input(0), &b = call.input(1);
  Shape shape = broadcast_shapes("toeplitz_solve", batch_of(diagonals, 1), batch_of(b));
  shape.push_back(b.shape()[-2]);
  shape.push_back(b.shape()[-1]);
  out.add(b.dtype(), shape);
}
void evaluate_toeplitz(const Call& call, Outputs& out) {
  loops::copy(call.input(1), out[0]);
  const Shape batch = batch_of(out[0]);
  if (const loops::FactorInfo info = loops::solve_toeplitz(call.input(0), out[0], batch, out[0].shape()[-1]))
    fail<ValueError>("toeplitz_solve",
                     "the leading minor of order {}{} is singular, and the recursion does not pivot; use "
                     "solve(toeplitz(column, row), b)",
                     info.order, matrix_name(info.batch, batch));
}
void write_toeplitz(const Call& call, csource::Writer& w) {
  const Shape b = call.input(1).shape();
  csource::write_steps(w, call.input(1).dtype(),
                       "copy i1 o0\ntemp t0 real #2\nfor i0:1 o0:2\n"
                       "refuse $toeplitz(i0, o0, t0, #0, #1) != 0|a leading minor is singular",
                       {b[-2], b[-1], 2 * b[-2]});
}
constexpr Primitive toeplitz_primitive = {.rule = batched({"toeplitz_solve", toeplitz_vjp, toeplitz_jvp}),
                                          .infer = infer_toeplitz,
                                          .evaluate = evaluate_toeplitz,
                                          .keeps = {keep_input(0), keep_output(0, 0b01)},
                                          .effects = may_throw,
                                          .write_c = write_toeplitz};

Tensor toeplitz_solution(const Tensor& diagonals, const Tensor& b) {
  return apply(toeplitz_primitive, {&diagonals, &b});
}

// ---- Operands

// The operands in the dtype in which they are computed, and the dtype of the result.
struct StructuredOperands {
  detail::List<Tensor> tensors;
  DType dtype;
};
StructuredOperands in_wide_dtype(const char* op, std::initializer_list<const Operand*> operands) {
  StructuredOperands list{{}, promote_operands(op, operands, Accept::number).result};
  for (const Operand* x : operands) list.tensors.push_back(to_tensor(op, *x, double_precision_of(list.dtype), "x"));
  return list;
}

// f(b) for b as a matrix of rows; `diagonal` is the shape of the diagonal, batch axes in front.
template <class F>
Tensor as_matrix_of_rows(const char* op, const char* name, const Tensor& b, const Shape& diagonal, DType dtype,
                         const F& f) {
  const bool vector = is_vector_side(op, "the main diagonal", diagonal, b.shape(), {.matrix_axes = 1, .side = name});
  const Tensor right = vector ? expand_dims(b, -1) : b;
  Shape batch = diagonal;
  batch.pop_back();
  static_cast<void>(broadcast_shapes(op, batch, batch_of(right)));
  const Tensor x = f(right);
  return cast_to(vector ? squeeze(x, -1) : x, dtype);
}

void check_diagonals(const char* op, const Tensor& l, const Tensor& d, const Tensor& u) {
  if (l.rank() == 0 || d.rank() == 0 || u.rank() == 0 || d.shape()[-1] < 1 || l.shape()[-1] != d.shape()[-1] - 1 ||
      u.shape()[-1] != d.shape()[-1] - 1)
    fail<ShapeError>(op, "lower is {}, diagonal {}, upper {}: n - 1, n and n - 1 elements are needed, n at least 1",
                     l.shape(), d.shape(), u.shape());
}
// A diagonal beside the main one as one of its length: a zero in front, or at the end.
Tensor pad_by_one(const Tensor& x, bool before, int axis = -1) {
  Shape gap = x.shape();
  gap[axis] = 1;
  const Tensor zero = zeros(gap, x.dtype());
  return before ? concatenate({zero, x}, axis) : concatenate({x, zero}, axis);
}

}  // namespace
}  // namespace ops

Tensor banded_solve(const Operand& bands, std::int64_t below, std::int64_t above, const Operand& b) {
  constexpr const char* op = "banded_solve";
  const tape::OpScope scope(bands);
  const auto [operands, dtype] = ops::in_wide_dtype(op, {&bands, &b});
  const Tensor& a = operands[0];
  if (below < 0 || above < 0)
    fail<ValueError>(op, "there are {} diagonals below and {} above; numbers must be at least 0", below, above);
  if (a.rank() < 2 || below >= a.shape()[-2] || above >= a.shape()[-2] || a.shape()[-2] != below + above + 1)
    fail<ShapeError>(op, "bands are {}; with {} diagonals below and {} above the main one there must be a row for each",
                     a.shape(), below, above);
  Shape diagonal = a.shape();
  diagonal.erase(diagonal.rank() - 2);
  return ops::as_matrix_of_rows(op, "b", operands[1], diagonal, dtype, [&](const Tensor& right) {
    return ops::solve_bands({below, above, false}, a, right);
  });
}

Tensor banded_triangular_solve(const Operand& bands, const Operand& b, const BandedTriangularOptions& options) {
  constexpr const char* op = "banded_triangular_solve";
  const tape::OpScope scope(bands);
  const auto [operands, dtype] = ops::in_wide_dtype(op, {&bands, &b});
  const Tensor& a = operands[0];
  if (a.rank() < 2 || a.shape()[-2] < 1)
    fail<ShapeError>(op, "bands are {}; they must be [..., diagonals, n]", a.shape());
  const std::int64_t beside = a.shape()[-2] - 1;
  const ops::Band band(options.lower ? beside : 0, options.lower ? 0 : beside, options.adjoint);
  Shape diagonal = a.shape();
  diagonal.erase(diagonal.rank() - 2);
  return ops::as_matrix_of_rows(op, "b", operands[1], diagonal, dtype, [&](const Tensor& right) {
    return ops::named(op, [&] { return ops::solve_bands(band, a, right); });
  });
}

Tensor tridiagonal_solve(const Operand& lower, const Operand& diagonal, const Operand& upper, const Operand& b) {
  constexpr const char* op = "tridiagonal_solve";
  const tape::OpScope scope(lower);
  const auto [operands, dtype] = ops::in_wide_dtype(op, {&lower, &diagonal, &upper, &b});
  const Tensor &l = operands[0], &d = operands[1], &u = operands[2];
  ops::check_diagonals(op, l, d, u);
  // As rows of the band: the upper diagonal starts, and the lower one ends, with an element that is not read.
  const Tensor above = ops::pad_by_one(u, true), below = ops::pad_by_one(l, false);
  Shape shape = ops::broadcast_shapes(op, ops::broadcast_shapes(op, above.shape(), d.shape()), below.shape());
  ops::require_rank(op, shape.rank() + 1);
  const Tensor bands = stack({broadcast_to(above, shape), broadcast_to(d, shape), broadcast_to(below, shape)}, -2);
  return ops::as_matrix_of_rows(op, "b", operands[3], shape, dtype, [&](const Tensor& right) {
    return ops::named(op, [&] { return ops::solve_bands({1, 1, false}, bands, right); });
  });
}

Tensor tridiagonal_matmul(const Operand& lower, const Operand& diagonal, const Operand& upper, const Operand& operand) {
  constexpr const char* op = "tridiagonal_matmul";
  const tape::OpScope scope(lower);
  const auto [operands, dtype] = ops::in_wide_dtype(op, {&lower, &diagonal, &upper, &operand});
  const Tensor &l = operands[0], &d = operands[1], &u = operands[2];
  ops::check_diagonals(op, l, d, u);
  const std::int64_t n = d.shape()[-1];
  Shape shape = ops::broadcast_shapes(op, ops::batch_of(l, 1),
                                      ops::broadcast_shapes(op, ops::batch_of(d, 1), ops::batch_of(u, 1)));
  shape.push_back(n);
  ops::require_rank(op, shape.rank() + 1);
  return ops::as_matrix_of_rows(op, "x", operands[3], shape, dtype, [&](const Tensor& x) {
    const Tensor before = slice(x, {ellipsis, range(0, n - 1), range_from(0)}),
                 after = slice(x, {ellipsis, range(1, n), range_from(0)});
    return expand_dims(d, -1) * x + ops::pad_by_one(expand_dims(l, -1) * before, true, -2) +
           ops::pad_by_one(expand_dims(u, -1) * after, false, -2);
  });
}

Tensor toeplitz_solve(const Operand& column, const Operand& row, const Operand& b) {
  constexpr const char* op = "toeplitz_solve";
  const tape::OpScope scope(column);
  const auto [operands, dtype] = ops::in_wide_dtype(op, {&column, &row, &b});
  const Tensor &c = operands[0], &r = operands[1];
  if (c.rank() == 0 || r.rank() == 0 || c.shape()[-1] != r.shape()[-1] || c.shape()[-1] < 1)
    fail<ShapeError>(op, "column is {}, row {}: both must have as many elements, at least one", c.shape(), r.shape());
  const Shape shape = ops::broadcast_shapes(op, c.shape(), r.shape());
  ops::require_rank(op, shape.rank() + 1);
  const Tensor first = slice(flip(broadcast_to(r, shape), -1), {ellipsis, range(0, shape.back() - 1)});
  const Tensor diagonals = concatenate({first, broadcast_to(c, shape)}, -1);
  return ops::as_matrix_of_rows(op, "b", operands[2], shape, dtype,
                                [&](const Tensor& right) { return ops::toeplitz_solution(diagonals, right); });
}

}  // namespace reel
