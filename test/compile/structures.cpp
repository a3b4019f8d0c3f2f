// The structure of arguments of compiled functions: sizes of vectors, keys of maps, and members of structs that are no
// leaves. A call with another structure has a program of its own.
#include <map>
#include <reel/compile.hpp>
#include <reel/reel.hpp>
#include <reel/sparse.hpp>
#include <string>

#include "catch.hpp"
#include "support/bits.hpp"
#include "support/ramp.hpp"
#include "support/warnings.hpp"

using namespace reel;
using support::same_bits;

namespace {

using Tensors = std::vector<Tensor>;

const Tensor a = scalar(1.), b = scalar(20.), c = scalar(300.);

// The sum of the elements, each list with a factor of its own.
Tensor weighted(const std::vector<Tensors>& lists) {
  Tensor y = scalar(0.);
  double factor = 1;
  for (const Tensors& list : lists) {
    for (const Tensor& x : list) y = y + factor * x;
    factor *= 10;
  }
  return y;
}

enum class Unit { metre, foot };

struct Layer {
  Tensor weights;
  int power = 1;
  std::string name = {};
  Unit unit = Unit::metre;
  auto leaves() { return std::tie(weights); }
  auto signature() const { return std::tie(power, name, unit); }
};

}  // namespace

TEST_CASE("compiled structures: lists of lists with as many leaves in other places") {
  const auto f = compile(weighted);
  std::int64_t programs = 0;
  for (const std::vector<Tensors>& lists : {std::vector<Tensors>{{a}, {b, c}},
                                            {{a, b}, {c}},
                                            {{a, b, c}},
                                            {{a, b, c}, {}},
                                            {{}, {a, b, c}},
                                            {{a}, {b}, {c}},
                                            {{a}, {}},
                                            {{a}},
                                            {{}, {a}},
                                            {{}, {}},
                                            {{}},
                                            {}}) {
    for (int call = 0; call < 2; ++call) CHECK(same_bits(f(lists), weighted(lists)));
    CHECK(f.stats().traces == ++programs);
  }
}

TEST_CASE("compiled structures: a leaf that moves from one argument to the next") {
  const auto f = compile([](const Tensors& x, const Tensors& y) { return weighted({x, y}); });
  CHECK(f(Tensors{a}, Tensors{b, c}).item() == 3201);
  CHECK(f(Tensors{a, b}, Tensors{c}).item() == 3021);
  CHECK(f(Tensors{}, Tensors{a, b, c}).item() == 3210);
}

TEST_CASE("compiled structures: maps with other keys, of every type of key") {
  const auto twice = [](const auto& map) {
    auto result = map;
    for (auto& [key, x] : result) x = x * 2.;
    return result;
  };
  const auto check = [&]<class K>(const std::vector<std::map<K, Tensor>>& maps) {
    const auto f = compile(twice);
    std::int64_t programs = 0;
    for (const auto& map : maps) {
      for (int call = 0; call < 2; ++call) {
        const auto y = f(map);
        REQUIRE(y.size() == map.size());
        for (const auto& [key, x] : map) CHECK(same_bits(y.at(key), x * 2.));
      }
      CHECK(f.stats().traces == ++programs);
    }
  };
  using Text = std::map<std::string, Tensor>;
  check(std::vector<Text>{{{"scale", a}},
                          {{"shift", a}},
                          {{"", a}},
                          {{"a long name of a parameter", a}},
                          {{"a long name of a paramete", a}},
                          {{std::string("scale\0", 6), a}},
                          {}});
  check(std::vector<std::map<int, Tensor>>{{{1, a}, {2, b}}, {{1, a}, {3, b}}, {{-1, a}}});
  check(std::vector<std::map<double, Tensor>>{{{0.5, a}}, {{0.25, a}}});
  check(std::vector<std::map<Unit, Tensor>>{{{Unit::metre, a}}, {{Unit::foot, a}}});
  using Pair = std::pair<std::string, std::vector<int>>;
  check(std::vector<std::map<Pair, Tensor>>{{{Pair("x", {1, 2}), a}}, {{Pair("x", {1}), a}}, {{Pair("y", {1}), a}}});
  const auto choose = compile([](const std::map<std::string, Tensor>& m) {
    return m.count("scale") ? 10. * m.at("scale") : m.at("shift") + 2.;
  });
  CHECK(choose(std::map<std::string, Tensor>{{"scale", b}}).item() == 200);
  CHECK(choose(std::map<std::string, Tensor>{{"shift", a}}).item() == 3);
}

