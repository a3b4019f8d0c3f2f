// Factorisations and solvers. Rules reuse the factors of the forward pass, as constants beside the matrix itself, so
// that each order of derivative costs substitutions only.
#include <reel/ops/index.hpp>
#include <reel/ops/pointwise.hpp>
#include <string>

#include "loops/index/triangle.hpp"
#include "loops/loops.hpp"
#include "ops/apply/apply.hpp"
#include "ops/linalg/linalg.hpp"

namespace reel {
namespace ops {
namespace {

Shape with(Shape batch, std::initializer_list<std::int64_t> extents) {
  for (std::int64_t e : extents) batch.push_back(e);
  return batch;
}

// " of matrix [i, j]": the matrix at a row-major position of a batch, for errors.
std::string of_matrix(std::int64_t at, const Shape& batch) {
  Shape index = batch;
  for (int d = batch.rank() - 1; d >= 0; --d) {
    index[d] = at % batch[d];
    at /= batch[d];
  }
  return batch.empty() ? std::string() : " of matrix " + to_string(index);
}

// The shapes of a x = b.
struct System {
  Shape batch, shape;  // of the solution
  std::int64_t columns;
  bool vector;
};

// b is a vector (or a batch of vectors) if it has rank 1, or one axis less than a and a's leading extents; otherwise
// matrices.
System system_of(const char* op, const Tensor& a, const Tensor& b) {
  const Shape sa = a.shape(), sb = b.shape();
  System s;
  Shape leading = sa;
  leading.pop_back();
  s.vector = sb.rank() == 1 || sb == leading;
  const std::int64_t n = sa.back();
  if (sb.rank() == 0 || sb[s.vector ? -1 : -2] != n)
    fail<ShapeError>(op, "a is {}, b is {}: b must be a vector of {} elements or have {} rows", sa, sb, n, n);
  s.columns = s.vector ? 1 : sb.back();
  Shape own = sb;
  own.pop_back();
  if (!s.vector) own.pop_back();
  leading.pop_back();
  const int rank = std::max(leading.rank(), own.rank());
  for (int d = 0; d < rank; ++d) {
    const int da = d - (rank - leading.rank()), db = d - (rank - own.rank());
    const std::int64_t ea = da < 0 ? 1 : leading[da], eb = db < 0 ? 1 : own[db];
    if (ea != eb && ea != 1 && eb != 1)
      fail<ShapeError>(op, "batch axes do not broadcast: a is {}, b is {} (the leading axes must agree or be 1)", sa,
                       sb);
    s.batch.push_back(ea == 1 ? eb : ea);
  }
  s.shape = s.vector ? with(s.batch, {n}) : with(s.batch, {n, s.columns});
  return s;
}

// -y x^T, or its transpose: the cotangent of a, where y is that of b. Transposed for a transposed system.
Tensor minus_outer(const Tensor& y, const Tensor& x, bool vector) {
  return negative(vector ? product("solve", expand_dims(y, -1), expand_dims(x, -1), {false, true})
                         : product("solve", y, x, {false, true}));
}
Tensor applied(const Tensor& a, const Tensor& x, bool transpose, bool vector) {
  if (!vector) return product("solve", a, x, {transpose, false});
  return squeeze(product("solve", a, expand_dims(x, -1), {transpose, false}), -1);
}
Tensor difference(const Tensor& b, const Tensor& product) {
  return b.defined() ? subtract(b, product) : negative(product);
}

// solve(g); for vectors, a batch of cotangents becomes the columns of one matrix.
template <class Solve>
Tensor solved(const tape::Record& r, const Tensor& g, bool vector, const Solve& solve) {
  return r.batch_rank() && vector ? moveaxis(solve(moveaxis(g, 0, -1)), -1, 0) : solve(g);
}

// ---- solve: saved a, x (where a is followed), and the factors; attributes transpose, vector.
enum : std::size_t { solve_a, solve_x, solve_lu, solve_pivots };
enum : std::size_t { solve_transpose, solve_vector };

Tensor solution(const Tensor& a, const Tensor& lu, const Tensor& pivots, const Tensor& b, bool transpose);

Tensor solve_again(const tape::Record& r, const Tensor& b, bool transpose) {
  // If no tape follows a, its factors are constants.
  const Tensor& a = r.has_saved(solve_a) ? r.saved(solve_a) : r.saved(solve_lu);
  return solution(a, r.saved(solve_lu), r.saved(solve_pivots), b, transpose);
}

void solve_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const bool transpose = r.attributes()[solve_transpose], vector = r.attributes()[solve_vector];
  const Tensor db = solved(r, g[0], vector, [&](const Tensor& b) { return solve_again(r, b, !transpose); });
  if (r.wanted(1)) dx[1] = sum_to(r, db, r.shape(1));
  if (!r.wanted(0)) return;
  const Tensor x = r.saved(solve_x);
  dx[0] = sum_to(r, transpose ? minus_outer(x, db, vector) : minus_outer(db, x, vector), r.shape(0));
}

void solve_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const bool transpose = r.attributes()[solve_transpose], vector = r.attributes()[solve_vector];
  Tensor b;
  if (r.wanted(1)) b = dx[1];
  if (r.wanted(0)) b = difference(b, applied(dx[0], r.saved(solve_x), transpose, vector));
  dy[0] = solve_again(r, b, transpose);
}

constexpr tape::Rule solve_rule = batched({"solve", solve_vjp, solve_jvp});
constexpr const char* singular_remedy = "add a multiple of eye(n), or solve a least-squares problem instead";

// ValueError for the first singular matrix of the batch.
void require_regular(const char* op, const Tensor& a, const loops::Fault& fault) {
  if (fault)
    fail<ValueError>(op, "a is singular: pivot {}{} is zero; {}", fault.order, of_matrix(fault.batch, batch_of(a)),
                     singular_remedy);
}

// Inputs a, b; residuals the factors and pivots of a.
void infer_solve(const Call& call, Metas& out) {
  const Tensor &a = call.input(0), &b = call.input(1);
  out.add(a.dtype(), system_of("solve", a, b).shape);
  add_factors(out, a);
}
void evaluate_solve(const Call& call, Outputs& out) {
  const Tensor &a = call.input(0), &b = call.input(1);
  require_regular("solve", a, loops::factorise(a, out[1], out[2]));
  const System s = system_of("solve", a, b);
  loops::copy(b, out[0]);
  loops::solve(out[1], out[2], call.attribute(solve_transpose) != 0, out[0], s.batch, s.columns);
}
constexpr Primitive solve_primitive = {
    .rule = solve_rule,
    .infer = infer_solve,
    .evaluate = evaluate_solve,
    .keeps = {keep_input(0, 0b01), keep_output(0, 0b01), keep_output(1), keep_output(2)},
    .residuals = 2,
    .effects = may_throw};

// The same with factors and pivots as inputs.
void infer_solve_by_factors(const Call& call, Metas& out) {
  out.add(call.input(0).dtype(), system_of("solve", call.input(0), call.input(1)).shape);
}
void evaluate_solve_by_factors(const Call& call, Outputs& out) {
  const System s = system_of("solve", call.input(0), call.input(1));
  loops::copy(call.input(1), out[0]);
  loops::solve(call.input(2), call.input(3), call.attribute(solve_transpose) != 0, out[0], s.batch, s.columns);
}
constexpr Primitive solve_by_factors = {
    .rule = solve_rule,
    .infer = infer_solve_by_factors,
    .evaluate = evaluate_solve_by_factors,
    .keeps = {keep_input(0, 0b01), keep_output(0, 0b01), keep_input(2), keep_input(3)},
    .constants = 2};

// The solution x of a x = b or a^T x = b, as a differentiable function of a and b.
Tensor solution(const Tensor& a, const Tensor& lu, const Tensor& pivots, const Tensor& b, bool transpose) {
  return apply(solve_by_factors, {&a, &b, &lu, &pivots}, words(transpose, system_of("solve", a, b).vector));
}

// ---- triangular_solve: saved a and x (where a is followed); attributes of the options, then vector.
Tensor triangular(const Tensor& a, const Tensor& b, const TriangularOptions& options);

TriangularOptions options_of(const tape::Record& r) {
  return {r.attributes()[0] != 0, r.attributes()[1] != 0, r.attributes()[2] != 0};
}
TriangularOptions flipped(TriangularOptions options) {
  options.transpose = !options.transpose;
  return options;
}
// The triangle of a that a triangular solve reads.
Tensor masked(const Tensor& a, const TriangularOptions& options) {
  return options.lower ? tril(a, options.unit_diagonal ? -1 : 0) : triu(a, options.unit_diagonal ? 1 : 0);
}

void triangular_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const TriangularOptions options = options_of(r);
  const bool vector = r.attributes()[3];
  const Tensor db =
      solved(r, g[0], vector, [&](const Tensor& b) { return triangular(r.saved(0), b, flipped(options)); });
  if (r.wanted(1)) dx[1] = sum_to(r, db, r.shape(1));
  if (!r.wanted(0)) return;
  const Tensor x = r.saved(1);
  const Tensor da = options.transpose ? minus_outer(x, db, vector) : minus_outer(db, x, vector);
  dx[0] = masked(sum_to(r, da, r.shape(0)), options);
}

