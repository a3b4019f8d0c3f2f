// Recursion on halves (Toledo 1997, "Locality of reference in LU decomposition with partial pivoting"): most of the
// work is in matrix products, the more so the larger the order. The division into halves depends on the order alone.
#include "linalg/blocked.hpp"

#include <algorithm>
#include <complex>
#include <memory>
#include <new>

#include "linalg/lapack/lapack.hpp"
#include "linalg/plain_factors.hpp"
#include "linalg/small_factors.hpp"
#include "loops/product/tiled_product.hpp"

namespace reel::loops::blocked {
namespace {

template <class T>
constexpr DType dtype = sizeof(T) == 4 ? DType::float32 : DType::float64;

template <class T>
constexpr bool is_complex = !std::is_floating_point_v<T>;

template <class T>
const kernels::SmallFactors& small() {
  return kernels::active<kernels::SmallFactorKernels>()[dtype<T>];
}

// A half of `n` > order: a multiple of the smallest order.
std::int64_t first_half(std::int64_t n, std::int64_t order) { return (n / 2 + order - 1) / order * order; }

template <class T>
struct Matrix {
  T* data;
  std::int64_t row, column;  // strides
  Matrix at(std::int64_t i, std::int64_t j) const { return {data + i * row + j * column, row, column}; }
  Matrix transposed() const { return {data, column, row}; }
};

// Memory for the packed factors of products.
class Workspace {
 public:
  // Reserves memory for products of up to rows x k by k x columns. False if the allocation fails.
  template <class T>
  bool reserve(std::int64_t rows, std::int64_t columns, std::int64_t k) {
    const std::int64_t size = static_cast<std::int64_t>(sizeof(T));
    const Factor a{nullptr, rows, k, k, 1, {}}, b{nullptr, k, columns, columns, 1, {}};
    const std::int64_t bytes =
        TiledProduct(dtype<T>, a, b, columns, Into::subtract).most_bytes(rows, columns) + alignment - size;
    if (bytes <= static_cast<std::int64_t>(sizeof near_)) return true;
    far_.reset(new (std::nothrow) std::byte[static_cast<std::size_t>(bytes)]);
    if (!far_) return false;
    memory_ = far_.get() + (alignment - static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(far_.get()) %
                                                                  static_cast<std::uintptr_t>(alignment)));
    return true;
  }
  std::byte* memory() const { return memory_; }

