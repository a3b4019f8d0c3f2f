// Recursion on halves, as the factorisations of linalg/blocked.cpp. Of a matrix in blocks 11, 12, 21, 22 block 22
// is handled first and block 11 last (Murray 2016, "Differentiation of the Cholesky decomposition", arXiv:1602.07527,
// section 3). In between are matrix products and triangular solves.
#include "linalg/factor_derivatives.hpp"

#include <algorithm>
#include <complex>
#include <memory>
#include <new>
#include <type_traits>

#include "kernels/baseline/copy.hpp"
#include "linalg/dense_factors.hpp"
#include "linalg/lapack_codes.hpp"
#include "loops/loops.hpp"
#include "loops/product/matrices.hpp"
#include "loops/product/tiled_product.hpp"

namespace reel::loops {
namespace {

using kernels::Diagonal, kernels::Side, kernels::Transposed, kernels::Triangle;
using reel::detail::mutable_data;

/// The largest order of the unblocked loops; rows "cholesky" and "lu".
constexpr std::int64_t unblocked_order = 16;
/// The largest order of triangles that are computed as squares, in a tile on the stack: 16 KiB of complex128.
constexpr std::int64_t tile_order = 32;

std::int64_t leading_half(std::int64_t n) { return (n / 2 + unblocked_order - 1) / unblocked_order * unblocked_order; }

template <class T>
constexpr bool is_real = std::is_floating_point_v<T>;
template <class T>
T conj_of(const T& x) {
  if constexpr (is_real<T>)
    return x;
  else
    return std::conj(x);
}
// For complex numbers without the standard's check for infinities, which calls a function for NaN.
template <class T>
T times(const T& x, const T& y) {
  if constexpr (is_real<T>)
    return x * y;
  else
    return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}

/// One of the strides is 1.
template <class T>
struct MatrixPart {
  T* data;
  std::int64_t row, column;
  T& operator()(std::int64_t i, std::int64_t j) const { return data[i * row + j * column]; }
  MatrixPart at(std::int64_t i, std::int64_t j) const { return {data + i * row + j * column, row, column}; }
  MatrixPart transposed() const { return {data, column, row}; }
  std::int64_t leading() const { return std::max(row, column); }
};

/// Products and triangular solves of products of matrices. Keeps the first code that is not 0, and memory for packed
/// factors.
template <class T>
class PartProducts {
 public:
  int code() const { return code_; }
  // c -= a b, of m x k and k x n.
  void subtract(const MatrixPart<T>& c, const MatrixPart<T>& a, const MatrixPart<T>& b, std::int64_t m, std::int64_t n,
                std::int64_t k) {
    if (c.column != 1) return subtract(c.transposed(), b.transposed(), a.transposed(), n, m, k);
    if constexpr (is_real<T> && kernels::has_lapack)
      if (!is_tiled(dtype, m, n, k))
        return note(kernels::gemm<T>(kernels::transposed_if(a.column != 1), kernels::transposed_if(b.column != 1), m, n,
                                     k, -1, a.data, a.leading(), b.data, b.leading(), 1, c.data, c.row));
    const auto* from_a = reinterpret_cast<const std::byte*>(a.data);
    const auto* from_b = reinterpret_cast<const std::byte*>(b.data);
    const TiledProduct product(dtype, {from_a, m, k, a.row, a.column, {}}, {from_b, k, n, b.row, b.column, {}}, c.row,
                               Into::subtract);
    product(from_a, from_b, reinterpret_cast<std::byte*>(c.data), m, n, memory(product.bytes(m, n)));
  }
  // The same for the lower triangle of c [n, n] alone, without the diagonal if `strict`.
  void subtract_lower(const MatrixPart<T>& c, const MatrixPart<T>& a, const MatrixPart<T>& b, std::int64_t n,
                      std::int64_t k, bool strict = false) {
    if (n > tile_order) {
      const std::int64_t half = leading_half(n), rest = n - half;
      subtract_lower(c, a, b, half, k, strict);
      subtract(c.at(half, 0), a.at(half, 0), b, rest, half, k);
      return subtract_lower(c.at(half, half), a.at(half, 0), b.at(0, half), rest, k, strict);
    }
    T tile[tile_order * tile_order];
    std::fill_n(tile, n * n, T(0));
    const MatrixPart<T> all{tile, n, 1};
    subtract(all, a, b, n, n, k);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < (strict ? i : i + 1); ++j) c(i, j) += all(i, j);
  }
  // op(a) x = b, or x op(a) = b, in place of b [m, n].
  void solve(Side side, Triangle triangle, Transposed transposed, Diagonal diagonal, const MatrixPart<T>& a,
             const MatrixPart<T>& b, std::int64_t m, std::int64_t n) {
    note(dense::trsm<T>(side, triangle, transposed, diagonal, m, n, a.data, a.row, b.data, b.row));
  }

