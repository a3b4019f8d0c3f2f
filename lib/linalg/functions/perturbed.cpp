#include "linalg/functions/perturbed.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/block.hpp"
#include "linalg/factorise.hpp"
#include "linalg/functions/elements.hpp"
#include "linalg/functions/schur.hpp"
#include "linalg/lapack_codes.hpp"
#include "loops/loops.hpp"
#include "loops/product/matmul.hpp"
#include "loops/product/matrices.hpp"

namespace reel::loops {

using reel::detail::empty;

double* numbers(const Tensor& x) { return reinterpret_cast<double*>(detail::block(x)->data); }
std::int64_t number_count(const Tensor& x) { return is_complex(detail::block(x)->dtype) ? 2 * x.size() : x.size(); }

namespace {

Tensor empty_like(const Tensor& x) { return empty(x.dtype(), x.shape()); }
Tensor zeros_like(const Tensor& x) {
  Tensor z = empty_like(x);
  std::memset(numbers(z), 0, static_cast<std::size_t>(number_count(z)) * sizeof(double));
  return z;
}

// Whether all elements on one side of the diagonal are zero.
bool is_triangular(const Tensor& a, bool lower) {
  const std::int64_t n = order_of(a), width = is_complex(a.dtype()) ? 2 : 1;
  for (std::int64_t i = 0; i < n; ++i) {
    const double* row = numbers(a) + i * n * width;
    const double *from = lower ? row + (i + 1) * width : row, *end = lower ? row + n * width : row + i * width;
    if (std::any_of(from, end, [](double v) { return v != 0; })) return false;
  }
  return true;
}

// Solves systems with one matrix. Triangular ones are solved by substitution without pivoting, which keeps the diagonal
// of their solutions exact. Other complex matrices P + iQ are solved as the real matrix [P, -Q; Q, P].
class DenseSystem {
 public:
  explicit DenseSystem(const Tensor& a)
      : a_(a),
        n_(order_of(a)),
        complex_(is_complex(a.dtype())),
        upper_(is_triangular(a, false)),
        lower_(is_triangular(a, true)) {
    if (upper_ || lower_) return;
    const std::int64_t rows = complex_ ? 2 * n_ : n_;
    factors_ = empty(DType::float64, {rows, rows});
    pivots_ = empty(DType::int32, {rows});
    static_cast<void>(factorise(complex_ ? embed() : a, factors_, pivots_));
  }
  // x becomes the solution.
  void solve(const Tensor& x) const {
    if (upper_ || lower_) return solve_triangular_system(x);
    if (!complex_) return loops::solve(factors_, pivots_, false, x, {}, n_);
    const Tensor real = empty(DType::float64, {2 * n_, n_});
    const auto each = [&](const auto& f) {
      for (std::int64_t i = 0; i < n_ * n_; ++i)
        for (std::int64_t part = 0; part < 2; ++part) f(numbers(x)[2 * i + part], numbers(real)[part * n_ * n_ + i]);
    };
    each([](double& of_x, double& of_real) { of_real = of_x; });
    loops::solve(factors_, pivots_, false, real, {}, n_);
    each([](double& of_x, double& of_real) { of_x = of_real; });
  }

 private:
  Tensor embed() const {
    const Tensor real = empty(DType::float64, {2 * n_, 2 * n_});
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = 0; j < n_; ++j) {
        const double* from = numbers(a_) + 2 * (i * n_ + j);
        double* to = numbers(real) + i * 2 * n_ + j;
        to[0] = to[n_ * (2 * n_ + 1)] = from[0];
        to[n_] = -from[1];
        to[n_ * 2 * n_] = from[1];
      }
    return real;
  }
  void solve_triangular_system(const Tensor& x) const {
    if (!complex_) {
      static_cast<void>(solve_triangular(a_, {lower_, false, false}, x, {}, n_));
      return;
    }
    // With rows and columns in reverse order a lower triangle is an upper one.
    const auto* from = reinterpret_cast<const Complex*>(numbers(a_));
    auto* to = reinterpret_cast<Complex*>(numbers(x));
    ComplexMatrix t(n_, n_), y(n_, n_);
    const auto place = [this](std::int64_t i) { return lower_ ? n_ - 1 - i : i; };
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = 0; j < n_; ++j) {
        t(i, j) = from[place(i) * n_ + place(j)];
        y(i, j) = to[place(i) * n_ + j];
      }
    solve_upper(t, y);
    for (std::int64_t i = 0; i < n_; ++i) std::copy_n(y.row(i), n_, to + place(i) * n_);
  }

