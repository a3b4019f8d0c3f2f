// Between complex and real numbers: real, imag, conj, abs, angle, make_complex. A complex number counts as two real
// ones: the gradient of a real L is dL/d(re) + i dL/d(im), which is TensorFlow's and PyTorch's convention (twice dL by
// the conjugate of z), so that real, imag and conj are their own transposes in that sense.
#include "ops/complex.hpp"

#include <limits>
#include <numbers>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>

#include "loops/elementwise/complex.hpp"
#include "ops/apply/apply.hpp"
#include "ops/elementwise/composed.hpp"
#include "ops/promote.hpp"
#include "ops/shape/view.hpp"

namespace reel {

namespace ops {

namespace {

void infer_part(const Call& call, Metas& out) {
  out.add(loops::part_dtype(call.input(0).dtype()), call.input(0).shape());
}
void infer_same(const Call& call, Metas& out) { out.add(call.input(0).dtype(), call.input(0).shape()); }

// An elementwise loop of one operand.
template <void (*Loop)(const Tensor& z, const Tensor& out)>
void evaluate_loop(const Call& call, Outputs& out) {
  Loop(call.input(0), out[0]);
}

// ---- real, imag, conj: linear over the reals

Tensor real_transpose(const tape::Record& r, const Tensor& g) { return cast(g, r.dtype(0)); }
Tensor real_forward(const tape::Record&, const Tensor& t) { return real(t); }
constexpr Primitive real_primitive = {.rule = linear<real_transpose, real_forward>("real"),
                                      .infer = infer_part,
                                      .evaluate = evaluate_loop<loops::real_part>};

Tensor imag_transpose(const tape::Record&, const Tensor& g) { return make_complex(0.0, g); }
Tensor imag_forward(const tape::Record&, const Tensor& t) { return imag(t); }
constexpr Primitive imag_primitive = {.rule = linear<imag_transpose, imag_forward>("imag"),
                                      .infer = infer_part,
                                      .evaluate = evaluate_loop<loops::imaginary_part>};

Tensor conj_of(const tape::Record&, const Tensor& g) { return conj(g); }
constexpr Primitive conj_primitive = {
    .rule = linear<conj_of, conj_of>("conj"), .infer = infer_same, .evaluate = evaluate_loop<loops::conjugate>};

// ---- abs, angle

// z / |z|, 0 at 0.
Tensor unit_direction(const tape::Record& r) { return unit_number(r.saved(0), r.saved(1)); }
void abs_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  dx[0] = g[0] * unit_direction(r);
}
void abs_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  dy[0] = real(conj(unit_direction(r)) * t[0]);
}
constexpr Primitive abs_primitive = {.rule = batched({"abs", abs_vjp, abs_jvp}),
                                     .infer = infer_part,
                                     .evaluate = evaluate_loop<loops::modulus>,
                                     .keeps = {keep_input(0), keep_output(0)}};

// 1 / z, 0 at 0: the angle's change is the imaginary part of its product with a tangent.
Tensor inverse_or_zero(const Tensor& z) {
  const Tensor none = equal(z, 0);
  return where(none, 0, reciprocal(where(none, 1, z)));
}
void angle_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor inverse = inverse_or_zero(r.saved(0));
  dx[0] = g[0] * make_complex(imag(inverse), real(inverse));
}
void angle_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  dy[0] = imag(inverse_or_zero(r.saved(0)) * t[0]);
}
constexpr Primitive angle_primitive = {.rule = batched({"angle", angle_vjp, angle_jvp}),
                                       .infer = infer_part,
                                       .evaluate = evaluate_loop<loops::argument>,
                                       .keeps = {keep_input(0)}};

// ---- make_complex

