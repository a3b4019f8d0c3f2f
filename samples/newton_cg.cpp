// Minimises Rosenbrock's function of 10^4 variables by Newton's method, without the 10^8 entries of its Hessian:
// conjugate gradients ask for products with it alone, and a product costs about as much as a gradient (Pearlmutter
// 1994). A trust region keeps the steps in bounds (Steihaug 1983). Checks the minimum and the number of products.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <reel/reel.hpp>
#include <utility>

using reel::Tensor;

namespace {

constexpr std::int64_t n = 10000;

// A curved valley between each variable and the next; the minimum is 0, where all are 1.
Tensor rosenbrock(const Tensor& x) {
  const Tensor head = reel::slice(x, {reel::range(0, n - 1)}), tail = reel::slice(x, {reel::range(1, n)});
  return reel::sum(100 * reel::square(tail - reel::square(head)) + reel::square(1 - head));
}

double inner(const Tensor& a, const Tensor& b) { return reel::dot(a, b).item(); }
double length(const Tensor& a) { return std::sqrt(inner(a, a)); }

struct Step {
  Tensor p;
  double reduction;  // of the model, g.p + p.Hp / 2
  int products;
};

// Conjugate gradients on H p = -g from p = 0, until they are done, meet negative curvature or leave the radius.
template <class Product>
Step steihaug(const Product& hessian, const Tensor& g, double radius) {
  const double start = length(g), tolerance = std::min(0.1, std::sqrt(start)) * start;
  Tensor p = reel::zeros_like(g), residual = g, d = -g;
  double reduction = 0, rr = start * start;
  for (int products = 1;; ++products) {
    const Tensor hd = hessian(d);
    const double curvature = inner(d, hd), pp = inner(p, p), pd = inner(p, d), dd = inner(d, d);
    const double alpha = rr / curvature;
    if (curvature <= 0 || pp + 2 * alpha * pd + alpha * alpha * dd >= radius * radius) {
      const double rest = (std::sqrt(pd * pd + dd * (radius * radius - pp)) - pd) / dd;  // to the radius, along d
      return {p + rest * d, reduction + rest * rr - 0.5 * rest * rest * curvature, products};
    }
    p += alpha * d;
    residual += alpha * hd;
    reduction += 0.5 * alpha * rr;
    const double before = std::exchange(rr, inner(residual, residual));
    if (std::sqrt(rr) <= tolerance) return {p, reduction, products};
    d = rr / before * d - residual;
  }
}

// The shortest of many runs.
template <class F>
double microseconds(const F& f) {
  double best = 1e300;
  for (int i = 0; i < 200; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    best = std::min(best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

// Compares ways to multiply by the Hessian at x: their times, and whether they agree with a central difference of
// gradients.
bool compare_products(const Tensor& x, const Tensor& v) {
  const auto gradient = reel::grad(rosenbrock);
  const auto product = reel::hvp(rosenbrock);
  const auto linear = reel::linearize(gradient, x).second;
  const double h = 1e-5;
  const Tensor difference = (gradient(x + h * v) - gradient(x - h * v)) / (2 * h);
  const double unit = microseconds([&] { gradient(x); });
  const struct {
    const char* name;
    Tensor found;
    double time;
  } rows[] = {
      {"jvp(grad(f), x, v)", reel::jvp(gradient, x, v).second, microseconds([&] { reel::jvp(gradient, x, v); })},
      {"hvp(f)(x, v)", product(x, v), microseconds([&] { product(x, v); })},
      {"linearize(grad(f), x), each v", linear(v), microseconds([&] { linear(v); })},
  };
  bool good = true;
  std::printf("%-30s %12s %9s %18s\n", "product with the Hessian", "microseconds", "gradients", "against difference");
  for (const auto& row : rows) {
    const double error = length(row.found - difference) / length(difference);
    good &= error <= 1e-8;
    std::printf("%-30s %12.1f %9.2f %18.1e\n", row.name, row.time, row.time / unit, error);
  }
  return good;
}

}  // namespace

int main() {
  reel::Generator generator(1960);
  Tensor x = reel::random_uniform(generator, {n}, 0, 2);
  const bool products_agree = compare_products(x, reel::random_normal(generator, {n}));

  const auto start = std::chrono::steady_clock::now();
  double value = rosenbrock(x).item(), radius = 1;
  int products = 0;
  std::printf("\n%9s %9s %12s %12s %8s\n", "iteration", "products", "f", "|gradient|", "radius");
  for (int iteration = 0; iteration < 200; ++iteration) {
    // One forward and one backward pass. After that, a product costs a pass over what they left on the tape.
    const auto [g, hessian] = reel::linearize(reel::grad(rosenbrock), x);
    const double slope = length(g);
    if (iteration % 10 == 0 || slope < 1e-9)
      std::printf("%9d %9d %12.4e %12.4e %8.3f\n", iteration, products, value, slope, radius);
    if (slope < 1e-9) break;
    const Step step = steihaug(hessian, g, radius);
    products += step.products;
    const double trial = rosenbrock(x + step.p).item(), agreement = (value - trial) / step.reduction;
    if (agreement < 0.25)
      radius *= 0.25;
    else if (agreement > 0.75 && length(step.p) > 0.99 * radius)
      radius *= 2;
    if (agreement > 1e-4) {
      x += step.p;
      value = trial;
    }
  }
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

  constexpr int allowed = 600;
  const double error = reel::max(reel::abs(x - 1)).item();
  const bool good = error <= 1e-8 && products <= allowed && products_agree;
  std::printf("%lld variables, %d products with the Hessian in %.1f ms, largest distance from the minimum %.1e: %s\n",
              static_cast<long long>(n), products, elapsed.count(), error,
              good ? "good" : "FAILED: wanted products and minimum within 1e-8, and at most 600 products");
  return good ? 0 : 1;
}
