// banded_cholesky. With S(x, y) the band of x y^H + y x^H in lower triangular x and y, a = S(l, l) / 2, so that dl =
// D(da) where S(D(b), l) = b. D, its transpose and S have rules that need nothing else: every order costs as little
// memory.
#include <algorithm>
#include <reel/linalg/structured.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/ops/shape.hpp>

#include "csource/steps.hpp"
#include "linalg/banded_loops.hpp"
#include "linalg/matrices.hpp"
#include "loops/loops.hpp"
#include "ops/apply/apply.hpp"
#include "ops/promote.hpp"

namespace reel {
namespace ops {
namespace {

// Rows [first, last) of a band; x with columns moved to the right by `count`, or left, and zeros where nothing comes.
Tensor rows_of(const Tensor& x, std::int64_t first, std::int64_t last) {
  return slice(x, {ellipsis, range(first, last), range_from(0)});
}
Tensor move_rows(const Tensor& x, std::int64_t count) {
  if (count == 0) return x;
  const std::int64_t n = x.shape()[-1], size = std::min(n, count < 0 ? -count : count);
  Shape gap = x.shape();
  gap[-1] = size;
  const Tensor zero = zeros(gap, x.dtype());
  return count > 0 ? concatenate({zero, slice(x, {ellipsis, range(0, n - size)})}, -1)
                   : concatenate({slice(x, {ellipsis, range(size, n)}), zero}, -1);
}
// Zero rows above and below.
Tensor between_zeros(const Tensor& x, std::int64_t above, std::int64_t below) {
  detail::List<Tensor> parts{x};
  const auto zero = [&](std::int64_t count) {
    Shape shape = x.shape();
    shape[-2] = count;
    return zeros(shape, x.dtype());
  };
  if (above > 0) parts.insert(parts.begin(), zero(above));
  if (below > 0) parts.push_back(zero(below));
  return parts.size() == 1 ? x : concatenate(parts, -2);
}
void add_term(Tensor& sum, const Tensor& term) { sum = sum.defined() ? add(sum, term) : term; }

// S(x, y): element (j + d, j) is the sum over e of x(j + d, j - e) conj(y(j, j - e)), and the same with y and x.
Tensor band_of_products(const Tensor& x, const Tensor& y) {
  const std::int64_t rows = x.shape()[-2];
  Tensor sum;
  for (std::int64_t e = 0; e < rows; ++e) {
    const auto half = [&](const Tensor& a, const Tensor& b) {
      return multiply(rows_of(a, e, rows), conjugate(rows_of(b, e, e + 1)));
    };
    add_term(sum, between_zeros(move_rows(add(half(x, y), half(y, x)), e), 0, e));
  }
  return sum;
}

// The band of the lower triangle of (q + q^H) x: element (k + d, k) is the sum over e of (q + q^H)(k + d, k + e)
// x(k + e, k). This is the transpose of S by one of its arguments, with the other as x.
Tensor band_of_whole(const Tensor& q, const Tensor& x) {
  const std::int64_t rows = q.shape()[-2];
  const Tensor adjoint = conjugate(q);
  Tensor sum;
  for (std::int64_t e = 0; e < rows; ++e)  // d >= e, by the lower triangle
    add_term(sum, between_zeros(multiply(move_rows(rows_of(q, 0, rows - e), -e), rows_of(x, e, e + 1)), e, 0));
  for (std::int64_t d = 0; d < rows; ++d) {  // e >= d, by the upper one
    const Tensor products = multiply(move_rows(rows_of(adjoint, 0, rows - d), -d), rows_of(x, d, rows));
    add_term(sum, between_zeros(expand_dims(reel::sum(products, -2), -2), d, rows - 1 - d));
  }
  return sum;
}

Tensor change_of(const Tensor& l, const Tensor& b);
Tensor cotangent_of(const Tensor& l, const Tensor& g);

// ---- D: inputs l, b, where b may have further batch axes. Saved: l, the result x.

// The cotangent of l, which is summed over batch axes that l does not have.
Tensor one_of_batch(const tape::Record& r, const Tensor& of_l) { return sum_to(r, of_l, r.saved(0).shape()); }
void change_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor of_b = cotangent_of(r.saved(0), g[0]);
  if (r.wanted(1)) dx[1] = of_b;
  if (r.wanted(0)) dx[0] = one_of_batch(r, negative(band_of_whole(of_b, r.saved(1))));
}
void change_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  Tensor b;
  if (r.wanted(1)) b = dx[1];
  if (r.wanted(0)) add_term(b, negative(band_of_products(r.saved(1), dx[0])));
  dy[0] = change_of(r.saved(0), b);
}
// ---- Its transpose: inputs l, g. Saved: l, the result y, with band_of_whole(y, l) = g.
void cotangent_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor of_g = change_of(r.saved(0), g[0]);
  if (r.wanted(1)) dx[1] = of_g;
  if (r.wanted(0)) dx[0] = one_of_batch(r, negative(band_of_whole(r.saved(1), of_g)));
}
void cotangent_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  Tensor g;
  if (r.wanted(1)) g = dx[1];
  if (r.wanted(0)) add_term(g, negative(band_of_whole(r.saved(1), dx[0])));
  dy[0] = cotangent_of(r.saved(0), g);
}
void infer_like_second(const Call& call, Metas& out) { out.add_like(call.input(1)); }
void evaluate_change(const Call& call, Outputs& out) {
  loops::copy(call.input(1), out[0]);
  loops::banded_cholesky_change(call.input(0), out[0]);
}
void evaluate_cotangent(const Call& call, Outputs& out) {
  loops::copy(call.input(1), out[0]);
  loops::banded_cholesky_cotangent(call.input(0), out[0]);
}
void write_in_bands(const Call& call, csource::Writer& w, const char* text) {
  const Shape bands = call.input(0).shape();
  csource::write_steps(w, call.input(0).dtype(), text, {bands[-2] - 1, bands[-1]});
}
void write_change(const Call& call, csource::Writer& w) {
  write_in_bands(call, w, "copy i1 o0\nfor i0:2 o0:2\n$banded_change(i0, o0, #0, #1)");
}
void write_cotangent(const Call& call, csource::Writer& w) {
  write_in_bands(call, w, "copy i1 o0\nfor i0:2 o0:2\n$banded_cotangent(i0, o0, #0, #1)");
}
void write_factor(const Call& call, csource::Writer& w) {
  write_in_bands(call, w,
                 "copy i0 o0\nfor o0:2\nrefuse $banded_factor(o0, #0, #1) != 0|the matrix is not positive "
                 "definite");
}
constexpr Primitive change_primitive = {.rule = batched({"banded_cholesky.change", change_vjp, change_jvp}),
                                        .infer = infer_like_second,
                                        .evaluate = evaluate_change,
                                        .keeps = {keep_input(0), keep_output(0, 0b01)},
                                        .write_c = write_change};
