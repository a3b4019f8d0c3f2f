// Kernels of whole rows on tensors: rows along the last axis, or along any other, where they are the columns of
// matrices. Nothing here is recorded.
#pragma once
#include <initializer_list>

#include "kernels/kernels.hpp"
#include "ops/reduce/reduction.hpp"

namespace reel::ops {

/// The row kernels for d. TypeError when there are none.
const kernels::Rows& row_kernels(const char* op, DType d);

/// An operand whose rows have `width` elements each: n, or 1 for one number per row. With fewer rows than the result
/// it is read again and again. Width 0: the same for all rows; its handle may be empty, then the kernel gets null.
struct RowOperand {
  Tensor x;
  std::int64_t width;
};
inline RowOperand whole_rows(const Tensor& x) { return {loops::contiguous(x), x.shape()[-1]}; }
inline RowOperand for_all_rows(const Tensor& x) { return {x.defined() ? loops::contiguous(x) : x, 0}; }
inline RowOperand one_per_row(const Tensor& x) { return {loops::contiguous(x), 1}; }

/// out = kernel(operands...) for each of out.size() / width rows of n >= 1 elements.
void by_rows(kernels::RowLoop kernel, std::int64_t n, std::initializer_list<RowOperand> operands, const Tensor& out,
             std::int64_t width);

/// Fewer columns than that are not worth a lane.
inline constexpr std::int64_t least_columns = 8;

/// The same for the columns of matrices [n, inner], which lie one after the other; those of `out`, too, if its width is
/// n. `alone`: each element of the result is made of the elements in its own place, so that a few rows of a matrix can
/// be computed by themselves.
void by_columns(kernels::RowLoop kernel, std::int64_t n, std::int64_t inner, std::initializer_list<RowOperand> operands,
                const Tensor& out, std::int64_t width, bool alone = false);

/// kernel(x, more...) with rows along `axis` of x; `more` may have fewer axes in front.
Tensor along_axis(const kernels::RowOrColumnLoop& kernel, int axis, const Tensor& x, const Tensor* more = nullptr);

}  // namespace reel::ops
