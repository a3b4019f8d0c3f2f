// Divides a program into the part that its first results need, and the rest.
#include <algorithm>

#include "core/word.hpp"
#include "ops/compare.hpp"
#include "ops/elementwise/program.hpp"
#include "ops/index/slice.hpp"
#include "ops/index/where.hpp"
#include "ops/shape/join.hpp"
#include "program/passes/passes.hpp"

namespace reel::program {

namespace {

class Cut {
 public:
  Cut(const Program& program, std::size_t arguments, std::size_t results, Index derived)
      : program_(program), derived_(derived), late_(program.values.size()), needed_(program.values.size()) {
    for (std::size_t k = arguments; k < program.arguments.size(); ++k) late_[program.arguments[k]] = true;
    for (std::size_t k = 0; k < results; ++k) needed_[program.operands[program.results[k]].value] = true;
    find_late();
    find_early();
  }
  bool early(std::size_t instruction) const { return early_[instruction]; }

 private:
  // Marks the values that depend on arguments of the second part.
  void find_late() {
    for (const Instruction& i : program_.instructions)
      if (is_late(i))
        for (const Index v : i.outputs)
          if (v != nothing) late_[v] = true;
  }
  bool is_late(const Instruction& i) const {
    return std::any_of(i.inputs.begin(), i.inputs.end(),
                       [&](Index o) { return o != nothing && late_[program_.operands[o].value]; });
  }
  bool is_of_function(const Instruction& i) const {
    return std::all_of(i.outputs.begin(), i.outputs.end(), [&](Index v) { return v == nothing || v < derived_; });
  }
  void find_early() {
    early_.resize(program_.instructions.size());
    for (std::size_t k = early_.size(); k-- > 0;) {
      const Instruction& i = program_.instructions[k];
      early_[k] = (i.may_throw() && !is_late(i) && is_of_function(i)) ||
                  std::any_of(i.outputs.begin(), i.outputs.end(), [&](Index v) { return v != nothing && needed_[v]; });
      if (!early_[k]) continue;
      for (const Index o : i.inputs)
        if (o != nothing) needed_[program_.operands[o].value] = true;
    }
  }

  const Program& program_;
  Index derived_;                    // the first value of the gradient
  std::vector<bool> late_, needed_;  // for each value
  std::vector<bool> early_;          // for each instruction
};

// Which instructions of the first part the second part repeats: those that are one pass over arguments, whose results
// it reads.
class Repetition {
 public:
  Repetition(const Program& program, const Cut& cut, std::size_t arguments, std::size_t results)
      : program_(program),
        cut_(cut),
        known_(program.values.size()),
        cost_(program.values.size()),
        repeated_(program.instructions.size()) {
    for (std::size_t k = 0; k < arguments; ++k) known_[program.arguments[k]] = true;
    for (Index v = 0; v < program.values.size(); ++v)
      if (program.values[v].origin == Value::Origin::constant) known_[v] = true;
    kept_.resize(program.values.size());
    for (std::size_t k = 0; k < results; ++k) kept_[program.operands[program.results[k]].value] = true;
    find_known();
    find_repeated();
  }
  const std::vector<bool>& instructions() const { return repeated_; }
  // Whether it saves more bytes of results than it reads of the first arguments, which nothing else reads.
  bool saves(std::size_t variables) const {
    std::int64_t bytes = 0;
    for (Index v = 0; v < known_.size(); ++v)
      if (late_reads_[v] && program_.values[v].origin == Value::Origin::result && repeats_[v]) bytes += bytes_of(v);
    for (std::size_t k = 0; k < variables; ++k)
      if (const Index v = program_.arguments[k]; needed_[v] && !late_reads_[v]) bytes -= bytes_of(v);
    return bytes > 0;
  }

