// Products of complex numbers: values against std::complex<long double>, every layout; derivatives in both modes to
// third order, as functions of two real variables; real operands beside complex ones.
#include <complex>
#include <cstring>
#include <limits>
#include <reel/reel.hpp>

#include "complex_check.hpp"
#include "support/numbers.hpp"

using namespace reel;
using complex_check::check_orders, complex_check::drawn;
using support::Tensors;

namespace {

using C = std::complex<double>;
using L = std::complex<long double>;

// The greatest error of matrices [m, k] x [k, n], relative to the sum of absolute values.
double error(const Tensor& a, const Tensor& b, const Tensor& c) {
  const auto x = cast(a, DType::complex128).to_vector<C>(), y = cast(b, DType::complex128).to_vector<C>(),
             z = cast(c, DType::complex128).to_vector<C>();
  const auto m = static_cast<std::size_t>(a.shape()[0]), k = static_cast<std::size_t>(a.shape()[1]),
             n = static_cast<std::size_t>(b.shape()[1]);
  REQUIRE(z.size() == m * n);
  long double worst = 0;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      L sum;
      long double magnitude = 1e-300L;
      for (std::size_t p = 0; p < k; ++p) {
        sum += L(x[i * k + p]) * L(y[p * n + j]);
        magnitude += std::abs(L(x[i * k + p])) * std::abs(L(y[p * n + j]));
      }
      worst = support::worse(worst, std::abs(L(z[i * n + j]) - sum) / magnitude);
    }
  return static_cast<double>(worst);
}

}  // namespace

TEST_CASE("complex matmul: values in every layout and around the borders of tiles") {
  for (const DType d : {DType::complex64, DType::complex128}) {
    const double eps = d == DType::complex64 ? 0x1p-23 : 0x1p-52;
    support::Random random("values");
    for (const auto& [m, n, k] : {std::tuple(1, 1, 1),
                                  {3, 3, 3},
                                  {1, 9, 4},
                                  {9, 1, 4},
                                  {1, 1, 300},
                                  {14, 8, 127},
                                  {15, 17, 128},
                                  {29, 33, 129},
                                  {70, 70, 70},
                                  {130, 40, 300},
                                  {3, 300, 600}}) {
      CAPTURE(m, n, k);
      const Tensor a = drawn(random, {m, k}, d), b = drawn(random, {k, n}, d), c = matmul(a, b);
      REQUIRE(c.dtype() == d);
      CHECK(c.is_contiguous());
      CHECK(error(a, b, c) <= 4 * eps);
      const auto same = [&](const Tensor& other) { CHECK(array_equal(other, c)); };
      const Tensor at = contiguous(transpose(a)), bt = contiguous(transpose(b));
      same(matmul(transpose(at), b));
      same(matmul(a, transpose(bt)));
      same(matmul(at, bt, {.transpose_a = true, .transpose_b = true}));
      same(matmul(flip(contiguous(flip(a, 1)), 1), flip(contiguous(flip(b)))));
      same(slice(matmul(stack({a, a}), b), {1}));
      same(slice(matmul(stack({a, a}), stack({b, b})), {1}));
    }
  }
}

TEST_CASE("complex products: same bits for every number of threads, alone and in batches") {
  support::Random random("threads");
  const Tensor a = drawn(random, {3, 300, 140}), b = drawn(random, {3, 140, 200});
  const int before = num_threads();
  std::vector<C> first;
  for (int threads : {1, 2, 3, 7}) {
    set_num_threads(threads);
    const auto values = matmul(a, b).to_vector<C>();
    if (first.empty()) first = values;
    CHECK(std::memcmp(values.data(), first.data(), values.size() * sizeof(C)) == 0);
  }
  set_num_threads(before);
  for (std::int64_t i = 0; i < 3; ++i) CHECK(array_equal(matmul(a[i], b[i]), matmul(a, b)[i]));
}

TEST_CASE("complex dot, outer, tensordot and einsum are sums of products") {
  const Tensor x = from_data(std::vector<C>{{1, 2}, {3, -1}}), y = from_data(std::vector<C>{{0, 1}, {2, 2}});
  CHECK(dot(x, y).item<C>() == C(6, 5));  // no factor is conjugated: (1+2i)i + (3-i)(2+2i)
  CHECK(einsum("i,i->", {x, y}).item<C>() == C(6, 5));
  CHECK(outer(x, y).to_vector<C>() == std::vector<C>{{-2, 1}, {-2, 6}, {1, 3}, {8, 4}});
  CHECK(tensordot(x, y, 1).item<C>() == C(6, 5));
  const Tensor m = outer(x, y);
  CHECK(matmul(m, x).to_vector<C>() ==
        std::vector<C>{{-2 * 1 - 1 * 2 + (-2 * 3 + 6), -4 + 1 + 2 + 18}, {1 - 6 + 24 + 4, 2 + 3 - 8 + 12}});
  CHECK(array_equal(einsum("ij,j->i", {m, x}), matmul(m, x)));
  CHECK(matmul(zeros({2, 0}, DType::complex64), zeros({0, 3}, DType::complex64)).to_vector<std::complex<float>>() ==
        std::vector<std::complex<float>>(6));
  CHECK(matmul(ones({2, 2}), m).dtype() == DType::complex128);
  CHECK(matmul(ones({2, 2}, DType::float32), cast(m, DType::complex64)).dtype() == DType::complex64);
}

