// Loops over tensors: strided and broadcast operands in, kernel calls on long runs out. Nothing here is recorded or
// checks shapes. Results have the same bits for every number of threads.
#pragma once
#include <reel/tensor.hpp>
#include <span>

#include "core/block.hpp"
#include "kernels/loop.hpp"
#include "kernels/reductions.hpp"
#include "loops/parallel.hpp"
#include "loops/tuning.hpp"

namespace reel::loops {

/// The most operands of a pointwise kernel: g, x, y, w, z.
inline constexpr std::size_t max_operands = 6;

/// pointwise() where it takes more than one kernel call. Results of at least `nontemporal_from` bytes are written with
/// non-temporal stores, unless they overwrite an operand: they would be evicted before they are read. 0 stands for half
/// of the last-level cache; tests set other values.
void pointwise_any(kernels::Loop loop, const Shape& shape, std::span<const Tensor* const> in, const Tensor& out,
                   std::int64_t nontemporal_from = 0);

/// A single kernel call, if that is enough: each operand has one element or the layout of the result. Returns false and
/// does nothing otherwise.
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
    else if (from->size == n && from->contiguous())  // it broadcasts, so its shape differs at most in axes of extent 1
      operand[k] = {from->data, 1};
    else
      return false;
  }
  if (n > 0) loop(operand, to->data, n);
  return true;
}

/// out = loop(in...), elementwise. Operands broadcast to `shape`, with any strides; null operands are not read. `out`
/// is contiguous, of that shape, and may share the block of a contiguous operand with the same shape and element size.
inline void pointwise(kernels::Loop loop, const Shape& shape, std::span<const Tensor* const> in, const Tensor& out) {
  const detail::Block* to = detail::block(out);
  if (to->size >= parallel_threshold || !pointwise_at_once(loop, in, to)) pointwise_any(loop, shape, in, out);
}

/// The same in the shape of `out`.
inline void pointwise(kernels::Loop loop, std::span<const Tensor* const> in, const Tensor& out) {
  const detail::Block* to = detail::block(out);
  if (to->size >= parallel_threshold || !pointwise_at_once(loop, in, to)) pointwise_any(loop, to->shape(), in, out);
}

/// sum = add(sum, loop(in...)), with the bits of two calls of pointwise(), but without the intermediate array. `sum` is
/// contiguous, of `shape` and of the loop's dtype, and shares memory with no operand.
void pointwise_into_sum(kernels::Loop loop, const Shape& shape, std::span<const Tensor* const> in, kernels::Loop add,
                        const Tensor& sum);

/// view = loop(view, x). x broadcasts to the shape of `view`, which has any strides, contains no element twice, and
/// shares no memory with x.
void pointwise_into_view(kernels::Loop loop, const Tensor& x, const Tensor& view);

/// out = in, reduced over `axes` (counted from the front, ascending): pairwise, in an order that shapes and strides
/// determine. `out` is contiguous and has one element per index of the other axes. Each reduced axis has an extent of
/// at least 1.
void reduce(const kernels::Reduction& reduction, const Tensor& in, const Shape& axes, const Tensor& out);

/// out = loop(in...), reduced over `axes` without the intermediate array. The order is that of reduce(), except that
/// runs of more than 2048 elements are divided into runs of that length. Returns false and does nothing if that is not
/// faster. The result of the loop has the dtype of `out`, and at least one element.
bool pointwise_reduce(kernels::Loop loop, const Shape& shape, std::span<const Tensor* const> in,
                      const kernels::Reduction& reduction, const Shape& axes, const Tensor& out);

/// to = from, of one dtype. `from` broadcasts to the shape of `to`; any strides, but `to` contains no element twice.
/// They do not overlap. `to` may be a view into a result under construction.
void copy(const Tensor& from, const Tensor& to);

/// x, row-major without gaps: x itself if it is so, otherwise a copy, which no tape follows.
Tensor contiguous(const Tensor& x);
/// The same without a further handle to x; `scratch` keeps the copy.
inline const Tensor& contiguous(const Tensor& x, Tensor& scratch) {
  return detail::block(x)->contiguous() ? x : scratch = contiguous(x);
}

}  // namespace reel::loops
