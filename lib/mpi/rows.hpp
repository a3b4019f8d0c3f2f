// What collectives have in common: memory to receive into, sizes of messages, and the order of sums.
#pragma once
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/shape.hpp>

#include "mpi/communicator.hpp"

namespace reel::mpi {

inline const void* elements(const Tensor& x) { return detail::contiguous_data(x, x.dtype()); }

// A tensor to receive into.
struct Received {
  void* data = nullptr;  // set while `tensor` is made, so it is first
  Tensor tensor;
  Received(const Shape& shape, DType dtype) : tensor(detail::uninitialized(shape, dtype, data)) {}
};

// The bytes of a message of so many elements: MPI counts in int. ShapeError for `op` beyond that.
int bytes_of(const char* op, std::int64_t elements, DType dtype);

// The sum of the rows [begin, end) of x, by a binary tree over their numbers.
Tensor sum_of_rows(const Tensor& x, std::int64_t begin, std::int64_t end);

// The elements of x in `size` rows, with zeros behind the last.
Tensor in_rows(const Tensor& x, std::int64_t size);

}  // namespace reel::mpi
