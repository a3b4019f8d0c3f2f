// Factorisations and solvers. Rules reuse the factors of the forward pass, as constants beside the matrix itself, so
// that each order of derivative costs substitutions only.
#include <optional>
#include <reel/ops/index.hpp>
#include <reel/ops/pointwise.hpp>
#include <string>

#include "linalg/factor_derivatives.hpp"
#include "linalg/matrices.hpp"
#include "linalg/write.hpp"
#include "loops/index/triangle.hpp"
#include "loops/loops.hpp"
#include "ops/apply/apply.hpp"

namespace reel {
namespace ops {
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

// The shapes of a x = b.
struct System {
  Shape batch, shape;  // of the solution
  std::int64_t columns;
};

// `vector`: b is a vector with batch axes, as the rules of a system with one vector have it.
System system_of(const char* op, const Tensor& a, const Tensor& b, bool vector, const char* operand = "a") {
  const std::int64_t n = a.shape().back();
  const std::optional<Shape> batch = common_batch(batch_of(a), batch_of(b, vector ? 1 : 2));
  if (!batch)
    fail<ShapeError>(op, "batch axes do not broadcast: {} is {}, b is {} (the leading axes must agree or be 1)",
                     operand, a.shape(), b.shape());
  const std::int64_t columns = vector ? 1 : b.shape().back();
  return {*batch, vector ? with(*batch, {n}) : with(*batch, {n, columns}), columns};
}
System system_of(const char* op, const Call& call, std::size_t vector) {
  return system_of(op, call.input(0), call.input(1), call.attribute(vector) != 0);
}

// -y x^H; of a transposed system its transpose: the cotangent of a, where y is that of b.
Tensor minus_outer(const Tensor& y, const Tensor& x, bool vector, bool transpose) {
  if (transpose) return minus_outer(conjugated(x), conjugated(y), vector, false);
  return negative(vector ? product_adjoint("solve", expand_dims(y, -1), expand_dims(x, -1))
                         : product_adjoint("solve", y, x));
}
Tensor applied(const Tensor& a, const Tensor& x, bool transpose, bool vector) {
  if (!vector) return product("solve", a, x, {transpose, false});
  return squeeze(product("solve", a, expand_dims(x, -1), {transpose, false}), -1);
}
Tensor difference(const Tensor& b, const Tensor& product) {
  return b.defined() ? subtract(b, product) : negative(product);
}

// The cotangent of b: the conjugate of solve(conj g, vector), where solve takes the transposed system. For vectors, a
// batch of cotangents becomes the columns of one matrix.
template <class Solve>
Tensor solved(const tape::Record& r, const Tensor& g, bool vector, const Solve& solve) {
  const Tensor b = conjugated(g);
  return conjugated(r.batch_rank() && vector ? moveaxis(solve(moveaxis(b, 0, -1), false), -1, 0) : solve(b, vector));
}

// ---- solve: saved a, x (where a is followed), and the factors; attributes transpose, vector, and whether a may be
// singular.
enum : std::size_t { solve_a, solve_x, solve_lu, solve_pivots };
enum : std::size_t { solve_transpose, solve_vector, solve_any };

Tensor solution(const Tensor& a, const Tensor& lu, const Tensor& pivots, const Tensor& b, bool transpose, bool vector);

Tensor solve_again(const tape::Record& r, const Tensor& b, bool transpose, bool vector) {
  // If no tape follows a, its factors are constants.
  const Tensor& a = r.has_saved(solve_a) ? r.saved(solve_a) : r.saved(solve_lu);
  return solution(a, r.saved(solve_lu), r.saved(solve_pivots), b, transpose, vector);
}

void solve_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const bool transpose = r.attributes()[solve_transpose], vector = r.attributes()[solve_vector];
  const Tensor db = solved(r, g[0], vector, [&](const Tensor& b, bool v) { return solve_again(r, b, !transpose, v); });
  if (r.wanted(1)) dx[1] = sum_to(r, db, r.shape(1));
  if (!r.wanted(0)) return;
  const Tensor x = r.saved(solve_x);
  dx[0] = sum_to(r, minus_outer(db, x, vector, transpose), r.shape(0));
}

void solve_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const bool transpose = r.attributes()[solve_transpose], vector = r.attributes()[solve_vector];
  Tensor b;
  if (r.wanted(1)) b = dx[1];
  if (r.wanted(0)) b = difference(b, applied(dx[0], r.saved(solve_x), transpose, vector));
  dy[0] = solve_again(r, b, transpose, vector);
}

