// Sums, products, extremes: dtypes, empty tensors, errors, and derivatives at zeros, ties and NaN.
#include <cmath>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "core/block.hpp"
#include "ops/engine.hpp"
#include "support/numbers.hpp"

using namespace reel;
using namespace support;
using Catch::Contains;

namespace {

using Integers = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("sums and products have the documented result dtype") {
  for (DType d : {DType::boolean, DType::uint8, DType::int32, DType::int64}) {
    const Tensor x = cast(tensor<int>({1, 1, 0, 1}), d);
    CHECK(sum(x).dtype() == DType::int64);
    CHECK(sum(x).item<std::int64_t>() == 3);
    CHECK(prod(x).dtype() == DType::int64);
    CHECK(prod(x).item<std::int64_t>() == 0);
    CHECK(mean(x).dtype() == DType::float64);
    CHECK(mean(x).item() == 0.75);
    CHECK(cumsum(x, 0).dtype() == DType::int64);
    CHECK(max(x).dtype() == d);
  }
  CHECK(sum(tensor<std::uint8_t>({200, 100})).item<std::int64_t>() == 300);
  const Tensor f = ones({3}, DType::float32);
  for (const Tensor& y :
       {sum(f), mean(f), prod(f), max(f), var(f), reel::std(f), norm(f), norm(f, 3), logsumexp(f), softmax(f)})
    CHECK(y.dtype() == DType::float32);
  CHECK(sum(3).item<std::int64_t>() == 3);
  CHECK(sum(2.5).item() == 2.5);
  CHECK(sum(zeros({2}, DType::float16)).dtype() == DType::float16);
}

TEST_CASE("reductions over negative, several, or no axes") {
  const Tensor x = reshape(arange(24), {2, 3, 4});
  CHECK(sum(x).item<std::int64_t>() == 276);
  CHECK(sum(x, -1).to_vector<std::int64_t>() == Integers{6, 22, 38, 54, 70, 86});
  CHECK(sum(x, {2, 0}).to_vector<std::int64_t>() == Integers{60, 92, 124});
  CHECK(sum(x, {0, -1}, true).shape() == Shape{1, 3, 1});
  const Tensor same = sum(x, Shape{});
  CHECK(same.shape() == x.shape());
  CHECK(same.id() != x.id());
  CHECK_THROWS_AS(sum(x, 3), IndexError);
  CHECK_THROWS_AS(sum(x, {0, -3}), ValueError);
  CHECK_THROWS_AS(sum(Tensor()), ValueError);
}

TEST_CASE("reductions of empty tensors") {
  const Tensor x = zeros({0, 3});
  CHECK(sum(x).item() == 0);
  CHECK(prod(x, 0).to_vector() == Doubles{1, 1, 1});
  CHECK(std::isnan(mean(x).item()));
  CHECK(mean(x, 1).shape() == Shape{0});
  CHECK(max(x, 1).shape() == Shape{0});
  CHECK_FALSE(any(x).item<bool>());
  CHECK(all(x).item<bool>());
  CHECK(norm(x).item() == 0);
  CHECK(norm(x, inf).item() == 0);
  CHECK(logsumexp(x).item() == -inf);
  CHECK(std::isnan(var(x).item()));
  CHECK(softmax(x).shape() == x.shape());
  CHECK(softmax(x, 0).shape() == x.shape());
  CHECK(cumprod(x, 0).shape() == x.shape());
  CHECK_THROWS_WITH(max(x), Contains("max: x has no elements") && Contains("[0, 3]"));
  CHECK_THROWS_AS(min(x, 0), ValueError);
  CHECK_THROWS_AS(argmax(x, 0), ValueError);
  CHECK_THROWS_AS(norm(x, -1), ValueError);
  for (auto f : {+[](const Tensor& t) { return sum(t); }, +[](const Tensor& t) { return mean(t); },
                 +[](const Tensor& t) { return prod(t); }, +[](const Tensor& t) { return norm(t); },
                 +[](const Tensor& t) { return var(t); }, +[](const Tensor& t) { return logsumexp(t); },
                 +[](const Tensor& t) { return sum(softmax(t)); }, +[](const Tensor& t) { return sum(cumprod(t, 0)); }})
    CHECK(gradient_at(f, x).shape() == x.shape());
}

TEST_CASE("any and all count NaN as true") {
  const Tensor x = tensor({{0., 0.}, {qnan, 0.}, {1., 2.}});
  CHECK(any(x, 1).to_vector<bool>() == std::vector<bool>{false, true, true});
  CHECK(all(x, 1).to_vector<bool>() == std::vector<bool>{false, false, true});
  CHECK(any(x).dtype() == DType::boolean);
  CHECK(all(x, {}, true).shape() == Shape{1, 1});
}

TEST_CASE("argmax and argmin return the first extreme, or the first NaN") {
  const Tensor x = tensor({{1., 5., 5.}, {qnan, 9., qnan}, {-inf, -inf, -inf}});
  CHECK(argmax(x, 1).to_vector<std::int64_t>() == Integers{1, 0, 0});
  CHECK(argmin(x, 1).to_vector<std::int64_t>() == Integers{0, 0, 0});
  CHECK(argmax(x, 0).to_vector<std::int64_t>() == Integers{1, 1, 1});
  CHECK(argmax(transpose(x), 0, true).shape() == Shape{1, 3});
  CHECK(argmax(transpose(x), 0).to_vector<std::int64_t>() == Integers{1, 0, 0});
  CHECK_THROWS_AS(argmax(1.0, 0), IndexError);
  GradientTape tape;
  tape.watch(x);
  const Gradient g = tape.gradient(argmax(x, 1), x);
  CHECK_FALSE(g);
  CHECK_THAT(g.why_none(), Contains("argmax") || Contains("int64"));
}

TEST_CASE("argmax and argmin along an outer axis agree with those of rows") {
  Generator generator(5);
  const Tensor drawn = floor(random_uniform(generator, {2, 7, 150}, 0, 6));
  const Tensor gaps = random_bernoulli(generator, drawn.shape(), 0.1);
  for (DType d : {DType::uint8, DType::int32, DType::int64, DType::float16, DType::float32, DType::float64}) {
    CAPTURE(name(d));
    const Tensor x = cast(drawn, d), holed = where(gaps, qnan, drawn);
    const std::vector<Tensor> cases{x, d == DType::float32 || d == DType::float64 ? cast(holed, d) : x};
    for (const Tensor& y : cases) {
      const Tensor rows = contiguous(transpose(y, {0, 2, 1}));
      CHECK(array_equal(argmax(y, 1), argmax(rows, 2)));
      CHECK(array_equal(argmin(y, 1), argmin(rows, 2)));
      CHECK(array_equal(argmax(y[1], 0), argmax(rows[1], 1)));
    }
  }
  CHECK(array_equal(argmax(drawn > 2, 1), argmax(contiguous(transpose(drawn > 2, {0, 2, 1})), 2)));
}

TEST_CASE("the derivatives of a product with zeros are exact to every order") {
  const auto hessian_of = [](const Tensor& x) {
    return hessian([](const Tensor& t) { return prod(t); })(x).to_vector();
  };
  CHECK(slope_at([](const Tensor& t) { return prod(t); }, tensor({0, 2, 3})) == Doubles{6, 0, 0});
  CHECK(slope_at([](const Tensor& t) { return prod(t); }, tensor({0, 0, 3})) == Doubles{0, 0, 0});
  CHECK(hessian_of(tensor({0, 2, 3})) == Doubles{0, 3, 2, 3, 0, 0, 2, 0, 0});
  CHECK(hessian_of(tensor({0, 0, 3})) == Doubles{0, 3, 0, 3, 0, 0, 0, 0, 0});
  // Third order: d3 / dx0 dx1 dx2 = 1.
  const Tensor x = tensor({0, 0, 0});
  const auto first = [](const Tensor& t) { return grad([](const Tensor& s) { return prod(s); })(t)[0]; };
  const auto second = [&](const Tensor& t) { return grad(first)(t)[1]; };
  CHECK(grad(second)(x).to_vector() == Doubles{0, 0, 1});
  // Over axes that are not neighbours.
  const Tensor cube = reshape(arange(0., 12.), {2, 3, 2});
  const Tensor g = gradient_at([](const Tensor& t) { return prod(t, {0, 2}); }, cube);
  CHECK(g.to_vector() == Doubles{1 * 6 * 7, 0, 3 * 8 * 9, 2 * 8 * 9, 5 * 10 * 11, 4 * 10 * 11, 0, 0, 2 * 3 * 9,
                                 2 * 3 * 8, 4 * 5 * 11, 4 * 5 * 10});
}

TEST_CASE("C12: ties share the gradient of an extreme") {
  const Tensor x = tensor({{3., 1., 3.}, {2., 2., 2.}, {qnan, 1., qnan}});
  CHECK(slope_at([](const Tensor& t) { return sum(slice(max(t, 1), {range(0, 2)})); }, x) ==
        Doubles{0.5, 0, 0.5, 1 / 3., 1 / 3., 1 / 3., 0, 0, 0});
  CHECK(slope_at([](const Tensor& t) { return min(t, 1)[2]; }, x) == Doubles{0, 0, 0, 0, 0, 0, 0.5, 0, 0.5});
  CHECK(hessian([](const Tensor& t) { return max(t); })(tensor({3, 1, 3})).to_vector() == Doubles(9, 0.));
}

TEST_CASE("sum_to is the transpose of broadcast_to") {
  const Tensor x = reshape(arange(0., 24.), {2, 3, 4});
  CHECK(ops::sum_to(x, {3, 4}).to_vector() == sum(x, 0).to_vector());
  CHECK(ops::sum_to(x, {3, 1}).to_vector() == sum(x, {0, 2}).to_vector());
  CHECK(ops::sum_to(x, {}).item() == 276);
  CHECK(ops::sum_to(x, {2, 3, 4}).id() == x.id());
  CHECK(ops::sum_to(zeros({0, 3}), {1, 3}).to_vector() == Doubles{0, 0, 0});
  CHECK_THROWS_AS(ops::sum_to(x > 3.0, {3, 4}), TypeError);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = ops::sum_to(x, {3, 1}), w = tensor({{1.}, {2.}, {3.}});
  CHECK(array_equal(*tape.gradient(y, x, {.output_gradients = w}), broadcast_to(w, {2, 3, 4})));
}

TEST_CASE("the mean and its gradient") {
  const Tensor x = tensor({{1., 2.}, {3., 6.}});
  CHECK(mean(x, 0).to_vector() == Doubles{2, 4});
  CHECK(slope_at([](const Tensor& t) { return mean(t); }, x) == Doubles(4, 0.25));
  GradientTape tape;
  tape.watch(x);
  const Tensor y = mean(x);
  CHECK(tape.stats().entries == 1);
  CHECK(tape.stats().saved_bytes == 0);
}

TEST_CASE("argmax along any axis of any layout agrees with a loop") {
  Generator generator(5);
  for (const Shape& shape : {Shape{70, 90}, {5, 300, 7}, {3, 2000}, {2000, 3}, {4, 5, 6}})
    for (const DType d : {DType::int32, DType::float32, DType::float64}) {
      const Tensor given = cast(floor(random_uniform(generator, shape, 0., 50.)), d);
      for (const Tensor& x : {given, transpose(contiguous(transpose(given))), flip(given, 0)})
        for (int axis = 0; axis < shape.rank(); ++axis) {
          std::int64_t inner = 1;
          for (int k = axis + 1; k < shape.rank(); ++k) inner *= shape[k];
          const std::int64_t n = shape[axis];
          const std::vector<double> v = cast(contiguous(x), DType::float64).to_vector();
          std::vector<std::int64_t> expected;
          for (std::int64_t i = 0; i < x.size() / n; ++i) {
            const auto at = [&](std::int64_t k) {
              return v[static_cast<std::size_t>(i / inner * inner * n + i % inner + k * inner)];
            };
            std::int64_t best = 0;
            for (std::int64_t k = 1; k < n; ++k)
              if (at(k) > at(best)) best = k;
            expected.push_back(best);
          }
          CHECK(argmax(x, axis).to_vector<std::int64_t>() == expected);
        }
    }
}
