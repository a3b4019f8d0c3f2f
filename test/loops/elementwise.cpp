// Pointwise loops and copies: every layout gives the result of index arithmetic, with the same bits for any thread
// count.
#include <reel/reel.hpp>

#include "catch.hpp"
#include "kernels/table.hpp"
#include "layouts.hpp"
#include "loops/loops.hpp"

using namespace reel;

namespace {

kernels::Loop subtract_loop() { return kernels::pointwise(kernels::index_of<"subtract">(), DType::float64).value; }

void check_subtract(const Tensor& x, const Tensor& y, const Shape& shape) {
  const Tensor out = detail::empty(DType::float64, shape);
  const Tensor* in[] = {&x, &y};
  loops::pointwise(subtract_loop(), shape, in, out);
  std::size_t i = 0, wrong = 0;
  const double* z = detail::mutable_data<double>(out);
  layouts::for_each_index(
      shape, [&](const Shape& index) { wrong += z[i++] != layouts::at(x, index) - layouts::at(y, index); });
  INFO(to_string(shape) << " " << to_string(x.strides()) << " " << to_string(y.strides()));
  CHECK(wrong == 0);
}

const Shape shapes[] = {{},
                        {1},
                        {7},
                        {0},
                        {3, 0, 2},
                        {5, 4},
                        {40, 2},
                        {300, 3},
                        {2, 300},
                        {33, 17},
                        {2, 3, 4},
                        {20, 1, 30},
                        {64, 10},
                        {16, 32},
                        {5, 6, 40},
                        {700, 64},
                        {4, 5, 6, 7},
                        {500, 100},
                        {100, 500},
                        {20000, 2},
                        {1001, 4},
                        {7, 90, 3},
                        {331, 5},
                        {201, 6},
                        {90, 7},
                        {9001, 8},
                        {60, 9},
                        {700, 12},
                        {301, 15},
                        {3, 100, 200},
                        {7, 9, 11, 13},
                        {2, 2, 2, 2, 2, 2, 2, 2, 2},
                        {40000},
                        {1, 1, 70000}};

}  // namespace

TEST_CASE("pointwise loops over operands of any strides") {
  std::uint64_t seed = 1;
  for (const Shape& shape : shapes)
    for (int trial = 0; trial < 6; ++trial) {
      const std::uint64_t x_repeats = trial < 2 ? 0 : layouts::next(seed),
                          y_repeats = trial < 4 ? 0 : layouts::next(seed);
      check_subtract(layouts::view(shape, layouts::next(seed), x_repeats),
                     layouts::view(shape, layouts::next(seed), y_repeats), shape);
    }
}

TEST_CASE("pointwise loops broadcast operands of lower rank and of extent 1") {
  std::uint64_t seed = 2;
  for (const Shape& shape : shapes) {
    for (int drop = 0; drop <= shape.rank(); ++drop) {
      Shape lower;
      for (int d = drop; d < shape.rank(); ++d) lower.push_back(layouts::next(seed) % 3 == 0 ? 1 : shape[d]);
      check_subtract(layouts::view(shape, layouts::next(seed)), layouts::view(lower, layouts::next(seed)), shape);
      check_subtract(layouts::view(lower, layouts::next(seed)),
                     layouts::view(lower.empty() ? Shape{} : shape, layouts::next(seed)),
                     lower.empty() ? Shape{} : shape);
    }
  }
}

