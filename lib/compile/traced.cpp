// Traced functions: calls by their programs, entries of tapes, and derivatives.
#include "compile/traced.hpp"

#include <algorithm>
#include <reel/forward.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>
#include <reel/registry.hpp>

#include "gradient/functions/composite.hpp"
#include "program/passes/passes.hpp"
#include "program/trace.hpp"
#include "tape/tape.hpp"

namespace reel::compiler {

Traced::Traced(const char* owner, detail::FlatFunction f, std::span<const Tensor> arguments)
    : owner_(owner), f_(std::move(f)), arguments_(arguments.size()) {
  program::Program program;
  {
    program::Trace trace(owner);
    std::vector<Tensor> given;
    for (const Tensor& x : arguments) given.push_back(trace.argument(x));
    std::vector<Tensor> results = f_(given);
    results_ = results.size();
    for (const Variable& v : trace.variables()) variables_.push_back(v);
    for (const Variable& v : trace.assigned()) assigned_.push_back(v);
    for (const Tensor& value : trace.assigned_values()) results.push_back(value);
    program = trace.finish(results);
    captured_.assign(trace.captured().begin(), trace.captured().end());
  }
  traced_instructions_ = static_cast<std::int64_t>(program.instructions.size());
  program::optimize(program);
  executable_ = std::make_unique<program::Executable>(std::move(program));
}

detail::List<Tensor> Traced::run(std::span<const Tensor> inputs) {
  detail::List<Tensor> results(results_ + assigned_.size());
  executable_->run(inputs, results);
  for (std::size_t k = 0; k < assigned_.size(); ++k) assigned_[k].assign(results[results_ + k]);
  results.resize(results_);
  return results;
}

detail::List<Tensor> Traced::call(std::span<const Tensor> arguments) {
  if (program::Trace::current()) {  // becomes a part of that trace
    const std::vector<Tensor> results = f_(arguments);
    return {results.begin(), results.end()};
  }
  detail::List<Tensor> all(arguments.begin(), arguments.end());
  for (const Variable& v : variables_) all.push_back(contiguous(v.read()));  // as it was traced
  if (!tape::active()) return run(all);
  Inputs inputs;
  for (const Tensor& x : captured_)
    if (tape::followed(x)) inputs.captured.push_back(x);
  if (inputs.captured.empty() &&
      std::none_of(all.begin(), all.end(), [](const Tensor& x) { return tape::followed(x); }))
    return run(all);
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(arguments_);
  inputs.arguments.assign(all.begin(), middle);
  inputs.values.assign(middle, all.end());
  return record(inputs, all);
}

detail::List<Tensor> Traced::record(const Inputs& inputs, std::span<const Tensor> all) {
  const std::vector<Tensor> outputs = autodiff::aliases(run(all));
  std::vector<Tensor> entry(all.begin(), all.end());
  entry.insert(entry.end(), inputs.captured.begin(), inputs.captured.end());
  record_operation(
      owner_, entry, outputs,
      [self = shared_from_this(), inputs](std::span<const Gradient> g) { return self->pull(inputs, g); },
      [self = shared_from_this(), inputs](std::span<const Tensor> t) { return self->push(inputs, t); });
  return {outputs.begin(), outputs.end()};
}

// A gradient or tangent, and what has its shape and dtype.
struct Derived {
  Tensor value;  // empty: there is none
  Tensor like;
};

// What a function that is differentiated is given, and what it is differentiated by.
struct Differentiated {
  detail::FlatFunction f;
  std::size_t arguments;
  std::vector<Variable> variables;
  std::vector<Tensor> captured;
  std::vector<std::int64_t> given;  // begins with the numbers of what has a cotangent or tangent

