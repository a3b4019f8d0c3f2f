// Tensors as text. Expected texts were printed by NumPy 1.24 (array2string with separator ", ").
#include <cmath>
#include <complex>
#include <reel/fmt.hpp>
#include <reel/reel.hpp>
#include <sstream>

#include "catch.hpp"

using namespace reel;

namespace {

std::string text(const Tensor& x) {
  std::ostringstream out;
  out << x;
  CHECK(out.str() == to_string(x));
  return out.str();
}

}  // namespace

TEST_CASE("printed numbers are aligned at the decimal point") {
  CHECK(text(tensor({{1, 2}, {3, 4}})) == "[[1., 2.],\n [3., 4.]] float64 [2, 2]");
  CHECK(text(tensor({1, 2.5, -3.125})) == "[ 1.   ,  2.5  , -3.125] float64 [3]");
  CHECK(text(tensor({1. / 3, 2. / 3, 100})) == "[  0.33333333,   0.66666667, 100.        ] float64 [3]");
  CHECK(text(tensor<float>({0.1f, 16777216.f})) == "[1.0000000e-01, 1.6777216e+07] float32 [2]");
  CHECK(text(tensor({1e-5, 1e-300, 1e300})) == "[1.e-005, 1.e-300, 1.e+300] float64 [3]");
  CHECK(text(tensor({0.0, std::nan(""), -HUGE_VAL, 12.5})) == "[ 0. ,  nan, -inf, 12.5] float64 [4]");
  CHECK(text(tensor({-0.0, 0.0})) == "[-0.,  0.] float64 [2]");
  CHECK(text(cast(tensor({0.1, 0.25, 65504}), DType::float16)) == "[1.00e-01, 2.50e-01, 6.55e+04] float16 [3]");
  CHECK(text(cast(tensor({0.1, 3}), DType::bfloat16)) == "[0.1, 3. ] bfloat16 [2]");
}

TEST_CASE("printed integers, booleans and complex numbers") {
  CHECK(text(tensor<int>({-5, 1000, 7})) == "[  -5, 1000,    7] int32 [3]");
  CHECK(text(tensor<std::uint8_t>({255, 0})) == "[255,   0] uint8 [2]");
  CHECK(text(tensor<std::int64_t>({std::int64_t{1} << 40})) == "[1099511627776] int64 [1]");
  CHECK(text(tensor<bool>({true, false})) == "[ True, False] boolean [2]");
  const std::vector<std::complex<double>> z{{1, 2}, {-3.5, -0.25}};
  CHECK(text(from_data(z)) == "[ 1. +2.j  , -3.5-0.25j] complex128 [2]");
}

TEST_CASE("printed tensors of every rank, layout and size") {
  CHECK(text(scalar(2.5)) == "2.5 float64 []");
  CHECK(text(scalar(7)) == "7 int32 []");
  CHECK(text(zeros({2, 0})) == "[] float64 [2, 0]");
  CHECK(text(Tensor()) == "an empty handle");
  const Tensor x = reshape(arange(8.0), {2, 2, 2});
  CHECK(text(x) == "[[[0., 1.],\n  [2., 3.]],\n\n [[4., 5.],\n  [6., 7.]]] float64 [2, 2, 2]");
  CHECK(text(slice(flip(transpose(x)), {0})) == "[[7., 3.],\n [5., 1.]] float64 [2, 2]");
  CHECK(text(broadcast_to(tensor({1, 2}), {2, 2})) == "[[1., 2.],\n [1., 2.]] float64 [2, 2]");
}

TEST_CASE("long tensors are printed in part") {
  CHECK(text(arange(1001)) == "[   0,    1,    2, ...,  998,  999, 1000] int64 [1001]");
  CHECK(text(reshape(arange(2000), {2, 1000})) ==
        "[[   0,    1,    2, ...,  997,  998,  999],\n [1000, 1001, 1002, ..., 1997, 1998, 1999]] int64 [2, 1000]");
  CHECK(text(zeros({40, 40})) ==
        "[[0., 0., 0., ..., 0., 0., 0.],\n [0., 0., 0., ..., 0., 0., 0.],\n [0., 0., 0., ..., 0., 0., 0.],\n ...,\n"
        " [0., 0., 0., ..., 0., 0., 0.],\n [0., 0., 0., ..., 0., 0., 0.],\n [0., 0., 0., ..., 0., 0., 0.]] float64 "
        "[40, 40]");
  CHECK(text(arange(25)) ==
        "[ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n 18, 19, 20, 21, 22, 23, 24] int64 "
        "[25]");
}

TEST_CASE("printed variables and gradients, and formatting by {fmt}") {
  const Variable w(tensor({1, 2}), "w");
  CHECK(to_string(w) == "Variable 'w' [1., 2.] float64 [2]");
  CHECK(fmt::format("{} of {}", DType::int32, Shape{2, 3}) == "int32 of [2, 3]");
  CHECK(fmt::format("{}", scalar(1.5)) == "1.5 float64 []");
  CHECK(fmt::format("{:>16}|", scalar(1.5)) == "  1.5 float64 []|");
  CHECK(fmt::format("{}", w) == to_string(w));
  CHECK(fmt::format("{}", Gradient(scalar(2.0))) == "2. float64 []");
  CHECK(fmt::format("{}", Gradient()).starts_with("none ("));
  const Gradient rows = IndexedSlices{tensor({{1, 2}}), tensor<std::int64_t>({1}), {3, 2}};
  CHECK(to_string(rows) == "IndexedSlices of [3, 2]: rows [1] int64 [1], values [[1., 2.]] float64 [1, 2]");
}
