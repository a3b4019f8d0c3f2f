// Dead code elimination.
#include <algorithm>

#include "program/passes/passes.hpp"

namespace reel::program {

namespace {

// Drops residuals that no derivative reads.
void drop_token(Instruction& i, const std::vector<bool>& used) {
  if (!i.residuals_wanted || !i.operation.primitive->tokens || used[i.outputs.back()]) return;
  i.outputs.back() = nothing;
  i.residuals_wanted = false;
}

}  // namespace

void drop_unused(Program& program) {
  std::vector<bool> used(program.values.size());
  for (const Index o : program.results) used[program.operands[o].value] = true;
  std::vector<bool> kept(program.instructions.size());
  for (std::size_t i = program.instructions.size(); i-- > 0;) {
    const Instruction& instruction = program.instructions[i];
    kept[i] = instruction.may_throw() || std::any_of(instruction.outputs.begin(), instruction.outputs.end(),
                                                     [&](Index v) { return v != nothing && used[v]; });
    if (!kept[i]) continue;
    drop_token(program.instructions[i], used);
    for (const Index o : instruction.inputs)
      if (o != nothing) used[program.operands[o].value] = true;
  }
  std::size_t i = 0;
  std::erase_if(program.instructions, [&](const Instruction&) { return !kept[i++]; });
}

namespace {

template <class Pass>
PassCounts counted(const char* name, Program& program, Pass pass) {
  const std::size_t before = program.instructions.size();
  pass(program);
  return {name, before, program.instructions.size()};
}

}  // namespace

std::vector<PassCounts> simplify(Program& program) {
  return {counted("drop_unused", program, drop_unused),
          counted("fold_constants", program, [](Program& p) { fold_constants(p); }),
          counted("share_equal", program, share_equal), counted("drop_unused", program, drop_unused),
          counted("join_places", program, join_places)};
}

std::vector<PassCounts> fuse(Program& program) {
  return {counted("accumulate_products", program, accumulate_products), counted("join_scalars", program, join_scalars),
          counted("fuse_pointwise", program, fuse_pointwise)};
}

std::vector<PassCounts> optimize(Program& program) {
  std::vector<PassCounts> passes = simplify(program);
  for (const PassCounts& pass : fuse(program)) passes.push_back(pass);
  return passes;
}

}  // namespace reel::program
