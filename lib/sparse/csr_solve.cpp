// csr_solve: sparse systems by multifrontal factors. Rules reuse the factors of the forward pass, so that each order of
// derivative costs substitutions only.
#include <algorithm>
#include <complex>
#include <limits>
#include <reel/ops/arranging.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/ops/shape.hpp>
#include <reel/sparse.hpp>

#include "core/fail.hpp"
#include "core/visit.hpp"
#include "linalg/matrices.hpp"
#include "loops/loops.hpp"
#include "ops/apply/apply.hpp"
#include "ops/promote.hpp"
#include "program/run/token.hpp"
#include "sparse/factors.hpp"
#include "sparse/patterns.hpp"

namespace reel {

namespace optim {
namespace {

// Calls f(T{}) for the element type of a dtype in which systems are solved.
template <class F>
void visit_computed(DType d, const F& f) {
  if (d == DType::float64)
    f(double{});
  else
    f(std::complex<double>{});
}

template <class T>
const T* elements(const Tensor& x) {
  return reinterpret_cast<const T*>(detail::block(x)->data);
}
// x [n, columns] becomes the solution.
template <class T>
void solve_by(const Factors<T>& factors, const Tensor& x, bool transposed) {
  factors.solve(reinterpret_cast<T*>(detail::block(x)->data), x.shape()[1], transposed);
}

// ---- Saved: the values and the solution x (where the values are followed), the rows and columns of the values, the
// factors. Attributes: whether the transpose is solved.
enum : std::size_t { of_values, of_x, of_rows, of_columns, of_factors };

Tensor solve_again(const tape::Record& r, const Tensor& b, bool transposed);

// The products of the elements of x and y [..., n, m] at the places of the values, summed over m.
Tensor sample_outer(const tape::Record& r, const Tensor& x, const Tensor& y) {
  return sum(multiply(gather(x, r.saved(of_rows), -2), gather(y, r.saved(of_columns), -2)), -1);
}

void solve_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const bool transposed = r.attributes()[0] != 0;
  const Tensor db = ops::conjugate(solve_again(r, ops::conjugate(g[0]), !transposed));
  if (r.wanted(1)) dx[1] = db;
  if (!r.wanted(0)) return;
  const Tensor x = ops::conjugate(r.saved(of_x));
  dx[0] = negative(transposed ? sample_outer(r, x, db) : sample_outer(r, db, x));
}
void solve_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const bool transposed = r.attributes()[0] != 0;
  Tensor b;
  if (r.wanted(1)) b = dx[1];
  if (r.wanted(0)) {
    const Tensor &from = r.saved(transposed ? of_rows : of_columns), &to = r.saved(transposed ? of_columns : of_rows);
    const Tensor x = r.saved(of_x);
    const Tensor product = segment_sum(multiply(expand_dims(dx[0], 1), gather(x, from)), to, x.shape()[0]);
    b = b.defined() ? subtract(b, product) : negative(product);
  }
  dy[0] = solve_again(r, b, transposed);
}
constexpr tape::Rule solve_rule = ops::batched({"csr_solve", solve_vjp, solve_jvp});

// Inputs: values, b [n, columns], rows, columns, row_starts of the pattern. The residual is a token of the factors.
void infer_solve(const ops::Call& call, ops::Metas& out) {
  out.add_like(call.input(1));
  out.add(DType::int64, {1});
}
template <class T>
void factorise_and_solve(const ops::Call& call, ops::Outputs& out) {
  const Tensor& starts = call.input(4);
  const CompressedRows pattern{starts.size() - 1, starts.to_vector<std::int64_t>(),
                               call.input(3).to_vector<std::int64_t>()};
  const auto factors = std::make_shared<Factors<T>>(analysis_of(pattern));
  if (!factors->factorise(elements<T>(loops::contiguous(call.input(0)))))
    fail<ValueError>("csr_solve", "the matrix is singular: a pivot is zero; add a multiple of the identity");
  loops::copy(call.input(1), out[0]);
  solve_by(*factors, out[0], call.attribute(0) != 0);
  if (out.residuals_wanted()) out.set(1, program::make_token(factors));
}
void evaluate_solve(const ops::Call& call, ops::Outputs& out) {
  visit_computed(call.input(0).dtype(), [&]<class T>(T) { factorise_and_solve<T>(call, out); });
}
constexpr ops::Primitive solve_primitive = {
    .rule = solve_rule,
    .infer = infer_solve,
    .evaluate = evaluate_solve,
    .keeps = {ops::keep_input(0, 0b01), ops::keep_output(0, 0b01), ops::keep_input(2, 0b01), ops::keep_input(3, 0b01),
              ops::keep_output(1)},
    .constants = 3,
    .residuals = 1,
    .effects = ops::may_throw,
    .tokens = true};

// The same with the factors as the last input. The values are not read.
void infer_solve_again(const ops::Call& call, ops::Metas& out) { out.add_like(call.input(1)); }
void evaluate_solve_again(const ops::Call& call, ops::Outputs& out) {
  loops::copy(call.input(1), out[0]);
  visit_computed(out[0].dtype(), [&]<class T>(T) {
    solve_by(*program::held_by<Factors<T>>(call.input(4)), out[0], call.attribute(0) != 0);
  });
}
constexpr ops::Primitive solve_by_factors = {
    .rule = solve_rule,
    .infer = infer_solve_again,
    .evaluate = evaluate_solve_again,
    .keeps = {ops::keep_input(0, 0b01), ops::keep_output(0, 0b01), ops::keep_input(2, 0b01), ops::keep_input(3, 0b01),
              ops::keep_input(4)},
    .constants = 3};

// For b with a leading axis of cotangents, these become columns.
Tensor solve_again(const tape::Record& r, const Tensor& b, bool transposed) {
  if (b.rank() == 3) {
    const Shape shape = b.shape();
    const Tensor side = reshape(moveaxis(b, 0, 1), {shape[1], shape[0] * shape[2]});
    return moveaxis(reshape(solve_again(r, side, transposed), {shape[1], shape[0], shape[2]}), 1, 0);
  }
  const Tensor& factors = r.saved(of_factors);
  // If no tape follows the values, the others are not kept: an integer stands for them.
  const auto kept = [&](std::size_t k) -> const Tensor& { return r.has_saved(k) ? r.saved(k) : factors; };
  return ops::apply(solve_by_factors, {&kept(of_values), &b, &kept(of_rows), &kept(of_columns), &factors},
                    ops::words(transposed));
}

}  // namespace
}  // namespace optim

