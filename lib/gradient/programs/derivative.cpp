// Derivatives of traced functions, as functions that are traced in turn.
#include "gradient/programs/derivative.hpp"

#include <algorithm>
#include <reel/forward.hpp>
#include <reel/ops/pointwise.hpp>

#include "gradient/gradient.hpp"

namespace reel::autodiff {

Source Differentiated::source(std::size_t i, std::span<const Tensor> x) const {
  if (i < arguments) return Source(x[i]);
  i -= arguments;
  return i < reads.size() ? reads[i] : Source(captured[i - reads.size()]);
}

namespace {

bool is_wanted(const Differentiated& d, std::size_t i) { return i >= d.wanted.size() || d.wanted[i]; }

}  // namespace

Pulled compute_vjp(const Differentiated& d, std::span<const Tensor> x) {
  GradientTape tape({.watch_accessed_variables = false});
  GradientTapeAccess::get(tape).over_tangents = d.over_tangents;
  std::vector<Source> by;  // the wanted sources
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < d.sources(); ++i)
    if (is_wanted(d, i)) {
      by.push_back(d.source(i, x));
      numbers.push_back(i);
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
  std::vector<Gradient> sums(d.summed.empty() ? 0 : by.size());
  for (std::size_t j = 0; j < d.summed.size(); ++j) {
    const auto at = std::find(numbers.begin(), numbers.end(), d.summed[j]) - numbers.begin();
    sums[static_cast<std::size_t>(at)] = d.directions(x)[d.seeded.size() + j];
  }
  const std::vector<Gradient> gradients = pull_on(tape, targets, seeds, by, d.rows, sums);
  for (std::size_t k = 0; k < by.size(); ++k) {
    Shape shape = shape_of(by[k]);
    if (d.rows) shape.insert(0, d.rows);
    pulled.gradients[numbers[k]] = {gradients[k] ? gradients[k].dense() : Tensor(), dtype_of_source(by[k]), shape};
  }
  return pulled;
}

std::vector<Derived> gradients_of(const Differentiated& d, std::span<const Tensor> x) {
  return std::move(compute_vjp(d, x).gradients);
}

Pushed compute_jvp(const Differentiated& d, std::span<const Tensor> x) {
  std::vector<Source> moved;
  std::vector<Gradient> along;
  for (std::size_t k = 0; k < d.seeded.size(); ++k) {
    moved.push_back(d.source(d.seeded[k], x));
    along.emplace_back(d.directions(x)[k]);
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
  return std::move(compute_jvp(d, x).tangents);
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
