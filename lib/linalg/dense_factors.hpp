// Factorisations and triangular solves of one row-major matrix, by blocked.hpp or by LAPACK: of float and double as the
// order decides, of std::complex by LAPACK where the library has it. Nothing throws; arguments and codes as in
// linalg/lapack/lapack.hpp and kernels/blas.hpp.
#pragma once
#include <reel/dtype.hpp>

#include "linalg/lapack/lapack.hpp"

namespace reel::loops::dense {

enum class Task : std::uint8_t { cholesky, lu, triangular };
/// Whether blocked.hpp handles matrices of order n, by a table in the source for the instruction set in use. The
/// numbers of matrices and of right-hand sides do not matter.
bool is_blocked(Task task, DType dtype, std::int64_t n);

/// The lower triangle; the upper one may be overwritten.
template <class T>
[[nodiscard]] int potrf(std::int64_t n, T* a, std::int64_t lda) noexcept;
template <class T>
[[nodiscard]] int getrf(std::int64_t n, T* a, std::int64_t lda, int* pivots) noexcept;
template <class T>
[[nodiscard]] int getrs(kernels::Transposed transposed, std::int64_t n, std::int64_t columns, const T* factors,
                        std::int64_t lda, const int* pivots, T* b, std::int64_t ldb) noexcept;
template <class T>
[[nodiscard]] int getri(std::int64_t n, T* factors, std::int64_t lda, const int* pivots) noexcept;
template <class T>
[[nodiscard]] int trsm(kernels::Side side, kernels::Triangle triangle, kernels::Transposed transposed,
                       kernels::Diagonal diagonal, std::int64_t m, std::int64_t n, const T* a, std::int64_t lda, T* b,
                       std::int64_t ldb) noexcept;

}  // namespace reel::loops::dense
