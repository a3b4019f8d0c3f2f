// Elements by index arrays, boolean masks and ids of segments: taken, set, added, multiplied, compared. Values are
// immutable: what sets elements gives a new tensor. Indices are integers; negative ones count from the end; out of
// range is IndexError, never clamped unless a mode says so.
#pragma once
#include <concepts>
#include <reel/callback.hpp>
#include <reel/ops/index.hpp>
#include <reel/tensor.hpp>
#include <vector>

namespace [[gnu::visibility("default")]] reel {

/// One item of index(): an array of indices, or an item of a slice. An index is an array of rank 0.
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
using IndexItems = std::initializer_list<IndexItem>;

/// NumPy's x[i, j, ...]: the index arrays broadcast against each other, and their common shape takes the place of their
/// axes; in front of all others if an item that is no array stands between them. Without arrays, a slice. IndexError
/// out of range; TypeError for arrays that are no integers: masks go to boolean_mask. Gradient: each element's
/// cotangent, added where it came from.
Tensor index(const Operand& x, IndexItems items);
/// x with the elements index(x, items) replaced by `values`, which broadcast to them, in x's dtype (TypeError for
/// floating values of integers, here and below). Of indices that occur more than once the last counts, and it alone has
/// a gradient.
Tensor index_update(const Operand& x, IndexItems items, const Operand& values);
/// The same with values added, or multiplied, each time an index occurs. Gradients are exact with zeros among factors.
Tensor index_add(const Operand& x, IndexItems items, const Operand& values);
Tensor index_multiply(const Operand& x, IndexItems items, const Operand& values);
/// The larger (smaller) of the element and all its values; NaN if one is. Gradient: shared equally among the ties.
Tensor index_max(const Operand& x, IndexItems items, const Operand& values);
Tensor index_min(const Operand& x, IndexItems items, const Operand& values);

/// x with the part slice(x, items) replaced by `values`, which broadcast to it, or with values added to it. In x's
/// dtype. The former is in place where x is given up (std::move) and nobody else holds it.
Tensor slice_update(const Operand& x, std::initializer_list<SliceItem> items, const Operand& values);
Tensor slice_add(const Operand& x, std::initializer_list<SliceItem> items, const Operand& values);

/// One place per index, all other axes broadcasting: result[indices[i][j]][j] = values[i][j] for axis 0 (NumPy's
/// put_along_axis), of indices that occur more than once the last; or with values added. In x's dtype.
Tensor put_along_axis(const Operand& x, const Operand& indices, const Operand& values, std::int64_t axis);
Tensor scatter_add_along_axis(const Operand& x, const Operand& indices, const Operand& values, std::int64_t axis);

/// How values that go to one place are combined.
enum class Reduction : std::uint8_t { sum, mean, prod, max, min };
/// The same with every reduction. The element of x is one of those that are combined, unless include_self is false;
/// where no index points it stays (PyTorch's scatter_reduce). Floating x; float32 and float64 exactly, halves by way of
/// float32.
Tensor scatter_reduce(const Operand& x, const Operand& indices, const Operand& values, std::int64_t axis,
                      Reduction reduction, bool include_self = true);

/// What an index beyond the ends is: an IndexError, counted around, or the nearest there is (then none counts from the
/// end).
enum class IndexMode : std::uint8_t { raise, wrap, clip };
/// Elements of x in row-major order, by index, in the indices' shape.
Tensor take(const Operand& x, const Operand& indices, IndexMode mode = IndexMode::raise);
/// x with these elements set to `values`, which broadcast to the indices; of equal indices the last counts.
Tensor put(const Operand& x, const Operand& indices, const Operand& values, IndexMode mode = IndexMode::raise);

/// x with `value` wherever the mask, which broadcasts with x, is true; nothing of x there reaches a derivative.
Tensor masked_fill(const Operand& x, const Operand& mask, const Operand& value);
/// x with `values`, one after the other in row-major order, where the mask, which broadcasts to x, is true; values that
/// are left over do not count (PyTorch's masked_scatter). In x's dtype. IndexError for fewer values than true elements.
Tensor masked_scatter(const Operand& x, const Operand& mask, const Operand& values);
/// At each place the element of the first choice whose condition, a mask, is true there, else `otherwise`; all
/// broadcast (NumPy's select). Dtypes promote. TypeError for a condition that is not boolean; ValueError for no
/// conditions, or other than one choice for each.
Tensor select(std::span<const Tensor> conditions, std::span<const Tensor> choices, const Operand& otherwise = 0);
Tensor select(std::initializer_list<Tensor> conditions, std::initializer_list<Tensor> choices,
              const Operand& otherwise = 0);
/// At each place the element of the choice whose number `indices` holds there; all broadcast (NumPy's choose). Dtypes
/// promote.
Tensor choose(const Operand& indices, std::span<const Tensor> choices, IndexMode mode = IndexMode::raise);
Tensor choose(const Operand& indices, std::initializer_list<Tensor> choices, IndexMode mode = IndexMode::raise);
/// A function by pieces: the k-th sees the elements of x where the k-th condition, a mask of x's shape, is true, as a
/// vector, and gives as many or a scalar. Where several are true the last counts; where none is, `otherwise` (NumPy's
/// piecewise, but for the dtype, which is the promoted one of the pieces). No piece is evaluated outside of its
/// condition, nor for no elements, so none makes a derivative there. TraceError in a function that is traced.
using Piece = Callback<Tensor(const Tensor&)>;
Tensor piecewise(const Operand& x, std::initializer_list<Tensor> conditions, std::initializer_list<Piece> pieces,
                 const Operand& otherwise = 0);
/// The elements, or with a mask of fewer axes the slices, where the mask is true: x[mask] of NumPy. The mask has the
/// first axes of x (ShapeError). Its elements decide how many: TraceError in a function that is traced.
Tensor boolean_mask(const Operand& x, const Operand& mask);
/// The slices of x along `axis` where the condition, of one axis, is true; it may be shorter than the axis. TraceError
/// as above.
Tensor compress(const Operand& condition, const Operand& x, std::int64_t axis);
struct NonzeroOptions {
  std::int64_t size = -1;  // how many to give; -1: as many as there are
  std::int64_t fill = 0;   // what is given for those that are not there
};
/// The indices of the elements that are not zero, in row-major order: an int64 vector per axis. TraceError as above
/// unless the size is given. No gradient.
std::vector<Tensor> nonzero(const Operand& x, const NonzeroOptions& options = {});

/// Rows of a table by ids of any shape: gather, whose gradient is IndexedSlices. The row `padding_id`, counted from the
/// end where negative, has no gradient.
Tensor embedding(const Operand& table, const Operand& ids);
Tensor embedding(const Operand& table, const Operand& ids, std::int64_t padding_id);

/// Sums over segments: row s of the result [n, rest] is the sum of the slices of x [ids' shape, rest] whose id is s, in
/// their order. Negative ids are left out; IndexError for n and above. No slices: 0, 0, 1, the lowest and the highest
/// value, which for floating dtypes are the infinities (TensorFlow's unsorted_segment_*, but for a mean of 0 and for
/// the infinities, where it has the largest finite numbers).
Tensor segment_sum(const Operand& x, const Operand& ids, std::int64_t n);
Tensor segment_mean(const Operand& x, const Operand& ids, std::int64_t n);
/// Products; gradients are exact with zeros among the factors.
Tensor segment_prod(const Operand& x, const Operand& ids, std::int64_t n);
/// Largest (smallest) elements; NaN if one is. Gradient: shared equally among the ties.
Tensor segment_max(const Operand& x, const Operand& ids, std::int64_t n);
Tensor segment_min(const Operand& x, const Operand& ids, std::int64_t n);
/// Sums, means, and sums over the square root of their number, of the rows of x that `indices` name, whose segments are
/// in ids [indices' shape].
Tensor sparse_segment_sum(const Operand& x, const Operand& indices, const Operand& ids, std::int64_t n);
Tensor sparse_segment_mean(const Operand& x, const Operand& indices, const Operand& ids, std::int64_t n);
Tensor sparse_segment_sqrt_n(const Operand& x, const Operand& indices, const Operand& ids, std::int64_t n);
/// How often each of 0 ... n-1 occurs in x, int64; or the sums of the weights, of x's shape, that go with it.
/// IndexError for other elements.
Tensor bincount(const Operand& x, std::int64_t n);
Tensor bincount(const Operand& x, std::int64_t n, const Operand& weights);

}  // namespace reel
