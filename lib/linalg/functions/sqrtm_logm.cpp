// Square root and logarithm, on the complex Schur form t: the square root by Bjorck and Hammarling's recurrence, the
// logarithm by inverse scaling and squaring (Higham, Functions of Matrices, algorithms 6.3 and 11.9). Sylvester's
// equation by the Schur forms of both matrices (Bartels and Stewart).
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/block.hpp"
#include "linalg/functions/perturbed.hpp"
#include "linalg/functions/schur.hpp"
#include "linalg/lapack_codes.hpp"
#include "loops/loops.hpp"
#include "loops/product/matmul.hpp"
#include "loops/product/matrices.hpp"

namespace reel::loops {
namespace {

ComplexMatrix complex_matrix(const double* from, bool complex, std::int64_t n, std::int64_t m) {
  ComplexMatrix x(n, m);
  for (std::int64_t i = 0; i < n * m; ++i)
    x.elements[static_cast<std::size_t>(i)] = complex ? Complex(from[2 * i], from[2 * i + 1]) : Complex(from[i]);
  return x;
}
void store(const ComplexMatrix& x, bool complex, double* to) {
  for (const Complex& e : x.elements) {
    *to++ = e.real();
    if (complex) *to++ = e.imag();
  }
}
ComplexMatrix multiply_by_sides(const ComplexMatrix& left, const ComplexMatrix& x, const ComplexMatrix& right) {
  return product(product(left, x), right);
}
void add(ComplexMatrix& to, double factor, const ComplexMatrix& from) {
  for (std::size_t i = 0; i < to.elements.size(); ++i) to.elements[i] += factor * from.elements[i];
}

// The parts of a perturbed matrix in the basis of the Schur vectors of part 0.
using Parts = std::vector<ComplexMatrix>;

// The sum over the partitions of a subset into two nonempty parts.
ComplexMatrix proper_products(const Parts& x, const Parts& y, std::size_t all) {
  ComplexMatrix sum(x[0].rows, x[0].columns);
  for (std::size_t left = (all - 1) & all; left > 0; left = (left - 1) & all)
    add(sum, 1, product(x[left], y[all ^ left]));
  return sum;
}

ComplexMatrix triangular_root(const ComplexMatrix& t) {
  const std::int64_t n = t.rows;
  ComplexMatrix r(n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    r(j, j) = std::sqrt(t(j, j));
    for (std::int64_t i = j - 1; i >= 0; --i) {
      Complex rest = t(i, j);
      for (std::int64_t k = i + 1; k < j; ++k) rest -= r(i, k) * r(k, j);
      r(i, j) = rest == Complex() ? rest : rest / (r(i, i) + r(j, j));
    }
  }
  return r;
}
// r_0 r_all + r_all r_0 = x_all minus the products of the other parts. False if the derivative is infinite.
bool root_of_parts(Parts& x) {
  Parts r{triangular_root(x[0])};
  for (std::size_t all = 1; all < x.size(); ++all) {
    r.push_back(x[all]);
    add(r[all], -1, proper_products(r, r, all));
    if (!solve_triangular_sylvester(r[0], r[0], r[all])) return false;
  }
  x = std::move(r);
  return true;
}

// Gauss's rule of 7 nodes on [-1, 1]: the integral of x (1 + s x)^-1 over s in [0, 1] becomes the Pade approximant of
// degree 7 of log(1 + x), exact to rounding up to this norm (Higham, table 11.1). See bound_of in exponential.cpp for
// derivatives.
constexpr double nodes[] = {0, 0.40584515137739717, 0.74153118559939444, 0.94910791234275852};
constexpr double weights[] = {0.41795918367346939, 0.38183005050511894, 0.27970539148927667, 0.12948496616886969};
constexpr double largest_norm = 0.264;

double distance_from_identity(const ComplexMatrix& r) {
  double largest = 0;
  for (std::int64_t j = 0; j < r.columns; ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i < r.rows; ++i) sum += std::abs(i == j ? r(i, j) - 1.0 : r(i, j));
    largest = std::max(largest, sum);
  }
  return largest;
}

// (1 + s x)^-1 x, part by part.
Parts integrand(const Parts& x, double s) {
  Parts q = x, y;
  for (ComplexMatrix& part : q)
    for (Complex& e : part.elements) e *= s;
  for (std::int64_t i = 0; i < q[0].rows; ++i) q[0](i, i) += 1;
  for (std::size_t all = 0; all < x.size(); ++all) {
    y.push_back(x[all]);
    if (all > 0) {
      add(y[all], -1, product(q[all], y[0]));
      add(y[all], -1, proper_products(q, y, all));
    }
    solve_upper(q[0], y[all]);
  }
  return y;
}

bool logarithm_of_parts(Parts& x) {
  const ComplexMatrix t = x[0];
  const double order = std::log2(static_cast<double>(x.size())), bound = largest_norm * std::pow(15.0, -order / 14);
  int roots = 0;
  for (; distance_from_identity(x[0]) > bound && roots < 100; ++roots)
    if (!root_of_parts(x)) return false;
  for (std::int64_t i = 0; i < t.rows; ++i) x[0](i, i) -= 1;
  Parts sum;
  for (const ComplexMatrix& part : x) sum.emplace_back(part.rows, part.columns);
  for (int k = -3; k <= 3; ++k) {
    const auto at = static_cast<std::size_t>(std::abs(k));
    const Parts y = integrand(x, 0.5 + (k < 0 ? -0.5 : 0.5) * nodes[at]);
    for (std::size_t part = 0; part < y.size(); ++part) add(sum[part], std::ldexp(0.5 * weights[at], roots), y[part]);
  }
  for (std::int64_t i = 0; i < t.rows; ++i) sum[0](i, i) = std::log(t(i, i));
  x = std::move(sum);
  return true;
}

// Eigenvalues up to this magnitude count as zero.
double zero_bound(const Schur& s) { return 10 * static_cast<double>(s.t.rows) * s.rounding; }

// Whether a real matrix with these eigenvalues has the function's real value: none is negative.
bool has_real_value(const Schur& s) {
  const double bound = zero_bound(s);
  for (std::int64_t i = 0; i < s.t.rows; ++i)
    if (s.t(i, i).real() < -bound && std::abs(s.t(i, i).imag()) <= bound) return false;
  return true;
}
bool is_singular(const Schur& s) {
  const double bound = zero_bound(s);
  for (std::int64_t i = 0; i < s.t.rows; ++i)
    if (std::abs(s.t(i, i)) <= bound) return true;
  return false;
}

// Whether products of elements of the Schur form may overflow: that of a triangular matrix takes none.
bool is_too_large(const ComplexMatrix& a) {
  constexpr double factor_max = 0x1p500;  // sums of 2^23 squares are below 2^1023
  return largest_element(a) > factor_max && !is_triangular(a);
}
// Divides a matrix that is too large by 4^e. Returns e.
int scale_down(Perturbed& x) {
  const std::int64_t n = order_of(x[0]);
  if (!is_too_large(complex_matrix(numbers(x[0]), is_complex(x[0].dtype()), n, n))) return 0;
  scale(x, 0x1p-512);
  return 256;
}

// x = f(x) through the Schur form. Derivatives that are infinite become infinity.
bool through_schur(Perturbed& x, bool (*f)(Parts&), bool nonsingular) {
  const std::int64_t n = order_of(x[0]);
  const bool complex = is_complex(x[0].dtype());
  const Schur s = schur(complex_matrix(numbers(x[0]), complex, n, n));
  if (!complex && !has_real_value(s)) return false;
  if (nonsingular && is_singular(s)) return false;
  const ComplexMatrix back = adjoint(s.z);
  Parts parts{s.t};
  for (std::size_t k = 1; k < x.size(); ++k)
    parts.push_back(multiply_by_sides(back, complex_matrix(numbers(x[k]), complex, n, n), s.z));
  const bool finite = f(parts);
  for (std::size_t k = 0; k < x.size(); ++k)
    if (finite)
      store(multiply_by_sides(s.z, parts[k], back), complex, numbers(x[k]));
    else
      std::fill_n(numbers(x[k]), number_count(x[k]), std::numeric_limits<double>::infinity());
  return true;
}

// q becomes x with a x + x b = q. False if there is none, or more than one.
bool solve_sylvester(ComplexMatrix a, ComplexMatrix b, ComplexMatrix& q) {
  if (is_too_large(a) || is_too_large(b))
    for (ComplexMatrix* m : {&a, &b, &q})
      for (Complex& e : m->elements) e *= 0x1p-512;
  const Schur s = schur(std::move(a)), r = schur(std::move(b));
  q = multiply_by_sides(adjoint(s.z), q, r.z);
  if (!solve_triangular_sylvester(s.t, r.t, q, std::max(s.rounding, r.rounding))) return false;
  q = multiply_by_sides(s.z, q, adjoint(r.z));
  return true;
}

}  // namespace