constexpr tape::Rule solve_rule = batched({"solve", solve_vjp, solve_jvp});
constexpr const char* singular_remedy = "add a multiple of eye(n), or solve a least-squares problem instead";

// ValueError for the first singular matrix of the batch.
void require_nonsingular(const char* op, const Tensor& a, const loops::FactorInfo& info) {
  if (info)
    fail<ValueError>(op, "a is singular: pivot {}{} is zero; {}", info.order, matrix_name(info.batch, batch_of(a)),
                     singular_remedy);
}

// Inputs a, b; residuals the factors and pivots of a.
void infer_solve(const Call& call, Metas& out) {
  const Tensor& a = call.input(0);
  out.add(a.dtype(), system_of("solve", call, solve_vector).shape);
  add_factors(out, a);
}
void evaluate_solve(const Call& call, Outputs& out) {
  const Tensor &a = call.input(0), &b = call.input(1);
  const loops::FactorInfo info = loops::factorise(a, out[1], out[2]);
  if (call.attribute(solve_any) == 0) require_nonsingular("solve", a, info);
  const System s = system_of("solve", call, solve_vector);
  loops::copy(b, out[0]);
  loops::solve(out[1], out[2], call.attribute(solve_transpose) != 0, out[0], s.batch, s.columns);
}
constexpr Primitive solve_primitive = {
    .rule = solve_rule,
    .infer = infer_solve,
    .evaluate = evaluate_solve,
    .keeps = {keep_input(0, 0b01), keep_output(0, 0b01), keep_output(1), keep_output(2)},
    .residuals = 2,
    .effects = may_throw,
    .write_c = write_solve};

// The same with factors and pivots as inputs.
void infer_solve_by_factors(const Call& call, Metas& out) {
  out.add(call.input(0).dtype(), system_of("solve", call, solve_vector).shape);
}
void evaluate_solve_by_factors(const Call& call, Outputs& out) {
  const System s = system_of("solve", call, solve_vector);
  loops::copy(call.input(1), out[0]);
  loops::solve(call.input(2), call.input(3), call.attribute(solve_transpose) != 0, out[0], s.batch, s.columns);
}
constexpr Primitive solve_by_factors = {
    .rule = solve_rule,
    .infer = infer_solve_by_factors,
    .evaluate = evaluate_solve_by_factors,
    .keeps = {keep_input(0, 0b01), keep_output(0, 0b01), keep_input(2), keep_input(3)},
    .constants = 2,
    .write_c = write_solve_by_factors};

// The solution x of a x = b or a^T x = b, as a differentiable function of a and b.
Tensor solution(const Tensor& a, const Tensor& lu, const Tensor& pivots, const Tensor& b, bool transpose, bool vector) {
  return apply(solve_by_factors, {&a, &b, &lu, &pivots}, words(transpose, vector));
}

// The name of a caller and of its operand.
struct CallerNames {
  const char *op, *operand;
};
CallerNames names_of(std::int64_t caller, const char* itself) {
  constexpr CallerNames names[] = {
      {"lu_solve", "lu"}, {"cholesky_solve", "l"}, {"cholesky_inverse", "l"}, {"eigh", "b"}};
  constexpr auto first = static_cast<std::int64_t>(Caller::lu_solve);
  return caller < first ? CallerNames{itself, "a"} : names[caller - first];
}

