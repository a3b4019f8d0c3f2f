// Ops on elements selected by index arrays, boolean masks and segment ids. Tensors are immutable: an op that sets
// elements returns a new tensor. Indices are integers. Negative ones count from the end. An index out of range is an
// IndexError, and is clamped only by a mode that says so.
//
// Where nothing else is said, every dtype is allowed, and gradients of every order exist by values, not by indices,
// masks and conditions. An element of an operand gets the sum of the cotangents of the places it is copied or added to,
// and 0 if it is replaced or not selected. A mean divides the cotangent by the number of its elements.
#pragma once
#include <concepts>
#include <reel/api.hpp>
#include <reel/callback.hpp>
#include <reel/ops/index.hpp>
#include <reel/tensor.hpp>
#include <vector>

namespace REEL_API reel {

/// One item of index(): an array of indices, or an item of a slice. A single index is an array of rank 0.
class IndexItem {
 public:
  IndexItem(const Tensor& indices) : indices_(indices), array_(true) {}
  IndexItem(const Variable& indices) : indices_(indices.read()), array_(true) {}
  template <class T>
  requires std::constructible_from<SliceItem, const T&> IndexItem(const T& part) : part_(part) {}
  bool is_array() const noexcept { return array_; }
  const Tensor& indices() const noexcept { return indices_; }
  const SliceItem& part() const noexcept { return part_; }

