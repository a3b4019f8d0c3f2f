// Factorisations and solvers, over LAPACK. Rules reuse the factors that the value was computed with, as constants
// beside the matrix itself, so that each order of derivative costs substitutions only.
#include <reel/ops/index.hpp>
#include <reel/ops/pointwise.hpp>
#include <string>

#include "loops/loops.hpp"
#include "ops/linalg/linalg.hpp"

namespace reel {
namespace ops {
namespace {

using reel::detail::block;
using reel::detail::empty;
using reel::detail::mutable_data;

Shape with(Shape batch, std::initializer_list<std::int64_t> extents) {
  for (std::int64_t e : extents) batch.push_back(e);
  return batch;
}

// A copy to work in: row-major, of the shape that x broadcasts to.
Tensor copied(const Tensor& x, const Shape& shape) {
  Tensor y = empty(x.dtype(), shape);
  loops::copy(x, y);
  return y;
}

// What follows "the matrix at " in errors: the index of a batch.
std::string indexed(std::int64_t at, const Shape& batch) {
  Shape index = batch;
  for (int d = batch.rank() - 1; d >= 0; --d) {
    index[d] = at % batch[d];
    at /= batch[d];
  }
  return batch.empty() ? std::string() : " of matrix " + to_string(index);
}

// Shapes of a x = b.
struct System {
  Shape batch, shape;  // of the solution
  std::int64_t columns;
  bool vector;
};

// b is a vector (or a batch of them) if it has rank 1 or one axis less than a and a's leading extents; else matrices.
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

// -y x^T, or its transpose: the cotangent of a where y is that of b, and likewise transposed.
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

// solve(g); of vectors, cotangents carried together are the columns of one matrix.
template <class Solve>
Tensor solved(const tape::Record& r, const Tensor& g, bool vector, const Solve& solve) {
  return r.lead() && vector ? moveaxis(solve(moveaxis(g, 0, -1)), -1, 0) : solve(g);
}

// ---- solve: saved a, x (where a is followed), and the factors; attributes transpose, vector.
enum : std::size_t { solve_a, solve_x, solve_lu, solve_pivots };

Tensor solve_again(const tape::Record& r, const Tensor& b, bool transpose) {
  // Without a tape that follows a, its factors serve as the constant that it is.
  const Tensor& a = r.has_saved(solve_a) ? r.saved(solve_a) : r.saved(solve_lu);
  return solution(a, r.saved(solve_lu), r.saved(solve_pivots), b, transpose);
}

void solve_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const bool transpose = r.attributes()[0], vector = r.attributes()[1];
  const Tensor db = solved(r, g[0], vector, [&](const Tensor& b) { return solve_again(r, b, !transpose); });
  if (r.wanted(1)) dx[1] = sum_to(r, db, r.shape(1));
  if (!r.wanted(0)) return;
  const Tensor x = r.saved(solve_x);
  dx[0] = sum_to(r, transpose ? minus_outer(x, db, vector) : minus_outer(db, x, vector), r.shape(0));
}

void solve_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const bool transpose = r.attributes()[0], vector = r.attributes()[1];
  Tensor b;
  if (r.wanted(1)) b = dx[1];
  if (r.wanted(0)) b = difference(b, applied(dx[0], r.saved(solve_x), transpose, vector));
  dy[0] = solve_again(r, b, transpose);
}

constexpr tape::Rule solve_rule = batched({"solve", solve_vjp, solve_jvp});

// ---- triangular_solve: saved a and x (where a is followed); attributes of the options, then vector.
Tensor triangular(const Tensor& a, const Tensor& b, const TriangularOptions& options);

TriangularOptions options_of(const tape::Record& r) {
  return {r.attributes()[0] != 0, r.attributes()[1] != 0, r.attributes()[2] != 0};
}
TriangularOptions flipped(TriangularOptions options) {
  options.transpose = !options.transpose;
  return options;
}
// What a triangular solve reads of a.
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

constexpr tape::Rule triangular_rule = batched({"triangular_solve", triangular_vjp, triangular_jvp});

Tensor triangular(const Tensor& a, const Tensor& b, const TriangularOptions& options) {
  const System s = system_of("triangular_solve", a, b);
  Tensor gapless;
  loops::Factor f = loops::factor(a, s.batch.rank(), false);
  if (!loops::layout(f).readable) {
    gapless = loops::contiguous(a);
    f = loops::factor(gapless, s.batch.rank(), false);
  }
  Tensor x = copied(b, s.shape);
  const loops::Fault fault =
      loops::solve_triangular(f, {options.lower, options.transpose, options.unit_diagonal}, x, s.batch, s.columns);
  if (fault)
    fail<ValueError>("triangular_solve",
                     "a is singular: element {} of the diagonal{} is zero; add a multiple of eye(n), or "
                     "set unit_diagonal if the diagonal is not stored",
                     fault.order - 1, indexed(fault.batch, s.batch));
  if (tape::active()) {
    const std::int64_t attributes[] = {options.lower, options.transpose, options.unit_diagonal, s.vector};
    tape::record(triangular_rule, {&a, &b}, x, {&a, tape::followed(a) ? &x : nullptr}, attributes);
  }
  return x;
}

// ---- cholesky: saves the result. With P the lower triangle, its diagonal halved: dL = L P(L^-1 da L^-T), where da is
// made symmetric, and the transpose of that (Murray 2016, "Differentiation of the Cholesky decomposition").
Tensor lower_half(const Tensor& x) {
  const std::int64_t n = x.shape().back();
  const Tensor weight = empty(x.dtype(), {n, n});
  const auto fill = [&]<class T>(T* w) {
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) w[i * n + j] = j < i ? T(1) : j == i ? T(0.5) : T(0);
  };
  if (x.dtype() == DType::float32)
    fill(mutable_data<float>(weight));
  else
    fill(mutable_data<double>(weight));
  return multiply(tril(x), weight);
}
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

