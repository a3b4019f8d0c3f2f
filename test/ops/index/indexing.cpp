// Properties of indexing that the op table does not test: NumPy's placement of new axes, errors, sparse gradients,
// zeros and NaN among factors, operands passed as rvalues, every dtype, and that extents which depend on elements
// cannot be traced.
#include <cmath>
#include <complex>
#include <limits>
#include <reel/compile.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/messages.hpp"

using namespace reel;
using Catch::Contains;

namespace {

using Doubles = std::vector<double>;
using Ints = std::vector<std::int64_t>;
constexpr double inf = std::numeric_limits<double>::infinity(), no_number = std::numeric_limits<double>::quiet_NaN();

Tensor ints(const Ints& list) { return from_data(list); }

}  // namespace

TEST_CASE("piecewise: a piece has no derivative outside its condition") {
  const auto f = [](const Tensor& x) {
    return piecewise(x, {x > 0}, {[](const Tensor& t) { return sqrt(t) + log(t); }}, -1.0);
  };
  const Tensor x = tensor({4, 0, -1});
  CHECK(array_equal(f(x), tensor({2 + std::log(4.0), -1, -1})));
  CHECK(array_equal(grad([&](const Tensor& t) { return sum(f(t)); })(x), tensor({0.25 + 0.25, 0, 0})));
  const Tensor later = piecewise(tensor({1, 2}), {tensor<bool>({true, true}), tensor<bool>({false, true})},
                                 {[](const Tensor&) { return scalar(7); }, [](const Tensor& t) { return t / 4; }});
  CHECK(array_equal(later, tensor({7, 0.5})));                   // the last one that is true; the dtype is promoted
  const Piece largest = [](const Tensor& t) { return max(t); };  // of no elements there is none
  CHECK(array_equal(piecewise(tensor({1, 2}), {tensor<bool>({false, false})}, {largest}, 5), tensor({5, 5})));
  CHECK_THROWS_WITH(piecewise(x, {x > 0}, {}), Contains("1 conditions and 0 pieces"));
  CHECK_THROWS_WITH(piecewise(x, {tensor<bool>({true})}, {[](const Tensor& t) { return t; }}),
                    Contains("must be equal"));
  CHECK_THROWS_WITH(piecewise(x, {x > 0}, {[](const Tensor&) { return ones({2}); }}), Contains("gave shape [2]"));
  CHECK_THROWS_WITH(piecewise(x, {x > 0}, {Piece()}), Contains("a piece is empty"));
  CHECK_THROWS_AS(piecewise(x, {x}, {[](const Tensor& t) { return t; }}), TypeError);
  CHECK_THROWS_AS(compile(f)(x), TraceError);
}

TEST_CASE("select and choose promote dtypes and name operands that do not fit") {
  const Tensor yes = tensor<bool>({true, false}), no = tensor<bool>({false, false});
  CHECK(select({yes, no}, {tensor<int>({1, 2}), tensor<float>({3, 4})}).dtype() == DType::float32);
  CHECK(select({yes}, {tensor<int>({1, 2})}, 0.5).dtype() == DType::float64);
  CHECK(choose(tensor<int>({0, 1}), {tensor<int>({1, 2}), tensor<float>({3, 4})}).dtype() == DType::float32);
  CHECK(array_equal(choose(tensor<int>({-3, 5}), {tensor({1, 2}), tensor({3, 4})}, IndexMode::wrap), tensor({3, 4})));
  CHECK_THROWS_WITH(select({yes}, {}), Contains("1 conditions and 0 choices"));
  CHECK_THROWS_AS(select({}, {}), ValueError);
  CHECK_THROWS_WITH(select({ones({2})}, {ones({2})}), Contains("select: a condition must be boolean"));
  CHECK_THROWS_AS(select({yes}, {ones({3})}), ShapeError);
  CHECK_THROWS_AS(choose(tensor<int>({2, 0}), {ones({2}), ones({2})}), IndexError);
  CHECK_THROWS_AS(choose(ones({2}), {ones({2})}), TypeError);
  CHECK_THROWS_AS(choose(0, std::span<const Tensor>()), ValueError);
}

