// Bodies with effects as functions of tensors.
#include "gradient/control/effects.hpp"

#include <algorithm>

#include "core/fail.hpp"
#include "tape/tape.hpp"

namespace reel::autodiff {

namespace {

template <class List, class T, class Same>
void add_new(List& list, const T& x, const Same& same) {
  if (std::none_of(list.begin(), list.end(), [&](const T& y) { return same(x, y); })) list.push_back(x);
}

}  // namespace

BodyEffects::BodyEffects(const Traced& body) : generators(body.drawn().begin(), body.drawn().end()) {
  for (const Variable& v : body.assigned()) variables.push_back(v);
  for (const Variable& v : body.read_and_assigned()) read.push_back(v);
}

void BodyEffects::add(const BodyEffects& other) {
  const auto same = [](const Variable& a, const Variable& b) { return a.id() == b.id(); };
  for (const Variable& v : other.variables) add_new(variables, v, same);
  for (const Variable& v : other.read) add_new(read, v, same);
  for (const Generator* g : other.generators) add_new(generators, g, std::equal_to<const Generator*>());
}

Tensors BodyEffects::with_values(const char* owner, TensorSpan list) const {
  program::Trace& trace = *program::Trace::current();
  if ((!variables.empty() && !trace.reached_by(ops::writes_variables)) ||
      (!generators.empty() && !trace.reached_by(ops::advances_generator)))
    fail<TraceError>(owner,
                     "its body assigns a variable or draws random numbers, and it is a part of a function that a "
                     "derivative runs again; assign and draw outside of that");
  for (const Variable& v : read)
    if (tape::active() && tape::followed(trace.read(v)))
      fail<TraceError>(owner,
                       "a tape follows variable '{}', which its body reads and assigns; make it a loop variable, or "
                       "stop the tape",
                       v.name());
  Tensors all(list.begin(), list.end());
  for (const Variable& v : variables) all.push_back(trace.value(v));
  for (const Generator* g : generators) all.push_back(trace.stream(*g));
  return all;
}

void BodyEffects::take_values(Tensors& list, std::size_t first) const {
  program::Trace& trace = *program::Trace::current();
  const auto begin = list.begin() + static_cast<std::ptrdiff_t>(first);
  const Tensors values(begin, begin + static_cast<std::ptrdiff_t>(size()));
  list.erase(begin, begin + static_cast<std::ptrdiff_t>(size()));
  for (std::size_t k = 0; k < variables.size(); ++k) trace.assign(variables[k], values[k]);
  for (std::size_t k = 0; k < generators.size(); ++k) trace.move_stream(*generators[k], values[variables.size() + k]);
}

namespace {

// The results of f, followed by the new values of variables and streams.
struct Ran {
  Tensors results, left;
};
Ran run_with(const detail::FlatFunction& f, const BodyEffects& effects, std::size_t arguments, TensorSpan x) {
  program::Trace& trace = *program::Trace::current();
  const TensorSpan values = x.subspan(arguments, effects.size()), rest = x.subspan(arguments + effects.size());
  const program::Trace::Bound bound(trace, effects.variables, values.first(effects.variables.size()));
  for (std::size_t k = 0; k < effects.generators.size(); ++k)
    trace.move_stream(*effects.generators[k], values[effects.variables.size() + k]);
  Tensors passed(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(arguments));
  passed.insert(passed.end(), rest.begin(), rest.end());
  Ran ran{f(passed), {}};
  for (const Variable& v : effects.variables) ran.left.push_back(trace.value(v));
  for (const Generator* g : effects.generators) ran.left.push_back(trace.stream(*g));
  return ran;
}

}  // namespace

detail::FlatFunction with_effects(const detail::FlatFunction& f, const BodyEffects& effects, std::size_t arguments,
                                  std::size_t results) {
  if (effects.size() == 0) return f;
  return [f, effects, arguments, results](TensorSpan x) {
    Ran ran = run_with(f, effects, arguments, x);
    const auto at = static_cast<std::ptrdiff_t>(std::min(results, ran.results.size()));
    ran.results.insert(ran.results.begin() + at, ran.left.begin(), ran.left.end());
    return std::move(ran.results);
  };
}

// A condition gets the values and returns none.
detail::FlatLoop with_effects(const detail::FlatLoop& loop, const BodyEffects& effects) {
  detail::FlatLoop pure = loop;
  const std::size_t own = loop.variables;
  pure.variables = own + effects.size();
  if (loop.condition)
    pure.condition = [condition = loop.condition, effects, own](TensorSpan x) {
      return run_with(condition, effects, own, x).results;
    };
  const auto once = [step = loop.step, own](TensorSpan x) { return step(x.first(own), x.subspan(own)); };
  pure.step = [step = with_effects(once, effects, own, own)](TensorSpan state, TensorSpan row) {
    Tensors x(state.begin(), state.end());
    x.insert(x.end(), row.begin(), row.end());
    return step(x);
  };
  return pure;
}

}  // namespace reel::autodiff
