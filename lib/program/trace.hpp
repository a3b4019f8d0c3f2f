// Traces: a function run on abstract tensors, which have a dtype and a shape but no elements. Its ops compute nothing;
// what they would compute becomes a program. Tapes and rules work as ever, so that a gradient taken on the way is a
// part of the program. Variables are read and assigned in the trace alone.
#pragma once
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "ops/apply/effect.hpp"
#include "program/program.hpp"

namespace reel::program {

/// What a primitive that writes variables would assign to them, in their order. `values`: what the variables hold, if
/// the primitive reads them.
std::vector<Tensor> new_values(const ops::Effect& effect, std::vector<const Tensor*> values);

/// While it lives, ops of this thread become instructions, and the tapes that were active are out of sight.
class Trace final : public ops::Tracer, public ops::EffectHandler {
  struct State {
    Variable variable;
    Tensor value;
    bool assigned = false;
    bool read = false;  // by the traced function, not by an update
  };

 public:
  /// `op`: who traces, for messages. A part of `enclosing`, if there is one, adopts what it reads of that: abstract
  /// tensors, variables by the values they have there, and streams of random numbers. What it assigns and draws it
  /// leaves to itself: who traces it has to make values of that which go in and out (gradient/programs/effects.hpp).
  explicit Trace(const char* op, Trace* enclosing = nullptr);
  ~Trace();
  /// The innermost of this thread; null when nothing is traced.
  static Trace* current() noexcept { return static_cast<Trace*>(ops::Tracer::current()); }

  /// From here on, functions that become parts of the program keep what was traced of them, without passes.
  void keep_parts() noexcept { keeps_parts_ = true; }
  bool keeps_parts() const noexcept { return keeps_parts_; }
  /// An argument of the program, laid out like `example`.
  Tensor argument(const Tensor& example);
  void add(const ops::Operation& operation, const ops::Call& call, std::span<const Tensor> outputs) override;
  void note(const Tensor& x) override;
  void draw_again(const ops::Effect& effect, std::uint64_t seed, std::uint64_t first) override;
  /// Makes x, an abstract tensor of an enclosing trace, an argument of this program.
  void adopt(const Tensor& x);
  /// What was adopted, in the order of the arguments.
  std::span<const Tensor> adopted() const noexcept { return adopted_; }
  /// The variables that were read of the enclosing trace, and their values, which are adopted.
  std::span<const Variable> enclosing_variables() const noexcept { return enclosing_variables_; }
  std::span<const Tensor> enclosing_values() const noexcept { return enclosing_values_; }
  /// Draws from the generator are draws from `stream`, an argument: int64 [2], seed and position.
  void bind_stream(const Generator& generator, const Tensor& stream);
  /// How many blocks were drawn from each stream, in the order in which they were bound; negative where that is known
  /// when the program has run.
  std::vector<std::int64_t> draws() const;
  /// Of each of the latter: seed and position behind its last draw, less those that were bound.
  std::vector<Tensor> unknown_draws();
  /// Seed and position of the next draw, where the trace stands.
  Tensor stream(const Generator& generator);
  /// Draws from the generator go on from there.
  void move_stream(const Generator& generator, const Tensor& stream);
  /// Those whose streams were adopted.
  std::vector<const Generator*> drawn() const;
  /// Whether these effects reach the trace, as they do unless a function that may be run again for its derivative
  /// stands between.
  bool reached_by(unsigned kinds) const noexcept { return ops::handler_of(kinds) == this; }
  /// The tensors that the traced function captured and that have derivatives: what a tape may follow.
  std::span<const Tensor> captured() const noexcept { return captured_; }
  /// TraceError for a draw from a generator that is bound to no stream.
  void perform(const ops::Effect& effect) override;
  /// While it lives, the variables have these values in the trace; what is assigned meanwhile is forgotten.
  class Bound {
   public:
    Bound(Trace& trace, std::span<const Variable> variables, std::span<const Tensor> values);
    Bound(const Bound&) = delete;
    Bound& operator=(const Bound&) = delete;
    ~Bound();

   private:
    Trace& trace_;
    std::map<std::uint64_t, State> outer_;
  };

  /// The value of a variable in the trace, read for the tapes of the trace.
  Tensor read(const Variable& variable);
  /// The variables that were read before they were set; their values are the last arguments, in this order.
  std::span<const Variable> variables() const noexcept { return read_; }
  /// Those that were assigned, and their last values.
  std::vector<Variable> assigned() const;
  std::vector<Tensor> assigned_values() const;
  /// Those of them that the function has read.
  std::vector<Variable> read_and_assigned() const;
  /// The value that a variable has where the trace stands, which no tape follows; of an argument the first time.
  Tensor value(const Variable& variable);
  /// Assigns it.
  void assign(const Variable& variable, const Tensor& value);
  /// The program that computes `results`: what f gave. TraceError when one belongs to another trace.
  Program finish(std::span<const Tensor> results);

 private:
  struct Stream {
    enum class Origin : std::uint8_t { bound, adopted, moved };
    const Generator* generator;
    Tensor tensor;
    Origin origin = Origin::bound;
    std::int64_t blocks = 0;  // taken so far
  };
  Stream* find_stream(const Generator& generator);
  void draw(const ops::Effect& effect);
  void assign(const ops::Effect& effect);
  Index operand_of(const Tensor& x, const char* op);
  Tensor& value_of(const Variable& variable);
  void set(const Variable& variable, const Tensor& value, bool assigned);

  // Says to ops that a trace is open, before tapes are hidden and after.
  struct Watched {
    const bool nested = tape::watching() & tape::watch_program;
    Watched() { tape::set_watching(tape::watch_program, true); }
    ~Watched() {
      if (!nested) tape::set_watching(tape::watch_program, false);
    }
  };

  const char* op_;
  Watched watched_;
  tape::Suspend hidden_;
  Program program_;
  std::unordered_map<const detail::Block*, Index> values_;  // of blocks that hold, or would hold, elements
  std::unordered_map<const detail::Block*, Index> viewed_;  // what adopted views are views of
  std::vector<Tensor> captured_;
  std::unordered_set<const detail::Block*> noted_;  // blocks of captured_
  Trace* enclosing_;
  bool keeps_parts_;
  std::uint64_t first_id_;  // below those of tensors that are made here
  std::vector<Tensor> adopted_, enclosing_values_;
  std::vector<Variable> enclosing_variables_;
  std::vector<Stream> streams_;
  std::vector<Variable> read_;
  std::map<std::uint64_t, State> states_;  // of variables, by id: in the order of their construction
  ops::Tracer* below_;
};

/// While it lives, ops of this thread compute, whatever is traced around them, and no tape sees them.
class Untraced {
 public:
  Untraced();
  Untraced(const Untraced&) = delete;
  Untraced& operator=(const Untraced&) = delete;
  ~Untraced();

 private:
  ops::Tracer* tracer_;
  bool traces_;
  tape::Suspend unseen_;
};

}  // namespace reel::program
