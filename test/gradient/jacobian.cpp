// GradientTape.jacobian and batch_jacobian: known answers, the state of the tape, and results that cannot be computed
// in one sweep. op_derivatives tests that all ops give the rows of one gradient after another.
#include <cmath>
#include <map>
#include <reel/reel.hpp>
#include <reel/sparse.hpp>
#include <stdexcept>

#include "catch.hpp"

using namespace reel;

namespace {

using Values = std::vector<double>;

bool same(const Tensor& a, const Values& b) {
  const Values v = a.to_vector();
  if (v.size() != b.size()) return false;
  for (std::size_t i = 0; i < b.size(); ++i)
    if (!(std::abs(v[i] - b[i]) <= 1e-13 * std::max(1.0, std::abs(b[i])))) return false;
  return true;
}

constexpr JacobianOptions zeros_please{.unconnected_gradients = UnconnectedGradients::zero};

// 2 x, as an op of the user whose backward runs `rule`.
template <class Rule>
Tensor twice(const Tensor& x, Rule rule) {
  const Tensor y = stop_gradient(x) * 2;
  const Tensor in[] = {x}, out[] = {y};
  record_operation("twice", in, out, rule);
  return y;
}

}  // namespace

TEST_CASE("jacobian: diagonal for elementwise functions, target.shape + source.shape") {
  const Tensor x = tensor({1, 2}), y = tensor({3, 4});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(y);
  const Tensor z = x * x * y;
  const std::vector<Gradient> j = tape.jacobian(z, {x, y});
  CHECK(same(*j[0], {6, 0, 0, 16}));
  CHECK(same(*j[1], {1, 0, 0, 4}));
  CHECK(j[0].dense().shape() == Shape{2, 2});
  // The sum has a row of the same numbers; a part of the result, rows of zeros.
  CHECK(same(*tape.jacobian(sum(z), x), {6, 16}));
  CHECK(tape.jacobian(sum(z), x).dense().shape() == Shape{2});
  CHECK(same(*tape.jacobian(concatenate({x, zeros({1})}), x), {1, 0, 0, 1, 0, 0}));
}

TEST_CASE("jacobian of matrix products") {
  const Tensor a = tensor({{1, 2}, {3, 4}}), x = tensor({5, 7});
  GradientTape tape({.persistent = true});
  tape.watch(a);
  tape.watch(x);
  const Tensor right = matmul(a, x), left = matmul(x, a), square = matmul(a, a);
  CHECK(same(*tape.jacobian(right, x), {1, 2, 3, 4}));
  CHECK(same(*tape.jacobian(right, a), {5, 7, 0, 0, 0, 0, 5, 7}));
  CHECK(same(*tape.jacobian(left, x), {1, 3, 2, 4}));
  CHECK(same(*tape.jacobian(left, a), {5, 0, 7, 0, 0, 5, 0, 7}));
  // With transpose options, after a sum, and two products in a row.
  CHECK(same(*tape.jacobian(matmul(a, x, {.transpose_a = true}) + 1, x), {1, 3, 2, 4}));
  CHECK(same(*tape.jacobian(matmul(x, a, {.transpose_b = true}) + 1, x), {1, 2, 3, 4}));
  CHECK(same(*tape.jacobian(matmul(a, right), x), {7, 10, 15, 22}));
  // A Jacobian that equals the matrix can be differentiated by it.
  CHECK(same(*tape.gradient(sum(reel::square(*tape.jacobian(left, x))), a), {2, 4, 6, 8}));
  // d (A A)_ij / d A_kl = [i = k] A_lj + A_ik [j = l]
  Values expected;
  const Values v = a.to_vector();
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 2; ++j)
      for (std::size_t k = 0; k < 2; ++k)
        for (std::size_t l = 0; l < 2; ++l)
          expected.push_back((i == k ? v[2 * l + j] : 0) + (j == l ? v[2 * i + k] : 0));
  const Tensor j = *tape.jacobian(square, a);
  CHECK(j.shape() == Shape{2, 2, 2, 2});
  CHECK(same(j, expected));
}

