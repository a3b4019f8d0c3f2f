// The entry point of one instruction set's kernels, the only symbol that its object exports.
#include "kernels/per_isa/parts.hpp"

namespace reel::kernels {

namespace {

Set collect() {
  Set set{};
  set.isa = current::name;
  enter_arithmetic(set);
  enter_integers(set);
  enter_powers(set);
  enter_special(set);
  enter_normal(set);
  enter_trigonometric(set);
  enter_activation(set);
  enter_comparisons(set);
  enter_reductions(set);
  enter_rows(set);
  enter_products(set);
  enter_random(set);
  enter_bessel(set);
  enter_fourier(set);
  enter_complex(set);
  enter_complex_lanes(set);
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