TEST_CASE("compiled structures: what signature() of a struct returns has a program for each value") {
  const auto f = compile([](const std::vector<Layer>& layers) {
    Tensor y = scalar(0.);
    for (const Layer& layer : layers)
      y = y + pow(layer.weights, layer.power) * (layer.name == "last" ? 100. : 1.) *
                  (layer.unit == Unit::foot ? 0.3048 : 1.);
    return y;
  });
  const Tensor x = scalar(3.);
  for (int call = 0; call < 2; ++call) {
    CHECK(f(std::vector<Layer>{{x}}).item() == 3);
    CHECK(f(std::vector<Layer>{{x, 2}}).item() == 9);
    CHECK(f(std::vector<Layer>{{x, 2, "last"}}).item() == 900);
    CHECK(f(std::vector<Layer>{{x, 2, "last", Unit::foot}}).item() == 9 * 100. * 0.3048);
    CHECK(f(std::vector<Layer>{{x}, {x, 2}}).item() == 12);
    CHECK(f(std::vector<Layer>{{x, 3}, {scalar(1.), 7, "last"}}).item() == 127);
  }
  CHECK(f.stats().traces == 6);
}

TEST_CASE("compiled structures: tensors of a struct that are no leaves count by identity, empty ones too") {
  struct Scaled {
    Tensor x, scale;
    Variable offset;
    auto leaves() { return std::tie(x); }
    auto signature() const { return std::tie(scale, offset); }
  };
  const auto f = compile([](const Scaled& s) { return (s.scale.defined() ? s.x * s.scale : s.x) + s.offset; });
  const Variable one(scalar(1.)), two(scalar(2.));
  CHECK(f(Scaled{a, b, one}).item() == 21);
  CHECK(f(Scaled{b, b, one}).item() == 401);
  CHECK(f.stats().traces == 1);
  CHECK(f(Scaled{a, c, one}).item() == 301);
  CHECK(f(Scaled{a, {}, one}).item() == 2);
  CHECK(f(Scaled{a, b, two}).item() == 22);
  CHECK(f.stats().traces == 4);
}

TEST_CASE("compiled structures: sparse matrices of other patterns, with as many values") {
  const auto pattern = [](std::int64_t row, std::int64_t column) {
    return coo_to_csr(tensor<std::int64_t>({0, row}), tensor<std::int64_t>({0, column}), {2, 2});
  };
  const auto f = compile([](const Csr& m) { return std::pair(to_dense(m), Csr{m.pattern, m.values * 2.}); });
  const Tensor values = tensor({3, 4});
  const SparsityPattern one = pattern(0, 1), other = pattern(1, 0);
  for (const SparsityPattern& p : {one, other, one}) {
    const auto [dense, twice] = f(Csr{p, values});
    CHECK(same_bits(dense, to_dense({p, values})));
    CHECK(same_bits(to_dense(twice), to_dense({p, 2. * values})));
  }
  CHECK(f.stats().traces == 2);
}

TEST_CASE("compiled structures: the warning about evictions says that the structure varies") {
  WarningLog log;
  const auto f = compile([](const std::map<int, Tensor>& m) { return m.begin()->second; }, {.max_signatures = 1});
  for (int key = 0; key < 3; ++key) f(std::map<int, Tensor>{{key, a}});
  REQUIRE(log.texts.size() == 1);
  CHECK_THAT(log.texts[0], Catch::Contains("argument 1 (tree) took 2 structures"));
}

TEST_CASE("compiled structures: derivatives, checks and tapes follow each structure") {
  const auto f = compile([](const std::vector<Tensors>& lists) { return square(weighted(lists)); }, {.check = 2});
  for (const std::vector<Tensors>& lists : {std::vector<Tensors>{{a}, {b, c}}, {{a, b}, {c}}}) {
    GradientTape tape;
    tape.watch(c);
    const Tensor y = f(lists);
    CHECK(same_bits(*tape.gradient(y, c), 2. * weighted(lists) * 10.));
  }
}
