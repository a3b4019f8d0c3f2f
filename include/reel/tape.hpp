// GradientTape: records the ops of its scope, on this thread, and replays them in reverse.
#pragma once
#include <reel/api.hpp>
#include <reel/gradient.hpp>
#include <reel/tree.hpp>

namespace REEL_API reel {

namespace detail {
struct TapeState;  // what a tape has recorded
}

/// A source: a tensor, or a variable (all its reads).
class Source {
 public:
  Source(const Tensor& x) : tensor_(x) {}
  Source(const Variable& x) : variable_(x) {}
  bool is_variable() const noexcept { return variable_.state_ != nullptr; }
  const Tensor& tensor() const noexcept { return tensor_; }
  const Variable& variable() const noexcept { return variable_; }

 private:
  Tensor tensor_;
  Variable variable_;
};

/// A target: a tensor, a variable (all its reads), or a gradient (none is a ValueError with its reason).
class Target {
 public:
  Target(const Tensor& y) : tensor_(y) {}
  Target(const Variable& y) : tensor_(y.read()), variable_id_(y.id()) {}
  Target(const Gradient& y) : tensor_(y.dense()) {}
  Target(const IndexedSlices& y) : tensor_(y.dense()) {}
  /// The value; for a variable, the one it had when it was made a target.
  const Tensor& tensor() const noexcept { return tensor_; }
  /// The variable's Variable::id(); 0 if it is not a variable.
  std::uint64_t variable_id() const noexcept { return variable_id_; }

 private:
  Tensor tensor_;
  std::uint64_t variable_id_ = 0;
};

/// Sources from one leaf, a braced list, or a tree.
class SourceList {
 public:
  SourceList() = default;
  SourceList(std::initializer_list<Source> list) : list_(list) {}
  SourceList(const std::vector<Source>& list) : list_(list.begin(), list.end()) {}
  template <Tree T>
  SourceList(const T& tree) {
    for_each_leaf(tree, [&](const auto& leaf) { list_.emplace_back(leaf); });
  }
  std::span<const Source> list() const noexcept { return list_; }

 private:
  detail::List<Source> list_;
};

/// Cotangents from one leaf, a number, a braced list, or a tree. An entry that is none stands for ones.
class GradientList {
 public:
  GradientList() = default;
  GradientList(std::initializer_list<Gradient> list) : given_(true), list_(list) {}
  template <Tree T>
  GradientList(const T& tree) : given_(true) {
    for_each_leaf(tree, [&](const auto& leaf) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, Variable>)
        list_.emplace_back(leaf.read());
      else
        list_.emplace_back(leaf);
    });
  }
  template <detail::Arithmetic T>
  GradientList(T value) : given_(true), number_(true), value_(static_cast<double>(value)) {}
  bool given() const noexcept { return given_; }
  bool is_number() const noexcept { return number_; }
  double number() const noexcept { return value_; }
  std::span<const Gradient> list() const noexcept { return list_; }

 private:
  bool given_ = false, number_ = false;
  double value_ = 0;
  detail::List<Gradient> list_;
};

/// The operations that replay performs on gradients. Derive from it to log, compress or count them, and pass it to a
/// tape in TapeOptions. The default handles tensors and IndexedSlices.
class VSpace {
 public:
  virtual ~VSpace();
  /// The number of elements stored: for slices, of the values.
  virtual std::int64_t num_elements(const Gradient& g) const;
  /// The sum of one or more terms (none for no terms). The default returns a single term as it is, concatenates slices
  /// if all terms are slices, and otherwise returns a dense tensor: dense terms are summed pairwise and slices added.
  /// ShapeError for unequal shapes. add_n calls it once with all terms, the other methods for every two.
  virtual Gradient aggregate(std::span<const Gradient> terms) const;
  virtual Tensor zeros(const Shape& shape, DType dtype) const;
  virtual Tensor ones(const Shape& shape, DType dtype) const;
  /// The id under which a tape follows a tensor.
  virtual std::uint64_t tensor_id(const Tensor& x) const;
};

/// Options of GradientTape.
struct TapeOptions {
  /// Whether gradient() may be called more than once.
  bool persistent = false;
  /// Whether reading a trainable variable watches it.
  bool watch_accessed_variables = true;
  /// Hooks for gradients; must outlive the tape. Null: the default.
  const VSpace* vspace = nullptr;
};

/// What the gradient by a source is that no target depends on.
enum class UnconnectedGradients : std::uint8_t { none, zero };