TEST_CASE("jacobian of scalars: rank 0 target and source") {
  const Tensor x = scalar(3.), y = tensor({1, 2});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(y);
  CHECK(tape.jacobian(x * x, x).dense().shape() == Shape{});
  CHECK(tape.jacobian(x * x, x).dense().item() == 6);
  CHECK(same(*tape.jacobian(x * y, x), {1, 2}));
  CHECK(tape.jacobian(x * y, x).dense().shape() == Shape{2});
}

TEST_CASE("jacobian has the structure of the sources, which may be variables, trees, lists, or one tensor twice") {
  const Variable v(tensor({2, 3}), "v");
  const Tensor x = tensor({5, 7});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = v * x;
  const std::map<std::string, Tensor> named{{"a", x}, {"b", x}};
  const auto by_name = tape.jacobian(y, named);
  static_assert(std::is_same_v<decltype(by_name), const std::map<std::string, Gradient>>);
  CHECK(same(*by_name.at("a"), {2, 0, 0, 3}));
  CHECK(same(*by_name.at("b"), {2, 0, 0, 3}));
  const auto [dv, dx] = tape.jacobian(y, std::tuple(v, x));
  CHECK(same(*dv, {5, 0, 0, 7}));
  CHECK(same(*dx, {2, 0, 0, 3}));
  CHECK(same(*tape.jacobian(v, v), {1, 0, 0, 1}));
  CHECK(tape.jacobian(y, std::vector<Tensor>()).empty());
  // The target itself as a source: the identity; and a source on the way, whose own derivative is total.
  const auto j = tape.jacobian(y * y, {y, x});
  CHECK(same(*j[0], {20, 0, 0, 42}));
  CHECK(same(*j[1], {40, 0, 0, 126}));
  CHECK(same(*tape.jacobian(y, y), {1, 0, 0, 1}));
}

TEST_CASE("jacobian of unconnected sources: none with its reason, or zeros") {
  const Tensor x = tensor({1, 2}), far = zeros({3}), counts = tensor<std::int32_t>({1, 2});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(far);
  const Tensor y = x * x;
  const auto j = tape.jacobian(y, {x, far, counts});
  CHECK(j[0]);
  CHECK(j[1].reason() == WhyNone::not_connected);
  CHECK(j[2].reason() == WhyNone::integer_dtype);
  const auto z = tape.jacobian(y, {far, counts}, zeros_please);
  CHECK(z[0].dense().shape() == Shape{2, 3});
  CHECK(same(*z[0], Values(6)));
  CHECK(z[1].dense().dtype() == DType::int32);
  CHECK(same(*z[1], Values(4)));
  CHECK(tape.jacobian(cast(y, DType::int64), x).reason() == WhyNone::integer_dtype);
  CHECK(tape.jacobian(stop_gradient(y), x).reason() == WhyNone::stop_gradient);
  CHECK(same(*tape.jacobian(cast(y, DType::float32), x), {2, 0, 0, 4}));
  CHECK(tape.jacobian(cast(y, DType::float32), x).dense().dtype() == DType::float64);
  // The intermediate tensor has 10^12 elements: nothing is computed for it.
  const Tensor many = exp(ones({1000000})), followed = exp(broadcast_to(far[0], {1000000}));
  CHECK(!tape.jacobian(many, x));
  CHECK(!tape.jacobian(followed, x));
  CHECK(same(sum(*tape.jacobian(followed, x, zeros_please)), {0}));
}

