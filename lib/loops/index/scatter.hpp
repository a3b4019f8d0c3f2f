// Elements at places chosen by indices. The positions are int64 in [0, extent), which nothing here checks; equal
// positions take their terms in the order of the positions, whatever the threads. Results are contiguous, terms have
// their dtype and any strides, and they share no memory. 16-bit floats are combined in float32 and rounded once;
// integers wrap.
#pragma once
#include <reel/tensor.hpp>

#include "loops/index/gather.hpp"

namespace reel::loops {

/// What becomes of an element and a term that goes there: set makes it the last of the terms. NaN is the largest and
/// the smallest; complex numbers have neither.
enum class ScatterFunction : std::uint8_t { add, multiply, max, min, set };

/// y[outer, positions[k], inner] = f(itself, terms[outer, k, inner]), split at `axis` of y. The positions are
/// contiguous, of any shape.
void scatter(ScatterFunction f, const Tensor& terms, const Tensor& positions, int axis, const Tensor& y);
inline void scatter_add(const Tensor& terms, const Tensor& positions, int axis, const Tensor& sum) {
  scatter(ScatterFunction::add, terms, positions, axis, sum);
}
inline void scatter_set(const Tensor& terms, const Tensor& positions, int axis, const Tensor& y) {
  scatter(ScatterFunction::set, terms, positions, axis, y);
}
/// sum[outer, positions[outer, k, inner], inner] += terms[outer, k, inner]. The positions have the shape of the terms
/// and any strides; the sum has it too but for the extent of `axis`.
void add_along(const Tensor& terms, const Tensor& positions, int axis, const Tensor& sum);
/// y[outer, indices[outer, k, inner], inner] = f(itself, terms[outer, k, inner]), as add_along, but the indices are as
/// find_positions takes them: they have any integer dtype and any strides, and broadcast to the shape of the terms.
/// Returns the first that is out of range; y is unspecified then.
BadIndex scatter_along(ScatterFunction f, const Tensor& terms, const Tensor& indices, int axis, const Tensor& y);

/// last[k]: no later position is positions[k], of an axis of this extent. Boolean, contiguous.
void find_last(const Tensor& positions, std::int64_t extent, const Tensor& last);
/// For each term the product of x at its position and of all other terms there, exact with zeros among them: from both
/// sides. `others` has the shape of the terms and is contiguous.
void products_of_others(const Tensor& x, const Tensor& terms, const Tensor& positions, int axis, const Tensor& others);
/// The shares of x and of the terms in y, which is scatter(max or min) of them: equal among what equals it, NaN
/// included. Unless x is a `member` it has none where a term goes. Contiguous, of the operands' shapes.
void extreme_shares(const Tensor& x, const Tensor& terms, const Tensor& positions, const Tensor& y, int axis,
                    bool member, const Tensor& x_shares, const Tensor& term_shares);

/// Where equal positions stand, for chains of terms that go to one place: `order` are the terms by position, equal ones
/// as they stand, `place` the inverse of that; before[i] and behind[i] of the i-th in order are how many terms of its
/// own position stand before and behind it. All int64 [count], contiguous.
void find_runs(const Tensor& positions, std::int64_t extent, const Tensor& order, const Tensor& place,
               const Tensor& before, const Tensor& behind);

}  // namespace reel::loops
