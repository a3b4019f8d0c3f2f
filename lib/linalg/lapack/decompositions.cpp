// Each routine is called twice: to query the sizes of its workspaces, then with them; heevd and gesdd once for small
// matrices. Complex routines take a further workspace of real numbers. A query computes sizes in 32 bits, which may
// wrap. So documented sizes that are quadratic are checked first.
#include "linalg/lapack/decompositions.hpp"

#include <algorithm>
#include <type_traits>

#include "kernels/fortran.hpp"
#include "linalg/lapack/work_space.hpp"

namespace reel::kernels {
namespace {

using namespace fortran;

template <class T>
constexpr bool has_parts = !std::is_floating_point_v<T>;

}  // namespace

template <class T>
int heevd(bool vectors, Triangle triangle, std::ptrdiff_t n, T* a, std::ptrdiff_t lda, Real<T>* w) noexcept {
  prepare_blas();
  int code = first_code(check_extents(n), check_leading(lda, n));
  if (code != 0 || n == 0) {
    return code;
  }
  const char job = vectors ? 'V' : 'N';
  const char letter_triangle = triangle == Triangle::lower ? 'L' : 'U';
  const double squared = static_cast<double>(n) * static_cast<double>(n);
  code = vectors ? check_work_space(2 * squared + 6 * static_cast<double>(n) + 1) : 0;
  if (code != 0) {
    return code;
  }
  const int order = as_int(n);
  const int leading = as_leading(lda);
  const auto call = [&](T* work, const int* length, Real<T>* reals, const int* real_length, int* integers,
                        const int* integer_length, int* info) {
    if constexpr (has_parts<T>) {
      Symbols<T>::heevd(&job, &letter_triangle, &order, a, &leading, w, work, length, reals, real_length, integers,
                        integer_length, info, 1, 1);
    } else {
      Symbols<T>::heevd(&job, &letter_triangle, &order, a, &leading, w, work, length, integers, integer_length, info, 1,
                        1);
    }
  };
  // Enough for each of the three workspaces of a small matrix.
  const double enough = vectors ? 2 * squared + 6 * order + 1 : 2.0 * order + 1;
  auto best_real = static_cast<Real<T>>(enough);
  T best = best_real;
  int best_integer = static_cast<int>(std::min<double>(enough, largest_int));
  if (order > unqueried_order) {
    call(&best, &query, &best_real, &query, &best_integer, &query, &code);
  }
  const Buffer<T> work(workspace_size(best), code, n);
  const Buffer<Real<T>> reals(has_parts<T> ? workspace_size(best_real) : 0, code);
  const Buffer<int> integers(workspace_size(best_integer), code);
  if (code == 0) {
    call(work.data(), work.length(), reals.data(), reals.length(), integers.data(), integers.length(), &code);
  }
  return code;
}

template <class T>
int gesdd(Vectors vectors, std::ptrdiff_t m, std::ptrdiff_t n, T* a, Real<T>* s, T* u, T* vh) noexcept {
  prepare_blas();
  int code = check_extents(m, n);
  if (code != 0 || m == 0 || n == 0) {
    return code;
  }
  const char job = static_cast<char>(vectors);
  const int rows = as_int(m);
  const int columns = as_int(n);
  const int least = std::min(rows, columns);
  const int leading_vh = vectors == Vectors::all ? columns : least;
  const double count = least;
  const double most = std::max(rows, columns);
  // The documented sizes. reals_of_vectors is for the complex routine, which indexes in 32 bits; no query gives
  // it.
  const double reals_of_vectors = has_parts<T> ? count * std::max(5 * count + 7, 2 * most + 2 * count + 1) : 1;
  const double length_of_vectors = has_parts<T> ? count * (count + 3) + most : count * (4 * count + 7) + most;
  if (vectors != Vectors::none && check_work_space(length_of_vectors) != 0) {
    return too_large;
  }
  const Buffer<int> integers(8 * count, code);
  const Buffer<Real<T>> reals(vectors == Vectors::none ? 7 * count : reals_of_vectors, code);
  const auto call = [&](T* work, const int* length, int* info) {
    if constexpr (has_parts<T>) {
      Symbols<T>::gesdd(&job, &rows, &columns, a, &rows, s, u, &rows, vh, &leading_vh, work, length, reals.data(),
                        integers.data(), info, 1);
    } else {
      Symbols<T>::gesdd(&job, &rows, &columns, a, &rows, s, u, &rows, vh, &leading_vh, work, length, integers.data(),
                        info, 1);
    }
  };
  if (code != 0) {
    return code;
  }
  T best = static_cast<Real<T>>(length_of_vectors);
  if (most > unqueried_order) {
    call(&best, &query, &code);
  }
  const Buffer<T> work(workspace_size(best), code, std::max(m, n));
  if (code == 0) {
    call(work.data(), work.length(), &code);
  }
  return code;
}

namespace {

// Eigenvectors of a real matrix. Conjugate eigenvalues are adjacent: two real columns hold the real and the imaginary
// part of the first one's vector.
template <class T>
void join_pairs(std::ptrdiff_t n, const T* real, const T* imag, const T* vectors, std::complex<T>* w,
                std::complex<T>* v) {
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    w[j] = {real[j], imag[j]};
    if (!v) {
      continue;
    }
    const bool first = imag[j] > 0;
    const bool second = imag[j] < 0;
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      const T re = vectors[i + (second ? j - 1 : j) * n];
      const T im = first ? vectors[i + (j + 1) * n] : second ? -vectors[i + j * n] : T(0);
      v[i + j * n] = {re, im};
    }
  }
}

}  // namespace

