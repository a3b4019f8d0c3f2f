// The members of optimisers by gradient descent, whose formulas have a header each. One source, because each would get
// copies of its own of what the formulas share: 80 KB.
#include "optim/adagrad.hpp"
#include "optim/adam.hpp"
#include "optim/lion.hpp"
#include "optim/rmsprop.hpp"
#include "optim/sgd.hpp"

namespace reel {

#define REEL_MEMBERS(Name, file_name)                                                                      \
  Name::Name(const Name##Options& o) : options(o) { optim::require(optim::Name##Formula::name, options); } \
  void Name::step(std::span<const Gradient> gradients, std::span<const Variable> variables) {              \
    optim::step_by<optim::Name##Formula>(options, states_, gradients, variables);                          \
  }                                                                                                        \
  void Name::forget(const Variable& variable) { states_.erase(VariableAccess::state_key(variable)); }
REEL_OPTIMIZERS(REEL_MEMBERS)
#undef REEL_MEMBERS

}  // namespace reel
