// save and load: trees with names, and training runs that continue bit for bit.
#include <array>
#include <cmath>
#include <map>
#include <reel/compile.hpp>
#include <tuple>
#include <vector>

#include "core/block.hpp"
#include "samples.hpp"

using namespace reel;
using Catch::Contains;

namespace {

struct Layer {
  Variable weight, bias;
  auto leaves() { return std::tie(weight, bias); }
  auto names() const { return std::array{"weight", "bias"}; }
};

struct Model {
  std::vector<Layer> layers;
  Tensor scale = scalar(1.0);
  auto leaves() { return std::tie(layers, scale); }
  auto names() const { return std::array{"layers", "scale"}; }
};

Model new_model(double value) {
  Model model;
  for (int i = 0; i < 2; ++i)
    model.layers.push_back({Variable(full({3, 3}, value + i), "weight"), Variable(full({3}, -value), "bias")});
  return model;
}

Tensor apply(const Model& model, Tensor x) {
  for (const Layer& layer : model.layers) x = tanh(matmul(x, layer.weight) + layer.bias);
  return x * model.scale;
}

template <class Optimizer>
void train(Model& model, Optimizer& optimizer, Generator& generator, int steps) {
  for (int i = 0; i < steps; ++i) {
    if (i == 2) optimizer.options.learning_rate = 0.003;
    const Tensor x = random_normal(generator, {4, 3});
    GradientTape tape;
    const Tensor loss = mean(square(apply(model, x) - x));
    std::vector<Variable> variables;
    for (const Layer& layer : model.layers) {
      variables.emplace_back(layer.weight);
      variables.emplace_back(layer.bias);
    }
    optimizer.step(tape.gradient(loss, variables), variables);
  }
}

void require_same(const Model& a, const Model& b) {
  std::vector<Tensor> left, right;
  for_each_leaf(a, [&](const Tensor& x) { left.push_back(x); });
  for_each_leaf(b, [&](const Tensor& x) { right.push_back(x); });
  for (std::size_t i = 0; i < left.size(); ++i) CHECK(support::same_bits(left[i], right[i]));
}

template <class Optimizer>
void continues(Optimizer optimizer, Optimizer other, const std::string& ending) {
  const support::TemporaryFolder folder;
  const std::string path = folder / ("run" + ending);
  Model model = new_model(0.5);
  Generator generator(7);
  train(model, optimizer, generator, 5);
  save(path, model, optimizer, generator);

  Model resumed = new_model(0.25);
  Generator drawn(1);
  train(resumed, other, drawn, 3);  // what it kept is replaced
  load(path, resumed, other, drawn);
  require_same(resumed, model);
  train(model, optimizer, generator, 5);
  train(resumed, other, drawn, 5);
  require_same(resumed, model);
  CHECK(double(other.options.learning_rate) == double(optimizer.options.learning_rate));
  CHECK(drawn.position() == generator.position());
}

}  // namespace

TEST_CASE("a training run continues bit for bit from a file") {
  for (const char* ending : {".npz", ".safetensors"}) {
    INFO(ending);
    continues(SGD({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}), SGD(), ending);
    continues(Adam({.learning_rate = 0.01, .beta1 = 0.8}), Adam(), ending);
    continues(AdamW({.learning_rate = 0.01, .weight_decay = 0.2}), AdamW(), ending);
    continues(RMSProp({.rho = 0.8}), RMSProp(), ending);
    continues(Adagrad({.epsilon = 1e-3}), Adagrad(), ending);
    continues(Lion({.beta2 = 0.9}), Lion(), ending);
  }
}

TEST_CASE("a training run of float16, bfloat16 or complex numbers continues bit for bit from a file") {
  const support::TemporaryFolder folder;
  for (const auto& [dtype, file] :
       {std::pair(DType::float16, "half.npz"), std::pair(DType::float16, "half.safetensors"),
        std::pair(DType::bfloat16, "short.safetensors"), std::pair(DType::complex128, "complex.npz")}) {
    INFO(file);
    const Variable w(cast(tensor({1., -2.}), dtype), "w"), v(zeros({2}, dtype), "w");
    const Tensor g = cast(tensor({1e-3, 0.5}), dtype);
    Adam adam({.learning_rate = 0.1}), other;
    adam.step(g, w);
    adam.step(g * 0.5, w);
    save(folder / file, w, adam);
    other.step(g, v);
    load(folder / file, v, other);
    CHECK(support::same_bits(w, v));
    for (int i = 0; i < 3; ++i) {
      adam.step(g, w);
      other.step(g, v);
    }
    CHECK(support::same_bits(w, v));
  }
}