  Tensor a_;
  std::int64_t n_;
  bool complex_, upper_, lower_;
  Tensor factors_, pivots_;
};

}  // namespace

Perturbed zeros_like(const Perturbed& x) {
  Perturbed z;
  for (const Tensor& part : x) z.push_back(zeros_like(part));
  return z;
}
Perturbed copy_of(const Perturbed& x) {
  Perturbed z;
  for (const Tensor& part : x) {
    z.push_back(empty_like(part));
    std::copy_n(numbers(part), number_count(part), numbers(z[z.size() - 1]));
  }
  return z;
}

// The coefficient of a subset is the sum over its partitions into two parts.
Perturbed product(const Perturbed& x, const Perturbed& y) {
  Perturbed z;
  for (std::size_t all = 0; all < x.size(); ++all) {
    z.push_back(empty_like(x[0]));
    for (std::size_t left = all;; left = (left - 1) & all) {
      matmul(x[left], y[all ^ left], {}, z[all], left == all ? Into::overwrite : Into::add);
      if (left == 0) break;
    }
  }
  return z;
}

// Part `all` of q r = x: q_0 r_all = x_all minus the products of the other parts.
Perturbed quotient(const Perturbed& q, const Perturbed& x) {
  const DenseSystem system(q[0]);
  Perturbed r = copy_of(x);
  const Tensor term = empty_like(x[0]);
  for (std::size_t all = 0; all < x.size(); ++all) {
    for (std::size_t left = all; left > 0; left = (left - 1) & all) {
      matmul(q[left], r[all ^ left], {}, term);
      Perturbed sum{r[all]};
      add(sum, -1, {term});
    }
    system.solve(r[all]);
  }
  return r;
}

// A row of all terms after the other: it stays in the first-level cache.
Perturbed value_of(const WeightedSum<Perturbed>& sum) {
  const Perturbed& like = *sum.terms[0].x;
  const std::int64_t n = order_of(like[0]), width = is_complex(like[0].dtype()) ? 2 : 1;
  Perturbed z;
  for (std::size_t part = 0; part < like.size(); ++part) {
    z.push_back(empty_like(like[part]));
    for (std::int64_t i = 0; i < n; ++i) {
      double* row = numbers(z[part]) + i * n * width;
      std::memset(row, 0, static_cast<std::size_t>(n * width) * sizeof(double));
      if (part == 0) row[i * width] = sum.identity;
      for (std::size_t k = 0; k < sum.count; ++k)
        functions::add_multiple(row, sum.terms[k].factor, numbers((*sum.terms[k].x)[part]) + i * n * width, n * width);
    }
  }
  return z;
}

void add(Perturbed& z, double factor, const Perturbed& x) {
  for (std::size_t part = 0; part < z.size(); ++part)
    functions::add_multiple(numbers(z[part]), factor, numbers(x[part]), number_count(x[part]));
}
void add_identity(Perturbed& z, double factor) {
  const std::int64_t n = order_of(z[0]), width = is_complex(z[0].dtype()) ? 2 : 1;
  for (std::int64_t i = 0; i < n; ++i) numbers(z[0])[i * (n + 1) * width] += factor;
}
void scale(Perturbed& z, double factor) {
  for (const Tensor& part : z) functions::multiply(numbers(part), factor, number_count(part));
}

std::vector<double> magnitudes(const Tensor& x) {
  std::vector<double> sizes(static_cast<std::size_t>(x.size()));
  functions::add_magnitudes(numbers(x), is_complex(x.dtype()), x.size(), sizes.data());
  return sizes;
}

