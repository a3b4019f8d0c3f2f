// What data-parallel training costs on many ranks: mpirun -n 2 bench_mpi. Measures here
// 1. alpha and beta of t(n) = alpha + beta n, by messages of n bytes to and fro between two ranks;
// 2. all_reduce of several sizes, beside what the model says of it;
// 3. a step of the network of samples/digits, with the exchange behind the reverse pass and during it;
// and prints what the model says of a step on 1 to 1000 ranks. bench/README.md has the model.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <reel/mpi.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <tuple>
#include <vector>

using namespace reel;

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Seconds of f on the slowest rank: the fastest of several runs, after one that warms up. Other programs only add to
// it.
template <class F>
double time_of(const Communicator& ranks, int runs, F f) {
  f();
  double fastest = 1e9;
  for (int k = 0; k < runs; ++k) {
    all_reduce(ranks, scalar(0.));
    const double begin = now();
    f();
    fastest = std::min(fastest, all_reduce(ranks, scalar(now() - begin), MpiReduction::max).item());
  }
  return fastest;
}

struct Line {
  double alpha = 0, beta = 0;  // seconds, seconds per byte
  double operator()(double bytes) const { return alpha + beta * bytes; }
};

// Least squares of relative errors, since times span orders of magnitude.
Line fit(const std::vector<double>& bytes, const std::vector<double>& times) {
  double s0 = 0, s1 = 0, s2 = 0, t0 = 0, t1 = 0;
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    const double w = 1 / (times[k] * times[k]);
    s0 += w, s1 += w * bytes[k], s2 += w * bytes[k] * bytes[k];
    t0 += w * times[k], t1 += w * times[k] * bytes[k];
  }
  const double det = s0 * s2 - s1 * s1;
  return {(t0 * s2 - t1 * s1) / det, (t1 * s0 - t0 * s1) / det};
}

// One rank sends, the other answers: half of the time to and fro.
Line messages(const Communicator& ranks) {
  std::vector<double> sizes, times;
  for (std::int64_t n = 8; n <= 8 << 20; n *= 8) {
    const Tensor x = zeros({n}, DType::uint8);
    const int other = ranks.rank() ^ 1;
    const bool takes_part = ranks.rank() < 2;
    const double time = time_of(ranks, 31, [&] {
      sendrecv(ranks, x, takes_part && ranks.rank() == 0 ? other : no_rank,
               takes_part && ranks.rank() == 1 ? other : no_rank);
      sendrecv(ranks, x, takes_part && ranks.rank() == 1 ? other : no_rank,
               takes_part && ranks.rank() == 0 ? other : no_rank);
    });
    sizes.push_back(static_cast<double>(n));
    times.push_back(time / 2);
    if (ranks.rank() == 0) std::printf("message of %8lld bytes: %9.1f us\n", static_cast<long long>(n), time / 2 * 1e6);
  }
  return fit(sizes, times);
}

struct Model {
  Line message;  // between two ranks
  Line own;      // what an exchange costs a rank beside messages: packing, the ordered sum, unpacking

  // all-to-all by the cheaper of Bruck's algorithm and pairwise messages, then all-gather by recursive doubling.
  double messages(double bytes, double ranks) const {
    const double rounds = std::ceil(std::log2(ranks)), moved = bytes * (ranks - 1) / ranks;
    const double bruck = rounds * message(bytes / 2), pairwise = (ranks - 1) * message.alpha + message.beta * moved;
    return std::min(bruck, pairwise) + rounds * message.alpha + message.beta * moved;
  }
  double exchange(double bytes, double ranks) const { return ranks > 1 ? messages(bytes, ranks) + own(bytes) : 0; }
};

// Fits what messages do not explain, and prints both.
Model all_reduces(const Communicator& ranks, const Line& message) {
  Model model{message, {}};
  std::vector<double> sizes, times, rest;
  for (std::int64_t n = 1024; n <= 1 << 20; n *= 4) {
    const Tensor x = ones({n}, DType::float32);
    sizes.push_back(4. * static_cast<double>(n));
    times.push_back(time_of(ranks, 21, [&] { all_reduce(ranks, x); }));
    rest.push_back(times.back() - model.messages(sizes.back(), ranks.size()));
  }
  model.own = fit(sizes, rest);
  for (std::size_t k = 0; k < sizes.size() && ranks.rank() == 0; ++k)
    std::printf("all_reduce of %8.0f bytes: %9.1f us, model %9.1f us\n", sizes[k], times[k] * 1e6,
                model.exchange(sizes[k], ranks.size()) * 1e6);
  return model;
}

constexpr std::int64_t batch = 64;

// The network of samples/digits, with a squared error.
struct Network {
  Variable w1, b1, w2, b2, w3, b3;
  auto leaves() { return std::tie(w1, b1, w2, b2, w3, b3); }

  explicit Network(Generator& g, std::int64_t wide = 256, std::int64_t narrow = 128)
      : w1(random_normal(g, {64, wide}, 0, 0.1, DType::float32)),
        b1(zeros({wide}, DType::float32)),
        w2(random_normal(g, {wide, narrow}, 0, 0.1, DType::float32)),
        b2(zeros({narrow}, DType::float32)),
        w3(random_normal(g, {narrow, 10}, 0, 0.1, DType::float32)),
        b3(zeros({10}, DType::float32)) {}
  Tensor loss(const Tensor& x) const {
    const Tensor h = relu(matmul(relu(matmul(x, w1) + b1), w2) + b2);
    return mean(square(matmul(h, w3) + b3));
  }
  std::int64_t parameters() const { return w1.size() + b1.size() + w2.size() + b2.size() + w3.size() + b3.size(); }
};

