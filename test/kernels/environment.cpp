// Kernels in the floating-point environment of their host. In each of the four rounding modes a result stays near that
// of rounding to nearest. Ordinary arguments set no flag of an exception that hosts unmask, so no kernel computes such
// values in unselected or missing elements.
#include <cfenv>
#include <cmath>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/reductions.hpp"
#include "kernels/rows.hpp"
#include "kernels/table.hpp"
#include "references.hpp"
#include "support/numbers.hpp"

using namespace reel::kernels;
using reel::dtype_of;

namespace {

constexpr int signals = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW;
constexpr struct Mode {
  int mode;
  const char* name;
} directed[] = {{FE_UPWARD, "upward"}, {FE_DOWNWARD, "downward"}, {FE_TOWARDZERO, "toward zero"}};

// Operands g, x, y, w at which an op and its derivatives are smooth or at least finite, in any combination within a
// vector.
template <class T>
struct Arguments {
  static constexpr std::size_t count = 1024;
  std::vector<T> g, x, y, w, z;

  explicit Arguments(std::string_view name) : g(count), x(count), y(count), w(count), z(count) {
    std::mt19937_64 random(11);
    const bool unit = name == "arcsin" || name == "arccos" || name == "arctanh" || name == "erfinv";
    const bool fraction = name == "erfcinv" || name == "logit" || name == "ndtri";
    const bool of_order = name == "polygamma" || name == "erfcx_derivative";
    const bool positive = name == "log" || name == "log2" || name == "log10" || name == "sqrt" || name == "rsqrt" ||
                          name == "power" || name == "log1p" || name == "kl_div";
    const bool gamma = name == "lgamma" || name == "digamma" || name == "polygamma";
    for (std::size_t i = 0; i < count; ++i) {
      const auto uniform = [&](double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(random);
      };
      const double magnitude = i % 3 == 0 ? uniform(0.01, 1) : i % 3 == 1 ? uniform(1, 20) : std::exp(uniform(-12, 4));
      const double sign = random() % 2 == 0 ? 1 : -1;
      double a = unit                ? uniform(-0.99, 0.99)
                 : fraction          ? uniform(0.001, 0.999)
                 : name == "arccosh" ? 1 + magnitude
                 : positive          ? magnitude
                                     : sign * magnitude;
      if (name == "erfcx" || name == "erfcx_derivative") a = i % 8 == 0 ? 0 : uniform(-4, 40);
      if (name == "log_ndtr" && i % 8 == 0) a = uniform(-60, -40);
      if (gamma) a = i % 2 == 0 ? magnitude : -std::floor(uniform(0, 20)) - uniform(0.1, 0.9);
      double b = name == "power" ? uniform(-3, 3) : uniform(0.1, 3) * (random() % 2 == 0 ? 1 : -1);
      if (name == "kl_div") b = std::abs(b);
      if (name == "elu" || name == "sigmoid_cross_entropy") b = uniform(0, 1);
      g[i] = static_cast<T>(uniform(-2, 2));
      x[i] = static_cast<T>(a);
      y[i] = static_cast<T>(b);
      w[i] = static_cast<T>(b + uniform(0, 3));
      if (of_order) x[i] = static_cast<T>(i % 4), y[i] = static_cast<T>(a);
    }
  }
};

// Computes the value and the derivatives of an op in turn, each within `each`.
template <class T, class Each>
void for_loops(const Set& set, std::size_t op, std::string_view name, const Each& each) {
  Arguments<T> a(name);
  const Pointwise& loops = set.get<PointwiseKernels>().of(op, dtype_of<T>);
  const auto run = [&](std::ptrdiff_t from, std::ptrdiff_t n, int which, T* out) {
    const Strided values[] = {{a.x.data() + from, 1}, {a.y.data() + from, 1}, {a.w.data() + from, 1}};
    const Strided all[] = {{a.g.data() + from, 1}, values[0], values[1], values[2], {a.z.data() + from, 1}};
    if (which == 0)
      loops.value(values, out, n);
    else
      loops.derivative[which - 1](all, out, n);
  };
  run(0, Arguments<T>::count, 0, a.z.data());
  for (int which = 0; which < 4; ++which)
    if (which == 0 || loops.derivative[which - 1] != nullptr)
      each(a, which, [&](std::ptrdiff_t from, std::ptrdiff_t n, T* out) { run(from, n, which, out); });
}

template <class F>
void for_ops(const F& f) {
  std::size_t at = 0;
  std::apply([&](const auto&... d) { (f(d.name, at++), ...); }, table::definitions);
}

// Functions with steps: rounding an argument up or down gives another integer.
bool steps(std::string_view name, int which) {
  return name == "round" || ((name == "mod" || name == "floor_divide") && which >= 0);
}

template <class T>
void check_rounding(const Set& set, std::string_view name, std::size_t op) {
  if (steps(name, 0)) return;
  for_loops<T>(set, op, name, [&](const Arguments<T>& a, int which, const auto& run) {
    constexpr auto n = static_cast<std::ptrdiff_t>(Arguments<T>::count);
    std::vector<T> nearest(Arguments<T>::count), other(nearest);
    run(0, n, nearest.data());
    for (const Mode& mode : directed) {
      std::fesetround(mode.mode);
      run(0, n, other.data());
      std::fesetround(FE_TONEAREST);
      double worst = 0;
      std::size_t at = 0;
      for (std::size_t i = 0; i < nearest.size(); ++i) {
        const double value = static_cast<double>(nearest[i]);
        const double size = 1 + std::abs(value) + (name == "tan" ? value * value : 0);  // near a pole
        const double d = std::abs(static_cast<double>(other[i]) - static_cast<double>(nearest[i])) / size;
        if (!(d <= worst)) worst = d, at = i;
      }
      std::ostringstream what;
      what.precision(17);
      what << name << ", " << (which == 0 ? "value" : "derivative") << which << ", " << set.isa << ", " << 8 * sizeof(T)
           << " bits, " << mode.name << ": relative difference " << worst << " at x = " << a.x[at]
           << ", y = " << a.y[at] << ": " << other[at] << ", to nearest " << nearest[at];
      INFO(what.str());
      CHECK(worst <= (sizeof(T) == 4 ? 1e-4 : 1e-8));
    }
  });
}

template <class T>
void check_signals(const Set& set, std::string_view name, std::size_t op) {
  for_loops<T>(set, op, name, [&](const Arguments<T>& a, int which, const auto& run) {
    std::vector<T> out(Arguments<T>::count);
    for (std::ptrdiff_t from = 0; from < 200; ++from)
      for (const std::ptrdiff_t n : {1, 2, 3, 5, 16, 23}) {
        std::feclearexcept(FE_ALL_EXCEPT);
        run(from, n, out.data());
        const int raised = std::fetestexcept(signals);
        if (raised == 0) continue;
        std::ostringstream what;
        what.precision(17);
        what << name << ", " << (which == 0 ? "value" : "derivative") << which << ", " << set.isa << ", "
             << 8 * sizeof(T) << " bits, " << n << " elements:" << ((raised & FE_INVALID) != 0 ? " invalid" : "")
             << ((raised & FE_DIVBYZERO) != 0 ? " division by zero" : "")
             << ((raised & FE_OVERFLOW) != 0 ? " overflow" : "") << " at x =";
        for (std::ptrdiff_t i = 0; i < n; ++i) what << " " << a.x[static_cast<std::size_t>(from + i)];
        INFO(what.str());
        CHECK(raised == 0);
        return;
      }
  });
}

}  // namespace

