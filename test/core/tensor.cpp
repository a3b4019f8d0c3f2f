// Tensors: making and reading them, dtypes, promotion, casts, sizes at the limits.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <memory>
#include <numeric>
#include <reel/reel.hpp>

#include "catch.hpp"

using namespace reel;
using Catch::Contains;

namespace {

constexpr DType all_dtypes[] = {DType::boolean,  DType::uint8,   DType::int32,   DType::int64,     DType::float16,
                                DType::bfloat16, DType::float32, DType::float64, DType::complex64, DType::complex128};

std::int64_t live() { return memory_stats().live_tensors; }

}  // namespace

TEST_CASE("complex numbers convert into other complex numbers only") {
  struct Point {
    double x, y;
  };
  STATIC_REQUIRE(std::is_convertible_v<complex128, std::complex<double>>);
  STATIC_REQUIRE(std::is_convertible_v<complex64, complex128>);
  STATIC_REQUIRE(std::is_convertible_v<std::complex<float>, complex64>);
  STATIC_REQUIRE(!std::is_convertible_v<complex128, Point>);
  STATIC_REQUIRE(!std::is_convertible_v<complex128, TapeStats>);
  const std::complex<double> z = complex128(1, -2);
  CHECK(z == std::complex<double>(1, -2));
}

TEST_CASE("an empty handle throws an error that says so") {
  const Tensor x;
  CHECK_FALSE(x.defined());
  CHECK_THROWS_AS(x.shape(), ValueError);
  CHECK_THROWS_AS(x.strides(), ValueError);
  CHECK_THROWS_AS(x.id(), ValueError);
  CHECK_THROWS_AS(x.is_contiguous(), ValueError);
  CHECK_THROWS_WITH(x.rank(), "tensor: this handle is empty (default-constructed or moved from)");
  CHECK_THROWS_AS(x.item(), ValueError);
  CHECK_THROWS_AS(x.data<double>(), ValueError);
  CHECK_THROWS_AS(bool(x), ValueError);
  CHECK_THROWS_AS(x[0], ValueError);
  CHECK_THROWS_WITH(reshape(x, {1}), Contains("reshape") && Contains("empty"));
  Tensor a = zeros({2}), b = std::move(a);
  CHECK_THROWS_AS(a.size(), ValueError);  // NOLINT: the state of a moved-from handle is tested
  CHECK(b.size() == 2);
}

