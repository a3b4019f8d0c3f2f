// quad: the adaptive subdivision is not recorded. The sum over the points of the final intervals is.
#include <algorithm>
#include <cmath>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/ops/shape.hpp>
#include <reel/optim/minimize.hpp>
#include <reel/solve/integrate.hpp>
#include <vector>

#include "core/rounding.hpp"
#include "interpolate/interpolate.hpp"
#include "tape/observe/observe.hpp"
#include "tape/record.hpp"

namespace reel {

namespace autodiff {

namespace {

constexpr const char* quad_name = "quad";

// The points of Kronrod on [-1, 1], their weights, and those of the points of Gauss among them, every second one
// (Piessens et al., QUADPACK, 1983).
constexpr int points = 15;
constexpr double half_nodes[] = {0.991455371120812639206854697526329, 0.949107912342758524526189684047851,
                                 0.864864423359769072789712788640926, 0.741531185599394439863864773280788,
                                 0.586087235467691130294144691693283, 0.405845151377397166906606412076961,
                                 0.207784955007898467600689403773245, 0};
constexpr double kronrod_weights[] = {0.022935322010529224963732008058970, 0.063092092629978553290700663189204,
                                      0.104790010322250183839876322541518, 0.140653259715525918745189590510238,
                                      0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
                                      0.204432940075298892414161999234649, 0.209482141084727828012999174891714};
constexpr double gauss_weights[] = {0.129484966168869693270611432679082, 0.279705391489276667901467771423780,
                                    0.381830050505118944950369775488975, 0.417959183673469387755102040816327};

constexpr int mirror(int k) { return k < 8 ? k : 14 - k; }
constexpr double node(int k) { return k < 8 ? -half_nodes[k] : half_nodes[14 - k]; }

// Points x(t), and dx/dt, for intervals of t.
struct Substitution {
  double low, high;  // low < high
  bool from, to;     // whether these are finite
  double first() const { return from && to ? low : from || to ? 0 : -1; }
  double last() const { return from && to ? high : 1; }
  std::pair<double, double> operator()(double t) const {
    if (from && to) return {t, 1};
    if (!from && !to) {
      const double rest = (1 - t) * (1 + t);
      return {t / rest, (1 + t * t) / (rest * rest)};
    }
    const double rest = 1 - t;
    return {from ? low + t / rest : high - t / rest, 1 / (rest * rest)};
  }
};

struct Interval {
  double begin, end;
  std::vector<double> value = {};  // of each component
  double error = 0;
};

class Search {
 public:
  Search(const Integrand& f, const Substitution& x, DType dtype, const QuadOptions& options)
      : f_(f), x_(x), dtype_(dtype), unit_(detail::unit_roundoff(dtype)), options_(options) {
    if (options_.tolerance < 0) options_.tolerance = std::sqrt(unit_);
    if (options_.absolute_tolerance < 0) options_.absolute_tolerance = std::sqrt(unit_);
  }

  // Points and weights of the final intervals.
  std::pair<Tensor, Tensor> run() {
    intervals_ = evaluate({{x_.first(), x_.last()}});
    for (left_ = error(); left_ > goal(); left_ = error()) refine();
    std::vector<double> x, w;
    for (const Interval& i : intervals_) add_points(i, x, w);
    return {as_tensor(x), as_tensor(w)};
  }

 private:
  Tensor as_tensor(const std::vector<double>& x) const { return cast(from_data(x), dtype_); }
  double error() const {
    double sum = 0;
    for (const Interval& i : intervals_) sum += i.error;
    return sum;
  }
  double goal() const {
    double largest = 0;
    for (std::size_t c = 0; c < intervals_[0].value.size(); ++c) {
      double total = 0;
      for (const Interval& i : intervals_) total += i.value[c];
      largest = std::max(largest, std::abs(total));
    }
    return std::max(options_.absolute_tolerance, options_.tolerance * largest);
  }
  void add_points(const Interval& i, std::vector<double>& x, std::vector<double>& w) const {
    const double half = 0.5 * (i.end - i.begin), middle = 0.5 * (i.begin + i.end);
    for (int k = 0; k < points; ++k) {
      const auto [at, slope] = x_(middle + half * node(k));
      x.push_back(at);
      w.push_back(half * kronrod_weights[mirror(k)] * slope);
    }
  }

