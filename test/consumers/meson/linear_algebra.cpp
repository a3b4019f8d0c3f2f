// Linear algebra of a library that was built without OpenBLAS: figures worked out by hand, and larger systems against
// the products that they undo.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <reel/reel.hpp>
#include <vector>

using namespace reel;

namespace {

int failures = 0;

void expect(const Tensor& found, const Tensor& wanted, const char* what) {
  const double error = max(abs(found - wanted)).item<double>();
  if (found.shape() == wanted.shape() && error < 1e-10) return;
  std::fprintf(stderr, "%s: off by %g\n", what, error);
  ++failures;
}

void figures() {
  const Tensor a = tensor({{4., 2.}, {2., 3.}}), b = tensor({2., 5.}),
               inverse_of_a = tensor({{3., -2.}, {-2., 4.}}) / 8.;
  expect(matmul(tensor({{1., 2., 3.}, {4., 5., 6.}}), tensor({{1., 0.}, {0., 1.}, {2., -1.}})),
         tensor({{7., -1.}, {16., -1.}}), "matmul");
  expect(matmul(a, b), tensor({18., 19.}), "matmul with a vector");
  expect(dot(b, b), scalar(29.), "dot");
  expect(det(a), scalar(8.), "det");
  expect(grad([](const Tensor& x) { return det(x); })(a), inverse_of_a * 8., "gradient of det");
  expect(cholesky(a), tensor({{2., 0.}, {1., std::sqrt(2.)}}), "cholesky");
  expect(grad([](const Tensor& x) { return 2. * sum(log(diagonal(cholesky(x)))); })(a), inverse_of_a,
         "gradient of cholesky");
  expect(solve(a, b), tensor({-0.5, 2.}), "solve");
  expect(grad([&](const Tensor& x) { return sum(solve(a, x)); })(b), tensor({0.125, 0.25}), "gradient of solve by b");
  expect(grad([&](const Tensor& x) { return sum(solve(x, b)); })(a), tensor({{0.0625, -0.25}, {0.125, -0.5}}),
         "gradient of solve by a");
  expect(inverse(a), inverse_of_a, "inverse");
  expect(triangular_solve(a, b), tensor({0.5, 4. / 3.}), "triangular_solve");
}

void larger() {
  for (const std::int64_t n : {17, 40, 130}) {
    std::vector<double> numbers(static_cast<std::size_t>(n * n));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i * 7919 % 10007) / 10007.0 - 0.5;
    const Tensor a = reshape(from_data(numbers), {n, n}) + eye(n) * static_cast<double>(n), b = a * 0.5 + 1.;
    expect(matmul(a, b), sum(expand_dims(a, 2) * expand_dims(b, 0), {1}), "a larger product");
    expect(matmul(a, solve(a, b)), b, "a larger system");
    expect(matmul(a, inverse(a)), eye(n), "a larger inverse");
    const Tensor s = matmul(a, transpose(a)) / static_cast<double>(n), l = cholesky(s);
    expect(matmul(l, transpose(l)), s, "a larger Cholesky factor");
    expect(slogdet(s).logdet, 2. * sum(log(diagonal(l))), "slogdet");
  }
}

void refusals() {
  try {
    static_cast<void>(solve(zeros({2, 2}), ones({2})));
    ++failures;
  } catch (const ValueError&) {
  }
}

}  // namespace

int main() {
  figures();
  larger();
  refusals();
  if (tune_blas().reason != "built without OpenBLAS") {
    std::fprintf(stderr, "this is not the library without OpenBLAS\n");
    ++failures;
  }
  if (failures == 0) std::puts("linear algebra without OpenBLAS: all as expected");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