// ---- triangular_solve: saved a and x (where a is followed); attributes of the options, then vector, and the caller.
enum : std::size_t { triangular_vector = 3, triangular_caller };
Tensor triangular(const Tensor& a, const Tensor& b, const TriangularOptions& options, bool vector, Caller caller);

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
  const bool vector = r.attributes()[triangular_vector];
  const auto caller = static_cast<Caller>(r.attributes()[triangular_caller]);
  const Tensor db = solved(
      r, g[0], vector, [&](const Tensor& b, bool v) { return triangular(r.saved(0), b, flipped(options), v, caller); });
  if (r.wanted(1)) dx[1] = sum_to(r, db, r.shape(1));
  if (!r.wanted(0)) return;
  const Tensor x = r.saved(1);
  const Tensor da = minus_outer(db, x, vector, options.transpose);
  dx[0] = masked(sum_to(r, da, r.shape(0)), options);
}

void triangular_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const TriangularOptions options = options_of(r);
  const bool vector = r.attributes()[triangular_vector] != 0;
  Tensor b;
  if (r.wanted(1)) b = dx[1];
  if (r.wanted(0)) b = difference(b, applied(masked(dx[0], options), r.saved(1), options.transpose, vector));
  dy[0] = triangular(r.saved(0), b, options, vector, static_cast<Caller>(r.attributes()[triangular_caller]));
}

void infer_triangular(const Call& call, Metas& out) {
  out.add(call.input(0).dtype(), system_of("triangular_solve", call, triangular_vector).shape);
}

void evaluate_triangular(const Call& call, Outputs& out) {
  const Tensor &a = call.input(0), &b = call.input(1);
  const System s = system_of("triangular_solve", call, triangular_vector);
  loops::copy(b, out[0]);
  const loops::TriangularSystem system = {call.attribute(0) != 0, call.attribute(1) != 0, call.attribute(2) != 0,
                                          static_cast<Caller>(call.attribute(triangular_caller)) == Caller::rule};
  if (const loops::FactorInfo info = loops::solve_triangular(a, system, out[0], s.batch, s.columns)) {
    const CallerNames names = names_of(call.attribute(triangular_caller), "triangular_solve");
    fail<ValueError>(names.op, "{} is singular: element {} of the diagonal{} is zero; add a multiple of eye(n){}",
                     names.operand, info.order - 1, matrix_name(info.batch, s.batch),
                     names.operand[0] == 'a' ? ", or set unit_diagonal if the diagonal is not stored" : "");
  }
}

constexpr Primitive triangular_primitive = {.rule = batched({"triangular_solve", triangular_vjp, triangular_jvp}),
                                            .infer = infer_triangular,
                                            .evaluate = evaluate_triangular,
                                            .keeps = {keep_input(0), keep_output(0, 0b01)},
                                            .effects = may_throw,
                                            .write_c = write_triangular};

Tensor triangular(const Tensor& a, const Tensor& b, const TriangularOptions& options, bool vector, Caller caller) {
  return apply(triangular_primitive, {&a, &b},
               words(options.lower, options.transpose, options.unit_diagonal, vector, caller));
}

// ---- cholesky: saves the result. With P the lower triangle, its diagonal halved: dL = L P(L^-1 da L^-H), where da is
// made Hermitian, and the transpose of that (Murray 2016, "Differentiation of the Cholesky decomposition"). Where no
// tape follows it, a loop computes the latter, and for real numbers the former, with a sixth of these products'
// multiplications.
void infer_cholesky_vjp(const Call& call, Metas& out) { out.add(call.input(0).dtype(), call.input(1).shape()); }
void evaluate_cholesky_vjp(const Call& call, Outputs& out) {
  Tensor copied;
  loops::copy(call.input(1), out[0]);
  loops::cholesky_vjp(loops::contiguous(call.input(0), copied), out[0]);
}
constexpr Primitive cholesky_vjp_primitive = {.rule = {.name = "cholesky.vjp"},
                                              .infer = infer_cholesky_vjp,
                                              .evaluate = evaluate_cholesky_vjp,
                                              .write_c = write_cholesky_vjp};

