// Every function that the code of the pages differentiates is differentiated in every mode, at the same arguments. The
// wrappers here hide those of reel in the fragments; their functions are checked at the first call of each:
// 1. value and first derivative: reverse and forward mode, compiled, against central differences;
// 2. second derivative: reverse over reverse, forward over reverse, compiled, against central differences of the first.
// A mode that a fragment's functions do not have is listed in front of it, with the reason: <!-- modes without MODE:
// ... -->
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <reel/compile.hpp>
#include <reel/reel.hpp>
#include <string_view>
#include <thread>

namespace pages {

using reel::Tensor;
using Leaves = std::vector<Tensor>;
/// A function of the differentiable leaves of its arguments: a fixed combination of its results.
using Function = std::function<Tensor(const Leaves&)>;

/// The fragment that runs: where it stands, the modes that its functions do without, and whether they did.
struct Fragment {
  const char* place = "";
  std::vector<std::string_view> without;
  std::vector<std::string_view> missed;
};
inline Fragment fragment;
inline int functions = 0, failures = 0;
inline thread_local bool busy = false;  // a check or a checked function runs

inline bool is_without(std::string_view mode) {
  return std::find(fragment.without.begin(), fragment.without.end(), mode) != fragment.without.end();
}
inline void fail(std::string_view mode, const std::string& what) {
  fragment.missed.push_back(mode);
  if (is_without(mode)) return;
  ++failures;
  std::printf("%s: a function that is differentiated here, %s: %s\n", fragment.place, mode.data(), what.c_str());
}

inline Tensor weights(const Tensor& like, double first) {
  return reshape(cos(first + reel::arange(static_cast<double>(like.size()))), like.shape());
}
inline Leaves moved(const Leaves& x, const Leaves& along, double by) {
  Leaves list;
  for (std::size_t i = 0; i < x.size(); ++i) list.push_back(x[i] + by * along[i]);
  return list;
}
inline double dot(const Leaves& a, const Leaves& b) {
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) total += sum(a[i] * b[i]).item();
  return total;
}

/// The derivative of f at 0 by central differences of two steps, and how far these differ.
struct Difference {
  double slope, error;
};
inline Difference difference(const std::function<double(double)>& f) {
  const auto central = [&](double h) { return (f(h) - f(-h)) / (2 * h); };
  const double wide = central(2e-4), narrow = central(1e-4);
  return {narrow + (narrow - wide) / 3, std::abs(narrow - wide)};
}

class Check {
 public:
  Check(Function f, Leaves x) : f_(std::move(f)), x_(std::move(x)) {
    for (std::size_t i = 0; i < x_.size(); ++i) along_.push_back(weights(x_[i], 1 + static_cast<double>(i)));
  }
  void run() {
    double value = 0;
    attempt("value", [&] { value = f_(x_).item(); });
    const Function along = directional(f_);
    const double first = agreed(difference([&](double t) { return f_(moved(x_, along_, t)).item(); }), "reverse", f_);
    const double second =
        agreed(difference([&](double t) { return slope(f_, moved(x_, along_, t)); }), "second", along);
    compare("forward", first, [&] { return reel::jvp(f_, x_, along_).second.item(); });
    compare("forward over reverse", second, [&] { return dot(reel::jvp(reel::grad(f_), x_, along_).second, along_); });
    attempt("compiled", [&] {
      const auto program = reel::compile(f_);
      const Function compiled = [&](const Leaves& x) { return program(x); };
      if (!near(program(x_).item(), value, 1e-12)) fail("compiled", "another value");
      compare("compiled", first, [&] { return slope(compiled, x_); });
      compare("compiled", second, [&] { return slope(directional(compiled), x_); });
      const auto derivative = reel::compile(along);
      compare("compiled", second, [&] { return slope([&](const Leaves& x) { return derivative(x); }, x_); });
    });
  }

 private:
  double slope(const Function& f, const Leaves& x) const { return dot(reel::grad(f)(x), along_); }
  Function directional(const Function& f) const {
    return [f, along = along_](const Leaves& x) {
      const Leaves g = reel::grad(f)(x);
      Tensor total = reel::scalar(0.);
      for (std::size_t i = 0; i < g.size(); ++i) total = total + sum(g[i] * along[i]);
      return total;
    };
  }
  // Both are NaN, or differ little.
  static bool near(double a, double b, double tolerance) {
    return std::abs(a - b) <= tolerance * (1 + std::abs(b)) || a == b || (std::isnan(a) && std::isnan(b));
  }
  template <class F>
  static void attempt(std::string_view mode, const F& f) {
    try {
      f();
    } catch (const reel::Error& e) {
      fail(mode, e.what());
    }
  }
  template <class F>
  static void compare(std::string_view mode, double expected, const F& f) {
    attempt(mode, [&] {
      const double found = f();
      if (!near(found, expected, 1e-9))
        fail(mode, std::to_string(found) + ", in reverse mode " + std::to_string(expected));
    });
  }
  // The derivative in reverse mode, compared with differences.
  double agreed(const Difference& by_steps, std::string_view mode, const Function& f) const {
    double found = 0;
    attempt(mode, [&] { found = slope(f, x_); });
    const double tolerance = 1e-6 + 2 * by_steps.error / (1 + std::abs(by_steps.slope));
    if (!(std::abs(found - by_steps.slope) <= tolerance * (1 + std::abs(by_steps.slope))))
      fail("differences",
           std::string(mode) + " " + std::to_string(found) + ", by differences " + std::to_string(by_steps.slope));
    return found;
  }