constexpr Primitive cotangent_primitive = {.rule = batched({"banded_cholesky.cotangent", cotangent_vjp, cotangent_jvp}),
                                           .infer = infer_like_second,
                                           .evaluate = evaluate_cotangent,
                                           .keeps = {keep_input(0), keep_output(0, 0b01)},
                                           .write_c = write_cotangent};
Tensor change_of(const Tensor& l, const Tensor& b) { return apply(change_primitive, {&l, &b}); }
Tensor cotangent_of(const Tensor& l, const Tensor& g) { return apply(cotangent_primitive, {&l, &g}); }

// ---- The factor. Saved: the result.
void factor_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  dx[0] = cotangent_of(r.saved(0), g[0]);
}
void factor_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  dy[0] = change_of(r.saved(0), dx[0]);
}
void infer_factor(const Call& call, Metas& out) { out.add_like(call.input(0)); }
void evaluate_factor(const Call& call, Outputs& out) {
  loops::copy(call.input(0), out[0]);
  if (const loops::FactorInfo info = loops::banded_cholesky(out[0]))
    fail<ValueError>("banded_cholesky",
                     "the matrix is not positive definite: the leading minor of order {}{} is not positive; add a "
                     "multiple of the identity",
                     info.order, matrix_name(info.batch, batch_of(call.input(0))));
}
constexpr Primitive factor_primitive = {.rule = batched({"banded_cholesky", factor_vjp, factor_jvp}),
                                        .infer = infer_factor,
                                        .evaluate = evaluate_factor,
                                        .keeps = {keep_output(0)},
                                        .effects = may_throw,
                                        .write_c = write_factor};

}  // namespace
}  // namespace ops

Tensor banded_cholesky(const Operand& operand) {
  constexpr const char* op = "banded_cholesky";
  const tape::OpScope scope(operand);
  const Tensor uncast = ops::to_tensor(op, operand, "bands");
  if (uncast.rank() < 2 || uncast.shape()[-2] < 1)
    fail<ShapeError>(op, "bands are {}; they must be [..., diagonals, n], the main diagonal first", uncast.shape());
  const Tensor a = ops::cast_to(uncast, ops::double_precision_of(uncast.dtype()));
  return ops::cast_to(ops::apply(ops::factor_primitive, {&a}), ops::floating_of(uncast.dtype()));
}

}  // namespace reel
