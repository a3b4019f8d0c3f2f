// Constant folding.
#include <algorithm>

#include "core/fail.hpp"
#include "ops/apply/apply.hpp"
#include "program/passes/passes.hpp"
#include "program/trace.hpp"

namespace reel::program {

namespace {

class Folding {
 public:
  Folding(Program& program, std::int64_t most_elements) : program_(program), most_elements_(most_elements) {}
  // Whether the instruction was evaluated and its outputs are constants now.
  bool fold(const Instruction& i) {
    const bool small = std::all_of(i.outputs.begin(), i.outputs.end(), [&](Index v) {
      return v != nothing && !is_token(program_.values[v].tensor) && program_.values[v].tensor.size() <= most_elements_;
    });
    const bool constant = std::all_of(i.inputs.begin(), i.inputs.end(), [&](Index o) {
      return o == nothing || program_.values[program_.operands[o].value].origin == Value::Origin::constant;
    });
    if (!small || !constant || i.fused || i.scalars) return false;
    std::vector<Tensor> outputs;
    try {
      outputs = evaluate(i);
    } catch (const Error&) {
      return false;  // it throws for these values: every run must throw too
    }
    for (std::size_t k = 0; k < outputs.size(); ++k) program_.make_constant(i.outputs[k], outputs[k]);
    return true;
  }

 private:
  std::vector<Tensor> evaluate(const Instruction& i) const {
    static const Tensor none_given;
    std::vector<const Tensor*> inputs;
    for (const Index o : i.inputs) inputs.push_back(o == nothing ? &none_given : &program_.operands[o].tensor);
    std::vector<Tensor> outputs(i.outputs.size());
    if (i.pointwise()) {
      const detail::Block* z = detail::block(program_.values[i.outputs[0]].tensor);
      outputs[0] = detail::empty(z->dtype, z->shape());
      ops::evaluate_pointwise(i.operation, inputs, outputs[0]);
    } else {
      ops::evaluate(*i.operation.primitive, inputs, i.attributes.words(), outputs, i.residuals_wanted);
    }
    return outputs;
  }

  Program& program_;
  std::int64_t most_elements_;
};

}  // namespace

void fold_constants(Program& program, std::int64_t most_elements) {
  const Untraced computing;  // the program may be part of one that is being traced
  Folding folding(program, most_elements);
  std::erase_if(program.instructions, [&](const Instruction& i) { return folding.fold(i); });
}

}  // namespace reel::program
