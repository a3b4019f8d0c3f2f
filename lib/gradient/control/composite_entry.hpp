// A function of tensors as one entry of the tapes. Its arguments and captured tensors are the inputs of the entry. The
// rules run the function again, or, where nobody differentiates the derivative, replay a tape of its own.
#pragma once
#include <reel/custom.hpp>
#include <reel/registry.hpp>

#include "ops/apply/repeated_run.hpp"

namespace reel::tape {
class Capture;
class FunctionScope;
}  // namespace reel::tape

namespace reel::autodiff {

using Tensors = std::vector<Tensor>;
using TensorSpan = std::span<const Tensor>;

Tensors joined(std::initializer_list<TensorSpan> lists);
Tensors contiguous_all(TensorSpan list);
/// Abstract tensors of these dtypes and shapes, row-major.
Tensors abstract_like(TensorSpan list);
/// The tensors of the gradients, empty where there is none.
Tensors dense_all(std::span<const Gradient> list);

/// What functions read besides their arguments: each source once, however often and by whichever function it is read.
/// A tensor is identified by its id, a variable by itself.
class Reads {
 public:
  Reads() = default;
  explicit Reads(std::vector<Source> distinct) : list_(std::move(distinct)) {}
  /// Adds those that are new. Returns the number of each.
  std::vector<std::size_t> add(std::span<const Source> sources);
  /// The number of the source; size() if it is none of them.
  std::size_t find(const Source& s) const;
  std::size_t size() const noexcept { return list_.size(); }
  std::span<const Source> list() const noexcept { return list_; }
  /// The current values; tapes watch the variables. `row_major`: values of variables are made row-major.
  Tensors values(bool row_major = false) const;

 private:
  std::vector<Source> list_;
};

/// While the result lives, the variables among the sources have these values, and the constants theirs.
ops::FrozenReads frozen_reads(std::span<const Source> sources, TensorSpan values, std::vector<Variable> constants = {},
                              Tensors constant_values = {});

/// Everything that a function depends on, found by running it unrecorded.
struct Inputs {
  Tensors arguments;                ///< as passed
  Reads reads;                      ///< what derivatives lead to: captured tensors, then variables
  Tensors read;                     ///< their values
  std::vector<Variable> constants;  ///< the other variables that were read
  Tensors constant_values;
  ops::Draws draws;

  /// Takes over what was captured.
  void take(const tape::Capture& capture);
  std::size_t size() const noexcept { return arguments.size() + reads.size(); }
  /// Whether an active tape or accumulator follows one of them, or one of the given tensors: then a derivative must
  /// consist of recorded ops.
  bool followed(TensorSpan also) const;
  /// The inputs of the entry; reads the variables.
  Tensors values();
  /// The sources to differentiate by, for a run with these arguments.
  std::vector<Source> sources(TensorSpan run_arguments) const;
  /// While the result lives, variables have the values of the first run.
  ops::FrozenReads same_reads() const { return frozen_reads(reads.list(), read, constants, constant_values); }
};

/// Whether this thread has an active tape or accumulator; a Capture counts for the tapes it hides. Observers, of which
/// a trace is one, do not count.
bool any_reverse();
bool any_forward();
inline bool any_tape() { return any_reverse() || any_forward(); }
/// A backward function for many rows of cotangents at once.
using ManyBackward = Callback<std::vector<Gradient>(std::span<const Gradient> cotangents, std::int64_t rows)>;
/// `function`: the scope in which its ops were recorded; null if they were not. Then the outputs are unfollowed.
/// `transposes`: without a jvp, forward over reverse takes the transpose of the backward function.
struct FunctionEntry {
  tape::FunctionScope* function = nullptr;
  bool transposes = false;
};
/// Records an op whose rule is a closure. That is the right way where a function of the user takes part: what it reads,
/// which are inputs of the entry, is known only after it has run, and the rule runs it again. These ops are composites,
/// implicit entries, custom gradients and record_operation; prevent_gradient holds a message. Any other op is a
/// constant Primitive (primitive.hpp). Without `many`, `backward` is called for each row of cotangents.
void record_function(std::string_view name, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                     BackwardFunction backward, TangentFunction jvp, const RecordOptions& options = {},
                     ManyBackward many = {}, const FunctionEntry& entry = {});
/// The sources that have tangents, with these.
struct MovedSources {
  std::vector<Source> sources;
  std::vector<Tensor> tangents;
  /// Of an accumulator.
  std::vector<Gradient> gradients() const { return {tangents.begin(), tangents.end()}; }
};
/// `tangents` has one for each source, an empty handle where there is none.
MovedSources collect_moved(std::span<const Source> sources, std::span<const Tensor> tangents);
/// Watches the differentiable sources.
void watch_differentiable(GradientTape& tape, std::span<const Source> sources);
/// New tensors with the same values; recorded.
std::vector<Tensor> identities(std::span<const Tensor> tensors);
/// Fresh handles for the outputs of an entry, so that a tape can follow them as its outputs.
std::vector<Tensor> aliases(std::span<const Tensor> tensors);
/// Gradients of the targets by each source, for these cotangents; zeros where there are none. If `rows` is not 0, for
/// as many cotangents at once, along a leading axis of each and of the gradients. The terms are added to `sums`, one
/// for each of the last sources, in the order of one replay: so a walk over the steps of a loop has the bits of a
/// replay of all of them.
std::vector<Gradient> pull_on(GradientTape& tape, std::span<const Tensor> targets, std::span<const Gradient> cotangents,
                              std::span<const Source> sources, std::int64_t rows = 0,
                              std::span<const Gradient> sums = {});
/// The results of a step of a loop, in the order in which their cotangents are added where some are one tensor: that of
/// a replay of all steps, which comes to the outputs first and to the variables in reverse.
std::vector<std::size_t> order_of_cotangents(std::size_t variables, std::size_t results);
/// A function as one entry: what its rules read.
struct Composite {
  const char* name;
  detail::FlatFunction function;
  Inputs inputs = {};
  Tensors like = {};  ///< abstract results, if a derivative that is differentiated is such an entry too

