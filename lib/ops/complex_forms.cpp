// Complex forms of pointwise ops whose definitions in the table are for real numbers. Each derivative is an expression
// on the same side of a branch cut as the value: no zero in it loses its sign, as it would in 1 - z or z + 1.
#include <numbers>
#include <reel/ops/pointwise.hpp>
#include <string_view>

#include "loops/elementwise/complex.hpp"
#include "ops/apply/apply.hpp"
#include "ops/complex.hpp"
#include "ops/engine.hpp"

namespace reel::ops {
namespace {

using loops::Elementary;

Tensor less_one(const Tensor& z) { return z - 1.0; }
Tensor plus_one(const Tensor& z) { return z - -1.0; }
Tensor i_times(const Tensor& z) { return make_complex(-imag(z), real(z)); }
// 1 / (1 - w^2), without overflow; the square root of 1 - w^2 with the cuts of arcsin.
Tensor reciprocal_of_one_minus_square(const Tensor& w) { return reciprocal(-less_one(w)) / plus_one(w); }
Tensor root_of_one_minus_square(const Tensor& w) { return sqrt(-less_one(w)) * sqrt(plus_one(w)); }

Tensor derivative(Elementary f, const Tensor& z) {
  switch (f) {
    case Elementary::arcsin:
      return reciprocal(root_of_one_minus_square(z));
    case Elementary::arccos:
      return -reciprocal(root_of_one_minus_square(z));
    case Elementary::arctan:
      return reciprocal_of_one_minus_square(i_times(z));
    case Elementary::arcsinh:
      return reciprocal(root_of_one_minus_square(i_times(z)));
    case Elementary::arccosh:
      return reciprocal(sqrt(less_one(z)) * sqrt(plus_one(z)));
    case Elementary::arctanh:
      return reciprocal_of_one_minus_square(z);
    case Elementary::expm1:
      return exp(z);
    case Elementary::log1p:
      return reciprocal(plus_one(z));
    case Elementary::exp2:
      return exp2(z) * std::numbers::ln2;
    case Elementary::log2:
      return std::numbers::log2e / z;
    case Elementary::log10:
      break;
  }
  return std::numbers::log10e / z;
}

// Attributes: the function.
Elementary elementary_of(Attributes a) { return static_cast<Elementary>(a[0]); }
void form_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  dx[0] = g[0] * conj(derivative(elementary_of(r.attributes()), r.saved(0)));
}
void form_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  if (t[0].defined()) dy[0] = t[0] * derivative(elementary_of(r.attributes()), r.saved(0));
}
void infer_form(const Call& call, Metas& out) { out.add_like(call.input(0)); }
void evaluate_form(const Call& call, Outputs& out) {
  loops::elementary(elementary_of(call.attributes), call.input(0), out[0]);
}

constexpr Primitive form_primitive(const char* name) {
  return {.rule = batched({name, form_vjp, form_jvp}),
          .infer = infer_form,
          .evaluate = evaluate_form,
          .keeps = {keep_input(0)}};
}
// By function.
#define REEL_FORM(name) form_primitive(#name),
constexpr Primitive forms[] = {REEL_ELEMENTARY_FUNCTIONS(REEL_FORM)};
#undef REEL_FORM

// z / |z|; 0, with gradient 0, at 0.
Tensor direction_of(const Tensor& z) {
  const Tensor size = abs(z), none = equal(size, 0), unit = unit_number(z, size);
  return make_complex(where(none, 0, real(unit)), where(none, 0, imag(unit)));
}

}  // namespace

Tensor complex_form(const char* name, const Tensor& z) {
  const std::string_view sought = name;
  if (sought == "abs") return magnitude(z);
  if (sought == "sign") return direction_of(z);
  for (std::size_t k = 0; k < std::size(forms); ++k)
    if (sought == forms[k].rule.name) return apply(forms[k], {&z}, words(k));
  return {};
}

}  // namespace reel::ops
