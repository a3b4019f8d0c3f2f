// Properties of the index ops that the op table does not test: Python's slices, errors of indices, sparse gradients,
// duplicates, NaN in elements that are not selected.
#include <cmath>
#include <limits>
#include <reel/compile.hpp>
#include <reel/reel.hpp>
#include <reel/runtime.hpp>

#include "catch.hpp"
#include "core/block.hpp"
#include "support/derivatives.hpp"
#include "support/messages.hpp"
#include "support/warnings.hpp"

using namespace reel;
using Catch::Contains;
using support::Tensors;

namespace {

using Doubles = std::vector<double>;
using Ints = std::vector<std::int64_t>;

Tensor ints(std::initializer_list<std::int64_t> list) { return from_data(Ints(list)); }

Gradient gradient(const Tensor& x, Tensor (*f)(const Tensor&)) {
  GradientTape tape;
  tape.watch(x);
  return tape.gradient(f(x), x);
}

// Python's range(start, stop, step) cut to n elements, by definition.
Ints python(std::int64_t n, const std::int64_t* start, const std::int64_t* stop, std::int64_t step) {
  Ints all;
  const auto at = [&](const std::int64_t* end, std::int64_t otherwise) {
    if (!end) return otherwise;
    const std::int64_t i = *end < 0 ? *end + n : *end;
    return step > 0 ? std::min(std::max<std::int64_t>(i, 0), n) : std::min(std::max<std::int64_t>(i, -1), n - 1);
  };
  if (step > 0)
    for (std::int64_t i = at(start, 0), end = at(stop, n); i < end; i += step) all.push_back(i);
  else
    for (std::int64_t i = at(start, n - 1), end = at(stop, -1); i > end; i += step) all.push_back(i);
  return all;
}

}  // namespace

TEST_CASE("ranges follow Python") {
  for (std::int64_t n : {0, 1, 2, 5}) {
    const Tensor x = arange(n);
    for (std::int64_t step : {-7, -2, -1, 1, 2, 3, 9})
      for (std::int64_t a = -7; a <= 7; ++a) {
        CHECK(slice(x, {range_from(a, step)}).to_vector<std::int64_t>() == python(n, &a, nullptr, step));
        CHECK(slice(x, {range_to(a, step)}).to_vector<std::int64_t>() == python(n, nullptr, &a, step));
        for (std::int64_t b = -7; b <= 7; ++b)
          REQUIRE(slice(x, {reel::range(a, b, step)}).to_vector<std::int64_t>() == python(n, &a, &b, step));
      }
  }
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(),
                         least = std::numeric_limits<std::int64_t>::min();
  const Tensor x = arange(5);
  CHECK(slice(x, {reel::range(least, most, most)}).to_vector<std::int64_t>() == Ints{0});
  CHECK(slice(x, {reel::range(most, least, least)}).to_vector<std::int64_t>() == Ints{4});
  CHECK_THROWS_WITH(slice(x, {reel::range(0, 1, 0)}), Contains("step"));
}

