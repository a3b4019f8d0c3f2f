// Derivatives of traced functions, as functions that are traced in turn.
#include "gradient/programs/derivative.hpp"

#include <reel/forward.hpp>
#include <reel/ops/pointwise.hpp>

#include "gradient/gradient.hpp"

namespace reel::autodiff {

Source Differentiated::source(std::size_t i, std::span<const Tensor> x) const {
  if (i < arguments) return Source(x[i]);
  i -= arguments;
  if (i < adopted.size()) return Source(adopted[i]);
  i -= adopted.size();
  if (i < variables.size()) return Source(variables[i]);
  return Source(captured[i - variables.size()]);
}

std::vector<Source> Differentiated::read_as(std::size_t i) const {
  std::vector<Source> list;
  if (i < arguments || i >= arguments + adopted.size()) return list;
  for (std::size_t k = 0; k < enclosing_variables.size(); ++k)
    if (enclosing_values[k].id() == adopted[i - arguments].id()) list.emplace_back(enclosing_variables[k]);
  return list;
}

BoundValues::BoundValues(const Differentiated& d, std::span<const Tensor> x)
    : bound_(*program::Trace::current(), variables_of(d), values_of(d, x)) {}

std::vector<Variable> BoundValues::variables_of(const Differentiated& d) {
  std::vector<Variable> list;
  for (const Variable& v : d.enclosing_variables) list.push_back(v);
  for (const Variable& v : d.variables) list.push_back(v);
  return list;
}
std::vector<Tensor> BoundValues::values_of(const Differentiated& d, std::span<const Tensor> x) {
  std::vector<Tensor> list(d.enclosing_values);
  for (const Tensor& value : d.values(x)) list.push_back(value);
  return list;
}

namespace {

bool is_wanted(const Differentiated& d, std::size_t i) { return i >= d.wanted.size() || d.wanted[i]; }

}  // namespace

Pulled pulled_by(const Differentiated& d, std::span<const Tensor> x) {
  GradientTape tape({.watch_accessed_variables = false});
  std::vector<Source> by;           // the wanted sources, each followed by the variables that are read as it
  std::vector<std::size_t> number;  // of the source that it is, or is read as
  for (std::size_t i = 0; i < d.sources(); ++i) {
    if (!is_wanted(d, i)) continue;
    by.push_back(d.source(i, x));
    number.push_back(i);
    for (const Source& s : d.read_as(i)) {
      by.push_back(s);
      number.push_back(i);
    }
  }
  watch_differentiable(tape, by);
  Pulled pulled;
  pulled.results = d.run(x);
  std::vector<Tensor> targets;  // a result without a cotangent connects nothing
  std::vector<Gradient> seeds;
  for (std::size_t k = 0; k < d.seeded.size(); ++k) {
    targets.push_back(pulled.results[d.seeded[k]]);
    seeds.emplace_back(d.directions(x)[k]);
  }
  pulled.gradients.resize(d.sources());
  const std::vector<Gradient> gradients = pull_on(tape, targets, seeds, by, d.rows);
  for (std::size_t k = 0; k < by.size(); ++k) {
    Derived& to = pulled.gradients[number[k]];
    to.dtype = dtype_of_source(by[k]);
    to.shape = shape_of(by[k]);
    if (d.rows) to.shape.insert(0, d.rows);
    if (gradients[k]) to.value = to.value.defined() ? to.value + gradients[k].dense() : gradients[k].dense();
  }
  return pulled;
}

std::vector<Derived> gradients_of(const Differentiated& d, std::span<const Tensor> x) {
  const BoundValues bound(d, x);
  return std::move(pulled_by(d, x).gradients);
}

Pushed pushed_by(const Differentiated& d, std::span<const Tensor> x) {
  std::vector<Source> moved;
  std::vector<Gradient> along;
  for (std::size_t k = 0; k < d.seeded.size(); ++k) {
    moved.push_back(d.source(d.seeded[k], x));
    along.emplace_back(d.directions(x)[k]);
    for (const Source& s : d.read_as(d.seeded[k])) {
      moved.push_back(s);
      along.emplace_back(d.directions(x)[k]);
    }
  }
  const ForwardAccumulator accumulator(moved, along);
  Pushed pushed{d.run(x), {}};
  for (const Tensor& y : pushed.results) {
    const Gradient t = accumulator.jvp(y);
    pushed.tangents.push_back({t ? t.dense() : Tensor(), y.dtype(), y.shape()});
  }
  return pushed;
}

std::vector<Derived> tangents_of(const Differentiated& d, std::span<const Tensor> x) {
  const BoundValues bound(d, x);
  return std::move(pushed_by(d, x).tangents);
}

std::vector<Tensor> existing(std::span<const Derived> list, std::vector<bool>& exists) {
  if (exists.empty())
    for (const Derived& d : list) exists.push_back(d.value.defined());
  std::vector<Tensor> some;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (exists[i]) some.push_back(list[i].or_zeros());
  return some;
}

detail::List<Tensor> with_gaps(std::span<Tensor> some, const std::vector<bool>& exists) {
  detail::List<Tensor> list(exists.size());
  for (std::size_t i = 0, next = 0; i < exists.size(); ++i)
    if (exists[i]) list[i] = std::move(some[next++]);
  return list;
}

}  // namespace reel::autodiff
