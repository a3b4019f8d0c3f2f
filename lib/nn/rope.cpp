// rope: a rotation of pairs, whose transpose is the inverse rotation.
#include <bit>
#include <cmath>
#include <reel/nn/sequence.hpp>
#include <reel/ops/make.hpp>

#include "loops/loops.hpp"
#include "nn/last_axis.hpp"
#include "nn/rope_loops.hpp"
#include "ops/apply/apply.hpp"

namespace reel {

namespace ops {

namespace {

constexpr const char* rope_name = "rope";

// Inputs: x and positions. Attributes: the base, whether interleaved, whether inverse.
Tensor rotate_pairs(const Tensor& x, const Tensor& positions, Attributes a, bool back);
Tensor rotate_back(const tape::Record& r, const Tensor& g) {
  return rotate_pairs(g, r.saved(0), r.attributes(), r.attributes()[2] == 0);
}
Tensor rotate_forward(const tape::Record& r, const Tensor& t) {
  return rotate_pairs(t, r.saved(0), r.attributes(), r.attributes()[2] != 0);
}

void infer_rope(const Call& call, Metas& out) { out.add_like(call.input(0)); }
void evaluate_rope(const Call& call, Outputs& out) {
  Tensor copied[2];
  loops::rotate_pairs(loops::contiguous(call.input(0), copied[0]), loops::contiguous(call.input(1), copied[1]),
                      call.real(0), call.attribute(1) != 0, call.attribute(2) != 0, out[0]);
}
constexpr Primitive rope_primitive = {.rule = linear<rotate_back, rotate_forward>(rope_name),
                                      .infer = infer_rope,
                                      .evaluate = evaluate_rope,
                                      .keeps = {keep_input(1)},
                                      .constants = 1};

Tensor rotate_pairs(const Tensor& x, const Tensor& positions, Attributes a, bool back) {
  return apply(rope_primitive, {&x, &positions}, words(std::bit_cast<double>(a[0]), a[1], back));
}

}  // namespace

}  // namespace ops

Tensor rope(const Operand& operand, const Operand& positions_operand, const RopeOptions& options) {
  constexpr const char* op = ops::rope_name;
  const tape::OpScope scope(operand);
  if (!(options.base > 0) || !std::isfinite(options.base))
    fail<ValueError>(op, "base is {}; it must be positive and finite", options.base);
  const auto [x, d] = ops::promote_operand(op, operand, ops::Accept::real);
  if (x.rank() < 2 || x.shape()[-1] % 2 != 0)
    fail<ShapeError>(op, "x has shape {}; it must be [..., positions, an even number of elements]", x.shape());
  Tensor positions = ops::to_tensor(op, positions_operand, "positions");
  if (is_complex(positions.dtype())) fail<TypeError>(op, "positions must be real, not {}", positions.dtype());
  positions = ops::cast_to(positions, DType::float64);
  Shape rows = x.shape();
  rows.pop_back();
  if (positions.rank() == 0)
    positions = positions + arange(0.0, static_cast<double>(rows[-1]));
  else if (ops::broadcast_shapes(op, rows, positions.shape()) != rows)
    fail<ShapeError>(op, "positions have shape {}, which does not broadcast to {}, x's axes but the last",
                     positions.shape(), rows);
  return ops::cast_to(ops::rotate_pairs(x, positions, ops::words(options.base, options.interleaved), false), d);
}

}  // namespace reel
