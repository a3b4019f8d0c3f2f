// Trains a network on several processes: mpirun -n 4 build/samples/mpi_network. A batch has eight shards, whatever the
// number of ranks; each rank computes the gradients of its shards, and a fixed tree sums them while the last of them
// are being computed.
//
// Checks that the weights have the bits of a training on one rank, if the number of ranks is a power of two, and that
// the network tells two spirals apart.
#include <cstdio>
#include <numbers>
#include <reel/mpi.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <tuple>
#include <vector>

using reel::Communicator, reel::Tensor, reel::Variable;

namespace {

constexpr std::int64_t points = 512, hidden = 24;
constexpr int shards = 8, steps = 400;

struct Network {
  Variable w1, b1, w2, b2;
  auto leaves() { return std::tie(w1, b1, w2, b2); }

  explicit Network(reel::Generator generator)
      : w1(reel::random_normal(generator, {2, hidden}), "w1"),
        b1(reel::random_normal(generator, {hidden}), "b1"),
        w2(reel::random_normal(generator, {hidden, 1}, 0, 0.3), "w2"),
        b2(reel::zeros({1}), "b2") {}
  Tensor operator()(const Tensor& x) const { return reel::matmul(reel::sin(reel::matmul(x, w1) + b1), w2) + b2; }
};

struct Spirals {
  Tensor x, label;  // [points, 2], [points, 1]
};
Spirals spirals(reel::Generator& generator) {
  const Tensor label = reel::cast(reel::random_bernoulli(generator, {points, 1}, 0.5), reel::DType::float64);
  const Tensor turn = reel::random_uniform(generator, {points, 1}, 0.5, 3.0);
  const Tensor angle = std::numbers::pi * (turn + label);
  return {reel::concatenate({turn * reel::cos(angle), turn * reel::sin(angle)}, 1), label};
}

// What shard number `shard` contributes to the mean loss.
Tensor loss(const Network& network, const Spirals& data, int shard) {
  constexpr std::int64_t size = points / shards;
  const auto part = [&](const Tensor& x) { return reel::slice(x, {reel::range(shard * size, (shard + 1) * size)}); };
  return reel::sum(reel::sigmoid_cross_entropy(network(part(data.x)), part(data.label))) / double(points);
}

// gradients() has one tensor for each variable of the network, in a structure that Adam takes.
template <class Gradients>
void train(Network& network, Gradients gradients) {
  reel::Adam adam({.learning_rate = 0.02});
  for (int step = 0; step < steps; ++step) adam.step(gradients(), network.leaves());
}

using Layers = std::vector<Tensor>;  // a tensor for each variable

// The sum over all shards, by the tree that the ranks share.
Layers on_one(Network& network, const Spirals& data) {
  std::vector<Layers> level;
  for (int shard = 0; shard < shards; ++shard) {
    reel::GradientTape tape;
    const Tensor of_shard = loss(network, data, shard);
    const auto [w1, b1, w2, b2] = tape.gradient(of_shard, network.leaves());
    level.push_back({*w1, *b1, *w2, *b2});
  }
  for (; level.size() > 1; level.resize(level.size() / 2))
    for (std::size_t k = 0; 2 * k < level.size(); ++k)
      for (std::size_t leaf = 0; leaf < level[0].size(); ++leaf)
        level[k][leaf] = level[2 * k][leaf] + level[2 * k + 1][leaf];
  return level[0];
}

}  // namespace

int main() {
  const Communicator ranks = reel::world();
  return reel::run_together(ranks, [&] {
    reel::Generator generator(7);
    const Spirals data = spirals(generator);
    Network network(generator), alone(generator);
    const reel::Shards own(ranks, shards);
    train(network, [&] {
      return own.value_and_gradients([&](int shard) { return loss(network, data, shard); }, network.leaves()).second;
    });
    train(alone, [&] { return on_one(alone, data); });

    const bool same_bits = reel::array_equal(network.w1, alone.w1) && reel::array_equal(network.b1, alone.b1) &&
                           reel::array_equal(network.w2, alone.w2) && reel::array_equal(network.b2, alone.b2);
    const bool power_of_two = (ranks.size() & (ranks.size() - 1)) == 0;
    const Tensor right = reel::equal(network(data.x) > 0, data.label);
    const double share = reel::mean(reel::cast(right, reel::DType::float64)).item();
    const bool good = (same_bits || !power_of_two) && share >= 0.95;
    if (ranks.rank() == 0)
      std::printf("%d ranks: %.1f %% of the points right, bits %s those of one rank: %s\n", ranks.size(), 100 * share,
                  same_bits ? "equal" : "differ from", good ? "good" : "FAILED: wanted 95 % and the same bits");
    return good ? 0 : 1;
  });
}
