// Sums of products by BLAS. It may add the terms of a sum one after another: the kernels of OpenBLAS for small matrices
// and for vectors do. Long sums are therefore divided here, which bounds their rounding errors whatever BLAS does.
#pragma once
#include <algorithm>
#include <cstdint>

#include "core/block.hpp"
#include "kernels/blas.hpp"
#include "kernels/reductions.hpp"
#include "kernels/table.hpp"
#include "loops/parallel.hpp"
#include "loops/product/matmul.hpp"
#include "loops/product/tiled_product.hpp"
#include "loops/tuning.hpp"

namespace reel::loops {

/// The most terms that one call of BLAS adds, and the most that matmul does not divide in halves. They are part of the
/// order of every sum, and of the bound that <reel/ops/linalg.hpp> states.
inline constexpr std::int64_t blas_terms = std::int64_t{1} << 12, undivided_terms = std::int64_t{1} << 16;
/// Elements of the matrix per task of a matrix-vector product, which is bound by memory: 2 to 4 MiB.
inline constexpr std::int64_t split_elements = std::int64_t{1} << 19;

/// The first part of n terms in a tree of sums whose leaves have at most `leaf` terms, which n exceeds.
constexpr std::int64_t first_half(std::int64_t n, std::int64_t leaf) {
  return ceil_divide(ceil_divide(n, 2), leaf) * leaf;
}

// ---- dot: pairwise, in a tree that the length alone determines

template <class T>
T range_of_dot(std::int64_t n, const T* x, std::int64_t stride_x, const T* y, std::int64_t stride_y) {
  if constexpr (kernels::has_lapack) {
    return kernels::dot<T>(n, x, stride_x, y, stride_y);
  } else {
    T sum{0};
    constexpr DType dtype = sizeof(T) == 4 ? DType::float32 : DType::float64;
    kernels::active<kernels::ReductionKernels>().dot[kernels::index(dtype)]({x, stride_x}, {y, stride_y}, n, &sum);
    return sum;
  }
}
template <class T>
T dot_alone(std::int64_t n, const T* x, std::int64_t stride_x, const T* y, std::int64_t stride_y) {
  if (n <= blas_terms) return range_of_dot(n, x, stride_x, y, stride_y);
  const std::int64_t half = first_half(n, blas_terms);
  return dot_alone(half, x, stride_x, y, stride_y) +
         dot_alone(n - half, x + half * stride_x, stride_x, y + half * stride_y, stride_y);
}

// The subtrees that threads take, of at most `most` elements each; then their sums, added in the order of the tree.
struct Branch {
  std::int64_t first, count;
};
inline void cut(Branch b, std::int64_t most, detail::List<Branch>& branches) {
  if (b.count <= most) return branches.push_back(b);
  const std::int64_t half = first_half(b.count, blas_terms);
  cut({b.first, half}, most, branches);
  cut({b.first + half, b.count - half}, most, branches);
}
template <class T>
T joined(std::int64_t count, std::int64_t most, const T*& sums) {
  if (count <= most) return *sums++;
  const std::int64_t half = first_half(count, blas_terms);
  const T front = joined(half, most, sums);
  return front + joined(count - half, most, sums);
}

template <class T>
T dot(std::int64_t n, const T* x, std::int64_t stride_x, const T* y, std::int64_t stride_y) {
  if (n < split_elements) return dot_alone(n, x, stride_x, y, stride_y);
  kernels::prepare_blas();
  const std::int64_t most = std::max(split_elements / 4, n / 64);
  detail::List<Branch> branches;
  cut({0, n}, most, branches);
  detail::List<T> sums(branches.size());
  parallel_for(static_cast<std::int64_t>(branches.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Branch& b = branches[static_cast<std::size_t>(i)];
      sums[static_cast<std::size_t>(i)] =
          dot_alone(b.count, x + b.first * stride_x, stride_x, y + b.first * stride_y, stride_y);
    }
  });
  const T* at = sums.data();
  return joined(n, most, at);
}

// ---- A matrix by a vector x: terms pairwise from blas_terms on, since BLAS may add each one to the result

