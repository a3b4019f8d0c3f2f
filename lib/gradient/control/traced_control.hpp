// Loops, branches and checkpoints in traced functions: deferred calls whose bodies are programs. Loops with compiled
// bodies outside of traced functions.
#pragma once
#include <optional>
#include <reel/control.hpp>

namespace reel::autodiff {

/// Traces the loop as one instruction. Returns nullopt if it must be unrolled: its condition is a bool, its body
/// changes shapes, or it is short and options.compiled is not set.
std::optional<std::vector<Tensor>> trace_loop(const detail::FlatLoop& loop, std::span<const Tensor> initial,
                                              std::span<const Tensor> xs, const LoopOptions& options);
/// Runs the loop as a program, outside of traces. Nullopt if its condition is a bool or its body changes shapes.
std::optional<std::vector<Tensor>> run_compiled(const detail::FlatLoop& loop, std::span<const Tensor> initial,
                                                std::span<const Tensor> xs, const LoopOptions& options);
/// The same loop with a step that runs as a program, one for each signature of its arguments.
detail::FlatLoop with_compiled_step(const detail::FlatLoop& loop);
/// Traces first(arguments) as one instruction that keeps nothing but the arguments for its derivative. again(arguments)
/// must compute the same; the derivative is traced from it.
std::vector<Tensor> trace_checkpoint(const char* name, const detail::FlatFunction& first,
                                     const detail::FlatFunction& again, std::span<const Tensor> arguments);

}  // namespace reel::autodiff