TEST_CASE("values scattered where a mask is true") {
  const Tensor x = zeros({2, 2}, DType::float32), mask = tensor<bool>({{false, true}, {true, true}});
  CHECK(array_equal(masked_scatter(x, mask, tensor({1, 2, 3, 4})), tensor<float>({{0, 1}, {2, 3}})));
  CHECK(masked_scatter(x, mask, tensor({1, 2, 3})).dtype() == DType::float32);
  CHECK_THROWS_AS(masked_scatter(x, mask, tensor({1, 2})), IndexError);
  CHECK_THROWS_AS(masked_scatter(x, mask, zeros({0})), IndexError);
  CHECK_THROWS_AS(masked_scatter(x, x, x), TypeError);
  CHECK_THROWS_AS(masked_scatter(x, ones({3, 2, 2}, DType::boolean), x), ShapeError);
  CHECK_THROWS_AS(masked_scatter(zeros({2}, DType::int32), tensor<bool>({true, false}), tensor({1.5})), TypeError);
  const auto step = compile([&](const Tensor& v) {
    return grad([&](const Tensor& t) { return sum(square(masked_scatter(x, mask, t))); })(v);
  });
  CHECK(array_equal(step(tensor({1, 2, 3, 4})), tensor({2, 4, 6, 0})));
}

TEST_CASE("index puts the arrays' axes where NumPy does") {
  const Tensor x = reshape(arange(2 * 3 * 4 * 5), {2, 3, 4, 5});
  const Tensor i = ints({0, 1}), j = reshape(ints({2, 0, 1}), {3, 1});
  CHECK(index(x, {i}).shape() == Shape{2, 3, 4, 5});
  CHECK(index(x, {reel::all, j}).shape() == Shape{2, 3, 1, 4, 5});
  CHECK(index(x, {i, j}).shape() == Shape{3, 2, 4, 5});
  CHECK(index(x, {reel::all, i, j}).shape() == Shape{2, 3, 2, 5});
  CHECK(index(x, {i, reel::all, j}).shape() == Shape{3, 2, 3, 5});
  CHECK(index(x, {i, newaxis, j}).shape() == Shape{3, 2, 1, 4, 5});
  CHECK(index(x, {0, reel::all, i}).shape() == Shape{2, 3, 5});
  CHECK(index(x, {ellipsis, i}).shape() == Shape{2, 3, 4, 2});
  CHECK(index(x, {reel::range(1, 2), ellipsis, i, reel::range_to(2)}).shape() == Shape{1, 3, 2, 2});
  CHECK(index(x, {i, j, 1, -1})[0][0].item<std::int64_t>() == 0 * 60 + 2 * 20 + 1 * 5 + 4);
  CHECK(index(x, {scalar(1), scalar(-1), 0, 0}).item<std::int64_t>() == 60 + 40);
  CHECK(array_equal(index(x, {i, reel::all, j})[2][1][0], x[1][0][1]));
  CHECK(index(x, {tensor<std::uint8_t>({1}), tensor<int>({-1})}).to_vector<std::int64_t>()[0] == 100);
}

TEST_CASE("updates by index keep the dtype and do not change x") {
  for (const DType d : {DType::boolean, DType::uint8, DType::int32, DType::int64, DType::float16, DType::bfloat16,
                        DType::float32, DType::float64, DType::complex64, DType::complex128}) {
    INFO(name(d));
    const Tensor x = cast(tensor({1, 0, 1}), d), v = cast(tensor({0, 1}), d);
    const auto numbers = [](const Tensor& y) { return cast(y, DType::float64).to_vector(); };
    const auto check = [&](const Tensor& y, const Doubles& expected) {
      CHECK(y.dtype() == d);
      CHECK(numbers(y) == expected);
    };
    check(index_update(x, {ints({1, 1})}, v), {1, 1, 1});
    check(put_along_axis(x, ints({-1}), 0, 0), {1, 0, 0});
    check(put(x, 0, 0), {0, 0, 1});
    check(slice_update(x, {reel::range_to(2)}, v), {0, 1, 1});
    check(masked_fill(x, tensor<bool>({true, false, false}), 0), {0, 0, 1});
    check(index_multiply(x, {ints({0, 0, 2})}, x), {0, 0, 1});
    check(index_add(x, {ints({1})}, 1), {1, 1, 1});
    if (!is_complex(d)) {
      check(index_max(x, {ints({0, 1})}, 1), {1, 1, 1});
      check(index_min(x, {ints({0, 1})}, 0), {0, 0, 1});
      CHECK(segment_max(x, ints({0, 0, 0}), 1).dtype() == d);
      CHECK(numbers(segment_min(x, ints({0, 0, 0}), 1)) == Doubles{0});
    }
    CHECK(numbers(x) == Doubles{1, 0, 1});
  }
  CHECK(index_multiply(tensor<std::uint8_t>({200}), {0}, 2).to_vector<std::uint8_t>()[0] == 144);
  CHECK(segment_max(zeros({0}, DType::int32), zeros({0}, DType::int64), 1).item<int>() ==
        std::numeric_limits<int>::min());
  CHECK(segment_max(zeros({0}), zeros({0}, DType::int64), 1).item() == -inf);
  CHECK(segment_min(zeros({0}), zeros({0}, DType::int64), 1).item() == inf);
  CHECK(segment_sum(ones({4}, DType::boolean), ints({0, 0, 0, 1}), 2).to_vector<std::int64_t>() == Ints{3, 1});
}

