// Elements chosen by indices. Indices are int64; those named `positions` are contiguous and in [0, extent), which is
// not checked here. Results are contiguous and share no memory with an operand; x has any strides and the dtype of y.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// An index outside [-extent, extent): its row-major position among the indices, and its value.
struct BadIndex {
  std::int64_t at = -1, value = 0;
  explicit operator bool() const noexcept { return at >= 0; }
};
/// Whether the indices can serve as positions: contiguous int64 in [0, extent).
bool are_positions(const Tensor& indices, std::int64_t extent);
/// positions = indices, with negative ones counted from the end of an axis of this extent. The indices have any integer
/// dtype and any strides, and broadcast to the positions. With `nested`, positions already hold those of earlier axes:
/// positions = positions * extent + indices. Returns the first index that is out of range; the positions are
/// unspecified then.
BadIndex find_positions(const Tensor& indices, std::int64_t extent, const Tensor& positions, bool nested = false);

/// segments [n of ids] = ids, with n in place of negative ones, which are left out. Returns the first id that is n or
/// more.
BadIndex find_segments(const Tensor& ids, std::int64_t n, const Tensor& segments);
/// places[q] = the row-major position of the element that indices[q] names along the axis, in a tensor that has the
/// shape of the places except for this extent of the axis. Indices and return value as above.
BadIndex find_places(const Tensor& indices, int axis, std::int64_t extent, const Tensor& places);
/// counts[v] = the number of elements of x that equal v. x has an integer dtype and any strides. Returns the first
/// element outside [0, size of counts); the counts are unspecified then.
BadIndex count_elements(const Tensor& x, const Tensor& counts);

/// y[outer, k, inner] = x[outer, positions[k], inner], split at `axis` of x. y has the shape of x with that axis
/// replaced by the shape of the positions.
void gather(const Tensor& x, const Tensor& positions, int axis, const Tensor& y);
/// y[k] = x[rows[k], columns[k]] for x of this many rows and columns, contiguous like all others. The indices are
/// int64. False, and y unspecified, if one is negative or out of range.
bool gather_pairs(const Tensor& x, std::int64_t row_count, std::int64_t column_count, const Tensor& rows,
                  const Tensor& columns, const Tensor& y);
/// y[outer, k, inner] = x[outer, positions[outer, k, inner], inner]. y has the shape of the positions, which may have
/// any strides; x has it too, except along `axis`.
void take_along(const Tensor& x, const Tensor& positions, int axis, const Tensor& y);

}  // namespace reel::loops
