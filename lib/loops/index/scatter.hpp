// Elements at places chosen by indices. Positions are int64 in [0, extent), which is not checked here. Terms at equal
// positions are combined in the order of the positions, for every number of threads. Results are contiguous; terms have
// their dtype and any strides; they share no memory. 16-bit floats are combined in float32 and rounded once; integers
// wrap.
#pragma once
#include <reel/tensor.hpp>

#include "loops/index/gather.hpp"

namespace reel::loops {

/// How an element and a term for its place are combined; set keeps the last term. A NaN counts as the largest and as
/// the smallest; complex numbers have neither.
enum class ScatterFunction : std::uint8_t { add, multiply, max, min, set };

/// y[outer, positions[k], inner] = f(itself, terms[outer, k, inner]), around `axis` of y. The positions are contiguous,
/// of any shape.
void scatter(ScatterFunction f, const Tensor& terms, const Tensor& positions, int axis, const Tensor& y);
inline void scatter_add(const Tensor& terms, const Tensor& positions, int axis, const Tensor& sum) {
  scatter(ScatterFunction::add, terms, positions, axis, sum);
}
inline void scatter_set(const Tensor& terms, const Tensor& positions, int axis, const Tensor& y) {
  scatter(ScatterFunction::set, terms, positions, axis, y);
}
/// scatter() for terms and y of rank 1 if the indices, contiguous int64, can serve as positions; otherwise false, and y
/// is unspecified.
bool scatter_if_positions(ScatterFunction f, const Tensor& terms, const Tensor& indices, const Tensor& y);
/// sum[outer, positions[outer, k, inner], inner] += terms[outer, k, inner]. The positions have the shape of the terms
/// and any strides; the sum has it too, except along `axis`.
void add_along(const Tensor& terms, const Tensor& positions, int axis, const Tensor& sum);
/// y[outer, indices[outer, k, inner], inner] = f(itself, terms[outer, k, inner]), like add_along, with indices as
/// find_positions takes them: any integer dtype and strides, broadcast to the shape of the terms. Returns the first one
/// that is out of range; y is unspecified then.
BadIndex scatter_along(ScatterFunction f, const Tensor& terms, const Tensor& indices, int axis, const Tensor& y);

/// last[k]: whether no later position equals positions[k], on an axis of this extent. Boolean, contiguous.
void find_last(const Tensor& positions, std::int64_t extent, const Tensor& last);
/// For each term the product of x at its position and of all other terms there, from both sides, so that it is exact
/// with zeros. `others` has the shape of the terms and is contiguous.
void products_of_others(const Tensor& x, const Tensor& terms, const Tensor& positions, int axis, const Tensor& others);
/// The shares of x and of the terms in y, which is scatter(max or min) of them: equal among the elements that equal it,
/// including NaN. Unless x is a `member`, its elements that receive terms have share 0. Contiguous, of the operands'
/// shapes.
void extreme_shares(const Tensor& x, const Tensor& terms, const Tensor& positions, const Tensor& y, int axis,
                    bool member, const Tensor& x_shares, const Tensor& term_shares);

/// The chains of terms with equal positions: `order` lists the terms by position, stably; `place` is its inverse;
/// before[i] and behind[i] are the numbers of terms with the same position before and behind the i-th in order. All
/// int64 [count], contiguous.
void find_runs(const Tensor& positions, std::int64_t extent, const Tensor& order, const Tensor& place,
               const Tensor& before, const Tensor& behind);

}  // namespace reel::loops
