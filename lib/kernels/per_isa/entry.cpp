// The entry point of one instruction set's kernels, the only symbol that its object exports.
#include "kernels/isa.hpp"
#include "kernels/set.hpp"

#define REEL_QUOTED(name) REEL_QUOTED_AS_IS(name)
#define REEL_QUOTED_AS_IS(name) #name

namespace reel::kernels {

// Each family defines such a function in one of its sources. It fills its struct and returns it; it is called once.
#define REEL_DECLARE(family) const void* family##_kernels();
REEL_FOR_EACH_FAMILY(REEL_DECLARE)
#undef REEL_DECLARE

namespace {

#define REEL_CALL(family) family##_kernels(),
Set collect() { return {REEL_QUOTED(REEL_KERNEL_ISA), {REEL_FOR_EACH_FAMILY(REEL_CALL)}}; }
#undef REEL_CALL

}  // namespace

}  // namespace reel::kernels

extern "C" [[gnu::visibility("hidden")]] const reel::kernels::Set* REEL_OF_ISA(reel_kernels_)();
const reel::kernels::Set* REEL_OF_ISA(reel_kernels_)() {
  static const reel::kernels::Set set = reel::kernels::collect();
  return &set;
}
