// Sums of a value and a matrix product become one product that is added to the value in place, as replay does with
// cotangents of a matrix that several products read.
#include <algorithm>

#include "ops/apply/table.hpp"
#include "ops/product/matmul.hpp"
#include "program/passes/passes.hpp"

namespace reel::program {

namespace {

constexpr std::size_t no_maker = ~std::size_t{0};

class Accumulation {
 public:
  explicit Accumulation(Program& program)
      : program_(program),
        uses_(program.count_uses()),
        maker_(program.values.size(), no_maker),
        reader_(program.values.size(), no_maker),
        gone_(program.instructions.size()) {
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
      for (const Index v : program.instructions[i].outputs)
        if (v != nothing) maker_[v] = i;
      for (const Index o : program.instructions[i].inputs)
        if (o != nothing) reader_[program.operands[o].value] = i;
    }
  }
  void run() {
    for (std::size_t at = 0; at < program_.instructions.size(); ++at) {
      if (!is_sum(program_.instructions[at])) continue;
      const Index x = program_.instructions[at].inputs[0], y = program_.instructions[at].inputs[1];
      const std::size_t first = only_maker(x), second = only_maker(y);
      if (first == no_maker || second == no_maker || first == second) continue;
      // The later one is added to the other, so that nothing else has to live longer.
      const bool swapped = first > second;
      if (!join(at, swapped ? y : x, swapped ? first : second)) join(at, swapped ? x : y, swapped ? second : first);
    }
    std::size_t i = 0;
    std::erase_if(program_.instructions, [&](const Instruction&) { return gone_[i++]; });
  }

 private:
  static bool is_sum(const Instruction& i) { return i.pointwise() && i.operation == ops::value_of<"add">("add"); }
  const detail::Block* block_of(Index value) const { return detail::block(program_.values[value].tensor); }
  bool is_product(std::size_t at) const {
    return at != no_maker && program_.instructions[at].operation.primitive == &ops::matmul_of_tensors();
  }
  // The instruction that computes the operand, for nobody but the sum. Not a pointwise one, which is fused with the
  // sum.
  std::size_t only_maker(Index operand) const {
    const Operand& x = program_.operands[operand];
    const std::size_t at = maker_[x.value];
    const bool apt = at != no_maker && x.whole && uses_[x.value] == 1 && !program_.instructions[at].pointwise();
    return apt ? at : no_maker;
  }
  // Whether the sum is complete, or the next term of it is a product too.
  bool ends_or_goes_on(Index sum) const {
    if (uses_[sum] != 1) return false;
    const std::size_t at = reader_[sum];
    if (at == no_maker) return true;
    const Instruction& next = program_.instructions[at];
    return is_sum(next) && std::any_of(next.inputs.begin(), next.inputs.end(),
                                       [&](Index o) { return is_product(maker_[program_.operands[o].value]); });
  }
  // Makes the sum at `at` an addition of the product to the operand `to`, if that has the same bits and is faster.
  bool join(std::size_t at, Index to, std::size_t product) {
    Instruction& multiply = program_.instructions[product];
    if (!is_product(product)) return false;
    const Index sum = program_.instructions[at].outputs[0], x = program_.operands[to].value;
    const detail::Block *z = block_of(sum), *c = block_of(multiply.outputs[0]), *first = block_of(x);
    if (z->shape() != c->shape() || z->shape() != first->shape() || z->dtype != c->dtype || z->dtype != first->dtype)
      return false;
    if (!first->contiguous()) return false;
    const Tensor &a = program_.operands[multiply.inputs[0]].tensor, &b = program_.operands[multiply.inputs[1]].tensor;
    if (!ops::adds_like_two_ops(a, b, multiply.attributes.words())) return false;
    if (is_product_read_in_parts(program_, multiply) && !ends_or_goes_on(sum)) return false;
    const std::size_t place = maker_[x] < product ? product : at;
    Instruction both;
    both.operation = {.name = ops::matmul_added().rule.name, .primitive = &ops::matmul_added()};
    both.attributes = {ops::matmul_added().rule, multiply.attributes.words()};
    both.inputs = {to, multiply.inputs[0], multiply.inputs[1]};
    both.outputs = {sum};
    gone_[place == at ? product : at] = true;
    maker_[sum] = place;
    program_.instructions[place] = std::move(both);
    return true;
  }

  Program& program_;
  const std::vector<Index> uses_;
  std::vector<std::size_t> maker_, reader_;  // of each value: instructions; the last one that reads it
  std::vector<bool> gone_;
};

}  // namespace

void accumulate_products(Program& program) { Accumulation(program).run(); }

}  // namespace reel::program