TEST_CASE("jacobian of empty tensors has no elements, but a shape") {
  const Tensor x = zeros({0}), y = tensor({1, 2});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(y);
  CHECK(tape.jacobian(exp(x), x).dense().shape() == Shape{0, 0});
  CHECK(tape.jacobian(x * y[0], y).dense().shape() == Shape{0, 2});
  CHECK(tape.jacobian(y * sum(x), x).dense().shape() == Shape{2, 0});
  CHECK(!tape.jacobian(exp(x), y));
  CHECK(tape.jacobian(exp(x), y, zeros_please).dense().shape() == Shape{0, 2});
  CHECK(same(*tape.jacobian(matmul(zeros({2, 0}), x) + y, y), {1, 0, 0, 1}));
}

TEST_CASE("jacobian uses up a tape that is not persistent, and stops it") {
  const Tensor x = tensor({1, 2, 3});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = exp(x);
  // Arguments are checked first, so an error does not use up the tape.
  CHECK_THROWS_AS(tape.jacobian(Tensor(), x), ValueError);
  CHECK_THROWS_AS(tape.jacobian(y, {x, Tensor()}), ValueError);
  CHECK(tape.active());
  CHECK(same(sum(*tape.jacobian(y, x)), {std::exp(1.) + std::exp(2.) + std::exp(3.)}));
  CHECK(!tape.active());
  CHECK(tape.stats().entries == 0);
  CHECK_THROWS_AS(tape.jacobian(y, x), TapeError);
  CHECK_THROWS_AS(tape.batch_jacobian(y, x), TapeError);
  CHECK_THROWS_AS(tape.gradient(y, x), TapeError);
  CHECK_THROWS_WITH(tape.jacobian(y, x), Catch::Contains("GradientTape.jacobian can only be called once"));
}

TEST_CASE("jacobian inside the scope of a persistent tape is recorded: its derivatives follow, to any order") {
  const Tensor x = tensor({2, 3});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x * x * x;
  const Tensor first = *tape.jacobian(y, x);
  const Tensor second = *tape.jacobian(first, x);
  const Tensor third = *tape.jacobian(second, x);
  CHECK(same(first, {32, 0, 0, 108}));
  CHECK(same(second, {48, 0, 0, 0, 0, 0, 0, 108}));
  Values expected(16);
  expected[0] = 48;
  expected[15] = 72;
  CHECK(same(third, expected));
  CHECK(third.shape() == Shape{2, 2, 2, 2});
}

TEST_CASE("jacobian by an inner tape is differentiated by an outer one: Hessian, Hessian of a Hessian's norm") {
  const Tensor x = tensor({0.5, -1, 2}), a = tensor({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}});
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor y = matmul(x, matmul(a, x));  // x^T A x
  const Tensor g = *inner.gradient(y, x);
  CHECK(same(*outer.jacobian(g, x), {2, 6, 10, 6, 10, 14, 10, 14, 18}));

  const auto quartic = [](const Tensor& p) { return sum(p * p * p * p) / 12; };  // Hessian: diag(p^2)
  const auto norm_of_hessian = [&](const Tensor& p) { return sum(square(hessian(quartic)(p))) / 12; };
  CHECK(same(hessian(norm_of_hessian)(x), {0.25, 0, 0, 0, 1, 0, 0, 0, 4}));
}

TEST_CASE("jacobian of a Jacobian through reductions, joins and softmax agrees with closed forms") {
  const Tensor x = tensor({0.1, 0.7, -0.4});
  const Values s = softmax(x).to_vector();
  Values first, second;
  const auto d = [](std::size_t i, std::size_t j) { return i == j ? 1. : 0.; };
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) first.push_back(s[i] * (d(i, j) - s[j]));
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t k = 0; k < 3; ++k)
        second.push_back(s[i] * ((d(i, k) - s[k]) * (d(i, j) - s[j]) - s[j] * (d(j, k) - s[k])));
  const auto f = [](const Tensor& p) { return softmax(p); };
  const auto jf = [&](const Tensor& p) { return jacobian(f)(p); };
  CHECK(same(jf(x), first));
  CHECK(same(jacobian(jf)(x), second));
}