TEST_CASE("items of a slice") {
  const Tensor x = reshape(arange(24), {2, 3, 4});
  CHECK(slice(x, {1, -1, 0}).item<std::int64_t>() == 20);
  CHECK(slice(x, {}).shape() == x.shape());
  CHECK(slice(x, {reel::all, 0}).shape() == Shape{2, 4});
  CHECK(slice(x, {newaxis, ellipsis, newaxis}).shape() == Shape{1, 2, 3, 4, 1});
  CHECK(slice(x, {ellipsis}).shape() == x.shape());
  CHECK(slice(x, {0, ellipsis, reel::range(1, 3)}).shape() == Shape{3, 2});
  CHECK(slice(scalar(3.0), {newaxis}).shape() == Shape{1});
  CHECK(x[-1][2].to_vector<std::int64_t>() == Ints{20, 21, 22, 23});
  CHECK(slice(x, {reel::range(0, 0), 1}).shape() == Shape{0, 4});
  // The same number of axes, in other positions.
  CHECK(slice(x[1], {1, reel::all, newaxis}).to_vector<std::int64_t>() == Ints{16, 17, 18, 19});
  CHECK_THROWS_WITH(slice(x, {2}), support::says("slice: index 2 is out of range for axis 0 of x, of shape [2, 3, 4]"));
  CHECK_THROWS_WITH(slice(x, {0, -4}), Contains("index -4") && Contains("axis 1"));
  CHECK_THROWS_AS(slice(x, {0, 0, 0, 0}), IndexError);
  CHECK_THROWS_AS(slice(x, {ellipsis, ellipsis}), IndexError);
  CHECK_THROWS_AS(slice(zeros({0}), {0}), IndexError);
  CHECK_THROWS_AS(scalar(1.0)[0], IndexError);
  CHECK_THROWS_WITH(slice(x, {reel::any}), Contains("reel::all"));
  const Tensor deep = reshape(scalar(1.0), Shape(std::vector<int>(max_rank, 1)));
  CHECK(slice(deep, {0}).rank() == max_rank - 1);
  CHECK(slice(deep, {reel::all}).rank() == max_rank);
  CHECK(slice(deep, {newaxis, 0}).rank() == max_rank);
  CHECK_THROWS_AS(slice(deep, {newaxis}), ShapeError);
}

TEST_CASE("gradients of overlapping and repeated slices are added") {
  const Tensor x = arange(4.0);
  GradientTape tape;
  tape.watch(x);
  Tensor y = slice(x, {reel::range(0, 3)}) + slice(x, {range_from(1)}) + slice(x, {range_from(-1, -1)})[0];
  CHECK(tape.gradient(y, x).dense().to_vector() == Doubles{1, 2, 2, 4});
}

TEST_CASE("gather") {
  const Tensor x = reshape(arange(6.0), {3, 2});
  CHECK(gather(x, 1).to_vector() == Doubles{2, 3});
  CHECK(gather(x, scalar(-1)).shape() == Shape{2});
  CHECK(gather(x, ints({})).shape() == Shape{0, 2});
  CHECK(gather(zeros({3, 0}), ints({0, 2})).shape() == Shape{2, 0});
  CHECK(gather(transpose(x), ints({2, 0}), 1).to_vector() == Doubles{4, 0, 5, 1});
  CHECK(gather(flip(x), tensor<std::uint8_t>({2, 2})).to_vector() == Doubles{1, 0, 1, 0});
  CHECK(gather(tensor<bool>({true, false}), ints({1, 0})).to_vector<bool>() == std::vector<bool>{false, true});
  CHECK_THROWS_WITH(gather(x, ints({0, 3})),
                    support::says("gather: index 3 (element 1 of indices) is out of range for axis 0, of extent 3"));
  CHECK_THROWS_AS(gather(x, ints({-4})), IndexError);
  CHECK_THROWS_AS(gather(zeros({0}), ints({0})), IndexError);
  CHECK_THROWS_WITH(gather(x, tensor({0, 1})), Contains("integers") && Contains("int64"));
  CHECK_THROWS_WITH(gather(x, tensor<bool>({true})), Contains("where"));
  CHECK_THROWS_AS(gather(scalar(1.0), 0), IndexError);
  CHECK_THROWS_AS(gather(x, 0, 2), IndexError);
  // Large enough for several threads.
  const Tensor big = arange(100000.0), backwards = from_data([] {
                                         Ints i(100000);
                                         for (std::size_t k = 0; k < i.size(); ++k)
                                           i[k] = -1 - static_cast<std::int64_t>(k);
                                         return i;
                                       }());
  CHECK(array_equal(gather(big, backwards), flip(big)));
  Ints wrong(100000);
  wrong[70000] = -100001;
  wrong[99990] = 100000;
  CHECK_THROWS_WITH(gather(big, from_data(wrong)),
                    support::says("gather: index -100001 (element 70000 of indices) is out of range for axis 0, of "
                                  "extent 100000"));
  const Tensor rows = reshape(arange(200000.0), {1000, 200});
  CHECK(array_equal(gather(rows, slice(arange(1000), {range_from(-1, -1)})), flip(rows, 0)));
}

