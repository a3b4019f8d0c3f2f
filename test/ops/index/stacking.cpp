// Properties of stacks, splits and repetitions that the op table does not test: dtypes, extents that depend on
// elements, errors.
#include <limits>
#include <reel/compile.hpp>
#include <reel/ops/arranging.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/bits.hpp"

using namespace reel;
using Catch::Contains;

TEST_CASE("stacks promote dtypes; splits and added axes are views") {
  const Tensor i = tensor<std::int64_t>({1, 2}), f = tensor<float>({0.5F, 1});
  CHECK(hstack({i, f}).dtype() == DType::float32);
  CHECK(vstack({i, tensor({1.5, 2})}).to_vector() == std::vector<double>{1, 2, 1.5, 2});
  const Tensor x = arange(12.0), piece = array_split(x, 5)[1];
  CHECK(piece.data<double>().data() == x.data<double>().data() + 3);
  CHECK(array_split(x, 14)[13].size() == 0);
  const Tensor deep = atleast_3d(x);
  CHECK(deep.shape() == Shape{1, 12, 1});
  CHECK(deep.data<double>().data() == x.data<double>().data());
}

TEST_CASE("repeat takes counts per slice") {
  const Tensor x = tensor({1, 2, 3}), counts = tensor<std::int32_t>({0, 2, 1});
  CHECK(repeat(x, counts, 0).to_vector() == std::vector<double>{2, 2, 3});
  CHECK(repeat(x, zeros({3}, DType::int64), -1).shape() == Shape{0});
  CHECK(repeat(zeros({0, 2}), zeros({0}, DType::int64), 0).shape() == Shape{0, 2});
  CHECK_THROWS_AS(compile([](const Tensor& t) { return repeat(t, cast(t, DType::int64), 0); })(x), TraceError);
  CHECK_THROWS_WITH(repeat(x, tensor<std::int64_t>({1, -1, 1}), 0), Contains("a count is -1"));
  CHECK_THROWS_WITH(repeat(x, tensor<std::int64_t>({1, 1}), 0), Contains("takes a vector of 3"));
  CHECK_THROWS_AS(repeat(x, x, 0), TypeError);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS_AS(repeat(x, tensor<std::int64_t>({most, 1, 0}), 0), ShapeError);
}

TEST_CASE("the gradient of full(shape, tensor) is a sum") {
  const Tensor x = scalar(3.0);
  GradientTape tape;
  tape.watch(x);
  CHECK(tape.gradient(full({2, 3}, x), x).dense().item<double>() == 6);
  CHECK(full({2}, x, DType::float32).shape() == Shape{2});
}

TEST_CASE("linspace of tensors has exact ends") {
  const Tensor start = tensor({0.1, -7}), stop = tensor({0.7, 1e9}), y = linspace(start, stop, 7);
  CHECK(support::same_bits(y[0], start));
  CHECK(support::same_bits(y[6], stop));
  CHECK(linspace(start, 1.0, 0).shape() == Shape{0, 2});
  CHECK(linspace(tensor<std::int64_t>({0}), 1, 3).dtype() == DType::float64);
}

TEST_CASE("vander: powers of float32 numbers are rounded once") {
  const Tensor x = tensor<float>({0.1F, -0.3F, 1.7F});
  const Tensor exact = vander(cast(x, DType::float64), 40);
  CHECK(array_equal(vander(x, 40), cast(exact, DType::float32)));
  const auto f = [](const Tensor& a) { return sum(vander(a, 40)); };
  CHECK(array_equal(grad(f)(x), cast(grad(f)(cast(x, DType::float64)), DType::float32)));
}

TEST_CASE("errors of stacks, splits and repetitions name the cause") {
  const Tensor x = ones({2, 3});
  CHECK_THROWS_WITH(vander(scalar(1.0)), Contains("give n"));
  CHECK_THROWS_WITH(vander(x, -2), Contains("n is -2"));
  CHECK_THROWS_WITH(linspace(x, x, -1), Contains("count is -1"));
  CHECK_THROWS_WITH(hstack({}), Contains("there are no tensors"));
  CHECK_THROWS_AS(vstack({x, ones({2})}), ShapeError);
  CHECK_THROWS_WITH(array_split(x, 0), Contains("parts is 0"));
  CHECK_THROWS_AS(array_split(x, std::int64_t{1} << 40), ValueError);
  CHECK_THROWS_WITH(dsplit(x, 1), Contains("it has no axis 2"));
  CHECK_THROWS_AS(hsplit(x, 2), ShapeError);
  CHECK_THROWS_AS(broadcast_arrays({x, ones({2})}), ShapeError);
  CHECK_THROWS_WITH(reverse_sequence(x, tensor<std::int64_t>({4, 0}), 1), Contains("length 4 is outside [0, 3]"));
  CHECK_THROWS_WITH(reverse_sequence(x, tensor<std::int64_t>({0, -1}), 1), Contains("length -1"));
  const auto traced = compile([](const Tensor& y, const Tensor& lengths) { return reverse_sequence(y, lengths, 1); });
  CHECK(traced(x, tensor<std::int64_t>({3, 0})).shape() == Shape{2, 3});
  CHECK_THROWS_AS(traced(x, tensor<std::int64_t>({4, 0})), IndexError);
  CHECK_THROWS_AS(traced(x, tensor<std::int64_t>({0, -1})), IndexError);
  CHECK_THROWS_WITH(reverse_sequence(x, tensor<std::int64_t>({1}), 1), Contains("takes a vector of 2"));
  CHECK_THROWS_AS(reverse_sequence(x, tensor<std::int64_t>({1, 1}), 0, 0), ValueError);
}

TEST_CASE("diag_embed places each element, whatever the extents") {
  for (const Shape& shape : std::vector<Shape>{{1}, {3, 5}, {200, 60}, {2, 700}})
    for (const std::int64_t offset : {0, 1, -3}) {
      const Tensor x = reshape(arange(1., 1. + static_cast<double>(shape.elements())), shape),
                   y = diag_embed(x, offset);
      CHECK(array_equal(diagonal(y, offset), x));
      CHECK(sum(y).item() == sum(x).item());
      CHECK(sum(not_equal(y, 0)).item<std::int64_t>() == x.size());
      CHECK(array_equal(diag_embed(x > 0, offset), not_equal(y, 0)));
    }
}
