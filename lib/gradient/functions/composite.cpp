// Functions as single entries.
#include "gradient/functions/composite.hpp"

#include <memory>
#include <reel/forward.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>
#include <reel/registry.hpp>

#include "core/fail.hpp"
#include "gradient/gradient.hpp"
#include "gradient/programs/loops.hpp"
#include "ops/apply/operation.hpp"
#include "tape/capture.hpp"

namespace reel {

namespace autodiff {

void Inputs::take(const tape::Capture& capture) {
  captured.assign(capture.tensors().begin(), capture.tensors().end());
  for (const Variable& v : capture.variables()) variables.push_back(v);
  for (const Variable& v : capture.constants()) constants.push_back(v);
  constant_values.assign(capture.constant_values().begin(), capture.constant_values().end());
}

bool Inputs::followed(std::span<const Tensor> also) const {
  if (!tape::active()) return false;
  using List = std::span<const Tensor>;
  for (const List list : {List(arguments), List(captured), List(read), also})
    for (const Tensor& x : list)
      if (tape::followed(x)) return true;
  return false;
}

std::vector<Tensor> Inputs::values() {
  read.clear();
  for (const Variable& v : variables) read.push_back(v.read());
  std::vector<Tensor> list(arguments);
  list.insert(list.end(), captured.begin(), captured.end());
  list.insert(list.end(), read.begin(), read.end());
  return list;
}

std::vector<Source> Inputs::sources(std::span<const Tensor> run_arguments) const {
  std::vector<Source> list(run_arguments.begin(), run_arguments.end());
  for (const Tensor& x : captured) list.emplace_back(x);
  for (const Variable& v : variables) list.emplace_back(v);
  return list;
}

void watch_differentiable(GradientTape& tape, std::span<const Source> sources) {
  for (const Source& s : sources)
    if (s.is_variable())
      tape.watch(s.variable());
    else if (is_differentiable(s.tensor().dtype()))
      tape.watch(s.tensor());
}

std::vector<Tensor> identities(std::span<const Tensor> tensors) {
  std::vector<Tensor> list;
  list.reserve(tensors.size());
  for (const Tensor& x : tensors) list.push_back(identity(x));
  return list;
}

std::vector<Tensor> aliases(std::span<const Tensor> tensors) {
  std::vector<Tensor> list;
  list.reserve(tensors.size());
  for (const Tensor& x : tensors) {
    if (ops::Tracer* tracer = ops::Tracer::current()) [[unlikely]]
      tracer->note(x);
    list.push_back(detail::alias(x));
  }
  return list;
}

std::vector<Gradient> pull_on(GradientTape& tape, std::span<const Tensor> targets, std::span<const Gradient> cotangents,
                              std::span<const Source> sources) {
  std::vector<Target> reached;
  std::vector<Gradient> seeds;
  for (std::size_t k = 0; k < targets.size(); ++k)
    if (is_differentiable(targets[k].dtype())) {
      reached.emplace_back(targets[k]);
      seeds.push_back(cotangents[k] ? cotangents[k] : Gradient(zeros(targets[k].shape(), targets[k].dtype())));
    }
  return as_vector(replay(GradientTapeAccess::get(tape), reached, sources, {.output_gradients = seeds}));
}

namespace {
void check_results(const char* name, std::size_t found, std::size_t expected) {
  if (found != expected)
    fail<ValueError>(name, "the function gave {} tensors when it was run again for its derivative, {} before", found,
                     expected);
}
}  // namespace

std::vector<Gradient> pull_again(const char* name, const detail::FlatFunction& f, const Inputs& inputs,
                                 std::span<const Gradient> cotangents) {
  ops::Draws draws = inputs.draws;
  const ops::DrawsScope same_numbers(draws, ops::DrawsScope::Mode::replay);
  const ops::FrozenReads same_constants(inputs.constants, inputs.constant_values);
  const ops::FrozenReads same_values(inputs.variables, inputs.read);
  GradientTape tape({.watch_accessed_variables = false});
  const std::vector<Tensor> arguments = identities(inputs.arguments);
  const std::vector<Source> sources = inputs.sources(arguments);
  watch_differentiable(tape, sources);
  const std::vector<Tensor> results = f(arguments);
  check_results(name, results.size(), cotangents.size());
  return pull_on(tape, results, cotangents, sources);
}

std::vector<Tensor> push_again(const detail::FlatFunction& f, const Inputs& inputs, std::span<const Tensor> tangents) {
  ops::Draws draws = inputs.draws;
  const ops::DrawsScope same_numbers(draws, ops::DrawsScope::Mode::replay);
  const ops::FrozenReads same_constants(inputs.constants, inputs.constant_values);
  const ops::FrozenReads same_values(inputs.variables, inputs.read);
  const std::vector<Tensor> arguments = identities(inputs.arguments);
  const std::vector<Source> sources = inputs.sources(arguments);
  std::vector<Source> moved;
  std::vector<Gradient> along;
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (tangents[i].defined()) {
      moved.push_back(sources[i]);
      along.emplace_back(tangents[i]);
    }
  const ForwardAccumulator accumulator(moved, along);
  const std::vector<Tensor> results = f(arguments);
  std::vector<Tensor> list;
  for (const Tensor& y : results)
    if (const Gradient t = accumulator.jvp(y))
      list.push_back(t.dense());
    else
      list.emplace_back();
  return list;
}

namespace {

// What the rules of one entry share.
struct Run {
  const char* name;
  detail::FlatFunction again;
  Inputs inputs;
  // With Keep::record, the function's own tape and what it was run on and gave.
  std::unique_ptr<GradientTape> tape;
  std::vector<Tensor> run_arguments, run_results;

