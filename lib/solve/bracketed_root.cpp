// Roots between two ends, of many equations of one unknown at once: inverse quadratic interpolation or bisection of
// each element's bracket, as decided by Chandrupatla, "A new hybrid quadratic/bisection algorithm for finding the zero
// of a nonlinear function without using derivatives", Advances in Engineering Software 28, 1997. Numbers are long
// double, in which no product or difference of float64 overflows.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/optim/minimize.hpp>
#include <reel/solve/equations.hpp>
#include <vector>

#include "core/fail.hpp"
#include "core/rounding.hpp"
#include "ops/engine.hpp"
#include "solve/implicit.hpp"
#include "tape/record.hpp"

namespace reel {

namespace autodiff {

namespace {

constexpr const char* bracketed_root_name = "bracketed_root";
// From this iteration on steps halve the count of numbers in between: 64 of them reach neighbours, whatever f is.
constexpr std::int64_t iterations_by_value = 60, iterations_max = 200;

using Real = long double;
using Doubles = std::vector<double>;

struct End {
  double x, f;
};
// `newest` and `opposite` have values of different signs. `before` was an end until the newest one replaced it.
struct Bracket {
  End newest, opposite, before;
  bool has_before = false, is_found = false;
  const End& best() const { return std::abs(newest.f) <= std::abs(opposite.f) ? newest : opposite; }
};

// Finite numbers as integers of the same order.
std::int64_t ordinal(double x) {
  const auto i = std::bit_cast<std::int64_t>(x);
  return i < 0 ? std::numeric_limits<std::int64_t>::min() - i : i;
}
double middle_number(double x, double y) {
  const std::int64_t i = ordinal(x), j = ordinal(y), middle = i / 2 + j / 2 + (i % 2 + j % 2) / 2;
  return std::bit_cast<double>(middle < 0 ? std::numeric_limits<std::int64_t>::min() - middle : middle);
}

// The next point as a part of the way from the newest end to the opposite one: that of the parabola x(f) through three
// points where it is monotonic between them, by Chandrupatla's condition, else 1/2.
Real part_of_way(const Bracket& b) {
  if (!b.has_before) return 0.5L;
  const Real x1 = b.newest.x, x2 = b.opposite.x, x3 = b.before.x, f1 = b.newest.f, f2 = b.opposite.f, f3 = b.before.f;
  const Real xi = (x1 - x2) / (x3 - x2), phi = (f1 - f2) / (f3 - f2);
  if (!(phi * phi < xi && (1 - phi) * (1 - phi) < 1 - xi)) return 0.5L;
  const Real part = f1 / (f2 - f1) * (f3 / (f2 - f3)) + (x3 - x1) / (x2 - x1) * (f1 / (f3 - f1)) * (f2 / (f3 - f2));
  return std::isfinite(part) ? part : 0.5L;
}

Tensor tensor_of(const Doubles& x, const Tensor& like) {
  return cast(detail::copy_in(x.data(), x.size(), like.shape(), DType::float64), like.dtype());
}
Doubles doubles_of(const Tensor& x) {
  Doubles y(static_cast<std::size_t>(x.size()));
  detail::copy_out(x, DType::float64, y.data(), false);
  return y;
}
std::string index_of(const Shape& shape, std::size_t k) {
  Shape index = shape;
  auto rest = static_cast<std::int64_t>(k);
  for (int axis = shape.rank(); axis-- > 0; rest /= shape[axis]) index[axis] = rest % shape[axis];
  return to_string(index);
}

class BracketSearch {
 public:
  BracketSearch(const Equation& e, const EquationOptions& options, const Tensor& a, const Tensor& b)
      : equation_(e), options_(options), like_(a) {
    const Doubles from = doubles_of(a), to = doubles_of(b), at_from = values(from), at_to = values(to);
    for (std::size_t k = 0; k < from.size(); ++k) brackets_.push_back({{to[k], at_to[k]}, {from[k], at_from[k]}, {}});
    require_signs();
  }
  Tensor root() {
    Doubles x(brackets_.size());
    for (std::int64_t iteration = 0;; ++iteration) {
      bool is_found = true;
      for (std::size_t k = 0; k < x.size(); ++k) {
        x[k] = next(brackets_[k], iteration);
        is_found = is_found && brackets_[k].is_found;
      }
      if (is_found) return tensor_of(x, like_);
      if (iteration >= options_.max_iterations) fail_at_limit();
      const Doubles f = values(x);
      for (std::size_t k = 0; k < x.size(); ++k)
        if (!brackets_[k].is_found) shrink(brackets_[k], {x[k], f[k]});
    }
  }