TEST_CASE("tensors from nested lists") {
  CHECK(tensor({1, 2}).dtype() == DType::float64);
  CHECK(tensor<float>({1, 2}).dtype() == DType::float32);
  CHECK(tensor<bool>({true, false}).to_vector<bool>() == std::vector<bool>{true, false});
  CHECK(tensor(3.5).rank() == 0);
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  CHECK(x.shape() == Shape{2, 3});
  CHECK(x.strides() == Shape{3, 1});
  CHECK(x.to_vector() == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(tensor({{{}, {}}}).shape() == Shape{1, 2, 0});
  CHECK_THROWS_AS(tensor({{1, 2}, {3}}), ShapeError);
  CHECK_THROWS_AS(tensor({{1, 2}, 3}), ShapeError);
  CHECK(scalar(3).dtype() == DType::int32);
  CHECK(scalar(std::complex<double>(1, 2)).item<std::complex<double>>() == std::complex<double>(1, 2));
}

TEST_CASE("data is copied or borrowed") {
  std::vector<double> values{1, 2, 3, 4};
  const Tensor copy = from_data(values, {2, 2});
  auto owner = std::make_shared<std::vector<double>>(values);
  std::weak_ptr<std::vector<double>> watch = owner;
  Tensor kept;
  {
    const Tensor borrowed = borrow(owner->data(), {2, 2}, owner);
    CHECK(borrowed.data<double>().data() == owner->data());
    owner.reset();
    kept = transpose(borrowed);
  }
  CHECK_FALSE(watch.expired());
  CHECK(kept.to_vector() == std::vector<double>{1, 3, 2, 4});
  kept = {};
  CHECK(watch.expired());
  values[0] = 7;
  CHECK(copy.to_vector()[0] == 1);
  CHECK_THROWS_WITH(from_data(values, {3}), Contains("4 values") && Contains("[3]"));
  CHECK_THROWS_AS(borrow(static_cast<const double*>(nullptr), {2}, 0), ValueError);
  CHECK_THROWS_AS(borrow(values.data(), {-1}, 0), ShapeError);
  alignas(16) const std::array<unsigned char, 64> bytes{};
  const auto at = [&](std::size_t offset, auto like) {
    return borrow(reinterpret_cast<const decltype(like)*>(bytes.data() + offset), {1}, 0).size() == 1;
  };
  CHECK_THROWS_AS(at(1, 0.0), ValueError);
  CHECK_THROWS_WITH(at(4, 0.0), Contains("float64 [1]") && Contains("multiple of 8 bytes"));
  CHECK_THROWS_AS(at(2, 0.0f), ValueError);
  CHECK_THROWS_AS(at(1, bfloat16{}), ValueError);
  CHECK_THROWS_AS(at(4, std::complex<double>()), ValueError);
  CHECK_THROWS_AS(at(2, std::complex<float>()), ValueError);
  CHECK((at(8, 0.0) && at(4, 0.0f) && at(2, bfloat16{}) && at(8, std::complex<double>()) &&
         at(4, std::complex<float>())));
  CHECK((at(1, true) && at(3, std::uint8_t{})));
}

TEST_CASE("memory of any strides is borrowed") {
  const auto owner = std::make_shared<std::vector<double>>(12);
  std::iota(owner->begin(), owner->end(), 0.0);
  const double* const p = owner->data();
  const std::weak_ptr<std::vector<double>> watch = owner;
  CHECK(array_equal(borrow(p, {2, 3}, {3, 1}, owner), tensor({{0, 1, 2}, {3, 4, 5}})));
  CHECK(borrow(p, {2, 3}, {3, 1}, owner).is_contiguous());
  CHECK(array_equal(borrow(p, {3, 2}, {1, 3}, owner), tensor({{0, 3}, {1, 4}, {2, 5}})));
  CHECK(array_equal(borrow(p + 11, {3}, {-4}, owner), tensor({11, 7, 3})));
  CHECK(array_equal(borrow(p + 2, {2, 2}, {-2, 5}, owner), tensor({{2, 7}, {0, 5}})));
  CHECK(array_equal(borrow(p + 1, {2, 2}, {0, 1}, owner), tensor({{1, 2}, {1, 2}})));
  CHECK(array_equal(borrow(p, {3, 2}, {1, 1}, owner), tensor({{0, 1}, {1, 2}, {2, 3}})));
  constexpr std::int64_t far = std::int64_t{1} << 62;
  CHECK(borrow(p, {1, 2, 1}, {-far, 1, far}, owner).is_contiguous());
  CHECK(borrow(p, {1, 2, 1}, {-far, 1, far}, owner).strides() == Shape{2, 1, 1});
  CHECK(borrow(static_cast<const double*>(nullptr), {0, 2}, {far, far}, 0).size() == 0);
  CHECK(borrow(p, {}, {}, owner).item() == 0);
  CHECK(watch.use_count() == 1);

  const Tensor x = borrow(p, {2, 2}, {6, 2}, owner);
  CHECK(watch.use_count() == 2);
  CHECK(array_equal(grad([](const Tensor& t) { return sum(t * t); })(x), tensor({{0, 4}, {12, 16}})));
  CHECK_THROWS_WITH(borrow(p, {2, 2}, {1}, owner), Contains("[2, 2]") && Contains("one stride per axis"));
  CHECK_THROWS_AS(borrow(p, {2}, {far}, owner), ShapeError);
  CHECK_THROWS_AS(borrow(p, {3}, {far}, owner), ShapeError);
  CHECK_THROWS_AS(borrow(p, {2}, {-far - far}, owner), ShapeError);
  CHECK_THROWS_AS(borrow(p, {-1}, {1}, owner), ShapeError);
  CHECK_THROWS_AS(borrow(static_cast<const double*>(nullptr), {2}, {-1}, owner), ValueError);
  CHECK(watch.use_count() == 2);  // a refused owner is released
}

TEST_CASE("a function fills a tensor in its own memory") {
  const float* written = nullptr;
  const Tensor x = make_tensor<float>({2, 3}, [&](std::span<float> elements) {
    REQUIRE(elements.size() == 6);
    written = elements.data();
    elements[1] = 5;
  });
  CHECK(x.data<float>().data() == written);
  CHECK(array_equal(x, tensor<float>({{0, 5, 0}, {0, 0, 0}})));
  CHECK(make_tensor<bool>({0}, [](std::span<bool>) {}).shape() == Shape{0});
  const std::int64_t live = memory_stats().live_tensors;
  CHECK_THROWS_AS(make_tensor<double>({2}, [](std::span<double>) { throw std::runtime_error("no"); }),
                  std::runtime_error);
  CHECK(memory_stats().live_tensors == live);
}

TEST_CASE("elements are read by item, to_vector and data") {
  const Tensor x = tensor<int>({{1, 2}, {3, 4}});
  CHECK(x.to_vector<int>() == std::vector<int>{1, 2, 3, 4});
  CHECK(x.to_vector() == std::vector<double>{1, 2, 3, 4});
  CHECK(transpose(x).to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 3, 2, 4});
  CHECK(x[1][0].item<int>() == 3);
  CHECK_THROWS_AS(x.item(), ShapeError);
  CHECK_THROWS_WITH(scalar(2.5).item<float>(), Contains("item<double>") && Contains("cast"));
  CHECK_THROWS_WITH(scalar(2.5).to_vector<int>(), Contains("to_vector<double>"));
  CHECK(scalar(2.5f).item() == 2.5);
  CHECK(scalar(true).item<int>() == 1);
  CHECK(float(cast(scalar(1.5), DType::float16).item<float16>()) == 1.5f);
  CHECK(cast(scalar(1.5), DType::bfloat16).item<float>() == 1.5f);
  CHECK_THROWS_WITH(x.data<double>(), Contains("int32") && Contains("data<int>") && Contains("cast"));
  const Tensor flipped = flip(x);
  CHECK_THROWS_WITH(flipped.data<int>(), Contains("contiguous(x)"));
  CHECK(bool(scalar(0.5)));
  CHECK_FALSE(bool(zeros({1, 1})));
  CHECK_THROWS_WITH(bool(zeros({2})), Contains("any(x) or all(x)"));
  CHECK_THROWS_WITH(std::max(zeros({2}), ones({2})), Contains("maximum(x, y) for std::max"));
  CHECK(std::max(scalar(1.0), scalar(3.0)).item() == 3);
  CHECK_THROWS_AS(bool(zeros({0})), ShapeError);
}