// A step on `samples` rows alone: a part that every step costs, and a part for each row.
Line computation(const Communicator& ranks, Network& network, Generator& g) {
  std::vector<double> rows, times;
  for (std::int64_t n = 8; n <= 512; n *= 4) {
    const Tensor x = random_normal(g, {n, 64}, 0, 1, DType::float32);
    Adam adam({.learning_rate = 1e-3});
    rows.push_back(static_cast<double>(n));
    times.push_back(time_of(ranks, 101, [&] {
      GradientTape tape;
      const Tensor loss = network.loss(x);
      adam.step(tape.gradient(loss, network.leaves()), network.leaves());
    }));
  }
  return fit(rows, times);
}

// The gain of the exchange during the reverse pass, on networks of several sizes.
void overlap(const Communicator& ranks, Generator& g) {
  for (std::int64_t wide : {256, 512, 1024}) {
    Network network(g, wide, wide);
    const Tensor x = random_normal(g, {4 * batch, 64}, 0, 1, DType::float32);
    const auto sources = std::vector{network.w1, network.b1, network.w2, network.b2, network.w3, network.b3};
    const double alone = time_of(ranks, 31, [&] {
      GradientTape tape;
      tape.gradient(network.loss(x), sources);
    });
    const double behind = time_of(ranks, 31, [&] {
      GradientTape tape;
      const Tensor loss = network.loss(x);
      all_reduce_gradients(ranks, tape.gradient(loss, sources));
    });
    const double during = time_of(ranks, 31, [&] {
      GradientTape tape;
      const Tensor loss = network.loss(x);
      all_reduce_gradients(ranks, tape, loss, sources);
    });
    if (ranks.rank() == 0)
      std::printf("%8lld parameters: gradient %8.2f ms, exchanged behind the pass %8.2f ms, during it %8.2f ms\n",
                  static_cast<long long>(network.parameters()), alone * 1e3, behind * 1e3, during * 1e3);
  }
}

// Strong scaling divides one batch, weak scaling has the batch on every rank.
void predict(const Model& m, const Line& step, double parameters) {
  std::printf(
      "\n| ranks | exchange, us | step, batch of 64 in all, us | efficiency | step, 64 per rank, us | efficiency |\n");
  std::printf("|---|---|---|---|---|---|\n");
  const double alone = step(batch);
  double strong_limit = 0, weak_limit = 0;
  const auto efficiencies = [&](double ranks) {
    const double sent = m.exchange(4 * parameters, ranks);
    const double strong = step(batch / ranks) + sent, weak = alone + sent;
    return std::tuple(sent, strong, alone / (ranks * strong), weak, alone / weak);
  };
  for (int ranks = 2; ranks <= 1000; ++ranks) {
    const auto [sent, strong, of_strong, weak, of_weak] = efficiencies(ranks);
    if (of_strong >= 0.8) strong_limit = ranks;
    if (of_weak >= 0.8) weak_limit = ranks;
  }
  for (int ranks : {1, 2, 4, 8, 10, 16, 32, 64, 100, 256, 512, 1000}) {
    const auto [sent, strong, of_strong, weak, of_weak] = efficiencies(ranks);
    std::printf("| %d | %.0f | %.0f | %.0f %% | %.0f | %.0f %% |\n", ranks, sent * 1e6, strong * 1e6, 100 * of_strong,
                weak * 1e6, 100 * of_weak);
  }
  const auto limit = [](double ranks) { return std::max(1., ranks); };
  std::printf("\nefficiency of 80 %% up to %.0f ranks with one batch, %.0f ranks with a batch each\n",
              limit(strong_limit), limit(weak_limit));
  // Where the exchange is a quarter of the computation, the efficiency is 80 %.
  for (double ranks : {10., 100., 1000.})
    std::printf("80 %% on %.0f ranks needs %.0f rows per rank\n", ranks,
                std::max(1., (4 * m.exchange(4 * parameters, ranks) - step.alpha) / step.beta));
}

}  // namespace

int main() {
  const Communicator ranks = world({.check = false});
  return run_together(ranks, [&] {
    if (ranks.size() < 2) {
      std::printf("needs two ranks: mpirun -n 2\n");
      return 1;
    }
    set_num_threads(1);
    Generator g(1);
    Network network(g);
    const auto print = [&](const char* what, const Line& line) {
      if (ranks.rank() == 0)
        std::printf("%s: alpha %.1f us, beta %.3f ns per byte\n", what, line.alpha * 1e6, line.beta * 1e9);
    };
    const Model m = all_reduces(ranks, messages(ranks));
    print("messages", m.message);
    print("own", m.own);
    const Line step = computation(ranks, network, g);
    if (ranks.rank() == 0)
      std::printf("a step of %lld parameters: %.1f us + %.2f us per row\n",
                  static_cast<long long>(network.parameters()), step.alpha * 1e6, step.beta * 1e6);
    overlap(ranks, g);
    if (ranks.rank() == 0) predict(m, step, static_cast<double>(network.parameters()));
    return 0;
  });
}