 private:
  // f at x. ValueError if a value is NaN.
  Doubles values(const Doubles& x) const {
    Doubles f = doubles_of(residual_of(equation_, tensor_of(x, like_)));
    for (std::size_t k = 0; k < f.size(); ++k)
      if (std::isnan(f[k]))
        fail<ValueError>(bracketed_root_name,
                         "the function is NaN at {}, of element {}; it must be defined between the ends", x[k],
                         index_of(like_.shape(), k));
    return f;
  }
  void require_signs() const {
    std::size_t count = 0, first = 0;
    for (std::size_t k = brackets_.size(); k-- > 0;)
      if (const Bracket& b = brackets_[k]; (b.newest.f > 0 && b.opposite.f > 0) || (b.newest.f < 0 && b.opposite.f < 0))
        ++count, first = k;
    if (count == 0) return;
    const Bracket& b = brackets_[first];
    fail<ValueError>(bracketed_root_name,
                     "the function has one sign at both ends of {} of {} elements, the first at {}: it is {} at {} and "
                     "{} at {}; choose ends on either side of a root",
                     count, brackets_.size(), index_of(like_.shape(), first), b.opposite.f, b.opposite.x, b.newest.f,
                     b.newest.x);
  }
  [[noreturn]] void fail_at_limit() const {
    const auto open = [](const Bracket& b) { return !b.is_found; };
    const auto first = std::find_if(brackets_.begin(), brackets_.end(), open);
    fail<ValueError>(bracketed_root_name,
                     "no convergence of {} of {} elements after {} iterations, the first at {}, between {} and {}; "
                     "allow for more, or a larger tolerance",
                     std::count_if(brackets_.begin(), brackets_.end(), open), brackets_.size(), options_.max_iterations,
                     index_of(like_.shape(), static_cast<std::size_t>(first - brackets_.begin())), first->opposite.x,
                     first->newest.x);
  }
  double round_to_dtype(Real x) const {
    return like_.dtype() == DType::float32 ? static_cast<double>(static_cast<float>(x)) : static_cast<double>(x);
  }
  // The next point of a bracket, or its root.
  double next(Bracket& b, std::int64_t iteration) const {
    const End& best = b.best();
    const Real from = b.newest.x, way = b.opposite.x - from, goal = options_.tolerance * Real(std::abs(best.x));
    b.is_found = b.is_found || std::abs(best.f) <= options_.absolute_tolerance || std::abs(way) <= goal;
    if (b.is_found) return best.x;
    const auto is_end = [&](double x) { return x == b.newest.x || x == b.opposite.x; };
    const Real least = std::min(0.5L * goal / std::abs(way), 0.5L);
    double x = iteration >= iterations_by_value
                   ? round_to_dtype(middle_number(b.newest.x, b.opposite.x))
                   : round_to_dtype(from + std::clamp(part_of_way(b), least, 1 - least) * way);
    if (is_end(x)) x = round_to_dtype(from + 0.5L * way);
    b.is_found = is_end(x);  // neighbours
    return b.is_found ? best.x : x;
  }
  static void shrink(Bracket& b, const End& point) {
    const bool replaces_newest = (point.f > 0) == (b.newest.f > 0) && (point.f < 0) == (b.newest.f < 0);
    b.before = replaces_newest ? b.newest : b.opposite;
    if (!replaces_newest) b.opposite = b.newest;
    b.newest = point;
    b.has_before = true;
  }

  const Equation& equation_;
  const EquationOptions& options_;
  const Tensor& like_;
  std::vector<Bracket> brackets_;
};

// Linear systems with a diagonal matrix. ValueError where the product shows that it is none.
Tensor divide_by_diagonal(const LinearOperator& a, const Tensor& b) {
  const Tensor diagonal = a(ones_like(b)), x = b / diagonal;
  if (x.size() < 2) return x;
  const double rounding = std::sqrt(detail::unit_roundoff(x.dtype()));
  const Tensor known = isfinite(x), finite = where(known, x, 0);
  const Tensor allowed = (abs(b) + max(abs(where(known, diagonal, 0))) * abs(finite)) * rounding;
  if (any(logical_and(known, greater(abs(a(finite) - b), allowed))).item<bool>())
    fail<ValueError>(bracketed_root_name, "element k of the function depends on other elements of x than k; use root");
  return x;
}

// The operand without derivatives.
Tensor end_of(const Operand& x, DType d, const char* name) {
  const Tensor end = detail::alias(stop_gradient(ops::to_tensor(bracketed_root_name, x, d, name)));
  if (!all(isfinite(end)).item<bool>())
    fail<ValueError>(bracketed_root_name, "{} has an element that is infinite or NaN", name);
  return end;
}

EquationOptions check_options(const EquationFunction& f, DType d, EquationOptions o) {
  detail::require_untraced(bracketed_root_name);
  if (!f) fail<ValueError>(bracketed_root_name, "the function is empty; pass one");
  if (d != DType::float32 && d != DType::float64)
    fail<TypeError>(bracketed_root_name, "a and b are {}; they must be float32 or float64: cast them", d);
  if (std::isnan(o.tolerance) || !(o.absolute_tolerance >= 0))
    fail<ValueError>(bracketed_root_name, "tolerances are {} and {}; they must be numbers, the second at least 0",
                     o.tolerance, o.absolute_tolerance);
  if (o.tolerance < 0) o.tolerance = 16 * detail::unit_roundoff(d);
  if (o.max_iterations < 0) o.max_iterations = iterations_max;
  return o;
}

}  // namespace

}  // namespace autodiff

Tensor bracketed_root(const EquationFunction& f, const Operand& a, const Operand& b, const EquationOptions& requested) {
  using namespace autodiff;
  const tape::OpScope scope(a);
  const Operand* const operands[] = {&a, &b};
  const DType d = a.is_weak() && b.is_weak() ? DType::float64 : ops::common_dtype(bracketed_root_name, operands);
  const EquationOptions options = check_options(f, d, requested);
  const Tensor from = end_of(a, d, "a"), to = end_of(b, d, "b");
  const Shape shape = ops::broadcast_shapes(bracketed_root_name, from.shape(), to.shape());
  const Tensor start = broadcast_to(from, shape), end = broadcast_to(to, shape);
  const Equation e = {bracketed_root_name, f, divide_by_diagonal, divide_by_diagonal};
  return implicit_solution(e, [&] { return BracketSearch(e, options, start, end).root(); });
}

}  // namespace reel
