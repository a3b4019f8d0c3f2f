// Trees: which types are trees, the order of their leaves, and the type of results.
#include <map>
#include <reel/reel.hpp>
#include <string>

#include "catch.hpp"

using namespace reel;

namespace {

struct Layer {
  Tensor w, b;
  int width = 3;  // not a leaf
  auto leaves() { return std::tie(w, b); }
};
struct Model {
  std::vector<Layer> layers;
  std::map<std::string, Tensor> extra;
  auto leaves() { return std::tie(layers, extra); }
};
struct State {
  Variable w;
  Layer layer;
  auto leaves() { return std::tie(w, layer); }
};

static_assert(Tree<Tensor> && Tree<const Variable&> && Tree<Gradient> && Tree<IndexedSlices>);
static_assert(Tree<std::vector<Tensor>> && Tree<std::array<Variable, 2>> && Tree<std::pair<Tensor, Model>> &&
              Tree<State>);
static_assert(Tree<std::tuple<Variable&, const Tensor&>> && Tree<std::tuple<>>);
// Numbers are not leaves.
static_assert(!Tree<double> && !Tree<std::vector<double>> && !Tree<std::tuple<Tensor, double>> && !Tree<std::string>);

template <class R, class T, class Expected>
constexpr bool maps_to = std::is_same_v<map_t<R, T>, Expected>;
static_assert(maps_to<Gradient, Layer, std::tuple<Gradient, Gradient>>);
static_assert(maps_to<Gradient, std::map<int, Layer>, std::map<int, std::tuple<Gradient, Gradient>>>);
static_assert(maps_to<Gradient, std::tuple<Variable&, const Tensor&>, std::tuple<Gradient, Gradient>>);
static_assert(maps_to<Gradient, std::vector<std::pair<Tensor, Variable>>, std::vector<std::pair<Gradient, Gradient>>>);
// Tensors fit back into a struct of tensors, not into one with a variable.
static_assert(maps_to<Tensor, Model, Model>);
static_assert(maps_to<Tensor, State, std::tuple<Tensor, Layer>>);

Model model() {
  return {{{tensor({1}), tensor({2})}, {tensor({3}), tensor({4})}}, {{"z", tensor({6})}, {"a", tensor({5})}}};
}

}  // namespace

TEST_CASE("leaves are ordered by position, by key, or as leaves() ties them") {
  std::vector<double> seen;
  const Model m = model();  // const: leaves() is called on a copy
  for_each_leaf(m, [&](const Tensor& leaf) { seen.push_back(leaf.item()); });
  CHECK(seen == std::vector<double>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("map_leaves keeps the structure and members that are not leaves") {
  Model m = model();
  m.layers[1].width = 7;
  const Model doubled = map_leaves<Tensor>(m, [](const Tensor& x) { return 2 * x; });
  CHECK(doubled.layers.size() == 2);
  CHECK(doubled.layers[1].width == 7);
  CHECK(doubled.layers[1].b.item() == 8);
  CHECK(doubled.extra.at("a").item() == 10);
  CHECK(m.layers[1].b.item() == 4);

  const auto as_tuple = map_leaves<int>(m.layers[0], [n = 0](const Tensor&) mutable { return ++n; });
  CHECK(as_tuple == std::tuple(1, 2));
  const std::array<Tensor, 3> list{tensor({1}), tensor({2}), tensor({3})};
  CHECK(map_leaves<int>(list, [n = 0](const Tensor&) mutable { return ++n; }) == std::array<int, 3>{1, 2, 3});
}

TEST_CASE("a tape takes trees as targets and sources (S77, S79)") {
  const Model m = model();
  GradientTape tape({.persistent = true});
  tape.watch(m);
  const Tensor y = m.layers[0].w * m.layers[1].b + m.extra.at("z");
  const auto g = tape.gradient(y, m);
  const auto& [layers, extra] = g;
  CHECK(std::get<0>(layers.at(0)).dense().item() == 4);
  CHECK_FALSE(std::get<1>(layers.at(0)));
  CHECK(std::get<1>(layers.at(1)).dense().item() == 1);
  CHECK(extra.at("z").dense().item() == 1);
  CHECK_FALSE(extra.at("a"));

  const std::map<std::string, Tensor> by_name{{"w", m.layers[0].w}, {"b", m.layers[1].b}};
  const Tensor twice = 2 * y;
  tape.stop();
  const std::map<std::string, Gradient> named = tape.gradient(std::pair(y, twice), by_name);
  CHECK(named.at("w").dense().item() == 12);
  CHECK(named.at("b").dense().item() == 3);
}

TEST_CASE("the gradient of one source is a Gradient, of a list a vector (S88)") {
  const Tensor x = tensor({1, 2});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = sum(x * x);
  tape.stop();
  static_assert(std::is_same_v<decltype(tape.gradient(y, x)), Gradient>);
  static_assert(std::is_same_v<decltype(tape.gradient(y, {x})), std::vector<Gradient>>);
  CHECK(tape.gradient(y, x).dense().to_vector() == std::vector<double>{2, 4});
  const std::vector<Gradient> repeated = tape.gradient(y, {x, x, y});
  REQUIRE(repeated.size() == 3);
  CHECK(repeated[0].dense().to_vector() == std::vector<double>{2, 4});
  CHECK(repeated[1].dense().to_vector() == std::vector<double>{2, 4});
  CHECK(tape.gradient({y, y}, x).dense().to_vector() == std::vector<double>{4, 8});
}

TEST_CASE("a struct of variables and tensors keeps its variables when its tensors are replaced") {
  const State state{Variable(scalar(3.)), {scalar(5.), scalar(7.)}};
  const Tensor x = scalar(2.);
  const auto f = [](const State& s, const Tensor& by) { return s.w * by + 10. * s.layer.w + 100. * s.layer.b * by; };
  const auto check = [&](const auto& entry) {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    tape.watch(state);
    const Tensor y = entry(state, x);
    CHECK(y.item() == 1456);
    CHECK(tape.gradient(y, x).dense().item() == 703);
    CHECK(tape.gradient(y, state.w).dense().item() == 2);
    CHECK(tape.gradient(y, state.layer.w).dense().item() == 10);
    CHECK(tape.gradient(y, state.layer.b).dense().item() == 200);
  };
  check(f);
  check(recompute_grad(f));
  check([&](const State& s, const Tensor& by) { return cond(true, f, f, s, by); });
  const auto custom = custom_gradient([&](const State& s, const Tensor& by) {
    return std::pair(s.layer.w * by + s.layer.b, [by](const Tensor& dy) {
      return std::tuple(std::vector<Tensor>{dy * 0., dy * by, dy}, none);
    });
  });
  CHECK(custom(state, x).item() == 17);
  const auto [w, layer] = while_loop([](const State& s) { return s.layer.w < 50.; },
                                     [](const State& s) {
                                       return State{s.w, {s.layer.w * s.w, s.layer.b + 1.}};
                                     },
                                     state);
  CHECK(layer.w.item() == 135);
  CHECK(layer.b.item() == 10);
}
