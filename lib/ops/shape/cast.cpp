// cast: to another element type. Gradients are cast back; an integer or boolean on either side has none.
#include <atomic>

#include "kernels/kernels.hpp"
#include "ops/shape/view.hpp"

namespace reel {

namespace ops {

namespace {

constexpr std::int64_t piece = 32768;  // elements that one thread converts at a time

Tensor back(const tape::Record& r, const Tensor& g) { return cast(g, r.dtype(0)); }
Tensor again(const tape::Record& r, const Tensor& t) { return cast(t, r.output_dtype()); }
constexpr tape::Rule cast_rule = [] {
  tape::Rule rule = linear<back, again>("cast");
  rule.slices = [](const tape::Record& r, const IndexedSlices& g) {
    return Gradient(IndexedSlices{cast(g.values, r.dtype(0)), g.indices, g.dense_shape});
  };
  return rule;
}();

Tensor converted(const Tensor& given, DType dtype) {
  const Tensor x = loops::contiguous(given);
  const detail::Block* b = detail::block(x);
  const kernels::Cast kernel = kernels::cast(static_cast<kernels::Type>(b->dtype), static_cast<kernels::Type>(dtype));
  Tensor y = TensorAccess::adopt(detail::new_block(dtype, b->extents(), b->rank));
  const auto from_bytes = static_cast<std::int64_t>(item_size(b->dtype)),
             to_bytes = static_cast<std::int64_t>(item_size(dtype));
  std::byte* to = detail::block(y)->data;
  std::atomic<bool> lossless{true};
  // What differs from zero is true, and comparing is what the instruction sets have kernels for; halves have none.
  const kernels::Loop differs =
      dtype == DType::boolean
          ? kernels::active().comparison(kernels::Comparison::not_equal, static_cast<kernels::Type>(b->dtype))
          : nullptr;
  static constexpr double zero[2] = {};  // of any type
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    if (differs) {
      const kernels::Strided both[] = {{b->data + begin * from_bytes, 1}, {zero, 0}};
      differs(both, to + begin * to_bytes, end - begin);
    } else if (!kernel({b->data + begin * from_bytes, 1}, to + begin * to_bytes, end - begin))
      lossless.store(false, std::memory_order_relaxed);
  };
  if (b->size < loops::parallel_threshold)
    run(0, b->size);
  else
    loops::parallel_for(b->size, piece, run);
  if (!lossless.load(std::memory_order_relaxed))
    fail<ValueError>("cast",
                     "an element of x ({}) is NaN or out of range for {}; clip x, or replace what is not finite, first",
                     b->dtype, dtype);
  return y;
}

}  // namespace

}  // namespace ops

Tensor cast(const Operand& operand, DType dtype) {
  const tape::OpScope scope(operand);
  ops::require_dtype("cast", dtype);
  if (!operand.is_tensor()) return ops::to_tensor("cast", operand, dtype, "x");
  const Tensor x = ops::to_tensor("cast", operand);
  return ops::finish(ops::cast_rule, x, x.dtype() == dtype ? detail::alias(x) : ops::converted(x, dtype));
}

}  // namespace reel
