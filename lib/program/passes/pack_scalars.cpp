// Scalars that the second part of a program is given become elements of one array: a run makes one tensor for them.
#include <algorithm>

#include "ops/shape/join.hpp"
#include "program/passes/passes.hpp"

namespace reel::program {

namespace {

bool is_packed(const Program& first, std::size_t result, DType dtype) {
  const Operand& o = first.operands[first.results[result]];
  return o.whole && o.tensor.rank() == 0 && o.tensor.dtype() == dtype && !is_token(o.tensor) &&
         first.values[o.value].origin == Value::Origin::result;
}

// Views of `value` become views of `array`, in which it begins at `offset`.
void move_operands(Program& p, Index value, Index array, std::int64_t offset) {
  Index* end = &p.values[array].operands;
  while (*end != nothing) end = &p.operands[*end].next;
  *end = std::exchange(p.values[value].operands, nothing);
  p.values[value].whole = nothing;
  for (Index at = *end; at != nothing; at = p.operands[at].next) {
    Operand& o = p.operands[at];
    o.value = array;
    o.offset += offset;
    o.whole = false;
    o.tensor = laid_out(p.values[array].tensor, o.offset, o.tensor);
  }
}

void pack(Parts& parts, DType dtype) {
  const std::size_t own = parts.first.results.size() - parts.residuals,
                    given = parts.second.arguments.size() - parts.residuals;
  std::vector<std::size_t> packed;
  for (std::size_t r = 0; r < parts.residuals; ++r)
    if (is_packed(parts.first, own + r, dtype)) packed.push_back(r);
  constexpr std::size_t fewest = 4;
  if (packed.size() < fewest) return;
  const Tensor like = ops::abstract(dtype, {static_cast<std::int64_t>(packed.size())});
  Instruction stack;
  const std::int64_t axis[] = {0};
  stack.operation = {.name = ops::stack_of_parts().rule.name, .primitive = &ops::stack_of_parts()};
  stack.attributes = {ops::stack_of_parts().rule, axis};
  const Index array = parts.second.add_value(Value::Origin::argument, like);
  for (std::size_t k = 0; k < packed.size(); ++k) {
    stack.inputs.push_back(parts.first.results[own + packed[k]]);
    move_operands(parts.second, parts.second.arguments[given + packed[k]], array,
                  static_cast<std::int64_t>(k * item_size(dtype)));
  }
  stack.outputs = {parts.first.add_value(Value::Origin::result, like)};
  for (std::size_t k = packed.size(); k-- > 0;) {
    const auto at = static_cast<std::ptrdiff_t>(packed[k]);
    parts.first.results.erase(parts.first.results.begin() + static_cast<std::ptrdiff_t>(own) + at);
    parts.second.arguments.erase(parts.second.arguments.begin() + static_cast<std::ptrdiff_t>(given) + at);
  }
  parts.first.results.push_back(parts.first.whole(stack.outputs[0]));
  parts.first.instructions.push_back(std::move(stack));
  parts.second.arguments.push_back(array);
  parts.residuals -= packed.size() - 1;
}

}  // namespace

void pack_residuals(Parts& parts) {
  for (const DType dtype : {DType::float64, DType::float32}) pack(parts, dtype);
}

}  // namespace reel::program