/// How the terms that arrive for one tensor are summed. They arrive in the reverse order of recording. Slices are
/// concatenated when the sum is read; a tensor that also has dense terms gets a dense sum, with the slices added last.
enum class AggregationMethod : std::uint8_t {
  /// All terms are kept until the sum is read, and then summed pairwise: memory for n terms, rounding errors that grow
  /// with log n. Summed early once there are at least 4 terms that exceed 128 MiB (at 4 bytes an element).
  add_n,
  /// A running sum in order of arrival, each in new memory: memory for 3 terms.
  tree,
  /// A running sum in order of arrival, in place in a buffer that replay owns: memory for 2 terms. As tree if another
  /// tape records the sum or holds the buffer.
  accumulate_n
};

/// Options of GradientTape::gradient(), gradients() and hessians().
struct GradientOptions {
  /// One cotangent per target; none stands for ones.
  GradientList output_gradients{};
  /// The gradient of a source that the target does not depend on: none, or zeros of its shape and dtype.
  UnconnectedGradients unconnected_gradients = UnconnectedGradients::none;
  /// Tensors that count as constants: nothing flows through them.
  SourceList stop_gradients{};
  /// How terms are summed; results differ by rounding only. The default is not TensorFlow's (add_n): a running sum in
  /// place takes the least memory and, without allocations, the least time.
  AggregationMethod aggregation_method = AggregationMethod::accumulate_n;
  /// Accepted and always satisfied: all gradients of a rule are available before any of them is used.
  bool gate_gradients = false;
};

/// Options of GradientTape::jacobian() and batch_jacobian().
struct JacobianOptions {
  /// The gradient of a source that the target does not depend on: none, or zeros.
  UnconnectedGradients unconnected_gradients = UnconnectedGradients::none;
};

/// The entries of one op, by name.
struct OpStats {
  std::string name;
  std::int64_t entries = 0, saved_bytes = 0;
};

/// Statistics of a tape.
struct TapeStats {
  std::int64_t entries = 0;      ///< recorded ops
  std::int64_t entry_bytes = 0;  ///< memory of the entries and their metadata
  std::int64_t saved_tensors = 0;
  /// Data that rules keep; a tensor counts once per entry. Data held by functions recorded as one entry
  /// (custom_gradient, recompute_grad, loops) is not included; memory_stats() includes it.
  std::int64_t saved_bytes = 0;
  std::vector<OpStats> by_op;  ///< the most saved bytes first, then by name
};
/// A line of totals, then a line per op.
std::ostream& operator<<(std::ostream& out, const TapeStats& stats);

/// A rule that gradient() would call.
struct PlannedEntry {
  std::string name;
  std::int64_t index = 0;           ///< index of its op on the tape, from 0
  std::int64_t gradient_bytes = 0;  ///< of the gradients requested from it
  std::int64_t released_bytes = 0;  ///< of saved values that are not needed after it
  std::int64_t live_bytes = 0;      ///< cotangents and saved values while it runs
};

/// What gradient() would do: the rules in the order of their calls, and the peak of the memory for cotangents and for
/// values that only this tape keeps. Assumption: each rule returns every requested gradient, dense and in new memory,
/// and needs no other memory. So rules that pass their cotangent on, such as add's, take less; rules with intermediate
/// values take more. Memory held by functions recorded as one entry is not included.
struct ReplayPlan {
  std::vector<PlannedEntry> entries;
  std::int64_t peak_bytes = 0;
};
/// A line per entry, then the peak.
std::string to_string(const ReplayPlan& plan);
std::ostream& operator<<(std::ostream& out, const ReplayPlan& plan);

/// Records the ops of this thread from its construction to the end of its scope (or stop()). An op is recorded if one
/// of its inputs is watched; its results are then watched too. Neither copyable nor movable; belongs to its thread
/// (TapeError elsewhere; only destruction is allowed there). After TensorFlow's tf.GradientTape.
class GradientTape {
 public:
  explicit GradientTape(const TapeOptions& options = {});
  GradientTape(const GradientTape&) = delete;
  GradientTape& operator=(const GradientTape&) = delete;
  ~GradientTape();

  /// Watches x from here on. A warning, and no gradient, for integers and booleans.
  void watch(const Tensor& x, const detail::CallLine& at = {});
  void watch(const Variable& x, const detail::CallLine& at = {});
  template <Tree T>
  void watch(const T& tree, const detail::CallLine& at = {}) {
    for_each_leaf(tree, [&](const auto& leaf) { watch(leaf, at); });
  }
  void watch(std::initializer_list<Source> list, const detail::CallLine& at = {}) {
    for (const Source& x : list) x.is_variable() ? watch(x.variable(), at) : watch(x.tensor(), at);
  }

