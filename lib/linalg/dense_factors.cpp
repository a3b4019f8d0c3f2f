#include "linalg/dense_factors.hpp"

#include <complex>
#include <string_view>
#include <type_traits>

#include "kernels/dispatch.hpp"
#include "kernels/set.hpp"
#include "linalg/blocked.hpp"

namespace reel::loops::dense {
namespace {

using kernels::Diagonal, kernels::Side, kernels::Transposed, kernels::Triangle;

// The largest orders of matrices that the library itself factorises and solves. Measured against OpenBLAS 0.3.21, with
// the core type that fits the instruction set, on an Intel Xeon (Sapphire Rapids) and, but for SSE2, an AMD EPYC (Zen
// 4): bench/README.md, "Factorisations". Cases that were not measured are left to LAPACK.
struct BlockedOrders {
  std::string_view isa;
  DType dtype;
  std::int64_t on_intel[3], on_amd[3];  // by Task
};
constexpr BlockedOrders blocked_orders[] = {
    {"avx512", DType::float32, {1024, 1024, 1024}, {1024, 512, 1024}},
    {"avx512", DType::float64, {1024, 1024, 1024}, {1024, 256, 1024}},
    {"avx2", DType::float32, {512, 256, 16}, {512, 256, 8}},
    {"avx2", DType::float64, {512, 256, 256}, {128, 128, 128}},
    {"sse2", DType::float32, {16, 16, 12}, {16, 16, 12}},
    {"sse2", DType::float64, {16, 16, 8}, {16, 16, 8}},
};
constexpr std::int64_t elsewhere = 64;  // upper limit on processors of other makers, by the column of Intel

template <class T>
constexpr DType dtype = sizeof(T) == 4 ? DType::float32 : DType::float64;

}  // namespace

bool is_blocked(Task task, DType d, std::int64_t n) {
  if (!kernels::has_lapack) return true;
  const kernels::Vendor vendor = kernels::tables();
  if (vendor == kernels::Vendor::other && n > elsewhere) return false;
  const std::string_view isa = kernels::active().isa;
  for (const BlockedOrders& choice : blocked_orders)
    if (choice.dtype == d && choice.isa == isa)
      return n <= (vendor == kernels::Vendor::amd ? choice.on_amd : choice.on_intel)[static_cast<std::size_t>(task)];
  return false;
}

namespace {

template <class T>
bool use_blocked(Task task, std::int64_t n) {
  return std::is_floating_point_v<T> ? is_blocked(task, dtype<T>, n) : !kernels::has_lapack;
}

}  // namespace

template <class T>
int potrf(std::int64_t n, T* a, std::int64_t lda) noexcept {
  if constexpr (kernels::has_lapack)
    if (!use_blocked<T>(Task::cholesky, n)) return kernels::potrf(Triangle::lower, n, a, lda);
  return blocked::potrf(n, a, lda);
}
template <class T>
int getrf(std::int64_t n, T* a, std::int64_t lda, int* pivots) noexcept {
  if constexpr (kernels::has_lapack)
    if (!use_blocked<T>(Task::lu, n)) return kernels::getrf(n, n, a, lda, pivots);
  return blocked::getrf(n, a, lda, pivots);
}
template <class T>
int getrs(Transposed transposed, std::int64_t n, std::int64_t columns, const T* factors, std::int64_t lda,
          const int* pivots, T* b, std::int64_t ldb) noexcept {
  if constexpr (kernels::has_lapack)
    if (!use_blocked<T>(Task::triangular, n))
      return kernels::getrs(transposed, n, columns, factors, lda, pivots, b, ldb);
  return blocked::getrs(transposed == Transposed::yes, n, columns, factors, lda, pivots, b, ldb);
}
template <class T>
int getri(std::int64_t n, T* factors, std::int64_t lda, const int* pivots) noexcept {
  if constexpr (kernels::has_lapack)
    if (!use_blocked<T>(Task::lu, n)) return kernels::getri(n, factors, lda, pivots);
  return blocked::getri(n, factors, lda, pivots);
}

template <class T>
int trsm(Side side, Triangle triangle, Transposed transposed, Diagonal diagonal, std::int64_t m, std::int64_t n,
         const T* a, std::int64_t lda, T* b, std::int64_t ldb) noexcept {
  const bool left = side == Side::left;
  if constexpr (kernels::has_lapack)
    if (!use_blocked<T>(Task::triangular, left ? m : n))
      return kernels::trsm(side, triangle, transposed, diagonal, m, n, 1, a, lda, b, ldb);
  // X op(A) = B is op(A)^T X^T = B^T.
  const bool flipped = (transposed == Transposed::yes) == left, lower = (triangle == Triangle::lower) != flipped;
  const bool unit = diagonal == Diagonal::unit;
  const std::int64_t a_row = flipped ? 1 : lda, a_column = flipped ? lda : 1;
  if (left) return blocked::solve<T>({m, n, lower, unit, a, a_row, a_column, b, ldb, 1});
  return blocked::solve<T>({n, m, lower, unit, a, a_row, a_column, b, 1, ldb});
}

#define REEL_DENSE(T)                                                                                                \
  template int potrf<T>(std::int64_t, T*, std::int64_t) noexcept;                                                    \
  template int getrf<T>(std::int64_t, T*, std::int64_t, int*) noexcept;                                              \
  template int getrs<T>(Transposed, std::int64_t, std::int64_t, const T*, std::int64_t, const int*, T*,              \
                        std::int64_t) noexcept;                                                                      \
  template int getri<T>(std::int64_t, T*, std::int64_t, const int*) noexcept;                                        \
  template int trsm<T>(Side, Triangle, Transposed, Diagonal, std::int64_t, std::int64_t, const T*, std::int64_t, T*, \
                       std::int64_t) noexcept;
REEL_DENSE(float)
REEL_DENSE(double)
REEL_DENSE(std::complex<float>)
REEL_DENSE(std::complex<double>)
#undef REEL_DENSE

}  // namespace reel::loops::dense
