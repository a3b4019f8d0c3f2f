// Reductions: of arrays, and along the columns of a matrix; indices of extrema; dot products.
#pragma once
#include "kernels/functions.hpp"
#include "kernels/loop.hpp"
#include "kernels/set.hpp"

namespace reel::kernels {

struct Reduction {
  // out[0] = the reduction of the n >= 1 elements, in a pairwise order that depends on n alone. max and min with a NaN
  // are NaN.
  void (*run)(Strided in, std::ptrdiff_t n, void* out);
  // acc[i] = acc[i] combined with in[i], both contiguous.
  void (*merge)(void* acc, const void* in, std::ptrdiff_t n);
  // out[i] = in[0][i] to in[count - 1][i] merged one after the other, count >= 1. Arrays are contiguous and do not
  // overlap. Only for floating types.
  void (*merge_all)(const void* const* in, std::ptrdiff_t count, void* out, std::ptrdiff_t n) = nullptr;
};

// out[j] = the index of the first greatest (least) of the n >= 1 elements j + i stride, for `count` neighbours j. A NaN
// counts as greatest and as least.
using ArgReduce = void (*)(Strided in, std::ptrdiff_t n, std::ptrdiff_t count, std::int64_t* out);

struct ReductionKernels {
  static constexpr KernelFamily family = KernelFamily::reductions;
  Reduction reduce[4][dtype_count];
  ArgReduce argmax[dtype_count], argmin[dtype_count];
  // The sum of a * b, in the order of ReduceFunction::sum.
  void (*dot[dtype_count])(Strided a, Strided b, std::ptrdiff_t n, void* out);
  // out = the sum of n >= 1 elements, NaNs as 0, in the order of ReduceFunction::sum. float32, float64.
  void (*sum_of_numbers[dtype_count])(const void* x, std::ptrdiff_t n, void* out);

  const Reduction& of(ReduceFunction f, DType d) const { return reduce[static_cast<std::size_t>(f)][index(d)]; }
};

/// The reduction of the set in use.
inline const Reduction& reduction(ReduceFunction f, DType d) { return active<ReductionKernels>().of(f, d); }

}  // namespace reel::kernels
