// Properties of the shape ops that the op table does not test: errors, identities, gradients of only some results, none
// for integers, why a gradient ends.
#include <limits>
#include <reel/ops/arranging.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "core/block.hpp"
#include "support/derivatives.hpp"

using namespace reel;
using Catch::Contains;
using support::Tensors;

namespace {

using Doubles = std::vector<double>;

Doubles gradient_of_sum(Tensor (*f)(const Tensor&), const Tensor& x) {
  GradientTape tape;
  tape.watch(x);
  return tape.gradient(sum(f(x)), x).dense().to_vector();
}

}  // namespace

TEST_CASE("reshape infers one extent") {
  const Tensor x = arange(12.0);
  CHECK(reshape(x, {3, -1}).shape() == Shape{3, 4});
  CHECK(reshape(x, {-1}).id() != x.id());
  CHECK(reshape(scalar(1.0), {1, 1}).rank() == 2);
  CHECK(reshape(zeros({0, 3}), {0}).size() == 0);
  CHECK(reshape(zeros({0, 3}), {3, -1}).shape() == Shape{3, 0});
  CHECK_THROWS_WITH(reshape(x, {5, -1}), Contains("[12]") && Contains("[5, -1]"));
  CHECK_THROWS_AS(reshape(x, {-1, -1}), ShapeError);
  CHECK_THROWS_AS(reshape(x, {-2, -6}), ShapeError);
  CHECK_THROWS_AS(reshape(zeros({0}), {0, -1}), ShapeError);
  CHECK_THROWS_AS(reshape(x, {13}), ShapeError);
}

TEST_CASE("reshape is a view if the strides allow it") {
  const Tensor x = reshape(arange(48.0), {2, 3, 2, 4});
  const Tensor views[] = {transpose(x, {2, 0, 1, 3}),
                          slice(x, {reel::all, range_from(-1, -1)}),
                          slice(x, {ellipsis, reel::range(0, 2)}),
                          flip(x),
                          broadcast_to(slice(x, {reel::range(0, 1)}), x.shape()),
                          moveaxis(x, 0, 2)};
  const Shape shapes[] = {{48},      {24, -1}, {2, 1, -1, 1}, {4, 3, 4}, {6, 8},
                          {2, 3, 8}, {12, 4},  {3, 2, 8},     {2, 24},   {1, -1, 1, 4}};
  for (const Tensor& v : views)
    for (const Shape& s : shapes) {
      if (v.size() % 4 != 0) continue;
      Shape fits = s;
      std::int64_t known = 1;
      for (std::int64_t e : s) known *= e < 0 ? 1 : e;
      bool open = false;
      for (std::int64_t e : s) open = open || e < 0;
      if (open ? v.size() % known != 0 : known != v.size()) continue;
      const Tensor y = reshape(v, fits);
      CHECK(y.to_vector() == v.to_vector());
      CHECK(reshape(contiguous(y), v.shape()).to_vector() == v.to_vector());
    }
  CHECK_FALSE(reshape(transpose(x, {2, 3, 0, 1}), {8, 6}).is_contiguous());
  CHECK(reshape(transpose(x), {48}).is_contiguous());
}

TEST_CASE("permutations and axes are checked") {
  const Tensor x = zeros({2, 3, 4});
  CHECK(transpose(x, {2, 0, -2}).shape() == Shape{4, 2, 3});
  CHECK_THROWS_WITH(transpose(x, {0, 1}), Contains("permutation") && Contains("shape [2, 3, 4]"));
  CHECK_THROWS_AS(transpose(x, {0, 0, 1}), ValueError);
  CHECK_THROWS_AS(transpose(x, {0, 1, 3}), IndexError);
  CHECK_THROWS_WITH(moveaxis(x, 3, 0), Contains("axis 3 is out of range for shape [2, 3, 4]: it must be from -3 to 2"));
  CHECK_THROWS_WITH(squeeze(x, 1), Contains("extent 3"));
  CHECK_THROWS_AS(squeeze(x, {0, 0}), ValueError);
  CHECK(squeeze(zeros({1, 0, 1})).shape() == Shape{0});
  CHECK(expand_dims(x, -1).shape() == Shape{2, 3, 4, 1});
  CHECK(expand_dims(x, -4).shape() == Shape{1, 2, 3, 4});
  CHECK_THROWS_AS(expand_dims(x, 4), IndexError);
  CHECK_THROWS_WITH(broadcast_to(x, {3, 4}), Contains("[2, 3, 4]") && Contains("[3, 4]"));
  CHECK_THROWS_AS(broadcast_to(zeros({2}), {3}), ShapeError);
  CHECK_THROWS_AS(broadcast_to(zeros({2}), {-2}), ShapeError);
  CHECK(broadcast_to(zeros({1}), {0}).size() == 0);
  CHECK(broadcast_to(5, {2}).to_vector() == Doubles{5, 5});
  CHECK_THROWS_AS(flip(x, 3), IndexError);
  CHECK(flip(zeros({0, 2})).size() == 0);
}

