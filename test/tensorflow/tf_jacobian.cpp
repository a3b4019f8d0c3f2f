// What TensorFlow's backprop_test.py checks of GradientTape.jacobian and batch_jacobian, with its inputs and numbers.
#include <cmath>

#include "catch.hpp"
#include "tensorflow/support.hpp"

using namespace reel;
using Catch::Contains;
using List = std::vector<double>;

TEST_CASE("jacobian: BackpropTest.testGradientTapeJacobianCalledMultipleTimes") {
  const Tensor x = scalar(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x, z = y * y;
  CHECK(each_number(tape.jacobian(z, {x})) == List{108});
  CHECK_THROWS_AS(tape.jacobian(y, {x}), TapeError);
}

TEST_CASE("jacobian: BackpropTest.testJacobianInsideGradientTapeScope") {
  const Tensor x = scalar(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x, z = y * y;
  CHECK(tape.active());
  CHECK(number(tape.jacobian(z, x)) == 4 * 27);
}

TEST_CASE("jacobian: BackpropTest.testBatchJacobianInsideGradientTapeScope") {
  const Tensor x = tensor({{3.0}});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x, z = y * y;
  const Tensor j = *tape.batch_jacobian(z, x);
  CHECK(j.shape() == Shape{1, 1, 1});
  CHECK(j.item() == 4 * 27);
}

TEST_CASE("jacobian: BackpropTest.testGradientTapeBatchJacobianCalledMultipleTimes") {
  const Tensor x = tensor({{3.0}});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x, z = y * y;
  CHECK(number(tape.batch_jacobian(z, x)) == 108);
  CHECK_THROWS_AS(tape.batch_jacobian(y, x), TapeError);
}

TEST_CASE("jacobian: BackpropTest.testJacobianCustomGradient") {
  const Variable a(scalar(1.0)), b(scalar(2.0)), c(scalar(3.0));
  const auto polynomial = [&](const Tensor& x) { return a * x * x + b * x + c; };
  const auto call = custom_gradient([&](const Tensor& x) {
    return std::pair(polynomial(x), [&, x](const Tensor& dy, std::span<const Variable> variables) {
      GradientTape tape({.persistent = true});
      for (const Variable& v : variables) tape.watch(v);
      const Tensor y = polynomial(x);
      std::vector<Gradient> list;
      for (const Variable& v : variables) list.emplace_back(2.0 * sum(dy * *tape.jacobian(y, v)));
      return std::pair(Gradient(), list);
    });
  });
  const Tensor x = tensor({1., 2., 3.});
  GradientTape tape({.persistent = true});
  tape.watch(std::vector{a, b, c});
  const Tensor y = call(x);
  CHECK_FALSE(tape.gradient(y, x));
  CHECK(each_number(tape.gradient(y, {a, b, c})) == List{28, 12, 6});
}

TEST_CASE("jacobian: JacobianTest.testPfor, JacobianTest.testWhileLoop") {
  for (const bool persistent : {false, true}) {
    const Tensor x = tensor({1., 2.}), y = tensor({3., 4.});
    GradientTape tape({.persistent = persistent});
    tape.watch(std::pair(x, y));
    const Tensor z = x * x * y;
    const auto j = tape.jacobian(z, {x, y});
    CHECK(numbers(j[0]) == diag(2 * x * y).to_vector());
    CHECK(numbers(j[1]) == diag(x * x).to_vector());
  }
}

namespace {
List jacobian_with_threads(int threads, bool batch) {
  const int before = num_threads();
  set_num_threads(threads);
  const Tensor x = tensor({{1., 2.}, {3., 4.}}), w = tensor({{1., 2., 3., 4.}, {5., 6., 7., 8.}});
  GradientTape tape;
  tape.watch(x);
  const List result = batch ? numbers(tape.batch_jacobian(matmul(x, w), x)) : numbers(tape.jacobian(matmul(x, x), x));
  set_num_threads(before);
  return result;
}
}  // namespace

TEST_CASE("jacobian: JacobianTest.test_parallel_iterations") {
  const List j = jacobian_with_threads(2, false);
  CHECK(j == jacobian_with_threads(3, false));
  const List x{1, 2, 3, 4};
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t k = 0; k < 2; ++k)
      for (std::size_t m = 0; m < 2; ++m)
        for (std::size_t n = 0; n < 2; ++n)
          CHECK(j[8 * i + 4 * k + 2 * m + n] == (m == i ? x[2 * n + k] : 0) + (n == k ? x[2 * i + m] : 0));
}

TEST_CASE("jacobian: BatchJacobianTest.test_parallel_iterations") {
  const List j = jacobian_with_threads(2, true);
  CHECK(j == jacobian_with_threads(3, true));
  CHECK(j == List{1, 5, 2, 6, 3, 7, 4, 8, 1, 5, 2, 6, 3, 7, 4, 8});
}

TEST_CASE("jacobian: JacobianTest.test_nested_jacobian") {
  const Tensor x = ones({10, 2});
  GradientTape outer, inner;
  outer.watch(x);
  inner.watch(x);
  const Gradient first = inner.jacobian(sum(square(x)), x);
  const Tensor second = *outer.batch_jacobian(first, x);
  CHECK(second.shape() == Shape{10, 2, 2});
  CHECK(array_equal(second, broadcast_to(2 * eye(2), {10, 2, 2})));
}

namespace {

// f(f(x0, x1), x2) ... along axis 0.
template <class F>
Tensor fold(F f, const Tensor& x) {
  const std::vector<Tensor> parts = unstack(x);
  Tensor result = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) result = f(result, parts[i]);
  return result;
}
template <class F>
auto batch_jacobian_of(F f) {
  return [f](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    return *tape.batch_jacobian(f(x), x);
  };
}

}  // namespace