 private:
  static constexpr std::int64_t alignment = 64;
  static constexpr std::size_t near_bytes = 16 * 1024;  // half of the smallest first-level data cache
  alignas(alignment) std::byte near_[near_bytes];
  std::unique_ptr<std::byte[]> far_;
  std::byte* memory_ = near_;
};

// c -= a b, with factors of m x k and k x n; rows of c are contiguous.
template <class T>
void subtract_product(const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& c, std::int64_t m,
                      std::int64_t n, std::int64_t k, const Workspace& work) {
  const auto* from_a = reinterpret_cast<const std::byte*>(a.data);
  const auto* from_b = reinterpret_cast<const std::byte*>(b.data);
  const TiledProduct product(dtype<T>, {from_a, m, k, a.row, a.column, {}}, {from_b, k, n, b.row, b.column, {}}, c.row,
                             Into::subtract);
  product(from_a, from_b, reinterpret_cast<std::byte*>(c.data), m, n, work.memory());
}

template <class T>
Matrix<const T> constant(const Matrix<T>& x) {
  return {x.data, x.row, x.column};
}

template <class T>
void solve(const System<T>& s, const Workspace& work) {
  const std::int64_t order = small<T>().order;
  if (s.n <= order)
    return small<T>().solve({s.n, s.a, s.a_row, s.a_column, s.lower, s.unit, s.b, s.b_row, s.b_column, s.columns});
  const std::int64_t half = first_half(s.n, order), rest = s.n - half;
  System<T> first = s, second = s;
  first.n = half;
  second.n = rest;
  second.a += half * (s.a_row + s.a_column);
  second.b += half * s.b_row;
  const Matrix<const T> a{s.a, s.a_row, s.a_column};
  const Matrix<T> x{s.b, s.b_row, s.b_column}, y = x.at(half, 0);
  // y -= (block of A) x, as it lies in memory.
  const auto eliminate = [&](const Matrix<const T>& block, const Matrix<T>& from, const Matrix<T>& to, std::int64_t m,
                             std::int64_t k) {
    if (s.b_column == 1)
      subtract_product(block, constant(from), to, m, s.columns, k, work);
    else
      subtract_product(constant(from.transposed()), block.transposed(), to.transposed(), s.columns, m, k, work);
  };
  if (s.lower) {
    solve(first, work);
    eliminate(a.at(half, 0), x, y, rest, half);
    solve(second, work);
  } else {
    solve(second, work);
    eliminate(a.at(0, half), y, x, half, rest);
    solve(first, work);
  }
}

// Solves X A = B in place for B [rows, n] and upper triangular A.
template <class T>
void solve_right(const Matrix<const T>& a, bool unit, const Matrix<T>& b, std::int64_t rows, std::int64_t n,
                 const Workspace& work) {
  solve<T>({n, rows, true, unit, a.data, a.column, a.row, b.data, b.column, b.row}, work);
}

template <class T>
std::int64_t cholesky(const Matrix<T>& a, std::int64_t n, const Workspace& work);

// c -= x x^T; only the lower triangle counts.
template <class T>
void subtract_square(const Matrix<T>& x, const Matrix<T>& c, std::int64_t n, std::int64_t k, const Workspace& work) {
  constexpr std::int64_t whole = 48;  // below this order, computing both triangles costs less than two products
  if (n <= whole) return subtract_product(constant(x), constant(x.transposed()), c, n, n, k, work);
  const std::int64_t half = first_half(n, small<T>().order);
  subtract_square(x, c, half, k, work);
  subtract_product(constant(x.at(half, 0)), constant(x.transposed()), c.at(half, 0), n - half, half, k, work);
  subtract_square(x.at(half, 0), c.at(half, half), n - half, k, work);
}

template <class T>
std::int64_t cholesky(const Matrix<T>& a, std::int64_t n, const Workspace& work) {
  const std::int64_t order = small<T>().order;
  if (n <= order) return small<T>().cholesky(a.data, a.row, n);
  const std::int64_t half = first_half(n, order), rest = n - half;
  if (const std::int64_t failed = cholesky(a, half, work)) return failed;
  const Matrix<T> below = a.at(half, 0), corner = a.at(half, half);
  solve_right(constant(a.transposed()), false, below, rest, half, work);
  subtract_square(below, corner, rest, half, work);
  const std::int64_t failed = cholesky(corner, rest, work);
  return failed ? half + failed : 0;
}

// Swaps columns of the rows [begin, end) as pivots [first, last) say, which count from `origin`.
template <class T>
void swap_columns(const Matrix<T>& a, std::int64_t begin, std::int64_t end, const int* pivots, std::int64_t first,
                  std::int64_t last) {
  for (std::int64_t i = begin; i < end; ++i) {
    T* row = a.data + i * a.row;
    for (std::int64_t k = first; k < last; ++k)
      if (pivots[k] - 1 != k) std::swap(row[k], row[pivots[k] - 1]);
  }
}

// Factorises the first `rows` rows of a matrix with this number of columns.
template <class T>
std::int64_t lu(const Matrix<T>& a, std::int64_t rows, std::int64_t columns, int* pivots, const Workspace& work) {
  const std::int64_t order = small<T>().order;
  if (rows <= order) return small<T>().lu(a.data, a.row, rows, columns, pivots);
  const std::int64_t half = first_half(rows, order), rest = rows - half;
  const std::int64_t zero = lu(a, half, columns, pivots, work);
  swap_columns(a, half, rows, pivots, 0, half);
  const Matrix<T> below = a.at(half, 0), corner = a.at(half, half);
  solve_right(constant(a), true, below, rest, half, work);
  subtract_product(constant(below), constant(a.at(0, half)), corner, rest, columns - half, half, work);
  const std::int64_t later = lu(corner, rest, columns - half, pivots + half, work);
  for (std::int64_t k = half; k < rows; ++k) pivots[k] += static_cast<int>(half);
  swap_columns(a, 0, half, pivots, half, rows);
  return zero ? zero : later ? half + later : 0;
}

template <class T>
bool is_small(std::int64_t n) {
  return n <= small<T>().order;
}

}  // namespace

