// Recording an op of your own, and the registry of gradient functions by op name.
#pragma once
#include <reel/api.hpp>
#include <reel/callback.hpp>
#include <reel/gradient.hpp>
#include <string_view>

namespace REEL_API reel {

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
/// The same without the op: the form for record_operation.
using BackwardFunction = Callback<std::vector<Gradient>(std::span<const Gradient> cotangents)>;
/// One tangent per input (an empty handle is zero) to one tangent per output.
using TangentFunction = Callback<std::vector<Tensor>(std::span<const Tensor> tangents)>;

/// Options of record_operation().
struct RecordOptions {
  /// Whether backward takes many cotangents at once: each has a further leading axis, and so has each gradient that it
  /// returns. Jacobians then call it once for many rows; for a single cotangent the axis has extent 1.
  bool batched = false;
};

/// Records, on every tape that follows one of the inputs, that `outputs` were computed from them. The outputs were
/// computed without a tape, or made anew, as by from_data. Without `backward` the gradient is looked up in
/// GradientRegistry by `name` at replay: LookupError if there is none then. A rule that returns the wrong number, shape
/// or dtype of gradients is a ValueError at replay. Without `jvp` forward mode throws NotDifferentiable, and jacobian
/// uses reverse mode. With options.batched, backward takes cotangents with a leading axis and returns gradients with
/// it. `backward` must not capture the outputs: they would keep themselves alive until the tape ends. A rule that reads
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

  /// While it lives, replay on this thread calls `gradient` for ops of this name, including the library's own. The
  /// inputs and outputs of a library op are those that its rule keeps, in their positions; others are empty handles. If
  /// there are several guards for one name, the newest applies. A guard must be destroyed on the thread that made it.
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