TEST_CASE("a result may be written over an operand") {
  for (const Shape& shape : {Shape{100}, Shape{40, 5}, Shape{300, 200}}) {
    const Tensor x = from_data(layouts::numbers(shape.elements(), 3), shape), y = layouts::view(shape, 4);
    const std::vector<double> before = x.to_vector();
    const Tensor* in[] = {&x, &y};
    loops::pointwise(subtract_loop(), shape, in, x);
    std::size_t i = 0, wrong = 0;
    layouts::for_each_index(shape, [&](const Shape& index) {
      wrong += detail::mutable_data<double>(x)[i] != before[i] - layouts::at(y, index);
      ++i;
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE("a loop writes its result into a view of any strides") {
  std::uint64_t seed = 8;
  for (const Shape& shape : shapes)
    for (int trial = 0; trial < 6; ++trial) {
      const Tensor to = trial < 2 ? from_data(layouts::numbers(shape.elements(), ++seed), shape)
                                  : layouts::view(shape, layouts::next(seed));
      Shape lower = shape;
      if (trial % 3 == 0 && !lower.empty()) lower[static_cast<int>(layouts::next(seed) % lower.size())] = 1;
      const Tensor x = layouts::view(lower, layouts::next(seed), trial < 4 ? 0 : layouts::next(seed));
      const std::vector<double> before = loops::contiguous(to + 0.0).to_vector();
      loops::pointwise_into_view(subtract_loop(), x, to);
      std::size_t i = 0, wrong = 0;
      layouts::for_each_index(
          shape, [&](const Shape& index) { wrong += layouts::at(to, index) != before[i++] - layouts::at(x, index); });
      INFO(to_string(shape) << " " << to_string(to.strides()) << " " << to_string(x.strides()));
      CHECK(wrong == 0);
    }
}

// Nothing beside the elements of a view changes.
TEST_CASE("writing to a view changes nothing between its elements") {
  const Tensor base = zeros({50, 60}), ones_of = ones({48, 20});
  const Tensor part = slice(base, {reel::range(1, 49), reel::range(2, 60, 3)});
  loops::pointwise_into_view(subtract_loop(), ones_of, part);
  CHECK(sum(base).item() == -48 * 20);
  CHECK(array_equal(part, -ones_of));
}

TEST_CASE("copies between layouts of any strides") {
  std::uint64_t seed = 5;
  for (const Shape& shape : shapes)
    for (int trial = 0; trial < 6; ++trial) {
      const Tensor x = layouts::view(shape, layouts::next(seed), trial < 3 ? 0 : layouts::next(seed));
      const Tensor y =
          trial % 2 == 0 ? detail::empty(DType::float64, shape) : layouts::view(shape, layouts::next(seed));
      loops::copy(x, y);
      std::size_t wrong = 0;
      layouts::for_each_index(shape,
                              [&](const Shape& index) { wrong += layouts::at(y, index) != layouts::at(x, index); });
      INFO(to_string(shape) << " " << to_string(x.strides()) << " " << to_string(y.strides()));
      CHECK(wrong == 0);
      const Tensor z = loops::contiguous(x);
      CHECK(z.is_contiguous());
      CHECK((z.id() == x.id()) == x.is_contiguous());
    }
}

TEST_CASE("copies repeat elements of every size along a short last axis") {
  for (const DType d : {DType::boolean, DType::float16, DType::int32, DType::int64, DType::complex128})
    for (const Shape& shape : {Shape{37, 2}, {5, 40, 3}, {600, 8}, {40, 9}, {50, 15}}) {
      Shape column = shape;
      column[-1] = 1;
      const Tensor x = cast(reshape(arange(column.elements()) % 2, column), d), y = detail::empty(d, shape);
      loops::copy(x, y);
      CHECK(array_equal(y, x + zeros(shape, d)));
    }
}

TEST_CASE("copies move elements of every size") {
  for (DType d : {DType::boolean, DType::float16, DType::int32, DType::int64, DType::complex128}) {
    const Shape shape{37, 53};
    const Tensor x = detail::empty(d, shape);
    auto* bytes = detail::mutable_data<unsigned char>(x);
    const std::size_t each = item_size(d), all = each * 37 * 53;
    for (std::size_t i = 0; i < all; ++i) bytes[i] = static_cast<unsigned char>(i * 31 / 7);
    const Tensor turned = TensorAccess::adopt(detail::new_view(detail::block(x), 0, {53, 37}, {1, 53}));
    const Tensor y = loops::contiguous(turned);
    const auto* out = detail::mutable_data<unsigned char>(y);
    std::size_t wrong = 0;
    for (std::size_t r = 0; r < 53; ++r)
      for (std::size_t c = 0; c < 37; ++c)
        for (std::size_t b = 0; b < each; ++b) wrong += out[(r * 37 + c) * each + b] != bytes[(c * 53 + r) * each + b];
    CHECK(wrong == 0);
  }
}