TEST_CASE("jacobian: JacobianTest.test_nested_batch_jacobian_foldl") {
  const auto f = [](const Tensor& x) {
    return reshape(fold([](const Tensor& a, const Tensor& b) { return cos(a + b); }, transpose(x)), {1, 1});
  };
  const Tensor x = tensor({{1., 2.}});
  const auto first = batch_jacobian_of(f);
  const Tensor j = first(x), h = batch_jacobian_of(first)(x);
  CHECK(j.shape() == Shape{1, 1, 2});
  CHECK(h.shape() == Shape{1, 1, 2, 2});
  for (const double d : j.to_vector()) CHECK(d == Approx(-std::sin(3.0)).epsilon(1e-15));
  for (const double d : h.to_vector()) CHECK(d == Approx(-std::cos(3.0)).epsilon(1e-15));
}

TEST_CASE("jacobian: JacobianTest.test_grad_jacobian_conv") {
  // A 3 x 3 convolution of ones to 9 channels, padded with zeros: 9 times the sum of the neighbours.
  const auto neighbours = [](const Tensor& image) {
    Tensor total = image;
    for (const std::int64_t axis : {1, 2}) {
      Shape margin{0, 0, 0, 0};
      margin[static_cast<int>(axis)] = 1;
      const Tensor padded = pad(total, margin, margin);
      const Tensor rows = gather(padded, arange(4), axis) + gather(padded, arange(1, 5), axis);
      total = rows + gather(padded, arange(2, 6), axis);
    }
    return total;
  };
  const auto inner = [&](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = tile(neighbours(x), {1, 1, 1, 9});
    return sum(*tape.batch_jacobian(sum(square(y), {2, 3}), x));
  };
  const Tensor x = ones({10, 4, 4, 1});
  GradientTape tape;
  tape.watch(x);
  const Tensor g = *tape.gradient(inner(x), x);
  // The inner Jacobian sums to 18 1^T B^T B x, with B the sum of the neighbours, which is its own transpose.
  const Tensor expected = 18 * neighbours(neighbours(x));
  CHECK(g.shape() == x.shape());
  CHECK(max(abs(g - expected)).item() < 1e-11);
}

TEST_CASE("jacobian: JacobianTest.test_indexed_slices") {
  for (const bool persistent : {false, true}) {
    const Tensor x = tensor({{0.1, 0.2}, {0.3, 0.4}, {0.5, 0.6}});
    GradientTape tape({.persistent = persistent});
    tape.watch(x);
    const Tensor j = *tape.jacobian(gather(x, tensor<int>({0, 2})), x);
    CHECK(j.shape() == Shape{2, 2, 3, 2});
    const Tensor rows = gather(eye(6), tensor<int>({0, 1, 4, 5}));
    CHECK(array_equal(reshape(j, {4, 6}), rows));
  }
}