 private:
  static constexpr DType dtype = std::is_same_v<T, float>                 ? DType::float32
                                 : std::is_same_v<T, double>              ? DType::float64
                                 : std::is_same_v<T, std::complex<float>> ? DType::complex64
                                                                          : DType::complex128;
  static constexpr std::int64_t alignment = 64;
  void note(int code) {
    if (code_ == 0) code_ = code;
  }
  std::byte* memory(std::int64_t bytes) {
    if (bytes <= static_cast<std::int64_t>(sizeof near_)) return near_;
    if (bytes > bytes_) {
      far_ = std::make_unique<std::byte[]>(static_cast<std::size_t>(bytes + alignment));
      bytes_ = bytes;
    }
    const auto beyond = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(far_.get()) % alignment);
    return far_.get() + (alignment - beyond);
  }

  int code_ = 0;
  std::int64_t bytes_ = 0;
  std::unique_ptr<std::byte[]> far_;
  alignas(alignment) std::byte near_[16 * 1024];
};

// above = below^H, for below [rows, columns].
template <class T>
void mirror(const MatrixPart<T>& below, const MatrixPart<T>& above, std::int64_t rows, std::int64_t columns) {
  kernels::copy_matrix(below.data, below.column, below.row, above.data, above.row, columns, rows, sizeof(T));
  if constexpr (!is_real<T>)
    for (std::int64_t i = 0; i < columns; ++i)
      for (std::int64_t j = 0; j < rows; ++j) above(i, j) = std::conj(above(i, j));
}
template <class T>
void mirror_triangle(const MatrixPart<T>& x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < i; ++j) x(j, i) = conj_of(x(i, j));
}

// ---- Cholesky. Reverse: g becomes twice the cotangent, the Hermitian matrix t + t^H of that of the triangle, t.

template <class T>
void reverse_cholesky_unblocked(const MatrixPart<T>& l, const MatrixPart<T>& g, std::int64_t n) {
  for (std::int64_t i = n - 1; i >= 0; --i) {
    const T* of = &l(i, 0);
    T* row = &g(i, 0);
    const auto diagonal = std::real(row[i]) / std::real(of[i]);
    row[i] = diagonal;
    for (std::int64_t k = 0; k < i; ++k) row[k] -= diagonal * of[k];
    for (std::int64_t j = i - 1; j >= 0; --j) {
      const T *above = &l(j, 0), x = row[j] / std::real(above[j]), conjugate_x = conj_of(x);
      T* to = &g(j, 0);
      row[j] = x;
      for (std::int64_t k = 0; k < j; ++k) row[k] -= times(x, above[k]);
      for (std::int64_t k = 0; k <= j; ++k) to[k] -= times(conjugate_x, of[k]);
    }
  }
  mirror_triangle(g, n);
}

template <class T>
void reverse_cholesky(const MatrixPart<T>& l, const MatrixPart<T>& g, std::int64_t n, PartProducts<T>& products) {
  if (n <= unblocked_order) return reverse_cholesky_unblocked(l, g, n);
  const std::int64_t half = leading_half(n), rest = n - half;
  const MatrixPart<T> g12 = g.at(0, half), g21 = g.at(half, 0), g22 = g.at(half, half), l21 = l.at(half, 0);
  reverse_cholesky(l.at(half, half), g22, rest, products);
  products.subtract(g21, g22, l21, rest, half, rest);
  products.solve(Side::right, Triangle::lower, Transposed::no, Diagonal::stored, l, g21, rest, half);
  mirror(g21, g12, rest, half);
  products.subtract_lower(g, g12, l21, half, rest);
  reverse_cholesky(l, g, half, products);
}

