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

struct RecordedFlow {
  Ode ode;
  OdeOptions options;
  Inputs inputs;  // arguments: y, from, to
  Tensor end;

  // f with the values of its first run; `run` may also differentiate it.
  template <class F>
  auto again(const F& run) const {
    const ops::FrozenReads same_values = inputs.same_reads();
    return run();
  }
  Quantity slope(const Tensor& y, const Tensor& t) const {
    return again([&] { return slope_of(ode, y, t); });
  }
};
using FlowRecord = std::shared_ptr<const RecordedFlow>;

// The slope of [y, l, q...].
Tensor adjoint_slope(const RecordedFlow& r, const Tensor& state, const Tensor& t) {
  const Tensor like[] = {r.end, r.end};
  const Tensors parts = unpack(state, like);
  return r.again([&] {
    GradientTape tape({.watch_accessed_variables = false});
    const std::vector<Source> sources = r.inputs.sources(std::span(parts).first(1));
    watch_differentiable(tape, sources);
    const Tensor slope[] = {slope_of(r.ode, parts[0], t)};
    const Gradient cotangents[] = {Gradient(negative(parts[1]))};
    Tensors slopes{slope[0]};
    const std::vector<Gradient> pulled = pull_on(tape, slope, cotangents, sources);
    for (std::size_t k = 0; k < pulled.size(); ++k) {
      const Tensor& x = k == 0 ? parts[0] : r.inputs.read[k - 1];
      slopes.push_back(pulled[k] ? pulled[k].dense() : zeros(x.shape(), x.dtype()));
    }
    return pack(slopes, r.ode.dtype);
  });
}

std::vector<Gradient> pull(const FlowRecord& r, const Tensor& g) {
  const auto& [y, from, to] = std::tie(r->inputs.arguments[0], r->inputs.arguments[1], r->inputs.arguments[2]);
  const Tensor cotangent[] = {g};
  const double scale = scale_of(cotangent);
  Tensors start{r->end, Quantity(g) / scale};
  for (const Tensor& x : r->inputs.read) start.push_back(zeros(x.shape(), x.dtype()));
  const Ode back{[r](const Tensor& state, const Tensor& t) { return adjoint_slope(*r, state, t); }, r->ode.method,
                 r->ode.dtype, r->ode.name};
  const Tensors parts = unpack(flow(back, r->options, pack(start, r->ode.dtype), to, from), start);
  const Quantity by_y = scale * Quantity(parts[1]);
  std::vector<Gradient> list{Gradient(by_y), Gradient(negative(sum(by_y * r->slope(y, from)))),
                             Gradient(sum(Quantity(g) * r->slope(r->end, to)))};
  for (std::size_t k = 2; k < parts.size(); ++k) list.emplace_back(parts[k] * scale);
  return list;
}

// The slope of [y, w] along these tangents of what f reads.
Tensor tangent_slope(const RecordedFlow& r, const MovedSources& moved, const Tensor& state, const Tensor& t) {
  const Tensor like[] = {r.end, r.end};
  const Tensors parts = unpack(state, like);
  return r.again([&] {
    std::vector<Source> sources(moved.sources);
    std::vector<Gradient> tangents = moved.gradients();
    sources.emplace_back(parts[0]);
    tangents.emplace_back(parts[1]);
    const ForwardAccumulator accumulator(sources, tangents);
    const Tensor slope = slope_of(r.ode, parts[0], t);
    const Tensor slopes[] = {slope, accumulator.jvp(slope, UnconnectedGradients::zero).dense()};
    return pack(slopes, r.ode.dtype);
  });
}

Tensor push(const FlowRecord& r, std::span<const Tensor> tangents) {
  const auto& [y, from, to] = std::tie(r->inputs.arguments[0], r->inputs.arguments[1], r->inputs.arguments[2]);
  MovedSources moved = collect_moved(r->inputs.sources({}), tangents.subspan(3));
  Quantity w = tangents[0].defined() ? tangents[0] : zeros(y.shape(), y.dtype());
  if (tangents[1].defined()) w = w - r->slope(y, from) * tangents[1];
  Tensors linear(moved.tangents);
  linear.push_back(w);
  const double scale = scale_of(linear);
  for (Tensor& x : moved.tangents) x = x / scale;
  const Ode ahead{[r, moved](const Tensor& state, const Tensor& t) { return tangent_slope(*r, moved, state, t); },
                  r->ode.method, r->ode.dtype, r->ode.name};
  const Tensor start[] = {y, w / scale};
  w = scale * Quantity(unpack(flow(ahead, r->options, pack(start, r->ode.dtype), from, to), start)[1]);
  return tangents[2].defined() ? w + r->slope(r->end, to) * tangents[2] : w;
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
  const auto entry = std::make_shared<RecordedFlow>();
  entry->ode = ode;
  entry->options = options;
  entry->inputs.arguments = {y, from, to};
  {
    tape::Capture capture;
    // New handles: the state and times are no captured tensors.
    const Tensors x = aliases(entry->inputs.arguments);
    entry->end = detail::alias(integrate_back(ode, options, x[0], x[1], x[2]));
    entry->inputs.take(capture);
  }
  const Tensors inputs = entry->inputs.values();
  const Tensor outputs[] = {entry->end};
  record_function(
      ode.name, inputs, outputs, [entry](std::span<const Gradient> g) { return pull(entry, g[0].dense()); },
      [entry](std::span<const Tensor> t) { return Tensors{push(entry, t)}; });
  return entry->end;
}

}  // namespace reel::autodiff
