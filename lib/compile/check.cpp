// CompileOptions::check: f is traced anew, and run op by op on copies of the variables and generators that it changes.
#include "compile/check.hpp"

#include <algorithm>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "core/word.hpp"
#include "gradient/control/deferred_call.hpp"
#include "loops/make/random.hpp"
#include "ops/apply/apply.hpp"
#include "ops/elementwise/program.hpp"
#include "program/trace.hpp"
#include "tape/tape.hpp"
#include "tape/variable.hpp"

namespace reel::detail {

Tensor& Beside::value_of(const Variable& v) {
  const auto [at, added] = values_.try_emplace(v.id(), Assigned{v, {}});
  if (added) {
    const tape::Suspend unseen;
    at->second.value = VariableAccess::read(v);
  }
  return at->second.value;
}

void Beside::perform(const ops::Effect& e) {
  if (e.generator) {
    std::uint64_t& position = positions_.try_emplace(e.generator, e.generator->position()).first->second;
    ops::draw_at(e, e.generator->seed(), position);
    position += loops::random_blocks(e.outputs[0].dtype(), e.outputs[0].size());
    return;
  }
  if (!(e.primitive.effects & ops::writes_variables)) {
    for (std::size_t k = 0; k < e.outputs.size(); ++k) {
      Tensor& value = value_of(e.variables[k]);
      if (tape::active()) VariableAccess::on_read(e.variables[k], value);
      e.outputs[k] = value;
    }
    return;
  }
  std::vector<const Tensor*> values;
  if (e.primitive.effects & ops::reads_variables)
    for (const Variable& v : e.variables) values.push_back(&value_of(v));
  const std::vector<Tensor> outputs = program::new_values(e, std::move(values));
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    value_of(e.variables[k]) = alias(outputs[k]);
    values_.at(e.variables[k].id()).written = true;
  }
}

program::Program traced_program(const char* owner, const FlatFunction& f, std::span<const Tensor> arguments) {
  program::Trace trace(owner);
  trace.keep_parts();
  std::vector<Tensor> traced;
  for (const Tensor& x : arguments) traced.push_back(trace.argument(x));
  std::vector<Tensor> results = f(traced);
  for (const Tensor& value : trace.assigned_values()) results.push_back(value);
  return trace.finish(results);
}

namespace {

using program::Instruction, program::Program, program::Value;

class Comparison {
 public:
  Comparison(const Program& before, const Program& now)
      : before_(before), now_(now), numbers_before_(numbers(before)), numbers_now_(numbers(now)) {}
  std::string run() const {
    const std::size_t count = std::min(before_.instructions.size(), now_.instructions.size());
    for (std::size_t i = 0; i < count; ++i)
      if (std::string text = difference(before_.instructions[i], now_.instructions[i]); !text.empty())
        return fmt::format("operation {}, {}{}", i + 1, text, line_of(now_.instructions[i]));
    if (before_.instructions.size() != now_.instructions.size()) {
      const bool fewer = now_.instructions.size() == count;
      const Instruction& other = (fewer ? before_ : now_).instructions[count];
      return fmt::format("operation {}, {}, {}{}", count + 1, other.operation.name,
                         fewer ? "is no longer there" : "was not there", line_of(other));
    }
    for (std::size_t k = 0; k < std::min(before_.results.size(), now_.results.size()); ++k)
      if (std::string text = difference(before_.results[k], now_.results[k]); !text.empty())
        return fmt::format("result {} {}", k + 1, text);
    return before_.results.size() == now_.results.size() ? std::string() : "it has another number of results";
  }

 private:
  static std::string line_of(const Instruction& i) {
    const std::string line = tape::to_string(i.line, " (");
    return line.empty() ? line : line + ")";
  }
  std::string difference(const Instruction& a, const Instruction& b) const {
    const char *was = a.operation.name, *is = b.operation.name;
    if (!(a.operation == b.operation)) return fmt::format("was {} and is now {}", was, is);
    if (a.inputs.size() != b.inputs.size()) return fmt::format("{}, has another number of operands", is);
    for (std::size_t k = 0; k < a.inputs.size(); ++k)
      if (std::string text = difference(a.inputs[k], b.inputs[k]); !text.empty())
        return fmt::format("{}: operand {} {}", is, k + 1, text);
    if (!same_attributes(a, b)) return fmt::format("{}, has other attributes, such as axes, than it had", is);
    return difference_of_parts(a, b);
  }
  static bool same_attributes(const Instruction& a, const Instruction& b) {
    const auto x = a.attributes.words(), y = b.attributes.words();
    const ops::Primitive* p = a.operation.primitive;
    if (!p || !p->rule.release) return std::equal(x.begin(), x.end(), y.begin(), y.end());
    if (p->evaluate != ops::elementwise_primitive().evaluate) return true;  // each trace makes another object
    const auto graph = [](ops::Attributes words) { return detail::pointer_of<const ops::Program>(words[0])->graph(); };
    const loops::Graph was = graph(x), is = graph(y);
    return was.inputs == is.inputs && was.outputs == is.outputs && was.nodes == is.nodes &&
           std::equal(x.begin() + 1, x.end(), y.begin() + 1, y.end());
  }
  // Compares the bodies of a loop, a branch or a checkpoint.
  static std::string difference_of_parts(const Instruction& a, const Instruction& b) {
    const auto before = autodiff::parts_of(a), now = autodiff::parts_of(b);
    for (std::size_t k = 0; k < std::min(before.size(), now.size()); ++k)
      if (const std::string text = first_difference(*before[k].program, *now[k].program); !text.empty())
        return fmt::format("{}: in its {}, {}", b.operation.name, now[k].name, text);
    return {};
  }
  std::string difference(program::Index a, program::Index b) const {
    if ((a == program::nothing) != (b == program::nothing)) return "is another";
    if (a == program::nothing) return {};
    const program::Operand &x = before_.operands[a], &y = now_.operands[b];
    const Value &v = before_.values[x.value], &w = now_.values[y.value];
    if (x.tensor.dtype() != y.tensor.dtype() || x.tensor.shape() != y.tensor.shape())
      return fmt::format("was {} {} and is now {} {}", name(x.tensor.dtype()), to_string(x.tensor.shape()),
                         name(y.tensor.dtype()), to_string(y.tensor.shape()));
    if (v.origin != w.origin) return "comes from elsewhere";
    if (v.origin == Value::Origin::constant)
      return ops::same_bits(v.tensor, w.tensor) ? "" : "is a constant of the program, and has another value now";
    return x.offset == y.offset && numbers_before_[x.value] == numbers_now_[y.value] ? "" : "comes from elsewhere";
  }
  // For each value: how many before it are not constants. Values are the same if they have the same number.
  static std::vector<std::size_t> numbers(const Program& p) {
    std::vector<std::size_t> list;
    list.reserve(p.values.size());
    std::size_t n = 0;
    for (const Value& v : p.values) {
      list.push_back(n);
      n += v.origin != Value::Origin::constant;
    }
    return list;
  }

  const Program &before_, &now_;
  const std::vector<std::size_t> numbers_before_, numbers_now_;
};

}  // namespace

std::string first_difference(const Program& before, const Program& now) { return Comparison(before, now).run(); }

}  // namespace reel::detail