TEST_CASE("state that the file lacks is that before the first step") {
  const support::TemporaryFolder folder;
  const Variable w(tensor({1., 2.}), "w");
  Adam fresh, used;
  save(folder / "fresh.npz", w, fresh);
  used.step(std::vector<Gradient>{tensor({1., -1.})}, {w});
  load(folder / "fresh.npz", w, used);
  CHECK(array_equal(w, tensor({1., 2.})));
  const Variable other(tensor({1., 2.}), "other");
  used.step(std::vector<Gradient>{tensor({.5, .25})}, {w});
  fresh.step(std::vector<Gradient>{tensor({.5, .25})}, {other});
  CHECK(support::same_bits(w, other));
}

TEST_CASE("leaves are named by their path in the tree") {
  const support::TemporaryFolder folder;
  save(folder / "model.npz", new_model(1));
  std::vector<std::string> names;
  for (const auto& entry : load_npz(folder / "model.npz")) names.push_back(entry.first);
  CHECK(names ==
        std::vector<std::string>{"layers.0.bias", "layers.0.weight", "layers.1.bias", "layers.1.weight", "scale"});

  const std::map<int, std::pair<Tensor, std::array<Tensor, 1>>> tree{{-3, {scalar(1.), {scalar(2.)}}}};
  save(folder / "tree.npz", tree);
  samples::require_same(load_npz(folder / "tree.npz"), {{"-3.0", scalar(1.)}, {"-3.1.0", scalar(2.)}});

  struct Unnamed {
    Tensor x = scalar(1.), y = scalar(2.);
    auto leaves() { return std::tie(x, y); }
  };
  save(folder / "unnamed.npz", Unnamed());
  samples::require_same(load_npz(folder / "unnamed.npz"), {{"0", scalar(1.)}, {"1", scalar(2.)}});

  save(folder / "leaf.npz", scalar(3.));
  Tensor leaf;
  load(folder / "leaf.npz", leaf);
  CHECK(leaf.item() == 3);
}

TEST_CASE("named: leaves and gradients by the names that save gives them") {
  const support::TemporaryFolder folder;
  const Model model = new_model(0.5);
  save(folder / "model.npz", model);
  samples::require_same(load_npz(folder / "model.npz"), named(model));
  samples::require_same(named(scalar(2.)), {{"value", scalar(2.)}});
  GradientTape tape({.persistent = true});
  const Tensor loss = sum(square(apply(model, ones({1, 3}))));
  const std::map<std::string, Gradient> gradients = named(model, tape.gradient(loss, model));
  REQUIRE(gradients.size() == 5);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string layer = "layers." + std::to_string(i);
    CHECK(array_equal(*gradients.at(layer + ".weight"), *tape.gradient(loss, model.layers[i].weight)));
    CHECK(array_equal(*gradients.at(layer + ".bias"), *tape.gradient(loss, model.layers[i].bias)));
  }
  CHECK_FALSE(gradients.at("scale"));  // not watched
  CHECK_FALSE(gradients.at("scale").why_none().empty());
  // Saved without none.
  save(folder / "gradients.safetensors", gradients);
  const NamedTensors read = load_safetensors(folder / "gradients.safetensors");
  CHECK(read.size() == 4);
  CHECK(array_equal(read.at("layers.1.bias"), *gradients.at("layers.1.bias")));
  // A list of gradients, and names of a struct in a map; gradients of tensors by a function.
  const std::map<std::string, Tensor> tree{{"b", tensor({1., 2.})}, {"a", scalar(3.)}};
  const auto of_map = grad([](const std::map<std::string, Tensor>& t) { return sum(t.at("b")) * t.at("a"); })(tree);
  CHECK(named(tree, of_map).at("a").dense().item() == 3);
  CHECK(array_equal(named(tree, std::vector<Gradient>{scalar(1.), ones({2})}).at("b").dense(), ones({2})));
  CHECK_THROWS_WITH(named(tree, std::vector<Gradient>{scalar(1.)}),
                    Contains("named: the tree has 2 leaves, there are 1 gradients"));
  CHECK_THROWS_WITH(named(std::map<std::string, Tensor>{{"x", Tensor()}}), Contains("named: 'x' is an empty handle"));
  const std::map<std::string, std::map<std::string, Tensor>> twice{{"a", {{"b.c", ones({1})}}},
                                                                   {"a.b", {{"c", ones({1})}}}};
  CHECK_THROWS_WITH(named(twice), Contains("named: two leaves are named 'a.b.c'"));
}

