// Properties of padding and windows that the op table does not test: every dtype, views, and errors.
#include <limits>
#include <reel/ops/windows.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/bits.hpp"

using namespace reel;
using Catch::Contains;

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("borders and windows of every dtype") {
  for (const DType d : {DType::boolean, DType::uint8, DType::int32, DType::int64, DType::float16, DType::bfloat16,
                        DType::float32, DType::float64, DType::complex64, DType::complex128}) {
    INFO(name(d));
    const Tensor x = cast(tensor({1, 0, 2}), d), y = cast(tensor({0, 1, 0, 2, 0}), d);
    CHECK(support::same_bits(pad(x, {1}, {1}, PadMode::reflect), y));
    CHECK(support::same_bits(sliding_window(x, 2), cast(tensor({{1, 0}, {0, 2}}), d)));
    if (d != DType::boolean) CHECK(support::same_bits(overlap_add(sliding_window(x, 2)), cast(tensor({1, 0, 2}), d)));
  }
}

TEST_CASE("sums over windows of float16 and bfloat16 are added in float32 and rounded once") {
  // 2048 + 1 + 1 in float16, one after the other, stays 2048.
  const Tensor x = cast(tensor({{0, 0, 2048}, {0, 1, 0}, {1, 0, 0}}), DType::float16);
  CHECK(cast(overlap_add(x), DType::float64).to_vector()[2] == 2050);
  const Tensor ones_below = cast(concatenate({tensor({2048}), ones({3})}, 0), DType::float16);
  GradientTape tape;
  const Tensor one = cast(tensor({1}), DType::float16);
  tape.watch(one);
  const Tensor y = pad(one, {3}, {0}, PadMode::edge);
  CHECK(cast(*tape.gradient(y, one, {.output_gradients = ones_below}), DType::float64).to_vector()[0] == 2052);
}

TEST_CASE("a sliding window is a view") {
  const Tensor x = arange(12.0), w = sliding_window(x, 3, 0, 2);
  CHECK(w.strides() == Shape{2, 1});
  const Tensor second = slice(w, {1});
  CHECK(second.data<double>().data() == x.data<double>().data() + 2);
}

TEST_CASE("the gradient of overlap_add leaves out elements behind the last window") {
  const Tensor x = reshape(arange(6.0), {3, 2}), w = arange(10.0);
  for (const std::int64_t stride : {1, 2})
    for (const std::int64_t behind : {0, 1, 2, 3}) {
      INFO("stride " << stride << ", " << behind << " elements behind");
      const std::int64_t covered = 2 * stride + 2;
      GradientTape tape;
      tape.watch(x);
      const Tensor y = overlap_add(x, 0, stride, 1, covered + behind);
      const Tensor g = *tape.gradient(y, x, {.output_gradients = slice(w, {range(0, covered + behind)})});
      CHECK(array_equal(g, sliding_window(slice(w, {range(0, covered)}), 2, 0, stride)));
    }
}

TEST_CASE("borders wide enough for several threads") {
  const Tensor x = reshape(arange(6.0), {2, 3}), y = pad(x, {200, 0}, {199, 600}, PadMode::wrap);
  CHECK(array_equal(y, slice(tile(x, {201, 201}), {range(0, 401), range(0, 603)})));
}

TEST_CASE("errors of borders, windows and blocks name the cause") {
  const Tensor x = reshape(arange(6.0), {2, 3});
  CHECK_THROWS_WITH(pad(x, {1}, {1, 1}, PadMode::edge), Contains("before has"));
  CHECK_THROWS_WITH(pad(x, {0, -1}, {0, 0}, PadMode::edge), Contains("nothing can be padded with -1 elements"));
  CHECK_THROWS_WITH(pad(zeros({0}), {1}, {0}, PadMode::wrap), Contains("has no element that a border could repeat"));
  CHECK_THROWS_AS(pad(x, {most, 0}, {0, 0}, PadMode::edge), ShapeError);
  CHECK_THROWS_AS(pad(x, {1, 1}, {0, 0}, static_cast<PadMode>(9)), ValueError);
  CHECK_THROWS_WITH(sliding_window(x, 4), Contains("does not fit axis 1 of x"));
  CHECK_THROWS_AS(sliding_window(x, 2, 0, 1, most), ShapeError);
  CHECK_THROWS_WITH(sliding_window(x, 0), Contains("window is 0"));
  CHECK_THROWS_WITH(sliding_window(x, 1, 0, 0), Contains("stride is 0"));
  CHECK_THROWS_AS(sliding_window(x, 1, 2), IndexError);
  CHECK_THROWS_WITH(overlap_add(arange(3.0)), Contains("must have an axis of windows"));
  CHECK_THROWS_WITH(overlap_add(x, 0, 1, 1, 3), Contains("the windows cover 4 elements"));
  CHECK_THROWS_AS(overlap_add(x, 0, most, most), ShapeError);
  CHECK_THROWS_AS(overlap_add(zeros({0, 2})), ShapeError);
  CHECK_THROWS_WITH(pixel_shuffle(ones({3, 2, 2}), 2), Contains("3 channels are no multiple of 4"));
  CHECK_THROWS_WITH(pixel_unshuffle(ones({1, 3, 2}), 2), Contains("2 does not divide rows and columns"));
  CHECK_THROWS_AS(pixel_shuffle(x, 2), ShapeError);
  CHECK_THROWS_AS(pixel_shuffle(ones({1, 1, 1}), 0), ValueError);
  CHECK_THROWS_WITH(space_to_batch(x, {2}, {0}, {0}), Contains("does not divide axis 1"));
  CHECK_THROWS_AS(space_to_batch(x, {0}, {0}, {0}), ValueError);
  CHECK_THROWS_AS(space_to_batch(x, {1, 1}, {0}, {0}), ShapeError);
  CHECK_THROWS_WITH(batch_to_space(x, {3}, {0}, {0}), Contains("axis 0 is no multiple of 3"));
  CHECK_THROWS_WITH(batch_to_space(x, {2}, {4}, {3}), Contains("cut more than the 6 elements"));
}