TEST_CASE("jacobian: JacobianTest.test_foldl_partial_function, JacobianTest.test_foldl_pure_function") {
  for (const bool persistent : {false, true}) {
    const Tensor x = zeros({3});
    GradientTape tape({.persistent = persistent});
    tape.watch(x);
    const Tensor total = fold([](const Tensor& a, const Tensor& b) { return a + b; }, x);
    CHECK(numbers(tape.jacobian(total, x)) == List{1, 1, 1});
  }
}

TEST_CASE("jacobian: JacobianTest.test_cond_func_grad_jacobian") {
  const Tensor x = scalar(1.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x > 0 ? power(x, 3.0) : power(x, 2.0);
  const Gradient g = tape.gradient(y, x);
  CHECK(number(g) == 3);
  CHECK(number(tape.jacobian(g, x)) == 6);
}

TEST_CASE("jacobian: JacobianTest.test_empty_tensor_consistent_jacobian") {
  const Variable v(scalar(1.f));
  for (const bool persistent : {false, true}) {
    GradientTape tape({.persistent = persistent});
    const Tensor y = v * cast(concatenate({zeros({0, 4}), zeros({0, 3})}, -1), DType::float32);
    CHECK((*tape.jacobian(y, v)).shape() == Shape{0, 7});
  }
}

TEST_CASE("jacobian: BatchJacobianTest.testPfor, BatchJacobianTest.testWhileLoop") {
  for (const bool persistent : {false, true}) {
    const Tensor x = tensor({{1., 2.}, {3., 4.}}), y = tensor({{3., 4.}, {5., 6.}});
    GradientTape tape({.persistent = persistent});
    tape.watch(x);
    const Tensor z = x * x * y;
    const Tensor j = *tape.batch_jacobian(z, x);
    CHECK(array_equal(j, stack({diag(2 * x[0] * y[0]), diag(2 * x[1] * y[1])})));
  }
}

TEST_CASE("jacobian: BatchJacobianTest.testBadShape") {
  const Tensor x = ones({2, 3});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = concatenate({x, x}, 0);
  CHECK_THROWS_AS(tape.batch_jacobian(y, x), ShapeError);
}

// TensorFlow asks for rank 2; here a tensor of rank 1 is a batch of numbers, and one of rank 0 is no batch.
TEST_CASE("jacobian: BatchJacobianTest.testBadInputRank, BatchJacobianTest.testBadOutputRank") {
  const Tensor x = scalar(2.0), row = tensor({1., 2.});
  GradientTape tape({.persistent = true});
  tape.watch(std::pair(x, row));
  const Tensor y = x * ones({2, 2});
  CHECK_THROWS_AS(tape.batch_jacobian(y, x), ShapeError);
  CHECK_THROWS_AS(tape.batch_jacobian(sum(row), row), ShapeError);
  const Tensor j = *tape.batch_jacobian(expand_dims(row, 1) * ones({2, 3}), row);
  CHECK(j.shape() == Shape{2, 3});
  CHECK(j.to_vector() == List(6, 1));
}

TEST_CASE("jacobian: BatchJacobianTest.test_degenerate_shape") {
  const Tensor x = zeros({1, 0});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  CHECK((*tape.batch_jacobian(square(x), x)).shape() == Shape{1, 0, 0});
}

TEST_CASE("jacobian: BatchJacobianTest.test_zeros_type_correct") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor x = full({1, 1}, 2, dtype), y = ones({1, 1}, dtype);
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor zero = *tape.batch_jacobian(y, x, {.unconnected_gradients = UnconnectedGradients::zero});
    CHECK(zero.dtype() == dtype);
    CHECK(zero.shape() == Shape{1, 1, 1});
    CHECK(zero.to_vector() == List{0});
    CHECK_FALSE(tape.batch_jacobian(y, x));
  }
}

TEST_CASE("jacobian: BatchJacobianTest.test_strided_slice") {
  const Tensor x = ones({2, 4, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = slice(repeat(x, 2, 1), {all, range(0, 4), all});
  const Tensor j = *tape.batch_jacobian(y, x);
  CHECK(j.shape() == Shape{2, 4, 2, 4, 2});
  for (const Tensor& one : unstack(j))
    CHECK(array_equal(reshape(one, {8, 8}), gather(eye(8), tensor<int>({0, 1, 0, 1, 2, 3, 2, 3}))));
}