TEST_CASE("a file that does not fit the tree changes nothing") {
  const support::TemporaryFolder folder;
  const std::string path = folder / "x.npz";
  struct Pair {
    Variable w{ones({2}), "w"};
    Tensor t = ones({2}, DType::float32);
    auto leaves() { return std::tie(w, t); }
    auto names() const { return std::array{"w", "t"}; }
  } pair;
  const auto refused = [&](const NamedTensors& tensors, const std::string& text) {
    save_npz(path, tensors);
    CHECK_THROWS_AS(load(path, pair), IoError);
    CHECK_THROWS_WITH(load(path, pair), Contains(text));
    CHECK(array_equal(pair.w, ones({2})));
    CHECK(array_equal(pair.t, ones({2}, DType::float32)));
  };
  const Tensor w = zeros({2}), t = zeros({2}, DType::float32);
  refused({{"w", w}}, "holds no 't', but 'w'");
  refused({}, "holds no 'w', but no tensor");
  refused({{"0", w}, {"1", t}, {"2", t}, {"3", t}, {"4", t}, {"5", t}},
          "holds no 'w', but '0', '1', '2', '3', '4', ...");
  refused({{"w", w}, {"t", t}, {"u", t}}, "holds 'u', which nothing in the tree is named");
  refused({{"w", w}, {"t", zeros({3}, DType::float32)}}, "'t' is float32 [3], must be float32 [2]");
  refused({{"w", t}, {"t", t}}, "'w' is float32 [2], must be float64 [2]");
  Adam adam;
  save_npz(path, {{"w", w}, {"t", t}});
  CHECK_THROWS_WITH(load(path, pair, adam), Contains("holds no 'state.0.adam.learning_rate'"));
  CHECK(array_equal(pair.w, ones({2})));
  load(path, pair);
  CHECK(array_equal(pair.w, w));
  CHECK(array_equal(pair.t, t));
}

TEST_CASE("an optimiser is unchanged by a file that is refused") {
  const support::TemporaryFolder folder;
  const std::string path = folder / "x.npz";
  const Variable in(scalar(1.), "in"), out(scalar(1.), "out");
  Adam adam;
  adam.step(scalar(1.), in);
  save(path, in, adam);
  const NamedTensors complete = load_npz(path);
  const auto refused = [&](const std::string& name, const Tensor& value, const std::string& text) {
    NamedTensors tensors = complete;
    tensors.insert_or_assign(name, value);
    save_npz(path, tensors);
    Adam other;
    CHECK_THROWS_WITH(load(path, in, other), Contains(text));
    CHECK_NOTHROW(save(path, out, other));  // there is no state of `in`
  };
  refused("more", scalar(1.), "holds 'more', which nothing in the tree is named");
  refused("state.0.adam.square.value", zeros({2}), "must be float64 []");
  for (const std::int64_t count : {std::int64_t{-1}, INT64_MAX})
    refused("state.0.adam.steps.value", scalar(count), "no count of steps");
}

