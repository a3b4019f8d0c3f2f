// Parts of numbers. ldexp is linear in x, as is the mantissa of frexp where the exponent stays. polar and glu are
// composed of other ops. as_real and as_complex copy; each is the other's transpose.
#include <reel/ops/parts.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/shape.hpp>

#include "csource/writer.hpp"
#include "loops/elementwise/compare.hpp"
#include "loops/elementwise/complex.hpp"
#include "loops/loops.hpp"
#include "ops/apply/apply.hpp"
#include "ops/promote.hpp"
#include "ops/shape/view.hpp"

namespace reel {
namespace ops {
namespace {

using loops::BitFunction;

// ---- bits

constexpr const char* names[] = {"bitwise_and", "bitwise_or", "bitwise_xor",
                                 "bitwise_not", "left_shift", "right_shift"};
template <BitFunction F>
constexpr const char* bits_name = names[static_cast<std::size_t>(F)];

template <BitFunction F>
void infer_bits(const Call& call, Metas& out) {
  Shape shape = call.input(0).shape();
  if (call.inputs.size() > 1) shape = broadcast_shapes(bits_name<F>, shape, call.input(1).shape());
  out.add(call.input(0).dtype(), shape);
}
template <BitFunction F>
void evaluate_bits(const Call& call, Outputs& out) {
  loops::bitwise(F, call.inputs, out[0]);
}
// The C of an element. A count out of range shifts all bits out; left shifts are unsigned ones, without overflow.
std::string write_bits(BitFunction f, DType d, std::span<const std::string> x) {
  constexpr const char* forms[] = {"T(X & Y)",
                                   "T(X | Y)",
                                   "T(X ^ Y)",
                                   "T~X",
                                   "T(Y >= 0 && Y < N ? (U)X << Y : 0)",
                                   "T(Y >= 0 && Y < N ? X >> Y : X < 0 ? -1 : 0)",
                                   "T!X",
                                   "T(Y < N ? (U)X << Y : 0)",
                                   "T(Y < N ? X >> Y : 0)"};  // the last three: of types without signs
  const bool plain = f >= BitFunction::complement && (d == DType::uint8 || d == DType::boolean);
  const std::size_t form =
      static_cast<std::size_t>(f) + (plain && (f != BitFunction::complement || d == DType::boolean) ? 3 : 0);
  return csource::filled(forms[form], "TXYNU",
                         {csource::cat({"(", csource::type_of(d), ")"}), x[0], x.back(),
                          std::to_string(8 * item_size(d)), d == DType::int64 ? "uint64_t" : "uint32_t"});
}
template <BitFunction F>
constexpr Primitive bits_primitive = {
    .rule = {.name = bits_name<F>},
    .infer = infer_bits<F>,
    .evaluate = evaluate_bits<F>,
    .write_c = WriteC::Expression([](const Call& call, csource::Writer&, std::span<const std::string> x) {
      return write_bits(F, call.input(0).dtype(), x);
    })};

void require_bits(const char* op, DType d, bool shift) {
  if (is_integer(d) || (d == DType::boolean && !shift)) return;
  fail<TypeError>(op, "operands must be integers{}, not {}; {}", shift ? "" : " or booleans", d,
                  shift && d == DType::boolean ? "cast them to uint8" : "cast them to int64");
}

template <BitFunction F>
Tensor bits(const Operand& x, const Operand& y) {
  const tape::OpScope scope(x);
  constexpr const char* op = bits_name<F>;
  const Operand* both[] = {&x, &y};
  const DType d = common_dtype(op, both);
  require_bits(op, d, F == BitFunction::left || F == BitFunction::right);
  const Tensor a = to_tensor(op, x, d, "x"), b = to_tensor(op, y, d, "y");
  return apply(bits_primitive<F>, {&a, &b});
}

// ---- mantissa and exponent

// Inputs: x, n.
Tensor scaled(const Tensor& x, const Tensor& n);
void ldexp_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (r.wanted(0)) dx[0] = sum_to(r, scaled(g[0], r.saved(0)), r.shape(0));
}
void ldexp_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  if (t[0].defined()) dy[0] = scaled(t[0], r.saved(0));
}
void infer_ldexp(const Call& call, Metas& out) {
  out.add(call.input(0).dtype(), broadcast_shapes("ldexp", call.input(0).shape(), call.input(1).shape()));
}
void evaluate_ldexp(const Call& call, Outputs& out) { loops::scale_by_powers(call.input(0), call.input(1), out[0]); }
constexpr Primitive ldexp_primitive = {.rule = batched({"ldexp", ldexp_vjp, ldexp_jvp}),
                                       .infer = infer_ldexp,
                                       .evaluate = evaluate_ldexp,
                                       .keeps = {keep_input(1)},
                                       .constants = 1};
Tensor scaled(const Tensor& x, const Tensor& n) { return apply(ldexp_primitive, {&x, &n}); }

// Outputs: the mantissa, linear in x beside the constant exponent.
void frexp_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  dx[0] = scaled(g[0], -r.saved(0));
}
void frexp_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  dy[0] = scaled(t[0], -r.saved(0));
}
void infer_frexp(const Call& call, Metas& out) {
  out.add_like(call.input(0));
  out.add(DType::int32, call.input(0).shape());
}
void evaluate_frexp(const Call& call, Outputs& out) { loops::split_numbers(call.input(0), out[0], out[1]); }
constexpr Primitive frexp_primitive = {.rule = batched({"frexp", frexp_vjp, frexp_jvp}),
                                       .infer = infer_frexp,
                                       .evaluate = evaluate_frexp,
                                       .keeps = {keep_output(1)},
                                       .auxiliary = 1};