TEST_CASE("zeros, ones, full, eye, arange and linspace") {
  CHECK(zeros({2, 2}).to_vector() == std::vector<double>(4));
  CHECK(ones({2}, DType::int32).to_vector<int>() == std::vector<int>{1, 1});
  for (DType d : all_dtypes) {
    CHECK(ones({3}, d).dtype() == d);
    CHECK(cast(ones({3}, d), DType::float64).to_vector() == std::vector<double>(3, 1));
    CHECK(cast(full({2}, 1.0, d), DType::float64).to_vector() == std::vector<double>(2, 1));
  }
  CHECK(full({2}, 3).dtype() == DType::int64);
  CHECK(full({2}, 3.5).dtype() == DType::float64);
  CHECK(full({2}, true).dtype() == DType::boolean);
  CHECK(full({2}, scalar(2.f)).dtype() == DType::float32);
  CHECK_THROWS_AS(full({2}, 300, DType::uint8), ValueError);
  CHECK_THROWS_AS(full({2}, std::nan(""), DType::int64), ValueError);
  CHECK_THROWS_AS(full({2}, 0x1p63, DType::int64), ValueError);
  CHECK_THROWS_AS(full({2}, zeros({2})), ShapeError);
  CHECK(eye(2, 3).to_vector() == std::vector<double>{1, 0, 0, 0, 1, 0});
  CHECK(eye(3, 1).to_vector() == std::vector<double>{1, 0, 0});
  CHECK(eye(0).shape() == Shape{0, 0});
  CHECK_THROWS_AS(eye(-1), ShapeError);
  CHECK(arange(3).dtype() == DType::int64);
  CHECK(arange(5, 0, -2).to_vector<std::int64_t>() == std::vector<std::int64_t>{5, 3, 1});
  CHECK(arange(0.0, 1.0, 0.25).to_vector() == std::vector<double>{0, 0.25, 0.5, 0.75});
  CHECK(arange(3, 1).size() == 0);
  CHECK_THROWS_AS(arange(0, 3, 0), ValueError);
  CHECK_THROWS_AS(arange(0.0, HUGE_VAL), ValueError);
  CHECK_THROWS_AS(arange(std::numeric_limits<std::int64_t>::max()), ShapeError);
  CHECK(linspace(0, 1, 3).to_vector() == std::vector<double>{0, 0.5, 1});
  CHECK(linspace(2, 3, 1).to_vector() == std::vector<double>{2});
  CHECK(linspace(0, 1, 0).size() == 0);
  CHECK(linspace(0, 0.3, 8).to_vector().back() == 0.3);
  CHECK_THROWS_AS(linspace(0, 1, -1), ValueError);
  const Tensor like = zeros({2, 0}, DType::int32);
  CHECK(ones_like(like).shape() == Shape{2, 0});
  CHECK(full_like(like, 2.0).dtype() == DType::int32);
  CHECK(zeros({100000}).to_vector() == std::vector<double>(100000));
  CHECK(arange(100000).to_vector<std::int64_t>()[99999] == 99999);
}

