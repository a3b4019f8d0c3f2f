// Functions of whole rows of tensors: rows along the last axis, or along another one, where they are the columns of
// matrices.
#pragma once
#include <initializer_list>

#include "kernels/rows.hpp"
#include "loops/loops.hpp"

namespace reel::loops {

/// A function of rows of n elements; kernels::Rows defines each. All exist for the same dtypes. The result has the
/// dtype of the operands, except class labels (int64).
using kernels::RowFunction;
/// Whether the functions of rows exist for d.
bool has_row_functions(DType d) noexcept;

/// An operand whose rows have `width` elements: n, or 1 for one number per row. If it has fewer rows than the result,
/// it is read repeatedly. Width 0: the same for all rows; its handle may be empty, then the kernel gets null.
struct RowOperand {
  Tensor x;
  std::int64_t width;
};
inline RowOperand whole_rows(const Tensor& x) { return {contiguous(x), x.shape()[-1]}; }
inline RowOperand for_all_rows(const Tensor& x) { return {x.defined() ? contiguous(x) : x, 0}; }
inline RowOperand one_per_row(const Tensor& x) { return {contiguous(x), 1}; }

/// out = f(operands...) for each of out.size() / width rows of n >= 1 elements. Operands and `out` are contiguous;
/// `out` may be an operand of the same size.
void by_rows(RowFunction f, std::int64_t n, std::initializer_list<RowOperand> operands, const Tensor& out,
             std::int64_t width);

/// The axes of a tensor of this rank: the remaining ones, then those of the mask.
Shape rows_last(int rank, std::int64_t mask);

/// Matrices with fewer columns are transposed: they do not fill a vector.
inline constexpr std::int64_t least_columns = 8;

/// The same for the columns of matrices [n, inner], one after the other; also for those of `out` if its width is n.
/// Only for softmax, log_softmax, logsumexp and their vjps. `elementwise`: each element of the result depends only on
/// elements at its own position and on numbers per column, so that rows of a matrix can be computed separately.
void by_columns(RowFunction f, std::int64_t n, std::int64_t inner, std::initializer_list<RowOperand> operands,
                const Tensor& out, std::int64_t width, bool elementwise = false);

/// out = f(x, more...) with rows along `axis` of x. `out` is contiguous, of x's shape. `more`, which may be null, may
/// lack leading axes.
void along_axis(RowFunction f, int axis, const Tensor& x, const Tensor* more, const Tensor& out);

/// A view of x with its axes in another order: axis d of the view is axis order[d] of x.
Tensor with_axis_order(const Tensor& x, const Shape& order);
/// A view of contiguous x in another shape of as many elements.
Tensor in_shape(const Tensor& x, const Shape& shape);

/// x as contiguous rows [size / n, n]: the axes of `mask` (bit d for axis d), of n elements together, merged and moved
/// to the end.
Tensor to_rows(const Tensor& x, std::int64_t mask);
/// The inverse: writes `rows`, in the order of to_rows(out, mask), to `out`, which is contiguous.
void from_rows(const Tensor& rows, std::int64_t mask, const Tensor& out);

}  // namespace reel::loops
