// NumPy's array format, https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html:
// 1. six bytes of magic, two of version; 2. the header's length, 16 bits in version 1, 32 in versions 2 and 3;
// 3. the header, a Python dictionary as text, padded with spaces to a multiple of 64 bytes; 4. the elements.
#pragma once
#include <reel/tensor.hpp>
#include <string>

#include "io/input_file.hpp"

namespace reel::io {

/// Reads the array; the stream must contain nothing else.
Tensor read_npy(ByteStream& in);

/// Everything in front of the elements of an array in C order.
std::string npy_header(const Tensor& x);

}  // namespace reel::io
