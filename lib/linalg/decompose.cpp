// LAPACK is column-major: it reads a row-major matrix as its transpose. Singular values are those of the transpose, so
// their decomposition needs no transposition. Others transpose the matrix before and after.
#include "linalg/decompose.hpp"

#include <algorithm>
#include <complex>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <type_traits>

#include "core/fail.hpp"
#include "kernels/baseline/copy.hpp"
#include "linalg/lapack/decompositions.hpp"
#include "linalg/lapack/plain.hpp"
#include "linalg/lapack_codes.hpp"
#include "linalg/plain_factors.hpp"
#include "loops/loops.hpp"
#include "loops/product/matrices.hpp"
#include "loops/workspaces.hpp"

namespace reel::loops {

void require_lapack(const char* op) {
  if (!kernels::has_lapack) fail<ValueError>(op, "the library is built without LAPACK, which this function needs");
}

namespace {

using kernels::Real;
using reel::detail::mutable_data;

template <class T>
T conjugate(const T& x) {
  if constexpr (std::is_floating_point_v<T>)
    return x;
  else
    return std::conj(x);
}

// to[j * rows + i] = from[i * columns + j]
template <class T>
void transpose(const T* from, std::int64_t rows, std::int64_t columns, T* to) {
  kernels::copy_matrix(from, 1, columns, to, rows, columns, rows, sizeof(T));
}

// The matrices of a batch, of `rows` x `columns` elements each.
struct Batch {
  std::int64_t count, rows, columns;
  std::int64_t k() const { return std::min(rows, columns); }
  std::int64_t largest_extent() const { return std::max(rows, columns); }
  std::int64_t size() const { return rows * columns; }
};
Batch batch_of(const Tensor& a) {
  const reel::detail::Block* b = reel::detail::block(a);
  Batch batch{1, b->extents()[b->rank - 2], b->extents()[b->rank - 1]};
  for (int d = 0; d < b->rank - 2; ++d) batch.count *= b->extents()[d];
  return batch;
}

// Element `from` of matrix `at` of an output whose matrices have `size` elements. Null if the output is not requested.
template <class T>
T* at_matrix(const Tensor& x, std::int64_t at, std::int64_t size) {
  return x.defined() ? mutable_data<T>(x) + at * size : nullptr;
}
template <class T>
void fill_nan(T* x, std::int64_t size) {
  if (x) std::fill_n(x, size, not_a_number<T>);
}

// Scratch memory of one task.
template <class T>
std::unique_ptr<T[]> scratch(std::int64_t size, int& code) {
  std::unique_ptr<T[]> memory(new (std::nothrow) T[static_cast<std::size_t>(std::max<std::int64_t>(size, 1))]);
  if (!memory) code = kernels::out_of_memory;
  return memory;
}

// Scratch memory of one task for a matrix that LAPACK works on.
template <class T>
std::unique_ptr<T[]> matrix_scratch(std::int64_t rows, std::int64_t columns, int& code) {
  return scratch<T>(rows * columns + kernels::read_behind<T>(rows), code);
}

// Calls one(T{}, matrix i of a, i), which returns a code, for each matrix of the batch.
template <class One>
FactorInfo for_each(const Tensor& a, const One& one) {
  const Batch batch = batch_of(a);
  const Tensor dense = contiguous(a);
  detail::List<int> codes(static_cast<std::size_t>(batch.count));
  visit_lapack_type(a, [&]<class T>() {
    const T* from = mutable_data<T>(dense);
    for_each_matrix(batch.count, batch.largest_extent(),
                    [&](std::int64_t at) { codes[static_cast<std::size_t>(at)] = one(from + at * batch.size(), at); });
  });
  return first_info(codes);
}

// ---- QR

// Real matrices for which plain loops are faster than LAPACK: 2.5 times at order 4, 1.4 times at order 16, as fast
// at 24.
template <class T>
bool is_small(const Batch& b) {
  constexpr std::int64_t most = 16;
  return std::is_floating_point_v<T> && b.largest_extent() <= most;
}

// Column-major: R and Householder vectors replace a.
template <class T>
int reduce_to_triangle(const Batch& b, T* a, T* tau) {
  if constexpr (std::is_floating_point_v<T>)
    if (is_small<T>(b)) return kernels::plain::geqrf(b.rows, b.columns, a, b.rows, tau);
  return kernels::geqrf(b.rows, b.columns, a, b.rows, tau);
}
// Column-major: the first columns of Q replace a, which has memory for as many again.
template <class T>
int make_orthogonal(const Batch& b, std::int64_t columns, T* a, const T* tau) {
  const std::int64_t m = b.rows;
  if constexpr (std::is_floating_point_v<T>)
    if (is_small<T>(b)) {
      T* const q = a + m * std::max(columns, b.columns);
      std::fill_n(q, m * columns, T(0));
      for (std::int64_t i = 0; i < columns; ++i) q[i * (m + 1)] = 1;
      const int code =
          kernels::plain::ormqr(kernels::Side::left, kernels::Transposed::no, m, columns, b.k(), a, m, tau, q, m);
      std::copy_n(q, m * columns, a);
      return code;
    }
  return kernels::orgqr(m, columns, b.k(), a, m, tau);
}

template <class T>
int qr_of(const Batch& b, const T* a, T* q, T* r, T* rest) {
  const std::int64_t m = b.rows, n = b.columns, k = b.k();
  if (!finite(a, m * n)) return fill_nan(q, m * k), fill_nan(r, k * n), fill_nan(rest, m * (m - k)), 0;
  int code = 0;
  const std::int64_t size = m * (rest ? b.largest_extent() : n);
  const auto work = scratch<T>((is_small<T>(b) ? 2 : 1) * size + k, code);
  if (code != 0) return code;
  T *const matrix = work.get() + k, *const tau = work.get();
  transpose(a, m, n, matrix);
  code = reduce_to_triangle(b, matrix, tau);
  for (std::int64_t i = 0; i < k; ++i)
    for (std::int64_t j = 0; j < n; ++j) r[i * n + j] = j < i ? T(0) : matrix[j * m + i];
  if (code == 0) code = make_orthogonal(b, rest ? m : k, matrix, tau);
  transpose(matrix, k, m, q);
  if (rest) transpose(matrix + k * m, m - k, m, rest);
  return code;
}

}  // namespace

void qr(const Tensor& a, const Tensor& q, const Tensor& r, const Tensor& rest) {
  if constexpr (kernels::has_lapack) {
    const Batch b = batch_of(a);
    const std::int64_t k = b.k();
    for_each(a, [&]<class T>(const T* matrix, std::int64_t at) {
      return qr_of(b, matrix, at_matrix<T>(q, at, b.rows * k), at_matrix<T>(r, at, k * b.columns),
                   at_matrix<T>(rest, at, b.rows * (b.rows - k)));
    });
  }
}

// ---- LU

void lu(const Tensor& a, const Tensor& packed, const Tensor& pivots, const Tensor& rows) {
  const Batch b = batch_of(a);
  for_each(a, [&]<class T>(const T* matrix, std::int64_t at) {
    const std::int64_t m = b.rows, n = b.columns, k = b.k();
    T* to = mutable_data<T>(packed) + at * b.size();
    int* swaps = mutable_data<int>(pivots) + at * k;
    std::int64_t* order = mutable_data<std::int64_t>(rows) + at * m;
    std::iota(order, order + m, 0);
    std::iota(swaps, swaps + k, 0);
    if (!finite(matrix, b.size())) return fill_nan(to, b.size()), 0;
    int code = 0;
    const auto work = scratch<T>(b.size(), code);
    if (code != 0) return code;
    transpose(matrix, m, n, work.get());
    if constexpr (kernels::has_lapack)
      code = kernels::getrf(m, n, work.get(), m, swaps);
    else
      code = plain::getrf(m, n, work.get(), m, swaps);
    transpose(work.get(), n, m, to);
    for (std::int64_t i = 0; i < k && code >= 0; ++i) std::swap(order[i], order[--swaps[i]]);
    return std::min(code, 0);  // LAPACK reports a zero on the diagonal, which is allowed here
  });
}

bool rows_of_pivots(const Tensor& pivots, const Tensor& rows) {
  const Tensor dense = contiguous(pivots);
  const std::int64_t n = rows.shape().back();
  const int* swaps = mutable_data<int>(dense);
  std::int64_t* order = mutable_data<std::int64_t>(rows);
  for (std::int64_t at = 0; at < rows.size(); ++at) order[at] = at % n;
  for (std::int64_t at = 0; at < rows.size(); ++at) {
    const std::int64_t i = at % n, with = swaps[at];
    if (with < i || with >= n) return false;
    std::swap(order[at], order[at - i + with]);
  }
  return true;
}

// ---- Spectra

namespace {

template <class T>
bool triangle_is_finite(const T* a, std::int64_t n, bool lower) {
  if (finite(a, n * n)) return true;
  for (std::int64_t i = 0; i < n; ++i)
    if (!finite(a + i * n + (lower ? 0 : i), lower ? i + 1 : n - i)) return false;
  return true;
}

// LAPACK reads the transpose, which is the conjugate: the same eigenvalues, conjugate eigenvectors. work: n * (n + 1)
// elements.
template <class T>
int eigh_of(const T* a, std::int64_t n, bool lower, T* work, Real<T>* values, T* vectors) {
  if (!triangle_is_finite(a, n, lower)) return fill_nan(values, n), fill_nan(vectors, n * n), 0;
  std::copy_n(a, n * n, work);
  const int code = kernels::heevd(vectors != nullptr, lower ? kernels::Triangle::upper : kernels::Triangle::lower, n,
                                  work, n, values);
  if (vectors) transpose(work, n, n, vectors);
  if constexpr (!std::is_floating_point_v<T>)
    for (std::int64_t i = 0; vectors && i < n * n; ++i) vectors[i] = std::conj(vectors[i]);
  return code;
}

}  // namespace

FactorInfo eigh([[maybe_unused]] const Tensor& a, [[maybe_unused]] bool lower, [[maybe_unused]] const Tensor& w,
                [[maybe_unused]] const Tensor& v) {
  if constexpr (kernels::has_lapack) {
    const Batch b = batch_of(a);
    const std::int64_t n = b.rows;
    Workspaces scratch(b.count, n * (n + 1) * static_cast<std::int64_t>(item_size(a.dtype())));
    return for_each(a, [&]<class T>(const T* matrix, std::int64_t at) {
      int code = 0;
      scratch.use([&](std::byte* memory) {
        code = eigh_of(matrix, n, lower, reinterpret_cast<T*>(memory), at_matrix<Real<T>>(w, at, n),
                       at_matrix<T>(v, at, n * n));
      });
      return code;
    });
  }
  return {};
}

namespace {

// Does nothing if `to` is null.
template <class T>
void fill_identity(T* to, std::int64_t n) {
  if (to) std::fill_n(to, n * n, T(0));
  for (std::int64_t i = 0; to && i < n; ++i) to[i * (n + 1)] = T(1);
}

// LAPACK factorises the transpose: the singular vectors of a are rows where LAPACK writes columns.
template <class T>
int svd_of(const Batch& b, const T* a, Real<T>* s, T* u, T* vh, T* rest_u, T* rest_vh) {
  using kernels::Vectors;
  const std::int64_t m = b.rows, n = b.columns, k = b.k();
  if (!finite(a, m * n)) {
    fill_nan(s, k), fill_nan(u, m * k), fill_nan(vh, k * n);
    return fill_nan(rest_u, m * (m - k)), fill_nan(rest_vh, (n - k) * n), 0;
  }
  int code = 0;
  // LAPACK may read one column beyond u. It gets scratch memory then, since that column may belong to another task.
  const bool all = rest_u != nullptr, own_u = all || (u && kernels::read_behind<T>(1) > 0);
  const auto work = matrix_scratch<T>(n, m, code), full_u = matrix_scratch<T>(all ? m : k, own_u ? m : 0, code),
             full_vh = matrix_scratch<T>(n, all ? n : 0, code);
  if (code != 0) return code;
  if (k == 0) {
    fill_identity(rest_u, m);
    fill_identity(rest_vh, n);
    return 0;
  }
  std::copy_n(a, m * n, work.get());
  if (!all) {
    code = kernels::gesdd(u ? Vectors::thin : Vectors::none, n, m, work.get(), s, vh, own_u ? full_u.get() : u);
    if (own_u) std::copy_n(full_u.get(), m * k, u);
    return code;
  }
  code = kernels::gesdd(Vectors::all, n, m, work.get(), s, full_vh.get(), full_u.get());
  for (std::int64_t i = 0; i < m; ++i) {
    std::copy_n(full_u.get() + i * m, k, u + i * k);
    std::copy_n(full_u.get() + i * m + k, m - k, rest_u + i * (m - k));
  }
  std::copy_n(full_vh.get(), k * n, vh);
  std::copy_n(full_vh.get() + k * n, (n - k) * n, rest_vh);
  return code;
}

}  // namespace

FactorInfo svd([[maybe_unused]] const Tensor& a, [[maybe_unused]] const Tensor& s,
               [[maybe_unused]] const SingularVectors& vectors) {
  if constexpr (kernels::has_lapack) {
    const Batch b = batch_of(a);
    const std::int64_t m = b.rows, n = b.columns, k = b.k();
    return for_each(a, [&]<class T>(const T* matrix, std::int64_t at) {
      return svd_of(b, matrix, at_matrix<Real<T>>(s, at, k), at_matrix<T>(vectors.u, at, m * k),
                    at_matrix<T>(vectors.vh, at, k * n), at_matrix<T>(vectors.rest_u, at, m * (m - k)),
                    at_matrix<T>(vectors.rest_vh, at, (n - k) * n));
    });
  }
  return {};
}

FactorInfo eig([[maybe_unused]] const Tensor& a, [[maybe_unused]] const Tensor& w, [[maybe_unused]] const Tensor& v) {
  if constexpr (kernels::has_lapack) {
    const std::int64_t n = batch_of(a).rows;
    return for_each(a, [&]<class T>(const T* matrix, std::int64_t at) {
      using Complex = std::complex<Real<T>>;
      auto* values = at_matrix<Complex>(w, at, n);
      auto* vectors = at_matrix<Complex>(v, at, n * n);
      if (!finite(matrix, n * n)) return fill_nan(values, n), fill_nan(vectors, n * n), 0;
      int code = 0;
      const auto work = matrix_scratch<T>(n, n, code);
      const auto columns = matrix_scratch<Complex>(n, vectors ? n : 0, code);
      if (code != 0) return code;
      transpose(matrix, n, n, work.get());
      code = kernels::geev(n, work.get(), values, vectors ? columns.get() : nullptr);
      if (vectors) transpose(columns.get(), n, n, vectors);
      return code;
    });
  }
  return {};
}

std::int64_t first_beyond(const Tensor& x, const Tensor& reference, int own_axes, double tolerance, double least) {
  const std::int64_t size = x.size(), count = [&] {
    std::int64_t matrices = 1;
    for (int d = 0; d < x.rank() - own_axes; ++d) matrices *= x.shape()[d];
    return matrices;
  }();
  if (size == 0 || reference.size() == 0) return -1;
  const Tensor dense = contiguous(x), of = contiguous(reference);
  std::int64_t found = -1;
  visit_lapack_type(of, [&]<class T>() {
    const auto largest = [](const auto* at, std::int64_t elements) {
      double most = 0;
      for (std::int64_t i = 0; i < elements; ++i) most = std::max(most, static_cast<double>(std::abs(at[i])));
      return most;
    };
    const std::int64_t own = size / count, reference_own = of.size() / count;
    for (std::int64_t i = 0; i < count && found < 0; ++i) {
      const double got = largest(mutable_data<T>(dense) + i * own, own),
                   scale = largest(mutable_data<T>(of) + i * reference_own, reference_own);
      if (got > tolerance * scale && got > least) found = i;
    }
  });
  return found;
}

// ---- Least squares

FactorInfo pinv(const Tensor& a, double rtol, const Tensor& p) {
  const Batch b = batch_of(a);
  const std::int64_t k = b.k();
  Shape batch = a.shape();
  batch.pop_back(), batch.pop_back();
  const auto with = [&](std::initializer_list<std::int64_t> own) {
    Shape shape = batch;
    for (const std::int64_t extent : own) shape.push_back(extent);
    return shape;
  };
  const bool single = a.dtype() == DType::float32 || a.dtype() == DType::complex64;
  const Tensor s = reel::detail::empty(single ? DType::float32 : DType::float64, with({k})),
               u = reel::detail::empty(a.dtype(), with({b.rows, k})),
               vh = reel::detail::empty(a.dtype(), with({k, b.columns}));
  if (const FactorInfo info = svd(a, s, {u, vh, {}, {}})) return info;
  visit_lapack_type(a, [&]<class T>() {
    const Real<T>* values = mutable_data<Real<T>>(s);
    T* rows = mutable_data<T>(vh);
    for (std::int64_t i = 0; i < b.count * k; ++i) {
      const Real<T> largest = values[i / k * k];
      const bool counts = !(values[i] <= static_cast<Real<T>>(rtol) * largest);
      const Real<T> factor = counts ? 1 / values[i] : 0;
      for (std::int64_t j = 0; j < b.columns; ++j)
        rows[i * b.columns + j] = conjugate(rows[i * b.columns + j]) * factor;
    }
    T* columns = mutable_data<T>(u);
    for (std::int64_t i = 0; i < b.count * b.rows * k; ++i) columns[i] = conjugate(columns[i]);
  });
  matmul(vh, u, {.a = true, .b = true}, p);
  return {};
}

FactorInfo lstsq([[maybe_unused]] const Tensor& a, [[maybe_unused]] const Tensor& b, [[maybe_unused]] double rtol,
                 [[maybe_unused]] const Tensor& x) {
  if constexpr (kernels::has_lapack) {
    const Batch shape = batch_of(a);
    const std::int64_t m = shape.rows, n = shape.columns, count = batch_of(b).columns;
    const Tensor sides = contiguous(b);
    return for_each(a, [&]<class T>(const T* matrix, std::int64_t at) {
      const T* side = mutable_data<T>(sides) + at * m * count;
      T* to = mutable_data<T>(x) + at * n * count;
      if (!finite(matrix, m * n) || !finite(side, m * count)) return fill_nan(to, n * count), 0;
      const std::int64_t longest = shape.largest_extent();
      int code = 0;
      const auto work = matrix_scratch<T>(m, n, code), columns = matrix_scratch<T>(longest, count, code);
      if (code != 0) return code;
      transpose(matrix, m, n, work.get());
      std::fill_n(columns.get(), longest * count, T(0));
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < count; ++j)
          columns[static_cast<std::size_t>(j * longest + i)] = side[i * count + j];
      code = kernels::gelsd(m, n, count, work.get(), columns.get(), static_cast<Real<T>>(rtol));
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < count; ++j) to[i * count + j] = columns[static_cast<std::size_t>(j * longest + i)];
      return code;
    });
  }
  return {};
}

}  // namespace reel::loops
