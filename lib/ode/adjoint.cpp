// With y' = f(y, t), a tangent w of y and cotangents l of y and q of what f reads:
//   forward from `from` to `to`:   w' = df(y, t) along w and the tangents of what f reads
//   backward from `to` to `from`:  l' = -(df/dy)^T l,  q' = -(df/dx)^T l
// with f(y, to) and -f(y, from) for the derivatives by times (Pontryagin et al. 1962; Chen et al., "Neural ordinary
// differential equations", 2018). The pairs are states of further flows.
#include "ode/adjoint.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <reel/forward.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/ops/shape.hpp>
#include <reel/optim/minimize.hpp>

#include "gradient/control/composite_entry.hpp"
#include "ode/step_control.hpp"
#include "ops/engine.hpp"
#include "tape/capture.hpp"

namespace reel::autodiff {

namespace {

using ops::Quantity;
using Tensors = std::vector<Tensor>;

// The elements of all, one behind the other; parts of complex numbers are elements.
Quantity pack(std::span<const Tensor> list, DType dtype) {
  Tensors parts;
  for (const Tensor& x : list) {
    parts.push_back(ops::cast_to(is_complex(x.dtype()) ? real(x) : x, dtype));
    if (is_complex(x.dtype())) parts.push_back(ops::cast_to(imag(x), dtype));
  }
  return reel::detail::ravel_leaves(parts);
}
// The inverse, for tensors like these.
Tensors unpack(const Tensor& state, std::span<const Tensor> like) {
  Tensors list;
  std::int64_t at = 0;
  for (const Tensor& x : like) {
    const auto next = [&] {
      at += x.size();
      return reshape(slice(state, {range(at - x.size(), at)}), x.shape());
    };
    const Quantity first = next();
    list.push_back(is_complex(x.dtype()) ? ops::cast_to(make_complex(first, next()), x.dtype())
                                         : ops::cast_to(first, x.dtype()));
  }
  return list;
}

// A power of two near the largest magnitude, by which linear equations are scaled: tolerances are absolute too.
double scale_of(std::span<const Tensor> list) {
  const tape::Suspend unrecorded;
  double largest = 0;
  for (const Tensor& x : list)
    if (x.defined() && x.size() != 0) largest = std::max(largest, cast(max(abs(x)), DType::float64).item());
  return largest > 0 && std::isfinite(largest) ? std::exp2(std::ilogb(largest)) : 1;
}

// The arguments are y, from and to.
struct RecordedFlow final : ImplicitEntry, std::enable_shared_from_this<RecordedFlow> {
  Ode ode;
  OdeOptions options;

  RecordedFlow(const Ode& equation, const OdeOptions& o) : ode(equation), options(o) {}
  std::vector<Gradient> vjp(const Tensor& g) const override;
  Tensor jvp(std::span<const Tensor> tangents) const override;