TEST_CASE("complex products: NaN and infinity reach only their row and column") {
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<C> values(9, C(1, 1));
  values[4] = C(inf, 0);
  const Tensor c = matmul(from_data(values, {3, 3}), from_data(std::vector<C>(9, C(1, 0)), {3, 3}));
  const auto got = c.to_vector<C>();
  for (std::size_t i = 0; i < 9; ++i) CHECK((i / 3 == 1) == !std::isfinite(std::abs(got[i])));
}

TEST_CASE("C8: complex products in both modes, to third order") {
  support::Random random("orders");
  const Tensor a = drawn(random, {3, 4}), b = drawn(random, {4, 2}), u = drawn(random, {4}), v = drawn(random, {4});
  const Tensor stacked = drawn(random, {2, 3, 4}), others = drawn(random, {2, 4, 2});
  check_orders([](const Tensors& x) { return Tensors{matmul(x[0], x[1])}; }, {a, b}, 3);
  check_orders(
      [](const Tensors& x) {
        return Tensors{matmul(x[0], x[1], {true, true})};
      },
      {drawn(random, {4, 3}), drawn(random, {2, 4})}, 3);
  check_orders([](const Tensors& x) { return Tensors{matmul(x[0], x[1])}; }, {stacked, b}, 2);
  check_orders([](const Tensors& x) { return Tensors{matmul(x[0], x[1])}; }, {a, others}, 2);
  check_orders([](const Tensors& x) { return Tensors{matmul(x[0], x[1])}; }, {stacked, others}, 2);
  check_orders([](const Tensors& x) { return Tensors{matmul(x[0], x[1])}; }, {a, u}, 3);
  check_orders([](const Tensors& x) { return Tensors{matmul(x[0], x[1])}; }, {u, b}, 3);
  check_orders([](const Tensors& x) { return Tensors{dot(x[0], x[1])}; }, {u, v}, 3);
  check_orders([](const Tensors& x) { return Tensors{outer(x[0], x[1])}; }, {u, v}, 3);
  check_orders([](const Tensors& x) { return Tensors{tensordot(x[0], x[1], 1)}; }, {stacked, b}, 3);
  check_orders(
      [](const Tensors& x) {
        return Tensors{einsum("bij,jk,bkl->bil", {x[0], x[1], x[2]})};
      },
      {stacked, drawn(random, {4, 4}), others}, 3);
  check_orders([](const Tensors& x) { return Tensors{matmul(transpose(x[0]), flip(x[0]))}; }, {a}, 3);
}

TEST_CASE("C8: gradients of complex products use conjugate transposes; of a real operand the real part") {
  support::Random random("rules");
  const Tensor a = drawn(random, {3, 4}), b = drawn(random, {4, 2}), g = drawn(random, {3, 2});
  const Tensor weights = random.tensor({4, 2});
  GradientTape tape({.persistent = true});
  tape.watch(std::vector{a, b, weights});
  const Tensor y = matmul(a, b), z = matmul(a, weights);
  const auto near = [](const Tensor& p, const Tensor& q) { CHECK(max(abs(p - q)).item() <= 1e-14); };
  near(*tape.gradient(y, a, {.output_gradients = g}), matmul(g, conj(transpose(b))));
  near(*tape.gradient(y, b, {.output_gradients = g}), matmul(conj(transpose(a)), g));
  const Tensor by_weights = *tape.gradient(z, weights, {.output_gradients = g});
  CHECK(by_weights.dtype() == DType::float64);
  near(by_weights, real(matmul(conj(transpose(a)), g)));
}

TEST_CASE("a complex product that adds to a gradient sums over all of k first") {
  for (const std::int64_t k : {5, 700}) {  // within one block of a sum, and over several
    support::Random random("sums");
    const Tensor a = drawn(random, {k, 6}), w = drawn(random, {6, 3});
    GradientTape tape({.persistent = true});
    tape.watch(w);
    const Tensor first = matmul(a, w), second = matmul(a * C(0, 1), w);
    const Tensor g = drawn(random, {k, 3});
    const Tensor together = *tape.gradient(std::vector{first, second}, w, {.output_gradients = std::vector{g, g}});
    const Tensor one = *tape.gradient(first, w, {.output_gradients = g}),
                 other = *tape.gradient(second, w, {.output_gradients = g});
    CHECK(array_equal(together, one + other));
  }
}
