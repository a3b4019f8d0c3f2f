// gradients, hessians, hessian_vector_product: rules S80-S107 and S126-S129, decisions C3, C4, C7, C9, C14-C16.
#include <reel/final_gradients.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/numbers.hpp"
#include "support/warnings.hpp"

using namespace reel;
using Catch::Contains;
using support::number, support::numbers;

namespace {

using Values = std::vector<double>;

// Two outputs, x * 2 and x * 3, with a rule of the user's.
std::pair<Tensor, Tensor> twice_and_thrice(const Tensor& x, int& calls) {
  const Tensor in[] = {x},
               out[] = {from_data((x * 2.0).to_vector(), x.shape()), from_data((x * 3.0).to_vector(), x.shape())};
  record_operation("twice_and_thrice", in, out, [&calls](std::span<const Gradient> g) {
    ++calls;
    Gradient sum;
    if (g[0]) sum = *g[0] * 2.0;
    if (g[1]) sum = sum ? *sum + *g[1] * 3.0 : *g[1] * 3.0;
    return std::vector<Gradient>{sum};
  });
  return {out[0], out[1]};
}

}  // namespace

TEST_CASE("S106: gradients use the innermost recording tape, or the given one; without one TapeError") {
  const Tensor x = scalar(3.0);
  CHECK_THROWS_AS(gradients(x, x), TapeError);
  CHECK_THROWS_AS(hessians(x, x), TapeError);
  CHECK_THROWS_AS(hessian_vector_product(x, x, x), TapeError);
  GradientTape outer;
  outer.watch(x);
  const Tensor y = x * x;
  GradientTape inner;
  CHECK_FALSE(gradients(y, x)[0]);
  CHECK(number(gradients(outer, y, x)[0]) == 6);
  {
    const auto paused = inner.stop_recording();
    CHECK(number(gradients(y, x)[0]) == 6);
    const auto both = outer.stop_recording();
    CHECK_THROWS_AS(gradients(y, x), TapeError);
  }
  inner.stop();
  CHECK(number(gradients(y, x)[0]) == 6);
  outer.stop();
  CHECK_THROWS_AS(gradients(y, x), TapeError);
  CHECK(number(gradients(outer, y, x)[0]) == 6);
  CHECK_THROWS_AS(hessians(outer, y, x), TapeError);  // it would miss the first derivative
  CHECK(number(outer.gradient(y, x)) == 6);
  CHECK_THROWS_AS(gradients(outer, y, x), TapeError);
  CHECK_THROWS_WITH(gradients(outer, y, x), Contains("used up by GradientTape.gradient"));
}

TEST_CASE("S19, S106: gradients neither stop nor use up a tape, which records the replay: gradients of gradients") {
  const Tensor x = scalar(2.0);
  WarningLog log;
  GradientTape tape;
  tape.watch(x);
  const Tensor y = power(x, 5.0);
  const Tensor d1 = *gradients(y, x)[0], d2 = *gradients(d1, x)[0], d3 = *gradients(d2, x)[0];
  CHECK(d1.item() == Approx(5 * 16));
  CHECK(d2.item() == Approx(20 * 8));
  CHECK(d3.item() == Approx(60 * 4));
  CHECK(number(gradients(y, x)[0]) == Approx(5 * 16));
  CHECK(tape.active());
  CHECK(number(tape.gradient(d2, x)) == Approx(60 * 4));
  CHECK_THROWS_AS(tape.gradient(y, x), TapeError);
  CHECK(log.texts.empty());
}

