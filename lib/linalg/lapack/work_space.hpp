// Workspaces of LAPACK's routines, allocated without exceptions. Private to lapack.cpp and decompositions.cpp.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <memory>
#include <new>

#include "kernels/fortran.hpp"
#include "linalg/lapack/lapack.hpp"

namespace reel::kernels::fortran {

// Memory for `length` elements; sets the code if there is none.
template <class T>
std::unique_ptr<T[]> elements(std::size_t length, int& code) {
  std::unique_ptr<T[]> memory(new (std::nothrow) T[length]);
  if (!memory) {
    code = out_of_memory;
  }
  return memory;
}

// The error code of a workspace of this many elements.
[[nodiscard]] inline int check_work_space(double length) noexcept {
  return length > static_cast<double>(largest_int) ? too_large : 0;
}

// A workspace whose length is passed to LAPACK: at least one element. Memory for read_behind(rows) further elements
// follows, for matrices with `rows` rows that lie in it.
template <class T>
class Buffer {
 public:
  Buffer(double length, int& code, std::ptrdiff_t rows = 1) {
    if (const int excess = check_work_space(length)) {
      code = excess;
      return;
    }
    length_ = std::max(1, static_cast<int>(length));
    const auto count = static_cast<std::size_t>(length_ + read_behind<T>(rows));
    if (count * sizeof(T) <= sizeof own_) {
      data_ = reinterpret_cast<T*>(own_);
      std::uninitialized_default_construct_n(data_, count);
      return;
    }
    memory_ = elements<T>(count, code);
    data_ = memory_.get();
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* data() const { return data_; }
  const int* length() const { return &length_; }

 private:
  // Enough for matrices of order 4, whose factorisations take as long as a few allocations.
  alignas(T) std::byte own_[1024];
  std::unique_ptr<T[]> memory_;
  T* data_ = nullptr;
  int length_ = 0;
};

// The length that a query wrote to the first element of a workspace. float cannot represent every int, so the next
// larger value is taken.
template <class T>
double workspace_size(const T& answer) {
  const auto best = std::real(answer);
  return static_cast<double>(best) * (sizeof best == 4 ? 1.000001 : 1.0);
}
inline double workspace_size(int answer) { return answer; }

// The length argument that asks LAPACK for the size of a workspace.
inline constexpr int query = -1;
// The largest extent of matrices whose workspaces have the documented least sizes: LAPACK does not use blocks for them,
// and a query takes up to a quarter of the time of a factorisation.
inline constexpr int unqueried_order = 16;

}  // namespace reel::kernels::fortran