  template <class T>
  requires(detail::NoTree<T> && !requires(const T& x) { x.begin(); }) void watch(const T&) {
    static_assert(
        detail::never<T>,
        "tape.watch(x): x is no tree; a struct that holds tensors needs auto leaves() { return std::tie(a, b); }");
  }

  /// The derivative of the sum of the targets' elements (weighted by output_gradients) with respect to each source, in
  /// the structure of the sources. Total derivatives: paths through other sources count too. Terms are summed in the
  /// reverse order of recording. A tape that is not persistent stops recording and is used up: TapeError at the second
  /// call. Called inside the scope of a persistent tape, the replay itself is recorded, and can be differentiated
  /// again. ValueError for a target that is an empty handle or a wrong number of output gradients, ShapeError and
  /// TypeError for ones that do not fit (a real one of another dtype is cast to the target's, with a warning); all are
  /// checked before replay. Errors name the caller's line, unless an op in a gradient function knows its own.
  template <Tree T, Tree S>
  map_t<Gradient, S> gradient(const T& target, const S& sources, const GradientOptions& options = {},
                              const detail::CallLine& at = {}) {
    return in_structure(
        sources, detail::naming_line(at, [&] { return replay(targets_of(target), sources_of(sources), options); }));
  }
  template <Tree T, class S, class... Options>
  requires(detail::NoTree<S>) void gradient(const T&, const S&, const Options&...) {
    static_assert(detail::never<S>,
                  "tape.gradient(target, sources): the sources are no tree; a struct that holds tensors needs auto "
                  "leaves() { return std::tie(a, b); }");
  }
  template <Tree T>
  std::vector<Gradient> gradient(const T& target, std::initializer_list<Source> sources,
                                 const GradientOptions& options = {}, const detail::CallLine& at = {}) {
    return as_vector(detail::naming_line(at, [&] {
      return replay(targets_of(target), {sources.begin(), sources.size()}, options);
    }));
  }
  template <Tree S>
  map_t<Gradient, S> gradient(std::initializer_list<Target> targets, const S& sources,
                              const GradientOptions& options = {}, const detail::CallLine& at = {}) {
    return in_structure(sources, detail::naming_line(at, [&] {
                          return replay({targets.begin(), targets.size()}, sources_of(sources), options);
                        }));
  }
  std::vector<Gradient> gradient(std::initializer_list<Target> targets, std::initializer_list<Source> sources,
                                 const GradientOptions& options = {}, const detail::CallLine& at = {}) {
    return as_vector(detail::naming_line(at, [&] {
      return replay({targets.begin(), targets.size()}, {sources.begin(), sources.size()}, options);
    }));
  }

  /// The derivative of each element of the target with respect to each element of each source, in the structure of the
  /// sources: shape target.shape + source.shape, the source's dtype, always dense. As many rows are computed at once as
  /// keep the largest tensor on the path below 2^22 elements. Recorded, and uses up the tape, like gradient().
  /// TypeError for a complex target, ShapeError for a rank above max_rank. TensorFlow's GradientTape.jacobian.
  template <Tree S>
  map_t<Gradient, S> jacobian(const Target& target, const S& sources, const JacobianOptions& options = {},
                              const detail::CallLine& at = {}) {
    return in_structure(sources,
                        detail::naming_line(at, [&] { return jacobians(target, sources_of(sources), options); }));
  }
  template <class S, class... Options>
  requires(detail::NoTree<S>) void jacobian(const Target&, const S&, const Options&...) {
    static_assert(detail::never<S>,
                  "tape.jacobian(target, sources): the sources are no tree; a struct that holds tensors needs auto "
                  "leaves() { return std::tie(a, b); }");
  }
  std::vector<Gradient> jacobian(const Target& target, std::initializer_list<Source> sources,
                                 const JacobianOptions& options = {}, const detail::CallLine& at = {}) {
    return as_vector(detail::naming_line(at, [&] {
      return jacobians(target, {sources.begin(), sources.size()}, options);
    }));
  }
  /// The Jacobian of each element of a batch: target [b, ...] and source [b, ...] give [b, ..., ...], where target[i]
  /// depends on source[i] alone (otherwise the result has no meaning). Reverse mode computes a row per element of
  /// target[0], forward mode a column per element of source[0]. Forward mode is used if every op on the path has a jvp
  /// and there are at most half as many columns as rows; fewer columns than rows suffice if a user's rule on the path
  /// takes one cotangent at a time. Otherwise as jacobian(), including none where not connected (TensorFlow returns
  /// zeros: request them). ShapeError unless both have a first axis, of the same extent, which may be their only one
  /// (TensorFlow requires two). TensorFlow's GradientTape.batch_jacobian.
  Gradient batch_jacobian(const Target& target, const Source& source, const JacobianOptions& options = {},
                          const detail::CallLine& at = {});

