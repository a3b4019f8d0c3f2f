// Elements between files and tensors.
#pragma once
#include <cstdint>
#include <reel/dtype.hpp>
#include <reel/shape.hpp>
#include <reel/tensor.hpp>
#include <string>

namespace reel::io {

/// What is wrong with `bytes` as the elements of such a tensor; empty if nothing is.
std::string fault_of_size(std::uint64_t bytes, const Shape& shape, DType dtype);

/// Swaps big-endian to little-endian in place; real and imaginary parts are swapped separately.
void swap_bytes(void* elements, std::uint64_t bytes, DType dtype);

/// Normalises booleans, which are arbitrary bytes in a file, to 0 and 1.
void normalize_booleans(void* elements, std::uint64_t bytes);

/// The elements of a tensor, row-major: in place if it is contiguous, otherwise copied.
class RowMajor {
 public:
  /// ValueError for an empty handle, TraceError in a function that is traced.
  explicit RowMajor(const Tensor& x);
  const void* data() const noexcept { return data_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::string copy_;
  const void* data_;
  std::uint64_t bytes_;
};

}  // namespace reel::io