TEST_CASE("roll, tile, repeat and pad with extreme arguments") {
  const Tensor x = tensor({1, 2, 3});
  CHECK(roll(x, -4, 0).to_vector() == Doubles{2, 3, 1});
  CHECK(roll(x, 300, 0).to_vector() == Doubles{1, 2, 3});
  CHECK(roll(zeros({0}), 5, 0).size() == 0);
  CHECK_THROWS_AS(roll(x, 1, 1), IndexError);
  CHECK(tile(x, {}).to_vector() == x.to_vector());
  CHECK(tile(x, {2, 1}).shape() == Shape{2, 3});
  CHECK(tile(scalar(4.0), {2, 2}).to_vector() == Doubles(4, 4));
  CHECK(tile(tensor({{1, 2}}), {3, 2}).to_vector() == Doubles{1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2});
  CHECK_THROWS_AS(tile(x, {-1}), ValueError);
  CHECK(repeat(x, 0, 0).shape() == Shape{0});
  CHECK_THROWS_AS(repeat(x, -1, 0), ValueError);
  CHECK(pad(x, {1}, {0}).to_vector() == Doubles{0, 1, 2, 3});
  CHECK(pad(tensor<int>({1}), {1}, {1}, 7).to_vector<int>() == std::vector<int>{7, 1, 7});
  CHECK(pad(tensor<int>({1}), {1}, {1}, 0.5).dtype() == DType::float64);
  CHECK(pad(zeros({0, 1}), {1, 0}, {1, 0}, 3.0).to_vector() == Doubles{3, 3});
  CHECK(pad(scalar(2.0), {}, {}).item() == 2);
  CHECK_THROWS_WITH(pad(x, {1, 1}, {0}), Contains("before has 2 entries"));
  CHECK_THROWS_WITH(pad(x, {0}, {-1}), Contains("slice"));
  CHECK_THROWS_AS(pad(x, {1}, {1}, zeros({2})), ShapeError);
  CHECK(gradient_of_sum([](const Tensor& t) { return tile(t, {0}); }, x) == Doubles{0, 0, 0});
  CHECK(gradient_of_sum([](const Tensor& t) { return repeat(t, 0, 0); }, x) == Doubles{0, 0, 0});
}

TEST_CASE("the gradient of pad's constant") {
  GradientTape tape;
  const Tensor x = tensor({{1, 2}}), v = scalar(1e17);
  tape.watch(x);
  tape.watch(v);
  const Tensor y = pad(x, {1, 0}, {0, 1}, v);
  const Tensor weights = reshape(arange(6.0), {2, 3});
  const std::vector<Gradient> g = tape.gradient(y * weights, {x, v});
  CHECK(g[0].dense().to_vector() == Doubles{3, 4});
  CHECK(g[1].dense().item() == 0 + 1 + 2 + 5);
  // Tangents of both, and of the value only.
  const auto f = [](const Tensors& t) { return Tensors{pad(tensor({{1, 2}}) * 3.0, {1, 0}, {0, 1}, t[0])}; };
  CHECK(support::push(f, {v}, {scalar(2.0)})[0].to_vector() == Doubles{2, 2, 2, 0, 0, 2});
}

TEST_CASE("concatenate: long rows of parts of any width, layout, dtype and size") {
  const auto values = [](const Tensor& x) { return cast(x, DType::float64).to_vector(); };
  const auto check = [&](const std::vector<Tensor>& parts) {
    const Tensor y = concatenate(parts, 1);
    REQUIRE(y.dtype() == parts[0].dtype());
    std::int64_t first = 0;
    for (const Tensor& part : parts) {
      const std::int64_t end = first + part.shape()[1];
      CHECK((values(slice(y, {reel::all, range(first, end)})) == values(part)));
      first = end;
    }
    CHECK(y.shape() == Shape{parts[0].shape()[0], first});
  };
  for (const DType d : {DType::uint8, DType::bfloat16, DType::float32, DType::float64}) {
    const auto part = [&](std::int64_t n, double start) {
      return cast(reshape(arange(3.0 * static_cast<double>(n)) % 60.0 + start, {3, n}), d);
    };
    CAPTURE(d);
    check({part(64, 1), part(65, 7), part(200, 13)});
    const Tensor a = part(100, 2);
    check({a, a});
    check({a, part(0, 0), a});                        // an empty part
    check({a, part(63, 5)});                          // a short row
    check({transpose(contiguous(transpose(a))), a});  // another layout
    check({broadcast_to(slice(a, {range(1, 2)}), {3, 100}), a});
  }
  const Tensor large = reshape(arange(90000.0), {100, 900});  // shared with other threads
  check({large, large * -1.0});
}