void evaluate_cholesky_jvp(const Call& call, Outputs& out) {
  Tensor copied;
  loops::copy(call.input(1), out[0]);
  loops::cholesky_jvp(loops::contiguous(call.input(0), copied), out[0]);
}
constexpr Primitive cholesky_jvp_primitive = {.rule = {.name = "cholesky.jvp"},
                                              .infer = infer_cholesky_vjp,
                                              .evaluate = evaluate_cholesky_jvp,
                                              .write_c = write_cholesky_jvp};

Tensor lower_half(const Tensor& x);
Tensor lower_half_again(const tape::Record&, const Tensor& x) { return lower_half(x); }
void infer_like_input(const Call& call, Metas& out) { out.add(call.input(0).dtype(), call.input(0).shape()); }
void evaluate_lower_half(const Call& call, Outputs& out) { loops::copy_lower_half(call.input(0), out[0]); }
constexpr Primitive lower_half_primitive = {.rule = linear<lower_half_again, lower_half_again>("cholesky.lower_half"),
                                            .infer = infer_like_input,
                                            .evaluate = evaluate_lower_half,
                                            .write_c = write_lower_half};
Tensor lower_half(const Tensor& x) { return apply(lower_half_primitive, {&x}); }
// L^-H x
Tensor solve_adjoint(const Tensor& l, const Tensor& x) {
  return conjugated(triangular(l, conjugated(x), {.lower = true, .transpose = true}, false, Caller::itself));
}

void cholesky_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  dx[0] = cholesky_cotangent(r.saved(0), g[0]);
}

void cholesky_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  dy[0] = cholesky_tangent(r.saved(0), dx[0]);
}

void evaluate_cholesky(const Call& call, Outputs& out) {
  const Tensor& a = call.input(0);
  loops::copy(a, out[0]);
  if (const loops::FactorInfo info = loops::cholesky(out[0])) {
    const CallerNames names = names_of(call.attribute(0), "cholesky");
    fail<ValueError>(names.op,
                     "{} is not positive definite: the leading minor of order {}{} is not positive; add a multiple "
                     "of eye(n), or check that {} is symmetric",
                     names.operand, info.order, matrix_name(info.batch, batch_of(a)), names.operand);
  }
}

constexpr Primitive cholesky_primitive = {.rule = batched({"cholesky", cholesky_vjp, cholesky_jvp}),
                                          .infer = infer_like_input,
                                          .evaluate = evaluate_cholesky,
                                          .keeps = {keep_output(0)},
                                          .effects = may_throw,
                                          .write_c = write_cholesky};

// ---- inverse: saves the result z. dz = -z da z.
void inverse_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor z = r.saved(0);
  dx[0] = negative(product_adjoint("inverse", adjoint_product("inverse", z, g[0]), z));
}
void inverse_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const Tensor z = r.saved(0);
  dy[0] = negative(product("inverse", product("inverse", z, dx[0]), z));
}

constexpr tape::Rule inverse_rule = batched({"inverse", inverse_vjp, inverse_jvp});

void evaluate_inverse(const Call& call, Outputs& out) {
  const Tensor& a = call.input(0);
  const Tensor pivots = reel::detail::empty(DType::int32, pivots_shape(a));
  require_nonsingular("inverse", a, loops::factorise(a, out[0], pivots));
  static_cast<void>(loops::invert(out[0], pivots));
}
constexpr Primitive inverse_primitive = {.rule = inverse_rule,
                                         .infer = infer_like_input,
                                         .evaluate = evaluate_inverse,
                                         .keeps = {keep_output(0)},
                                         .effects = may_throw,
                                         .write_c = write_inverse};

// Inputs a, its factors and pivots. Singular matrices are no error: infinite where a is singular.
void evaluate_inverse_by_factors(const Call& call, Outputs& out) {
  loops::inverse_by_factors(call.input(0), call.input(1), call.input(2), out[0]);
}
constexpr Primitive inverse_by_factors = {.rule = inverse_rule,
                                          .infer = infer_like_input,
                                          .evaluate = evaluate_inverse_by_factors,
                                          .keeps = {keep_output(0)},
                                          .constants = 2,
                                          .write_c = write_inverse_by_factors};

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