TEST_CASE("save refuses leaves that it cannot name or represent") {
  const support::TemporaryFolder folder;
  CHECK_THROWS_WITH(save(folder / "x.bin", scalar(1.)), Contains("must end with .npz or .safetensors"));
  CHECK_THROWS_WITH(load(folder / "x.bin", *std::make_unique<Tensor>()),
                    Contains("must end with .npz or .safetensors"));
  CHECK_THROWS_WITH(save(folder / "x.npz", std::vector<Tensor>(2)), Contains("'0' is an empty handle"));
  const std::map<std::string, std::map<std::string, Tensor>> clash{{"a", {{"b.c", scalar(1.)}}},
                                                                   {"a.b", {{"c", scalar(2.)}}}};
  CHECK_THROWS_WITH(save(folder / "x.npz", clash), Contains("two leaves are named 'a.b.c'"));
  const Variable in(scalar(1.), "in"), out(scalar(1.), "out");
  Adam adam;
  adam.step(std::vector<Gradient>{scalar(1.)}, {out});
  CHECK_THROWS_WITH(save(folder / "x.npz", in, adam),
                    Contains("adam keeps state of 1 variables that are no leaves of the tree"));
  CHECK_FALSE(std::filesystem::exists(folder / "x.npz"));
}

TEST_CASE("saving records nothing and watches nothing") {
  const support::TemporaryFolder folder;
  const Variable w(scalar(2.), "w");
  GradientTape tape;
  save(folder / "w.npz", w);
  CHECK(tape.watched_variables().empty());
}

TEST_CASE("variables that two leaves share are saved under both names") {
  const support::TemporaryFolder folder;
  const Variable w(scalar(2.), "w");
  Adam adam;
  adam.step(std::vector<Gradient>{scalar(1.)}, {w});
  save(folder / "w.npz", std::vector<Variable>{w, w}, adam);
  const Variable v(scalar(0.), "v");
  Adam other;
  load(folder / "w.npz", std::vector<Variable>{v, v}, other);
  for (auto* run : {&adam, &other}) run->step(std::vector<Gradient>{scalar(.5)}, {run == &adam ? w : v});
  CHECK(support::same_bits(w, v));
}

namespace {

template <class Optimizer>
void refuse_nan_rate(const std::string& path) {
  Variable v(ones({2}), "v");
  Optimizer optimizer;
  optimizer.step(ones({2}), v);
  optimizer.options.learning_rate = std::numeric_limits<double>::quiet_NaN();
  save(path, v, optimizer);
  optimizer.options.learning_rate = 0.5;
  v.assign(full({2}, 7.0));
  CHECK_THROWS_WITH(load(path, v, optimizer), Contains(path) && Contains("learning_rate is nan"));
  CHECK(optimizer.options.learning_rate == 0.5);
  CHECK(v.read()[0].item() == 7);
}

}  // namespace

TEST_CASE("a learning rate of NaN is refused when it is read, by every optimiser") {
  const support::TemporaryFolder folder;
  for (const char* name : {"x.npz", "x.safetensors"}) {
    refuse_nan_rate<SGD>(folder / name);
    refuse_nan_rate<Adam>(folder / name);
    refuse_nan_rate<AdamW>(folder / name);
    refuse_nan_rate<RMSProp>(folder / name);
    refuse_nan_rate<Adagrad>(folder / name);
    refuse_nan_rate<Lion>(folder / name);
  }
}

TEST_CASE("a load that runs out of memory changes nothing, however far it came") {
  const support::TemporaryFolder folder;
  Model saved = new_model(0.25), model = new_model(0.5);
  Adam trained, adam;
  Generator from(1), generator(2);
  train(saved, trained, from, 3);
  save(folder / "run.npz", saved, trained, from);
  // Some states exist, with numbers and tensors that are Variables; the others are new.
  train(model, adam, generator, 1);
  adam.forget(model.layers[1]);
  const auto step = compile([&] { adam.step(full({3}, 0.5), model.layers[0].bias); });
  step();
  save(folder / "before.npz", model, adam, generator);
  bool failed = true;
  for (std::int64_t n = 0; failed; n += 1 + n / 16) {
    INFO(n);
    const Tensor held = model.layers[0].weight.read();
    // Those of tensors; the memory of lists comes from the same pool.
    detail::fail_allocation_after(n);
    try {
      load(folder / "run.npz", model, adam, generator);
      failed = false;
    } catch (const std::bad_alloc&) {
    }
    detail::fail_allocation_after(-1);
    save(folder / "after.npz", model, adam, generator);
    samples::require_same(load_npz(folder / "after.npz"), load_npz(folder / (failed ? "before.npz" : "run.npz")));
  }
}