Tensor csr_solve(const Tensor& values, const SparsityPattern& pattern, const Tensor& b, bool transposed) {
  constexpr const char* op = "csr_solve";
  const tape::OpScope scope;
  const autodiff::CheckedPattern checked(op, pattern);
  autodiff::require_values(op, pattern, values);
  const std::int64_t n = pattern.shape[0];
  if (pattern.shape[1] != n) fail<ShapeError>(op, "the matrix is {}; it must be square", pattern.shape);
  if (n > std::numeric_limits<optim::Index>::max())
    fail<ValueError>(op, "the matrix is {}; it is too large", pattern.shape);
  ops::require_defined(op, b, "b");
  if ((b.rank() != 1 && b.rank() != 2) || b.shape()[0] != n)
    fail<ShapeError>(op, "b has shape {}, must have {} rows", b.shape(), n);
  const DType dtype = ops::floating_of(promote(values.dtype(), b.dtype())), computed = ops::double_precision_of(dtype);
  const Tensor side = ops::cast_to(b.rank() == 1 ? expand_dims(b, 1) : b, computed), a = ops::cast_to(values, computed);
  const Tensor x =
      ops::apply(optim::solve_primitive, {&a, &side, &checked.rows(), &checked.columns(), &pattern.row_starts},
                 ops::words(transposed));
  return ops::cast_to(b.rank() == 1 ? squeeze(x, 1) : x, dtype);
}

}  // namespace reel