// ---- LU, of packed factors f. Reverse: the conjugates of cotangents, so that no factor is conjugated.

template <class T>
void reverse_lu_unblocked(const MatrixPart<T>& f, const MatrixPart<T>& g, std::int64_t n) {
  for (std::int64_t k = n - 1; k >= 0; --k) {
    const T* upper = &f(k, 0);
    T* of_upper = &g(k, 0);
    for (std::int64_t i = k + 1; i < n; ++i) {
      const T lower = f(i, k);
      T *row = &g(i, 0), rest = row[k];
      for (std::int64_t j = k + 1; j < n; ++j) {
        rest -= times(row[j], upper[j]);
        of_upper[j] -= times(lower, row[j]);
      }
      row[k] = rest / upper[k];
      of_upper[k] -= times(row[k], lower);
    }
  }
}

template <class T>
void reverse_lu(const MatrixPart<T>& f, const MatrixPart<T>& g, std::int64_t n, PartProducts<T>& products) {
  if (n <= unblocked_order) return reverse_lu_unblocked(f, g, n);
  const std::int64_t half = leading_half(n), rest = n - half;
  const MatrixPart<T> f12 = f.at(0, half), f21 = f.at(half, 0);
  const MatrixPart<T> g12 = g.at(0, half), g21 = g.at(half, 0), g22 = g.at(half, half);
  reverse_lu(f.at(half, half), g22, rest, products);
  products.subtract(g21, g22, f12.transposed(), rest, half, rest);
  products.subtract(g12, f21.transposed(), g22, half, rest, rest);
  products.solve(Side::left, Triangle::lower, Transposed::yes, Diagonal::unit, f, g12, half, rest);
  products.solve(Side::right, Triangle::upper, Transposed::yes, Diagonal::stored, f, g21, rest, half);
  products.subtract_lower(g, g12, f12.transposed(), half, rest, true);
  products.subtract_lower(g.transposed(), g21.transposed(), f21, half, rest);
  reverse_lu(f, g, half, products);
}

// Forward: block 11 is handled first. Block 21 is (t21 - f21 t11) / f22 and so on, as in the factorisation.

template <class T>
void forward_lu_unblocked(const MatrixPart<T>& f, const MatrixPart<T>& t, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    const T *upper = &f(k, 0), *of_upper = &t(k, 0);
    for (std::int64_t i = k + 1; i < n; ++i) {
      const T lower = f(i, k);
      T* row = &t(i, 0);
      const T change = (row[k] - times(lower, of_upper[k])) / upper[k];
      row[k] = change;
      for (std::int64_t j = k + 1; j < n; ++j) row[j] -= times(change, upper[j]) + times(lower, of_upper[j]);
    }
  }
}

// to = the strictly lower or the upper triangle of x, 0 elsewhere.
template <class T>
MatrixPart<T> copy_triangle(const MatrixPart<T>& x, std::int64_t n, bool lower, T* memory) {
  const MatrixPart<T> to{memory, n, 1};
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) to(i, j) = (j < i) == lower ? x(i, j) : T(0);
  return to;
}

template <class T>
void forward_lu(const MatrixPart<T>& f, const MatrixPart<T>& t, std::int64_t n, PartProducts<T>& products) {
  if (n <= unblocked_order) return forward_lu_unblocked(f, t, n);
  const std::int64_t half = leading_half(n), rest = n - half;
  const MatrixPart<T> f12 = f.at(0, half), f21 = f.at(half, 0);
  const MatrixPart<T> t12 = t.at(0, half), t21 = t.at(half, 0), t22 = t.at(half, half);
  forward_lu(f, t, half, products);
  {
    const auto triangle = std::make_unique<T[]>(static_cast<std::size_t>(half * half));  // a task has no pool
    products.subtract(t12, copy_triangle(t, half, true, triangle.get()), f12, half, rest, half);
    products.subtract(t21, f21, copy_triangle(t, half, false, triangle.get()), rest, half, half);
  }
  products.solve(Side::left, Triangle::lower, Transposed::no, Diagonal::unit, f, t12, half, rest);
  products.solve(Side::right, Triangle::upper, Transposed::no, Diagonal::stored, f, t21, rest, half);
  products.subtract(t22, t21, f12, rest, rest, half);
  products.subtract(t22, f21, t12, rest, rest, half);
  forward_lu(f.at(half, half), t22, rest, products);
}