void triangular_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const TriangularOptions options = options_of(r);
  Tensor b;
  if (r.wanted(1)) b = dx[1];
  if (r.wanted(0))
    b = difference(b, applied(masked(dx[0], options), r.saved(1), options.transpose, r.attributes()[3] != 0));
  dy[0] = triangular(r.saved(0), b, options);
}

void infer_triangular(const Call& call, Metas& out) {
  out.add(call.input(0).dtype(), system_of("triangular_solve", call.input(0), call.input(1)).shape);
}

void evaluate_triangular(const Call& call, Outputs& out) {
  const Tensor &a = call.input(0), &b = call.input(1);
  const System s = system_of("triangular_solve", a, b);
  loops::copy(b, out[0]);
  const loops::TriangularSystem system = {call.attribute(0) != 0, call.attribute(1) != 0, call.attribute(2) != 0};
  if (const loops::Fault fault = loops::solve_triangular(a, system, out[0], s.batch, s.columns))
    fail<ValueError>("triangular_solve",
                     "a is singular: element {} of the diagonal{} is zero; add a multiple of eye(n), or "
                     "set unit_diagonal if the diagonal is not stored",
                     fault.order - 1, of_matrix(fault.batch, s.batch));
}

constexpr Primitive triangular_primitive = {.rule = batched({"triangular_solve", triangular_vjp, triangular_jvp}),
                                            .infer = infer_triangular,
                                            .evaluate = evaluate_triangular,
                                            .keeps = {keep_input(0), keep_output(0, 0b01)},
                                            .effects = may_throw};

