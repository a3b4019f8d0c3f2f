// Observers of a thread's calls of primitives and effects, which tests record, count or intercept.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ops/apply/apply.hpp"
#include "ops/apply/effect.hpp"
#include "tape/variable.hpp"

namespace support {

inline std::vector<const reel::Tensor*> pointers(const std::vector<reel::Tensor>& list) {
  std::vector<const reel::Tensor*> p;
  for (const reel::Tensor& x : list) p.push_back(&x);
  return p;
}

/// A call of a primitive, with handles to its inputs and outputs.
struct Recorded {
  const reel::ops::Primitive* primitive;
  std::vector<reel::Tensor> inputs, outputs;
  std::vector<std::int64_t> attributes;
};

/// While it exists, records this thread's calls of primitives: all, or those with one of the given effects.
class Listening final : public reel::ops::CallListener {
 public:
  explicit Listening(std::vector<Recorded>& calls, unsigned effects = 0) : calls_(calls), effects_(effects) {}

 private:
  void called(const reel::ops::Primitive& p, const reel::ops::Call& call,
              std::span<const reel::Tensor> outputs) override {
    if (effects_ && !(p.effects & effects_)) return;
    Recorded r{&p, {}, {outputs.begin(), outputs.end()}, {call.attributes.begin(), call.attributes.end()}};
    for (const reel::Tensor* x : call.inputs) r.inputs.push_back(*x);
    calls_.push_back(std::move(r));
  }

  std::vector<Recorded>& calls_;
  unsigned effects_;
};

inline constexpr unsigned all_effects =
    reel::ops::reads_variables | reel::ops::writes_variables | reel::ops::advances_generator;

/// Counts effects and passes them on.
class Counting final : public reel::ops::EffectHandler {
 public:
  Counting() : EffectHandler(all_effects) {}
  void perform(const reel::ops::Effect& e) override {
    names.push_back(e.primitive.rule.name);
    variables.push_back(e.variables.size());
    pass_on(e);
  }
  std::vector<std::string> names;
  std::vector<std::size_t> variables;
};

/// Keeps assigned values to itself, and draws from a stream of its own, like a tracer of programs.
class Sandbox final : public reel::ops::EffectHandler {
 public:
  Sandbox() : EffectHandler(all_effects) {}
  void perform(const reel::ops::Effect& e) override {
    if (e.generator) {
      reel::ops::draw_at(e, 5, 0);
      return;
    }
    std::vector<reel::Tensor> now;
    for (const reel::Variable& v : e.variables)
      now.push_back(values.contains(v.id()) ? values.at(v.id()) : reel::VariableAccess::read(v));
    if (!(e.primitive.effects & reel::ops::writes_variables)) {
      e.outputs[0] = now[0];
      return;
    }
    std::vector<const reel::Tensor*> inputs;
    if (e.primitive.effects & reel::ops::reads_variables) inputs = pointers(now);
    inputs.insert(inputs.end(), e.inputs.begin(), e.inputs.end());
    reel::ops::Metas metas;
    e.primitive.infer({inputs, e.attributes}, metas);
    std::vector<reel::Tensor> outputs(metas.size() - e.primitive.residuals);
    reel::ops::evaluate(e.primitive, inputs, e.attributes, outputs, true);
    for (std::size_t k = 0; k < outputs.size(); ++k) values[e.variables[k].id()] = outputs[k];
  }
  std::map<std::uint64_t, reel::Tensor> values;
};

}  // namespace support