TEST_CASE("concatenate and stack: promoted dtypes, errors of extents") {
  const Tensor a = tensor<int>({1, 2}), b = tensor<float>({3});
  CHECK(concatenate({a, b}).dtype() == DType::float32);
  CHECK(concatenate({a, b}).to_vector<float>() == std::vector<float>{1, 2, 3});
  CHECK(stack({a, a}, -1).to_vector<int>() == std::vector<int>{1, 1, 2, 2});
  CHECK(stack({a, a}, 1).shape() == Shape{2, 2});
  CHECK_THROWS_WITH(concatenate(std::vector<Tensor>{}), Contains("at least one"));
  CHECK_THROWS_WITH(concatenate({scalar(1.0), scalar(2.0)}), Contains("stack"));
  CHECK_THROWS_WITH(concatenate({zeros({2, 3}), zeros({2, 4})}), Contains("[2, 3]") && Contains("[2, 4]"));
  CHECK_THROWS_AS(concatenate({zeros({2}), zeros({2, 1})}), ShapeError);
  CHECK_THROWS_AS(concatenate({zeros({2}), Tensor()}), ValueError);
  CHECK_THROWS_AS(concatenate({zeros({2})}, 1), IndexError);
  CHECK_THROWS_AS(stack({zeros({2}), zeros({3})}), ShapeError);
  CHECK(stack({zeros({0}), zeros({0})}).shape() == Shape{2, 0});
  GradientTape tape;
  tape.watch(b);
  const Gradient g = tape.gradient(concatenate({a, b, b}), b, {.output_gradients = tensor<float>({1, 2, 3, 4})});
  CHECK(g.dense().dtype() == DType::float32);
  CHECK(g.dense().item<float>() == 7);
}

TEST_CASE("the tangent of concatenate if one part has none") {
  const Tensor c = tensor({{1, 2}});
  const auto joined = [&](const Tensors& t) { return Tensors{concatenate({c, t[0]}, 0), stack({t[0], c}, 2)}; };
  const Tensors x{tensor({{3, 4}})}, v{tensor({{1, 2}, {3, 4}}), tensor({{{5, 6}, {7, 8}}})};
  CHECK(support::pull(joined, x, v)[0].to_vector() == Doubles{3 + 5, 4 + 7});
  const Tensors dy = support::push(joined, x, x);
  CHECK(dy[0].to_vector() == Doubles{0, 0, 3, 4});
  CHECK(dy[1].to_vector() == Doubles{3, 0, 4, 0});
}

TEST_CASE("split and unstack: parts are views and one entry") {
  const Tensor x = reshape(arange(12.0), {6, 2});
  CHECK_THROWS_WITH(split(x, 4), Contains("split_sizes"));
  CHECK_THROWS_AS(split(x, 0), ValueError);
  CHECK_THROWS_WITH(split_sizes(x, {3, 2}), Contains("[3, 2]") && Contains("6"));
  CHECK_THROWS_AS(split_sizes(x, {7, -1}), ShapeError);
  CHECK_THROWS_AS(unstack(scalar(1.0)), IndexError);
  CHECK(unstack(zeros({0, 2})).empty());
  CHECK(split(zeros({100}), 50).size() == 50);
  // Of an empty axis any number of parts is equal, but each takes memory.
  const Tensor nothing = zeros({0, 2});
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(split(nothing, 1000).size() == 1000);
  CHECK_THROWS_WITH(split(nothing, most), Contains("9223372036854775807 parts of an empty axis"));
  CHECK_THROWS_AS(vsplit(nothing, most), ValueError);
  CHECK_THROWS_AS(hsplit(zeros({2, 0}), most), ValueError);
  CHECK_THROWS_AS(dsplit(zeros({2, 2, 0}), most), ValueError);
  CHECK_THROWS_AS(array_split(nothing, most), ValueError);
  CHECK_THROWS_AS(unstack(zeros({std::int64_t{1} << 40, 0})), ValueError);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const std::vector<Tensor> pieces = split(x, 3), rows = unstack(x);
  CHECK(tape.stats().entries == 2);
  const Tensor y = pieces[0] * 2.0 + pieces[2];
  tape.stop();
  // Only the first and the last piece are used.
  CHECK(tape.gradient(y, x).dense().to_vector() == Doubles{2, 2, 2, 2, 0, 0, 0, 0, 1, 1, 1, 1});
  CHECK(tape.gradient(rows[1], x).dense().to_vector() == Doubles{0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0});
  const auto all = [](const Tensors& t) {
    std::vector<Tensor> list = split(t[0], 3, 0);
    const std::vector<Tensor> columns = unstack(t[0], 1);
    list.insert(list.end(), columns.begin(), columns.end());
    return list;
  };
  const Tensors pushed = support::push(all, {x}, {x});
  REQUIRE(pushed.size() == 5);
  CHECK(pushed[1].to_vector() == Doubles{4, 5, 6, 7});
  CHECK(pushed[4].to_vector() == Doubles{1, 3, 5, 7, 9, 11});
}