TEST_CASE("the gradient of gather along axis 0 is sparse") {
  const Tensor x = reshape(arange(8.0), {4, 2});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = gather(x, reshape(ints({2, 0, 2, -1}), {2, 2}));
  const Tensor through = gather(identity(contiguous(identity(x))), ints({1, 1}));
  const Tensor across = gather(x, ints({1, 1, 0}), 1), both = sum(y) + sum(x);
  tape.stop();
  const Gradient g = tape.gradient(y, x, {.output_gradients = reshape(arange(8.0), {2, 2, 2})});
  REQUIRE(g.is_slices());
  const IndexedSlices s = g.slices();
  CHECK(s.dense_shape == Shape{4, 2});
  CHECK(s.indices.dtype() == DType::int64);
  CHECK(s.indices.to_vector<std::int64_t>() == Ints{2, 0, 2, 3});
  CHECK(s.values.shape() == Shape{4, 2});
  CHECK(s.dense().to_vector() == Doubles{2, 3, 0, 0, 0 + 4, 1 + 5, 6, 7});
  CHECK(tape.gradient(through, x).is_slices());
  CHECK(tape.gradient(through, x).dense().to_vector() == Doubles{0, 0, 2, 2, 0, 0, 0, 0});
  CHECK_FALSE(tape.gradient(across, x).is_slices());
  CHECK(tape.gradient(across, x).dense().to_vector() == Doubles{1, 2, 1, 2, 1, 2, 1, 2});
  CHECK(tape.gradient(both, x).dense().to_vector() == Doubles{2, 2, 1, 1, 3, 3, 2, 2});
}

TEST_CASE(
    "slices of several gathers: kept where a tape gives them, otherwise added to one tensor, with the same bits") {
  support::Random random("slices of several gathers");
  const Tensor i = ints({3, 0, 3, 1, -1, 2, 2}), j = ints({1, 1, 0, 3, 2, 0, 3});
  const auto f = [&](const Tensor& x) { return square(gather(x, i) - gather(x, j)) * gather(x, i); };
  for (const DType d : {DType::float16, DType::float32, DType::float64, DType::complex128})
    for (const Shape& shape : {Shape{4}, {4, 3}, {40, 2}}) {
      CAPTURE(name(d), shape);
      const Tensor x = cast(random.tensor(shape), d);
      const auto loss = [&](const Tensor& at) { return sum(real(f(at))); };
      GradientTape tape({.persistent = true});
      tape.watch(x);
      const Tensor y = loss(x), z = loss(identity(x) * cast(ones({}), d));
      tape.stop();
      const Gradient slices = tape.gradient(y, x);
      REQUIRE(slices.is_slices());
      CHECK(slices.slices().indices.size() == 3 * i.size());
      CHECK(array_equal(tape.gradient(z, x).dense(), slices.dense()));
      CHECK(array_equal(grad(loss)(x), slices.dense()));
      if (d != DType::float16)
        CHECK(array_equal(compile([&](const Tensor& at) { return grad(loss)(at); })(x), slices.dense()));
    }
  // The second derivative is symmetric.
  const Tensors x{random.tensor({4, 3})}, u = random.like(x), v = random.like(x);
  const support::Function of_product = [&](const Tensors& t) { return Tensors{f(t[0] * 1.5)}; };
  const support::Function g = support::gradient_of(of_product, {random.tensor({7, 3})});
  const auto left = support::inner(v, support::push(g, x, u)), right = support::inner(u, support::pull(g, x, v));
  CHECK(std::abs(static_cast<double>(left.value - right.value)) <= 1e-13 * static_cast<double>(left.scale));
}

