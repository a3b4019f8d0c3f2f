// The products of <reel/linalg/products.hpp>: order of multiplication, dtypes, powers 0 and below, errors.
#include <limits>
#include <reel/linalg.hpp>

#include "catch.hpp"
#include "support/calls.hpp"
#include "support/derivatives.hpp"

using namespace reel;
using Catch::Contains;

namespace {

constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN();

Tensor drawn(const Shape& shape, const char* seed) { return support::Random(seed).tensor(shape); }
Tensor complex_of(const Shape& shape, const char* seed) {
  return make_complex(drawn(shape, seed), support::Random(std::string(seed) + ", imaginary").tensor(shape));
}
double distance(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  return a.size() == 0 ? 0 : max(abs(a - b)).item();
}

// The multiplications of all products that f calls.
template <class F>
std::int64_t multiplications(const F& f) {
  std::vector<support::Recorded> calls;
  {
    const support::Listening listening(calls);
    f();
  }
  std::int64_t count = 0;
  for (const support::Recorded& call : calls)
    if (call.primitive->rule.name == std::string("matmul"))
      count += call.outputs[0].size() * call.inputs[0].shape()[-1];
  return count;
}

}  // namespace

TEST_CASE("extents beyond int64 are refused, also with an axis of extent 0") {
  const std::int64_t large = std::int64_t{1} << 40;
  CHECK_THROWS_WITH(kron(zeros({0, large}), zeros({0, large})), Contains("kron: ") && Contains("exceeds"));
  CHECK_THROWS_WITH(tensorinv(zeros({0, large, large}), 1), Contains("tensorinv: ") && Contains("exceeds"));
  CHECK_THROWS_WITH(tensorsolve(zeros({0, large, large}), zeros({0})),
                    Contains("tensorsolve: ") && Contains("exceeds"));
}

TEST_CASE("products that equal their operand are new tensors") {
  const Tensor a = eye(2);
  CHECK(matrix_power(a, 1).id() != a.id());
  CHECK(multi_dot({a}).id() != a.id());
  CHECK(array_equal(matrix_power(a, 1), a));
  CHECK(array_equal(multi_dot({a}), a));
  GradientTape tape;
  tape.watch(a);
  const Tensor y = sum(matrix_power(a, 1) + multi_dot({a}));
  CHECK(array_equal(*tape.gradient(y, a), full({2, 2}, 2.0)));
}

TEST_CASE("multi_dot multiplies in the cheapest order") {
  const Tensor a = drawn({30, 2}, "a"), b = drawn({2, 20}, "b"), c = drawn({20, 3}, "c"), d = drawn({3, 10}, "d");
  // a ((b c) d): 2 20 3 + 2 3 10 + 30 2 10 = 780
  CHECK(multiplications([&] { multi_dot({a, b, c, d}); }) == 780);
  CHECK(distance(multi_dot({a, b, c, d}), matmul(matmul(matmul(a, b), c), d)) < 1e-12);
  // The textbook's chain: Cormen et al., figure 15.5.
  const std::vector<std::int64_t> extents{30, 35, 15, 5, 10, 20, 25};
  std::vector<Tensor> chain;
  for (std::size_t i = 0; i + 1 < extents.size(); ++i) chain.push_back(ones({extents[i], extents[i + 1]}));
  CHECK(multiplications([&] { multi_dot(chain); }) == 15125);
  // The chain is multiplied from the vector's side.
  const Tensor x = drawn({10}, "x");
  CHECK(multiplications([&] { multi_dot({a, b, c, d, x}); }) == 30 + 60 + 40 + 60);
  CHECK(multi_dot({a, b, c, d, x}).shape() == Shape{30});
}

TEST_CASE("products of complex numbers conjugate as documented") {
  const Tensor a = complex_of({2, 3}, "a"), b = complex_of({2, 3}, "b");
  CHECK(distance(vdot(a, b), sum(conj(a) * b)) < 1e-15);
  CHECK(distance(vecdot(a, b), sum(conj(a) * b, -1)) < 1e-15);
  CHECK(distance(inner(a, b), matmul(a, transpose(b))) < 1e-15);
  CHECK(distance(matvec(a, b[1]), sum(a * b[1], -1)) < 1e-15);
  CHECK(distance(cross(a, b), conj(cross(conj(a), conj(b)))) < 1e-15);
  CHECK(distance(kron(a, b), make_complex(kron(real(a), real(b)) - kron(imag(a), imag(b)),
                                          kron(real(a), imag(b)) + kron(imag(a), real(b)))) < 1e-15);
  const Tensor c = complex_of({3, 3}, "c");
  CHECK(distance(matrix_power(c, 3), matmul(matmul(c, c), c)) < 1e-14);
  CHECK(distance(matrix_norm(c, MatrixNorm::one), max(sum(abs(c), 0))) < 1e-15);
  CHECK(matrix_norm(c).dtype() == DType::float64);
  // The cotangent of a complex operand is the conjugate of the derivative: d |<a, b>|^2 by a = 2 b conj(<a, b>).
  GradientTape tape;
  tape.watch(a);
  const Tensor size = square(abs(vdot(a, b)));
  CHECK(distance(*tape.gradient(size, a), 2 * b * conj(sum(conj(a) * b))) < 1e-13);
}

