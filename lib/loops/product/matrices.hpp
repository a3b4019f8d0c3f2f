// Batches of square matrices [..., n, n] as tasks, and Gaussian elimination with complete pivoting.
#pragma once
#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <new>
#include <numeric>
#include <reel/tensor.hpp>
#include <vector>

#include "core/block.hpp"
#include "core/visit.hpp"
#include "kernels/blas.hpp"
#include "loops/parallel.hpp"
#include "loops/tuning.hpp"

namespace reel::loops {

inline std::int64_t order_of(const Tensor& a) {
  return reel::detail::block(a)->extents()[reel::detail::block(a)->rank - 1];
}
inline std::int64_t count_of(const Tensor& a, std::int64_t n) {
  return n == 0 ? 0 : reel::detail::block(a)->size / (n * n);
}

/// visit() for LAPACK's four element types.
template <class F>
void visit_lapack_type(const Tensor& x, const F& f) {
  visit_among<float, double, std::complex<float>, std::complex<double>>(reel::detail::block(x)->dtype, f);
}

/// Calls f(i) for each of `count` matrices, `grain` of them per task. f may throw std::bad_alloc and nothing else.
template <class F>
void for_each_in_tasks(std::int64_t count, std::int64_t grain, const F& f) {
  if (count == 1) return f(std::int64_t{0});
  kernels::prepare_blas();
  std::atomic<bool> out_of_memory{false};
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    try {
      for (std::int64_t i = begin; i < end; ++i) f(i);
    } catch (const std::bad_alloc&) {
      out_of_memory.store(true, std::memory_order_relaxed);
    }
  });
  if (out_of_memory.load(std::memory_order_relaxed)) throw std::bad_alloc();
}
/// Calls f(i) for each of `count` matrices of order n, which determines the matrices per task.
template <class F>
void for_each_matrix(std::int64_t count, std::int64_t n, const F& f) {
  constexpr std::int64_t capped = 1000;   // keeps n^3 in range: such matrices are a task each
  constexpr std::int64_t overhead = 100;  // multiply-adds that a call costs
  const std::int64_t cost = n * n * std::min<std::int64_t>(n, capped) + overhead;
  for_each_in_tasks(count, std::max<std::int64_t>(1, tuning::factor_grain / cost), f);
}

/// a(rows[i], columns[j]) = (L D U)(i, j), up to a remainder in rows and columns from `count` on.
struct CompletePivots {
  std::vector<std::int64_t> rows, columns;
  std::int64_t count = 0;
  bool odd = false;  // parity of the permutations of rows and columns together
};

/// Gaussian elimination of one matrix with complete pivoting, until there are `most` pivots or one is below `tolerance`
/// times the first. a becomes L (unit diagonal, not stored) below the diagonal, D on it and D U above it.
template <class T>
CompletePivots eliminate(T* a, std::int64_t n, std::int64_t most, double tolerance) {
  CompletePivots p;
  p.rows.resize(static_cast<std::size_t>(n));
  std::iota(p.rows.begin(), p.rows.end(), 0);
  p.columns = p.rows;
  for (double first = 0; p.count < most; ++p.count) {
    const std::int64_t s = p.count;
    std::int64_t pi = s, pj = s;
    for (std::int64_t i = s; i < n; ++i)
      for (std::int64_t j = s; j < n; ++j)
        if (std::abs(a[i * n + j]) > std::abs(a[pi * n + pj])) pi = i, pj = j;
    const T pivot = a[pi * n + pj];
    if (s == 0) first = std::abs(pivot);
    if (!(std::abs(pivot) > tolerance * first)) break;
    if (pi != s) std::swap_ranges(a + pi * n, a + (pi + 1) * n, a + s * n);
    for (std::int64_t i = 0; i < n && pj != s; ++i) std::swap(a[i * n + pj], a[i * n + s]);
    std::swap(p.rows[static_cast<std::size_t>(pi)], p.rows[static_cast<std::size_t>(s)]);
    std::swap(p.columns[static_cast<std::size_t>(pj)], p.columns[static_cast<std::size_t>(s)]);
    p.odd ^= (pi != s) != (pj != s);
    for (std::int64_t i = s + 1; i < n; ++i) {
      const T factor = a[i * n + s] /= pivot;
      for (std::int64_t j = s + 1; j < n; ++j) a[i * n + j] -= factor * a[s * n + j];
    }
  }
  return p;
}

}  // namespace reel::loops