TEST_CASE("a Jacobian with more rows than one pass carries is computed in several passes") {
  // The largest intermediate tensor has 2^20 elements, so a pass carries four rows. A tape that is not persistent must
  // not release entries before the last pass.
  const std::int64_t wide = std::int64_t{1} << 20;
  for (const std::int64_t n : {1, 3, 4, 5, 9}) {
    const Tensor x = linspace(1, static_cast<double>(n), n);
    for (const bool persistent : {true, false}) {
      GradientTape tape({.persistent = persistent});
      tape.watch(x);
      const Tensor y = x * mean(broadcast_to(sum(x), {wide})), sums = matmul(tril(ones({n, n})), y);
      // d (x_i s) / d x_k = [i = k] s + x_i, summed over the rows up to i
      const double s = static_cast<double>(n * (n + 1)) / 2;
      Values rows, expected;
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t k = 0; k < n; ++k) {
          rows.push_back((i == k ? s : 0) + static_cast<double>(i + 1));
          expected.push_back(rows.back() + (i == 0 ? 0 : expected[static_cast<std::size_t>((i - 1) * n + k)]));
        }
      if (persistent) CHECK(same(*tape.jacobian(y, x), rows));
      const Tensor j = *tape.jacobian(sums, x);
      CHECK(j.shape() == Shape{n, n});
      CHECK(same(j, expected));
      CHECK(tape.active() == persistent);
    }
  }
}

TEST_CASE("a source that some passes of a Jacobian do not reach has zeros in their rows") {
  constexpr std::int64_t wide = std::int64_t{1} << 20, n = 9;  // four rows a pass
  const Tensor x = linspace(1, 9, n), w = ones({n});
  for (const auto& [from, to] : {std::pair(4, 9), std::pair(0, 8)}) {
    const auto some = [first = from, last = to](std::span<const Gradient> g) {
      const auto row = argmax(*g[0], 0).item<std::int64_t>();
      return std::vector<Gradient>{row >= first && row < last ? Gradient(*g[0] * 2) : Gradient()};
    };
    GradientTape tape;
    tape.watch(x);
    tape.watch(w);
    const Tensor y = twice(w, some) + x * mean(broadcast_to(sum(x), {wide}));
    Values expected(n * n);
    for (int i = from; i < to; ++i) expected[static_cast<std::size_t>(10 * i)] = 2;
    CHECK(same(*tape.jacobian(y, std::vector{x, w})[1], expected));
  }
}

TEST_CASE("a Jacobian through a tensor that is too large for one pass takes a row at a time") {
  const Tensor x = tensor({1, 2, 3});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = mean(broadcast_to(expand_dims(x * x, 1), {3, std::int64_t{1} << 21}), 1);
  CHECK(same(*tape.jacobian(y, x), {2, 0, 0, 0, 4, 0, 0, 0, 6}));
}

TEST_CASE("a Jacobian through gathered rows of a result, with hooks, starts each row anew") {
  const VSpace space;
  const Tensor x = tensor({1, 2, 3});
  GradientTape tape({.vspace = &space});
  tape.watch(x);
  CHECK(same(*tape.jacobian(gather(x * x, tensor<int>({2, 0})), x), {0, 0, 6, 2, 0, 0}));
}

TEST_CASE("S39: the last pass of a Jacobian frees each value after its last use") {
  constexpr std::int64_t rows = std::int64_t{1} << 15;
  const VSpace one_by_one;
  for (const VSpace* space : {static_cast<const VSpace*>(nullptr), &one_by_one}) {
    const auto live_bytes = [space](bool persistent) {  // when the first entry of the tape is replayed last
      std::int64_t seen = 0;
      const Tensor x = tensor({1, 2});
      GradientTape tape({.persistent = persistent, .vspace = space});
      tape.watch(x);
      const Tensor first = twice(x, [&](std::span<const Gradient> g) {
        seen = memory_stats().live_bytes;
        return std::vector<Gradient>{*g[0] * 2};
      });
      const Tensor y = sum(exp(broadcast_to(first, {rows, 2})), 0);  // exp keeps its result
      tape.stop();
      CHECK(tape.jacobian(y, x));
      return seen;
    };
    const std::int64_t kept = live_bytes(true);
    CHECK(kept - live_bytes(false) >= rows * 2 * static_cast<std::int64_t>(sizeof(double)));
  }
}