TEST_CASE("index by pairs: the same whether a tape follows x, for indices of every kind and dtype") {
  const Tensor at = ints({2, 0, 1, 2, 2, 0, 1, 0, 2, 1, 0}), to = ints({3, 0, 3, 1, 2, 2, 0, 1, 3, 1, 0});
  for (const DType d : {DType::uint8, DType::float16, DType::float32, DType::float64, DType::complex128}) {
    const Tensor x = cast(reshape(arange(12), {3, 4}), d), wide = cast(reshape(arange(12), {4, 3}), d);
    const Tensor y = index(x, {at, to});
    CHECK(array_equal(y, cast(at * 4 + to, d)));
    CHECK(array_equal(index(x, {at - 3, to}), y));
    CHECK(array_equal(index(x, {at, where(equal(to, 3), -1, to)}), y));
    CHECK(array_equal(index(x, {cast(at, DType::int32), to}), y));
    CHECK(array_equal(index(transpose(wide), {at, to}), cast(at + to * 3, d)));
    CHECK(array_equal(index(x, {expand_dims(ints({2, 0}), 1), ints({3, 0, 1})}),
                      cast(tensor({{11, 8, 9}, {3, 0, 1}}), d)));
    GradientTape tape;
    if (!is_integer(d)) tape.watch(x);
    CHECK(array_equal(index(x, {at, to}), y));
  }
  const Tensor x = reshape(arange(12), {3, 4});
  CHECK_THROWS_WITH(index(x, {ints({0, 3}), ints({0, 0})}), Contains("index 3 (element 1 of indices)"));
  CHECK_THROWS_WITH(index(x, {ints({0, 2}), ints({4, 0})}), Contains("index 4 (element 0 of indices)"));
  CHECK_THROWS_AS(index(x, {ints({0, -4}), ints({0, 0})}), IndexError);
  const Tensor many = ints(Ints(40000, 1));
  CHECK(array_equal(index(x, {many, many}), many * 5));
  Ints bad(40000, 1);
  bad[39999] = 4;
  CHECK_THROWS_AS(index(x, {many, ints(bad)}), IndexError);
}

TEST_CASE("segments of complex numbers: means and sums by the root of the count are those of both parts") {
  const Tensor re = tensor({3, 5, -2, 7}), im = tensor({1, -1, 4, 2}), ids = ints({2, 0, 2, 2}),
               all_of = ints({0, 1, 2, 3});
  const auto of_parts = [](const auto& f, const Tensor& x, const Tensor& y) { return make_complex(f(x), f(y)); };
  const auto mean_of = [&](const Tensor& x) { return segment_mean(x, ids, 4); };
  const auto sparse_mean = [&](const Tensor& x) { return sparse_segment_mean(x, all_of, ids, 4); };
  const auto sparse_root = [&](const Tensor& x) { return sparse_segment_sqrt_n(x, all_of, ids, 4); };
  for (const DType d : {DType::float32, DType::float64}) {
    const Tensor a = cast(re, d), b = cast(im, d), x = make_complex(a, b);
    CHECK(array_equal(mean_of(x), of_parts(mean_of, a, b)));
    CHECK(array_equal(sparse_mean(x), of_parts(sparse_mean, a, b)));
    CHECK(array_equal(sparse_root(x), of_parts(sparse_root, a, b)));
  }
  const auto slope = [&](const Tensor& x) { return sum(square(abs(mean_of(make_complex(x, im))))); };
  CHECK(array_equal(grad(slope)(re), grad([&](const Tensor& x) { return sum(square(mean_of(x))); })(re)));
}

