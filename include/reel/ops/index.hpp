// Indexing: slices, gathers, scatters, diagonals. Indices are integers; negative ones count from the end; out of range
// is IndexError, never clamped. Duplicates add in every gradient.
#pragma once
#include <concepts>
#include <reel/ops/reduce.hpp>
#include <reel/tensor.hpp>

namespace [[gnu::visibility("default")]] reel {

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
  /// The name `all` in a slice: the whole axis. It is also the reduction's, which is what is passed here.
  /// TypeError for another function.
  SliceItem(Tensor (*whole_axis)(const Operand&, const Axes&, bool));
};
inline constexpr SliceItem newaxis{SliceItem::Kind::newaxis};
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
/// start, start + step, ... before stop, as Python's start:stop:step; ends beyond the axis are cut to it.
SliceItem range(std::int64_t start, std::int64_t stop, std::int64_t step = 1);
/// From start to the end (or, with a negative step, down to the front).
SliceItem range_from(std::int64_t start, std::int64_t step = 1);
/// Up to stop.
SliceItem range_to(std::int64_t stop, std::int64_t step = 1);

/// The part of x that the items choose, one per axis; missing ones are whole axes. A view.
/// IndexError for an index out of range or too many items, ValueError for step 0. Gradient: placed into zeros.
Tensor slice(const Operand& x, std::initializer_list<SliceItem> items);
Tensor slice(const Operand& x, std::span<const SliceItem> items);
template <class... I>
Tensor Tensor::operator()(const detail::FirstItem& first, const I&... rest) const {
  return slice(Operand(*this, first.file, first.line), {first.item, SliceItem(rest)...});
}

/// Rows of x chosen along `axis` by an integer tensor: shape x[:axis] + indices + x[axis+1:]. Gradient along axis 0:
/// IndexedSlices; else scattered into zeros.
Tensor gather(const Operand& x, const Operand& indices, std::int64_t axis = 0);
/// One element per position: result[i][j] = x[indices[i][j]][j] for axis 0 (NumPy's take_along_axis).
Tensor take_along_axis(const Operand& x, const Operand& indices, std::int64_t axis);
/// x with updates [n..., rest] added to the rows of axis 0 that indices [n...] name; duplicates add.
Tensor scatter_add(const Operand& x, const Operand& indices, const Operand& updates);
/// The diagonal matrix of a vector, `offset` above the main diagonal; of a matrix, its diagonal (NumPy's diag).
Tensor diag(const Operand& x, std::int64_t offset = 0);
/// The diagonal of the last two axes, as a last axis. A view.
Tensor diagonal(const Operand& x, std::int64_t offset = 0);
/// Zero above (below) the diagonal `offset` of the last two axes.
Tensor tril(const Operand& x, std::int64_t offset = 0);
Tensor triu(const Operand& x, std::int64_t offset = 0);
/// The sum of the diagonal of the last two axes.
Tensor trace(const Operand& x, std::int64_t offset = 0);
/// 1 at each index along a new last axis of extent `depth`, 0 elsewhere (all 0 for an index out of range). No gradient.
Tensor one_hot(const Operand& indices, std::int64_t depth, DType dtype = DType::float64);

}  // namespace reel
