// Dense products and triangular solves by the Fortran symbols of OpenBLAS, for float and double.
// Every matrix here is row-major: element (i, j) of A lies at a[i * lda + j], and `lda` is at least the row length.
// Nothing throws: the result is 0, or one of the codes below. OpenBLAS is set to one thread wherever it uses more.
#pragma once

#include <cstddef>
#include <limits>
#include <type_traits>

namespace reel::kernels {

// Whether the library is built with OpenBLAS. If not, only prepare_blas, blas_core and tune_blas of this file and of
// lapack.hpp are defined, in no_blas.cpp. lib/linalg/lapack/plain.hpp replaces those of the others that are needed.
#ifdef REEL_WITHOUT_LAPACK
inline constexpr bool has_lapack = false;
#else
inline constexpr bool has_lapack = true;
#endif

enum class Transposed : bool { no, yes };
constexpr Transposed transposed_if(bool condition) { return condition ? Transposed::yes : Transposed::no; }
enum class Triangle : bool { lower, upper };
enum class Side : bool { left, right };
enum class Diagonal : bool { stored, unit };

// Error codes of the wrappers; LAPACK's are small (see lapack.hpp).
inline constexpr int too_large = std::numeric_limits<int>::min();          // an extent does not fit LP64's 32-bit int
inline constexpr int out_of_memory = std::numeric_limits<int>::min() + 1;  // workspace allocation failed
inline constexpr int bad_extent = std::numeric_limits<int>::min() + 2;     // negative extent or short leading dimension

// Makes OpenBLAS use one thread, process-wide: its own threads change results bitwise and overflow small stacks. Every
// function of blas.hpp and lapack.hpp calls it first, since the program may change the number at any time.
void prepare_blas() noexcept;

// OpenBLAS's name for the core type whose kernels it uses.
const char* blas_core() noexcept;
// Makes OpenBLAS choose kernels that match the processor, if it does not know the processor and uses kernels without
// AVX2. Returns a description of what it found, a string literal. See reel::tune_blas.
const char* tune_blas() noexcept;

// C[m, n] = alpha op(A) op(B) + beta C. op(A) is [m, k], op(B) is [k, n]; with beta = 0 C is only written, so it may
// hold anything; k = 0 gives beta C. C overlaps neither A nor B.
template <class T>
[[nodiscard]] int gemm(Transposed transpose_a, Transposed transpose_b, std::ptrdiff_t m, std::ptrdiff_t n,
                       std::ptrdiff_t k, std::type_identity_t<T> alpha, const T* a, std::ptrdiff_t lda, const T* b,
                       std::ptrdiff_t ldb, std::type_identity_t<T> beta, T* c, std::ptrdiff_t ldc) noexcept;

// The lower triangle of C[n, n], diagonal included: op(A) op(A)^T, where op(A) is [n, k], or that added to it. What
// lies above it keeps its values.
template <class T>
[[nodiscard]] int syrk(Transposed transpose, std::ptrdiff_t n, std::ptrdiff_t k, const T* a, std::ptrdiff_t lda,
                       bool add, T* c, std::ptrdiff_t ldc) noexcept;

// y = alpha op(A) x + beta y, where the stored A is [m, n]; so y has m elements, or n when transposed.
// Strides are in elements and positive; with beta = 0 y is only written.
template <class T>
[[nodiscard]] int gemv(Transposed transpose_a, std::ptrdiff_t m, std::ptrdiff_t n, std::type_identity_t<T> alpha,
                       const T* a, std::ptrdiff_t lda, const T* x, std::ptrdiff_t stride_x,
                       std::type_identity_t<T> beta, T* y, std::ptrdiff_t stride_y) noexcept;

// The sum of x[i] y[i]; strides in elements, positive. Any n (divided into parts of a fixed size).
template <class T>
[[nodiscard]] T dot(std::ptrdiff_t n, const T* x, std::ptrdiff_t stride_x, const T* y,
                    std::ptrdiff_t stride_y) noexcept;

// Solves op(A) X = alpha B (left, A is [m, m]) or X op(A) = alpha B (right, A is [n, n]) in place: B [m, n] becomes X.
// Only the named triangle of A is read. A zero on the diagonal gives inf or NaN, not a code.
template <class T>
[[nodiscard]] int trsm(Side side, Triangle triangle, Transposed transpose_a, Diagonal diagonal, std::ptrdiff_t m,
                       std::ptrdiff_t n, std::type_identity_t<T> alpha, const T* a, std::ptrdiff_t lda, T* b,
                       std::ptrdiff_t ldb) noexcept;

}  // namespace reel::kernels