TEST_CASE("the conversion of slices to dense is recorded for higher orders") {
  const auto f = [](const Tensors& t) { return Tensors{gather(t[0] * t[0] * t[0], ints({1, 1, 0}))}; };
  const Tensors x{tensor({2, 3, 5})}, w{tensor({1, 2, 4})};
  // d/dx of sum w x^3[i] is 3 x^2 (w summed by row); its own derivative 6 x (...).
  const support::Function g = support::gradient_of(f, w);
  CHECK(g(x)[0].to_vector() == Doubles{3 * 4 * 4, 3 * 9 * 3, 0});
  CHECK(support::pull(g, x, {tensor({1, 1, 1})})[0].to_vector() == Doubles{6 * 2 * 4, 6 * 3 * 3, 0});
  CHECK(support::push(g, x, {tensor({1, 1, 1})})[0].to_vector() == Doubles{6 * 2 * 4, 6 * 3 * 3, 0});
}

TEST_CASE("IndexedSlices are checked") {
  const Tensor values = tensor({{1, 2}, {3, 4}});
  CHECK(IndexedSlices{values, ints({1, 1}), {3, 2}}.dense().to_vector() == Doubles{0, 0, 4, 6, 0, 0});
  CHECK(IndexedSlices{values, ints({0, -1}), {3, 2}}.dense().to_vector() == Doubles{1, 2, 0, 0, 3, 4});
  CHECK(IndexedSlices{tensor<float>({1, 2}), tensor<int>({0, 0}), {2}}.dense().to_vector<float>() ==
        std::vector<float>{3, 0});
  CHECK(IndexedSlices{zeros({0, 2}), ints({}), {3, 2}}.dense().to_vector() == Doubles(6));
  CHECK_THROWS_WITH((IndexedSlices{values, ints({0, 3}), {3, 2}}.dense()), Contains("index 3") && Contains("extent 3"));
  CHECK_THROWS_WITH((IndexedSlices{values, ints({0, 1}), {}}.dense()), Contains("without dense_shape"));
  CHECK_THROWS_AS((IndexedSlices{values, ints({0}), {3, 2}}.dense()), ShapeError);
  CHECK_THROWS_AS((IndexedSlices{values, ints({0, 1}), {3, 3}}.dense()), ShapeError);
  CHECK_THROWS_AS((IndexedSlices{values, tensor({0, 1}), {3, 2}}.dense()), TypeError);
  CHECK_THROWS_AS((IndexedSlices{Tensor(), ints({0, 1}), {3, 2}}.dense()), ValueError);
}

TEST_CASE("a large conversion of slices warns before it allocates") {
  const IndexedSlices s{zeros({0, 100, 100, 100}), ints({}), {100, 100, 100, 100}};
  const WarningLog log;
  detail::fail_allocation_after(0);
  CHECK_THROWS_AS(s.dense(), std::bad_alloc);
  detail::fail_allocation_after(-1);
  REQUIRE(log.texts.size() == 1);
  CHECK(log.texts[0] ==
        "Converting sparse IndexedSlices to a dense Tensor with 100000000 elements. This may consume a large amount of "
        "memory.");
}

TEST_CASE("take_along_axis broadcasts all axes but its own") {
  const Tensor x = reshape(arange(6.0), {2, 3});
  CHECK(take_along_axis(x, reshape(ints({2}), {1, 1}), 1).to_vector() == Doubles{2, 5});
  CHECK(take_along_axis(slice(x, {reel::range(0, 1)}), reshape(ints({0, 1, 2, -1}), {2, 2}), 1).to_vector() ==
        Doubles{0, 1, 2, 2});
  CHECK(take_along_axis(x, zeros({2, 0}, DType::int32), 1).shape() == Shape{2, 0});
  CHECK_THROWS_WITH(take_along_axis(x, ints({0}), 0), Contains("[2, 3]") && Contains("[1]") && Contains("rank"));
  CHECK_THROWS_AS(take_along_axis(x, reshape(ints({2}), {1, 1}), 0), IndexError);
  CHECK_THROWS_AS(take_along_axis(x, reshape(ints({0, 0}), {1, 2}), 0), ShapeError);
  const auto f = [](const Tensor& t) { return take_along_axis(t, reshape(ints({0, 0, -1}), {1, 3}), 1); };
  CHECK(gradient(x, f).dense().to_vector() == Doubles{2, 0, 1, 2, 0, 1});
  CHECK(gradient(slice(x, {reel::range(0, 1)}),
                 [](const Tensor& t) {
                   return take_along_axis(t, zeros({4, 2}, DType::int64), 1);
                 })
            .dense()
            .to_vector() == Doubles{8, 0, 0});
}

