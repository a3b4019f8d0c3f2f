// Casts between the ten element types, and copies between layouts.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "catch.hpp"
#include "kernels/baseline/cast.hpp"
#include "kernels/baseline/copy.hpp"

using namespace reel::kernels;
using reel::DType;

namespace {

constexpr DType types[] = {DType::boolean,  DType::uint8,   DType::int32,   DType::int64,     DType::float16,
                           DType::bfloat16, DType::float32, DType::float64, DType::complex64, DType::complex128};

template <class To, class From>
To cast_one(DType from, DType to, From value, bool fits = true) {
  To out{};
  CHECK(cast(from, to)({&value, 1}, &out, 1) == fits);
  return out;
}
std::uint16_t to_half(float value) { return cast_one<std::uint16_t>(DType::float32, DType::float16, value); }
float from_half(std::uint16_t bits) { return cast_one<float>(DType::float16, DType::float32, bits); }
std::uint16_t to_brain(float value) { return cast_one<std::uint16_t>(DType::float32, DType::bfloat16, value); }

}  // namespace

TEST_CASE("small whole numbers survive every pair of casts, contiguous and strided") {
  const std::uint8_t numbers[] = {0, 1, 2, 3, 100, 127, 128};
  for (DType middle : types)
    for (DType last : types) {
      alignas(16) char between[7 * 16 * 2], end[7 * 16];
      std::uint8_t back[7];
      REQUIRE(cast(DType::uint8, middle)({numbers, 1}, between, 7));
      REQUIRE(cast(middle, last)({between, 1}, end, 7));
      REQUIRE(cast(last, DType::uint8)({end, 1}, back, 7));
      const bool truth = middle == DType::boolean || last == DType::boolean;
      for (std::size_t i = 0; i < 7; ++i) CHECK(+back[i] == (truth ? numbers[i] != 0 : numbers[i]));
      REQUIRE(cast(middle, last)({between + 6 * item_size(middle), -2}, end, 4));
      REQUIRE(cast(last, DType::uint8)({end, 1}, back, 4));
      for (std::size_t i = 0; i < 4; ++i) CHECK(+back[i] == (truth ? numbers[6 - 2 * i] != 0 : numbers[6 - 2 * i]));
    }
}

TEST_CASE("a float is truncated to an integer, or the cast fails") {
  CHECK(cast_one<std::int32_t>(DType::float64, DType::int32, -2.9) == -2);
  CHECK(cast_one<std::int32_t>(DType::float64, DType::int32, 2147483647.9) == 2147483647);
  CHECK(cast_one<std::int32_t>(DType::float64, DType::int32, -2147483648.9) ==
        std::numeric_limits<std::int32_t>::min());
  CHECK(+cast_one<std::uint8_t>(DType::float32, DType::uint8, -0.9f) == 0);
  CHECK(+cast_one<std::uint8_t>(DType::float32, DType::uint8, 255.9f) == 255);
  CHECK(cast_one<std::int64_t>(DType::float64, DType::int64, -0x1p63) == std::numeric_limits<std::int64_t>::min());
  cast_one<std::int32_t>(DType::float64, DType::int32, 2147483648., false);
  cast_one<std::int32_t>(DType::float64, DType::int32, -2147483649., false);
  cast_one<std::uint8_t>(DType::float32, DType::uint8, -1.f, false);
  cast_one<std::uint8_t>(DType::float32, DType::uint8, 256.f, false);
  cast_one<std::int64_t>(DType::float32, DType::int64, 0x1p63f, false);
  cast_one<std::int64_t>(DType::float64, DType::int64, std::nan(""), false);
  cast_one<std::int32_t>(DType::float32, DType::int32, -std::numeric_limits<float>::infinity(), false);
  const double mixed[] = {1, std::nan(""), 3};
  std::int32_t out[3];
  CHECK_FALSE(cast(DType::float64, DType::int32)({mixed, 1}, out, 3));
}

TEST_CASE("integers wrap, complex numbers give their real part, anything but zero is true") {
  CHECK(+cast_one<std::uint8_t>(DType::int32, DType::uint8, 300) == 44);
  CHECK(cast_one<std::int32_t>(DType::int64, DType::int32, (std::int64_t(1) << 32) - 5) == -5);
  struct Complex {
    double re, im;
  };
  CHECK(cast_one<double>(DType::complex128, DType::float64, Complex{1.5, 9}) == 1.5);
  CHECK(cast_one<std::int32_t>(DType::complex128, DType::int32, Complex{-1.5, 9}) == -1);
  const auto z = cast_one<Complex>(DType::float32, DType::complex128, 2.5f);
  CHECK((z.re == 2.5 && z.im == 0));
  CHECK(+cast_one<std::uint8_t>(DType::complex128, DType::boolean, Complex{0, 1e-300}) == 1);
  CHECK(+cast_one<std::uint8_t>(DType::complex128, DType::boolean, Complex{0, -0.}) == 0);
  CHECK(+cast_one<std::uint8_t>(DType::float64, DType::boolean, std::nan("")) == 1);
  CHECK(+cast_one<std::uint8_t>(DType::int32, DType::boolean, 256) == 1);
}