Tensor solve_any(const Tensor& a, const Tensor& b) {
  return apply(solve_primitive, {&a, &b}, words(false, false, true));
}

Tensor cholesky_for(Caller caller, const Tensor& a) { return apply(cholesky_primitive, {&a}, words(caller)); }

Tensor cholesky_cotangent(const Tensor& l, const Tensor& g) {
  if (!followed(l, g)) return evaluate(cholesky_vjp_primitive, {&l, &g});
  const Tensor p = lower_half(adjoint_product("cholesky", l, tril(g)));
  return hermitian_part(solve_adjoint(l, adjoint(solve_adjoint(l, p))));
}
Tensor cholesky_tangent(const Tensor& l, const Tensor& da) {
  if (!followed(l, da) && !is_complex(l.dtype()) && da.size() > 0) {
    const Tensor symmetric = hermitian_part(da);
    return evaluate(cholesky_jvp_primitive, {&l, &symmetric});
  }
  const auto solve_lower = [&](const Tensor& x) { return triangular(l, x, {}, false, Caller::itself); };
  const Tensor inner = solve_lower(adjoint(solve_lower(hermitian_part(da))));
  return product("cholesky", l, lower_half(inner));
}

Tensor inverse_of(const Tensor& a, const Tensor& lu, const Tensor& pivots) {
  return apply(inverse_by_factors, {&a, &lu, &pivots});
}

namespace {

struct Operands {
  Tensor a, b;
  DType dtype;  // of the result
};
Operands system_operands(const char* op, const Operand& a, const Operand& b, const char* operand = "a") {
  const Operand* both[] = {&a, &b};
  const DType dtype = common_dtype(op, both), computed = lapack_dtype(dtype);
  const Tensor x = square_operand(op, a, operand);
  return {cast_to(x, computed), cast_to(to_tensor(op, b, "b"), computed), is_half(dtype) ? dtype : computed};
}

}  // namespace

Tensor triangular_solve_for(Caller caller, const Operand& a, const Operand& b, const TriangularOptions& options,
                            std::optional<bool> vector) {
  const CallerNames names = names_of(static_cast<std::int64_t>(caller), "triangular_solve");
  const Operands sides = system_operands(names.op, a, b, names.operand);
  const bool v =
      vector.has_value() ? *vector : is_vector_side(names.op, names.operand, sides.a.shape(), sides.b.shape());
  static_cast<void>(system_of(names.op, sides.a, sides.b, v, names.operand));
  return triangular(sides.a, sides.b, options, v, caller);
}

}  // namespace ops

Tensor cholesky(const Operand& a) {
  const tape::OpScope scope(a);
  const Tensor x = ops::square_matrices("cholesky", a);
  return ops::in_dtype_of(a, ops::cholesky_for(ops::Caller::itself, x));
}

Tensor solve(const Operand& a, const Operand& b) {
  const tape::OpScope scope(a);
  const auto [x, y, dtype] = ops::system_operands("solve", a, b);
  const bool vector = ops::is_vector_side("solve", "a", x.shape(), y.shape());
  return ops::cast_to(ops::apply(ops::solve_primitive, {&x, &y}, ops::words(false, vector, false)), dtype);
}

Tensor triangular_solve(const Operand& a, const Operand& b, const TriangularOptions& options) {
  const tape::OpScope scope(a);
  const auto [x, y, dtype] = ops::system_operands("triangular_solve", a, b);
  const bool vector = ops::is_vector_side("triangular_solve", "a", x.shape(), y.shape());
  return ops::cast_to(ops::triangular(x, y, options, vector, ops::Caller::itself), dtype);
}

Tensor inverse(const Operand& a) {
  const tape::OpScope scope(a);
  const Tensor x = ops::square_matrices("inverse", a);
  return ops::in_dtype_of(a, ops::apply(ops::inverse_primitive, {&x}));
}

}  // namespace reel
