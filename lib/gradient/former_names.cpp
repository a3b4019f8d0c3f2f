// Symbols of the ABI whose functions have got a further parameter, for programs that were linked with earlier builds of
// this series (test/abi/recorded.txt). By the C++ ABI of the platforms, a member function is called as a function whose
// first parameter is `this`. They go when the series of the version moves.
#include <reel/tape.hpp>

namespace reel::autodiff {

[[gnu::visibility("default"), gnu::used]] void former_watch(GradientTape* tape, const Tensor& x) asm(
    "_ZN4reel12GradientTape5watchERKNS_6TensorE");
[[gnu::visibility("default"), gnu::used]] void former_watch(GradientTape* tape, const Variable& x) asm(
    "_ZN4reel12GradientTape5watchERKNS_8VariableE");
[[gnu::visibility("default"), gnu::used]] Gradient former_batch_jacobian(
    GradientTape* tape, const Target& target, const Source& source,
    const JacobianOptions&
        options) asm("_ZN4reel12GradientTape14batch_jacobianERKNS_6TargetERKNS_6SourceERKNS_15JacobianOptionsE");
[[gnu::visibility("default"), gnu::used]] void former_stop(GradientTape* tape) asm("_ZN4reel12GradientTape4stopEv");
[[gnu::visibility("default"), gnu::used]] void former_resume(GradientTape* tape) asm("_ZN4reel12GradientTape6resumeEv");

void former_watch(GradientTape* tape, const Tensor& x) { tape->watch(x); }
void former_watch(GradientTape* tape, const Variable& x) { tape->watch(x); }
Gradient former_batch_jacobian(GradientTape* tape, const Target& target, const Source& source,
                               const JacobianOptions& options) {
  return tape->batch_jacobian(target, source, options);
}
void former_stop(GradientTape* tape) { tape->stop(); }
void former_resume(GradientTape* tape) { tape->resume(); }

}  // namespace reel::autodiff
