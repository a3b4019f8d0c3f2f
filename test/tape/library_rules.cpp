// Rules of the library, tape::Rule, as replay and forward mode call them: what they get for results without a
// cotangent, what they may read, and what happens if one has no jvp.
#include <reel/reel.hpp>

#include "catch.hpp"
#include "tape/record.hpp"

using namespace reel;
using Catch::Contains;

namespace {

using Values = std::vector<double>;

// The cotangents that the rule got in its last call; empty handles stand for none. Empty between test cases.
std::vector<Tensor> got;
struct Clear {
  ~Clear() { got.clear(); }
};

void first_plus_second(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  got.assign(g.begin(), g.end());
  Tensor sum;
  for (const Tensor& part : g)
    if (part.defined() && is_floating(part.dtype())) sum = sum.defined() ? sum + part : part;
  if (r.wanted(0)) dx[0] = sum;
}
constexpr tape::Rule zeros_for_missing{.name = "two", .vjp = first_plus_second};
constexpr tape::Rule none_for_missing{.name = "two", .vjp = first_plus_second, .accepts_none = true};

std::vector<Tensor> two(const tape::Rule& rule, const Tensor& x, DType second = DType::float64) {
  const std::vector<Tensor> y = {from_data(x.to_vector(), x.shape()), full(x.shape(), 2, second)};
  const Tensor *in[] = {&x}, *out[] = {&y[0], &y[1]};
  tape::record(rule, in, out);
  return y;
}

}  // namespace

TEST_CASE("S34: a rule gets zeros for a result without a cotangent, or nothing if it accepts that") {
  const Clear clear;
  const Tensor x = tensor({1., 2.});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const std::vector<Tensor> a = two(zeros_for_missing, x), b = two(none_for_missing, x),
                            c = two(zeros_for_missing, x, DType::int64);
  tape.stop();
  CHECK((*tape.gradient(a[0], x)).to_vector() == Values{1, 1});
  REQUIRE(got.size() == 2);
  REQUIRE(got[1].defined());
  CHECK(got[1].to_vector() == Values{0, 0});
  CHECK((*tape.gradient(a[0], x, {.stop_gradients = a[1]})).to_vector() == Values{1, 1});
  CHECK(got[1].to_vector() == Values{0, 0});
  // A stopped result contributes nothing, whatever its cotangent.
  for (const Tensor& of_stopped : {a[1] * 5, a[1]}) {
    CHECK((*tape.gradient({a[0], of_stopped}, x, {.stop_gradients = a[1]})).to_vector() == Values{1, 1});
    CHECK(got[1].to_vector() == Values{0, 0});
  }
  CHECK((*tape.gradient(b[0], x)).to_vector() == Values{1, 1});
  CHECK_FALSE(got[1].defined());
  CHECK((*tape.gradient(c[0], x)).to_vector() == Values{1, 1});
  CHECK_FALSE(got[1].defined());  // of integers there are no cotangents
  // The plan counts the zeros that are made: 16 bytes.
  CHECK(tape.plan(a[0], x).peak_bytes == tape.plan(b[0], x).peak_bytes + 16);
}

TEST_CASE("S34: zeros for missing cotangents have the batch axis in a batched pass") {
  const Clear clear;
  const Tensor x = tensor({1., 2.});
  constexpr tape::Rule batched{.name = "two", .vjp = first_plus_second, .batched = true};
  GradientTape tape;
  tape.watch(x);
  const Tensor y = two(batched, x)[0];
  CHECK((*tape.jacobian(y, x)).to_vector() == Values{1, 0, 0, 1});
  REQUIRE(got[1].defined());
  CHECK(got[1].shape() == Shape{2, 2});
}

TEST_CASE("a rule that makes large tensors inside limits the rows of a pass of a Jacobian") {
  const Clear clear;
  const Tensor x = linspace(1., 6., 6);
  constexpr tape::Rule large{
      .name = "two", .vjp = first_plus_second, .batched = true, .inner_elements = std::int64_t{1} << 20};
  GradientTape tape;
  tape.watch(x);
  CHECK((*tape.jacobian(two(large, x)[0], x)).to_vector() == eye(6).to_vector());
  CHECK(got[0].shape() == Shape{2, 6});  // in the second pass, after one of four rows
}

TEST_CASE("an op without a jvp is an error in forward mode; Jacobians use reverse mode") {
  const Clear clear;
  const Tensor x = scalar(3.0);
  const auto f = [](const Tensor& a) { return two(zeros_for_missing, a)[0]; };
  CHECK_THROWS_AS(jvp(f, x, 1.0), NotDifferentiable);
  CHECK_THROWS_WITH(jvp(f, x, 1.0), Contains("two: it has no jvp: forward mode cannot pass it"));
  CHECK_THROWS_WITH(linearize(f, x).second(1.0), Contains("two: it has no jvp: forward mode cannot pass it"));
  const auto wide = [&](const Tensor& a) { return f(a) * ones({9}); };
  CHECK(jacobian(wide)(x).to_vector() == Values(9, 1));
}

TEST_CASE("a rule that reads a value that is not kept is an error") {
  constexpr tape::Rule greedy{.name = "greedy",
                              .vjp = [](const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
                                dx[0] = g[0] * r.saved(1);
                              }};
  const Tensor x = scalar(3.0), y = scalar(4.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape::record(greedy, {&x}, y, {&x});
  CHECK_THROWS_AS(tape.gradient(y, x), ValueError);
  CHECK_THROWS_WITH(tape.gradient(y, x), Contains("greedy: its rule reads value 1, which the tape did not keep"));
}

#ifndef NDEBUG
TEST_CASE("in debug builds derivatives of another dtype or shape than the library's rules promise are refused") {
  constexpr tape::Rule narrow{
      .name = "narrow",
      .vjp = [](const tape::Record&, std::span<const Tensor> g,
                std::span<Gradient> dx) { dx[0] = cast(g[0], DType::float32); },
      .jvp = [](const tape::Record&, std::span<const Tensor>, std::span<Tensor> dy) { dy[0] = ones({3}); }};
  const Tensor x = tensor({1., 2.});
  const auto f = [&](const Tensor& a) { return two(narrow, a)[0]; };
  CHECK_THROWS_WITH(grad([&](const Tensor& a) { return sum(f(a)); })(x), Contains("Gradient type float32"));
  CHECK_THROWS_WITH(jvp(f, x, ones({2})), Contains("of shape [2] a tangent of shape [3]"));
  CHECK_THROWS_WITH(linearize(f, x).second(ones({2})), Contains("of shape [2] a tangent of shape [3]"));
}
#endif