TEST_CASE("products have the promoted dtype") {
  const Tensor i = tensor<int>({{1, 2, 3}, {4, 5, 6}}), f = cast(i, DType::float32);
  for (const auto& op : {kron, inner, vdot}) {
    CHECK(op(i, i).dtype() == DType::int32);
    CHECK(op(f, i).dtype() == DType::float32);
    CHECK(op(f, make_complex(f, f)).dtype() == DType::complex64);
    CHECK(op(f, 2.0 * f).dtype() == DType::float32);
  }
  CHECK(cross(i, i).dtype() == DType::int32);
  CHECK(vecdot(f, i).dtype() == DType::float32);
  CHECK(array_equal(matrix_power(tensor<int>({{1, 1}, {1, 0}}), 10), tensor<int>({{89, 55}, {55, 34}})));
  CHECK(matrix_power(tensor<int>({{2, 0}, {0, 4}}), -1).dtype() == DType::float64);
  CHECK(multi_dot({f, cast(transpose(i), DType::float64), f}).dtype() == DType::float64);
}

TEST_CASE("the power 0 of a matrix is the identity, whatever the matrix, with gradient 0") {
  const Tensor x = full({2, 2, 2}, quiet_nan);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = matrix_power(x, 0);
  CHECK(array_equal(y, broadcast_to(eye(2), {2, 2, 2})));
  CHECK(array_equal(*tape.gradient(y, x), zeros({2, 2, 2})));
}

TEST_CASE("norms of matrices: gradients at zero and at ties") {
  const auto gradient = [](const Tensor& x, MatrixNorm norm) {
    GradientTape tape;
    tape.watch(x);
    return *tape.gradient(matrix_norm(x, norm), x);
  };
  for (const MatrixNorm norm : {MatrixNorm::frobenius, MatrixNorm::one, MatrixNorm::infinity})
    CHECK(array_equal(gradient(zeros({2, 3}), norm), zeros({2, 3})));
  const Tensor x = tensor({{1, -2}, {3, 2}});
  CHECK(array_equal(gradient(x, MatrixNorm::one), tensor({{0.5, -0.5}, {0.5, 0.5}})));
  CHECK(array_equal(gradient(x, MatrixNorm::infinity), tensor({{0, 0}, {1, 1}})));
  CHECK(array_equal(gradient(tensor({{3, 0}, {0, 4}}), MatrixNorm::frobenius), tensor({{0.6, 0}, {0, 0.8}})));
}

TEST_CASE("errors of products name the op and the operands") {
  CHECK_THROWS_WITH(cross(ones({2}), ones({3})), Contains("cross: axis -1 must have 3 elements"));
  CHECK_THROWS_WITH(matvec(ones({2, 3}), ones({2})), Contains("matvec: a is [2, 3], x is [2]: a must be matrices"));
  CHECK_THROWS_WITH(matvec(ones({4, 2, 3}), ones({3, 3})), Contains("matvec"));
  CHECK_THROWS_AS(matvec(ones({3}), ones({3})), ShapeError);
  CHECK_THROWS_WITH(multi_dot(std::span<const Tensor>()), Contains("multi_dot: there are no factors"));
  CHECK_THROWS_WITH(multi_dot({ones({2, 3}), ones({2, 3})}), Contains("factor 0 has 3 columns, factor 1 has 2 rows"));
  CHECK_THROWS_WITH(multi_dot({ones({2, 3}), ones({3}), ones({3, 2})}), Contains("factor 1 has shape [3]"));
  CHECK_THROWS_WITH(matrix_power(ones({2, 2}), -2), Contains("matrix_power: inverse: a is singular"));
  CHECK_THROWS_WITH(tensorsolve(ones({2, 3}), ones({3})), Contains("tensorsolve: a is [2, 3], b is [3]"));
  CHECK_THROWS_AS(tensorinv(ones({2, 3, 6}), 0), ValueError);
  CHECK_THROWS_AS(kron(ones(std::vector<std::int64_t>(17, 1)), 1), ShapeError);
  CHECK_THROWS_AS(matrix_norm(ones({0, 3}), MatrixNorm::infinity), ShapeError);
  CHECK(matrix_norm(ones({0, 3})).item() == 0);
}
