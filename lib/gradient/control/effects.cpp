// Bodies with effects as functions of tensors.
#include "gradient/control/effects.hpp"

#include <algorithm>

#include "core/fail.hpp"
#include "program/trace.hpp"
#include "tape/tape.hpp"

namespace reel::autodiff {

namespace {

template <class List, class More>
void add_new(List& list, const More& more) {
  for (const auto& x : more)
    if (std::none_of(list.begin(), list.end(), [&](const auto& y) { return x == y; })) list.push_back(x);
}

void move_streams(const BodyEffects& effects, TensorSpan streams) {
  for (std::size_t k = 0; k < streams.size(); ++k)
    program::Trace::current()->move_stream(*effects.generators[k], streams[k]);
}

// The results of f at the arguments behind the values; its effects stay here. `left`: the new values.
Tensors run_with(const detail::FlatFunction& f, const BodyEffects& effects, TensorSpan x, Tensors& left) {
  const std::size_t assigned = effects.variables.size(), drawn = effects.generators.size();
  const program::Trace::Bound bound(*program::Trace::current(), effects.variables, x.first(assigned));
  move_streams(effects, x.subspan(assigned, drawn));
  Tensors results = f(x.subspan(assigned + drawn));
  left = effects.values();
  return results;
}

}  // namespace

void BodyEffects::add(const Traced& body) {
  add_new(variables, body.assigned());
  add_new(generators, body.drawn());
  add_new(read, body.read_and_assigned());
}

Tensors BodyEffects::values() const {
  program::Trace& trace = *program::Trace::current();
  Tensors all;
  for (const Variable& v : variables) all.push_back(trace.value(v));
  for (const Generator* g : generators) all.push_back(trace.stream(*g));
  return all;
}

void BodyEffects::check(const char* owner) const {
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
}

std::optional<Tensors> BodyEffects::perform(const char* owner,
                                            const Callback<std::optional<Tensors>(TensorSpan)>& call) const {
  check(owner);
  std::optional<Tensors> results = call(values());
  if (!results) return results;
  const TensorSpan all(*results);
  for (std::size_t k = 0; k < variables.size(); ++k) program::Trace::current()->assign(variables[k], all[k]);
  move_streams(*this, all.subspan(variables.size(), generators.size()));
  return joined({all.subspan(variables.size() + generators.size())});
}

detail::FlatFunction with_effects(const detail::FlatFunction& f, const BodyEffects& effects) {
  return [f, effects](TensorSpan x) {
    Tensors left;
    const Tensors results = run_with(f, effects, x, left);
    return joined({left, results});
  };
}

detail::FlatLoop with_effects(const detail::FlatLoop& loop, const BodyEffects& effects) {
  detail::FlatLoop pure = loop;
  pure.variables += effects.variables.size() + effects.generators.size();
  if (loop.condition)
    pure.condition = [condition = loop.condition, effects](TensorSpan x) {
      Tensors left;
      return run_with(condition, effects, x, left);
    };
  const auto once = [step = loop.step, own = loop.variables](TensorSpan x) {
    return step(x.first(own), x.subspan(own));
  };
  pure.step = [step = with_effects(once, effects)](TensorSpan state, TensorSpan row) {
    return step(joined({state, row}));
  };
  return pure;
}

}  // namespace reel::autodiff