bool functions::square_root(Perturbed& x) {
  const int e = scale_down(x);
  if (!through_schur(x, root_of_parts, false)) return false;
  if (e > 0) scale(x, std::ldexp(1.0, e));
  return true;
}
bool functions::logarithm(Perturbed& x) {
  const int e = scale_down(x);
  if (!through_schur(x, logarithm_of_parts, true)) return false;
  if (e > 0) add_identity(x, 2 * e * std::numbers::ln2);
  return true;
}

std::int64_t sylvester(const Tensor& a, const Tensor& b, const Tensor& x) {
  const Tensor left = contiguous(a), right = contiguous(b);
  const std::int64_t n = order_of(a), m = order_of(b);
  const bool complex = is_complex(x.dtype());
  const std::int64_t width = complex ? 2 : 1;
  const auto batch_of = [](const Tensor& of) {
    Shape batch = of.shape();
    batch.pop_back();
    batch.pop_back();
    return batch;
  };
  const Shape batch = batch_of(x), of_a = batch_of(a), of_b = batch_of(b);
  if (n == 0 || m == 0) return -1;
  detail::List<int> codes(static_cast<std::size_t>(batch.elements()));
  for_each_in_tasks(batch.elements(), grain_of_functions(std::max(n, m)), [&](std::int64_t i) {
    const double *pa = numbers(left) + broadcast_index(i, batch, of_a) * n * n * width,
                 *pb = numbers(right) + broadcast_index(i, batch, of_b) * m * m * width;
    double* px = numbers(x) + i * n * m * width;
    const auto finite = [width](const double* p, std::int64_t elements) {
      return std::all_of(p, p + elements * width, [](double v) { return std::isfinite(v); });
    };
    if (finite(pa, n * n) && finite(pb, m * m)) {
      int& code = codes[static_cast<std::size_t>(i)];
      code = code_of([&] {
        ComplexMatrix q = complex_matrix(px, complex, n, m);
        if (!solve_sylvester(complex_matrix(pa, complex, n, n), complex_matrix(pb, complex, m, m), q)) return false;
        store(q, complex, px);
        return true;
      });
      if (code == 0) return;
    }
    std::fill_n(px, n * m * width, std::numeric_limits<double>::quiet_NaN());
  });
  return first_info(codes).batch;
}

}  // namespace reel::loops
