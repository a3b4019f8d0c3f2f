// Loops, branches and checkpoints in functions that are traced, as deferred calls whose bodies are programs; and loops
// whose bodies are programs without being in one.
#pragma once
#include <optional>
#include <reel/control.hpp>

namespace reel::autodiff {

/// The loop as one instruction of the trace. Empty where it has to be unrolled: its condition is a bool, its body
/// changes shapes, or it is short and not to be compiled by its options.
std::optional<std::vector<Tensor>> trace_loop(const detail::FlatLoop& loop, std::span<const Tensor> initial,
                                              std::span<const Tensor> xs, const LoopOptions& options);
/// The loop as a program of its own, outside of traces. Empty where its condition is a bool or its body changes shapes.
std::optional<std::vector<Tensor>> run_compiled(const detail::FlatLoop& loop, std::span<const Tensor> initial,
                                                std::span<const Tensor> xs, const LoopOptions& options);
/// The same loop with a step that runs as a program, one for each dtype, shape and layout of what it gets.
detail::FlatLoop with_compiled_step(const detail::FlatLoop& loop);
/// first(arguments) as one instruction of the trace, which keeps nothing for its derivative but the arguments;
/// again(arguments) gives the same and is what the derivative is traced from.
std::vector<Tensor> trace_checkpoint(const char* name, const detail::FlatFunction& first,
                                     const detail::FlatFunction& again, std::span<const Tensor> arguments);

}  // namespace reel::autodiff
