// Finds the heat source below a plate on several processes: mpirun -n 4 build/samples/mpi_heat. The plate is cut into
// strips of rows, one per rank; each step of u' = u_xx + u_yy + q exchanges the rows at the cuts with the neighbours.
// The gradient of the misfit flows back through the exchanges.
//
// Rank 0 draws the picture: --svg FILE.
//
// Checks that the gradient is that of the whole plate on one rank, and that the misfit falls to the noise.
#include <algorithm>
#include <cstdio>
#include <reel/functions.hpp>
#include <reel/mpi.hpp>
#include <reel/reel.hpp>
#include <string>

#include "../chart/chart.hpp"

using reel::Communicator, reel::Tensor;

namespace {

constexpr std::int64_t n = 24, steps = 60;  // points inside an axis, steps in time
constexpr double spacing = 1. / (n + 1), diffusion = 0.2, h = diffusion * spacing * spacing;
constexpr double noise = 1e-4;

// One step: `wide` is u with a row of the neighbours above and below.
Tensor step(const Tensor& u, const Tensor& wide, const Tensor& source) {
  const Tensor padded = reel::pad(wide, {0, 1}, {0, 1});  // the plate's edge is cold
  const std::int64_t rows = u.shape()[0];
  const auto moved = [&](int i, int j) {
    return padded(reel::range(1 + i, 1 + i + rows), reel::range(1 + j, 1 + j + n));
  };
  return u + diffusion * (moved(-1, 0) + moved(1, 0) + moved(0, -1) + moved(0, 1) - 4 * u) + h * source;
}

Tensor heat(const Communicator& ranks, const Tensor& source) {
  Tensor u = reel::zeros_like(source);
  for (std::int64_t k = 0; k < steps; ++k) u = step(u, reel::halo_exchange(ranks, u, 1), source);
  return u;
}
Tensor heat_on_one(const Tensor& source) {
  Tensor u = reel::zeros_like(source);
  for (std::int64_t k = 0; k < steps; ++k) u = step(u, reel::pad(u, {1, 0}, {1, 0}), source);
  return u;
}

void draw(const std::string& file, const Tensor& source, const Tensor& picture, const Tensor& found) {
  const auto panel = [](const char* title, const char* note, const Tensor& x) {
    return chart::Panel{title, "", note, {}, {n, n, x.to_vector()}, 216};
  };
  chart::write(file, "A heat source found by several processes",
               {panel("source", "below the plate", source), panel("picture", "with noise", picture),
                panel("found", "each rank its rows", found)});
}

double sum_over_ranks(const Communicator& ranks, const Tensor& x) { return reel::all_reduce(ranks, x).item(); }

}  // namespace

int main(int argc, char** argv) {
  const std::string svg = chart::svg_argument(argc, argv);
  const Communicator ranks = reel::world();
  return reel::run_together(ranks, [&] {
    const Tensor x = spacing * (1 + reel::arange(double(n))), y = reel::expand_dims(x, 1);
    const Tensor source = 10 * reel::exp(-(reel::square(x - 0.3) + reel::square(y - 0.6)) / 0.02);
    reel::Generator generator(1822);
    const Tensor picture = heat_on_one(source) + reel::random_normal(generator, {n, n}, 0, noise);

    // The rows of this rank.
    const std::int64_t begin = n * ranks.rank() / ranks.size(), end = n * (ranks.rank() + 1) / ranks.size();
    const auto own = [&](const Tensor& whole) { return reel::slice(whole, {reel::range(begin, end)}); };
    const Tensor own_picture = own(picture);
    const auto misfit = [&](const Tensor& q) { return reel::sum(reel::square(heat(ranks, q) - own_picture)); };
    const auto gradient = reel::value_and_grad(misfit);

    const auto on_one = [&](const Tensor& q) { return reel::sum(reel::square(heat_on_one(q) - picture)); };
    const Tensor start = reel::ones({n, n}), expected = reel::grad(on_one)(start);
    const Tensor error =
        reel::max(reel::abs(gradient(own(start)).second - own(expected))) / reel::max(reel::abs(expected));
    const double differs = reel::all_reduce(ranks, error, reel::MpiReduction::max).item();

    // Gradient descent with the step of Barzilai and Borwein 1988. Each rank moves its own rows.
    Tensor q = own(reel::zeros({n, n})), last_q, last_g;
    double rate = 1e3, left = 0;
    int iterations = 0;
    for (; iterations < 500; ++iterations) {
      const auto [value, g] = gradient(q);
      left = sum_over_ranks(ranks, value);
      if (left <= 1.1 * noise * noise * n * n) break;
      if (last_g.defined()) {
        const Tensor moved = q - last_q, change = g - last_g;
        rate = sum_over_ranks(ranks, reel::sum(moved * moved)) / sum_over_ranks(ranks, reel::sum(moved * change));
      }
      last_q = q;
      last_g = g;
      q = q - rate * g;
    }
    const bool good = differs <= 1e-12 && iterations < 500;
    const Tensor found = reel::all_reduce(ranks, reel::pad(q, {begin, 0}, {n - end, 0}));  // the rows of all
    if (ranks.rank() == 0 && !svg.empty()) draw(svg, source, picture, found);
    if (ranks.rank() == 0)
      std::printf("%d ranks: gradient differs by %.1e from that of one, misfit %.2e after %d steps: %s\n", ranks.size(),
                  differs, left, iterations, good ? "good" : "FAILED: wanted 1e-12, and a misfit like the noise");
    return good ? 0 : 1;
  });
}
