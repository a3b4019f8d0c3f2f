// llsq: least squares of a polynomial's distance to the sign function, and its gradient by the coefficients.
#pragma once
#include <functional>
#include <reel/compile.hpp>

#include "../eval.hpp"

namespace gradbench::llsq {

using reel::Tensor;

struct Input {
  Tensor x;        // [m] coefficients
  std::int64_t n;  // points
  /// The gradient, recorded at its first run only.
  std::function<Tensor(const Tensor&)> gradient = {};
};

// The powers 0 ... count - 1 of every t[i], [count, n].
inline Tensor powers(const Tensor& t, std::int64_t count) {
  return cumprod(broadcast_to(t, {count, t.size()}), 0, true);
}

// The polynomial in rows of `width` coefficients, about sqrt(m): sum_a (t^width)^a sum_b x[a, b] t^b. So it takes two
// tables of powers with about n sqrt(m) elements, in place of one with n m, and a product of matrices.
inline Tensor polynomial(const Tensor& x, const Tensor& t) {
  const std::int64_t m = x.size();
  std::int64_t width = 1;
  while (width * width < m) width *= 2;
  const std::int64_t rows = (m + width - 1) / width, missing = rows * width - m;
  const Tensor low = powers(t, width), high = powers(low[-1] * t, rows);
  const Tensor pieces = matmul(reshape(missing == 0 ? x : pad(x, {0}, {missing}), {rows, width}), low);
  return sum(high * pieces, 0);
}

inline Tensor primal(const Tensor& x, std::int64_t n) {
  const double last = static_cast<double>(n - 1);
  const Tensor t = reel::arange(-last, last + 1, 2.0) / last;  // 0 in the middle is exact
  return 0.5 * sum(square(sign(t) - polynomial(x, t)));
}

inline Input read(const Field& input) {
  Input result{input.at("x").tensor({any_extent}), input.at("n").integer(2)};  // points are 2 / (n - 1) apart
  result.gradient = reel::compile([n = result.n](const Tensor& x) { return reel::grad<0>(primal)(x, n); });
  return result;
}

inline Module functions() {
  return {{"primal", timed(read, [](const Input& input) { return primal(input.x, input.n); })},
          {"gradient", timed(read, [](const Input& input) { return input.gradient(input.x); })}};
}

}  // namespace gradbench::llsq