TEST_CASE("segments of more elements than float32 counts") {
  const std::int64_t n = (1 << 24) + (1 << 22);
  const Tensor x = broadcast_to(full({}, 0.75, DType::float32), {n}), ids = zeros({n}, DType::int32);
  const double count = static_cast<double>(n);
  GradientTape tape;
  tape.watch(x);
  const Tensor mean = segment_mean(x, ids, 1);
  CHECK(mean.dtype() == DType::float32);
  CHECK(mean.to_vector()[0] == 0.75);
  const Tensor slopes = tape.gradient(mean, x).dense();
  CHECK(slopes.dtype() == DType::float32);
  CHECK(max(slopes).item<float>() == static_cast<float>(1 / count));
  CHECK(min(slopes).item<float>() == static_cast<float>(1 / count));
  const Tensor by_root = sparse_segment_sqrt_n(full({1}, 0.75, DType::float32), ids, ids, 1);
  CHECK(by_root.to_vector()[0] == static_cast<float>(0.75 * std::sqrt(count)));
}

TEST_CASE("segments of a vector: the same whether a tape follows it, for ids of every kind") {
  using Op = Tensor (*)(const Operand&, const Operand&, std::int64_t);
  const Op ops[] = {segment_sum, segment_mean, segment_prod, segment_max, segment_min};
  const Ints lists[] = {{2, 0, 2, 3}, {2, -1, 0, 2}, {-7, 3, -1, 3}, {-1, -2, -3, -4}};
  for (const DType d : {DType::int32, DType::float16, DType::float32, DType::float64})
    for (const Ints& list : lists)
      for (const Op op : ops) {
        const Tensor x = cast(tensor({3, 5, -2, 7}), d), ids = ints(list);
        const Tensor y = op(x, ids, 4);
        GradientTape tape;
        if (is_floating(d)) tape.watch(x);
        CHECK(array_equal(op(x, ids, 4), y));
        CHECK(array_equal(op(x, cast(ids, DType::int32), 4), y));
        CHECK(array_equal(op(x, slice(stack({ids, ids}, 1), {reel::all, 1}), 4), y));
        CHECK(array_equal(op(reshape(x, {4, 1}), ids, 4), reshape(y, {4, 1})));
      }
  const Tensor x = tensor({3.0, 5, no_number, -7}), y = segment_max(x, ints({1, 0, 1, 0}), 3);
  CHECK(y.to_vector()[0] == 5);
  CHECK(std::isnan(y.to_vector()[1]));
  CHECK(y.to_vector()[2] == -inf);
  for (const Op op : ops) {
    CHECK_THROWS_AS(op(x, ints({0, 1, 2, 3}), 3), IndexError);
    CHECK_THROWS_AS(op(x, ints({-1, 3, 2, -5}), 3), IndexError);
  }
}

TEST_CASE("index_multiply has exact gradients with zeros, to the second order") {
  const Tensor x = tensor({2, 5}), v = tensor({0, 3, 0, 7}), at = ints({0, 0, 0, 1});
  const auto f = [&](const Tensor& a, const Tensor& b) { return sum(index_multiply(a, {at}, b)); };
  GradientTape tape;
  tape.watch(std::vector{x, v});
  const std::vector<Gradient> g = tape.gradient(f(x, v), std::vector{x, v});
  CHECK(g[0].dense().to_vector() == Doubles{0, 7});
  CHECK(g[1].dense().to_vector() == Doubles{0, 0, 0, 5});
  // d2/dv0 dv2 = 2 * 3; d2/dv1 dv3 = 0.
  const Tensor h = hessian([&](const Tensor& b) { return f(x, b); })(v);
  CHECK(h.to_vector() == Doubles{0, 0, 6, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0});
  // NaN and infinity in one segment do not affect other segments, in either order.
  const Tensor bad = tensor({1, 2, no_number, inf, 3, 4}), ids = ints({0, 0, 1, 1, 2, 2});
  const auto weighted = [&](const Tensor& b) { return sum(segment_prod(b, ids, 3) * tensor({1, 0, 1})); };
  const Doubles first = grad(weighted)(bad).to_vector();
  CHECK(Doubles{first[0], first[1], first[4], first[5]} == Doubles{2, 1, 4, 3});
  const Doubles second = hvp(weighted)(bad, tensor({1, 1, 0, 0, 1, 1})).to_vector();
  CHECK(Doubles{second[0], second[1], second[4], second[5]} == Doubles{1, 1, 1, 1});
}