TEST_CASE("every float16 and bfloat16 converts to float and back, and rounding is to nearest even") {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float value = from_half(static_cast<std::uint16_t>(bits));
    if ((bits & 0x7fffu) > 0x7c00u) {
      CHECK(std::isnan(value));
      CHECK((to_half(value) & 0x7fffu) > 0x7c00u);
      continue;
    }
    if (to_half(value) != bits) CHECK(to_half(value) == bits);
    // Numbers between this one and the next larger one.
    const unsigned next = bits + 1;
    if ((next & 0x7fffu) > 0x7c00u || (next & 0x7fffu) == 0) continue;
    const double above =
        (next & 0x7fffu) == 0x7c00u ? std::copysign(65536., value) : from_half(static_cast<std::uint16_t>(next));
    const double middle = (static_cast<double>(value) + above) / 2;
    const unsigned even = (bits & 1u) != 0 ? next : bits;
    if (to_half(static_cast<float>(middle)) != even) CHECK(to_half(static_cast<float>(middle)) == even);
    // Closer to the midpoint than float resolves: rounding via float would give the wrong neighbour.
    const double beyond = std::nextafter(middle, above), before = std::nextafter(middle, static_cast<double>(value));
    if (cast_one<std::uint16_t>(DType::float64, DType::float16, beyond) != next)
      CHECK(cast_one<std::uint16_t>(DType::float64, DType::float16, beyond) == next);
    if (cast_one<std::uint16_t>(DType::float64, DType::float16, before) != bits)
      CHECK(cast_one<std::uint16_t>(DType::float64, DType::float16, before) == bits);
  }
  CHECK(to_half(65519.f) == 0x7bff);
  CHECK(to_half(65520.f) == 0x7c00);
  CHECK(to_half(-1e30f) == 0xfc00);
  CHECK(to_half(0x1p-25f) == 0);
  CHECK(to_half(0x1.000002p-25f) == 1);
  CHECK(to_brain(1.f + 0x1p-8f) == 0x3f80);
  CHECK(to_brain(1.f + 0x1.8p-7f) == 0x3f82);
  CHECK(to_brain(std::numeric_limits<float>::max()) == 0x7f80);
  CHECK((to_brain(std::numeric_limits<float>::quiet_NaN()) & 0x7fffu) > 0x7f80u);
  CHECK(cast_one<std::uint16_t>(DType::float64, DType::bfloat16, 1 + 0x1p-8 + 0x1p-50) == 0x3f81);
  CHECK(cast_one<std::uint16_t>(DType::int64, DType::bfloat16, (std::int64_t(1) << 62) + (std::int64_t(1) << 54) + 1) ==
        0x5e81);
  CHECK(cast_one<std::uint16_t>(DType::int64, DType::bfloat16, (std::int64_t(1) << 62) + (std::int64_t(1) << 54)) ==
        0x5e80);
}

TEST_CASE("copies between layouts move every element") {
  for (const std::ptrdiff_t size : {1, 2, 4, 8, 16}) {
    const auto bytes = static_cast<std::size_t>(size);
    std::vector<char> from(bytes * 64 * 70), to(from.size());
    std::iota(from.begin(), from.end(), char(1));
    const char* middle = from.data() + 2000 * size;
    for (auto [stride, out_stride] : {std::pair(1, 1), {2, 1}, {1, 3}, {-1, 1}, {-2, 2}, {0, 1}}) {
      copy({middle, stride}, to.data(), out_stride, 500, bytes);
      bool good = true;
      for (std::ptrdiff_t i = 0; i < 500; ++i)
        good &= std::memcmp(to.data() + i * out_stride * size, middle + i * stride * size, bytes) == 0;
      CHECK(good);
    }
    for (std::ptrdiff_t stride : {1, 5}) {
      std::fill(to.begin(), to.end(), char(0));
      fill(middle, to.data(), stride, 100, bytes);
      bool good = true;
      for (std::ptrdiff_t i = 0; i < 100; ++i) good &= std::memcmp(to.data() + i * stride * size, middle, bytes) == 0;
      for (std::ptrdiff_t i = 99 * stride + 1; i < 600; ++i) good &= to[static_cast<std::size_t>(i * size)] == 0;
      CHECK(good);
    }
    for (auto [rows, columns] : {std::pair(1, 1), {3, 5}, {16, 16}, {33, 70}, {64, 17}})
      for (auto [row_stride, column_stride] : {std::pair(1, 64), {64, 1}, {-1, 65}, {2, -66}}) {
        const std::ptrdiff_t origin = (row_stride < 0 ? 64 : 0) + (column_stride < 0 ? 66 * 16 : 0);
        if (columns > 20 && column_stride != 1 && column_stride != 64) continue;
        if (origin + (rows - 1) * row_stride + (columns - 1) * column_stride >= 64 * 70) continue;
        if (origin + (columns - 1) * column_stride < 0) continue;
        copy_matrix(from.data() + origin * size, row_stride, column_stride, to.data(), 70, rows, columns, bytes);
        bool good = true;
        for (std::ptrdiff_t r = 0; r < rows; ++r)
          for (std::ptrdiff_t c = 0; c < columns; ++c)
            good &= std::memcmp(to.data() + (r * 70 + c) * size,
                                from.data() + (origin + r * row_stride + c * column_stride) * size, bytes) == 0;
        INFO(bytes << " bytes, " << rows << " x " << columns << ", strides " << row_stride << ", " << column_stride);
        CHECK(good);
      }
  }
}