  std::vector<Source> sources(std::span<const Tensor> x) const {
    std::vector<Source> list(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(arguments));
    for (const Variable& v : variables) list.emplace_back(v);
    for (const Tensor& w : captured) list.emplace_back(w);
    return list;
  }
  std::span<const Tensor> values(std::span<const Tensor> x) const { return x.subspan(arguments, variables.size()); }
  std::vector<Tensor> run(std::span<const Tensor> x) const { return f(x.first(arguments)); }
  // Calls use(number, tensor) for each cotangent or tangent in x.
  template <class Use>
  void for_each_given(std::span<const Tensor> x, const Use& use) const {
    const std::size_t first = arguments + variables.size();
    for (std::size_t k = first; k < x.size(); ++k) use(static_cast<std::size_t>(given[k - first]), x[k]);
  }
};

namespace {

// Appends the tensors without gaps, and their numbers in the list to the key.
template <class List>
void append_defined(const List& list, std::vector<Tensor>& to, std::vector<std::int64_t>& key) {
  for (std::size_t k = 0; k < list.size(); ++k)
    if (list[k].defined()) {
      key.push_back(static_cast<std::int64_t>(k));
      to.push_back(contiguous(list[k]));
    }
}

// Those that exist. The first run says which these are; where a later one, under a tape, finds none, it is zero.
std::vector<Tensor> existing(std::span<const Derived> list, std::vector<bool>& exists) {
  if (exists.empty())
    for (const Derived& d : list) exists.push_back(d.value.defined());
  std::vector<Tensor> some;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (exists[i]) some.push_back(list[i].value.defined() ? list[i].value : zeros_like(list[i].like));
  return some;
}

// The list again, with empty handles for what does not exist.
std::vector<Tensor> with_gaps(detail::List<Tensor> some, const std::vector<bool>& exists) {
  std::vector<Tensor> list(exists.size());
  for (std::size_t i = 0, next = 0; i < exists.size(); ++i)
    if (exists[i]) list[i] = std::move(some[next++]);
  return list;
}

Tensor tensor_of(const Source& s) { return s.is_variable() ? s.variable().read() : s.tensor(); }

// Gradients of all that the function is differentiated by, for cotangents of some results.
std::vector<Derived> gradients_of(const Differentiated& d, std::span<const Tensor> x) {
  const program::Trace::Bound bound(*program::Trace::current(), d.variables, d.values(x));
  GradientTape tape({.watch_accessed_variables = false});
  const std::vector<Source> by = d.sources(x);
  autodiff::watch_differentiable(tape, by);
  const std::vector<Tensor> y = d.run(x);
  std::vector<Tensor> targets;  // a result without a cotangent connects nothing
  std::vector<Gradient> seeds;
  d.for_each_given(x, [&](std::size_t k, const Tensor& g) {
    targets.push_back(y[k]);
    seeds.emplace_back(g);
  });
  std::vector<Derived> list;
  for (const Gradient& g : autodiff::pull_on(tape, targets, seeds, by))
    list.push_back({g ? g.dense() : Tensor(), tensor_of(by[list.size()])});
  return list;
}

// Tangents of all results, for tangents of some of what the function is differentiated by.
std::vector<Derived> tangents_of(const Differentiated& d, std::span<const Tensor> x) {
  const program::Trace::Bound bound(*program::Trace::current(), d.variables, d.values(x));
  const std::vector<Source> by = d.sources(x);
  std::vector<Source> moved;
  std::vector<Gradient> along;
  d.for_each_given(x, [&](std::size_t i, const Tensor& t) {
    moved.push_back(by[i]);
    along.emplace_back(t);
  });
  const ForwardAccumulator accumulator(moved, along);
  std::vector<Derived> list;
  for (const Tensor& y : d.run(x)) {
    const Gradient t = accumulator.jvp(y);
    list.push_back({t ? t.dense() : Tensor(), y});
  }
  return list;
}

}  // namespace

std::vector<Tensor> Traced::differentiate(Derivatives& known, DerivativeFunction function, const Inputs& inputs,
                                          std::span<const Tensor> given) {
  std::vector<Tensor> arguments(inputs.arguments);
  arguments.insert(arguments.end(), inputs.values.begin(), inputs.values.end());
  Key key;
  append_defined(given, arguments, key);
  for (const Tensor& w : inputs.captured) key.push_back(-static_cast<std::int64_t>(w.id()));
  const Derivative* d = nullptr;
  {
    const std::lock_guard lock(mutex_);
    auto found = known.find(key);
    if (found == known.end()) {
      auto exists = std::make_shared<std::vector<bool>>();
      const Differentiated what{f_, arguments_, variables_, inputs.captured, key};
      auto f = [what, exists, function](std::span<const Tensor> x) { return existing(function(what, x), *exists); };
      auto traced = std::make_shared<Traced>(owner_, std::move(f), arguments);
      found = known.emplace(key, Derivative{std::move(traced), *exists}).first;
    }
    d = &found->second;
  }
  return with_gaps(d->traced->call(arguments), d->exists);
}

std::vector<Gradient> Traced::pull(const Inputs& inputs, std::span<const Gradient> cotangents) {
  std::vector<Tensor> dense;
  for (const Gradient& g : cotangents) dense.push_back(g ? g.dense() : Tensor());
  std::vector<Gradient> result;
  for (Tensor& g : differentiate(pulls_, gradients_of, inputs, dense))
    result.push_back(g.defined() ? Gradient(std::move(g)) : Gradient());
  return result;
}

std::vector<Tensor> Traced::push(const Inputs& inputs, std::span<const Tensor> tangents) {
  return differentiate(pushes_, tangents_of, inputs, tangents);
}

CompileStats Traced::stats() const {
  CompileStats s;
  s.traced_instructions = traced_instructions_;
  s.instructions = static_cast<std::int64_t>(program().instructions.size());
  s.planned_bytes = executable_->bytes();
  for (const program::Value& v : program().values)
    if (v.origin == program::Value::Origin::constant)
      s.constant_bytes += v.tensor.size() * static_cast<std::int64_t>(item_size(v.tensor.dtype()));
  return s;
}

}  // namespace reel::compiler