double one_norm(const Tensor& x) {
  const std::int64_t n = order_of(x);
  const bool complex = is_complex(x.dtype());
  std::vector<double> sums(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    functions::add_magnitudes(numbers(x) + i * n * (complex ? 2 : 1), complex, n, sums.data());
  double largest = 0;
  for (const double sum : sums) largest = sum > largest || std::isnan(sum) ? sum : largest;
  return largest;
}

bool is_finite(const Tensor& x) { return finite(numbers(x), number_count(x)); }

namespace {

// Matrix number `at` of a contiguous tensor, as a tensor of its own.
Tensor matrix_at(const Tensor& x, std::int64_t at) {
  const std::int64_t n = order_of(x);
  Tensor one = empty(x.dtype(), {n, n});
  const std::int64_t bytes = static_cast<std::int64_t>(sizeof(double)) * number_count(one);
  std::memcpy(numbers(one), reinterpret_cast<const std::byte*>(numbers(x)) + at * bytes,
              static_cast<std::size_t>(bytes));
  return one;
}

Shape without_last(Shape shape, int count) {
  for (int d = 0; d < count; ++d) shape.pop_back();
  return shape;
}

// Matrix number i along the directions number j.
Perturbed perturb_matrix(const Tensor& matrices, std::int64_t i, const Tensor& along, std::int64_t j) {
  const std::int64_t order = along.shape()[-3];
  Perturbed x{matrix_at(matrices, i)};
  while (x.size() < std::size_t{1} << order) x.push_back(zeros_like(x[0]));
  for (std::int64_t k = 0; k < order; ++k) x[std::size_t{1} << k] = matrix_at(along, j * order + k);
  return x;
}

// Matrices of a batch that are perturbed at a time: 2^k matrices each, which bounds their memory.
constexpr std::int64_t at_a_time = 256;

PerturbedFunction function_of(MatrixFunction f) {
  switch (f) {
    case MatrixFunction::exponential:
      return functions::exponential;
    case MatrixFunction::logarithm:
      return functions::logarithm;
    default:
      return functions::square_root;
  }
}

}  // namespace

std::int64_t matrix_function(MatrixFunction f, const Tensor& a, const Tensor& directions, const Tensor& out) {
  const Tensor matrices = contiguous(a), along = contiguous(directions);
  const Shape batch = without_last(out.shape(), 2), own = without_last(a.shape(), 2),
              own_along = without_last(directions.shape(), 3);
  if (out.size() == 0) return -1;
  const PerturbedFunction function = function_of(f);
  // Tensors are made and dropped by this thread, for some matrices at a time.
  const std::int64_t count = batch.elements(), size = number_count(out) / count;
  detail::List<int> codes(static_cast<std::size_t>(count));
  for (std::int64_t first = 0; first < count; first += at_a_time) {
    detail::List<Perturbed> some;
    for (std::int64_t i = first; i < std::min(count, first + at_a_time); ++i)
      some.push_back(
          perturb_matrix(matrices, broadcast_index(i, batch, own), along, broadcast_index(i, batch, own_along)));
    const auto evaluate = [&](std::int64_t k) {
      Perturbed& x = some[static_cast<std::size_t>(k)];
      const bool finite = is_finite(x[0]);
      int& code = codes[static_cast<std::size_t>(first + k)];
      if (finite) code = code_of([&] { return function(x); });
      double* to = numbers(out) + (first + k) * size;
      if (finite && code == 0)
        std::copy_n(numbers(x.back()), size, to);
      else
        std::fill_n(to, size, std::numeric_limits<double>::quiet_NaN());
    };
    const auto tasks = static_cast<std::int64_t>(some.size());
    if (f == MatrixFunction::exponential && !functions::is_small(a))  // it makes tensors
      for (std::int64_t k = 0; k < tasks; ++k) evaluate(k);
    else
      for_each_in_tasks(tasks, grain_of_functions(order_of(a)), evaluate);
  }
  return first_info(codes).batch;
}

}  // namespace reel::loops