TEST_CASE("extremes by index share gradients among ties and propagate NaN") {
  const Tensor x = tensor({3, 1}), v = tensor({3, 2, 3}), at = ints({0, 0, 0});
  GradientTape tape;
  tape.watch(std::vector{x, v});
  const Tensor y = index_max(x, {at}, v);
  const std::vector<Gradient> g = tape.gradient(y, std::vector{x, v});
  CHECK(y.to_vector() == Doubles{3, 1});
  CHECK(g[0].dense().to_vector()[1] == 1);
  CHECK(std::abs(g[0].dense().to_vector()[0] - 1. / 3) < 1e-15);
  CHECK(std::abs(g[1].dense().to_vector()[2] - 1. / 3) < 1e-15);
  CHECK(g[1].dense().to_vector()[1] == 0);
  CHECK(std::isnan(index_min(x, {at}, tensor({5, no_number, 7})).to_vector()[0]));
  CHECK(std::isnan(index_max(tensor({no_number, 1}), {0}, 7).to_vector()[0]));
  // In a segment of -inf every element is a maximum.
  const auto f = [](const Tensor& b) { return segment_max(b, ints({0, 0}), 1); };
  CHECK(grad([&](const Tensor& b) { return sum(f(b)); })(tensor({-inf, -inf})).to_vector() == Doubles{0.5, 0.5});
}

TEST_CASE("extremes along an axis that is not the first") {
  const Tensor x = tensor({{1, 5, 2}, {7, 0, 3}}), v = tensor({{4, 0, 2}, {1, 9, 4}});
  const Tensor w = tensor({{1, 2, 3}, {4, 5, 6}});
  const auto loss = [&](const Tensor& a, const Tensor& b) {
    return sum(w * index_max(a, {reel::all, ints({0, 0, 2})}, b));
  };
  CHECK(loss(x, v).item() == 4 + 10 + 6 + 36 + 0 + 24);
  const auto [gx, gv] = grad(loss)(x, v);
  CHECK(gx.to_vector() == Doubles{0, 2, 1.5, 0, 5, 0});
  CHECK(gv.to_vector() == Doubles{1, 0, 1.5, 0, 4, 6});
  const auto y = [&](const Tensor& b) { return index_max(x, {reel::all, ints({0, 0, 2})}, b); };
  const Tensor j = jacobian(y)(v);
  CHECK(j[0][0].to_vector() == Doubles{1, 0, 0, 0, 0, 0});
  CHECK(j[1][0].to_vector() == Doubles{0, 0, 0, 0, 1, 0});
  CHECK(j[0][2].to_vector() == Doubles{0, 0, 0.5, 0, 0, 0});
}

TEST_CASE("index_multiply: one term at second order, and complex factors") {
  // y[1] = x[1] v: the derivative of y[1]^2 by v is 2 x[1]^2 v.
  const Tensor x = tensor({2, 3}), v = tensor({5});
  const auto by_v = [&](const Tensor& a) {
    return sum(grad([&](const Tensor& b) { return sum(square(index_multiply(a, {ints({1})}, b))); })(v));
  };
  CHECK(by_v(x).item() == 90);
  CHECK(grad(by_v)(x).to_vector() == Doubles{0, 60});
  using C = std::complex<double>;
  const Tensor z = tensor<C>({C(1, 2), C(3, 0)}), factors = tensor<C>({C(2, -1), C(0, 1)});
  GradientTape tape;
  tape.watch(std::vector{z, factors});
  const Tensor product = index_multiply(z, {ints({0, 0})}, factors);
  const std::vector<Gradient> g = tape.gradient(real(sum(product)), std::vector{z, factors});
  CHECK(array_equal(product, tensor<C>({C(-3, 4), C(3, 0)})));
  CHECK(array_equal(g[0].dense(), tensor<C>({C(1, -2), C(1, 0)})));
  CHECK(array_equal(g[1].dense(), tensor<C>({C(-2, -1), C(4, -3)})));
}

