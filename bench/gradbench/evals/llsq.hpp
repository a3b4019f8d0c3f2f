// llsq: least squares of a polynomial's distance to the sign function, and its gradient by the coefficients.
#pragma once
#include <cmath>

#include "../eval.hpp"

namespace gradbench::llsq {

using reel::Tensor;

struct Input {
  Tensor x;        // [m] coefficients
  std::int64_t n;  // points
};

// The powers 0 ... count - 1 of every t[i], [count, n].
inline Tensor powers(const Tensor& t, std::int64_t count) {
  return cumprod(broadcast_to(t, {count, t.size()}), 0, true);
}

// The polynomial is cut into r pieces of w coefficients, r = w = sqrt(m): sum_a (t^w)^a sum_b x[a, b] t^b. So it takes
// two tables of powers with n sqrt(m) elements, in place of one with n m, and a product of matrices.
inline Tensor polynomial(const Tensor& x, const Tensor& t) {
  const std::int64_t m = x.size(), width = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(m))));
  const std::int64_t rows = (m + width - 1) / width;
  const Tensor low = powers(t, width);
  const Tensor high = powers(low[width - 1] * t, rows);
  const Tensor pieces = matmul(reshape(pad(x, {0}, {rows * width - m}), {rows, width}), low);
  return sum(high * pieces, 0);
}

inline Tensor primal(const Tensor& x, std::int64_t n) {
  const Tensor t = -1 + reel::arange(n) * 2.0 / static_cast<double>(n - 1);
  return 0.5 * sum(square(sign(t) - polynomial(x, t)));
}

inline Module functions() {
  const auto read = [](const Json& input) { return Input{tensor_at(input, "x"), integer_at(input, "n")}; };
  return {{"primal", timed(read, [](const Input& input) { return primal(input.x, input.n); })},
          {"gradient", timed(read, [](const Input& input) { return reel::grad<0>(primal)(input.x, input.n); })}};
}

}  // namespace gradbench::llsq
