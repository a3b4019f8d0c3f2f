// resize: for each element along an axis, the elements around it are gathered and their weighted sums taken, axis by
// axis. So an element beyond the window of a sum has no part in it, also if it is NaN.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <reel/image.hpp>

#include "interpolate/interpolate.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

constexpr const char* resize_name = "resize";
constexpr std::int64_t most_extent = std::int64_t{1} << 29;  // products of two and 4 fit std::int64_t
constexpr double least_weight_sum = 1e-10;                   // weights of window_at that cancel sum to less

double lanczos(double x, double radius) {
  if (x == 0) return 1;
  const double p = std::numbers::pi * x;
  return radius * std::sin(p) * std::sin(p / radius) / (p * p);
}
double keys(double x, double a) { return x <= 1 ? keys_inner(x, x * x, a) : keys_outer(x - 1, (2 - x) * (2 - x), a); }

struct Resizing {
  ResizeMethod method;
  double coefficient, radius;
  double at(double x) const {
    if (x >= radius) return 0;
    if (method == ResizeMethod::linear) return 1 - x;
    return method == ResizeMethod::cubic ? keys(x, coefficient) : lanczos(x, radius);
  }
};
constexpr double radii[] = {0.5, 1, 2, 3, 5};  // elements, by method: nearest, linear, cubic, lanczos3, lanczos5

// Weights of the elements first, first + 1 ..., of which neither the first nor the last is 0.
struct Window {
  std::int64_t first;
  detail::List<double> weights;
};
Window window_at(double place, double scale, std::int64_t n, const Resizing& r) {
  const double reach = r.radius * scale;
  Window w;
  w.first = static_cast<std::int64_t>(std::max(0.0, std::ceil(place - reach)));
  const auto last = std::min(n - 1, static_cast<std::int64_t>(std::floor(place + reach)));
  double sum = 0;
  for (std::int64_t j = w.first; j <= last; ++j) {
    w.weights.push_back(r.at(std::abs(static_cast<double>(j) - place) / scale));
    sum += w.weights.back();
  }
  while (w.weights.size() > 1 && w.weights.back() == 0) w.weights.pop_back();
  const auto some = std::find_if(w.weights.begin(), w.weights.end() - 1, [](double v) { return v != 0; });
  w.first += some - w.weights.begin();
  w.weights.erase(w.weights.begin(), some);
  // As JAX: weights that cancel are no weights.
  for (double& v : w.weights) v = std::abs(sum) > least_weight_sum ? v / sum : 0;
  return w;
}

// The elements of n nearest to those of m.
detail::List<std::int64_t> nearest_places(std::int64_t n, std::int64_t m, bool align_corners) {
  detail::List<std::int64_t> places;
  for (std::int64_t i = 0; i < m; ++i) {
    const std::int64_t to = std::max<std::int64_t>(m - 1, 1);
    places.push_back(align_corners ? (2 * i * (n - 1) + to) / (2 * to) : (2 * i + 1) * n / (2 * m));
  }
  return places;
}

// x [outer, n, inner] with m elements along the axis.
Tensor resize_axis(const Tensor& x, std::int64_t m, const ResizeOptions& options) {
  const std::int64_t n = x.shape()[1];
  if (options.method == ResizeMethod::nearest)
    return gather(x, from_data(nearest_places(n, m, options.align_corners)), 1);
  const Resizing r = {options.method, options.cubic, radii[static_cast<std::size_t>(options.method)]};
  const auto from = static_cast<double>(n), to = static_cast<double>(m);
  const double step = !options.align_corners ? from / to : m > 1 ? (from - 1) / (to - 1) : 0;
  const double shift = options.align_corners ? 0 : step / 2 - 0.5;
  detail::List<Window> windows;
  std::size_t taps = 1;
  for (std::int64_t i = 0; i < m; ++i) {
    windows.push_back(
        window_at(static_cast<double>(i) * step + shift, options.antialias ? std::max(step, 1.0) : 1, n, r));
    taps = std::max(taps, windows.back().weights.size());
  }
  detail::List<std::int64_t> places;
  detail::List<double> weights;
  for (const Window& w : windows)
    for (std::size_t k = 0; k < taps; ++k) {
      const std::size_t own = std::min(k, w.weights.size() - 1);
      places.push_back(w.first + static_cast<std::int64_t>(own));
      weights.push_back(own == k ? w.weights[k] : 0);
    }
  const auto count = static_cast<std::int64_t>(taps);
  require_shape(resize_name, {x.shape()[0], m, count, x.shape()[2]});
  const Tensor all = gather(x, reshape(from_data(places), {m, count}), 1);
  return sum(all * cast(reshape(from_data(weights), {m, count, 1}), x.dtype()), 2);
}

void require_resize(const Tensor& x, const Shape& shape, const ResizeOptions& options) {
  if (options.method > ResizeMethod::lanczos5) fail<ValueError>(resize_name, "this is no method");
  if (!std::isfinite(options.cubic))
    fail<ValueError>(resize_name, "the cubic coefficient is {}; it must be finite", options.cubic);
  if (shape.rank() != x.rank())
    fail<ShapeError>(resize_name, "x is {} and the shape {}; it must have an extent for each axis of x", x.shape(),
                     shape);
  require_shape(resize_name, shape);
  for (int k = 0; k < x.rank(); ++k) {
    const std::int64_t n = x.shape()[k], m = shape[k];
    if (n != m && (std::max(n, m) > most_extent || n == 0))
      fail<ShapeError>(resize_name,
                       "axis {} of x has {} elements and shall have {}; it needs at least 1, and at most {}", k, n, m,
                       most_extent);
  }
}

}  // namespace
}  // namespace ops

Tensor resize(const Operand& operand, const Shape& shape, const ResizeOptions& options) {
  using namespace ops;
  const tape::OpScope scope(operand);
  const Tensor uncast = to_tensor(resize_name, operand);
  require_resize(uncast, shape, options);
  DType dtype = uncast.dtype(), wide = dtype;
  if (options.method != ResizeMethod::nearest) {
    const Promoted d = promote_operands(resize_name, {&operand}, Accept::real);
    dtype = d.result, wide = d.wide;
  }
  Tensor y = cast_to(uncast, wide);
  if (shape.elements() == 0)
    return cast_to(reshape(gather(reshape(y, {y.size()}), zeros({0}, DType::int64)), shape), dtype);
  // Axes that become shorter come first: the others have less to do then.
  detail::List<int> order;
  for (int k = 0; k < y.rank(); ++k)
    if (y.shape()[k] != shape[k]) order.push_back(k);
  const auto ratio = [&](int k) { return static_cast<double>(shape[k]) / static_cast<double>(uncast.shape()[k]); };
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return ratio(a) < ratio(b) || (ratio(a) == ratio(b) && a < b); });
  for (const int k : order) {
    Shape result = y.shape();
    std::int64_t outer = 1, inner = 1;
    for (int d = 0; d < k; ++d) outer *= result[d];
    for (int d = k + 1; d < y.rank(); ++d) inner *= result[d];
    result[k] = shape[k];
    require_shape(resize_name, result);
    y = reshape(resize_axis(reshape(y, {outer, uncast.shape()[k], inner}), shape[k], options), result);
  }
  return cast_to(y, dtype);
}

}  // namespace reel