  /// Pauses recording while the returned guard lives. Guards nest. TapeError when the tape is stopped or used up.
  class Pause {
   public:
    explicit Pause(GradientTape& owner);
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
    ~Pause();

   private:
    friend class GradientTape;
    GradientTape* owner_;  // null once the tape is gone
    Pause* next_;
  };
  [[nodiscard]] Pause stop_recording(const detail::CallLine& at = {}) {
    return detail::naming_line(at, [&] { return Pause(*this); });
  }
  /// Leaves the scope before its end: nothing more is recorded. No effect if it was left already.
  void stop(const detail::CallLine& at = {});
  /// Enters again and continues recording. TapeError when it is active, or used up.
  void resume(const detail::CallLine& at = {});
  /// Drops everything recorded and watched; the tape records from here on, unused.
  void reset();
  /// The variables watched, in the order of their construction.
  std::vector<Variable> watched_variables() const;
  /// Whether it is on this thread's stack.
  bool active() const noexcept;

  /// Describes how the target depends on each source, or why it does not. Uses up nothing.
  template <Tree T, Tree S>
  std::string explain(const T& target, const S& sources) const {
    return explain_all(targets_of(target), sources_of(sources));
  }
  TapeStats stats() const;

  /// What gradient() would do with the same arguments. Uses up nothing; checks the arguments in the same way.
  template <Tree T, Tree S>
  ReplayPlan plan(const T& target, const S& sources, const GradientOptions& options = {}) const {
    return plan_all(targets_of(target), sources_of(sources), options);
  }
  template <Tree T>
  ReplayPlan plan(const T& target, std::initializer_list<Source> sources, const GradientOptions& options = {}) const {
    return plan_all(targets_of(target), {sources.begin(), sources.size()}, options);
  }

  /// The tape as a graph in Graphviz' language: a node for each op with its saved bytes (and the line that called it,
  /// if the tape knows), one for each source, an edge for each tensor between them with its dtype and shape. Given
  /// targets, only what they depend on. The same text for the same tape.
  std::string to_dot() const { return dot_of({}); }
  template <Tree T>
  std::string to_dot(const T& targets) const {
    const detail::List<Target> list = targets_of(targets);
    return dot_of(&list);
  }

 private:
  friend struct GradientTapeAccess;
  template <class T>
  static detail::List<Target> targets_of(const T& tree) {
    detail::List<Target> list;
    for_each_leaf(tree, [&](const auto& leaf) { list.emplace_back(leaf); });
    return list;
  }
  template <class S>
  static detail::List<Source> sources_of(const S& tree) {
    detail::List<Source> list;
    if constexpr (requires { std::span(tree); }) list.reserve(tree.size());
    for_each_leaf(tree, [&](const auto& leaf) { list.emplace_back(leaf); });
    return list;
  }
  template <class S>
  static map_t<Gradient, S> in_structure(const S& sources, detail::List<Gradient> flat) {
    std::size_t next = 0;
    return map_leaves<Gradient>(sources, [&](const auto&) { return std::move(flat[next++]); });
  }
  detail::List<Gradient> replay(std::span<const Target> targets, std::span<const Source> sources,
                                const GradientOptions& options);
  detail::List<Gradient> jacobians(const Target& target, std::span<const Source> sources,
                                   const JacobianOptions& options);
  static std::vector<Gradient> as_vector(detail::List<Gradient> list) {
    return {std::move_iterator(list.begin()), std::move_iterator(list.end())};
  }
  std::string explain_all(std::span<const Target> targets, std::span<const Source> sources) const;
  ReplayPlan plan_all(std::span<const Target> targets, std::span<const Source> sources,
                      const GradientOptions& options) const;
  std::string dot_of(const detail::List<Target>* targets) const;
  detail::TapeState* tape_;
  Pause* pauses_ = nullptr;
};

}  // namespace reel