  // Bisects the intervals with the largest errors, until the errors of the others sum to at most half of the tolerance.
  void refine() {
    const double enough = 0.5 * goal() / static_cast<double>(intervals_.size());
    std::vector<Interval> kept, halves;
    for (Interval& i : intervals_) {
      if (i.error <= enough) {
        kept.push_back(std::move(i));
        continue;
      }
      const double middle = 0.5 * (i.begin + i.end);
      if (!(i.end - i.begin > 100 * unit_ * std::max(std::abs(i.begin), std::abs(i.end))))
        give_up("the function varies too much", x_(middle).first);
      halves.push_back({i.begin, middle});
      halves.push_back({middle, i.end});
    }
    if (static_cast<std::int64_t>(kept.size() + halves.size()) > options_.max_intervals)
      give_up("there are too many intervals", x_(halves[0].end).first);
    intervals_ = std::move(kept);
    for (Interval& i : evaluate(std::move(halves))) intervals_.push_back(std::move(i));
  }
  [[noreturn]] void give_up(const char* why, double where) const {
    fail<ValueError>(quad_name,
                     "no convergence: an error of {} is left, {} near {}; divide the range there, give a larger "
                     "tolerance or allow for more than {} intervals",
                     left_, why, where, options_.max_intervals);
  }

  std::vector<Interval> evaluate(std::vector<Interval> list) const {
    std::vector<double> x, w;
    for (const Interval& i : list) add_points(i, x, w);
    const Tensor y = values_at(f_, as_tensor(x));
    const std::vector<double> all = cast(y, DType::float64).to_vector();
    const std::size_t row = x.size();
    for (std::size_t k = 0; k < list.size(); ++k)
      for (std::size_t c = 0; c < all.size() / row; ++c) estimate(list[k], &all[c * row + k * points], &w[k * points]);
    return list;
  }
  // Adds a component: its integral, and QUADPACK's estimate of the error.
  void estimate(Interval& i, const double* f, const double* w) const {
    double sum = 0, by_gauss = 0, size = 0, weight = 0;
    for (int k = 0; k < points; ++k) {
      const double y = w[k] * f[k];
      if (!std::isfinite(y))
        fail<ValueError>(quad_name, "the function is infinite or NaN between {} and {}", x_(i.begin).first,
                         x_(i.end).first);
      sum += y, size += std::abs(y), weight += std::abs(w[k]);
      if (k % 2 == 1) by_gauss += y * gauss_weights[mirror(k) / 2] / kronrod_weights[mirror(k)];
    }
    double spread = 0;
    for (int k = 0; k < points; ++k) spread += std::abs(w[k] * (f[k] - sum / weight));
    double error = std::abs(sum - by_gauss);
    if (error > 0 && spread > 0) error = spread * std::min(1.0, std::pow(200 * error / spread, 1.5));
    i.value.push_back(sum);
    i.error = std::max({i.error, error, 50 * unit_ * size});
  }

 public:
  // f at points [n]. ShapeError unless it is [..., n].
  static Tensor values_at(const Integrand& f, const Tensor& x) {
    const Tensor y = f(x);
    ops::require_defined(quad_name, y, "the function's result");
    if (y.rank() == 0 || y.shape()[-1] != x.size())
      fail<ShapeError>(quad_name,
                       "the function turns {} into {}; the last axis of its result must be that of the points",
                       x.shape(), y.shape());
    if (is_complex(y.dtype()) || !is_differentiable(y.dtype()))
      fail<TypeError>(quad_name, "the function gives {}; it must be real and floating", y.dtype());
    return y;
  }

