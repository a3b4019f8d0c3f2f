// where: one of two values by a condition. The cotangent goes to the chosen value; nothing is multiplied, so a NaN in
// the other branch does not reach it.
#include "ops/index/where.hpp"

#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>

#include "csource/text.hpp"
#include "loops/index/select.hpp"
#include "ops/apply/apply.hpp"
#include "ops/engine.hpp"

namespace reel {

namespace ops {

namespace {

// inputs: x, y, the condition

void where_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (r.wanted(0)) dx[0] = sum_to(r, where(r.saved(0), g[0], 0), r.shape(0));
  if (r.wanted(1)) dx[1] = sum_to(r, where(r.saved(0), 0, g[0]), r.shape(1));
}
void where_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const Tensor z = t[0].defined() && t[1].defined() ? where(r.saved(0), t[0], t[1])
                   : t[0].defined()                 ? where(r.saved(0), t[0], 0)
                                                    : where(r.saved(0), 0, t[1]);
  const Shape shape = r.output_shape();
  dy[0] = z.shape() == shape ? z : broadcast_to(z, shape);
}

void infer_where(const Call& call, Metas& out) {
  const Tensor &x = call.input(0), &y = call.input(1), &condition = call.input(2);
  out.add(x.dtype(), broadcast_shapes("where", broadcast_shapes("where", condition.shape(), x.shape()), y.shape()));
}
void evaluate_where(const Call& call, Outputs& out) {
  loops::select(call.input(2), call.input(0), call.input(1), out[0]);
}
std::string write_where(const Call&, csource::Writer&, std::span<const std::string> x) {
  return csource::cat({x[2], " ? ", x[0], " : ", x[1]});
}
constexpr Primitive where_primitive = {.rule = batched({"where", where_vjp, where_jvp}),
                                       .infer = infer_where,
                                       .evaluate = evaluate_where,
                                       .keeps = {keep_input(2)},
                                       .constants = 1,
                                       .write_c = write_where};

}  // namespace

const Primitive& where_of_tensors() noexcept { return where_primitive; }

}  // namespace ops

Tensor where(const Operand& condition, const Operand& x_operand, const Operand& y_operand) {
  const tape::OpScope scope(condition);
  const Tensor c = ops::to_tensor("where", condition, DType::boolean, "condition");
  const Operand* both[] = {&x_operand, &y_operand};
  const DType dtype = ops::common_dtype("where", both);
  const Tensor x = ops::to_tensor("where", x_operand, dtype, "x"), y = ops::to_tensor("where", y_operand, dtype, "y");
  return ops::apply(ops::where_primitive, {&x, &y, &c});
}

}  // namespace reel