 private:
  Tensor indices_;
  SliceItem part_;
  bool array_ = false;
};
/// The items between the brackets of x[i, j, ...].
using IndexItems = std::initializer_list<IndexItem>;

/// NumPy's x[i, j, ...]. The index arrays broadcast, and their common shape replaces their axes. It is put in front of
/// all other axes if a slice item stands between two arrays. Without arrays this is slice(). IndexError for an index
/// out of range; TypeError for arrays that are not integers (masks go to boolean_mask). Gradient: each cotangent, added
/// where its element came from.
Tensor index(const Operand& x, IndexItems items);
/// x with the elements index(x, items) replaced by `values`, which broadcast to them and are cast to the dtype of x.
/// TypeError for floating values of an integer x, here and below. If an index occurs several times, its last value
/// counts, and only that one has a gradient.
Tensor index_update(const Operand& x, IndexItems items, const Operand& values);
/// The same with values added or multiplied, once for each time that an index occurs. Gradients are exact even if
/// factors are zero.
Tensor index_add(const Operand& x, IndexItems items, const Operand& values);
Tensor index_multiply(const Operand& x, IndexItems items, const Operand& values);
/// The largest (smallest) of the element and all its values; NaN if one of them is. Gradient: shared equally among
/// ties.
Tensor index_max(const Operand& x, IndexItems items, const Operand& values);
Tensor index_min(const Operand& x, IndexItems items, const Operand& values);

/// x with the part slice(x, items) replaced by `values`, or with values added to it. Values broadcast to the part and
/// are cast to the dtype of x. slice_update works in place if x is an rvalue (std::move) whose memory nothing else
/// refers to.
Tensor slice_update(const Operand& x, std::initializer_list<SliceItem> items, const Operand& values);
Tensor slice_add(const Operand& x, std::initializer_list<SliceItem> items, const Operand& values);

/// x with one element set per index: result[indices[i][j]][j] = values[i][j] for axis 0 (NumPy's put_along_axis). The
/// other axes broadcast, and the last of equal indices counts. scatter_add_along_axis adds instead. The result has the
/// dtype of x.
Tensor put_along_axis(const Operand& x, const Operand& indices, const Operand& values, std::int64_t axis);
Tensor scatter_add_along_axis(const Operand& x, const Operand& indices, const Operand& values, std::int64_t axis);

/// How values for the same element are combined.
enum class Reduction : std::uint8_t { sum, mean, prod, max, min };
/// The same with any reduction (PyTorch's scatter_reduce). The element of x is one of the combined values unless
/// include_self is false. Elements that no index names are unchanged. x is floating; float16 and bfloat16 compute in
/// float32.
Tensor scatter_reduce(const Operand& x, const Operand& indices, const Operand& values, std::int64_t axis,
                      Reduction reduction, bool include_self = true);

/// What an index out of range does: raise an IndexError, wrap around, or be clipped to the range. With clip, negative
/// indices do not count from the end but become 0.
enum class IndexMode : std::uint8_t { raise, wrap, clip };
/// The elements of x at these indices into its row-major order, in the shape of the indices.
Tensor take(const Operand& x, const Operand& indices, IndexMode mode = IndexMode::raise);
/// x with these elements set to `values`, which broadcast to the shape of the indices. The last of equal indices
/// counts.
Tensor put(const Operand& x, const Operand& indices, const Operand& values, IndexMode mode = IndexMode::raise);

/// x with `value` wherever the mask is true. The mask broadcasts with x. Masked elements of x do not affect
/// derivatives, even if they are NaN.
Tensor masked_fill(const Operand& x, const Operand& mask, const Operand& value);
/// x with its masked elements replaced by successive `values` in row-major order (PyTorch's masked_scatter). The mask
/// broadcasts to x. Values are cast to the dtype of x; surplus ones are ignored. IndexError for fewer values than true
/// elements.
Tensor masked_scatter(const Operand& x, const Operand& mask, const Operand& values);
/// For each element, the element of the first choice whose condition is true there, else that of `otherwise`. All
/// broadcast (NumPy's select). Dtypes promote. TypeError for a condition that is not boolean. ValueError for no
/// conditions, or unless there are as many choices.
Tensor select(std::span<const Tensor> conditions, std::span<const Tensor> choices, const Operand& otherwise = 0);
Tensor select(std::initializer_list<Tensor> conditions, std::initializer_list<Tensor> choices,
              const Operand& otherwise = 0);
/// For each element, the element of choices[k], where k is the element of `indices`. All broadcast (NumPy's choose).
/// Dtypes promote.
Tensor choose(const Operand& indices, std::span<const Tensor> choices, IndexMode mode = IndexMode::raise);
Tensor choose(const Operand& indices, std::initializer_list<Tensor> choices, IndexMode mode = IndexMode::raise);
/// A piecewise function (NumPy's piecewise). Piece k is called with a vector of the elements of x where condition k is
/// true, and returns as many elements or a scalar. Conditions are masks of the shape of x. Of several true conditions
/// the last counts; where none is true, the result is `otherwise`. Unlike in NumPy, the dtype is promoted from those of
/// the pieces. A piece never sees elements outside its condition, and is not called for none, so it makes no derivative
/// there. TraceError in a traced function.
using Piece = Callback<Tensor(const Tensor&)>;
Tensor piecewise(const Operand& x, std::initializer_list<Tensor> conditions, std::initializer_list<Piece> pieces,
                 const Operand& otherwise = 0);
/// The elements of x where the mask is true; if the mask has fewer axes, the slices (NumPy's x[mask]). The shape of the
/// mask is that of the first axes of x (ShapeError otherwise). TraceError in a traced function, because the values of
/// the mask decide on the extent.
Tensor boolean_mask(const Operand& x, const Operand& mask);
/// The slices of x along `axis` where the condition, a vector, is true. It may be shorter than the axis. TraceError as
/// above.
Tensor compress(const Operand& condition, const Operand& x, std::int64_t axis);
/// Options of nonzero().
struct NonzeroOptions {
  std::int64_t size = -1;  // length of the result; -1: the number of nonzero elements
  std::int64_t fill = 0;   // index that pads the result up to `size`
};
/// The indices of the nonzero elements, in row-major order: one int64 vector per axis. TraceError as above unless
/// `size` is set. No gradient.
std::vector<Tensor> nonzero(const Operand& x, const NonzeroOptions& options = {});

/// Rows of a table, selected by ids of any shape: gather, whose gradient is IndexedSlices. The row `padding_id` gets no
/// gradient; a negative one counts from the end.
Tensor embedding(const Operand& table, const Operand& ids);
Tensor embedding(const Operand& table, const Operand& ids, std::int64_t padding_id);

/// Segment reductions: row s of the result [n, rest] is the sum, in order, of the slices of x [ids' shape, rest] whose
/// id is s. Slices with a negative id are ignored. IndexError for ids of n and above. An empty segment has sum 0, mean
/// 0, product 1, and as maximum (minimum) the lowest (highest) value of the dtype, an infinity if that is floating.
/// (TensorFlow's unsorted_segment_*, except for the mean 0 and the infinities, where it has the largest finite
/// numbers.)
Tensor segment_sum(const Operand& x, const Operand& ids, std::int64_t n);
Tensor segment_mean(const Operand& x, const Operand& ids, std::int64_t n);
/// Products. Gradients are exact even if factors are zero.
Tensor segment_prod(const Operand& x, const Operand& ids, std::int64_t n);
/// Largest (smallest) elements; NaN if one of them is. Gradient: shared equally among ties.
Tensor segment_max(const Operand& x, const Operand& ids, std::int64_t n);
Tensor segment_min(const Operand& x, const Operand& ids, std::int64_t n);
/// Segment sums, means, and sums divided by the square root of the count, of the rows of x that `indices` name. ids has
/// the shape of indices.
Tensor sparse_segment_sum(const Operand& x, const Operand& indices, const Operand& ids, std::int64_t n);
Tensor sparse_segment_mean(const Operand& x, const Operand& indices, const Operand& ids, std::int64_t n);
Tensor sparse_segment_sqrt_n(const Operand& x, const Operand& indices, const Operand& ids, std::int64_t n);
/// How often each of 0 ... n-1 occurs in x, int64. With weights, of the shape of x: the sums of their weights.
/// IndexError for other elements of x.
Tensor bincount(const Operand& x, std::int64_t n);
Tensor bincount(const Operand& x, std::int64_t n, const Operand& weights);

}  // namespace reel