TEST_CASE("products of a vector and a matrix know rows of the identity from other cotangents") {
  const Tensor a = tensor({{1, 2, 3, 4}, {0, 5, 6, 7}, {0, 0, 8, 9}, {0, 0, 0, 10}, {0, 0, 0, 11}}),
               x = tensor({1, 2, 3, 4, 5});
  const Values expected = transpose(a).to_vector();
  const VSpace one_by_one;  // cotangents are single rows
  for (const VSpace* space : {static_cast<const VSpace*>(nullptr), &one_by_one}) {
    GradientTape tape({.persistent = true, .vspace = space});
    tape.watch(x);
    CHECK(same(*tape.jacobian(matmul(x, a), x), expected));
    CHECK(same(*tape.jacobian(matmul(transpose(a), x), x), expected));
  }
  // Groups of rows, of which there are as many as rows.
  const SparsityPattern pattern{
      {4, 5}, tensor<std::int64_t>({0, 1, 3, 6, 11}), tensor<std::int64_t>({0, 0, 1, 0, 1, 2, 0, 1, 2, 3, 4})};
  const auto f = [&](const Tensor& v) { return matmul(v, a); };
  CHECK(same(to_dense(sparse_jacobian(f, pattern)(x)), expected));
  const auto wide = [&](const Tensor& v) {  // two rows a pass
    return f(v) + 0.0 * mean(broadcast_to(sum(v), {std::int64_t{1} << 21}));
  };
  CHECK(same(to_dense(sparse_jacobian(wide, pattern)(x)), expected));
}