 private:
  static constexpr std::int64_t fewest_bytes = 4096;  // of a result: repeating smaller ones costs more than it saves
  static constexpr int most_operations = 16;          // for one result
  std::int64_t bytes_of(Index v) const {
    const Tensor& x = program_.values[v].tensor;
    return x.size() * static_cast<std::int64_t>(item_size(x.dtype()));
  }
  // The number of operations on each element, of an instruction that is one pass over its result: it combines or moves
  // elements. 0: it is none.
  static int operations(const Instruction& i) {
    if (i.may_throw() || i.outputs.size() != 1 || i.outputs[0] == nothing) return 0;
    if (i.pointwise()) return i.operation.summed ? 0 : 1;
    const ops::Primitive* p = i.operation.primitive;
    if (p->evaluate == ops::elementwise_primitive().evaluate) {
      const auto& program = *detail::pointer_of<const ops::Program>(i.attributes.words()[0]);
      return static_cast<int>(program.graph().nodes.size() - i.inputs.size());
    }
    loops::Node mask{};
    return p == &ops::roll_of_axis() || p == &ops::pad_of_borders() || p == &ops::concatenate_of_parts() ||
           p == &ops::place_of_parts() || p == &ops::where_of_tensors() || ops::gives_booleans(*p, mask);
  }
  template <class F>
  void for_inputs(const Instruction& i, F f) const {
    for (const Index o : i.inputs)
      if (o != nothing) f(program_.operands[o].value);
  }
  void find_known() {
    for (std::size_t k = 0; k < program_.instructions.size(); ++k) {
      const Instruction& i = program_.instructions[k];
      int cost = cut_.early(k) ? operations(i) : 0;
      bool all = cost > 0;
      if (!all) continue;
      for_inputs(i, [&](Index v) {
        all = all && known_[v];
        cost += cost_[v];
      });
      const Index y = i.outputs[0];
      known_[y] = all && cost <= most_operations && !kept_[y] && bytes_of(y) >= fewest_bytes;
      cost_[y] = cost;
    }
  }
  void find_repeated() {
    late_reads_.resize(known_.size());
    for (std::size_t k = 0; k < program_.instructions.size(); ++k)
      if (!cut_.early(k)) for_inputs(program_.instructions[k], [&](Index v) { late_reads_[v] = true; });
    for (const Index o : program_.results)
      if (const Index v = program_.operands[o].value; !kept_[v]) late_reads_[v] = true;
    needed_ = late_reads_;
    repeats_.resize(known_.size());
    for (std::size_t k = program_.instructions.size(); k-- > 0;) {
      const Instruction& i = program_.instructions[k];
      if (!cut_.early(k) || operations(i) == 0 || !needed_[i.outputs[0]] || !known_[i.outputs[0]]) continue;
      repeated_[k] = repeats_[i.outputs[0]] = true;
      for_inputs(i, [&](Index v) { needed_[v] = true; });
    }
  }

  const Program& program_;
  const Cut& cut_;
  std::vector<bool> known_;  // for each value: the second part can compute it from arguments
  std::vector<int> cost_;
  std::vector<bool> repeated_;  // for each instruction
  std::vector<bool> kept_, late_reads_, needed_, repeats_;
};

}  // namespace

Parts split(const Program& program, std::size_t arguments, std::size_t results, std::size_t variables, Index derived) {
  const Cut cut(program, arguments, results, derived);
  std::vector<bool> repeated(program.instructions.size());
  if (variables > 0)
    if (const Repetition repetition(program, cut, arguments, results); repetition.saves(variables))
      repeated = repetition.instructions();
  Parts parts{program, program};
  for (const bool first : {true, false}) {
    std::size_t k = 0;
    std::erase_if((first ? parts.first : parts.second).instructions, [&](const Instruction&) {
      const bool early = cut.early(k), again = !first && repeated[k];
      ++k;
      return early != first && !again;
    });
  }
  parts.first.arguments.resize(arguments);
  parts.first.results.resize(results);
  parts.second.results.erase(parts.second.results.begin(),
                             parts.second.results.begin() + static_cast<std::ptrdiff_t>(results));
  std::vector<bool> made(program.values.size());  // by the first part
  for (const Instruction& i : parts.first.instructions)
    for (const Index v : i.outputs)
      if (v != nothing) made[v] = true;
  for (const Instruction& i : parts.second.instructions)  // and not again by the second
    for (const Index v : i.outputs)
      if (v != nothing) made[v] = false;
  const std::vector<Index> uses = parts.second.count_uses();
  for (Index v = 0; v < made.size(); ++v) {
    if (!made[v] || uses[v] == 0) continue;
    parts.first.results.push_back(parts.first.whole(v));
    parts.second.values[v].origin = Value::Origin::argument;
    parts.second.arguments.push_back(v);
    ++parts.residuals;
  }
  return parts;
}

}  // namespace reel::program
