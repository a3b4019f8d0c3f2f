// A function traced for one signature: its program, the variables that it reads and assigns, and its derivatives, which
// are programs too.
#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <reel/compile.hpp>

#include "codegen/native.hpp"
#include "gradient/control/connections.hpp"
#include "gradient/programs/read_mostly.hpp"
#include "gradient/programs/trace_queue.hpp"
#include "program/passes/passes.hpp"
#include "program/run/executable.hpp"
#include "program/trace.hpp"

namespace reel::autodiff {

struct Derived;
struct Differentiated;
struct DefinedTensors;
struct Pullback;

class Traced : public std::enable_shared_from_this<Traced> {
 public:
  /// Traces f on abstract tensors with the dtypes, shapes and strides of `arguments`. `owner` is named in errors.
  /// `reads`: what f reads besides them, if known; what else it reads is added, tensors only of the `enclosing` trace,
  /// while that is open. Throws what f throws.
  /// `most_derivatives`: how many of its gradients with respect to different arguments are kept, and how many of its
  /// tangents; beyond it the least recently used one is dropped.
  /// `parameters`: the variables that f knows in place of those that a call is given.
  /// `native`: its program, and those of its derivatives, run native code; null: they do not.
  Traced(const char* owner, detail::FlatFunction f, std::span<const Tensor> arguments,
         std::span<const Source> reads = {}, program::Trace* enclosing = nullptr,
         std::size_t most_derivatives = usual_derivatives, std::vector<Variable> parameters = {},
         std::shared_ptr<const codegen::NativeOptions> native = {});
  static constexpr std::size_t usual_derivatives = 64;
  ~Traced();
  /// f(arguments), which have the signature that was traced. `given`: the values of the first of its reads, row-major
  /// where these are variables; the others are variables, which the call reads. Recorded as one entry on the tapes that
  /// follow one of its inputs.
  detail::List<Tensor> call(std::span<const Tensor> arguments, std::span<const Tensor> given = {});
  /// A call that has assigned nothing yet. `made`: the results, then the new values of assigned(). `read`: of each of
  /// these variables the value that was read; empty: none was. `variables`: one, all distinct, for each of
  /// parameters(). `kept`: of the last call of this object by the caller.
  void make(std::span<const Tensor> arguments, std::span<const Tensor> given, std::span<const Variable> variables,
            detail::List<Tensor>& made, detail::List<Tensor>& read, program::Executable::KeptFrame* kept = nullptr);
  /// make() for a call of a function of its arguments alone, which no tape follows and nothing observes, if its frame
  /// is in `kept`; otherwise it does nothing and returns false.
  bool make_again(std::span<const Tensor* const> arguments, std::span<Tensor> results,
                  program::Executable::KeptFrame& kept) const {
    return reads_.empty() && assigned_.empty() && draws_.empty() && results.size() == results_ &&
           executable_->run_again(arguments, results, kept);
  }
  /// Assigns the new values, unless another thread has assigned a variable between the read and this assign: then it
  /// returns false, assigns none, and the call has to be made again. Allocates before the first variable changes.
  bool commit(std::span<Tensor> tensors, std::span<const Tensor> read, std::span<const Variable> variables = {}) const;
  /// The number of results.
  std::size_t size() const noexcept { return results_; }
  /// Traces the derivatives that the tapes and accumulators of the enclosing trace may ask for, while objects that f
  /// captures by reference still live: gradients with respect to the `followed` arguments and reads, for cotangents of
  /// all results; tangents along all arguments and the followed reads.
  void prepare(const std::vector<bool>& followed);
  /// Whether f, or a body in it, gives a gradient of its own to what it computes.
  bool has_rules() const noexcept { return has_rules_; }
  /// Tensors of the enclosing trace and variables that only derivatives read, by rules of custom gradients. `followed`
  /// as above.
  std::vector<Source> read_by_rules(const std::vector<bool>& followed);
  /// The same function in the same enclosing trace, traced again with these among its reads.
  std::shared_ptr<Traced> reading(std::span<const Source> more) const;
  /// The same for a coming call with these arguments: gradients with respect to the arguments, captured tensors and
  /// variables that a tape of this thread follows.
  void prepare_followed(std::span<const Tensor> arguments);
  /// The same for the step of a loop, whose first results are its variables. Gradients with respect to reads and
  /// captured tensors are added to sums, term by term. Arguments and results are row-major. Null if no tape may ask for
  /// a gradient.
  std::shared_ptr<const Pullback> prepare_step(const std::vector<bool>& followed, std::size_t variables);
  /// The function with tangents of the sources `moved`: arguments, reads, followed captured tensors. The
  /// tangents are arguments behind its own; the tangents of differentiable results are results behind its own.
  detail::FlatFunction with_tangents(const std::vector<bool>& followed, const std::vector<std::size_t>& moved) const;
  /// The captured tensors that a tape of this thread follows.
  std::vector<Tensor> followed_captured() const;
  /// From its arguments and reads to its results. Only for a part of an enclosing trace, as derives().
  const Connections& connected() const noexcept { return connected_; }
  /// Whether it computes a derivative of a deferred call, or by tangents that a loop carries.
  bool derives() const noexcept { return derives_; }
  /// The gradient traced by prepare(); null if there is none.
  const std::shared_ptr<const Pullback>& prepared() const noexcept { return prepared_; }
  CompileStats stats() const;
  const program::Program& program() const noexcept { return executable_->program(); }
  /// The program before any pass, if the enclosing trace keeps it.
  const std::shared_ptr<const program::Program>& without_passes() const noexcept { return without_passes_; }
  /// The program that is written as C, without fused instructions if the enclosing trace keeps it.
  const program::Program& simple() const noexcept { return simple_ ? *simple_ : program(); }
  const program::Executable& executable() const noexcept { return *executable_; }
  /// An abstract tensor like result k.
  const Tensor& result(std::size_t k) const noexcept { return program().operands[program().results[k]].tensor; }
  std::vector<Tensor> results() const;  // all of them
  /// What the function reads besides its arguments; the arguments of its program behind them.
  std::span<const Source> reads() const noexcept { return reads_; }
  std::span<const Tensor> captured() const noexcept { return captured_; }
  /// Blocks that a call draws from each random stream; negative if the number is a result behind those of the function.
  std::span<const std::int64_t> draws() const noexcept { return draws_; }
  /// Variables that a call assigns, those of them that it also reads, and generators of the enclosing trace that it
  /// draws from.
  std::span<const Variable> assigned() const noexcept { return assigned_; }
  std::span<const Variable> parameters() const noexcept { return parameters_; }
  /// assigned(), of a call with these variables.
  std::vector<Variable> assigned(std::span<const Variable> variables) const;
  std::span<const Variable> read_and_assigned() const noexcept { return read_and_assigned_; }
  std::span<const Generator* const> drawn() const noexcept { return drawn_; }

