// Reductions: any axes of any layout, within 4 eps of the sum of magnitudes, the same bits for 1, 2, 3 and 7 threads.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <reel/runtime.hpp>

#include "catch.hpp"
#include "layouts.hpp"
#include "loops/loops.hpp"
#include "support/numbers.hpp"

using namespace reel;

namespace {

Shape kept(const Shape& shape, const Shape& axes) {
  Shape left;
  for (int d = 0; d < shape.rank(); ++d)
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) left.push_back(shape[d]);
  return left;
}

Tensor reduced(kernels::ReduceFunction kind, const Tensor& x, const Shape& axes) {
  const Tensor out = detail::empty(x.dtype(), kept(x.shape(), axes));
  loops::reduce(kernels::reduction(kind, x.dtype()), x, axes, out);
  return out;
}

// Sum, sum of magnitudes and maximum of each output.
void check(const Tensor& x, const Shape& axes) {
  const Shape shape = x.shape(), left = kept(shape, axes);
  const auto outputs = static_cast<std::size_t>(left.elements());
  std::vector<long double> total(outputs), magnitude(outputs);
  std::vector<double> largest(outputs, -INFINITY);
  layouts::for_each_index(shape, [&](const Shape& index) {
    std::size_t o = 0;
    for (int d = 0; d < shape.rank(); ++d)
      if (std::find(axes.begin(), axes.end(), d) == axes.end())
        o = o * static_cast<std::size_t>(shape[d]) + static_cast<std::size_t>(index[d]);
    const double v = layouts::at(x, index);
    total[o] += v;
    magnitude[o] += std::fabs(v);
    largest[o] = std::max(largest[o], v);
  });
  const std::vector<double> sums = reduced(kernels::ReduceFunction::sum, x, axes).to_vector(),
                            maxima = reduced(kernels::ReduceFunction::max, x, axes).to_vector();
  double worst = 0;
  for (std::size_t o = 0; o < outputs; ++o)
    worst = support::worse(worst,
                           static_cast<double>(std::fabs(static_cast<long double>(sums[o]) - total[o]) / magnitude[o]));
  INFO(to_string(shape) << " " << to_string(x.strides()) << " over " << to_string(axes));
  CHECK(worst <= 4 * std::numeric_limits<double>::epsilon());
  CHECK(maxima == largest);
}

const Shape shapes[] = {{},
                        {1},
                        {9},
                        {5, 4},
                        {40, 2},
                        {3000, 3},
                        {700, 4},
                        {5, 60, 5},
                        {300, 6},
                        {41, 7},
                        {2100, 8},
                        {500, 9},
                        {7, 60, 12},
                        {901, 15},
                        {2, 300},
                        {33, 17},
                        {2, 3, 4},
                        {20, 1, 30},
                        {64, 10},
                        {4, 5, 6, 7},
                        {500, 100},
                        {7, 700, 3},
                        {3, 7001},
                        {7, 9, 11, 13},
                        {200, 1, 200},
                        {2, 2, 2, 2, 2, 2, 2, 2},
                        {4096, 16, 2},
                        {16, 32},
                        {15, 100},
                        {6, 11, 40},
                        {19, 128}};

}  // namespace

TEST_CASE("reductions over any axes of any layout") {
  std::uint64_t seed = 1;
  for (const Shape& shape : shapes) {
    const unsigned subsets = 1u << std::min(shape.rank(), 4);
    for (unsigned subset = 0; subset < subsets; ++subset) {
      Shape axes;
      for (int d = 0; d < shape.rank(); ++d)
        if (subset >> d & 1) axes.push_back(d);
      check(from_data(layouts::numbers(shape.elements(), layouts::next(seed)), shape), axes);
      for (int trial = 0; trial < 3; ++trial)
        check(layouts::view(shape, layouts::next(seed), trial < 2 ? 0 : layouts::next(seed)), axes);
    }
  }
}

TEST_CASE("long sums stay accurate") {
  // A constant array: the rounding errors of a running sum would all have the same sign.
  const std::int64_t n = 3'000'000;
  for (const Shape& shape : {Shape{n}, Shape{n / 3, 3}, Shape{3, n / 3}, Shape{n / 60, 60}, Shape{300, n / 300}}) {
    const Tensor one = from_data(std::vector<float>{0.1f});
    Shape strides = shape;
    for (std::int64_t& s : strides) s = 0;
    const Tensor x = loops::contiguous(TensorAccess::adopt(detail::new_view(detail::block(one), 0, shape, strides)));
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const std::vector<float> sums = reduced(kernels::ReduceFunction::sum, x, {axis}).to_vector<float>();
      const double expected = static_cast<double>(0.1f) * static_cast<double>(shape[axis]);
      double worst = 0;
      for (float s : sums) worst = support::worse(worst, std::fabs(static_cast<double>(s) / expected - 1));
      INFO(to_string(shape) << " axis " << axis);
      CHECK(worst <= 4 * static_cast<double>(std::numeric_limits<float>::epsilon()));
    }
  }
}

TEST_CASE("reductions have the same bits for any number of threads") {
  struct Case {
    Shape shape, axes;
  };
  const Case cases[] = {{{1'000'003}, {0}},       {{700'001, 3}, {0}},   {{300'001, 3}, {1}},
                        {{1000, 1003}, {0}},      {{1000, 1003}, {1}},   {{1000, 1003}, {0, 1}},
                        {{40, 1000, 30}, {0, 2}}, {{40, 1000, 30}, {1}}, {{60'000, 16}, {0}},
                        {{2, 600'000}, {1}},      {{2, 600'000}, {0}},   {{100, 7, 1000}, {0, 2}}};
  const int before = num_threads();
  for (const auto& [shape, axes] : cases)
    for (std::uint64_t layout = 0; layout < 3; ++layout) {
      const Tensor x =
          layout == 0 ? from_data(layouts::numbers(shape.elements(), 7), shape) : layouts::view(shape, layout);
      set_num_threads(1);
      const std::vector<double> alone = reduced(kernels::ReduceFunction::sum, x, axes).to_vector();
      for (int threads : {2, 3, 7}) {
        const tbb::global_control control(tbb::global_control::max_allowed_parallelism,
                                          static_cast<std::size_t>(threads));
        tbb::task_arena arena(threads);
        set_num_threads(threads);
        std::vector<double> together;
        arena.execute([&, &over = axes] { together = reduced(kernels::ReduceFunction::sum, x, over).to_vector(); });
        INFO(to_string(shape) << " over " << to_string(axes) << " with " << threads << " threads");
        CHECK(std::memcmp(alone.data(), together.data(), alone.size() * sizeof(double)) == 0);
      }
    }
  set_num_threads(before);
}

TEST_CASE("reductions of integers and booleans") {
  std::vector<std::int64_t> values(10'000);
  std::int64_t total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) total += values[i] = static_cast<std::int64_t>(i * i % 101) - 50;
  const Tensor x = from_data(values, {100, 100});
  CHECK(reduced(kernels::ReduceFunction::sum, x, {0, 1}).item<std::int64_t>() == total);
  CHECK(reduced(kernels::ReduceFunction::min, x, {0, 1}).item<std::int64_t>() == -50);
  std::vector<std::uint8_t> bytes(1000, 0);
  bytes[777] = 1;
  const Tensor b = from_data(bytes, {10, 100});
  const Tensor any = reduced(kernels::ReduceFunction::max, b, {1});
  CHECK(any.to_vector<std::uint8_t>() == std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0, 0, 1, 0, 0});
}
