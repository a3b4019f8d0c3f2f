// Products, triangular solves and QR in plain loops, with the arguments and codes of blas.hpp and lapack.hpp. Used in a
// library without OpenBLAS, where it has no blocked form of its own.
#pragma once

#include "linalg/lapack/lapack.hpp"

namespace reel::kernels::plain {

template <class T>
[[nodiscard]] int gemm(Transposed transpose_a, Transposed transpose_b, std::ptrdiff_t m, std::ptrdiff_t n,
                       std::ptrdiff_t k, std::type_identity_t<T> alpha, const T* a, std::ptrdiff_t lda, const T* b,
                       std::ptrdiff_t ldb, std::type_identity_t<T> beta, T* c, std::ptrdiff_t ldc) noexcept;
template <class T>
[[nodiscard]] T dot(std::ptrdiff_t n, const T* x, std::ptrdiff_t stride_x, const T* y,
                    std::ptrdiff_t stride_y) noexcept;
template <class T>
[[nodiscard]] int trtrs(Triangle triangle, Transposed transpose_a, Diagonal diagonal, std::ptrdiff_t n,
                        std::ptrdiff_t columns, const T* a, std::ptrdiff_t lda, T* b, std::ptrdiff_t ldb) noexcept;
// Householder QR, column by column. In geqp3 every column is free: `order` is only written.
template <class T>
[[nodiscard]] int geqrf(std::ptrdiff_t m, std::ptrdiff_t n, T* a, std::ptrdiff_t lda, T* tau) noexcept;
template <class T>
[[nodiscard]] int geqp3(std::ptrdiff_t m, std::ptrdiff_t n, T* a, std::ptrdiff_t lda, int* order, T* tau) noexcept;
template <class T>
[[nodiscard]] int ormqr(Side side, Transposed transpose_q, std::ptrdiff_t m, std::ptrdiff_t n,
                        std::ptrdiff_t reflectors, const T* a, std::ptrdiff_t lda, const T* tau, T* c,
                        std::ptrdiff_t ldc) noexcept;

}  // namespace reel::kernels::plain

// The same names for the available implementation: OpenBLAS or these.
namespace reel::kernels {
#ifdef REEL_WITHOUT_LAPACK
namespace linear_algebra = plain;
#else
namespace linear_algebra = reel::kernels;
#endif
}  // namespace reel::kernels