TEST_CASE("promotion of dtypes") {
  using enum DType;
  // Compares promote() with the documented rule for each pair of categories.
  const auto category = [](DType d) { return d == boolean ? 0 : is_integer(d) ? 1 : is_floating(d) ? 2 : 3; };
  for (DType a : all_dtypes)
    for (DType b : all_dtypes) {
      INFO(name(a) << " with " << name(b));
      const DType p = promote(a, b);
      CHECK(promote(b, a) == p);
      const DType higher = category(a) > category(b) ? a : b, lower = higher == a ? b : a;
      if (category(a) == category(b)) {
        if ((a == float16 && b == bfloat16) || (a == bfloat16 && b == float16))
          CHECK(p == float32);
        else
          CHECK(p == (a > b ? a : b));
      } else if (category(higher) == 3 && lower == float64) {
        CHECK(p == complex128);
      } else {
        CHECK(p == higher);
      }
    }
  const Tensor f = ones({2}, float32), i = ones({2}, int32), b = ones({2}, boolean);
  CHECK((f * 2.0).dtype() == float32);
  CHECK((i * 2).dtype() == int32);
  CHECK((i * 2.5).dtype() == float64);
  CHECK((b + 1).dtype() == int64);
  CHECK((f + i).dtype() == float32);
  CHECK_THROWS_AS(ones({2}, uint8) + 300, ValueError);
}

TEST_CASE("casts") {
  using enum DType;
  for (DType from : all_dtypes)
    for (DType to : all_dtypes) {
      INFO(name(from) << " to " << name(to));
      const Tensor x = cast(tensor({{0, 1}, {1, 0}}), from), y = cast(transpose(x), to);
      CHECK(y.dtype() == to);
      CHECK(y.id() != x.id());
      CHECK(cast(y, float64).to_vector() == std::vector<double>{0, 1, 1, 0});
    }
  CHECK(cast(tensor({-2.7, 2.7}), int32).to_vector<int>() == std::vector<int>{-2, 2});
  CHECK(cast(tensor({0.0, -0.5}), boolean).to_vector<bool>() == std::vector<bool>{false, true});
  CHECK(cast(scalar(std::complex<double>(3, 4)), float64).item() == 3);
  CHECK(cast(scalar(300), uint8).item<std::uint8_t>() == 44);
  CHECK_THROWS_WITH(cast(tensor({1.0, std::nan("")}), int64), Contains("NaN") && Contains("int64"));
  CHECK_THROWS_AS(cast(scalar(3e9), int32), ValueError);
  CHECK_THROWS_AS(cast(full({50000}, -1.0), uint8), ValueError);
  CHECK(cast(3, float32).item<float>() == 3);
  const Tensor same = ones({3});
  CHECK(cast(same, float64).id() != same.id());
}

TEST_CASE("gradients of casts") {
  GradientTape tape({.persistent = true});
  const Tensor x = tensor({1.5, 2.5});
  tape.watch(x);
  const Tensor narrow = cast(x, DType::float32), complex = cast(x, DType::complex128);
  const Tensor back = cast(cast(x, DType::int32), DType::float64);
  const Tensor real = cast(complex, DType::float64);
  tape.stop();
  CHECK(tape.gradient(narrow, x).dense().dtype() == DType::float64);
  CHECK(tape.gradient(narrow, x).dense().to_vector() == std::vector<double>{1, 1});
  CHECK(tape.gradient(real, x).dense().to_vector() == std::vector<double>{1, 1});
  const Gradient missing = tape.gradient(back, x);
  CHECK_FALSE(missing);
  CHECK(missing.reason() == WhyNone::integer_dtype);
  const Tensor v = from_data(std::vector<std::complex<double>>{{1, 2}, {3, -4}});
  CHECK(tape.gradient(complex, x, {.output_gradients = v}).dense().to_vector() == std::vector<double>{1, 3});
}