  Function f_;
  Leaves x_, along_;
};

// On a thread of its own, which has none of the fragment's tapes.
inline void check(const Function& f, const Leaves& x) {
  if (is_without("all")) return fail("all", "");
  ++functions;
  std::thread([&] {
    busy = true;
    try {
      Check(f, x).run();
    } catch (const std::exception& e) {
      fail("value", e.what());
    }
  }).join();
}

/// A number that is differentiated by is a tensor.
template <class T>
decltype(auto) as_tensor(T& x) {
  if constexpr (std::is_floating_point_v<std::remove_cvref_t<T>>)
    return reel::scalar(x);
  else
    return (x);
}

template <class F, class... A>
void check_call(F& f, A&... args) {
  if (busy) return;
  const std::tuple<decltype(as_tensor(args))...> kept{as_tensor(args)...};
  std::apply(
      [&](auto&... x) {
        const Leaves leaves = reel::detail::TreeArguments<std::remove_reference_t<decltype(x)>...>::leaves(x...);
        if (std::any_of(leaves.begin(), leaves.end(), reel::detail::is_traced)) return;
        std::vector<std::size_t> places;
        Leaves start;
        for (std::size_t i = 0; i < leaves.size(); ++i)
          if (leaves[i].dtype() == reel::DType::float64) {
            places.push_back(i);
            start.push_back(reel::from_data(std::span<const double>(leaves[i].to_vector<double>()), leaves[i].shape()));
          }
        const Function flat = [&, places](const Leaves& y) {
          Leaves all = leaves;
          for (std::size_t i = 0; i < y.size(); ++i) all[places[i]] = y[i];
          auto result = reel::detail::TreeArguments<std::remove_reference_t<decltype(x)>...>::call(f, all, x...);
          Tensor total = reel::scalar(0.);
          double number = 0;
          for (const Tensor& z : reel::detail::leaves_of("pages", result))
            if (z.dtype() == reel::DType::float64) total = total + sum(z * weights(z, ++number));
          return total;
        };
        check(flat, start);
      },
      kept);
}

/// A function with its derivative, made by a wrapper: what is called first is checked.
template <class F, class Inner>
struct Wrapped {
  mutable F f;
  mutable Inner inner;
  template <class... A>
  decltype(auto) operator()(A&&... args) const {
    check_call(f, args...);
    const bool outermost = !std::exchange(busy, true);
    struct End {
      bool outermost;
      ~End() {
        if (outermost) busy = false;
      }
    } end{outermost};
    return inner(std::forward<A>(args)...);
  }
};

template <class F>
concept Anything = true;

// The same parameters as in reel, but constrained: these are preferred where both are found.
template <int... I, Anything F>
auto grad(F f, const reel::detail::WrapperLine& at = reel::detail::CallLine()) {
  return Wrapped<F, decltype(reel::grad<I...>(f, at))>{f, reel::grad<I...>(f, at)};
}
template <int... I, Anything F>
auto value_and_grad(F f, const reel::detail::WrapperLine& at = reel::detail::CallLine()) {
  return Wrapped<F, decltype(reel::value_and_grad<I...>(f, at))>{f, reel::value_and_grad<I...>(f, at)};
}
template <int... I, Anything F>
auto jacobian(F f, const reel::detail::WrapperLine& at = reel::detail::CallLine()) {
  return Wrapped<F, decltype(reel::jacobian<I...>(f, at))>{f, reel::jacobian<I...>(f, at)};
}
template <int... I, Anything F>
auto hessian(F f, const reel::detail::WrapperLine& at = reel::detail::CallLine()) {
  return Wrapped<F, decltype(reel::hessian<I...>(f, at))>{f, reel::hessian<I...>(f, at)};
}

/// Runs a fragment. `without` holds the modes that are listed for it.
inline void run(const char* place, std::vector<std::string_view> without, void (*block)()) {
  fragment = {place, std::move(without), {}};
  block();
  for (const std::string_view mode : fragment.without)
    if (std::find(fragment.missed.begin(), fragment.missed.end(), mode) == fragment.missed.end()) {
      ++failures;
      std::printf("%s: its functions have the mode '%s', which is listed as missing\n", place, mode.data());
    }
}

}  // namespace pages