 private:
  using List = detail::List<Tensor>;
  // The inputs of an entry.
  struct Inputs {
    List all;  // arguments, values read; abstract in an entry where no derivative reads an argument
    std::size_t num_arguments = 0;
    List captured;
    detail::List<Variable> variables;  // for the parameters
    detail::List<bool> wanted;         // for each of `all`: whether a tape follows it
    // The derivative that the call prepared for, and its residuals.
    std::shared_ptr<const Pullback> pullback;
    List residuals;

    std::span<const Tensor> arguments() const noexcept { return std::span(all).first(num_arguments); }
    std::span<const Tensor> read() const noexcept { return std::span(all).subspan(num_arguments); }
    bool followed(std::span<const Tensor> also) const;
  };
  class Entry;
  /// Identifies a derivative: the number of cotangents at once, the indices of the results with a cotangent or of the
  /// inputs with a tangent, the wanted inputs, and the ids of the followed captured tensors.
  using Key = detail::List<std::uint64_t>;
  struct Derivative {
    std::shared_ptr<Traced> traced;
    std::vector<bool> exists;  // for each gradient or tangent
  };
  using Derivatives = RecentMap<Key, Derivative>;
  using DerivativeFunction = std::vector<Derived> (*)(const Differentiated& what, std::span<const Tensor> x);