  // f with the values of its first run; `run` may also differentiate it.
  template <class F>
  auto again(const F& run) const {
    const ops::FrozenReads same_values = inputs.same_reads();
    return run();
  }
  Quantity slope(const Tensor& y, const Tensor& t) const {
    return again([&] { return slope_of(ode, y, t); });
  }
  // The parts of a state of two tensors like y.
  Tensors unpack_pair(const Tensor& state) const {
    const Tensor like[] = {result, result};
    return unpack(state, like);
  }
  Tensor adjoint_slope(const Tensor& state, const Tensor& t) const;
  Tensor tangent_slope(const MovedSources& moved, const Tensor& state, const Tensor& t) const;
  // The state at `to` of the equation with this slope, for a state at `from`.
  Tensor integrate(const OdeFunction& f, std::span<const Tensor> start, const Tensor& from, const Tensor& to) const {
    return flow({f, ode.method, ode.dtype, ode.name}, options, pack(start, ode.dtype), from, to);
  }
};

// The slope of [y, l, q...].
Tensor RecordedFlow::adjoint_slope(const Tensor& state, const Tensor& t) const {
  const Tensors parts = unpack_pair(state);
  return again([&] {
    Tensors slopes(1);
    const auto f = [&] { return slopes[0] = slope_of(ode, parts[0], t); };
    const std::vector<Gradient> pulled = vjp_of(inputs.sources(std::span(parts).first(1)), f, negative(parts[1]));
    for (std::size_t k = 0; k < pulled.size(); ++k) {
      const Tensor& x = k == 0 ? parts[0] : inputs.read[k - 1];
      slopes.push_back(pulled[k] ? pulled[k].dense() : zeros(x.shape(), x.dtype()));
    }
    return pack(slopes, ode.dtype);
  });
}

std::vector<Gradient> RecordedFlow::vjp(const Tensor& g) const {
  const auto& [y, from, to] = std::tie(inputs.arguments[0], inputs.arguments[1], inputs.arguments[2]);
  const Tensor cotangent[] = {g};
  const double scale = scale_of(cotangent);
  Tensors start{result, Quantity(g) / scale};
  for (const Tensor& x : inputs.read) start.push_back(zeros(x.shape(), x.dtype()));
  const auto back = [r = shared_from_this()](const Tensor& state, const Tensor& t) {
    return r->adjoint_slope(state, t);
  };
  const Tensors parts = unpack(integrate(back, start, to, from), start);
  const Quantity by_y = scale * Quantity(parts[1]);
  std::vector<Gradient> list{Gradient(by_y), Gradient(negative(sum(by_y * slope(y, from)))),
                             Gradient(sum(Quantity(g) * slope(result, to)))};
  for (std::size_t k = 2; k < parts.size(); ++k) list.emplace_back(parts[k] * scale);
  return list;
}

// The slope of [y, w] along these tangents of what f reads.
Tensor RecordedFlow::tangent_slope(const MovedSources& moved, const Tensor& state, const Tensor& t) const {
  const Tensors parts = unpack_pair(state);
  return again([&] {
    std::vector<Source> sources(moved.sources);
    std::vector<Gradient> tangents = moved.gradients();
    sources.emplace_back(parts[0]);
    tangents.emplace_back(parts[1]);
    const ForwardAccumulator accumulator(sources, tangents);
    const Tensor slope = slope_of(ode, parts[0], t);
    const Tensor slopes[] = {slope, accumulator.jvp(slope, UnconnectedGradients::zero).dense()};
    return pack(slopes, ode.dtype);
  });
}

Tensor RecordedFlow::jvp(std::span<const Tensor> tangents) const {
  const auto& [y, from, to] = std::tie(inputs.arguments[0], inputs.arguments[1], inputs.arguments[2]);
  MovedSources moved = collect_moved(inputs.sources({}), tangents.subspan(3));
  Quantity w = tangents[0].defined() ? tangents[0] : zeros(y.shape(), y.dtype());
  if (tangents[1].defined()) w = w - slope(y, from) * tangents[1];
  Tensors linear(moved.tangents);
  linear.push_back(w);
  const double scale = scale_of(linear);
  for (Tensor& x : moved.tangents) x = x / scale;
  const auto ahead = [r = shared_from_this(), moved](const Tensor& state, const Tensor& t) {
    return r->tangent_slope(moved, state, t);
  };
  const Tensor start[] = {y, w / scale};
  w = scale * Quantity(unpack(integrate(ahead, start, from, to), start)[1]);
  return tangents[2].defined() ? w + slope(result, to) * tangents[2] : w;
}

Tensor integrate_back(const Ode& ode, const OdeOptions& options, const Tensor& y, const Tensor& from,
                      const Tensor& to) {
  const double a = cast(from, DType::float64).item(), b = cast(to, DType::float64).item();
  if (a != b) return find_steps(ode, y, a, b, options, [](const auto&...) { return true; });
  if (tape::active()) static_cast<void>(slope_of(ode, y, from));  // tells what f reads
  return y;
}

}  // namespace

Tensor flow(const Ode& ode, const OdeOptions& options, const Tensor& y, const Tensor& from, const Tensor& to) {
  if (!tape::active()) return integrate_back(ode, options, y, from, to);
  return ImplicitEntry::record(
      ode.name, std::make_shared<RecordedFlow>(ode, options), {y, from, to},
      [&](std::span<const Tensor> x) { return integrate_back(ode, options, x[0], x[1], x[2]); });
}

}  // namespace reel::autodiff
