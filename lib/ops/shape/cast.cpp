// cast: to another element type. Gradients are cast back; an integer or boolean on either side has none.
#include "loops/elementwise/cast.hpp"

#include "csource/writer.hpp"
#include "ops/index/indices.hpp"

namespace reel {

namespace ops {

namespace {

// Attributes: the dtype; of a cast inside another op also the addresses of the names of the op and of its operand.

Tensor back(const tape::Record& r, const Tensor& g) { return cast(g, r.dtype(0)); }
Tensor again(const tape::Record& r, const Tensor& t) { return cast(t, r.output_dtype()); }
constexpr tape::Rule cast_rule = [] {
  tape::Rule rule = linear<back, again>("cast");
  rule.slices = [](const tape::Record& r, const IndexedSlices& g) {
    return Gradient(IndexedSlices{cast(g.values, r.dtype(0)), g.indices, g.dense_shape});
  };
  return rule;
}();

void infer_cast(const Call& call, Metas& out) {
  const auto dtype = static_cast<DType>(call.attribute(0));
  if (call.input(0).dtype() == dtype)
    add_alias(out, call, 0);
  else
    out.add(dtype, call.input(0).shape());
}

void evaluate_cast(const Call& call, Outputs& out) {
  const Tensor &x = call.input(0), &y = out[0];
  if (out.is_view(0) || loops::cast(x, y)) return;
  const auto name = [&call](std::size_t attribute, const char* own) {
    return call.attributes.size() > attribute ? reinterpret_cast<const char*>(call.attribute(attribute)) : own;
  };
  const char* operand = name(2, "x");
  fail<ValueError>(name(1, "cast"),
                   "an element of {} ({}) is NaN or out of range for {}; clip {}, or replace what is not finite, first",
                   operand, x.dtype(), y.dtype(), operand);
}

std::string write_cast(const Call& call, csource::Writer&, std::span<const std::string> x) {
  return csource::Writer::convert(x[0], call.input(0).dtype(), static_cast<DType>(call.attribute(0)));
}
// Bounds are those of the integer dtype, which a floating one has exactly or rounds outwards.
std::string write_checked_cast(const Call& call, csource::Writer& w, std::span<const std::string> x) {
  const auto to = static_cast<DType>(call.attribute(0));
  using Bounds = std::array<const char*, 2>;
  const Bounds bounds = to == DType::uint8   ? Bounds{" > -1.0 && ", " < 256.0"}
                        : to == DType::int32 ? Bounds{" > -2147483649.0 && ", " < 2147483648.0"}
                                             : Bounds{" >= -0x1p63 && ", " < 0x1p63"};
  w.refuse_if(csource::cat({"!(", x[0], bounds[0], x[0], bounds[1], ")"}),
              csource::cat({"an element of x is NaN or out of range for ", name(to)}));
  return write_cast(call, w, x);
}

constexpr Primitive cast_primitive = {
    .rule = cast_rule, .infer = infer_cast, .evaluate = evaluate_cast, .write_c = write_cast};
constexpr Primitive checked_cast_primitive = {.rule = cast_rule,
                                              .infer = infer_cast,
                                              .evaluate = evaluate_cast,
                                              .effects = may_throw,
                                              .write_c = write_checked_cast};

// Only integer dtypes cannot hold every number of a floating or complex dtype.
const Primitive& primitive_of(DType from, DType to) noexcept {
  return is_differentiable(from) && is_integer(to) ? checked_cast_primitive : cast_primitive;
}

}  // namespace

Tensor to_indices(const char* op, const char* name, const Tensor& x) {
  return apply(checked_cast_primitive, {&x},
               words(DType::int64, reinterpret_cast<std::intptr_t>(op), reinterpret_cast<std::intptr_t>(name)));
}

}  // namespace ops

Tensor cast(const Operand& operand, DType dtype) {
  const tape::OpScope scope(operand);
  ops::require_dtype("cast", dtype);
  if (!operand.is_tensor()) return ops::to_tensor("cast", operand, dtype, "x");
  Tensor scratch;
  const Tensor& x = ops::as_tensor("cast", operand, scratch);
  return ops::apply(ops::primitive_of(x.dtype(), dtype), {&x}, ops::words(dtype));
}

}  // namespace reel
