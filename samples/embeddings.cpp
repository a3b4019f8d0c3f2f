// Learns to predict the next character of a text from the 1, 2, 3 and 4 characters before it. The hash of each context
// selects a row of a table of embeddings. A step reads a few rows of the large table, so its gradient is IndexedSlices
// and Adam updates only those rows. --text FILE names the text. Checks that the context helps, that only the named rows
// change, and that the dense step gives the same result.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <set>

#include "chart/chart.hpp"
#include "terminal/progress.hpp"

using reel::DType, reel::Gradient, reel::Tensor, reel::Variable;

namespace {

constexpr std::int64_t orders = 4, buckets = 1 << 15, width = 32, batch = 64;
constexpr int epochs = 4, skipped = 77;  // exit status of a test that cannot run

struct Examples {
  Tensor contexts;  // int64 [n, orders], rows of the table
  Tensor next;      // int64 [n], characters by number
  std::int64_t size() const { return next.size(); }
  Examples part(std::int64_t from, std::int64_t to) const {
    return {reel::slice(contexts, {reel::range(from, to)}), reel::slice(next, {reel::range(from, to)})};
  }
  Examples at(const Tensor& rows) const { return {reel::gather(contexts, rows), reel::gather(next, rows)}; }
};

Examples examples(const std::string& text, std::map<char, std::int64_t>& alphabet) {
  std::vector<std::int64_t> contexts, next;
  for (std::size_t i = orders; i < text.size(); ++i) {
    std::uint64_t hash = 0xcbf29ce484222325;  // Fowler, Noll and Vo
    for (std::size_t k = 1; k <= orders; ++k) {
      hash = (hash ^ static_cast<unsigned char>(text[i - k])) * 0x100000001b3;
      contexts.push_back(static_cast<std::int64_t>((hash ^ hash >> 29) % buckets));
    }
    next.push_back(alphabet.emplace(text[i], static_cast<std::int64_t>(alphabet.size())).first->second);
  }
  const auto n = static_cast<std::int64_t>(next.size());
  return {reel::from_data(contexts, {n, orders}), reel::from_data(next)};
}

// The smallest mean loss of a prediction that knows the frequency of each character but not the context.
double entropy(const Tensor& characters) {
  std::map<std::int64_t, double> counts;
  for (std::int64_t c : characters.to_vector<std::int64_t>()) ++counts[c];
  double sum = 0;
  for (const auto& [c, count] : counts) sum -= count * std::log(count / double(characters.size()));
  return sum / double(characters.size());
}

struct Model {
  Variable table, weights, bias;
  auto leaves() { return std::tie(table, weights, bias); }
  Model(std::uint64_t seed, std::int64_t characters) : Model(reel::Generator(seed), characters) {}
  Model(reel::Generator g, std::int64_t characters)
      : table(reel::random_normal(g, {buckets, width}, 0, 0.1, DType::float32), "table"),
        weights(reel::random_normal(g, {width, characters}, 0, 1 / std::sqrt(double(width)), DType::float32),
                "weights"),
        bias(reel::zeros({characters}, DType::float32), "bias") {}

  /// The mean of -log of the probability given to the characters that came.
  Tensor loss(const Examples& e) const {
    const Tensor hidden = reel::tanh(reel::sum(reel::gather(table, e.contexts), 1));
    return reel::mean(reel::sparse_softmax_cross_entropy(reel::matmul(hidden, weights) + bias, e.next));
  }
};

// The gradients by the leaves of the model. Those of the table are dense if `dense`.
std::vector<Gradient> gradients(const Model& model, const Examples& e, bool dense) {
  reel::GradientTape tape;
  std::vector<Gradient> list = tape.gradient(model.loss(e), {model.table, model.weights, model.bias});
  if (dense) list[0] = list[0].dense();
  return list;
}

// One step from the same model with slices and with dense gradients: which rows change, and whether both agree.
bool check_step(const Examples& e, std::int64_t characters) {
  const Model sparse(1, characters), dense(1, characters);
  const std::vector<float> before = sparse.table.read().to_vector<float>();
  const std::vector<Gradient> g = gradients(sparse, e, false);
  reel::Adam().step(g, sparse);
  reel::Adam().step(gradients(dense, e, true), dense);
  const auto touched_rows = e.contexts.to_vector<std::int64_t>();
  const std::set<std::int64_t> touched(touched_rows.begin(), touched_rows.end());
  std::set<std::int64_t> changed;
  const std::vector<float> after = sparse.table.read().to_vector<float>();
  for (std::size_t i = 0; i < after.size(); ++i)
    if (after[i] != before[i]) changed.insert(static_cast<std::int64_t>(i) / width);
  const double apart = reel::max(reel::abs(sparse.table - dense.table)).item();
  std::printf(
      "one step: gradient of the table is %s; %zu of %lld rows named, %zu changed; dense step differs by %.1e\n",
      g[0].is_slices() ? "slices" : "dense", touched.size(), static_cast<long long>(buckets), changed.size(), apart);
  return g[0].is_slices() && touched == changed && apart <= 1e-6;
}

// Milliseconds per step.
double train(const Model& model, const Examples& e, bool dense, std::int64_t most_steps) {
  reel::Generator generator(3);
  reel::Adam adam({.learning_rate = 0.01});
  const std::int64_t steps = std::min(most_steps, epochs * (e.size() / batch));
  const auto start = std::chrono::steady_clock::now();
  terminal::Progress progress(dense ? "dense step" : "step", steps);
  Tensor order;
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::int64_t from = step % (e.size() / batch) * batch;
    if (from == 0) order = reel::random_permutation(generator, e.size());
    adam.options.learning_rate = 0.01 * (1 - double(step) / double(steps));
    adam.step(gradients(model, e.at(reel::slice(order, {reel::range(from, from + batch)})), dense), model);
    progress.step();
  }
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / double(steps);
}

}  // namespace

int main(int argc, char** argv) {
  std::string path = "samples/README.md";
  chart::read_arguments(argc, argv, {{"--text", "FILE", &path}});
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (text.size() < 5000) {
    std::fprintf(stderr, "embeddings: skipped; --text FILE must name a text of at least 5000 characters\n");
    return skipped;
  }
  std::map<char, std::int64_t> alphabet;
  const Examples all = examples(text, alphabet);
  const std::int64_t n = all.size(), most = n * 9 / 10;
  const Examples known = all.part(0, most), unseen = all.part(most, n);
  const auto characters = static_cast<std::int64_t>(alphabet.size());
  bool good = check_step(known.part(0, batch), characters);

  const Model model(2, characters);
  const double sparse_time = train(model, known, false, 1 << 30),
               dense_time = train(Model(2, characters), known, true, 50);
  std::printf("%12s %14s %22s\n", "", "loss", "without the context");
  const struct {
    const char* name;
    const Examples& examples;
    double wanted;
  } rows[] = {{"trained on", known, 0.5}, {"unseen", unseen, 0.9}};
  for (const auto& row : rows) {
    const double loss = model.loss(row.examples).item(), bound = entropy(row.examples.next);
    good &= loss < row.wanted * bound;
    std::printf("%12s %14.3f %22.3f\n", row.name, loss, bound);
  }
  std::printf(
      "%zu characters of %s; a step took %.3f ms, with dense gradients %.3f ms: %s\n", text.size(), path.c_str(),
      sparse_time, dense_time,
      good ? "good" : "FAILED: wanted slices, the rows named changed alone, and losses well below those on the right");
  return good ? 0 : 1;
}
