// Indexing: slices, gathers, scatters, diagonals. Indices are integers. Negative ones count from the end. An index out
// of range is an IndexError, never clamped. Every gradient adds the cotangents of duplicate indices.
#pragma once
#include <concepts>
#include <reel/api.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// One item of a slice: an index, a range, all of an axis, a new axis, or as many whole axes as are left.
struct SliceItem {
  enum class Kind : std::uint8_t { index, range, all, newaxis, ellipsis };
  Kind kind = Kind::all;
  bool has_start = false, has_stop = false;
  std::int64_t start = 0, stop = 0, step = 1;
  constexpr SliceItem() = default;
  constexpr explicit SliceItem(Kind k) : kind(k) {}
  template <detail::Integer T>
  constexpr SliceItem(T index) : kind(Kind::index), start(detail::checked(index)) {}
  /// Makes the name `all` in a slice stand for the whole axis: the argument is then the reduction reel::all. TypeError
  /// for another function.
  SliceItem(Tensor (*whole_axis)(const Operand&, const Axes&, bool));
};
/// A new axis of one element.
inline constexpr SliceItem newaxis{SliceItem::Kind::newaxis};
/// As many whole axes as the other items leave.
inline constexpr SliceItem ellipsis{SliceItem::Kind::ellipsis};
namespace detail {
/// The first item of x(i, j), with the line that gives it.
struct FirstItem {
  SliceItem item;
  const char* file;
  int line;
  template <class T>
  requires std::constructible_from<SliceItem, const T&> FirstItem(const T& x, const char* from = __builtin_FILE(),
                                                                  int at = __builtin_LINE())
      : item(x), file(from), line(at) {}
};
}  // namespace detail
/// start, start + step, ... before stop, as Python's start:stop:step. Ends beyond the axis are clamped to it.
SliceItem range(std::int64_t start, std::int64_t stop, std::int64_t step = 1);
/// From start to the end of the axis, or to its beginning if the step is negative.
SliceItem range_from(std::int64_t start, std::int64_t step = 1);
/// From the beginning of the axis, or from its end if the step is negative, up to but without stop.
SliceItem range_to(std::int64_t stop, std::int64_t step = 1);

/// The part of x that the items select, one item per axis. Missing items are whole axes. A view. IndexError for an
/// index out of range and for too many items; ValueError for step 0. Gradient: g placed into zeros.
Tensor slice(const Operand& x, std::initializer_list<SliceItem> items);
Tensor slice(const Operand& x, std::span<const SliceItem> items);
template <class... I>
Tensor Tensor::operator()(const detail::FirstItem& first, const I&... rest) const {
  return slice(Operand(*this, first.file, first.line), {first.item, SliceItem(rest)...});
}

/// Slices of x along `axis` selected by an integer tensor: shape x[:axis] + indices + x[axis+1:]. Gradient:
/// IndexedSlices for axis 0, otherwise g scattered into zeros.
Tensor gather(const Operand& x, const Operand& indices, std::int64_t axis = 0);
/// One element per position: result[i][j] = x[indices[i][j]][j] for axis 0 (NumPy's take_along_axis).
Tensor take_along_axis(const Operand& x, const Operand& indices, std::int64_t axis);
/// x with updates [n..., rest] added to the rows of axis 0 that indices [n...] name. Duplicates add up.
Tensor scatter_add(const Operand& x, const Operand& indices, const Operand& updates);
/// Of a vector, the matrix with it on the diagonal `offset` above the main one. Of a matrix, that diagonal (NumPy's
/// diag).
Tensor diag(const Operand& x, std::int64_t offset = 0);
/// The diagonal of the last two axes, as a last axis. A view.
Tensor diagonal(const Operand& x, std::int64_t offset = 0);
/// x with zeros above (tril) or below (triu) the diagonal `offset` of the last two axes.
Tensor tril(const Operand& x, std::int64_t offset = 0);
Tensor triu(const Operand& x, std::int64_t offset = 0);
/// The sum of the diagonal of the last two axes.
Tensor trace(const Operand& x, std::int64_t offset = 0);
/// 1 at the index along a new last axis of extent `depth`, and 0 elsewhere. An index out of range gives zeros. No
/// gradient.
Tensor one_hot(const Operand& indices, std::int64_t depth, DType dtype = DType::float64);

}  // namespace reel
