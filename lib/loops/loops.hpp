// Loops over tensors: strided and broadcast operands in, calls of kernels on long runs out. Nothing here is recorded,
// nothing checks shapes; results have the same bits for every number of threads.
#pragma once
#include <reel/tensor.hpp>
#include <span>

#include "core/block.hpp"
#include "kernels/kernels.hpp"
#include "loops/parallel.hpp"
#include "loops/tuning.hpp"

namespace reel::loops {

/// The most operands of a pointwise kernel: g, x, y, w, z.
inline constexpr std::size_t max_operands = 6;

/// What pointwise() does where it takes more than one call of the kernel. Results of `nontemporal_from` bytes or more
/// are written past the caches, unless into the memory of an operand: they would not be there when they are read next.
/// 0 stands for half of what the last cache holds; tests give others.
void pointwise_any(kernels::Loop loop, const Shape& shape, std::span<const Tensor* const> in, const Tensor& out,
                   std::int64_t nontemporal_from = 0);

/// One call of the kernel, if that is all it takes: operands of one element, or with the layout of the result. False,
/// and nothing done, for others.
inline bool pointwise_at_once(kernels::Loop loop, std::span<const Tensor* const> in, const detail::Block* to) {
  const std::int64_t n = to->size;
  kernels::Strided operand[max_operands];
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (!in[k]) {
      operand[k] = {nullptr, 0};
      continue;
    }
    const detail::Block* from = detail::block(*in[k]);
    if (from->size == 1)
      operand[k] = {from->data, 0};
    else if (from->size == n && from->contiguous())  // it broadcasts, so it has the very shape, ones apart
      operand[k] = {from->data, 1};
    else
      return false;
  }
  if (n > 0) loop(operand, to->data, n);
  return true;
}

/// out = loop(in...), elementwise. Operands broadcast to `shape`, with any strides; a null one is not read. `out` is
/// contiguous, of `shape`, and may share the block of an operand that has its shape, element size and no gaps.
inline void pointwise(kernels::Loop loop, const Shape& shape, std::span<const Tensor* const> in, const Tensor& out) {
  const detail::Block* to = detail::block(out);
  if (to->size >= parallel_threshold || !pointwise_at_once(loop, in, to)) pointwise_any(loop, shape, in, out);
}

/// The same, in the shape that `out` has.
inline void pointwise(kernels::Loop loop, std::span<const Tensor* const> in, const Tensor& out) {
  const detail::Block* to = detail::block(out);
  if (to->size >= parallel_threshold || !pointwise_at_once(loop, in, to)) pointwise_any(loop, to->shape(), in, out);
}

/// sum = add(sum, loop(in...)), with the very bits of pointwise() twice, but what the loop gives is not in memory in
/// between. `sum` is contiguous, of `shape` and of the loop's dtype, and shares memory with no operand.
void pointwise_into_sum(kernels::Loop loop, const Shape& shape, std::span<const Tensor* const> in, kernels::Loop add,
                        const Tensor& sum);

/// view = loop(view, x): x broadcasts to the shape of `view`, which has any strides, but no element twice, and shares
/// no memory with x.
void pointwise_into_view(kernels::Loop loop, const Tensor& x, const Tensor& view);

/// out = in, reduced over `axes` (from the front, ascending): pairwise, in an order that shapes and strides fix. `out`
/// is contiguous and holds one element per index of the other axes. Every axis reduced must have an extent of at
/// least 1.
void reduce(const kernels::Reduction& reduction, const Tensor& in, const Shape& axes, const Tensor& out);

/// out = loop(in...), as pointwise() gives it, reduced over `axes`, without being in memory in between. In the order of
/// reduce(), but for runs of more than 2048 elements, which are summed by so many. False if that is no gain: nothing is
/// done then. The result of the loop has the dtype of `out`, and at least one element.
bool pointwise_reduce(kernels::Loop loop, const Shape& shape, std::span<const Tensor* const> in,
                      const kernels::Reduction& reduction, const Shape& axes, const Tensor& out);

/// to = from: same dtype, `from` broadcasts to the shape of `to`; any strides, but `to` has no element twice. They do
/// not overlap. `to` may be a view into a result under construction.
void copy(const Tensor& from, const Tensor& to);

/// x in row-major order without gaps: x itself if it is so, else a copy, which no tape follows.
Tensor contiguous(const Tensor& x);
/// The same without a further handle to x; a copy is held.
inline const Tensor& contiguous(const Tensor& x, Tensor& held) {
  return detail::block(x)->contiguous() ? x : held = contiguous(x);
}

}  // namespace reel::loops
