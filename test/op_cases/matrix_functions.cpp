// Rows of the ops of <reel/linalg/functions.hpp>. References in long double: series, Newton's iteration, and equations
// of matrices as one system of n^2 equations.
#include <algorithm>
#include <reel/linalg.hpp>

#include "matrices.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

Array sum_of(const Array& a, Real factor, const Array& b) {
  Array y = a;
  for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] += factor * b.values[i];
  return y;
}
Array scaled(const Array& a, Real factor) { return sum_of(a, factor - 1, a); }

// Matrix i of a batch, or the only matrix.
Array matrix(const Array& x, std::int64_t i) {
  if (x.shape.rank() == 2) return x;
  return build({x.shape[1], x.shape[2]}, [&](const Index& k) { return at(x, {i, k[0], k[1]}); });
}

Array exponential(const Array& a) {
  Array y = unit(a.shape[0]), term = y;
  for (int k = 1; k < 40; ++k) {
    term = scaled(times(term, a), std::ldexp(Real(1), -6) / k);
    y = sum_of(y, 1, term);
  }
  for (int k = 0; k < 6; ++k) y = times(y, y);
  return y;
}
// Newton's iteration, coupled with the inverse of the root (Denman and Beavers).
Array root(const Array& a) {
  Array y = a, z = unit(a.shape[0]);
  for (int k = 0; k < 20; ++k) {
    const Array y_inverse = solved(y, unit(a.shape[0])), z_inverse = solved(z, unit(a.shape[0]));
    y = scaled(sum_of(y, 1, z_inverse), 0.5L);
    z = scaled(sum_of(z, 1, y_inverse), 0.5L);
  }
  return y;
}
// 2^k log of the 2^k-th root, by the series of 2 artanh((r - 1) / (r + 1)).
Array logarithm(const Array& a) {
  const Array one = unit(a.shape[0]);
  Array r = a;
  constexpr int roots = 3;
  for (int k = 0; k < roots; ++k) r = root(r);
  const Array q = solved(sum_of(r, 1, one), sum_of(r, -1, one)), square = times(q, q);
  Array power = q, y = q;
  for (int k = 3; k < 60; k += 2) {
    power = times(power, square);
    y = sum_of(y, Real(1) / k, power);
  }
  return scaled(y, std::ldexp(Real(2), roots));
}
// (a x + x b)_ij = sum_k a_ik x_kj + x_ik b_kj, for the vector of x in row-major order.
Array sylvester_solution(const Array& a, const Array& b, const Array& q) {
  const std::int64_t n = a.shape[0], m = b.shape[0];
  const Array system = build({n * m, n * m}, [&](const Index& i) {
    const std::int64_t p = i[0] / m, r = i[0] % m, k = i[1] / m, l = i[1] % m;
    return (r == l ? at(a, {p, k}) : 0) + (p == k ? at(b, {l, r}) : 0);
  });
  return {{n, m}, solved(system, {{n * m, 1}, q.values}).values};
}
Array sylvester_solutions(const Array& a, const Array& b, const Array& q) {
  if (a.shape.rank() == 2 && b.shape.rank() == 2 && q.shape.rank() == 2) return sylvester_solution(a, b, q);
  const std::int64_t count = std::max({a.shape.rank() == 3 ? a.shape[0] : 1, b.shape.rank() == 3 ? b.shape[0] : 1,
                                       q.shape.rank() == 3 ? q.shape[0] : 1});
  Array all;
  for (std::int64_t i = 0; i < count; ++i) {
    const Array one = sylvester_solution(matrix(a, i), matrix(b, i), matrix(q, i));
    all.shape = {count, one.shape[0], one.shape[1]};
    all.values.insert(all.values.end(), one.values.begin(), one.values.end());
  }
  return all;
}

// A complex matrix p + iq as the real one [p, -q; q, p], and its parts back.
Array embedded(const Array& p, const Array& q) {
  const std::int64_t n = p.shape[0];
  return build({2 * n, 2 * n}, [&](const Index& i) {
    const Index k{i[0] % n, i[1] % n};
    return i[0] / n == i[1] / n ? at(p, k) : i[0] < n ? -at(q, k) : at(q, k);
  });
}
Array part_of(const Array& x, bool imaginary) {
  const std::int64_t n = x.shape[0] / 2;
  return build({n, n}, [&](const Index& i) { return at(x, {i[0] + (imaginary ? n : 0), i[1]}); });
}
// The upper right block of f([a, e; 0, a]): the derivative of f at a along e.
Array derivative_block(const Array& a, const Array& e) {
  const std::int64_t n = a.shape[0];
  const Array y = exponential(build({2 * n, 2 * n}, [&](const Index& i) {
    const Index k{i[0] % n, i[1] % n};
    return i[0] / n == i[1] / n ? at(a, k) : i[0] < n ? at(e, k) : 0;
  }));
  return build({n, n}, [&](const Index& i) { return at(y, {i[0], i[1] + n}); });
}

