// The functions that programs of derivatives are traced from: a function under a tape or an accumulator.
#pragma once
#include <reel/ops/make.hpp>
#include <reel/tape.hpp>

#include "gradient/control/composite_entry.hpp"
#include "program/run/executable.hpp"
#include "program/trace.hpp"

namespace reel::autodiff {

/// A gradient or tangent.
struct Derived {
  Tensor value;  // empty if there is none
  DType dtype = DType::float32;
  Shape shape = {};

  /// The value, or zeros.
  Tensor or_zeros() const { return value.defined() ? value : zeros(shape, dtype); }
};

/// A function with its sources: arguments, what it reads besides them, captured tensors. It takes one list: arguments,
/// then cotangents or tangents, then sums.
struct Differentiated {
  detail::FlatFunction f;
  std::size_t arguments;
  std::vector<Source> reads;
  std::vector<Tensor> captured;
  std::vector<bool> wanted;              // for arguments and reads
  std::vector<std::size_t> seeded;       // indices of the results with a cotangent, or of the sources with a tangent
  std::vector<std::size_t> summed = {};  // indices of the sources whose gradients are added to sums
  std::int64_t rows = 0;       // cotangents at once, along a leading axis of each and of the gradients; 0: one
  bool over_tangents = false;  // see Tape::over_tangents

  std::size_t sources() const noexcept { return arguments + reads.size() + captured.size(); }
  std::vector<Tensor> run(std::span<const Tensor> x) const { return f(x.first(arguments)); }
  std::span<const Tensor> directions(std::span<const Tensor> x) const { return x.subspan(arguments); }
  Source source(std::size_t i, std::span<const Tensor> x) const;
};

/// The function's results and its gradients by all sources for cotangents of some results.
struct Pulled {
  std::vector<Tensor> results;
  std::vector<Derived> gradients;
};
Pulled compute_vjp(const Differentiated& d, std::span<const Tensor> x);
std::vector<Derived> gradients_of(const Differentiated& d, std::span<const Tensor> x);
/// The function's results and their tangents, for tangents of some sources.
struct Pushed {
  std::vector<Tensor> results;
  std::vector<Derived> tangents;
};
Pushed compute_jvp(const Differentiated& d, std::span<const Tensor> x);
/// Tangents of all results, for tangents of some sources.
std::vector<Derived> tangents_of(const Differentiated& d, std::span<const Tensor> x);

/// The values that exist. The first run decides which do; where a later run, under a tape, has none, it counts as zero.
std::vector<Tensor> existing(std::span<const Derived> list, std::vector<bool>& exists);
/// The inverse: the full list, with empty handles for values that do not exist.
detail::List<Tensor> with_gaps(std::span<Tensor> some, const std::vector<bool>& exists);

/// A call and its gradient as two programs.
struct Pullback : std::enable_shared_from_this<Pullback> {
  // From arguments and values read to results, assigned values, residuals.
  std::unique_ptr<program::Executable> forward;
  // From the same, cotangents, sums, values that only the gradient reads, and residuals to the gradients that exist.
  std::unique_ptr<program::Executable> backward;
  // The same as they are written as C: without fused instructions if the enclosing trace keeps them.
  std::unique_ptr<const program::Program> simple_forward, simple_backward;
  const program::Program& written_forward() const noexcept {
    return simple_forward ? *simple_forward : forward->program();
  }
  const program::Program& written_backward() const noexcept {
    return simple_backward ? *simple_backward : backward->program();
  }
  std::vector<Source> late_reads;  // those that only the gradient reads, such as that of a custom_gradient
  std::size_t residuals = 0;
  std::vector<bool> exists;
  std::vector<bool> wanted;
  std::vector<Tensor> captured;
  std::vector<std::size_t> seeded = {};  // the results with a cotangent
  std::vector<std::size_t> summed = {};  // the sources with a sum
  std::int64_t rows = 0;                 // of each cotangent, see Differentiated
};

}  // namespace reel::autodiff