TEST_CASE("unstack of many rows: each part is the right view and has its own cotangent") {
  const Tensor x = reshape(arange(18.0), {9, 2});
  const auto pieces = [](const Tensors& t) {
    std::vector<Tensor> list = unstack(t[0]);
    for (const Tensor& piece : split_sizes(t[0], {1, 0, 2, 1, 1, 1, 3})) list.push_back(piece);
    return list;
  };
  const Tensors y = pieces({x});
  REQUIRE(y.size() == 16);
  for (std::size_t i = 0; i < 9; ++i) {
    const double first = 2.0 * static_cast<double>(i);
    CHECK(y[i].to_vector() == Doubles{first, first + 1});
    Tensors dy(16);
    for (std::size_t k = 0; k < 16; ++k) dy[k] = zeros(y[k].shape());
    dy[i] = ones({2});
    Doubles expected(18);
    expected[2 * i] = expected[2 * i + 1] = 1;
    CHECK(support::pull(pieces, {x}, dy)[0].to_vector() == expected);
  }
  CHECK(y[10].shape() == Shape{0, 2});
  CHECK(y[14].to_vector() == Doubles{10, 11});
  CHECK(y[15].to_vector() == Doubles{12, 13, 14, 15, 16, 17});
  CHECK(y[8].data<double>().data() == x.data<double>().data() + 16);
}

TEST_CASE("identity, contiguous, stop_gradient") {
  GradientTape tape({.persistent = true});
  const Tensor x = tensor({1, 2});
  tape.watch(x);
  const Tensor same = identity(x), stopped = stop_gradient(x), gone = stop_gradient(x * 2.0) + stopped;
  CHECK(same.data<double>().data() == x.data<double>().data());
  const Tensor y = same * 3.0 + stopped;
  tape.stop();
  CHECK(tape.gradient(y, x).dense().to_vector() == Doubles{3, 3});
  CHECK(tape.gradient(y, same).dense().to_vector() == Doubles{3, 3});
  const Gradient missing = tape.gradient(gone, x);
  CHECK_FALSE(missing);
  CHECK(missing.reason() == WhyNone::stop_gradient);
  CHECK_THAT(missing.why_none(), Contains("stop_gradient"));
}

TEST_CASE("shape ops of integers are not recorded") {
  GradientTape tape;
  const Tensor i = arange(6);
  const Tensor f = ones({6});
  tape.watch(f);
  const Tensor y = reshape(transpose(reshape(i, {2, 3})), {6});
  CHECK(y.to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 3, 1, 4, 2, 5});
  concatenate({y, y});
  split(y, 2);
  pad(y, {1}, {1});
  roll(tile(repeat(y, 2, 0), {2}), 1, 0);
  CHECK(tape.stats().entries == 0);
}

TEST_CASE("a view keeps the memory of its base alive") {
  Tensor v;
  {
    const Tensor x = reshape(arange(1e4), {100, 100});
    v = transpose(x)[3];
  }
  CHECK(v.to_vector()[2] == 203);
}