template <class T>
struct BlasVectorProduct {
  const T* matrix;  // stored [length, terms], or [terms, length] if terms_first
  std::int64_t leading;
  bool terms_first;
  const T* x;
  std::int64_t stride_x;

  void operator()(std::int64_t length, std::int64_t terms, T* c) const {
    if (terms <= blas_terms) return run(0, length, 0, terms, c);
    for (std::int64_t i = 0; i < length; i += block) add_pairwise(i, std::min(block, length - i), 0, terms, c + i);
  }

 private:
  static constexpr std::int64_t block = 256;  // elements of c whose sums the stack holds

  void add_pairwise(std::int64_t i, std::int64_t length, std::int64_t first, std::int64_t terms, T* c) const {
    if (terms <= blas_terms) return run(i, length, first, terms, c);
    const std::int64_t half = first_half(terms, blas_terms);
    T rest[block];
    add_pairwise(i, length, first, half, c);
    add_pairwise(i, length, first + half, terms - half, rest);
    for (std::int64_t j = 0; j < length; ++j) c[j] += rest[j];
  }
  void run(std::int64_t i, std::int64_t length, std::int64_t first, std::int64_t terms, T* c) const {
    const T* from = matrix + (terms_first ? first * leading + i : i * leading + first);
    static_cast<void>(kernels::gemv<T>(kernels::transposed_if(terms_first), terms_first ? terms : length,
                                       terms_first ? length : terms, 1, from, leading, x + first * stride_x, stride_x,
                                       0, c, 1));
  }
};

// ---- Matrices: ranges of the terms one after another, since BLAS adds the sum of a range to c

/// Calls f(first, count) for equal ranges of the terms.
template <class F>
void for_each_range(std::int64_t terms, const F& f) {
  const std::int64_t range = ceil_divide(terms, ceil_divide(terms, blas_terms));
  for (std::int64_t first = 0; first < terms; first += range) f(first, std::min(range, terms - first));
}

/// One tile of one product: rows [i, i + rows) and columns [j, j + columns) of c, whose row stride is `width`.
template <class T>
struct BlasProduct {
  std::int64_t k, width;
  MatrixLayout a, b;
  std::int64_t row_a, column_a, row_b, column_b;  // strides

  void operator()(const T* from_a, const T* from_b, T* c, std::int64_t i, std::int64_t j, std::int64_t rows,
                  std::int64_t columns) const {
    from_a += i * row_a;
    from_b += j * column_b;
    c += i * width + j;
    if (rows == 1 && columns == 1)
      *c = dot(k, from_a, column_a, from_b, row_b);
    else if constexpr (kernels::has_lapack)
      vector_or_matrix(from_a, from_b, c, rows, columns);
  }

  /// The lower triangle of rows [i, i + rows) of a matrix by its own transpose.
  void triangle(const T* from, std::int64_t i, std::int64_t rows, T* c) const {
    for_each_range(k, [&](std::int64_t first, std::int64_t count) {
      static_cast<void>(kernels::syrk<T>(kernels::transposed_if(a.transposed), rows, count,
                                         from + i * row_a + first * column_a, a.leading, first > 0, c, width));
    });
  }

 private:
  void vector_or_matrix(const T* from_a, const T* from_b, T* c, std::int64_t rows, std::int64_t columns) const {
    if (columns == 1 && width == 1)
      return BlasVectorProduct<T>{from_a, a.leading, a.transposed, from_b, row_b}(rows, k, c);
    if (rows == 1) return BlasVectorProduct<T>{from_b, b.leading, !b.transposed, from_a, column_a}(columns, k, c);
    for_each_range(k, [&](std::int64_t first, std::int64_t count) {
      static_cast<void>(kernels::gemm<T>(kernels::transposed_if(a.transposed), kernels::transposed_if(b.transposed),
                                         rows, columns, count, 1, from_a + first * column_a, a.leading,
                                         from_b + first * row_b, b.leading, first > 0 ? 1 : 0, c, width));
    });
  }
};

}  // namespace reel::loops
