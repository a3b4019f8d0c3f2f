// Properties of arranging that the op table does not test: every dtype, views, promotion, compiled derivatives, errors.
#include <complex>
#include <limits>
#include <reel/compile.hpp>
#include <reel/ops/arranging.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"

using namespace reel;
using Catch::Contains;

namespace {

constexpr DType dtypes[] = {DType::boolean,  DType::uint8,   DType::int32,   DType::int64,     DType::float16,
                            DType::bfloat16, DType::float32, DType::float64, DType::complex64, DType::complex128};

bool share_data(const Tensor& a, const Tensor& b) { return a.data<double>().data() == b.data<double>().data(); }

}  // namespace

TEST_CASE("arrangements keep every dtype") {
  for (const DType d : dtypes) {
    INFO(name(d));
    const auto as = [&](const Tensor& x) { return cast(x, d); };
    const auto check = [&](const Tensor& y, const Tensor& expected) { CHECK(array_equal(y, as(expected))); };
    const Tensor square = as(tensor({{1, 0}, {1, 1}})), vector = as(tensor({1, 0, 1}));
    check(swapaxes(square, 0, 1), tensor({{1, 1}, {0, 1}}));
    check(rot90(square), tensor({{0, 1}, {1, 1}}));
    check(flatten(square), tensor({1, 0, 1, 1}));
    check(diag_embed(as(tensor({1, 1})), 1), tensor({{0, 1, 0}, {0, 0, 1}, {0, 0, 0}}));
    check(set_diagonal(square, as(tensor({0, 1}))), tensor({{0, 0}, {1, 1}}));
    check(band_part(as(ones({2, 3})), 0, 1), tensor({{1, 1, 0}, {0, 1, 1}}));
    check(block_diag({square, as(tensor({{1}}))}), tensor({{1, 0, 0}, {1, 1, 0}, {0, 0, 1}}));
    check(meshgrid({vector, as(tensor({0, 1}))})[1], tensor({{0, 0, 0}, {1, 1, 1}}));
    check(toeplitz(as(tensor({1, 0})), vector), tensor({{1, 0, 1}, {0, 1, 0}}));
    check(hankel(as(tensor({1, 0})), vector), tensor({{1, 0, 0}, {0, 0, 1}}));
    check(circulant(vector), tensor({{1, 1, 0}, {0, 1, 1}, {1, 0, 1}}));
    for (const Tensor& y : {swapaxes(square, 0, 1), rot90(square, 2), band_part(square, 0, 0), circulant(vector),
                            block_diag({square}), toeplitz(vector, vector), hankel(vector, vector)})
      CHECK(y.dtype() == d);
  }
}

TEST_CASE("blocks and lists promote their dtypes, a diagonal takes the dtype of the matrix") {
  CHECK(block_diag({tensor<int>({{1}}), tensor<float>({{2}})}).dtype() == DType::float32);
  CHECK(toeplitz(tensor<float>({1, 2}), tensor({1, 3})).dtype() == DType::float64);
  CHECK(set_diagonal(zeros({2, 2}, DType::float32), tensor({1, 2})).dtype() == DType::float32);
  CHECK_THROWS_AS(set_diagonal(zeros({2, 2}, DType::int32), tensor({1.5, 2})), TypeError);
}

TEST_CASE("swapaxes, rot90 and meshgrid return views") {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}}), v = tensor({1, 2, 3});
  CHECK(share_data(transpose(swapaxes(x, 0, 1)), x));
  CHECK(share_data(flatten(x), x));
  CHECK(share_data(rot90(x, 4), x));
  CHECK(rot90(x, -3).to_vector() == rot90(x).to_vector());
  CHECK(rot90(x, std::numeric_limits<std::int64_t>::min()).to_vector() == x.to_vector());
  for (const Tensor& grid : meshgrid({v, tensor({4, 5})})) {
    CHECK(grid.shape() == Shape{2, 3});
    CHECK(grid.strides()[0] * grid.strides()[1] == 0);
  }
  CHECK(share_data(slice(meshgrid({v, v, v}, true)[0], {reel::all, 1, 2}), v));
  CHECK(meshgrid({v})[0].shape() == Shape{3});
  CHECK(meshgrid(std::vector<Tensor>{}).empty());
}

TEST_CASE("gradients of arrangements add at shared elements, compiled and batched") {
  // Each element of the column is on a diagonal of its own length.
  const Tensor c = tensor({1, 2, 3}), r = tensor({9, 4}), w = tensor({{1, 2}, {4, 8}, {16, 32}});
  const auto f = [&](const Tensor& x) { return sum(w * toeplitz(x, r)) + sum(w * hankel(x, slice(x, {range_to(2)}))); };
  const std::vector<double> expected = {1 + 8 + 1 + 0, 4 + 32 + 2 + 4 + 32, 16 + 8 + 16};
  CHECK(grad(f)(c).to_vector() == expected);
  const auto compiled = compile([&](const Tensor& x) { return grad(f)(x); });
  for (int run = 0; run < 2; ++run) CHECK(compiled(c).to_vector() == expected);
  // The Jacobian of a square is that of the op times twice its result.
  const Tensor j = jacobian([](const Tensor& x) { return square(circulant(x)); })(c);
  CHECK(j.shape() == Shape{3, 3, 3});
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t k = 0; k < 3; ++k)
      for (std::int64_t e = 0; e < 3; ++e)
        CHECK(j[i][k][e].item() == ((i - k + 3) % 3 == e ? 2 * (static_cast<double>(e) + 1) : 0));
  const Tensor h = hessian([](const Tensor& x) {
    return sum(square(block_diag({diag_embed(x), reshape(x, {1, 3})})));
  })(c);
  CHECK(array_equal(h, 4 * eye(3)));
}

