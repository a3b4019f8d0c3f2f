// det and slogdet. The rule of det, g det(a) a^-T, holds where a is regular. Where it is not, or nearly so, det is
// written as a product of determinants that are: elimination by constant factors leaves an identity block and a small
// Schur complement, whose determinant is a polynomial of low order. So cofactors come out exact for every rank, and to
// every order.
#include <algorithm>
#include <cmath>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <vector>

#include "loops/loops.hpp"
#include "ops/linalg/linalg.hpp"

namespace reel {
namespace ops {
namespace {

using reel::detail::empty;

// Pivots below this part of the largest count as nearly zero: half of the digits would be lost in the inverse.
double tolerance(DType d) { return d == DType::float32 ? 1e-3 : 1e-6; }

Tensor inverse_transposed(const tape::Record& r) { return swapped(inverse_of(r.saved(0), r.saved(1), r.saved(2))); }
// tr(a^-1 da), the tangent of the logarithm.
Tensor relative_tangent(const tape::Record& r, const Tensor& da) {
  return sum(multiply(inverse_transposed(r), da), {-2, -1});
}

// ---- det: saves a, its factors and the result.
void det_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  // Cofactors first: they may be in range where the product of cotangent and determinant is not.
  dx[0] = multiply(per_matrix(g[0]), multiply(per_matrix(r.saved(3)), inverse_transposed(r)));
}
void det_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  dy[0] = multiply(r.saved(3), relative_tangent(r, dx[0]));
}
constexpr tape::Rule det_rule = batched({"det", det_vjp, det_jvp});

// ---- det of one regular matrix whose determinant overflows or vanishes where its cofactors need not: m 2^e with its
// mantissa m as second output, so that tapes follow m. Saves a, its factors, m, and 2^e in two factors.
Tensor with_exponent(const tape::Record& r, const Tensor& x) { return multiply(multiply(x, r.saved(4)), r.saved(5)); }
void far_det_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor m_inverse = multiply(r.saved(3), inverse_transposed(r));
  const Tensor of_value = with_exponent(r, multiply(per_matrix(g[0]), m_inverse));
  dx[0] = add(of_value, multiply(per_matrix(g[1]), m_inverse));
}
void far_det_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  dy[1] = multiply(r.saved(3), relative_tangent(r, dx[0]));
  dy[0] = with_exponent(r, dy[1]);
}
constexpr tape::Rule far_det_rule = batched({"det", far_det_vjp, far_det_jvp});

// ---- det whose derivatives are those of its input, the same number computed in another way.
Tensor passed(const tape::Record&, const Tensor& g) { return g; }
constexpr tape::Rule value_rule = linear<passed, passed>("det");

// ---- slogdet: saves a and its factors. The sign is constant almost everywhere: zero gradient.
void slogdet_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (!g[1].defined()) {
    dx[0] = zeros(r.led(r.shape(0)), r.dtype(0));
    return;
  }
  const Tensor inverse = inverse_transposed(r), each = per_matrix(g[1]);
  const Tensor d = multiply(each, inverse);
  // A cotangent of zero that belongs to another matrix of the batch must not meet the infinities of a singular one.
  const bool regular = loops::well_pivoted(r.saved(1), 0);
  dx[0] = regular ? d : where(logical_and(equal(each, 0), isinf(inverse)), 0, d);
}
void slogdet_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  dy[1] = relative_tangent(r, dx[0]);
}
constexpr tape::Rule slogdet_rule = batched({"slogdet", slogdet_vjp, slogdet_jvp, true});

Tensor determinant(const Tensor& a);

// The determinant as a polynomial of the elements (Faddeev and LeVerrier): no division by any of them.
Tensor by_traces(const Tensor& a) {
  const std::int64_t n = a.shape().back();
  const Tensor identity_matrix = eye(n, a.dtype());
  Tensor m = a, c = negative(trace(a));
  for (std::int64_t k = 2; k <= n; ++k) {
    m = product("det", a, add(m, multiply(per_matrix(c), identity_matrix)));
    c = divide(trace(m), -static_cast<double>(k));
  }
  return n % 2 == 0 ? c : negative(c);
}

// One matrix with the same determinant, whose rows and columns are alike in size.
Tensor balanced(const Tensor& a) {
  const Tensor first = empty(a.dtype(), a.shape()), second = empty(a.dtype(), a.shape());
  return loops::balance(loops::contiguous(a), first, second) ? multiply(multiply(a, first), second) : a;
}

