// Arguments that are refused before memory is accessed: literals that an integer cannot hold, axes that a shape does
// not have, values outside the dtype enumeration.
#include <cmath>
#include <limits>
#include <reel/reel.hpp>

#include "catch.hpp"

using namespace reel;
using Catch::Contains;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
const double no_number = std::nan("");

}  // namespace

TEST_CASE("a literal that an integer dtype does not hold exactly is refused") {
  CHECK_THROWS_AS(tensor<int>({no_number}), ValueError);
  CHECK_THROWS_AS(tensor<int>({infinite}), ValueError);
  CHECK_THROWS_AS(tensor<int>({-infinite}), ValueError);
  CHECK_THROWS_AS(tensor<int>({1.5}), ValueError);
  CHECK_THROWS_AS(tensor<int>({1.5F}), ValueError);
  CHECK_THROWS_AS(tensor<int>({0x1p31}), ValueError);
  CHECK_THROWS_AS(tensor<int>({1.0, -0x1p31 - 1}), ValueError);
  CHECK_THROWS_AS(tensor<int>({std::int64_t{1} << 40}), ValueError);
  CHECK_THROWS_AS(tensor<int>({-(std::int64_t{1} << 31) - 1}), ValueError);
  CHECK_THROWS_AS(tensor<unsigned char>({300}), ValueError);
  CHECK_THROWS_AS(tensor<unsigned char>({-1}), ValueError);
  CHECK_THROWS_AS(tensor<unsigned char>({256.0}), ValueError);
  CHECK_THROWS_AS(tensor<std::int64_t>({std::numeric_limits<std::uint64_t>::max()}), ValueError);
  CHECK_THROWS_AS(tensor<std::int64_t>({0x1p63}), ValueError);
  CHECK_THROWS_AS(tensor<std::int64_t>({{1, 2}, {3, 0.25}}), ValueError);
  CHECK_THROWS_WITH(tensor<int>({1, 2.5}), Contains("2.5") && Contains("int32"));
  CHECK_THROWS_WITH(tensor<unsigned char>({300}), Contains("300") && Contains("uint8"));
}

TEST_CASE("literals at the ends of an integer's range are accepted, whatever their type") {
  CHECK(tensor<int>({-0x1p31, 0x1p31 - 1}).to_vector<int>() ==
        std::vector{std::numeric_limits<int>::min(), std::numeric_limits<int>::max()});
  CHECK(tensor<unsigned char>({0, 255L, 7.0F, true, 'a'}).to_vector<std::uint8_t>() ==
        std::vector<std::uint8_t>{0, 255, 7, 1, 97});
  CHECK(tensor<std::int64_t>({-0x1p63, std::numeric_limits<std::int64_t>::max(), std::uint64_t{1} << 62})
            .to_vector<std::int64_t>() == std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min(),
                                                                    std::numeric_limits<std::int64_t>::max(),
                                                                    std::int64_t{1} << 62});
  CHECK(tensor<bool>({0.5, 0, 2}).to_vector<bool>() == std::vector{true, false, true});
  CHECK(std::isnan(tensor<float>({no_number}).item<float>()));
}

TEST_CASE("arange refuses unsigned bounds beyond int64") {
  CHECK_THROWS_AS(arange(std::numeric_limits<std::uint64_t>::max()), ValueError);
  CHECK_THROWS_AS(arange(std::uint64_t{0}, std::uint64_t{1} << 63), ValueError);
  CHECK(arange(std::uint64_t{3}).to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 1, 2});
}

TEST_CASE("shapes refuse axes out of range and stay unchanged") {
  Shape s{2, 3};
  CHECK_THROWS_AS(s.insert(3, 1), IndexError);
  CHECK_THROWS_AS(s.insert(-1, 1), IndexError);
  CHECK_THROWS_AS(s.insert(1000, 1), IndexError);
  CHECK_THROWS_AS(s.erase(2), IndexError);
  CHECK_THROWS_AS(s.erase(-1), IndexError);
  CHECK(s == Shape{2, 3});
  s.insert(2, 4);
  s.insert(0, 1);
  CHECK(s == Shape{1, 2, 3, 4});
  s.erase(3);
  s.erase(0);
  CHECK(s == Shape{2, 3});
  Shape scalar_shape;
  CHECK_THROWS_AS(scalar_shape.pop_back(), IndexError);
  CHECK_THROWS_AS(scalar_shape.erase(0), IndexError);
  CHECK(scalar_shape.rank() == 0);
  scalar_shape.insert(0, 5);
  CHECK(scalar_shape == Shape{5});
  Shape full(std::vector<int>(max_rank, 1));
  CHECK_THROWS_AS(full.insert(0, 1), ShapeError);
  CHECK(full.rank() == max_rank);
}

TEST_CASE("a value outside the DType enumeration is refused by every function that takes a dtype") {
  Generator generator(1);
  const Tensor x = tensor({1.5});
  for (const int code : {10, 15, 16, 42, 255}) {
    const auto d = static_cast<DType>(code);
    CHECK_THROWS_AS(zeros({2}, d), TypeError);
    CHECK_THROWS_AS(ones({2}, d), TypeError);
    CHECK_THROWS_AS(full({2}, 1.0, d), TypeError);
    CHECK_THROWS_AS(eye(2, d), TypeError);
    CHECK_THROWS_AS(linspace(0, 1, 3, d), TypeError);
    CHECK_THROWS_AS(random_uniform(generator, {2}, 0, 1, d), TypeError);
    CHECK_THROWS_AS(random_normal(generator, {2}, 0, 1, d), TypeError);
    CHECK_THROWS_AS(random_truncated_normal(generator, {2}, 0, 1, d), TypeError);
    CHECK_THROWS_AS(one_hot(tensor<int>({1}), 2, d), TypeError);
    CHECK_THROWS_AS(cast(x, d), TypeError);
    CHECK_THROWS_AS(cast(2.0, d), TypeError);
    CHECK_THROWS_AS(promote(d, DType::float32), TypeError);
    CHECK_THROWS_AS(promote(DType::float32, d), TypeError);
    CHECK(name(d) == std::string("unknown"));
  }
  CHECK_THROWS_WITH(zeros({2}, static_cast<DType>(42)), Contains("zeros: DType(42)"));
}