TEST_CASE("scatter_add") {
  const Tensor x = zeros({3, 2});
  CHECK(scatter_add(x, ints({1, 1, -3}), ones({3, 2})).to_vector() == Doubles{1, 1, 2, 2, 0, 0});
  CHECK(scatter_add(x, ints({1, 1}), 1).to_vector() == Doubles{0, 0, 2, 2, 0, 0});
  CHECK(scatter_add(x, 2, tensor({5, 6})).to_vector() == Doubles{0, 0, 0, 0, 5, 6});
  CHECK(scatter_add(x, ints({}), zeros({0, 2})).to_vector() == Doubles(6));
  CHECK(scatter_add(tensor<int>({1, 2}), ints({0, 0}), tensor({0.5, 0.5})).to_vector() == Doubles{2, 2});
  CHECK(scatter_add(tensor<std::uint8_t>({250}), ints({0, 0}), tensor<std::uint8_t>({5, 5})).item<std::uint8_t>() == 4);
  CHECK(scatter_add(tensor<bool>({false, false}), ints({1}), tensor<bool>({true})).to_vector<bool>() ==
        std::vector<bool>{false, true});
  const Tensor half = scatter_add(cast(x, DType::float16), ints({0, 0}), cast(full({2, 2}, 0.25), DType::float16));
  CHECK(half.dtype() == DType::float16);
  CHECK(half[0].to_vector<float>() == std::vector<float>{0.5f, 0.5f});
  CHECK(scatter_add(cast(x, DType::complex128), ints({0}), ones({1, 2}))[0].to_vector<complex128>()[1] ==
        complex128(1));
  CHECK_THROWS_WITH(scatter_add(x, ints({0, 3}), 1.0), Contains("index 3"));
  CHECK_THROWS_WITH(scatter_add(x, ints({0, 1}), zeros({2, 2, 2})), Contains("[2, 2, 2]") && Contains("[2, 2]"));
  CHECK_THROWS_AS(scatter_add(x, ints({0, 1}), zeros({3, 2})), ShapeError);
  CHECK_THROWS_AS(scatter_add(scalar(1.0), 0, 1.0), ShapeError);
  const auto f = [](const Tensors& t) { return Tensors{scatter_add(ones({2, 1}), ints({1, 1}), t[0])}; };
  CHECK(support::push(f, {zeros({2, 1})}, {tensor({{2}, {3}})})[0].to_vector() == Doubles{0, 5});
  CHECK(support::pull(f, {zeros({2, 1})}, {tensor({{2}, {3}})})[0].to_vector() == Doubles{3, 3});
}

TEST_CASE("sums at indices do not depend on the number of threads") {
  std::vector<std::int64_t> places(2000);
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::int64_t>(i * i % 7);
  support::Random random("scatter");
  const Tensor updates = random.tensor({2000, 40}), at = from_data(places);
  const int before = num_threads();
  std::vector<Doubles> results;
  for (int threads : {1, 2, 3, 7}) {
    set_num_threads(threads);
    results.push_back(IndexedSlices{updates, at, {7, 40}}.dense().to_vector());
    CHECK(results.back() == results.front());
  }
  set_num_threads(before);
}

