// xtensor on both sides: expressions of any layout in, tensors of any strides out, element for element.
#include <complex>
#include <reel/reel.hpp>
#include <reel/xtensor.hpp>

#include "catch.hpp"

#if __has_include(<xtensor/containers/xarray.hpp>)
#include <xtensor/containers/xarray.hpp>
#include <xtensor/containers/xtensor.hpp>
#include <xtensor/core/xmath.hpp>
#include <xtensor/generators/xbuilder.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xarray.hpp>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>
#endif

using namespace reel;

namespace {

template <class T, class E>
void check_same(const Tensor& x, const E& e) {
  const auto shape = e.shape();
  REQUIRE(x.rank() == static_cast<int>(shape.size()));
  for (std::size_t i = 0; i < shape.size(); ++i)
    CHECK(x.shape()[static_cast<std::int64_t>(i)] == static_cast<std::int64_t>(shape[i]));
  const std::vector<T> values = x.to_vector<T>();
  std::size_t at = 0;
  for (auto it = e.template begin<xt::layout_type::row_major>(); it != e.template end<xt::layout_type::row_major>();
       ++it)
    CHECK(values[at++] == static_cast<T>(*it));
}

}  // namespace

TEST_CASE("expressions become tensors") {
  const xt::xarray<double> rows{{1, 2, 3}, {4, 5, 6}};
  const xt::xarray<float, xt::layout_type::column_major> columns{{1, 2, 3}, {4, 5, 6}};
  const xt::xtensor<int, 1> line{3, 1, 2};
  check_same<double>(from_xtensor(rows), rows);
  check_same<float>(from_xtensor(columns), columns);
  check_same<int>(from_xtensor(line), line);
  check_same<double>(from_xtensor(xt::transpose(rows) * 2.0), xt::transpose(rows) * 2.0);
  check_same<float>(from_xtensor(xt::view(columns, 1, xt::range(0, 3, 2))), xt::view(columns, 1, xt::range(0, 3, 2)));
  check_same<bool>(from_xtensor(rows > 2.0), rows > 2.0);
  CHECK(from_xtensor(rows > 2.0).dtype() == DType::boolean);
  CHECK(from_xtensor(xt::arange<std::size_t>(4)).dtype() == DType::int64);
  CHECK(from_xtensor(xt::xarray<short>(xt::ones<short>({2}))).dtype() == DType::int32);
  const xt::xarray<std::complex<double>> z = xt::ones<std::complex<double>>({2, 2}) * std::complex<double>(1, 2);
  CHECK(from_xtensor(z).dtype() == DType::complex128);
  check_same<std::complex<double>>(from_xtensor(z), z);
  CHECK(from_xtensor(xt::sum(rows)).rank() == 0);
  CHECK(from_xtensor(xt::sum(rows)).item() == 21);
  CHECK(from_xtensor(xt::xarray<double>(xt::zeros<double>({0, 3}))).shape() == Shape{0, 3});
}

TEST_CASE("tensors are expressions over their own memory") {
  const Tensor x = reshape(arange(24.0), {2, 3, 4});
  const auto seen = as_xtensor(x);
  CHECK(&seen(0, 0, 0) == x.data<double>().data());
  check_same<double>(x, seen);
  const Tensor views[] = {transpose(x), flip(x),      slice(x, {reel::all, 1, reel::range_from(-1, -2)}),
                          diagonal(x),  x[1],         broadcast_to(tensor({1, 2, 3, 4}), {3, 4}),
                          scalar(5.0),  zeros({2, 0})};
  for (const Tensor& v : views) {
    check_same<double>(v, as_xtensor(v));
    check_same<double>(from_xtensor(as_xtensor(v) + 1.0), as_xtensor(v) + 1.0);
    const xt::xarray<double> twice = as_xtensor(v) * 2.0;
    check_same<double>(v * 2.0, twice);
  }
  const Tensor z = scalar(std::complex<float>(1, 2)), truth = tensor<bool>({true, false});
  CHECK(as_xtensor<std::complex<float>>(z)() == std::complex<float>(1, 2));
  CHECK(as_xtensor<bool>(truth)(0));
  CHECK_THROWS_AS(as_xtensor<float>(x), TypeError);
}