void make_complex_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (r.wanted(0)) dx[0] = sum_to(r, real(g[0]), r.shape(0));
  if (r.wanted(1)) dx[1] = sum_to(r, imag(g[0]), r.shape(1));
}
void make_complex_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const Tensor z = !t[0].defined()   ? make_complex(0.0, t[1])
                   : !t[1].defined() ? make_complex(t[0], 0.0)
                                     : make_complex(t[0], t[1]);
  const Shape shape = r.output_shape();
  dy[0] = z.shape() == shape ? z : broadcast_to(z, shape);
}
void infer_make_complex(const Call& call, Metas& out) {
  const Tensor &re = call.input(0), &im = call.input(1);
  out.add(loops::complex_dtype(re.dtype()), broadcast_shapes("make_complex", re.shape(), im.shape()));
}
void evaluate_make_complex(const Call& call, Outputs& out) { loops::join_parts(call.input(0), call.input(1), out[0]); }
constexpr Primitive make_complex_primitive = {.rule = batched({"make_complex", make_complex_vjp, make_complex_jvp}),
                                              .infer = infer_make_complex,
                                              .evaluate = evaluate_make_complex};

}  // namespace

Tensor magnitude(const Tensor& z) { return apply(abs_primitive, {&z}); }

namespace {

// Of a part, the other one and the size.
constexpr Composed direction_functions[] = {{"direction", [](const Lane* x) {
                                               constexpr double infinity = std::numeric_limits<double>::infinity();
                                               const LaneMask far = equal(abs(x[0]), infinity),
                                                              both = far && equal(abs(x[1]), infinity);
                                               const Lane limit = where(both, std::numbers::sqrt2 / 2, 1);
                                               const Lane ratio =
                                                   where(far, 0, x[0]) / where(far || equal(x[2], 0), 1, x[2]);
                                               return where(far, where(x[0] < 0, 0 - limit, limit), ratio);
                                             }}};
constinit const ComposedOps direction_ops(direction_functions);

}  // namespace

Tensor unit_number(const Tensor& z, const Tensor& size) {
  const Tensor re = real(z), im = imag(z);
  const Operand x(re), y(im), length(size);
  return make_complex(direction_ops.call(0, {&x, &y, &length}), direction_ops.call(0, {&y, &x, &length}));
}

}  // namespace ops

Tensor real(const Operand& x) {
  const tape::OpScope scope(x);
  const Tensor z = ops::to_tensor("real", x);
  if (!is_complex(z.dtype())) return identity(z);
  return ops::apply(ops::real_primitive, {&z});
}

Tensor imag(const Operand& x) {
  const tape::OpScope scope(x);
  const Tensor z = ops::to_tensor("imag", x);
  if (!is_complex(z.dtype())) return where(false, z, 0);  // connected, as every op that is constant in pieces
  return ops::apply(ops::imag_primitive, {&z});
}

Tensor conj(const Operand& x) {
  const tape::OpScope scope(x);
  const Tensor z = ops::to_tensor("conj", x);
  if (!is_complex(z.dtype())) return identity(z);
  return ops::apply(ops::conj_primitive, {&z});
}

Tensor angle(const Operand& x) {
  const tape::OpScope scope(x);
  const Tensor uncast = ops::to_tensor("angle", x), z = ops::cast_to(uncast, ops::floating_of(uncast.dtype()));
  if (!is_complex(z.dtype())) {
    const Tensor half_turn = full({}, std::numbers::pi, z.dtype()), none = zeros({}, z.dtype());
    return where(isnan(z), z, where(less(z, 0), half_turn, none));
  }
  return ops::apply(ops::angle_primitive, {&z});
}

Tensor make_complex(const Operand& re, const Operand& im) {
  const tape::OpScope scope(re);
  constexpr const char* op = "make_complex";
  const DType d = ops::promote_operands(op, {&re, &im}, ops::Accept::number).result;
  if (is_complex(d)) fail<TypeError>(op, "an operand is {}; both must be real: take real(x) or imag(x)", d);
  const DType part = d == DType::float64 ? d : DType::float32;
  const Tensor x = ops::to_tensor(op, re, part, "re"), y = ops::to_tensor(op, im, part, "im");
  return ops::apply(ops::make_complex_primitive, {&x, &y});
}

}  // namespace reel
