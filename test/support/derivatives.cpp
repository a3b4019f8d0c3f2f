// Both modes by hand, and the layouts. Tape and forward pass are the library's own; nothing here knows an op's rule.
#include "support/derivatives.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gradient/forward/pushforward.hpp"

namespace support {

using namespace reel;

Tensors pull(const Function& f, const Tensors& x, const Tensors& v) {
  GradientTape tape({.watch_accessed_variables = false});
  tape.watch(x);
  const Tensors y = f(x);
  Tensors g;
  for (const Gradient& d :
       tape.gradient(y, x, {.output_gradients = v, .unconnected_gradients = UnconnectedGradients::zero}))
    g.push_back(d.dense());
  return g;
}

Tensors push(const Function& f, const Tensors& x, const Tensors& t) {
  GradientTape tape({.persistent = true, .watch_accessed_variables = false});
  tape.watch(x);
  const Tensors y = f(x);
  tape.stop();
  const std::vector<Source> sources(x.begin(), x.end());
  Tensors dy = autodiff::pushforward(GradientTapeAccess::get(tape), sources, t, y);
  for (std::size_t i = 0; i < y.size(); ++i)
    if (!dy[i].defined()) dy[i] = zeros_like(y[i]);
  return dy;
}

Function gradient_of(Function f, Tensors w) {
  return [f = std::move(f), w = std::move(w)](const Tensors& x) { return pull(f, x, w); };
}

Dot inner(const Tensors& a, const Tensors& b) {
  Dot d;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const std::vector<double> p = a[k].to_vector(), q = b.at(k).to_vector();
    for (std::size_t i = 0; i < p.size(); ++i) {
      const long double product = static_cast<long double>(p[i]) * q.at(i);
      d.value += product;
      d.scale += std::abs(product);
    }
  }
  return d;
}

// An infinity against a number, or another count of numbers, is infinite; infinite sizes would excuse every error.
Difference difference(const Tensors& a, const Tensors& b) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Difference d;
  if (a.size() != b.size()) d.error = infinity;
  for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k) {
    const std::vector<double> p = a[k].to_vector(), q = b[k].to_vector();
    if (p.size() != q.size()) d.error = infinity;
    for (std::size_t i = 0; i < std::min(p.size(), q.size()); ++i) {
      if (std::isfinite(q[i])) d.size = std::max(d.size, std::abs(q[i]));
      if (p[i] == q[i] || (std::isnan(p[i]) && std::isnan(q[i]))) continue;
      const double e = std::abs(p[i] - q[i]);
      d.error = std::max(d.error, std::isnan(e) ? infinity : e);
    }
  }
  return d;
}

Tensors moved(const Tensors& x, double h, const Tensors& t) {
  Tensors y;
  for (std::size_t i = 0; i < x.size(); ++i) y.push_back(x[i] + h * t[i]);
  return y;
}

const char* name(Layout layout) {
  constexpr const char* names[] = {"contiguous", "transposed", "flipped", "stepped", "broadcast"};
  return names[static_cast<int>(layout)];
}

Tensor laid_out(const Tensor& x, Layout layout) {
  switch (layout) {
    case Layout::contiguous:
      break;
    case Layout::transposed:
      return transpose(contiguous(transpose(x)));
    case Layout::flipped:
      return flip(contiguous(flip(x)));
    case Layout::stepped: {
      // Every second element of a block whose others are NaN.
      Tensor wide = x;
      std::vector<SliceItem> items;
      for (int axis = 0; axis < x.rank(); ++axis) {
        wide = stack({wide, full_like(wide, std::numeric_limits<double>::quiet_NaN())}, axis + 1);
        Shape merged;
        for (int i = 0; i < x.rank(); ++i) merged.push_back(i <= axis ? 2 * x.shape()[i] : x.shape()[i]);
        wide = reshape(wide, merged);
        items.push_back(range_from(0, 2));
      }
      return slice(wide, items);
    }
    case Layout::broadcast:
      if (x.rank() && x.shape()[0] > 1) return broadcast_to(slice(x, {reel::range(0, 1)}), x.shape());
      break;
  }
  return x;
}

Random::Random(const std::string& seed) {
  std::uint64_t hash = 14695981039346656037u;
  for (char c : seed) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  engine_.seed(hash);
}

Tensor Random::tensor(const Shape& shape, double low, double high) {
  std::vector<double> values(static_cast<std::size_t>(shape.elements()));
  for (double& v : values) v = uniform(low, high);
  return from_data(values, shape);
}

Tensors Random::like(const Tensors& x) {
  Tensors t;
  for (const Tensor& one : x) t.push_back(tensor(one.shape()));
  return t;
}

}  // namespace support
