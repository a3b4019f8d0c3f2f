// Two-dimensional flow of an incompressible fluid, by Fourier series: the vorticity w follows
// w_t + u w_x + v w_y = viscosity (w_xx + w_yy) on the periodic square of side 2 pi (Canuto et al., "Spectral Methods",
// 2007). Products are formed on the grid and dealiased by the 2/3 rule. Steps are those of the classical Runge-Kutta
// method with the viscous decay as integrating factor. The inverse problem: from the vorticity at the end, find that at
// the beginning. The loss and its derivative through all steps are compiled once.
//
// Checks the flow against the Taylor-Green vortices that a uniform wind carries along, the gradient against central
// differences, and the vorticity found against the true one.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <reel/compile.hpp>
#include <reel/fft.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <string>
#include <vector>

#include "chart/chart.hpp"
#include "terminal/progress.hpp"

using reel::Tensor;

namespace {

constexpr std::int64_t n = 32, steps = 40;
constexpr double side = 2 * std::numbers::pi, h = 0.025, viscosity = 0.01;

// Tables over the spectrum [n, n / 2 + 1] of rfft2: the frequencies in y and x, and which are kept.
struct Spectrum {
  Tensor ky = n * reel::expand_dims(reel::fftfreq(n), 1), kx = n * reel::rfftfreq(n);
  Tensor square = reel::square(kx) + reel::square(ky);
  Tensor kept = reel::cast(reel::maximum(reel::abs(kx), reel::abs(ky)) < n / 3., reel::DType::float64);
  Tensor iy = reel::make_complex(0 * ky, ky), ix = reel::make_complex(0 * kx, kx);  // derivatives by y and x
  Tensor inverse = 1 / reel::maximum(square, 1.);  // minus the inverse of the Laplace operator
  Tensor half_decay = reel::exp(-viscosity * h / 2 * square);
};

// The change of the spectrum by advection, -(u w_x + v w_y), with u = U + psi_y, v = -psi_x and -(psi_xx + psi_yy) = w.
Tensor advection(const Spectrum& s, const Tensor& w, double wind) {
  const Tensor psi = w * s.inverse;
  const Tensor fields = reel::irfft2(reel::stack({s.iy * psi, -s.ix * psi, s.ix * w, s.iy * w}));
  return -s.kept * reel::rfft2((fields[0] + wind) * fields[2] + fields[1] * fields[3]);
}

// The vorticity after all steps.
Tensor flow(const Tensor& start, double wind) {
  const Spectrum s;
  const auto step = [s, wind](const Tensor&, const Tensor& w) {
    const Tensor& e = s.half_decay;
    const Tensor a = h * advection(s, w, wind), b = h * advection(s, e * (w + a / 2), wind);
    const Tensor c = h * advection(s, e * w + b / 2, wind), d = h * advection(s, e * (e * w + c), wind);
    return e * (e * (w + a / 6) + (b + c) / 3) + d / 6;
  };
  return reel::irfft2(reel::fori_loop(steps, step, s.kept * reel::rfft2(start)));
}

// The grid's coordinates along an axis: y are rows, x columns.
Tensor grid() { return side / n * reel::arange(double(n)); }

// w = 2 cos(x - U t) cos(y) exp(-2 viscosity t) solves the equations (Taylor and Green 1937).
double error_of_vortices() {
  constexpr double wind = 0.7, time = steps * h;
  const Tensor x = grid(), y = reel::expand_dims(x, 1);
  const auto exact = [&](double t) {
    return 2 * std::exp(-2 * viscosity * t) * reel::cos(x - wind * t) * reel::cos(y);
  };
  return reel::max(reel::abs(flow(exact(0), wind) - exact(time))).item();
}

// Two vortices that turn alike and will merge, and a third one; their mean is taken off.
Tensor three_vortices() {
  const Tensor x = grid(), y = reel::expand_dims(x, 1);
  const auto vortex = [&](double at_x, double at_y, double strength) {
    return strength * reel::exp(4 * (reel::cos(x - at_x) + reel::cos(y - at_y) - 2));
  };
  const Tensor w = vortex(2.4, 3.1, 6) + vortex(3.9, 3.3, 6) + vortex(5.0, 1.0, -5);
  return w - reel::mean(w);
}

double distance(const Tensor& found, const Tensor& expected) {
  return (reel::norm(found - expected) / reel::norm(expected)).item();
}

template <class F>
double error_of_gradient(const F& loss, const Tensor& at) {
  reel::Generator generator(1937);
  const Tensor v = reel::random_normal(generator, at.shape());
  const double e = 1e-5, slope = reel::sum(reel::grad(loss)(at) * v).item();
  return std::abs(((loss(at + e * v) - loss(at - e * v)) / (2 * e)).item() / slope - 1);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string svg = chart::svg_argument(argc, argv);
  const double vortices = error_of_vortices();
  const Tensor start = three_vortices(), end = flow(start, 0);
  const auto loss = reel::compile([end](const Tensor& w) { return reel::mean(reel::square(flow(w, 0) - end)); });
  const double gradient = error_of_gradient(loss, 0.5 * start);

  const auto begin = std::chrono::steady_clock::now();
  terminal::Progress progress("evaluation");
  const auto counted = [&](const Tensor& w) {
    progress.step();
    return loss(w);
  };
  const auto found = reel::lbfgs(counted, reel::zeros({n, n}), {.gradient_tolerance = 1e-7});
  progress.erase();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  const double from_true = distance(found.parameters, start);
  const bool good = vortices <= 1e-8 && gradient <= 1e-6 && found.converged() && from_true <= 1e-3;
  if (!svg.empty()) {
    const auto panel = [](const char* title, const char* note, const Tensor& w) {
      return chart::Panel{title, "", note, {}, {n, n, w.to_vector(), side}, 216};
    };
    chart::write(svg, "Vorticity found backwards in time",
                 {panel("beginning", "the truth", start), panel("end", "what is seen", end),
                  panel("found", "from the end", found.parameters)});
  }
  std::printf("Taylor-Green vortices in a wind off by %.1e, gradient by %.1e\n", vortices, gradient);
  std::printf("beginning found from the end: %.1e off after %lld steps of L-BFGS in %.1f s: %s\n", from_true,
              static_cast<long long>(found.iterations), elapsed.count(),
              good ? "good" : "FAILED: wanted 1e-8, 1e-6 and 1e-3");
  return good ? 0 : 1;
}