TEST_CASE("S88, S107: always a list over the leaves of xs; variables, trees, slices") {
  const Variable w(tensor({1., 2.}), "w");
  const Tensor x = scalar(5.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(w * w) * x;
  CHECK(gradients(y, w).size() == 1);
  CHECK(gradients({y}, {x}).size() == 1);
  CHECK(gradients(y, std::vector<Tensor>()).empty());
  const auto list = gradients(std::vector{y, y}, std::tuple(w, std::pair(x, w)));
  REQUIRE(list.size() == 3);
  CHECK(list[0].dense().to_vector() == Values{20, 40});
  CHECK(number(list[1]) == 10);
  CHECK(list[2].dense().to_vector() == Values{20, 40});
  // ys may be slices, or a gradient.
  const Tensor table = tensor({{1., 2.}, {3., 4.}});
  tape.watch(table);
  const IndexedSlices slices{table * table, tensor<int>({1, 1}), {2, 2}};
  CHECK(gradients(slices, table)[0].dense().to_vector() == Values{2, 4, 6, 8});
  CHECK(gradients(gradients(y, x)[0], w)[0].dense().to_vector() == Values{2, 4});
}

TEST_CASE("S80: output gradients are counted; entries may be none") {
  const Tensor x = scalar(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x, z = x * 10.0;
  CHECK_THROWS_WITH(gradients({y, z}, x, {.output_gradients = scalar(1.0)}),
                    Contains("gradients: Passed 1 grad_ys for 2 ys"));
  CHECK_THROWS_AS(gradients(y, x, {.output_gradients = {scalar(1.0), scalar(1.0)}}), ValueError);
  CHECK(number(gradients({y, z}, x, {.output_gradients = {Gradient(), scalar(2.0)}})[0]) == 6 + 20);
  CHECK(number(gradients(y, x, {.output_gradients = scalar(2.0)})[0]) == 12);
  CHECK_THROWS_AS(gradients(y, x, {.output_gradients = ones({2})}), ShapeError);
}

TEST_CASE("S81, C7: a complex y needs an output gradient") {
  const Tensor x = cast(tensor({1., 2.}), DType::complex128);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = reshape(x, {2, 1});
  CHECK_THROWS_WITH(gradients(y, x), Contains("Gradients of complex tensors must set grad_ys (y.dtype = complex128)"));
  CHECK_THROWS_AS(gradients(y, x), TypeError);
  const Gradient g = gradients(y, x, {.output_gradients = ones_like(y)})[0];
  CHECK(array_equal(*g, cast(ones({2}), DType::complex128)));
}

TEST_CASE("S82: ones of y's shape and dtype, integers included") {
  const Tensor x = tensor<float>({1, 2}), n = tensor<int>({1, 2});
  GradientTape tape;
  tape.watch(x);
  const Gradient g = gradients({x, cast(x, DType::int32), n}, x)[0];
  CHECK(g.dense().dtype() == DType::float32);
  CHECK(g.dense().to_vector() == Values{1, 1});
}

TEST_CASE("S83, S84, S86, C14: output gradients by class of dtype, cast to y's with one warning") {
  const Tensor x = tensor<float>({1, 2}), z = cast(x, DType::complex64);
  GradientTape tape;
  tape.watch(x);
  tape.watch(z);
  const Tensor y = x * x, w = identity(z);
  {
    WarningLog log;
    const Gradient g = gradients(y, x, {.output_gradients = tensor({1., 10.})})[0];
    CHECK(g.dense().dtype() == DType::float32);
    CHECK(g.dense().to_vector() == Values{2, 40});
    CHECK(log.texts.size() == 1);
    CHECK(gradients(y, x, {.output_gradients = tensor<int>({1, 10})})[0].dense().to_vector() == Values{2, 40});
    CHECK(log.texts.size() == 2);
  }
  CHECK_THROWS_WITH(gradients(y, x, {.output_gradients = w}),
                    Contains("Gradient type complex64 generated for real or integer-valued tensor 0 of shape [2] with "
                             "type float32 must be real or integer"));
  CHECK_THROWS_AS(gradients(y, x, {.output_gradients = less(x, 0)}), TypeError);
  CHECK_THROWS_WITH(gradients(w, z, {.output_gradients = y}),
                    Contains("Gradient type float32 generated for complex-valued tensor 0 of shape [2] with type "
                             "complex64 must be complex"));
  CHECK_THROWS_WITH(gradients(less(x, 0), x, {.output_gradients = y}),
                    Contains("Tensor 0 of shape [2] with type boolean must be numeric to obtain a default gradient"));
}

TEST_CASE("S87: results do not alias output gradients; slices stay sparse") {
  const Tensor x = tensor({{1., 2.}, {3., 4.}, {5., 6.}});
  GradientTape tape;
  tape.watch(x);
  const IndexedSlices dy{tensor({{10., 20.}}), tensor<int>({2}), {3, 2}};
  for (const Tensor& y : {x, identity(identity(x))}) {
    const Gradient g = gradients(y, x, {.output_gradients = dy})[0];
    REQUIRE(g.is_slices());
    CHECK(g.slices().values.id() != dy.values.id());
    CHECK(g.slices().indices.id() != dy.indices.id());
    CHECK(g.dense().to_vector() == Values{0, 0, 0, 0, 10, 20});
  }
  CHECK(gradients(x * x, x, {.output_gradients = dy})[0].dense().to_vector() == Values{0, 0, 0, 0, 100, 240});
  const Gradient plain = gradients(x, x, {.output_gradients = x})[0];
  CHECK(plain.dense().id() != x.id());
  CHECK_THROWS_AS(gradients(x, x, {.output_gradients = IndexedSlices{dy.values, dy.indices, {4, 2}}}), ShapeError);
}

TEST_CASE("S89, C9: every floating dtype has gradients, bfloat16 too") {
  for (const DType d : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    const Tensor x = cast(tensor({1., 2.}), d);
    GradientTape tape;
    tape.watch(x);
    const Gradient g = gradients(square(cast(x, DType::float64)), x)[0];
    CHECK(g.dense().dtype() == d);
    CHECK(g.dense().to_vector() == Values{2, 4});
  }
}

TEST_CASE("S90: an integer intermediate value ends the path without an error") {
  const Tensor x = tensor({1., 2.});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = cast(cast(x * 2.0, DType::int64), DType::float64);
  const Gradient g = gradients(y, x)[0];
  CHECK_FALSE(g);
  CHECK(g.reason() == WhyNone::integer_dtype);
  CHECK(gradients(y + x, x)[0].dense().to_vector() == Values{1, 1});
}

TEST_CASE("S92: ys that do not depend on xs are skipped; a y may depend on another (testDependentYs)") {
  const Tensor x = scalar(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = square(x), y1 = square(y), y2 = square(y1);
  CHECK(number(gradients({y, y2}, x)[0]) == 17502);
  CHECK(number(gradients(y + y2, x)[0]) == 17502);
  CHECK(number(gradients({identity(y), identity(y2)}, x)[0]) == 17502);
  CHECK(number(gradients({y, y2, scalar(1.0)}, x)[0]) == 17502);
}

TEST_CASE("S93, C3: total derivatives continue through inner sources; a stopped tensor still gets its gradient") {
  const Tensor x = scalar(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x, z = y * y;
  CHECK(numbers(gradients(z, {x, y})) == Values{108, 18});
  const auto stopped = gradients(z, {x, y}, {.stop_gradients = y});
  CHECK_FALSE(stopped[0]);
  CHECK(number(stopped[1]) == 18);
  // A source in the stop list gets what arrives at it.
  CHECK(numbers(gradients(z, {x, y}, {.stop_gradients = x})) == Values{108, 18});
}

TEST_CASE("S93: stopping is per tensor, not per op") {
  const Tensor x = scalar(3.0);
  int calls = 0;
  GradientTape tape;
  tape.watch(x);
  const auto [twice, thrice] = twice_and_thrice(x, calls);
  const Tensor z = twice * thrice;  // 6 x^2
  CHECK(number(gradients(z, x)[0]) == 36);
  CHECK(number(gradients(z, x, {.stop_gradients = twice})[0]) == 18);
  CHECK(number(gradients(z, x, {.stop_gradients = thrice})[0]) == 18);
  CHECK(calls == 3);
  CHECK_FALSE(gradients(z, x, {.stop_gradients = {twice, thrice}})[0]);
  CHECK(calls == 3);
}

TEST_CASE("S94: LookupError for an op without gradient only when one arrives") {
  const Tensor x = scalar(2.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor in[] = {x}, out[] = {from_data(Values{4.0}, {})};
  record_operation("nobody_registered_this", in, out);
  const Tensor y = out[0] * 3.0;
  CHECK_THROWS_AS(gradients(y, x), LookupError);
  CHECK_THROWS_WITH(gradients(y, x), Contains("No gradient defined for operation 'nobody_registered_this'"));
  CHECK(number(gradients(x * x, x)[0]) == 4);   // off the path
  CHECK(number(gradients(y, out[0])[0]) == 3);  // downstream of it
  CHECK_FALSE(gradients(y, x, {.stop_gradients = out[0]})[0]);
  CHECK(number(gradients(stop_gradient(y) + x, x)[0]) == 1);  // no incoming gradient
  GradientRegistry::add_not_differentiable("nobody_registered_this");
  CHECK_FALSE(gradients(y, x)[0]);
  GradientRegistry::remove("nobody_registered_this");
}

TEST_CASE("S96, S97: what a rule returns is checked against the op's inputs") {
  const Tensor x = ones({2, 3}), b = ones({3});
  GradientTape tape;
  tape.watch(std::vector{x, b});
  const auto made = [&](std::vector<Gradient> result) {
    const Tensor in[] = {x, b}, out[] = {ones({2, 3})};
    record_operation("biased", in, out, [result](std::span<const Gradient>) { return result; });
    return out[0];
  };
  CHECK_THROWS_WITH(gradients(made({ones({2, 3})}), {x, b}),
                    Contains("Num gradients 1 generated for op biased do not match num inputs 2"));
  // The classic mistake: a broadcast operand whose gradient was not summed.
  CHECK_THROWS_WITH(
      gradients(made({ones({2, 3}), ones({2, 3})}), {x, b}),
      Contains("Incompatible shapes between op input and calculated input gradient.  Forward operation: biased.  "
               "Input index: 1. Original input shape: [3].  Calculated input gradient shape: [2, 3]"));
  CHECK_THROWS_WITH(gradients(made({ones({2, 3}, DType::float32), Gradient()}), {x, b}),
                    Contains("Gradient type float32 generated for op biased does not match input type float64"));
  const auto list = gradients(made({Gradient(), ones({3})}), {x, b});
  CHECK_FALSE(list[0]);
  CHECK(list[1]);
}

TEST_CASE("S98, S104: unknown options are refused before replay") {
  const Tensor x = scalar(2.0);
  int calls = 0;
  GradientTape tape;
  tape.watch(x);
  const Tensor y = twice_and_thrice(x, calls).first;
  CHECK_THROWS_WITH(gradients(y, x, {.aggregation_method = AggregationMethod(7)}),
                    Contains("Invalid aggregation_method specified 7."));
  CHECK_THROWS_WITH(gradients(y, x, {.unconnected_gradients = UnconnectedGradients(9)}),
                    Contains("Unknown value for unconnected_gradients: 9"));
  CHECK_THROWS_AS(gradients(Tensor(), x), ValueError);
  CHECK_THROWS_AS(gradients(y, Tensor()), ValueError);
  CHECK(calls == 0);
}

TEST_CASE("S103, C16: zeros on request, for an unused sibling output too") {
  const Tensor x = scalar(2.0), apart = tensor<float>({1, 2});
  int calls = 0;
  GradientTape tape;
  tape.watch(x);
  const auto [twice, thrice] = twice_and_thrice(x, calls);
  const auto unconnected = gradients(twice * 5.0, {thrice, apart});
  CHECK_FALSE(unconnected[0]);
  CHECK_FALSE(unconnected[1]);
  const auto zero = gradients(twice * 5.0, {thrice, apart, x}, {.unconnected_gradients = UnconnectedGradients::zero});
  CHECK(number(zero[0]) == 0);
  CHECK(zero[1].dense().dtype() == DType::float32);
  CHECK(zero[1].dense().to_vector() == Values{0, 0});
  CHECK(number(zero[2]) == 10);
  const std::vector<Tensor> halves = split(ones({4}) * x, 2);
  CHECK(gradients(halves[0], halves[1], {.unconnected_gradients = UnconnectedGradients::zero})[0].dense().to_vector() ==
        Values{0, 0});
}

TEST_CASE("S105: the sum of total derivatives; stop_gradients gives partial ones") {
  const Tensor a = scalar(0.0);
  GradientTape tape;
  tape.watch(a);
  const Tensor b = a * 2.0;
  CHECK(numbers(gradients(a + b, {a, b})) == Values{3, 1});
  CHECK(numbers(gradients(a + b, {a, b}, {.stop_gradients = {a, b}})) == Values{1, 1});
  // The same by stop_gradient in the forward pass, and both at once.
  const Tensor c = stop_gradient(a), d = stop_gradient(c * 2.0);
  tape.watch(std::vector{c, d});
  CHECK(numbers(gradients(c + d, {c, d})) == Values{1, 1});
  CHECK(numbers(gradients(stop_gradient(b) + b, {a}, {.unconnected_gradients = UnconnectedGradients::zero})) ==
        Values{2});
  // Integers count as stopped.
  const Tensor n = scalar(3);
  CHECK(number(gradients(a * n, a, {.stop_gradients = n})[0]) == 3);
}

TEST_CASE("S31, C4: the output gradient of an intermediate y is added") {
  const Tensor x = scalar(3.0), y = scalar(2.0);
  GradientTape tape;
  tape.watch(std::vector{x, y});
  const Tensor u = x * y, v = u * x;
  CHECK(number(gradients({u, v}, y, {.output_gradients = {scalar(1.0), scalar(2.0)}})[0]) == 3 + 2 * 9);
}

TEST_CASE("S128: hessians are block diagonal, of shape x.shape + x.shape") {
  const Tensor x = tensor({1., 2.}), m = tensor({{1., -1.}, {2., 0.5}}), a = tensor({{1., 2.}, {3., 4.}});
  GradientTape tape;
  tape.watch(std::vector{x, m});
  CHECK(hessians(dot(x, matmul(a, x)), x)[0].dense().to_vector() == Values{2, 5, 5, 8});
  const auto both = hessians(sum(m * m * m) * sum(x), {m, x});
  REQUIRE(both.size() == 2);
  CHECK(both[0].dense().shape() == Shape{2, 2, 2, 2});
  const Values h = both[0].dense().to_vector(), at = m.to_vector();
  for (std::size_t i = 0; i < 16; ++i) CHECK(h[i] == Approx(i % 5 ? 0 : 6 * at[i / 5] * 3));
  CHECK(both[1].dense().to_vector() == Values(4));
  // Several ys are summed.
  CHECK(hessians({sum(x * x), sum(x * x * x)}, x)[0].dense().to_vector() == Values{8, 0, 0, 14});
  // So are the elements of one.
  CHECK(hessians(x * x * sum(x), x)[0].dense().to_vector() ==
        Values{6 * 1 + 2 * 2, 2 * 1 + 2 * 2, 2 * 1 + 2 * 2, 6 * 2 + 2 * 1});
  // Recorded: third derivatives on the same tape.
  CHECK(gradients(hessians(sum(x * x * x), x)[0], x)[0].dense().to_vector() == Values{6, 6});
  CHECK(tape.active());
}

TEST_CASE("S129, C15: the Hessian of a linear or unconnected function is zero") {
  const Tensor x = tensor<float>({1, 2}), other = ones({3}), integers = tensor<int>({1, 2});
  GradientTape tape;
  tape.watch(x);
  const auto list = hessians(sum(x * 2.0), {x, other, integers});
  CHECK(list[0].dense().dtype() == DType::float32);
  CHECK(list[0].dense().to_vector() == Values(4));
  CHECK(list[1].dense().shape() == Shape{3, 3});
  CHECK(list[1].dense().to_vector() == Values(9));
  CHECK_FALSE(list[2]);
  CHECK(hessians(sum(zeros({0})), zeros({0}))[0].dense().shape() == Shape{0, 0});
}

TEST_CASE("S128: hessians hand their options to the first derivative") {
  const Tensor x = scalar(2.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  CHECK(number(hessians(y * y, x, {.output_gradients = scalar(10.0)})[0]) == 480);
  CHECK(number(hessians(y * x, x, {.stop_gradients = y})[0]) == 4);  // d(stop(y))/dx at second order: y is x * x there
  CHECK_THROWS_AS(hessians(y, x, {.output_gradients = {scalar(1.0), scalar(1.0)}}), ValueError);
}

TEST_CASE("S126, S127: hessian_vector_product, with v a constant") {
  const Tensor a = tensor({{1., 2.}, {3., 4.}}), x = tensor({1., -1.}), v = tensor({2., 3.});
  GradientTape tape;
  tape.watch(std::vector{x, v});
  const Tensor y = dot(x, matmul(a, x));
  const auto product = hessian_vector_product(y, x, v);  // (A + A^T) v
  REQUIRE(product.size() == 1);
  CHECK(product[0].dense().to_vector() == Values{19, 34});
  CHECK_FALSE(gradients(product[0], v)[0]);
  CHECK(hessian_vector_product(tape, y, {x}, {v})[0].dense().to_vector() == Values{19, 34});
  CHECK_THROWS_AS(hessian_vector_product(y, x, std::vector{v, v}), ValueError);
  CHECK_THROWS_WITH(hessian_vector_product(y, x, std::vector{v, v}), Contains("xs and v must have the same length."));
  CHECK_THROWS_AS(hessian_vector_product(y, x, ones({3})), ShapeError);
  // Mixed second derivatives are included. Missing first gradients are skipped; if all are missing, so is the result.
  const Tensor z = tensor({5., 7.});
  tape.watch(z);
  const auto cross = hessian_vector_product(sum(x * z * z), {x, z}, {v, ones({2})});
  CHECK(cross[0].dense().to_vector() == Values{10, 14});
  CHECK(cross[1].dense().to_vector() == Values{2 * 5 * 2 + 2 * 1, 2 * 7 * 3 - 2 * 1});
  const auto partly = hessian_vector_product(sum(x * x), {x, z}, {v, v});
  CHECK(partly[0].dense().to_vector() == Values{4, 6});
  CHECK_FALSE(partly[1]);
  CHECK_FALSE(hessian_vector_product(scalar(1.0), x, v)[0]);
}

TEST_CASE("S126: hessian_vector_product: v as one number, as slices, and missing leaves") {
  const Tensor x = tensor({1., -1.}), table = reshape(arange(6.0), {3, 2});
  GradientTape tape;
  tape.watch(std::vector{x, table});
  const Tensor y = sum(x * x * x), z = sum(table * table * table);
  CHECK(hessian_vector_product(y, x, 2.0)[0].dense().to_vector() == Values{12, -12});
  const Gradient row(IndexedSlices{ones({1, 2}), tensor<std::int64_t>({1}), {3, 2}});
  CHECK(hessian_vector_product(z, table, row)[0].dense().to_vector() == Values{0, 0, 12, 18, 0, 0});
  CHECK_THROWS_WITH(hessian_vector_product(y, x, Gradient()), Contains("leaf 0 of v is none: this Gradient is empty"));
  const Gradient other(IndexedSlices{ones({1, 2}), tensor<std::int64_t>({1}), {4, 2}});
  CHECK_THROWS_WITH(hessian_vector_product(z, table, other),
                    Contains("leaf 0 of v has shape [4, 2], that of xs [3, 2]"));
}

TEST_CASE("S106: gradients skip accumulators, and a paused tape does not record the first derivative") {
  const Tensor x = scalar(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x * x;
  {
    const ForwardAccumulator above(x, ones({}));
    CHECK(number(gradients(y, x)[0]) == 27);
    CHECK(number(hessians(y, x)[0]) == 18);
  }
  const auto paused = tape.stop_recording();
  CHECK_THROWS_AS(hessians(tape, y, x), TapeError);
  CHECK_THROWS_WITH(hessian_vector_product(tape, y, x, x), Contains("the tape does not record"));
}

TEST_CASE("for_each_gradient: each gradient comes once, behind the first op that reads its source") {
  std::string order;
  const auto noted = [&](char name, const Tensor& x) {
    return custom_gradient([&, name](const Tensor& at) {
      return std::pair(at * 1.0, [&, name](const Tensor& g) {
        order += name;
        return g * 1.0;
      });
    })(x);
  };
  const Tensor a = tensor({1., 2.}), b = tensor({3., 4.}), unused = scalar(1.0);
  const Variable table(reshape(arange(6.0), {3, 2}));
  Tensor middle;
  const auto loss = [&](GradientTape& tape) {
    tape.watch(std::vector{a, b, unused});
    const Tensor rows = gather(table, tensor<std::int64_t>({0, 2, 0}));
    middle = noted('1', sin(a * rows));
    return sum(noted('3', noted('2', middle * b) * a * middle));
  };
  GradientTape tape, other;
  const Tensor y = loss(tape), twice = loss(other);
  const auto sources = std::vector<Source>{a, b, unused, table, y, b};
  const auto expected = other.gradient(twice, {a, b, unused, table, twice, b});
  order.clear();
  std::vector<Gradient> found(6);
  for_each_gradient(tape, y, sources, [&](std::size_t k, const Gradient& g) {
    order += "abutyb"[k];
    found[k] = g;
  });
  CHECK(order == "32bb1atuy");
  for (std::size_t k : {0u, 1u, 4u, 5u}) CHECK(array_equal(found[k].dense(), expected[k].dense()));
  CHECK(array_equal(found[3].dense(), expected[3].dense()));
  CHECK(found[2].why_none() == expected[2].why_none());
  CHECK_THROWS_WITH(tape.gradient(y, a), Contains("can only be called once"));
}

TEST_CASE("for_each_gradient: of an intermediate tensor, which the pass still reads") {
  const Tensor x = tensor({1., 2.});
  const auto gradients_of = [&](bool one_by_one) {
    GradientTape tape;
    tape.watch(x);
    const Tensor middle = exp(x), y = sum(sin(middle) * middle + x);
    if (!one_by_one) {
      const auto [by_x, by_middle] = tape.gradient(y, std::pair(x, middle));
      return std::pair(by_x.dense(), by_middle.dense());
    }
    std::pair<Tensor, Tensor> found;
    for_each_gradient(tape, y, std::vector<Source>{x, middle},
                      [&](std::size_t k, const Gradient& g) { (k == 0 ? found.first : found.second) = g.dense(); });
    return found;
  };
  const auto [by_x, by_middle] = gradients_of(true);
  const auto [expected_x, expected_middle] = gradients_of(false);
  CHECK(array_equal(by_x, expected_x));
  CHECK(array_equal(by_middle, expected_middle));
}

TEST_CASE("for_each_gradient: an exception ends the pass; zeros on request; a persistent tape goes on") {
  const Tensor x = scalar(2.0), unused = scalar(1.0);
  GradientTape tape({.persistent = true});
  tape.watch(std::vector{x, unused});
  const Tensor y = x * x;
  const std::vector<Source> sources{x, unused};
  CHECK_THROWS_WITH(for_each_gradient(tape, y, sources, [](std::size_t, const Gradient&) { throw Error("enough"); }),
                    Contains("enough"));
  Values found;
  for_each_gradient(tape, y, sources, [&](std::size_t, const Gradient& g) { found.push_back(number(g)); },
                    {.output_gradients = {3.0}, .unconnected_gradients = UnconnectedGradients::zero});
  CHECK(found == Values{12, 0});
  CHECK_THROWS_WITH(for_each_gradient(tape, Tensor(), sources, [](std::size_t, const Gradient&) {}),
                    Contains("for_each_gradient"));
}
