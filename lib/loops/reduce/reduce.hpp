// Reductions by function; loops.hpp has those by kernel.
#pragma once
#include "loops/loops.hpp"

namespace reel::loops {

using kernels::ReduceFunction;

/// Whether there is a kernel: for numbers of at least 32 bits; max and min not for complex ones.
bool has_reduction(ReduceFunction f, DType d) noexcept;
/// out = x, reduced over `axes` (counted from the front, ascending). x has any strides; `out` is contiguous, of its
/// dtype, with one element per index of the other axes. With no elements to reduce, out is the identity of sum or prod;
/// max is 0 then and min 1, the identities for booleans.
void reduce(ReduceFunction f, const Tensor& x, const Shape& axes, const Tensor& out);
/// out = the sum of x, float32 or float64, with NaNs as 0: the bits of reduce() for the sum of elements replaced so.
void sum_of_numbers(const Tensor& x, const Shape& axes, const Tensor& out);
/// The sum of a contiguous tensor with more elements is the sum of the sums of runs of this length, the last one
/// shorter.
inline constexpr std::int64_t run_length = 65536;
/// out, one element, = the sum of `size` elements, given the sums of their runs in order.
void sum_of_runs(const Tensor& runs, std::int64_t size, const Tensor& out);
/// The numbers of a vector by which sums of this dtype, float32 or float64, are added.
std::size_t sum_lanes(DType d) noexcept;
/// As pointwise_reduce() of loops.hpp.
bool pointwise_reduce(kernels::Loop loop, const Shape& shape, std::span<const Tensor* const> in, ReduceFunction f,
                      const Shape& axes, const Tensor& out);

/// Whether there is a kernel for arg_reduce.
bool has_arg_reduction(DType d) noexcept;
/// out = the index along `axis`, of extent at least 1, of the first largest (max) or smallest (min) element, or of the
/// first NaN if there is one. `out` is int64, contiguous, with one element per index of the other axes.
void arg_reduce(ReduceFunction f, const Tensor& x, int axis, const Tensor& out);

/// out = the share of each element of x in the extreme z, which is x reduced over `axes` by max or min: equal shares
/// for the elements that equal it, or for the NaNs if it is NaN; otherwise 0. z and `out` are contiguous, of x's dtype,
/// float32 or float64; reduced axes of z may remain with extent 1.
void extreme_shares(const Tensor& x, const Tensor& z, const Shape& axes, const Tensor& out);

}  // namespace reel::loops
