// Trains the network of samples/digits on several processes: mpirun -n 4 build/samples/mpi_digits [--data DIR]. A batch
// has eight shards, whatever the number of ranks, and a fixed tree sums their gradients: the weights have the same bits
// on 1, 2, 4 and 8 ranks, and the same fingerprint is printed.
//
// Checks that all ranks have the same weights, and that at least 97.0 % of the test digits are recognised.
#include "../digits/digits.hpp"

#include <bit>
#include <cstdint>
#include <cstdio>
#include <reel/mpi.hpp>
#include <reel/reel.hpp>
#include <string>
#include <vector>

#include "../chart/chart.hpp"

using digits::batch, digits::Network, reel::Tensor;

namespace {

constexpr int shards = 8;

// FNV-1a of the bits of all weights.
std::uint64_t fingerprint(Network& network) {
  std::uint64_t hash = 0xcbf29ce484222325;
  reel::for_each_leaf(network.leaves(), [&](const reel::Variable& weights) {
    for (const float weight : weights.read().to_vector<float>())
      hash = (hash ^ std::bit_cast<std::uint32_t>(weight)) * 0x100000001b3;
  });
  return hash;
}

// Whether x has the same value on all ranks.
bool same_everywhere(const reel::Communicator& ranks, std::uint64_t x) {
  const Tensor all = reel::all_gather(ranks, reel::scalar(std::bit_cast<std::int64_t>(x)));
  return reel::all(reel::equal(all, all[0])).item<bool>();
}

void train(const reel::Communicator& ranks, Network& network, const digits::Data& data, reel::Generator& generator) {
  const reel::Shards own(ranks, shards);
  digits::train(network, data, generator, [&](const Tensor& images, const Tensor& labels) {
    // What shard number `shard` contributes to the mean loss.
    const auto loss = [&](int shard) {
      constexpr std::int64_t size = batch / shards;
      const auto part = [&](const Tensor& x) {
        return reel::slice(x, {reel::range(shard * size, (shard + 1) * size)});
      };
      return reel::sum(network.losses(part(images), part(labels))) / double(batch);
    };
    return own.value_and_gradients(loss, network.leaves());
  });
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder;
  chart::read_arguments(argc, argv, {{"--data", "DIR", &folder}});
  const digits::Data data = digits::load(folder);
  const reel::Communicator ranks = reel::world();
  return reel::run_together(ranks, [&] {
    reel::Generator generator(1998);
    Network network(generator, 256, 128);
    train(ranks, network, data, generator);

    const std::uint64_t weights = fingerprint(network);
    const bool same = same_everywhere(ranks, weights);
    const Tensor right = reel::equal(reel::argmax(network(data.test.pixels), 1), data.test.labels);
    const double share = reel::mean(reel::cast(right, reel::DType::float64)).item();
    const bool good = same && share >= 0.97;
    if (ranks.rank() == 0)
      std::printf("%d ranks: %.2f %% of %lld test digits recognised, weights %016llx%s: %s\n", ranks.size(),
                  100 * share, static_cast<long long>(data.test.labels.size()),
                  static_cast<unsigned long long>(weights), same ? "" : ", not on all ranks",
                  good ? "good" : "FAILED: wanted 97 % and the same weights");
    return good ? 0 : 1;
  });
}