template <class T>
void forward_cholesky_unblocked(const MatrixPart<T>& l, const MatrixPart<T>& t, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const T* of = &l(i, 0);
    T* row = &t(i, 0);
    for (std::int64_t j = 0; j <= i; ++j) {
      const T *above = &l(j, 0), *of_above = &t(j, 0);
      T sum = row[j];
      for (std::int64_t k = 0; k < j; ++k) sum -= row[k] * above[k] + of[k] * of_above[k];
      row[j] = j < i ? (sum - of[j] * of_above[j]) / above[j] : sum / (2 * of[i]);
    }
    std::fill(row + i + 1, row + n, T(0));
  }
}

template <class T>
void forward_cholesky(const MatrixPart<T>& l, const MatrixPart<T>& t, std::int64_t n, PartProducts<T>& products) {
  if (n <= unblocked_order) return forward_cholesky_unblocked(l, t, n);
  const std::int64_t half = leading_half(n), rest = n - half;
  const MatrixPart<T> t21 = t.at(half, 0), t22 = t.at(half, half), l21 = l.at(half, 0);
  forward_cholesky(l, t, half, products);
  products.subtract(t21, l21, t.transposed(), rest, half, half);
  products.solve(Side::right, Triangle::lower, Transposed::yes, Diagonal::stored, l, t21, rest, half);
  products.subtract_lower(t22, t21, l21.transposed(), rest, half);
  products.subtract_lower(t22, l21, t21.transposed(), rest, half);
  for (std::int64_t i = 0; i < half; ++i) std::fill_n(&t(i, half), rest, T(0));
  forward_cholesky(l.at(half, half), t22, rest, products);
}

// Calls f(factors, x, products) for each matrix x.
template <class F>
void for_each_pair(const Tensor& factors, const Tensor& x, const F& f) {
  const std::int64_t n = order_of(x), count = count_of(x, n),
                     matrices = std::max<std::int64_t>(1, count_of(factors, n));
  detail::List<int> codes(static_cast<std::size_t>(count));
  visit_lapack_type(x, [&]<class T>() {
    for_each_matrix(count, n, [&](std::int64_t at) {
      PartProducts<T> products;
      f(MatrixPart<T>{mutable_data<T>(factors) + at % matrices * n * n, n, 1},
        MatrixPart<T>{mutable_data<T>(x) + at * n * n, n, 1}, n, products);
      codes[static_cast<std::size_t>(at)] = products.code();
    });
  });
  static_cast<void>(first_info(codes));
}

template <class T>
void conjugate_all(const MatrixPart<T>& x, std::int64_t n) {
  if constexpr (!is_real<T>)
    for (std::int64_t i = 0; i < n * n; ++i) x.data[i] = std::conj(x.data[i]);
}

}  // namespace

void cholesky_vjp(const Tensor& l, const Tensor& g) {
  for_each_pair(
      l, g, []<class T>(const MatrixPart<T>& of, const MatrixPart<T>& x, std::int64_t n, PartProducts<T>& products) {
        reverse_cholesky(of, x, n, products);
        for (std::int64_t i = 0; i < n * n; ++i) x.data[i] *= decltype(std::real(T()))(0.5);
      });
}

void lu_vjp(const Tensor& packed, const Tensor& g) {
  for_each_pair(
      packed, g,
      []<class T>(const MatrixPart<T>& of, const MatrixPart<T>& x, std::int64_t n, PartProducts<T>& products) {
        conjugate_all(x, n);
        reverse_lu(of, x, n, products);
        conjugate_all(x, n);
      });
}

void cholesky_jvp(const Tensor& l, const Tensor& t) {
  for_each_pair(
      l, t, []<class T>(const MatrixPart<T>& of, const MatrixPart<T>& x, std::int64_t n, PartProducts<T>& products) {
        if constexpr (is_real<T>) forward_cholesky(of, x, n, products);
      });
}

void lu_jvp(const Tensor& packed, const Tensor& t) {
  for_each_pair(packed, t,
                []<class T>(const MatrixPart<T>& of, const MatrixPart<T>& x, std::int64_t n,
                            PartProducts<T>& products) { forward_lu(of, x, n, products); });
}

}  // namespace reel::loops