  Composite(const char* called, detail::FlatFunction f) : name(called), function(std::move(f)) {}
  virtual ~Composite() = default;
  /// Finds the inputs by an unrecorded run on new handles of the arguments. Returns the results.
  using Run = Callback<Tensors(TensorSpan arguments, tape::Capture& capture)>;
  Tensors first_run(TensorSpan arguments, const Run& run);
  /// The outputs of the entry, for the results of its first run.
  static Tensors record(const std::shared_ptr<Composite>& c, TensorSpan results);

 protected:
  /// The function, for derivatives.
  virtual Tensors run_again(TensorSpan arguments) { return function(arguments); }
  /// The gradient if nobody differentiates it. `rows`: see pull_on.
  virtual std::vector<Gradient> pull_unfollowed(std::span<const Gradient> g, std::int64_t rows) {
    return pull_again(g, rows);
  }
  /// The gradient as recorded ops, if it is not an entry.
  virtual std::vector<Gradient> pull_followed(std::span<const Gradient> g, std::int64_t rows) {
    return pull_again(g, rows);
  }

 private:
  std::vector<Gradient> pull(std::span<const Gradient> g, std::int64_t rows);
  Tensors push(TensorSpan tangents);
  /// Runs the function on new handles of the arguments under a tape, and pulls the cotangents back.
  std::vector<Gradient> pull_again(std::span<const Gradient> g, std::int64_t rows);
  /// The same under an accumulator: tangents of the results, empty where zero.
  Tensors push_again(TensorSpan tangents);
  /// A derivative as an entry whose arguments are the function's and the directions.
  Tensors derivative_as_entry(TensorSpan directions, bool pulls) const;
};

/// A result found by iteration, such as the solution of an equation or the end of an integral curve, as one entry. Its
/// rules are equations at the result: they do not follow the iteration.
struct ImplicitEntry {
  Inputs inputs = {};
  Tensor result = {};

  virtual ~ImplicitEntry() = default;
  /// Finds the result by an unrecorded run on new handles of the arguments, and records it.
  using Find = Callback<Tensor(TensorSpan arguments)>;
  static Tensor record(const char* name, const std::shared_ptr<ImplicitEntry>& entry, Tensors arguments,
                       const Find& find);

 protected:
  /// The gradients of all inputs, the arguments first; and the tangent of the result.
  virtual std::vector<Gradient> vjp(const Tensor& g) const = 0;
  virtual Tensor jvp(TensorSpan tangents) const = 0;
  /// Gradients of f() by the sources, for this cotangent; of none without running f. f has to find the values of the
  /// first run: see Inputs::same_reads.
  static std::vector<Gradient> vjp_of(std::span<const Source> sources, const Callback<Tensor()>& f,
                                      const Tensor& cotangent);
  /// The tangent of f() along these of what it reads, empty where zero.
  Tensor jvp_of(const Callback<Tensor()>& f, TensorSpan tangents) const;
};

/// f(arguments) as one entry that keeps only its inputs. Its derivatives are such entries too: a tape that
/// differentiates them keeps inputs and cotangents.
Tensors run_recomputed(const char* name, const detail::FlatFunction& f, TensorSpan arguments);
/// The same for a derivative: f takes directions too, and results may be missing, as directions may. Which results
/// exist is decided by the first run. `like`: their dtypes and shapes. `terms`: how many of the last directions f only
/// adds to results; the entry does not keep these.
using DerivativeFunction = Callback<Tensors(TensorSpan arguments, TensorSpan directions)>;
Tensors run_recomputed_derivative(const char* name, const DerivativeFunction& f, TensorSpan arguments,
                                  TensorSpan directions, const Tensors& like, std::size_t terms = 0);
std::vector<Gradient> as_gradients(TensorSpan list);

}  // namespace reel::autodiff