Tensor triangular(const Tensor& a, const Tensor& b, const TriangularOptions& options) {
  return apply(
      triangular_primitive, {&a, &b},
      words(options.lower, options.transpose, options.unit_diagonal, system_of("triangular_solve", a, b).vector));
}

// ---- cholesky: saves the result. With P the lower triangle, its diagonal halved: dL = L P(L^-1 da L^-T), where da is
// made symmetric, and the transpose of that (Murray 2016, "Differentiation of the Cholesky decomposition").
Tensor lower_half(const Tensor& x);
Tensor lower_half_again(const tape::Record&, const Tensor& x) { return lower_half(x); }
void infer_like_input(const Call& call, Metas& out) { out.add(call.input(0).dtype(), call.input(0).shape()); }
void evaluate_lower_half(const Call& call, Outputs& out) { loops::copy_lower_half(call.input(0), out[0]); }
constexpr Primitive lower_half_primitive = {.rule = linear<lower_half_again, lower_half_again>("cholesky.lower_half"),
                                            .infer = infer_like_input,
                                            .evaluate = evaluate_lower_half};
Tensor lower_half(const Tensor& x) { return apply(lower_half_primitive, {&x}); }
Tensor symmetric(const Tensor& x) { return multiply(add(x, swapped(x)), 0.5); }

void cholesky_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor l = r.saved(0);
  const TriangularOptions back{.lower = true, .transpose = true};
  const Tensor p = lower_half(product("cholesky", l, tril(g[0]), {true, false}));
  dx[0] = symmetric(triangular(l, swapped(triangular(l, p, back)), back));
}

void cholesky_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const Tensor l = r.saved(0);
  const Tensor inner = triangular(l, swapped(triangular(l, symmetric(dx[0]), {})), {});
  dy[0] = product("cholesky", l, lower_half(inner));
}

void evaluate_cholesky(const Call& call, Outputs& out) {
  const Tensor& a = call.input(0);
  loops::copy(a, out[0]);
  if (const loops::Fault fault = loops::cholesky(out[0]))
    fail<ValueError>("cholesky",
                     "a is not positive definite: the leading minor of order {}{} is not positive; add a multiple "
                     "of eye(n), or check that a is symmetric",
                     fault.order, of_matrix(fault.batch, batch_of(a)));
}

constexpr Primitive cholesky_primitive = {.rule = batched({"cholesky", cholesky_vjp, cholesky_jvp}),
                                          .infer = infer_like_input,
                                          .evaluate = evaluate_cholesky,
                                          .keeps = {keep_output(0)},
                                          .effects = may_throw};

