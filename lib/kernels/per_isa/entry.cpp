// The entry point of one instruction set's kernels, the only symbol that its object exports.
#include "kernels/per_isa/parts.hpp"

#define REEL_QUOTED(name) REEL_QUOTED_AS_IS(name)
#define REEL_QUOTED_AS_IS(name) #name

namespace reel::kernels {

namespace {

Set collect() {
  Set set{};
  set.isa = REEL_QUOTED(REEL_KERNEL_ISA);
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

extern "C" [[gnu::visibility("hidden")]] const reel::kernels::Set* REEL_OF_ISA(reel_kernels_)();
const reel::kernels::Set* REEL_OF_ISA(reel_kernels_)() {
  static const reel::kernels::Set set = reel::kernels::collect();
  return &set;
}