TEST_CASE("a complex diagonal and its gradient") {
  using C = std::complex<double>;
  const Tensor x = tensor<C>({{C(1, 2), C(3, 0)}, {C(0, 1), C(5, 5)}}), v = tensor<C>({C(0, 1), C(2, 0)});
  GradientTape tape;
  tape.watch(std::vector{x, v});
  const Tensor y = real(sum(set_diagonal(x, v) * tensor<C>({{C(1, 1), C(0, 2)}, {C(3, 0), C(0, 1)}})));
  const std::vector<Gradient> g = tape.gradient(y, std::vector{x, v});
  CHECK(array_equal(g[0].dense(), tensor<C>({{C(0, 0), C(0, -2)}, {C(3, 0), C(0, 0)}})));
  CHECK(array_equal(g[1].dense(), tensor<C>({C(1, -1), C(0, -1)})));
}

TEST_CASE("moved, merged and split axes are views") {
  const Tensor x = reshape(arange(24.0), {2, 3, 4});
  CHECK(share_data(moveaxis(moveaxis(x, {0, 2}, {1, 0}), {1, 0}, {0, 2}), x));
  CHECK(moveaxis(x, {0, 2}, {1, 0}).shape() == Shape{4, 2, 3});
  CHECK(share_data(matrix_transpose(matrix_transpose(x)), x));
  CHECK(share_data(unflatten(x, 2, {2, -1}), x));
  CHECK(unflatten(x, -1, {1, -1, 2}).shape() == Shape{2, 3, 1, 2, 2});
  CHECK_THROWS_WITH(moveaxis(x, {0, 1}, {2}), Contains("must have as many axes"));
  CHECK_THROWS_WITH(moveaxis(x, {0, -3}, {1, 2}), Contains("an axis of shape [2, 3, 4] occurs twice"));
  CHECK_THROWS_WITH(moveaxis(x, {0, 1}, {2, 2}), Contains("an axis of shape [2, 3, 4] occurs twice"));
  CHECK_THROWS_AS(moveaxis(x, {0, 3}, {1, 2}), IndexError);
  CHECK_THROWS_AS(matrix_transpose(arange(3)), ShapeError);
  CHECK_THROWS_WITH(unflatten(x, 2, {3, -1}), Contains("do not make up axis 2 of x, of shape [2, 3, 4]"));
  CHECK_THROWS_AS(unflatten(x, 2, {2, 3}), ShapeError);
  CHECK_THROWS_AS(unflatten(x, 2, {-1, -1}), ShapeError);
  CHECK_THROWS_AS(unflatten(x, 2, {0, -1}), ShapeError);
}

TEST_CASE("lists of blocks promote their dtypes and agree with NumPy") {
  const Tensor corner = tensor<int>({{1}}), row = tensor<float>({2, 3});
  const Tensor all = block({{corner, row}, {tensor({{4}, {7}}), tensor({{5, 6}, {8, 9}})}});
  CHECK(array_equal(all, tensor({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}})));
  CHECK(block({{corner, row}}).dtype() == DType::float32);
  CHECK(append(tensor<int>({1}), tensor<float>({2})).dtype() == DType::float32);
  CHECK(array_equal(append(ones({2, 2}), zeros({2, 1}), -1), tensor({{1, 1, 0}, {1, 1, 0}})));
  CHECK_THROWS_WITH(block({{row}, {tensor({1, 2, 3})}}), Contains("block: part 1 has shape [1, 3]"));
  CHECK_THROWS_WITH(hstack({row, ones({2, 2})}), Contains("hstack: part 1"));
  CHECK_THROWS_AS(block(std::vector<std::vector<Tensor>>{}), ValueError);
  CHECK_THROWS_AS(block(std::vector<std::vector<Tensor>>{{}}), ValueError);
}

TEST_CASE("errors of arrangements") {
  const Tensor x = ones({2, 3}), v = ones({3});
  CHECK_THROWS_AS(swapaxes(x, 0, 2), IndexError);
  CHECK_THROWS_WITH(rot90(x, 1, 1, -1), Contains("both axes are 1"));
  CHECK_THROWS_AS(rot90(v), IndexError);
  CHECK_THROWS_AS(diag_embed(scalar(1.0)), ShapeError);
  CHECK_THROWS_AS(diag_embed(v, std::int64_t{1} << 41), ShapeError);
  CHECK_THROWS_AS(diag_embed(v, std::numeric_limits<std::int64_t>::min()), ShapeError);
  CHECK_THROWS_AS(set_diagonal(v, 1), ShapeError);
  CHECK_THROWS_AS(set_diagonal(x, v), ShapeError);
  CHECK(array_equal(set_diagonal(x, 5, 7), x));
  CHECK_THROWS_AS(band_part(v, 1, 1), ShapeError);
  CHECK_THROWS_WITH(block_diag({x, v}), Contains("a block has shape [3]"));
  CHECK_THROWS_AS(block_diag(std::vector<Tensor>{}), ValueError);
  CHECK_THROWS_WITH(meshgrid({v, x}), Contains("a vector has shape [2, 3]"));
  CHECK_THROWS_AS(meshgrid(std::vector<Tensor>(99, v)), ShapeError);
  CHECK_THROWS_WITH(toeplitz(v, x), Contains("row has shape [2, 3]"));
  CHECK_THROWS_WITH(hankel(x, v), Contains("column has shape [2, 3]"));
  CHECK_THROWS_AS(circulant(x), ShapeError);
}
