#include "mpi/rows.hpp"

#include <limits>

namespace reel::mpi {

int bytes_of(const char* op, std::int64_t elements, DType dtype) {
  const auto item = static_cast<std::int64_t>(item_size(dtype));
  if (elements > std::numeric_limits<int>::max() / item)
    throw ShapeError(std::string(op) + ": " + std::to_string(elements) + " elements of " + name(dtype) +
                     " for one rank; a message of MPI holds less than 2 GiB, so cut x");
  return static_cast<int>(elements * item);
}

Tensor sum_of_rows(const Tensor& x, std::int64_t begin, std::int64_t end) {
  if (end - begin == 1) return x[begin];
  std::int64_t half = 1;
  while (2 * half < end - begin) half *= 2;
  return sum_of_rows(x, begin, begin + half) + sum_of_rows(x, begin + half, end);
}

Tensor in_rows(const Tensor& x, std::int64_t size) {
  const std::int64_t part = (x.size() + size - 1) / size, padding = part * size - x.size();
  Tensor flat = reshape(x, {x.size()});
  if (padding > 0) flat = concatenate({flat, zeros({padding}, x.dtype())});
  return reshape(flat, {size, part});
}

}  // namespace reel::mpi