TEST_CASE("impossible sizes are refused before memory is asked for") {
  const std::int64_t misses = memory_stats().pool_misses, before = live();
  const std::int64_t big = std::int64_t{1} << 40;
  CHECK_THROWS_AS(zeros({big, big}), ShapeError);
  CHECK_THROWS_AS(zeros({big, big, big, big}), ShapeError);
  CHECK_THROWS_AS(zeros({big, 1 << 20}), ShapeError);
  CHECK_THROWS_AS(zeros({-1}), ShapeError);
  CHECK_THROWS_AS(broadcast_to(1.0, {big, big}), ShapeError);
  CHECK_THROWS_AS(tile(ones({1 << 20}), {1 << 20, 1 << 20}), ShapeError);
  CHECK_THROWS_AS(repeat(ones({2}), std::numeric_limits<std::int64_t>::max(), 0), ShapeError);
  CHECK_THROWS_AS(pad(ones({2}), {64 * big}, {64 * big}), ShapeError);
  CHECK_THROWS_AS(pad(ones({2}), {std::numeric_limits<std::int64_t>::max()}, {0}), ShapeError);
  CHECK_THROWS_AS(one_hot(zeros({1 << 20}, DType::int64), big), ShapeError);
  CHECK_THROWS_AS(diag(ones({2}), big), ShapeError);
  CHECK_THROWS_AS(diag(ones({2}), std::numeric_limits<std::int64_t>::min()), ShapeError);
  CHECK(memory_stats().pool_misses <= misses + 4);  // the small operands'
  CHECK(live() == before);
  CHECK(zeros({big, 0, big}).size() == 0);
  CHECK_THROWS_AS(Shape({1}).operator[](3), IndexError);
}

TEST_CASE("tensors have ranks up to 32") {
  const Shape sixteen(std::vector<int>(16, 2));
  const Tensor x = reshape(arange(65536.0), sixteen), y = transpose(x);
  CHECK(y.rank() == 16);
  CHECK(sum(x * y).item() == sum(reshape(x, {-1}) * reshape(y, {-1})).item());
  CHECK(transpose(y).to_vector() == x.to_vector());
  CHECK(contiguous(y).is_contiguous());
  CHECK(slice(y, {ellipsis, 1}).to_vector()[0] == 32768);
  CHECK(tile(slice(x, {0, 0, 0, 0, 0, 0}), {2, 1, 1, 1, 1, 1, 1, 1, 1, 2}).size() == 4096);
  Tensor z = scalar(1.0);
  for (int i = 0; i < max_rank; ++i) z = expand_dims(z, 0);
  CHECK(z.rank() == max_rank);
  CHECK_THROWS_AS(expand_dims(z, 0), ShapeError);
  CHECK(squeeze(z).rank() == 0);
}

TEST_CASE("views cost a header and share the data") {
  const Tensor x = reshape(arange(24.0), {2, 3, 4});
  const double* data = x.data<double>().data();
  const std::int64_t bytes = memory_stats().live_bytes;
  const Tensor views[] = {reshape(x, {6, 4}),
                          transpose(x),
                          slice(x, {0}),
                          flip(x),
                          squeeze(x),
                          expand_dims(x, 0),
                          moveaxis(x, 0, 1),
                          broadcast_to(x, {5, 2, 3, 4}),
                          identity(x),
                          stop_gradient(x),
                          reshape(transpose(x, {1, 2, 0}), {12, 2}),
                          diagonal(x),
                          reshape(slice(x, {reel::all, reel::all, reel::range(0, 2)}), {6, 2}),
                          cast(x, DType::float64),
                          split(x, 2)[0],
                          unstack(x)[1]};
  for (const Tensor& v : views) CHECK(v.id() != x.id());
  CHECK(memory_stats().live_bytes - bytes < 16 * 400);
  CHECK(views[0].data<double>().data() == data);
  CHECK(views[2].data<double>().data() == data);
  CHECK(views[10].strides() == Shape{1, 12});
  CHECK(views[7].strides() == Shape{0, 12, 4, 1});
  CHECK(reshape(transpose(x), {24}).strides() == Shape{1});  // no view: a copy
  CHECK(reshape(transpose(x), {24}).to_vector()[1] == 12);
  CHECK(contiguous(x).id() == x.id());
  CHECK(reshape(broadcast_to(scalar(2.0), {3, 4}), {12}).strides() == Shape{0});
}
