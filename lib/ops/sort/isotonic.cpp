// Isotonic regression: means over blocks, whose transpose is means over blocks.
#include "loops/sort/isotonic.hpp"

#include <reel/ops/make.hpp>
#include <reel/ops/statistics.hpp>

#include "loops/loops.hpp"
#include "ops/promote.hpp"
#include "ops/reduce/reduction.hpp"
#include "ops/sort/order.hpp"

namespace reel {
namespace ops {
namespace {

// ---- Inputs: x; attributes: increasing. Residual: where the block of each element begins.

// The mean of each block, at all of its elements.
Tensor block_means(const Tensor& g, const Tensor& starts) {
  const int axis = g.rank() - 1;
  const Tensor sums = put_along(g, starts, g.shape(), axis);
  const Tensor counts = put_along(broadcast_to(ones({}, g.dtype()), starts.shape()), starts, starts.shape(), axis);
  return take_along(sums / maximum(counts, 1), starts, axis);
}
Tensor isotonic_transpose(const tape::Record& r, const Tensor& g) {
  const Tensor& starts = r.saved(0);
  return block_means(g, r.batch_rank() ? broadcast_to(starts, r.batched(starts.shape())) : starts);
}
Tensor isotonic_forward(const tape::Record& r, const Tensor& t) { return block_means(t, r.saved(0)); }
void infer_isotonic(const Call& call, Metas& out) {
  out.add_like(call.input(0));
  out.add(DType::int64, call.input(0).shape());
}
void evaluate_isotonic(const Call& call, Outputs& out) {
  Tensor copied;
  loops::isotonic_rows(loops::contiguous(call.input(0), copied), call.attribute(0) != 0, out[0], out[1]);
}
constexpr Primitive isotonic_primitive = {.rule = linear<isotonic_transpose, isotonic_forward>("isotonic_regression"),
                                          .infer = infer_isotonic,
                                          .evaluate = evaluate_isotonic,
                                          .keeps = {keep_output(1)},
                                          .residuals = 1};

}  // namespace
}  // namespace ops

Tensor isotonic_regression(const Operand& operand, bool increasing) {
  const tape::OpScope scope(operand);
  const Tensor uncast = ops::to_tensor("isotonic_regression", operand);
  if (uncast.rank() == 0) fail<ShapeError>("isotonic_regression", "x has rank 0; it needs an axis");
  return ops::in_full_precision("isotonic_regression", uncast, ops::Accept::real, [&](const Tensor& x) {
    return ops::apply(ops::isotonic_primitive, {&x}, ops::words(increasing));
  });
}

}  // namespace reel