constexpr tape::Rule cholesky_rule = batched({"cholesky", cholesky_vjp, cholesky_jvp});

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

constexpr const char* singular_remedy = "add a multiple of eye(n), or solve a least-squares problem instead";

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

Factors factorise(const Tensor& a) {
  const Shape shape = a.shape();
  Factors f;
  f.lu = copied(a, shape);
  f.pivots = empty(DType::int32, with(batch_of(a), {shape.back()}));
  f.fault = loops::factorise(f.lu, f.pivots);
  return f;
}

void require_regular(const char* op, const Shape& batch, const loops::Fault& fault, const char* remedy) {
  if (fault)
    fail<ValueError>(op, "a is singular: pivot {}{} is zero; {}", fault.order, indexed(fault.batch, batch), remedy);
}

Tensor inverse_of(const Tensor& a, const Tensor& lu, const Tensor& pivots) {
  Tensor z = copied(lu, lu.shape());
  const std::vector<std::int64_t> singular = loops::invert(z, pivots);
  if (!singular.empty()) {
    const Tensor matrices = loops::contiguous(a);
    for (const std::int64_t at : singular) loops::fill_infinite_inverse(matrices, at, z);
  }
  if (tape::active()) tape::record(inverse_rule, {&a}, z, {&z});
  return z;
}

Tensor solution(const Tensor& a, const Tensor& lu, const Tensor& pivots, const Tensor& b, bool transpose) {
  const System s = system_of("solve", a, b);
  Tensor x = copied(b, s.shape);
  loops::solve(lu, pivots, transpose, x, s.batch, s.columns);
  if (tape::active()) {
    const bool follows_a = tape::followed(a);
    const std::int64_t attributes[] = {transpose, s.vector};
    tape::record(solve_rule, {&a, &b}, x, {follows_a ? &a : nullptr, follows_a ? &x : nullptr, &lu, &pivots},
                 attributes);
  }
  return x;
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
  const Tensor l = ops::copied(x, x.shape());
  if (const loops::Fault fault = loops::cholesky(l))
    fail<ValueError>("cholesky",
                     "a is not positive definite: the leading minor of order {}{} is not positive; add a multiple "
                     "of eye(n), or check that a is symmetric",
                     fault.order, ops::indexed(fault.batch, ops::batch_of(x)));
  if (tape::active()) tape::record(ops::cholesky_rule, {&x}, l, {&l});
  return ops::in_dtype_of(a, l);
}

Tensor solve(const Operand& a, const Operand& b) {
  const tape::OpScope scope(a);
  const auto [x, y, dtype] = ops::operands("solve", a, b);
  static_cast<void>(ops::system_of("solve", x, y));
  const ops::Factors f = ops::factorise(x);
  ops::require_regular("solve", ops::batch_of(x), f.fault, ops::singular_remedy);
  return ops::cast_to(ops::solution(x, f.lu, f.pivots, y, false), dtype);
}

Tensor triangular_solve(const Operand& a, const Operand& b, const TriangularOptions& options) {
  const tape::OpScope scope(a);
  const auto [x, y, dtype] = ops::operands("triangular_solve", a, b);
  return ops::cast_to(ops::triangular(x, y, options), dtype);
}

Tensor inverse(const Operand& a) {
  const tape::OpScope scope(a);
  const Tensor x = ops::square_matrices("inverse", a);
  const ops::Factors f = ops::factorise(x);
  ops::require_regular("inverse", ops::batch_of(x), f.fault, ops::singular_remedy);
  return ops::in_dtype_of(a, ops::inverse_of(x, f.lu, f.pivots));
}

}  // namespace reel
