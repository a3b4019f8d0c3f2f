// Divides a program into the part that its first results need, and the rest.
#include <algorithm>

#include "program/passes/passes.hpp"

namespace reel::program {

namespace {

class Cut {
 public:
  Cut(const Program& program, std::size_t arguments, std::size_t results)
      : program_(program), late_(program.values.size()), needed_(program.values.size()) {
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
      if (std::any_of(i.inputs.begin(), i.inputs.end(),
                      [&](Index o) { return o != nothing && late_[program_.operands[o].value]; }))
        for (const Index v : i.outputs)
          if (v != nothing) late_[v] = true;
  }
  bool is_late(const Instruction& i) const {
    return std::any_of(i.outputs.begin(), i.outputs.end(), [&](Index v) { return v != nothing && late_[v]; });
  }
  void find_early() {
    early_.resize(program_.instructions.size());
    for (std::size_t k = early_.size(); k-- > 0;) {
      const Instruction& i = program_.instructions[k];
      early_[k] = (i.may_throw() && !is_late(i)) ||
                  std::any_of(i.outputs.begin(), i.outputs.end(), [&](Index v) { return v != nothing && needed_[v]; });
      if (!early_[k]) continue;
      for (const Index o : i.inputs)
        if (o != nothing) needed_[program_.operands[o].value] = true;
    }
  }

  const Program& program_;
  std::vector<bool> late_, needed_;  // for each value
  std::vector<bool> early_;          // for each instruction
};

}  // namespace

Parts split(const Program& program, std::size_t arguments, std::size_t results) {
  const Cut cut(program, arguments, results);
  Parts parts{program, program};
  for (const bool first : {true, false}) {
    std::size_t k = 0;
    std::erase_if((first ? parts.first : parts.second).instructions,
                  [&](const Instruction&) { return cut.early(k++) != first; });
  }
  parts.first.arguments.resize(arguments);
  parts.first.results.resize(results);
  parts.second.results.erase(parts.second.results.begin(),
                             parts.second.results.begin() + static_cast<std::ptrdiff_t>(results));
  std::vector<bool> made(program.values.size());  // by the first part
  for (const Instruction& i : parts.first.instructions)
    for (const Index v : i.outputs)
      if (v != nothing) made[v] = true;
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