 private:
  const Integrand& f_;
  Substitution x_;
  DType dtype_;
  double unit_;
  QuadOptions options_;
  std::vector<Interval> intervals_;
  double left_ = 0;  // the sum of their errors
};

// A term with value 0 and the derivatives of the integral with respect to its end b: Gauss's rule of five points over
// the interval from b's value to b, exact for derivatives up to order 10.
ops::Quantity variation(const Integrand& f, const Tensor& b) {
  constexpr double nodes[] = {-0.906179845938663992797626878299, -0.538469310105683091036314420700, 0,
                              0.538469310105683091036314420700, 0.906179845938663992797626878299};
  constexpr double weights[] = {0.236926885056189087514264040720, 0.478628670499366468041291514836,
                                0.568888888888888888888888888889, 0.478628670499366468041291514836,
                                0.236926885056189087514264040720};
  const auto constants = [&](const double* list) { return cast(from_data(std::span(list, 5)), b.dtype()); };
  const ops::Quantity at = stop_gradient(b), half = 0.5 * (b - at),
                      x = at + half * (1.0 + ops::Quantity(constants(nodes)));
  return ops::sum_of_rows(Search::values_at(f, x) * (half * constants(weights)));
}

double value_of_end(const Tensor& x) {
  const tape::QuietScope may_be_infinite;
  return cast(x, DType::float64).item();
}

}  // namespace

}  // namespace autodiff

Tensor quad(const Integrand& f, const Operand& from, const Operand& to, const QuadOptions& options) {
  using autodiff::quad_name;
  const tape::OpScope scope(from);
  detail::require_untraced(quad_name);
  if (!f) fail<ValueError>(quad_name, "the function is empty");
  if (std::isnan(options.tolerance) || std::isnan(options.absolute_tolerance) || options.max_intervals < 1)
    fail<ValueError>(quad_name,
                     "tolerances are {} and {}, intervals {}; tolerances must be numbers, intervals at least 1",
                     options.tolerance, options.absolute_tolerance, options.max_intervals);
  const ops::Promoted dtypes = ops::promote_operands(quad_name, {&from, &to}, ops::Accept::real);
  const DType wide = dtypes.wide;
  const auto end_of = [wide](const Operand& x, const char* operand) {
    const tape::QuietScope may_be_infinite;
    return ops::to_tensor(quad_name, x, wide, operand);
  };
  const ops::Quantity a = end_of(from, "a"), b = end_of(to, "b");
  if (a.size() != 1 || b.size() != 1)
    fail<ShapeError>(quad_name, "a is {} and b {}; both must have one element", a.shape(), b.shape());
  const double low = autodiff::value_of_end(a), high = autodiff::value_of_end(b);
  if (std::isnan(low) || std::isnan(high)) fail<ValueError>(quad_name, "the range is from {} to {}", low, high);
  const autodiff::Substitution x{std::min(low, high), std::max(low, high), std::isfinite(std::min(low, high)),
                                 std::isfinite(std::max(low, high))};
  ops::Quantity y;
  if (low == high) {
    const Tensor at = cast(full({1}, std::isfinite(low) ? low : 0.0), wide);
    y = 0 * ops::sum_of_rows(autodiff::Search::values_at(f, at));
  } else {
    Tensor nodes, weights;
    {
      const tape::Suspend unrecorded;
      std::tie(nodes, weights) = autodiff::Search(f, x, wide, options).run();
    }
    y = ops::sum_of_rows(autodiff::Search::values_at(f, nodes) * (low < high ? weights : -weights));
  }
  if (std::isfinite(high) && tape::followed(b)) y = y + autodiff::variation(f, reshape(b, {1}));
  if (std::isfinite(low) && tape::followed(a)) y = y - autodiff::variation(f, reshape(a, {1}));
  return ops::cast_to(y, dtypes.result);
}

}  // namespace reel