TEST_CASE("of equal indices only the last counts and has a gradient") {
  const Tensor x = tensor({1, 2}), v = tensor({3, 4, 5}), at = ints({1, 1, 0});
  GradientTape tape;
  tape.watch(std::vector{x, v});
  const Tensor y = index_update(x, {at}, v);
  const std::vector<Gradient> g = tape.gradient(y, std::vector{x, v});
  CHECK(y.to_vector() == Doubles{5, 4});
  CHECK(g[0].dense().to_vector() == Doubles{0, 0});
  CHECK(g[1].dense().to_vector() == Doubles{0, 1, 1});
}

TEST_CASE("masked elements have no derivatives") {
  const Tensor x = tensor({0, 4});
  const Tensor g = grad([](const Tensor& t) { return sum(masked_fill(1 / t, equal(t, 0), 2.0)); })(
      where(tensor<bool>({false, true}), x, 1.0));
  CHECK(g.to_vector() == Doubles{-1, -1. / 16});
  const Tensor masked = grad([](const Tensor& t) {
    return sum(masked_fill(t * tensor({no_number, 2}), tensor<bool>({true, false}), 0));
  })(x);
  CHECK(masked.to_vector()[1] == 2);
}

TEST_CASE("embeddings have sparse gradients, without the padding row") {
  const Tensor table = reshape(arange(8.0), {4, 2});
  for (const bool padded : {false, true}) {
    GradientTape tape;
    tape.watch(table);
    const Tensor y = padded ? embedding(table, ints({3, 1, 3, 0}), -1) : embedding(table, ints({3, 1, 3, 0}));
    CHECK(y.to_vector() == Doubles{6, 7, 2, 3, 6, 7, 0, 1});
    const Gradient g = tape.gradient(y, table);
    CHECK(g.slices().indices.to_vector<std::int64_t>() == Ints{3, 1, 3, 0});
    const double last = padded ? 0 : 2;
    CHECK(g.dense().to_vector() == Doubles{1, 1, 1, 1, 0, 0, last, last});
  }
  CHECK_THROWS_AS(embedding(table, 1, 4), IndexError);
}

TEST_CASE("a slice update reuses the memory of an rvalue operand only") {
  Tensor x = ones({1000});
  const void* memory = x.data<double>().data();
  const std::uint64_t id = x.id();
  Tensor y = slice_update(std::move(x), {reel::range_to(2)}, 5.0);
  CHECK(y.data<double>().data() == memory);
  CHECK(y.id() != id);
  CHECK(y.to_vector()[1] == 5);
  const Tensor other = y;
  const Tensor z = slice_update(std::move(y), {0}, 7.0);
  CHECK(z.data<double>().data() != memory);
  CHECK(other.to_vector()[0] == 5);
  Tensor watched = ones({3});
  GradientTape tape;
  tape.watch(watched);
  Tensor w = watched * 2;
  const Tensor u = square(w), updated = slice_update(std::move(w), {0}, 9.0);
  CHECK(tape.gradient(u + updated, watched).dense().to_vector() == Doubles{8, 10, 10});
}

TEST_CASE("nonzero finds all elements, or the requested number") {
  const Tensor x = tensor({{0, 2, 0}, {no_number, 0, -0.0}});
  const std::vector<Tensor> all = nonzero(x), some = nonzero(x, {.size = 3, .fill = 9}), one = nonzero(x, {.size = 1});
  CHECK(all[0].to_vector<std::int64_t>() == Ints{0, 1});
  CHECK(all[1].to_vector<std::int64_t>() == Ints{1, 0});
  CHECK(some[1].to_vector<std::int64_t>() == Ints{1, 0, 9});
  CHECK(one[0].to_vector<std::int64_t>() == Ints{0});
  CHECK(nonzero(scalar(1.0)).empty());
  const auto traced = compile([](const Tensor& t) { return nonzero(t, {.size = 3, .fill = 9})[1]; });
  CHECK(traced(x).to_vector<std::int64_t>() == Ints{1, 0, 9});
  const Tensor mask = x > 0.0;
  CHECK_THROWS_WITH(compile([](const Tensor& t) { return nonzero(t)[0]; })(x),
                    Contains("nonzero: the extents of its result") && Contains("nonzero(x, {.size = n})"));
  CHECK_THROWS_AS(compile([&](const Tensor& t) { return boolean_mask(t, mask); })(x), TraceError);
  CHECK_THROWS_AS(compile([&](const Tensor& t) { return compress(mask[0], t, 1); })(x), TraceError);
}