template <class T>
int geev(std::ptrdiff_t n, T* a, std::complex<Real<T>>* w, std::complex<Real<T>>* v) noexcept {
  prepare_blas();
  int code = check_extents(n);
  if (code != 0 || n == 0) {
    return code;
  }
  const char no_vectors = 'N';
  const char job = v ? 'V' : 'N';
  const int order = as_int(n);
  T best{};
  if constexpr (has_parts<T>) {
    const Buffer<Real<T>> reals(2.0 * order, code);
    const auto call = [&](T* work, const int* length, int* info) {
      Symbols<T>::geev(&no_vectors, &job, &order, a, &order, w, nullptr, &order, v, &order, work, length, reals.data(),
                       info, 1, 1);
    };
    call(&best, &query, &code);
    const Buffer<T> work(workspace_size(best), code, n);
    if (code == 0) {
      call(work.data(), work.length(), &code);
    }
  } else {
    const Buffer<T> real(order, code);
    const Buffer<T> imag(order, code);
    const auto square = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    const auto vectors = elements<T>(v ? square : 1, code);
    const auto call = [&](T* work, const int* length, int* info) {
      Symbols<T>::geev(&no_vectors, &job, &order, a, &order, real.data(), imag.data(), nullptr, &order, vectors.get(),
                       &order, work, length, info, 1, 1);
    };
    if (code != 0) {
      return code;
    }
    call(&best, &query, &code);
    const Buffer<T> work(workspace_size(best), code);
    if (code == 0) {
      call(work.data(), work.length(), &code);
    }
    if (code == 0) {
      join_pairs(n, real.data(), imag.data(), vectors.get(), w, v);
    }
  }
  return code;
}

template <class T>
int gelsd(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t columns, T* a, T* b, Real<T> rcond) noexcept {
  prepare_blas();
  const double solutions = static_cast<double>(std::max(m, n)) * static_cast<double>(columns);
  int code = first_code(check_extents(m, n, columns), check_work_space(solutions));
  if (code != 0 || m == 0 || n == 0 || columns == 0) {
    return code;
  }
  const int rows = as_int(m);
  const int unknowns = as_int(n);
  const int count = as_int(columns);
  const int leading_b = std::max(rows, unknowns);
  const Buffer<Real<T>> values(std::min(rows, unknowns), code);
  int rank = 0;
  const auto call = [&](T* work, const int* length, Real<T>* reals, int* integers, int* info) {
    if constexpr (has_parts<T>) {
      Symbols<T>::gelsd(&rows, &unknowns, &count, a, &rows, b, &leading_b, values.data(), &rcond, &rank, work, length,
                        reals, integers, info);
    } else {
      Symbols<T>::gelsd(&rows, &unknowns, &count, a, &rows, b, &leading_b, values.data(), &rcond, &rank, work, length,
                        integers, info);
    }
  };
  if (code != 0) {
    return code;
  }
  T best{};
  Real<T> best_real{};
  int best_integer = 0;
  call(&best, &query, &best_real, &best_integer, &code);
  const Buffer<T> work(workspace_size(best), code, std::max(m, n));
  const Buffer<Real<T>> reals(workspace_size(best_real), code);
  const Buffer<int> integers(workspace_size(best_integer), code);
  if (code == 0) {
    call(work.data(), work.length(), reals.data(), integers.data(), &code);
  }
  return code;
}

#define REEL_DECOMPOSITIONS(T)                                                                       \
  template int heevd<T>(bool, Triangle, std::ptrdiff_t, T*, std::ptrdiff_t, Real<T>*) noexcept;      \
  template int gesdd<T>(Vectors, std::ptrdiff_t, std::ptrdiff_t, T*, Real<T>*, T*, T*) noexcept;     \
  template int geev<T>(std::ptrdiff_t, T*, std::complex<Real<T>>*, std::complex<Real<T>>*) noexcept; \
  template int gelsd<T>(std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t, T*, T*, Real<T>) noexcept;
REEL_DECOMPOSITIONS(float)
REEL_DECOMPOSITIONS(double)
REEL_DECOMPOSITIONS(std::complex<float>)
REEL_DECOMPOSITIONS(std::complex<double>)
#undef REEL_DECOMPOSITIONS

}  // namespace reel::kernels
