// Elements chosen by indices. Indices are int64; those named `positions` are contiguous and lie in [0, extent), which
// nothing here checks. Results are contiguous and share no memory with an operand; x has any strides and the dtype of
// y.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// An index outside [-extent, extent): where it is in row-major order, and its value.
struct BadIndex {
  std::int64_t at = -1, value = 0;
  explicit operator bool() const noexcept { return at >= 0; }
};
/// positions = indices, negative ones counted from the end of an axis of this extent. The indices are of any integer
/// dtype and any strides, and broadcast to the positions. With `further` the positions there are of the axes in front:
/// positions = positions * extent + indices. Returns the first index that is out of range; the positions are
/// unspecified then.
BadIndex find_positions(const Tensor& indices, std::int64_t extent, const Tensor& positions, bool further = false);

/// segments [n of ids] = ids, negative ones made n: those are left out. Returns the first that is n or more.
BadIndex find_segments(const Tensor& ids, std::int64_t n, const Tensor& segments);
/// places[q] = where in row-major order the element stands that indices[q] names along the axis, in a tensor of the
/// places' shape but for that axis, of this extent. Indices as above, and what is returned.
BadIndex find_places(const Tensor& indices, int axis, std::int64_t extent, const Tensor& places);
/// counts[v] = how many elements of x, of an integer dtype and any strides, are v. Returns the first that is not in
/// [0, size of counts); the counts are unspecified then.
BadIndex count_elements(const Tensor& x, const Tensor& counts);

/// y[outer, k, inner] = x[outer, positions[k], inner], split at `axis` of x. y has the shape of x with that axis
/// replaced by the shape of the positions.
void gather(const Tensor& x, const Tensor& positions, int axis, const Tensor& y);
/// y[outer, k, inner] = x[outer, positions[outer, k, inner], inner]. y has the shape of the positions, which may have
/// any strides; x has it too but for the extent of `axis`.
void take_along(const Tensor& x, const Tensor& positions, int axis, const Tensor& y);

}  // namespace reel::loops