TEST_CASE("errors of indexing name the cause") {
  const Tensor x = zeros({2, 3});
  CHECK_THROWS_WITH(index(x, {reel::all, ints({0, 3})}),
                    support::says("index: index 3 (element 1 of indices) is out of range for axis 1, of extent 3"));
  CHECK_THROWS_WITH(index(x, {ints({0, 1}), ints({0, -4})}),
                    Contains("index -4 (element 1 of indices) is out of range for axis 1, of extent 3"));
  CHECK_THROWS_AS(index(x, {0, 0, 0}), IndexError);
  CHECK_THROWS_AS(index(x, {ints({0}), 0, 0}), IndexError);
  CHECK_THROWS_AS(index(x, {ints({0}), ellipsis, ellipsis}), IndexError);
  CHECK_THROWS_AS(index(x, {ones({2})}), TypeError);
  CHECK_THROWS_WITH(index(x, {ones({2, 3}, DType::boolean)}), Contains("boolean_mask"));
  CHECK_THROWS_AS(index(x, {ints({0, 1}), ints({0, 1, 2})}), ShapeError);
  CHECK_THROWS_WITH(index_update(x, {ints({0, 1})}, ones({4})), Contains("values have shape [4]"));
  CHECK_THROWS_AS(index_max(cast(x, DType::complex64), {0}, 1), TypeError);
  CHECK_THROWS_WITH(slice_update(x, {2}, 1), Contains("slice_update: index 2 is out of range for axis 0"));
  CHECK_THROWS_AS(slice_update(x, {0}, ones({2})), ShapeError);
  CHECK_THROWS_WITH(slice_update(cast(x, DType::int64), {0}, x[0]),
                    Contains("slice_update: values is float64, which x, int64, cannot hold"));
  CHECK_THROWS_AS(masked_fill(x, true, scalar(complex128{1, 0})), TypeError);
  CHECK_THROWS_AS(put_along_axis(x, ints({0}), 1, 0), ShapeError);
  CHECK_THROWS_WITH(put_along_axis(x, tensor<std::int64_t>({{1}, {0}, {2}}), 1, 0),
                    Contains("index 2 (element 2 of indices) is out of range for axis 0, of extent 2"));
  CHECK_THROWS_AS(put_along_axis(x, zeros({2, 2}, DType::int64), 1, 0), ShapeError);
  CHECK_THROWS_AS(scatter_reduce(cast(x, DType::int64), zeros({2, 3}, DType::int64), 1, 0, Reduction::sum), TypeError);
  CHECK_THROWS_AS(take(x, 6), IndexError);
  CHECK_THROWS_AS(take(zeros({0}), 0, IndexMode::wrap), IndexError);
  CHECK_THROWS_AS(boolean_mask(x, ones({3}, DType::boolean)), ShapeError);
  CHECK_THROWS_AS(boolean_mask(x, ones({2})), TypeError);
  CHECK_THROWS_AS(compress(ones({4}, DType::boolean), x, 1), ShapeError);
  CHECK_THROWS_WITH(segment_sum(x, ints({0, 2}), 2),
                    Contains("id 2 (element 1 of ids) is out of range for 2 segments"));
  CHECK_THROWS_AS(segment_sum(x, ints({0}), 2), ShapeError);
  CHECK_THROWS_AS(segment_sum(x, ints({0, 0}), -1), ValueError);
  CHECK_THROWS_AS(sparse_segment_sum(x, ints({2}), ints({0}), 1), IndexError);
  CHECK_THROWS_WITH(bincount(ints({0, -1}), 2),
                    Contains("bincount: -1 (element 1 of x) is out of range: it must be at least 0 and below 2"));
  CHECK_THROWS_AS(bincount(ints({0, 2}), 2), IndexError);
  CHECK_THROWS_AS(bincount(ones({2}), 2), TypeError);
  CHECK_THROWS_AS(bincount(ints({0, -1}), 2, ones({2})), IndexError);
  CHECK_THROWS_AS(bincount(ints({0, 1}), 2, ones({3})), ShapeError);
}

