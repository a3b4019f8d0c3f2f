// Reductions named by what they compute; loops.hpp has those that are given as kernels.
#pragma once
#include "loops/loops.hpp"

namespace reel::loops {

enum class ReduceFunction : std::uint8_t { sum, prod, max, min };  // max and min of booleans are any and all
/// Whether there is a kernel: for numbers of at least 32 bits, of max and min for all but complex ones.
bool has_reduction(ReduceFunction f, DType d) noexcept;
/// out = x, reduced over `axes` (from the front, ascending). x has any strides; `out` is contiguous, of its dtype, and
/// has one element per index of the other axes. Where there is nothing to reduce it is the identity of sum or prod; max
/// is 0 then, min 1, which are the identities of booleans.
void reduce(ReduceFunction f, const Tensor& x, const Shape& axes, const Tensor& out);
/// The sum of a contiguous tensor of more elements than this is made of the sums of runs of so many, and a last one.
inline constexpr std::int64_t run_length = 65536;
/// out, of one element, = the sum of `size` elements from those of their runs, which `runs` has in their order.
void sum_of_runs(const Tensor& runs, std::int64_t size, const Tensor& out);
/// As pointwise_reduce() of loops.hpp.
bool pointwise_reduce(kernels::Loop loop, const Shape& shape, std::span<const Tensor* const> in, ReduceFunction f,
                      const Shape& axes, const Tensor& out);

/// Whether there is a kernel for arg_reduce.
bool has_arg_reduction(DType d) noexcept;
/// out = the index along `axis`, of extent at least 1, of the first greatest (max) or least (min) element; the first
/// NaN if there is one. `out` is int64, contiguous, with one element per index of the other axes.
void arg_reduce(ReduceFunction f, const Tensor& x, int axis, const Tensor& out);

/// out = for each element of x its share in the extreme z, which is x reduced over `axes` by max or min: equal shares
/// for those that equal it, and for NaNs, which make it NaN; else 0. z and `out` are contiguous, of x's dtype, float32
/// or float64; z may have axes of extent 1 where x was reduced.
void extreme_shares(const Tensor& x, const Tensor& z, const Shape& axes, const Tensor& out);

}  // namespace reel::loops
