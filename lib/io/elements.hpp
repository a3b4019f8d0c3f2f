// Elements between files and tensors.
#pragma once
#include <cstdint>
#include <reel/dtype.hpp>
#include <reel/shape.hpp>
#include <reel/tensor.hpp>
#include <string>

namespace reel::io {

/// How a file stores the elements of a tensor: as they are, or as integers of a type that no tensor has, which become
/// those of its dtype on reading.
struct Stored {
  DType dtype;
  std::uint8_t integer_bytes = 0;  // 0: as they are
  bool is_unsigned = false;
  constexpr operator DType() const noexcept { return dtype; }
  std::size_t size() const noexcept { return integer_bytes ? integer_bytes : item_size(dtype); }
};
inline constexpr Stored stored_int8{DType::int32, 1}, stored_int16{DType::int32, 2},
    stored_uint16{DType::int32, 2, true}, stored_uint32{DType::int64, 4, true}, stored_uint64{DType::int64, 8, true};

/// What is wrong with `bytes` as the elements of such a tensor; empty if nothing is.
std::string fault_of_size(std::uint64_t bytes, const Shape& shape, const Stored& type);

/// Where the `bytes` of a file go in the memory of a tensor: to its end, from where widen() takes them.
void* place_of_stored(const Tensor& x, void* data, std::uint64_t bytes);
/// Makes the elements of those bytes, in place. What is wrong with one that does not fit int64; empty if all fit.
std::string widen(void* data, std::uint64_t bytes, const Stored& type);

/// Swaps big-endian to little-endian in place; real and imaginary parts are swapped separately.
void swap_bytes(void* elements, std::uint64_t bytes, const Stored& type);

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
