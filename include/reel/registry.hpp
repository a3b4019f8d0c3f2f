// Recording an op of one's own, and the registry in which its gradient is looked up by name when it is needed.
#pragma once
#include <reel/callback.hpp>
#include <reel/gradient.hpp>
#include <string_view>

namespace [[gnu::visibility("default")]] reel {

namespace autodiff {
struct Override;
}

/// A recorded op as a registered gradient function sees it.
struct RecordedOp {
  std::string_view name;
  std::span<const Tensor> inputs, outputs;
};

/// One cotangent per output (none where nothing arrived) to one gradient per input.
using GradientFunction = Callback<std::vector<Gradient>(const RecordedOp& op, std::span<const Gradient> cotangents)>;
/// The same without the op: what record_operation takes.
using BackwardFunction = Callback<std::vector<Gradient>(std::span<const Gradient> cotangents)>;
/// One tangent per input (an empty handle is zero) to one tangent per output.
using TangentFunction = Callback<std::vector<Tensor>(std::span<const Tensor> tangents)>;

struct RecordOptions {
  /// Whether backward takes many cotangents at once: each has one axis more, in front, and so has each gradient that it
  /// returns. Jacobians then call it once for many rows; where there is one cotangent the axis has extent 1.
  bool batched = false;
};

/// Records on every tape that follows one of the inputs that `outputs`, tensors that were computed without a tape (or
/// made anew, as by from_data), were computed from them. Without `backward`
/// the gradient is looked up in GradientRegistry by `name` at replay: LookupError if it has no entry then. A rule that
/// gives the wrong number, shape or dtype of gradients is ValueError at replay. Without `jvp` forward mode throws
/// NotDifferentiable; jacobian then goes by reverse mode.
/// A backward with options.batched takes cotangents with a leading axis and gives gradients with it.
/// `backward` must not capture the outputs: they would keep themselves alive until the tape ends. A rule that reads
/// them is registered, and finds them in RecordedOp.
void record_operation(std::string_view name, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                      BackwardFunction backward = {}, TangentFunction jvp = {}, const RecordOptions& options = {});

/// Gradients by op name, for the whole process; thread-safe.
class GradientRegistry {
 public:
  /// ValueError when the name has an entry.
  static void add(std::string_view name, GradientFunction gradient);
  /// The op is known to have no gradient: none flows to its inputs.
  static void add_not_differentiable(std::string_view name);
  static bool contains(std::string_view name);
  static void remove(std::string_view name);

  /// While it lives, replay on this thread calls `gradient` for ops of this name, the library's own included.
  /// inputs and outputs of a library op are those that its rule keeps, each in its place; others are empty handles.
  /// Of several guards for one name the newest that lives counts. A guard ends on the thread that made it.
  class OverrideGuard {
   public:
    OverrideGuard(std::string_view name, GradientFunction gradient);
    OverrideGuard(const OverrideGuard&) = delete;
    OverrideGuard& operator=(const OverrideGuard&) = delete;
    ~OverrideGuard();

   private:
    autodiff::Override* own_;
  };
};

}  // namespace reel