// ---- inverse: saves the result z. dz = -z da z.
void inverse_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor z = r.saved(0);
  dx[0] = negative(product("inverse", product("inverse", z, g[0], {true, false}), z, {false, true}));
}
void inverse_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const Tensor z = r.saved(0);
  dy[0] = negative(product("inverse", product("inverse", z, dx[0]), z));
}

constexpr tape::Rule inverse_rule = batched({"inverse", inverse_vjp, inverse_jvp});

void evaluate_inverse(const Call& call, Outputs& out) {
  const Tensor& a = call.input(0);
  const Tensor pivots = reel::detail::empty(DType::int32, pivots_shape(a));
  require_regular("inverse", a, loops::factorise(a, out[0], pivots));
  static_cast<void>(loops::invert(out[0], pivots));
}
constexpr Primitive inverse_primitive = {.rule = inverse_rule,
                                         .infer = infer_like_input,
                                         .evaluate = evaluate_inverse,
                                         .keeps = {keep_output(0)},
                                         .effects = may_throw};

// Inputs a, its factors and pivots. Singular matrices are no error: infinite where a is singular.
void evaluate_inverse_by_factors(const Call& call, Outputs& out) {
  loops::inverse_by_factors(call.input(0), call.input(1), call.input(2), out[0]);
}
constexpr Primitive inverse_by_factors = {.rule = inverse_rule,
                                          .infer = infer_like_input,
                                          .evaluate = evaluate_inverse_by_factors,
                                          .keeps = {keep_output(0)},
                                          .constants = 2};

}  // namespace

Shape batch_of(const Tensor& a) {
  Shape batch = a.shape();
  batch.pop_back();
  batch.pop_back();
  return batch;
}

DType lapack_dtype(const char* op, DType d) {
  if (is_complex(d)) fail<TypeError>(op, "complex factorisations are not available: a is {}", d);
  return is_half(d) ? DType::float32 : floating_of(d);
}

Tensor square_matrices(const char* op, const Operand& a) {
  const Tensor x = to_tensor(op, a, "a");
  const Shape shape = x.shape();
  if (shape.rank() < 2 || shape[-1] != shape[-2])
    fail<ShapeError>(op, "a must be square in its last two axes, it is {}", shape);
  return cast_to(x, lapack_dtype(op, x.dtype()));
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

Tensor inverse_of(const Tensor& a, const Tensor& lu, const Tensor& pivots) {
  return apply(inverse_by_factors, {&a, &lu, &pivots});
}

namespace {

struct Operands {
  Tensor a, b;
  DType dtype;  // of the result
};
Operands operands(const char* op, const Operand& a, const Operand& b) {
  const Operand* both[] = {&a, &b};
  const DType dtype = common_dtype(op, both), computed = lapack_dtype(op, dtype);
  const Tensor x = to_tensor(op, a, "a");
  const Shape shape = x.shape();
  if (shape.rank() < 2 || shape[-1] != shape[-2])
    fail<ShapeError>(op, "a must be square in its last two axes, it is {}", shape);
  return {cast_to(x, computed), cast_to(to_tensor(op, b, "b"), computed), is_half(dtype) ? dtype : computed};
}

}  // namespace
}  // namespace ops

Tensor cholesky(const Operand& a) {
  const tape::OpScope scope(a);
  const Tensor x = ops::square_matrices("cholesky", a);
  return ops::in_dtype_of(a, ops::apply(ops::cholesky_primitive, {&x}));
}

Tensor solve(const Operand& a, const Operand& b) {
  const tape::OpScope scope(a);
  const auto [x, y, dtype] = ops::operands("solve", a, b);
  const bool vector = ops::system_of("solve", x, y).vector;
  return ops::cast_to(ops::apply(ops::solve_primitive, {&x, &y}, ops::words(false, vector)), dtype);
}

Tensor triangular_solve(const Operand& a, const Operand& b, const TriangularOptions& options) {
  const tape::OpScope scope(a);
  const auto [x, y, dtype] = ops::operands("triangular_solve", a, b);
  return ops::cast_to(ops::triangular(x, y, options), dtype);
}

Tensor inverse(const Operand& a) {
  const tape::OpScope scope(a);
  const Tensor x = ops::square_matrices("inverse", a);
  return ops::in_dtype_of(a, ops::apply(ops::inverse_primitive, {&x}));
}

}  // namespace reel