// Reference: adds the terms in order.
template <class F>
Doubles combined_along(const Tensor& x, const Tensor& indices, const Tensor& terms, int axis, F combine) {
  const Shape shape = x.shape(), chosen = indices.shape();
  std::int64_t inner = 1;
  for (int d = axis + 1; d < shape.rank(); ++d) inner *= shape[d];
  Doubles y = cast(x, DType::float64).to_vector();
  const Ints at = cast(indices, DType::int64).to_vector<std::int64_t>();
  const Doubles from = cast(terms, DType::float64).to_vector();
  for (std::size_t q = 0; q < at.size(); ++q) {
    const auto i = static_cast<std::int64_t>(q) % inner, outer = static_cast<std::int64_t>(q) / inner / chosen[axis];
    const std::int64_t k = at[q] < 0 ? at[q] + shape[axis] : at[q];
    double& to = y[static_cast<std::size_t>((outer * shape[axis] + k) * inner + i)];
    to = combine(to, from[q]);
  }
  return y;
}

TEST_CASE("scatter_add_along_axis agrees with its definition for every layout and index dtype") {
  // Sizes below and above the parallel threshold, matrices and parts of columns, chunks that end within a row.
  struct Layout {
    Shape shape;
    int axis;
    std::int64_t count;
  };
  for (const Layout& l : std::vector<Layout>{{{5, 700}, 1, 1300},
                                             {{7, 3, 5}, 1, 9},
                                             {{300, 401}, 0, 90},
                                             {{40, 30, 50}, 1, 31},
                                             {{2, 100, 300}, 1, 70},
                                             {{50000}, 0, 70000},
                                             {{3, 40000, 2}, 1, 11}}) {
    INFO(l.shape[0] << " " << l.axis);
    Shape chosen = l.shape;
    chosen[l.axis] = l.count;
    const std::int64_t n = chosen.elements(), extent = l.shape[l.axis];
    const Tensor numbers =
        mod(arange(n) * 7919 + 13, std::min<std::int64_t>(2 * extent, 200)) - std::min<std::int64_t>(extent, 100);
    const Tensor at = reshape(where(numbers >= extent, 0, numbers), chosen);
    const Tensor x = reshape(sin(arange(l.shape.elements())), l.shape), terms = reshape(cos(arange(n)), chosen);
    const auto plus = [](double a, double b) { return a + b; };
    const Doubles sums = combined_along(x, at, terms, l.axis, plus);
    CHECK(scatter_add_along_axis(x, at, terms, l.axis).to_vector() == sums);
    CHECK(scatter_add_along_axis(x, cast(at, DType::int32), terms, l.axis).to_vector() == sums);
    const Tensor small = cast(where(at < 0, 0, at), DType::uint8);
    CHECK(scatter_add_along_axis(x, small, terms, l.axis).to_vector() == combined_along(x, small, terms, l.axis, plus));
    CHECK(put_along_axis(x, at, terms, l.axis).to_vector() ==
          combined_along(x, at, terms, l.axis, [](double, double b) { return b; }));
    CHECK(put_along_axis(x, at, 7, l.axis).to_vector() ==
          combined_along(x, at, terms, l.axis, [](double, double) { return 7; }));
    CHECK(scatter_reduce(x, at, terms, l.axis, Reduction::max).to_vector() ==
          combined_along(x, at, terms, l.axis, [](double a, double b) { return std::max(a, b); }));
    // Under a tape positions are computed, with the same bits. take_along_axis is the transpose.
    const Tensor g = grad([&](const Tensor& t) { return sum(scatter_add_along_axis(x, at, t, l.axis) * x); })(terms);
    CHECK(g.to_vector() == take_along_axis(x, at, l.axis).to_vector());
    GradientTape tape;
    tape.watch(x);
    CHECK(scatter_add_along_axis(x, at, terms, l.axis).to_vector() == sums);
    Tensor bad = put_along_axis(at, full(at.shape(), n - 1, DType::int64) % l.count, extent, l.axis);
    CHECK_THROWS_WITH(scatter_add_along_axis(zeros(l.shape), bad, terms, l.axis),
                      Contains("index " + std::to_string(extent)) && Contains("of indices) is out of range"));
  }
}
