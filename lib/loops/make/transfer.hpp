// Elements between tensors and external memory: row-major, without gaps.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// The address of the first element of x. The strides lead to the others.
void* first_element(const Tensor& x) noexcept;
/// y = the elements in memory, of y's dtype. y is contiguous.
void copy_in(const void* elements, const Tensor& y) noexcept;
/// Copies the elements of x, with any strides, to memory as dtype `as`: one that holds their values, or boolean.
void copy_out(const Tensor& x, DType as, void* elements);

}  // namespace reel::loops