  std::vector<Gradient> pull(std::span<const Gradient> g) {
    std::vector<Tensor> seeds;
    for (const Gradient& d : g)
      if (d) seeds.push_back(d.dense());
    if (!tape || inputs.followed(seeds)) return pull_again(name, again, inputs, g);
    return pull_on(*tape, run_results, g, inputs.sources(run_arguments));
  }
};

}  // namespace

}  // namespace autodiff

using namespace autodiff;

namespace detail {

std::vector<Tensor> composite(const char* name, const FlatFunction& first, FlatFunction again,
                              std::span<const Tensor> arguments, Keep keep) {
  if (!tape::active()) return first(arguments);
  if (keep == Keep::inputs && ops::Tracer::current()) return trace_checkpoint(name, first, again, arguments);
  auto c = std::make_shared<Run>();
  c->name = name;
  c->again = std::move(again);
  c->inputs.arguments.assign(arguments.begin(), arguments.end());
  std::vector<Tensor> results;
  {
    tape::Capture capture;
    const ops::DrawsScope noted(c->inputs.draws, ops::DrawsScope::Mode::note);
    c->run_arguments = aliases(arguments);
    if (keep == Keep::record) {
      c->tape = std::make_unique<GradientTape>(TapeOptions{.persistent = true, .watch_accessed_variables = false});
      watch_differentiable(*c->tape, c->inputs.sources(c->run_arguments));
      capture.watch_on(&GradientTapeAccess::get(*c->tape));
    }
    results = first(c->run_arguments);
    capture.note(results);  // one may be a captured tensor as it is
    if (c->tape) c->tape->stop();
    c->inputs.take(capture);
  }
  if (c->tape)
    c->run_results = results;
  else
    c->run_arguments.clear();
  const std::vector<Tensor> outputs = aliases(results);
  record_operation(
      name, c->inputs.values(), outputs, [c](std::span<const Gradient> g) { return c->pull(g); },
      [c](std::span<const Tensor> t) { return push_again(c->again, c->inputs, t); });
  return outputs;
}

}  // namespace detail

}  // namespace reel