TEST_CASE("a failed allocation leaves no tensor behind and the tape usable") {
  const Tensor x = reshape(arange(12.0), {4, 3}), i = from_data(std::vector<std::int64_t>{1, -1});
  const std::vector<Tensor (*)(const Tensor&, const Tensor&)> ops = {
      [](const Tensor& t, const Tensor&) { return reshape(transpose(t), {12}); },
      [](const Tensor& t, const Tensor&) {
        return roll(tile(repeat(t, 2, 0), {2, 1}), 1, 1);
      },
      [](const Tensor& t, const Tensor&) {
        return pad(t, {1, 1}, {0, 1}, 2.0);
      },
      [](const Tensor& t, const Tensor&) {
        return concatenate({t, stack(unstack(t)), split(t, 1)[0]});
      },
      [](const Tensor& t, const Tensor&) { return cast(cast(t, DType::float32), DType::float64); },
      [](const Tensor& t, const Tensor&) { return slice(flip(t), {reel::range(0, 4, 2)}) + t[1]; },
      [](const Tensor& t, const Tensor& at) { return gather(t, at) + gather(t, at, 1)[0][0]; },
      [](const Tensor& t, const Tensor& at) { return scatter_add(t, at, 1.0); },
      [](const Tensor& t, const Tensor& at) {
        return take_along_axis(t, reshape(at, {2, 1}), 0);
      },
      [](const Tensor& t, const Tensor&) { return where(t > 3.0, tril(t), diagonal(t)); },
      [](const Tensor& t, const Tensor&) { return diag(diag(t)) + trace(t); },
  };
  for (std::size_t k = 0; k < ops.size(); ++k) {
    INFO("op " << k);
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Doubles expected = tape.gradient(sum(ops[k](x, i)), x).dense().to_vector();
    tape.reset();
    tape.watch(x);
    bool done = false;
    for (int n = 0; !done; ++n) {
      REQUIRE(n < 1000);
      const std::int64_t before = memory_stats().live_tensors;
      try {
        detail::fail_allocation_after(n);
        const Tensor y = ops[k](x, i);
        detail::fail_allocation_after(-1);
        done = true;
      } catch (const std::bad_alloc&) {
        detail::fail_allocation_after(-1);
        // Entries recorded before the failure must still replay.
        CHECK(tape.gradient(sum(ops[k](x, i)), x).dense().to_vector() == expected);
      }
      tape.reset();
      CHECK(memory_stats().live_tensors == before);
      tape.watch(x);
    }
  }
}

TEST_CASE("stack along the last axis interleaves parts of every size and layout") {
  for (const DType dtype : {DType::boolean, DType::float16, DType::float32, DType::float64, DType::complex128})
    for (const std::int64_t count : {1, 2, 3, 4, 5})
      for (const std::int64_t n : {1, 2, 3, 8, 31, 40000}) {
        CAPTURE(dtype, count, n);
        const Tensor whole = cast(reshape(arange(count * n), {n, count}) % 97, dtype);  // column k is part k
        std::vector<Tensor> strided = unstack(whole, 1), parts;
        for (const Tensor& part : strided) parts.push_back(contiguous(part));
        CHECK(array_equal(stack(parts, -1), whole));
        CHECK(array_equal(stack(strided, 1), whole));
        parts[0] = strided[0];
        CHECK(array_equal(stack(parts, 1), whole));
      }
  const Tensor x = reshape(arange(12), {3, 4});
  CHECK(array_equal(stack({x, x + 100}, -1)[2], transpose(stack({x[2], x[2] + 100}))));
}

TEST_CASE("a tangent of a cast has the dtype of the result, a cotangent that of the operand") {
  const Tensor x = tensor({1., 2.}), t = tensor({1 + 0x1p-30, 3.});
  const ForwardAccumulator accumulator(x, t);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = cast(x, DType::float32), tangent = accumulator.jvp(y).dense();
  CHECK(tangent.dtype() == DType::float32);
  CHECK(tangent.to_vector<float>() == std::vector<float>{1, 3});
  CHECK(tape.gradient(y, x).dense().dtype() == DType::float64);
}

TEST_CASE("pad of booleans with 0 or 1 stays boolean") {
  const Tensor p = tensor<bool>({true, false});
  CHECK(pad(p, {1}, {1}).dtype() == DType::boolean);
  CHECK(array_equal(pad(p, {1}, {1}), tensor<bool>({false, true, false, false})));
  CHECK(array_equal(pad(p, {1}, {0}, 1), tensor<bool>({true, true, false})));
  CHECK(pad(p, {1}, {0}, true).dtype() == DType::boolean);
  CHECK(pad(p, {1}, {0}, 2).dtype() == DType::int64);
  CHECK(pad(p, {1}, {0}, 0.5).dtype() == DType::float64);
  CHECK(pad(p, {1}, {0}, tensor<int>({0})).dtype() == DType::int32);
  CHECK(pad(tensor<std::uint8_t>({3}), {1}, {0}).dtype() == DType::uint8);
}