// Eigenvalues in the right half-plane, those of all but the third operand.
Tensor dominant(const Tensor& x, std::size_t operand) {
  const bool square = x.rank() >= 2 && x.shape()[-1] == x.shape()[-2];
  return square && operand < 2 ? x + 6 * eye(x.shape().back()) : x;
}
Tensor first_dominant(const Tensor& x, std::size_t operand) { return operand == 0 ? dominant(x, 0) : x; }

// clang-format off
constexpr Shaped rows[] = {
    {"expm", "3x3;1x1;2x2x2;0x0;5x5", [](X x) { return expm(x[0]); }, [](A x) { return each(x[0], exponential); }, {-1, 1}, nullptr, none, 100},
    {"expm", "3x3", [](X x) { return expm(x[0] * 8); }, [](A x) { return exponential(scaled(x[0], 8)); }, {-1, 1}, [](const Tensor& x, std::size_t) { return x - eye(3); }, none, 4000},
    {"expm", "3x3,3x3", [](X x) { return real(expm(make_complex(x[0], x[1]))); }, [](A x) { return part_of(exponential(embedded(x[0], x[1])), false); }, {-1, 1}, nullptr, by_complex, 100},
    {"expm", "2x2,2x2", [](X x) { return imag(expm(make_complex(x[0], x[1]))); }, [](A x) { return part_of(exponential(embedded(x[0], x[1])), true); }, {-1, 1}, nullptr, by_complex, 100},
    {"expm_frechet", "3x3,3x3;2x2,2x2", [](X x) { return expm_frechet(x[0], x[1]); }, [](A x) { return derivative_block(x[0], x[1]); }, {-1, 1}, nullptr, none, 100},
    {"expm_frechet", "2x2,2x2x2", [](X x) { return expm_frechet(x[0], x[1]); }, [](A x) { return each(x[1], [&](const Array& e) { return derivative_block(x[0], e); }); }, {-1, 1}, nullptr, none, 100},
    {"sqrtm", "3x3;1x1;2x2x2;0x0", [](X x) { return sqrtm(x[0]); }, [](A x) { return each(x[0], root); }, {-2, 2}, dominant, none, 20},
    {"sqrtm", "2x2,2x2", [](X x) { return imag(sqrtm(make_complex(x[0], x[1]))); }, [](A x) { return part_of(root(embedded(x[0], x[1])), true); }, {-2, 2}, first_dominant, by_complex, 40},
    {"logm", "3x3;1x1;2x2x2;0x0", [](X x) { return logm(x[0]); }, [](A x) { return each(x[0], logarithm); }, {-2, 2}, dominant, none, 40},
    {"logm", "2x2,2x2", [](X x) { return real(logm(make_complex(x[0], x[1]))); }, [](A x) { return part_of(logarithm(embedded(x[0], x[1])), false); }, {-2, 2}, first_dominant, by_complex, 40},
    {"sylvester", "3x3,2x2,3x2;1x1,1x1,1x1;2x3x3,2x2,3x2;2x2,2x3x3,2x2x3;2x2,1x1,2x2x1;0x0,2x2,0x2", [](X x) { return sylvester(x[0], x[1], x[2]); }, [](A x) { return sylvester_solutions(x[0], x[1], x[2]); }, {-2, 2}, dominant, none, 20},
    {"sylvester", "2x2,2x2,2x2", [](X x) { return real(sylvester(make_complex(x[0], x[2]), x[1], make_complex(x[2], x[0]))); },
      [](A x) { const Array zero = scaled(x[1], 0); return part_of(sylvester_solution(embedded(x[0], x[2]), embedded(x[1], zero), embedded(x[2], x[0])), false); }, {-2, 2}, dominant, by_complex, 40},
    {"lyapunov", "3x3,3x3;2x2,2x2x2", [](X x) { return lyapunov(x[0], x[1]); }, [](A x) { return sylvester_solutions(x[0], flipped(x[0]), x[1]); }, {-2, 2}, first_dominant, none, 20},
};
// clang-format on

}  // namespace

std::span<const Shaped> matrix_functions() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