// One matrix [n, n] whose pivots differ much in size, or vanish.
Tensor by_parts(const Tensor& unbalanced) {
  const Tensor a = balanced(unbalanced);
  const Shape shape = a.shape();
  const std::int64_t n = shape.back();
  const Tensor work = empty(a.dtype(), shape), left = empty(a.dtype(), shape), right = empty(a.dtype(), shape);
  loops::copy(a, work);
  double scale = 1;
  const std::int64_t rank = loops::eliminate(work, tolerance(a.dtype()), left, right, scale);
  if (rank == 0) return by_traces(a);
  const Tensor m = product("det", product("det", left, a), right, {false, true});
  const SliceItem head = range_to(rank), tail = range_from(rank);
  const Tensor first = slice(m, {head, head});
  Tensor det = multiply(determinant(first), scale);
  if (rank == n) return det;
  const Factors f = factorise(first);
  const Tensor across = solution(first, f.lu, f.pivots, slice(m, {head, tail}), false);
  return multiply(det, determinant(subtract(slice(m, {tail, tail}), product("det", slice(m, {tail, head}), across))));
}

Tensor det_of_two(const Tensor& a) {
  const auto element = [&](int i, int j) { return slice(a, {ellipsis, i, j}); };
  return subtract(multiply(element(0, 0), element(1, 1)), multiply(element(0, 1), element(1, 0)));
}

// One regular matrix, whose determinant is out of range.
Tensor out_of_range(const Tensor& a, const Factors& f) {
  const Tensor d = empty(a.dtype(), {}), mantissa = empty(a.dtype(), {});
  loops::determinant(f.lu, f.pivots, d);
  const std::int64_t e = loops::determinant_parts(f.lu, f.pivots, mantissa), half = e / 2;
  const int most = a.dtype() == DType::float32 ? 126 : 1022;
  const auto power_of_two = [&](std::int64_t exponent) {
    return full({}, std::ldexp(1.0, static_cast<int>(std::clamp<std::int64_t>(exponent, -most, most))), a.dtype());
  };
  const Tensor first = power_of_two(half), second = power_of_two(e - half);
  const Tensor *inputs[] = {&a}, *outputs[] = {&d, &mantissa},
               *saved[] = {&a, &f.lu, &f.pivots, &mantissa, &first, &second};
  tape::record(far_det_rule, inputs, outputs, saved);
  return d;
}

// Matrices of order 3 and above. The value comes from the factors, so that a tape does not change its bits.
Tensor determinant_by_factors(const Tensor& a) {
  const Shape batch = batch_of(a);
  const Factors f = factorise(a);
  Tensor d = empty(a.dtype(), batch);
  loops::determinant(f.lu, f.pivots, d);
  if (!tape::active()) return d;
  const bool regular = loops::well_pivoted(f.lu, tolerance(a.dtype()));
  if (!tape::followed(a) || (regular && loops::all_normal(d))) {
    tape::record(det_rule, {&a}, d, {&a, &f.lu, &f.pivots, &d});
    return d;
  }
  if (batch.empty() && regular) return out_of_range(a, f);
  Tensor differentiable;
  if (batch.empty()) {
    differentiable = by_parts(a);
  } else {
    const Shape shape = a.shape();
    std::vector<Tensor> each = unstack(reshape(a, {batch.elements(), shape[-2], shape[-1]}));
    for (Tensor& x : each) x = determinant(x);
    differentiable = reshape(stack(each), batch);
  }
  tape::record(value_rule, {&differentiable}, d);
  return d;
}

Tensor determinant(const Tensor& a) {
  switch (a.shape().back()) {
    case 0: {
      Shape shape = batch_of(a);
      shape.push_back(0);
      return prod(reshape(a, shape), -1);
    }
    case 1:
      return reshape(a, batch_of(a));
    case 2:
      return det_of_two(a);
    default:
      return determinant_by_factors(a);
  }
}

}  // namespace
}  // namespace ops

Tensor det(const Operand& a) {
  const tape::OpScope scope(a);
  return ops::in_dtype_of(a, ops::determinant(ops::square_matrices("det", a)));
}

SignLogDet slogdet(const Operand& a) {
  const tape::OpScope scope(a);
  const Tensor x = ops::square_matrices("slogdet", a);
  const Shape batch = ops::batch_of(x);
  const ops::Factors f = ops::factorise(x);
  const Tensor sign = ops::empty(x.dtype(), batch), logdet = ops::empty(x.dtype(), batch);
  loops::log_determinant(f.lu, f.pivots, sign, logdet);
  if (tape::active()) {
    const Tensor *inputs[] = {&x}, *outputs[] = {&sign, &logdet}, *saved[] = {&x, &f.lu, &f.pivots};
    tape::record(ops::slogdet_rule, inputs, outputs, saved);
  }
  return {ops::in_dtype_of(a, sign), ops::in_dtype_of(a, logdet)};
}

}  // namespace reel
