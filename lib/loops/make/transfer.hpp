// Elements between tensors and memory outside them: row-major, without gaps.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// Where the first element of x lies. Others are found by the strides.
void* first_element(const Tensor& x) noexcept;
/// y = the elements in memory, of the dtype of y, which is contiguous.
void copy_in(const void* elements, const Tensor& y) noexcept;
/// The elements of x, of any strides, to memory as dtype `as`: one that holds their values, or boolean.
void copy_out(const Tensor& x, DType as, void* elements);

}  // namespace reel::loops