TEST_CASE("a Jacobian of one row, and of a target that is a source and was not watched") {
  const Tensor x = tensor({1, 2}), w = tensor({3, 4}), s = scalar(5.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(s);
  const auto of_one = tape.jacobian(sum(x), std::vector{x, s});
  CHECK(same(*of_one[0], {1, 1}));
  CHECK(of_one[1].reason() == WhyNone::not_connected);
  CHECK(same(*tape.jacobian(w, std::vector{x, w}, zeros_please)[0], {0, 0, 0, 0}));
  CHECK(same(*tape.jacobian(w, std::vector{x, w})[1], {1, 0, 0, 1}));
  CHECK(same(*tape.jacobian(w, std::vector{w, x})[0], {1, 0, 0, 1}));
  const Tensor by_scalar = *tape.jacobian(exp(x), std::vector{x, s}, zeros_please)[1];
  CHECK(by_scalar.shape() == Shape{2});
  CHECK(same(by_scalar, {0, 0}));
}

TEST_CASE("the rule of a user gets one cotangent at a time, in the shape of the output") {
  const Tensor x = tensor({{1, 2}, {3, 4}});
  int calls = 0;
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = exp(twice(exp(x), [&](std::span<const Gradient> g) {
    ++calls;
    CHECK(g[0].dense().shape() == Shape{2, 2});
    return std::vector<Gradient>{*g[0] * 2};
  }));
  const Tensor j = *tape.jacobian(y, x);
  CHECK(calls == 4);
  Values expected(16);
  for (std::size_t i = 0; i < 4; ++i) {
    const double v = std::exp(x.to_vector()[i]);
    expected[5 * i] = std::exp(2 * v) * 2 * v;
  }
  CHECK(same(j, expected));
}

TEST_CASE("a user's rule may return none, slices, or none for some rows only") {
  const Tensor x = tensor({1, 2, 3});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor never = twice(x, [](std::span<const Gradient>) { return std::vector<Gradient>(1); });
  CHECK(!tape.jacobian(never, x));
  CHECK(same(*tape.jacobian(never, x, zeros_please), Values(9)));
  const Tensor slices = twice(x, [](std::span<const Gradient>) {
    return std::vector<Gradient>{IndexedSlices{tensor({5, 7}), tensor<std::int64_t>({2, 2}), {3}}};
  });
  CHECK(same(*tape.jacobian(slices, x), {0, 0, 12, 0, 0, 12, 0, 0, 12}));
  const Tensor some = twice(x, [](std::span<const Gradient> g) {
    return std::vector<Gradient>{(*g[0])[1].item() != 0 ? Gradient(*g[0] * 2) : Gradient()};
  });
  CHECK(same(*tape.jacobian(some, x), {0, 0, 0, 0, 2, 0, 0, 0, 0}));
}

TEST_CASE("an exception or a wrong shape in a user's rule leaves the tapes in order") {
  const Tensor x = tensor({1, 2, 3});
  int calls = 0;
  const auto second_throws = [&](std::span<const Gradient> g) {
    if (++calls % 2 == 0) throw std::runtime_error("second");
    return std::vector<Gradient>{*g[0] * 2};
  };
  for (const bool persistent : {true, false}) {
    GradientTape tape({.persistent = persistent});
    tape.watch(x);
    const Tensor y = twice(x * x, second_throws);
    CHECK_THROWS_WITH(tape.jacobian(y, x), "second");
    if (persistent)
      CHECK(same(*tape.gradient(y, x), {4, 8, 12}));
    else
      CHECK_THROWS_AS(tape.gradient(y, x), TapeError);
    calls = 0;
  }
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = twice(x, [](std::span<const Gradient>) { return std::vector<Gradient>{ones({2})}; });
  CHECK_THROWS_AS(tape.jacobian(y, x), ShapeError);
}

TEST_CASE("an override replaces the library's rule for every row") {
  const Tensor x = tensor({1, 2});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = exp(x) * 3;
  const GradientRegistry::OverrideGuard guard(
      "exp", [](const RecordedOp&, std::span<const Gradient> g) { return std::vector<Gradient>{*g[0] * 10}; });
  CHECK(same(*tape.jacobian(y, x), {30, 0, 0, 30}));
  CHECK(same(jacobian([](const Tensor& p) { return exp(p); })(x), {10, 0, 0, 10}));
}

TEST_CASE("hooks of a VSpace see gradients of the tensors' own shapes, row by row") {
  struct Counting : VSpace {
    mutable int sums = 0;
    Gradient aggregate(std::span<const Gradient> terms) const override {
      ++sums;
      for (const Gradient& g : terms) CHECK(g.dense().shape() == Shape{3});
      return VSpace::aggregate(terms);
    }
  } space;
  const Tensor x = tensor({1, 2, 3});
  GradientTape tape({.vspace = &space});
  tape.watch(x);
  const Tensor y = x * x;
  CHECK(same(*tape.jacobian(y, x), {2, 0, 0, 0, 4, 0, 0, 0, 6}));
  CHECK(space.sums == 3);
  GradientTape other({.persistent = true, .vspace = &space});
  other.watch(x);
  CHECK(!other.jacobian(exp(x), ones({3})));
  CHECK(space.sums == 3);
}

TEST_CASE("gather and the gradients of slices are dense in a Jacobian") {
  const Tensor x = tensor({{1, 2}, {3, 4}, {5, 6}});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = sum(gather(x * x, tensor<std::int64_t>({2, 0, 2})), 1);
  const Gradient j = tape.jacobian(y, x);
  CHECK(!j.is_slices());
  CHECK(same(*j, {0, 0, 0, 0, 10, 12, 2, 4, 0, 0, 0, 0, 0, 0, 0, 0, 10, 12}));
  CHECK(!tape.jacobian(gather(x, 1)[0], x).is_slices());  // a single row: an ordinary replay
}

TEST_CASE("jacobian refuses complex targets and ranks beyond the largest") {
  const Tensor x = tensor({1, 2}), deep = ones(std::vector<std::int64_t>(max_rank / 2 + 1, 1));
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(deep);
  CHECK_THROWS_AS(tape.jacobian(cast(x, DType::complex128), x), TypeError);
  CHECK_THROWS_AS(tape.jacobian(exp(deep), deep), ShapeError);
  CHECK_THROWS_AS(tape.batch_jacobian(exp(deep), deep), ShapeError);
  CHECK_THROWS_WITH(tape.jacobian(exp(deep), deep), Catch::Contains("makes a rank above"));
  CHECK_THROWS_WITH(tape.batch_jacobian(exp(deep), deep), Catch::Contains("makes a rank above"));
  CHECK_THROWS_WITH(tape.jacobian(Tensor(), x), Catch::StartsWith("GradientTape.jacobian: target 0"));
  CHECK_THROWS_WITH(tape.batch_jacobian(Tensor(), x), Catch::StartsWith("GradientTape.batch_jacobian: target 0"));
  CHECK_THROWS_WITH(tape.batch_jacobian(x, Tensor()), Catch::StartsWith("GradientTape.batch_jacobian: source 0"));
  // The largest rank itself: a Jacobian of half of it by half of it, and a batch that both have.
  const Tensor half = reshape(deep, std::vector<std::int64_t>(max_rank / 2, 1));
  CHECK(tape.jacobian(exp(half), half).dense().rank() == max_rank);
  CHECK(tape.batch_jacobian(exp(half), deep).dense().rank() == max_rank);
  // At the largest rank there is no batch axis: rows are computed one after another.
  Shape longest = {2};
  while (longest.rank() < max_rank) longest.insert(0, 1);
  const Tensor y = reshape(exp(reshape(x, longest)), {2});
  CHECK(same(*tape.jacobian(y, x), {std::exp(1.), 0, 0, std::exp(2.)}));
}

TEST_CASE("jacobian of several thousand ops does not recurse") {
  const Tensor x = tensor({1, 1});
  GradientTape tape;
  tape.watch(x);
  Tensor y = x;
  for (int i = 0; i < 20000; ++i) y = y + x;
  CHECK(same(*tape.jacobian(y, x), {20001, 0, 0, 20001}));
}

TEST_CASE("batch_jacobian: the Jacobian of each element of the batch") {
  const Tensor x = tensor({{1, 2}, {3, 4}}), y = tensor({{3, 4}, {5, 6}});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(y);
  const Tensor z = x * x * y;
  const Tensor j = *tape.batch_jacobian(z, x);
  CHECK(j.shape() == Shape{2, 2, 2});
  CHECK(same(j, {6, 0, 0, 16, 30, 0, 0, 48}));
  CHECK(same(*tape.batch_jacobian(z, y), {1, 0, 0, 4, 9, 0, 0, 16}));
  CHECK(j.is_contiguous());
}

TEST_CASE("batch_jacobian of a layer: the weights times the slope of each element") {
  const Tensor x = tensor({{0.1, 0.2}, {0.3, -0.4}, {0.5, 0.6}}), w = tensor({{1, 2, 3, 4}, {5, 6, 7, 8}});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = reshape(tanh(matmul(x, w)), {3, 2, 2});
  const Tensor j = *tape.batch_jacobian(y, x);
  REQUIRE(j.shape() == Shape{3, 2, 2, 2});
  const Values xs = x.to_vector(), ws = w.to_vector();
  Values expected;
  for (std::size_t b = 0; b < 3; ++b)
    for (std::size_t o = 0; o < 4; ++o) {
      const double t = std::tanh(xs[2 * b] * ws[o] + xs[2 * b + 1] * ws[4 + o]);
      for (std::size_t i = 0; i < 2; ++i) expected.push_back((1 - t * t) * ws[4 * i + o]);
    }
  CHECK(same(j, expected));
  CHECK_THROWS_AS(tape.batch_jacobian(y, x), TapeError);
}

TEST_CASE("batch_jacobian: batches of scalars (rank 1), empty ones, and sums over what depends on the whole batch") {
  const Tensor x = tensor({2, 3}), empty = zeros({60, 0}), no_batch = zeros({0, 4});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(empty);
  tape.watch(no_batch);
  CHECK(same(*tape.batch_jacobian(x * x, x), {4, 6}));
  CHECK(same(*tape.batch_jacobian(x * sum(x), x), {5 + 5, 5 + 5}));
  CHECK(tape.batch_jacobian(exp(empty), empty).dense().shape() == Shape{60, 0, 0});
  CHECK(tape.batch_jacobian(slice(exp(no_batch), {all, range_to(3)}), no_batch).dense().shape() == Shape{0, 3, 4});
}

TEST_CASE("batch_jacobian of unconnected sources: none by default, zeros on request") {
  const Tensor x = zeros({6, 1}), y = zeros({6, 2, 3});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  CHECK(!tape.batch_jacobian(y, x));
  const Tensor j = *tape.batch_jacobian(y, x, zeros_please);
  CHECK(j.shape() == Shape{6, 2, 3, 1});
  CHECK(same(j, Values(36)));
}

TEST_CASE("batch_jacobian inside the scope of a persistent tape is differentiable") {
  const Tensor x = tensor({{1, 2}, {3, 4}});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor first = *tape.batch_jacobian(x * x * x, x);
  CHECK(same(first, {3, 0, 0, 12, 27, 0, 0, 48}));
  CHECK(same(*tape.batch_jacobian(first, x), {6, 0, 0, 0, 0, 0, 0, 12, 18, 0, 0, 0, 0, 0, 0, 24}));
}

TEST_CASE("batch_jacobian refuses different batches and tensors without a batch axis") {
  const Tensor x = ones({2, 3}), s = scalar(1.);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(s);
  const Tensor y = concatenate({x, x}, 0);
  CHECK_THROWS_AS(tape.batch_jacobian(y, x), ShapeError);
  CHECK_THROWS_WITH(tape.batch_jacobian(y, x), Catch::Contains("GradientTape.batch_jacobian: ") &&
                                                   Catch::Contains("[4, 3]") && Catch::Contains("[2, 3]"));
  CHECK_THROWS_AS(tape.batch_jacobian(sum(x), x), ShapeError);
  CHECK_THROWS_AS(tape.batch_jacobian(x * s, s), ShapeError);
  CHECK_THROWS_AS(tape.batch_jacobian(Tensor(), x), ValueError);
}

TEST_CASE("integers and booleans: constants of a Jacobian") {
  const Tensor x = tensor({1, 2});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = where(greater(x, 1.5), x * tensor<std::int64_t>({3, 5}), x);
  CHECK(same(*tape.jacobian(y, x), {1, 0, 0, 5}));
}

TEST_CASE("the functional jacobian and hessian by rows: many parameters, few results") {
  const std::int64_t n = 40;
  const Tensor x = linspace(0.1, 1, n);
  const Values v = x.to_vector();
  const Tensor h = hessian([](const Tensor& p) { return prod(p); })(slice(x, {range_to(3)}));
  CHECK(same(h, {0, v[2], v[1], v[2], 0, v[0], v[1], v[0], 0}));
  const Tensor j = jacobian([](const Tensor& p) { return stack({sum(p), sum(p * p)}); })(x);
  Values expected(static_cast<std::size_t>(n), 1.);
  for (const double e : v) expected.push_back(2 * e);
  CHECK(same(j, expected));
  const Tensor linear = hessian([&](const Tensor& p) { return sum(p * x); })(x);
  CHECK(linear.shape() == Shape{n, n});
  CHECK(same(linear, Values(static_cast<std::size_t>(n * n))));
}
