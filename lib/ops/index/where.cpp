// where: one of two values by a condition. The cotangent goes where the value came from; a NaN in the other branch
// stays out of it, since nothing is multiplied.
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>

#include "kernels/kernels.hpp"
#include "loops/loops.hpp"
#include "ops/engine.hpp"

namespace reel {

namespace ops {

namespace {

// inputs: x, y; saved: the condition
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
constexpr tape::Rule where_rule = batched({"where", where_vjp, where_jvp});

}  // namespace

}  // namespace ops

Tensor where(const Operand& condition, const Operand& x_operand, const Operand& y_operand) {
  const tape::OpScope scope(condition);
  const Tensor c = ops::to_tensor("where", condition, DType::boolean, "condition");
  const Operand* both[] = {&x_operand, &y_operand};
  const DType dtype = ops::common_dtype("where", both);
  const Tensor x = ops::to_tensor("where", x_operand, dtype, "x"), y = ops::to_tensor("where", y_operand, dtype, "y");
  const Shape shape = ops::broadcast_shapes("where", ops::broadcast_shapes("where", c.shape(), x.shape()), y.shape());
  Tensor z = detail::empty(dtype, shape);
  const Tensor* in[] = {&c, &x, &y};
  if (z.size() != 0) loops::pointwise(kernels::active().select[kernels::size_class(item_size(dtype))], shape, in, z);
  if (tape::active()) {
    const Tensor* inputs[] = {&x, &y};
    if (is_differentiable(dtype))
      tape::record(ops::where_rule, {&x, &y}, z, {&c});
    else
      tape::note_cut("where", inputs, z, tape::Cut::integer);
  }
  return z;
}

}  // namespace reel
