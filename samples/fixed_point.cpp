// Derivatives of a fixed point z = f(z, theta) without a tape of the iterations that found it: by the implicit function
// theorem, dz = f_z dz + f_theta dtheta, so that a cotangent dy of z becomes f_theta^T u for theta, where
// u = dy + f_z^T u is a fixed point in its turn, with derivatives of its own. Hence derivatives of any order.
// Checked on Kepler's equation, against closed forms, and on a deep equilibrium layer (Bai, Kolter and Koltun 2019).
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <reel/reel.hpp>

using reel::Tensor;

namespace {

using Parameters = std::vector<Tensor>;
using Iteration = reel::Callback<Tensor(const Tensor& z)>;
// theta -> (z -> f(z, theta)): what depends on theta alone is computed once.
using Map = reel::Callback<Iteration(const Parameters& theta)>;

Tensor iterate(const Iteration& f, Tensor z) {
  for (int i = 0; i < 1000; ++i) {
    const Tensor next = f(z);
    const bool done = reel::max(reel::abs(next - z)).item() <= 2e-15 * (1 + reel::max(reel::abs(next)).item());
    z = next;
    if (done) return z;
  }
  std::printf("FAILED: no fixed point after 1000 iterations\n");
  std::exit(1);
}

Tensor fixed_point(const Map& f, const Tensor& start, const Parameters& parameters) {
  const auto solve = reel::custom_gradient([f, start](const Parameters& theta) {
    const Tensor z = iterate(f(theta), start);
    const auto backward = [f, z, theta](const Tensor& dy) {
      const auto apply = [f](const Tensor& at, const Parameters& by) { return f(by)(at); };
      // The parameters of the adjoint: dy, z and theta.
      Parameters known{dy, z};
      known.insert(known.end(), theta.begin(), theta.end());
      const Map adjoint = [apply](const Parameters& p) {
        const auto vjp = reel::make_vjp<0>(apply)(p[1], Parameters(p.begin() + 2, p.end())).second;
        return Iteration([vjp, dy = p[0]](const Tensor& u) { return dy + *vjp(u); });
      };
      const Tensor u = fixed_point(adjoint, dy, known);
      return reel::make_vjp<1>(apply)(z, theta).second(u);
    };
    return std::pair(z, backward);
  });
  return solve(parameters);
}

// The same value with every iteration on the tape.
Tensor unrolled(const Map& f, const Tensor& start, const Parameters& theta) { return iterate(f(theta), start); }

double difference(const Tensor& a, const Tensor& b) {
  return reel::max(reel::abs(a - b)).item() / (1 + reel::max(reel::abs(b)).item());
}
double difference(const Parameters& a, const Parameters& b) {
  double sum = 0;
  for (std::size_t i = 0; i < b.size(); ++i) sum += difference(a[i], b[i]);
  return sum;
}

bool check(const char* what, double error, double allowed) {
  const bool good = error <= allowed;
  std::printf("  %-58s %8.1e%s\n", what, error, good ? "" : "  FAILED");
  return good;
}

// Runs one problem both ways: first derivatives of sum(z^2), and the product of second derivatives with a direction.
bool compare(const char* name, const Map& f, const Tensor& start, const Parameters& theta) {
  struct Way {
    const char* name;
    Tensor (*z)(const Map&, const Tensor&, const Parameters&);
    Parameters gradient = {}, product = {};
    std::int64_t entries = 0;
  } ways[] = {{"implicit", fixed_point}, {"unrolled", unrolled}};
  Parameters direction;
  for (const Tensor& t : theta)
    direction.push_back(reel::cos(reel::reshape(reel::arange(double(t.size())), t.shape())));
  std::printf("%s\n  %-10s %8s %12s %14s %18s\n", name, "", "entries", "kept, KiB", "gradient, ms", "second order, ms");
  for (Way& way : ways) {
    const auto loss = [&](const Parameters& p) { return reel::sum(reel::square(way.z(f, start, p))); };
    reel::GradientTape tape;
    tape.watch(theta);
    const std::int64_t before = reel::memory_stats().live_bytes;
    const Tensor z = way.z(f, start, theta);
    const std::int64_t kept = reel::memory_stats().live_bytes - before;
    tape.stop();
    way.entries = tape.stats().entries;
    const auto begin = std::chrono::steady_clock::now();
    way.gradient = reel::grad(loss)(theta);
    const auto middle = std::chrono::steady_clock::now();
    way.product = reel::hvp(loss)(theta, direction);
    const auto end = std::chrono::steady_clock::now();
    const std::chrono::duration<double, std::milli> first = middle - begin, second = end - middle;
    std::printf("  %-10s %8lld %12.1f %14.2f %18.2f\n", way.name, static_cast<long long>(way.entries),
                double(kept) / 1024, first.count(), second.count());
  }
  bool good = ways[0].entries == 1 && ways[1].entries > 100;
  good &= check("gradient, implicit against unrolled", difference(ways[0].gradient, ways[1].gradient), 1e-10);
  good &= check("second order, implicit against unrolled", difference(ways[0].product, ways[1].product), 1e-10);
  return good;
}

}  // namespace

int main() {
  // E = M + e sin E.
  const Map kepler = [](const Parameters& p) {
    return Iteration([m = p[0], e = p[1]](const Tensor& z) { return m + e * reel::sin(z); });
  };
  constexpr std::int64_t orbits = 1000;
  const Tensor m = reel::linspace(0, 3, orbits), e = reel::linspace(0.05, 0.6, orbits);
  bool good = compare("Kepler's equation, 1000 orbits", kepler, m, {m, e});
  {
    reel::GradientTape outer;
    outer.watch(m);
    reel::GradientTape inner;
    inner.watch(std::pair(m, e));
    const Tensor z = fixed_point(kepler, m, {m, e});
    const auto [by_m, by_e] = inner.gradient(z, std::pair(m, e));
    const reel::Gradient twice = outer.gradient(by_m, m);
    const Tensor slope = 1 / (1 - e * reel::cos(z));
    good &= check("dE/dM = 1 / (1 - e cos E)", difference(*by_m, slope), 1e-12);
    good &= check("dE/de = sin E / (1 - e cos E)", difference(*by_e, reel::sin(z) * slope), 1e-12);
    good &= check("d2E/dM2 = -e sin E / (1 - e cos E)^3", difference(*twice, -e * reel::sin(z) * slope * slope * slope),
                  1e-12);
  }

  // z = tanh(z W + x U + b): a network of infinitely many equal layers.
  reel::Generator generator(2019);
  constexpr std::int64_t batch = 32, inputs = 16, width = 64;
  const Tensor x = reel::random_normal(generator, {batch, inputs});
  const Map layer = [x](const Parameters& p) {
    return Iteration([w = p[0], drive = reel::matmul(x, p[1]) + p[2]](const Tensor& z) {
      return reel::tanh(reel::matmul(z, w) + drive);
    });
  };
  const Parameters theta{reel::random_normal(generator, {width, width}, 0, 0.8 / std::sqrt(double(width))),
                         reel::random_normal(generator, {inputs, width}, 0, 0.1), reel::zeros({width})};
  good &= compare("equilibrium layer, batch 32, width 64", layer, reel::zeros({batch, width}), theta);
  std::printf("%s\n", good ? "one entry instead of every iteration, and the same derivatives: good" : "FAILED");
  return good ? 0 : 1;
}