TEST_CASE("diagonals and triangles with extreme offsets") {
  const Tensor x = reshape(arange(6.0), {2, 3});
  CHECK(diagonal(x, 2).to_vector() == Doubles{2});
  CHECK(diagonal(x, 3).size() == 0);
  CHECK(diagonal(x, -2).size() == 0);
  CHECK(diagonal(x, std::numeric_limits<std::int64_t>::min()).size() == 0);
  CHECK(diag(ones({0}), 1).to_vector() == Doubles{0});
  CHECK(diag(tensor({1, 2}), -1).to_vector() == Doubles{0, 0, 0, 1, 0, 0, 0, 2, 0});
  CHECK(tril(x, 100).to_vector() == x.to_vector());
  CHECK(tril(x, -100).to_vector() == Doubles(6));
  CHECK(triu(transpose(x), std::numeric_limits<std::int64_t>::max()).to_vector() == Doubles(6));
  CHECK(triu(flip(x)).to_vector() == Doubles{5, 4, 3, 0, 1, 0});
  CHECK(tril(zeros({0, 3})).size() == 0);
  const Tensor bad = tensor({{1, NAN}, {2, 3}});
  CHECK(tril(bad).to_vector() == Doubles{1, 0, 2, 3});
  CHECK(trace(tensor<int>({{1, 2}, {3, 4}})).dtype() == DType::int64);
  CHECK(trace(x, 5).item() == 0);
  CHECK_THROWS_AS(tril(ones({3})), ShapeError);
  CHECK_THROWS_AS(diagonal(ones({3})), ShapeError);
  CHECK_THROWS_AS(trace(ones({3})), ShapeError);
  CHECK_THROWS_WITH(diag(ones({1, 1, 1})), Contains("diagonal"));
}

TEST_CASE("one_hot") {
  CHECK(one_hot(ints({1, 3, -1}), 3).to_vector() == Doubles{0, 1, 0, 0, 0, 0, 0, 0, 0});
  CHECK(array_equal(one_hot(transpose(tensor<std::int64_t>({{0, 1}, {2, 3}})), 4),
                    gather(eye(4), tensor<int>({{0, 2}, {1, 3}}))));
  CHECK(one_hot(2, 3, DType::int32).to_vector<int>() == std::vector<int>{0, 0, 1});
  CHECK(one_hot(ints({0}), 0).shape() == Shape{1, 0});
  CHECK_THROWS_AS(one_hot(ints({0}), -1), ValueError);
  CHECK_THROWS_AS(one_hot(tensor({0.0}), 2), TypeError);
}

TEST_CASE("where") {
  const Tensor c = tensor<bool>({true, false, true}), x = tensor({1, NAN, 3}), y = tensor({INFINITY, 5, 6});
  CHECK(where(c, x, y).to_vector() == Doubles{1, 5, 3});
  CHECK(where(tensor({0.5, 0, NAN}), 1, 0).to_vector<std::int64_t>() == Ints{1, 0, 1});
  CHECK(where(c, tensor<float>({1, 2, 3}), 0.0).dtype() == DType::float32);
  CHECK(where(c, reshape(tensor({1, 2}), {2, 1}), 0).shape() == Shape{2, 3});
  CHECK(where(true, cast(x, DType::float16), y).dtype() == DType::float64);
  CHECK(where(c, scalar(complex128(1, 2)), 0).to_vector<complex128>()[0] == complex128(1, 2));
  CHECK_THROWS_AS(where(c, zeros({2}), 0.0), ShapeError);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(y);
  const Tensor s = scalar(2.0);
  tape.watch(s);
  const Tensor z = where(c, x, y), scaled = where(c, s, 1.0), ids = where(c, 1, 2);
  tape.stop();
  CHECK(tape.gradient(z, x).dense().to_vector() == Doubles{1, 0, 1});
  CHECK(tape.gradient(z, y).dense().to_vector() == Doubles{0, 1, 0});
  CHECK(tape.gradient(scaled, s).dense().item() == 2);
  CHECK_FALSE(tape.gradient(z, c));
  const auto one_sided = [&](const Tensors& t) { return Tensors{where(c, zeros({2, 3}), t[0])}; };
  CHECK(support::push(one_sided, {scalar(1.0)}, {scalar(4.0)})[0].to_vector() == Doubles{0, 4, 0, 0, 4, 0});
  CHECK(support::pull(one_sided, {scalar(1.0)}, {ones({2, 3})})[0].item() == 2);
}