  const Variable& bound(const Variable& v, std::span<const Variable> variables) const noexcept;
  List fill_all(std::span<const Tensor> cotangents) const;
  List run(std::span<const Tensor> inputs) const;
  void fill(std::span<Tensor> arguments, std::size_t i) const;
  void fill(std::span<Tensor> arguments) const;
  List run_keeping(Inputs& inputs) const;
  bool record_if_followed(List& all, std::span<const Variable> variables, List& made);
  List record(Inputs& inputs);
  std::shared_ptr<const Pullback> latest() const;
  Differentiated differentiated(const Inputs& inputs, std::span<const std::size_t> seeded, std::int64_t rows = 0) const;
  static List derivative_of(const Derivative& d, std::span<const Tensor> arguments, const Inputs& inputs);
  List differentiate(Derivatives& known, DerivativeFunction function, const Inputs& inputs,
                     const DefinedTensors& seeds);
  template <class Value, class Make>
  std::shared_ptr<const Value> find_or_make(RecentMap<Key, Value>& known, Key key, const Make& make);
  static Key key_of(const Inputs& inputs, const DefinedTensors& seeds);
  std::shared_ptr<const Pullback> pullback(const Inputs& inputs, const DefinedTensors& seeds);
  std::shared_ptr<const Pullback> make_pullback(const Inputs& inputs, const Differentiated& what,
                                                std::span<const Tensor> cotangents,
                                                std::optional<std::size_t> step_variables = {},
                                                program::Trace* enclosing = nullptr) const;
  void check_assigned(const program::Trace& trace) const;
  Inputs examples(const std::vector<bool>& followed) const;
  bool fits(const Pullback& p, const Inputs& inputs) const;
  Derivative make_derivative(DerivativeFunction function, Differentiated what, std::span<const Tensor> arguments,
                             program::Trace* enclosing = nullptr) const;
  void prepare_push(Inputs inputs, program::Trace* enclosing = nullptr);
  List pull_by_programs(const Inputs& inputs, const DefinedTensors& seeds);
  List pull(const Inputs& inputs, std::span<const Tensor> cotangents, std::int64_t rows);
  List push(const Inputs& inputs, std::span<const Tensor> tangents);

  const char* owner_;
  detail::FlatFunction f_;
  std::size_t arguments_ = 0, results_ = 0;
  std::vector<Source> reads_;
  std::vector<Variable> parameters_;
  std::vector<std::pair<std::uint64_t, std::size_t>> parameter_numbers_;  // by id, ascending
  std::vector<Variable> assigned_, read_and_assigned_;
  std::vector<std::size_t> read_as_;  // for each of assigned_ its index in reads_, or their number
  std::vector<Tensor> captured_;      // differentiable: a tape may follow them
  std::vector<std::size_t> unread_;   // row-major arguments that no derivative of any order reads
  std::vector<std::int64_t> draws_;
  std::vector<const Generator*> drawn_;
  std::unique_ptr<program::Executable> executable_;
  std::shared_ptr<const program::Program> without_passes_;
  std::unique_ptr<const program::Program> simple_;
  std::shared_ptr<const codegen::NativeOptions> native_;
  std::vector<program::PassCounts> passes_;  // that made the program of executable_
  TraceQueue tracing_;                       // of those who trace derivatives
  Derivatives pulls_, pushes_;
  RecentMap<Key, Pullback> pullbacks_;
  std::shared_ptr<const Pullback> prepared_;  // for all results, and for every source that may be wanted
  std::shared_ptr<const Derivative> prepared_push_;
  std::vector<Tensor> moved_;  // the sources with a tangent in prepared_push_, the others empty
  Connections connected_;
  bool has_rules_ = false, derives_ = false;
  bool batched_ = false;             // whether every rule of the program takes many cotangents at once
  std::int64_t inner_elements_ = 0;  // of the largest result of an instruction
};

}  // namespace reel::autodiff