TEST_CASE("every op of the table in the four rounding modes", "[once]") {
  for (const Set* set : supported_sets())
    for_ops([&](std::string_view name, std::size_t op) {
      check_rounding<float>(*set, name, op);
      check_rounding<double>(*set, name, op);
    });
}

TEST_CASE("no op of the table raises an exception at ordinary arguments") {
  for (const Set* set : supported_sets()) {
    int ops = 0;
    for_ops([&](std::string_view name, std::size_t op) {
      check_signals<float>(*set, name, op);
      check_signals<double>(*set, name, op);
      ++ops;
    });
    CHECK(ops > 60);
  }
}

namespace {

// The functions of rows and columns, and reductions, of n elements each: rows shorter and longer than a vector.
template <class T, class Each>
void for_row_functions(const Set& set, std::ptrdiff_t n, const Each& each) {
  constexpr std::ptrdiff_t rows = 5;
  const auto size = static_cast<std::size_t>(n * rows);
  std::mt19937_64 random(static_cast<std::uint64_t>(n));
  std::uniform_real_distribution<double> any(-3, 3);
  std::vector<T> g(size), x(size), share(size), z(size), per_row(rows), scale(size), out(2 * size);
  for (auto* v : {&g, &x, &per_row, &scale})
    for (T& e : *v) e = static_cast<T>(any(random));
  for (T& e : share) e = static_cast<T>(1 / static_cast<double>(n));
  const std::vector<std::int64_t> labels(rows, n - 1);
  const T epsilon = T(1e-3);
  const Rows& f = set.get<RowKernels>()[dtype_of<T>];
  const auto call = [&](const char* name, RowLoop loop, std::vector<const void*> in) {
    in.resize(6);
    each(name, out, [&] { loop(in.data(), out.data(), n, rows); });
  };
  call("softmax", f.softmax.rows, {x.data()});
  std::copy_n(out.begin(), size, z.begin());
  call("softmax_vjp", f.softmax_vjp.rows, {g.data(), z.data()});
  call("log_softmax", f.log_softmax.rows, {x.data()});
  std::copy_n(out.begin(), size, z.begin());
  call("log_softmax_vjp", f.log_softmax_vjp.rows, {g.data(), z.data()});
  call("logsumexp", f.logsumexp.rows, {x.data()});
  call("logsumexp of columns", f.logsumexp.columns, {x.data()});
  call("softmax of columns", f.softmax.columns, {x.data()});
  call("log_softmax of columns", f.log_softmax.columns, {x.data()});
  call("cross_entropy", f.cross_entropy, {x.data(), share.data()});
  call("cross_entropy_vjp", f.cross_entropy_vjp, {per_row.data(), x.data(), share.data()});
  call("sparse_cross_entropy", f.sparse_cross_entropy, {x.data(), labels.data()});
  call("sparse_cross_entropy_vjp", f.sparse_cross_entropy_vjp, {per_row.data(), x.data(), labels.data()});
  call("layer_norm", f.layer_norm, {x.data(), &epsilon, scale.data(), g.data()});
  call("squares", f.squares, {x.data(), per_row.data()});
  call("products", f.products, {g.data(), x.data(), per_row.data()});
  const char* names[] = {"sum", "prod", "max", "min"};
  for (std::size_t r = 0; r < 4; ++r)
    for (const std::ptrdiff_t stride : {1, 3})
      each(names[r], out, [&] {
        set.get<ReductionKernels>().reduce[r][index(dtype_of<T>)].run({x.data(), stride}, n, out.data());
      });
  each("dot", out, [&] {
    set.get<ReductionKernels>().dot[index(dtype_of<T>)]({x.data(), 1}, {g.data(), 1}, n, out.data());
  });
}

template <class T>
void check_row_functions(const Set& set, std::ptrdiff_t n) {
  for_row_functions<T>(set, n, [&](const char* name, std::vector<T>& out, const auto& run) {
    INFO(name << ", " << set.isa << ", " << 8 * sizeof(T) << " bits, rows of " << n);
    std::feclearexcept(FE_ALL_EXCEPT);
    run();
    CHECK(std::fetestexcept(signals) == 0);
    const std::vector<T> nearest = out;
    for (const Mode& mode : directed) {
      std::fesetround(mode.mode);
      run();
      std::fesetround(FE_TONEAREST);
      double worst = 0;
      for (std::size_t i = 0; i < out.size(); ++i)
        worst = support::worse(worst, std::abs(static_cast<double>(out[i] - nearest[i])) /
                                          (1 + std::abs(static_cast<double>(nearest[i]))));
      INFO(mode.name);
      CHECK(worst <= (sizeof(T) == 4 ? 1e-4 : 1e-8));
    }
    out = nearest;
  });
}

}  // namespace

TEST_CASE("functions of rows and reductions in any rounding mode, without exceptions") {
  for (const Set* set : supported_sets())
    for (std::ptrdiff_t n = 1; n < 70; n = n < 20 ? n + 1 : n + 7) {
      check_row_functions<float>(*set, n);
      check_row_functions<double>(*set, n);
    }
}