template <class T>
int solve(const System<T>& s) noexcept {
  if constexpr (is_complex<T>) {
    plain::solve(s);
  } else {
    Workspace work;
    if (!is_small<T>(s.n) && !work.reserve<T>(std::max(s.n, s.columns), std::max(s.n, s.columns), s.n))
      return kernels::out_of_memory;
    if (s.n > 0 && s.columns > 0) solve(s, work);
  }
  return 0;
}

template <class T>
int potrf(std::int64_t n, T* a, std::int64_t lda) noexcept {
  if constexpr (is_complex<T>) {
    return plain::potrf(n, a, lda);
  } else {
    Workspace work;
    if (!is_small<T>(n) && !work.reserve<T>(n, n, n)) return kernels::out_of_memory;
    return static_cast<int>(cholesky(Matrix<T>{a, lda, 1}, n, work));
  }
}

template <class T>
int getrf(std::int64_t n, T* a, std::int64_t lda, int* pivots) noexcept {
  if constexpr (is_complex<T>) {
    return plain::getrf(n, n, a, lda, pivots);
  } else {
    Workspace work;
    if (!is_small<T>(n) && !work.reserve<T>(n, n, n)) return kernels::out_of_memory;
    return static_cast<int>(lu(Matrix<T>{a, lda, 1}, n, n, pivots, work));
  }
}

// A = U' L' P', see linalg/lapack/lapack.hpp.
template <class T>
int getrs(bool transpose, std::int64_t n, std::int64_t columns, const T* factors, std::int64_t lda, const int* pivots,
          T* b, std::int64_t ldb) noexcept {
  const auto swap_with_pivot = [&](std::int64_t row) {
    const std::int64_t other = pivots[row] - 1;
    if (other != row) std::swap_ranges(b + row * ldb, b + row * ldb + columns, b + other * ldb);
  };
  const auto solve_half = [&](bool lower) {
    return solve<T>(
        {n, columns, lower != transpose, !lower, factors, transpose ? 1 : lda, transpose ? lda : 1, b, ldb, 1});
  };
  for (std::int64_t row = 0; transpose && row < n; ++row) swap_with_pivot(row);
  if (const int code = solve_half(!transpose)) return code;
  if (const int code = solve_half(transpose)) return code;
  for (std::int64_t row = n - 1; !transpose && row >= 0; --row) swap_with_pivot(row);
  return 0;
}

// Solves for the columns of the identity.
template <class T>
int getri(std::int64_t n, T* factors, std::int64_t lda, const int* pivots) noexcept {
  for (std::int64_t i = 0; i < n; ++i)
    if (factors[i * (lda + 1)] == T(0)) return static_cast<int>(i + 1);
  T near[256];
  std::unique_ptr<T[]> far;
  T* z = near;
  if (n * n > std::ssize(near)) {
    far.reset(new (std::nothrow) T[static_cast<std::size_t>(n * n)]);
    if (!far) return kernels::out_of_memory;
    z = far.get();
  }
  std::fill_n(z, n * n, T(0));
  for (std::int64_t i = 0; i < n; ++i) z[i * (n + 1)] = 1;
  if (const int code = getrs(false, n, n, factors, lda, pivots, z, n)) return code;
  for (std::int64_t i = 0; i < n; ++i) std::copy_n(z + i * n, n, factors + i * lda);
  return 0;
}

#define REEL_BLOCKED(T)                                                                           \
  template int solve<T>(const System<T>&) noexcept;                                               \
  template int potrf<T>(std::int64_t, T*, std::int64_t) noexcept;                                 \
  template int getrf<T>(std::int64_t, T*, std::int64_t, int*) noexcept;                           \
  template int getrs<T>(bool, std::int64_t, std::int64_t, const T*, std::int64_t, const int*, T*, \
                        std::int64_t) noexcept;                                                   \
  template int getri<T>(std::int64_t, T*, std::int64_t, const int*) noexcept;
REEL_BLOCKED(float)
REEL_BLOCKED(double)
REEL_BLOCKED(std::complex<float>)
REEL_BLOCKED(std::complex<double>)
#undef REEL_BLOCKED

}  // namespace reel::loops::blocked
