// The entry point of one instruction set's kernels, the only symbol that its object exports.
#include "kernels/compiled/parts.hpp"

namespace reel::kernels {

namespace {

Set collect() {
  Set set{};
  set.isa = current::name;
  enter_arithmetic<current>(set);
  enter_integers<current>(set);
  enter_powers<current>(set);
  enter_special<current>(set);
  enter_trigonometric<current>(set);
  enter_activation<current>(set);
  enter_comparisons<current>(set);
  enter_reductions<current>(set);
  enter_rows<current>(set);
  enter_convolution<current>(set);
  enter_complex(set);
  return set;
}

}  // namespace

}  // namespace reel::kernels

#define REEL_JOIN(a, b) a##b
#define REEL_ENTRY(isa) REEL_JOIN(reel_kernels_, isa)
extern "C" [[gnu::visibility("hidden")]] const reel::kernels::Set* REEL_ENTRY(REEL_KERNEL_ISA)();
const reel::kernels::Set* REEL_ENTRY(REEL_KERNEL_ISA)() {
  static const reel::kernels::Set set = reel::kernels::collect();
  return &set;
}
