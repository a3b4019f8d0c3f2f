#include "linalg/gauge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "csource/writer.hpp"
#include "loops/loops.hpp"

namespace reel::ops {

Tensor matrix_operand(const char* op, const Operand& a) {
  const Tensor x = to_tensor(op, a, "a");
  if (x.rank() < 2) fail<ShapeError>(op, "a must have at least two axes, it is {}", x.shape());
  return cast_to(x, lapack_dtype(x.dtype()));
}

Tensor vanishing(const Tensor& x, const Tensor& values, bool vector) {
  const std::int64_t n = values.shape().back();
  if (n == 0) return less(abs(x), 0.0);
  const Tensor largest = max(abs(stop_gradient(values)), -1, true);
  const double factor = static_cast<double>(n + 10) * epsilon(values.dtype());
  return less_equal(abs(stop_gradient(x)), multiply(vector ? largest : as_column(largest), factor));
}

Tensor divide_where_defined(const Tensor& m, const Tensor& by, const Tensor& vanishes, const Tensor& unused) {
  const Tensor divisor = where(vanishes, 1.0, by);
  const Tensor reciprocal = where(vanishes, std::numeric_limits<double>::quiet_NaN(), divide(1.0, divisor));
  return multiply(m, where(logical_and(vanishes, unused), 0.0, reciprocal));
}

Tensor unused_pairs(const Tensor& m, VectorsFor vectors) {
  const Tensor diagonal = eye(m.shape().back(), DType::boolean);
  if (vectors == VectorsFor::rule_of_values) return diagonal;
  const Tensor zero = equal(stop_gradient(m), 0.0);
  return logical_or(logical_and(zero, swap_matrix_axes(zero)), diagonal);
}

namespace {

constexpr const char* gauges[] = {
    "the phases of eigenvectors, which are arbitrary; use abs(v) or projections",
    "the phases of singular vectors, which are arbitrary; use abs(u) or projections",
    "the basis of the added columns, which is arbitrary; use the reduced form, or the space that they span",
};
constexpr const char* gauge_names[] = {"eigenvectors", "svd", "unitary complement"};

// Inputs x, defect, reference.
void infer_invariant(const Call& call, Metas& out) { out.add(call.input(0).dtype(), call.input(0).shape()); }
Tensor pass(const tape::Record&, const Tensor& x) { return x; }
void evaluate_invariant(const Call& call, Outputs& out) {
  const Tensor &x = call.input(0), &defect = call.input(1), &reference = call.input(2);
  loops::copy(x, out[0]);
  const double eps = epsilon(x.dtype());
  const int own = defect.rank() - (reference.rank() - 2);
  // Rounding errors of a gradient that does not depend on the gauge: relative to the reference, and of a zero one.
  const double tolerance = 100 * std::sqrt(eps), least = 1000 * eps;
  if (loops::first_beyond(defect, reference, own, tolerance, least) >= 0)
    fail<ValueError>(gauge_names[call.attribute(0)], "the gradient depends on {}", gauges[call.attribute(0)]);
}
constexpr Primitive invariant = {.rule = linear<pass, pass>("linalg.invariant"),
                                 .infer = infer_invariant,
                                 .evaluate = evaluate_invariant,
                                 .constants = 2,
                                 .effects = may_throw};

// ---- complement: inputs q, rest. Kept: q and the result.
void infer_complement(const Call& call, Metas& out) { out.add(call.input(1).dtype(), call.input(1).shape()); }
void evaluate_complement(const Call& call, Outputs& out) { loops::copy(call.input(1), out[0]); }

void complement_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor &q = r.saved(0), &rest = r.saved(1);
  const Tensor inner = adjoint_product("qr", rest, g[0]);
  const Tensor skew = require_invariant(Gauge::complement, g[0], subtract(inner, adjoint(inner)), inner);
  dx[0] = negative(product("qr", rest, adjoint_product("qr", skew, q)));
}
void complement_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  dy[0] = negative(product("qr", r.saved(0), adjoint_product("qr", dx[0], r.saved(1))));
}
void write_complement(const Call&, csource::Writer& w) { w.copy(w.input(1), w.output(0)); }
constexpr Primitive complement_primitive = {
    .rule =
        batched({.name = "linalg.complement", .vjp = complement_vjp, .jvp = complement_jvp, .depends_on_zeros = true}),
    .infer = infer_complement,
    .evaluate = evaluate_complement,
    .keeps = {keep_input(0), keep_output(0)},
    .constants = 1,
    .write_c = write_complement};

}  // namespace

Tensor require_invariant(Gauge gauge, const Tensor& x, const Tensor& defect, const Tensor& reference) {
  const Tensor constant = stop_gradient(defect), scale = stop_gradient(reference);
  return apply(invariant, {&x, &constant, &scale}, words(gauge));
}

Tensor complement(const Tensor& q, const Tensor& rest) { return apply(complement_primitive, {&q, &rest}); }

void require_convergence(const char* op, const loops::FactorInfo& info) {
  if (info) fail<ValueError>(op, "no convergence for matrix {} of the batch", info.batch);
}

Shape with_extents(Shape batch, std::initializer_list<std::int64_t> extents) {
  batch.pop_back();
  batch.pop_back();
  for (const std::int64_t e : extents) batch.push_back(e);
  return batch;
}

}  // namespace reel::ops