// ---- pairs of real numbers

Tensor join_pairs(const tape::Record&, const Tensor& g) { return as_complex(g); }
Tensor split_pairs(const tape::Record&, const Tensor& g) { return as_real(g); }
void infer_as_real(const Call& call, Metas& out) {
  Shape shape = call.input(0).shape();
  shape.push_back(2);
  out.add(loops::part_dtype(call.input(0).dtype()), shape);
}
void evaluate_as_real(const Call& call, Outputs& out) { loops::copy(loops::pairs_of(call.input(0)), out[0]); }
constexpr Primitive as_real_primitive = {
    .rule = linear<join_pairs, split_pairs>("as_real"), .infer = infer_as_real, .evaluate = evaluate_as_real};
void infer_as_complex(const Call& call, Metas& out) {
  const Tensor& x = call.input(0);
  out.add(loops::complex_dtype(x.dtype()), {detail::block(x)->extents(), static_cast<std::size_t>(x.rank() - 1)});
}
void evaluate_as_complex(const Call& call, Outputs& out) { loops::copy(call.input(0), loops::pairs_of(out[0])); }
constexpr Primitive as_complex_primitive = {
    .rule = linear<split_pairs, join_pairs>("as_complex"), .infer = infer_as_complex, .evaluate = evaluate_as_complex};

}  // namespace
}  // namespace ops

using ops::BitFunction;

Tensor bitwise_and(const Operand& x, const Operand& y) { return ops::bits<BitFunction::conjunction>(x, y); }
Tensor bitwise_or(const Operand& x, const Operand& y) { return ops::bits<BitFunction::disjunction>(x, y); }
Tensor bitwise_xor(const Operand& x, const Operand& y) { return ops::bits<BitFunction::exclusive>(x, y); }
Tensor left_shift(const Operand& x, const Operand& n) { return ops::bits<BitFunction::left>(x, n); }
Tensor right_shift(const Operand& x, const Operand& n) { return ops::bits<BitFunction::right>(x, n); }
Tensor bitwise_not(const Operand& operand) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("bitwise_not", operand);
  ops::require_bits("bitwise_not", x.dtype(), false);
  return ops::apply(ops::bits_primitive<BitFunction::complement>, {&x});
}

Frexp frexp(const Operand& operand) {
  const tape::OpScope scope(operand);
  const auto [x, d] = ops::promote_operand("frexp", operand, ops::Accept::real);
  const Tensor* in[] = {&x};
  Tensor parts[2];
  ops::apply(ops::frexp_primitive, in, {}, parts);
  return {ops::cast_to(parts[0], d), parts[1]};
}

Tensor ldexp(const Operand& operand, const Operand& exponent) {
  const tape::OpScope scope(operand);
  const auto [x, d] = ops::promote_operand("ldexp", operand, ops::Accept::real);
  Tensor n = ops::to_tensor("ldexp", exponent, "n");
  if (!is_integer(n.dtype())) fail<TypeError>("ldexp", "n must be integers, not {}; cast it to int32", n.dtype());
  // Fits int32. From the least number to the greatest are 2100 powers of 2: results are 0 or infinite beyond.
  constexpr std::int64_t exponent_max = 10000;
  if (n.dtype() == DType::int64) n = clip(n, -exponent_max, exponent_max);
  n = ops::cast_to(n, DType::int32);
  return ops::cast_to(ops::scaled(x, n), d);
}

Tensor polar(const Operand& magnitude, const Operand& angle) {
  const tape::OpScope scope(magnitude);
  const DType d = ops::promote_operands("polar", {&magnitude, &angle}, ops::Accept::number).result;
  if (is_complex(d)) fail<TypeError>("polar", "an operand is {}; both must be real", d);
  const DType part = d == DType::float64 ? d : DType::float32;
  const Tensor r = ops::to_tensor("polar", magnitude, part, "magnitude"),
               a = ops::to_tensor("polar", angle, part, "angle");
  static_cast<void>(ops::broadcast_shapes("polar", r.shape(), a.shape()));
  return make_complex(r * cos(a), r * sin(a));
}

Tensor as_real(const Operand& operand) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("as_real", operand);
  if (!is_complex(x.dtype())) fail<TypeError>("as_real", "x is {}; it must be complex", x.dtype());
  ops::require_rank("as_real", x.rank() + 1);
  return ops::apply(ops::as_real_primitive, {&x});
}

Tensor as_complex(const Operand& operand) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::promote_operand("as_complex", operand, ops::Accept::real).x;
  if (x.rank() == 0 || x.shape()[-1] != 2)
    fail<ShapeError>("as_complex", "x has shape {}; its last axis must have extent 2: real and imaginary part",
                     x.shape());
  return ops::apply(ops::as_complex_primitive, {&x});
}

Tensor glu(const Operand& operand, std::int64_t axis) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("glu", operand);
  if (is_complex(x.dtype())) fail<TypeError>("glu", "is not defined for {}; {}", x.dtype(), ops::remedy(x.dtype()));
  const int a = ops::normalize("glu", axis, x);
  const std::int64_t half = x.shape()[a] / 2;
  if (x.shape()[a] != 2 * half)
    fail<ShapeError>("glu", "axis {} has an extent of {}; it must be even: x has shape {}", a, x.shape()[a], x.shape());
  const auto [value, gate] = ops::halves_of(ops::widened(x), a);  // rounded once, at the end
  return ops::cast_to(value * sigmoid(gate), x.dtype());
}

}  // namespace reel
