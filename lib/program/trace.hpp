// Traces: a function is run on abstract tensors, which have a dtype and a shape but no elements. Its ops compute
// nothing; they are written down as a program. Tapes and rules work as usual, so that gradients taken inside the
// function become part of the program. Variables are read and assigned in the trace alone.
#pragma once
#include <atomic>
#include <map>
#include <reel/tape.hpp>
#include <unordered_map>
#include <unordered_set>

#include "ops/apply/effect.hpp"
#include "program/program.hpp"

namespace reel::codegen {
struct NativeOptions;
}

namespace reel::program {

/// The values that a primitive would assign to its variables, in their order. `values`: the current values of the
/// variables, if the primitive reads them.
std::vector<Tensor> new_values(const ops::Effect& effect, std::vector<const Tensor*> values);

/// While it lives, ops of this thread become instructions, and tapes that were active before do not record.
class Trace final : public ops::Tracer, public ops::EffectHandler {
  struct State {
    Variable variable;
    Tensor value;
    bool assigned = false;
    bool read = false;            // by the traced function itself, not only by the update of an optimiser
    bool assigned_first = false;  // before any read: it is no argument of the program yet
  };

 public:
  /// `op` is named in errors. In a trace inside an `enclosing` one, abstract tensors of that one which the function
  /// reads, and positions of its random streams, become further arguments. Assigns and draws stay in this trace; the
  /// caller turns them into results (gradient/control/effects.hpp).
  explicit Trace(const char* op, Trace* enclosing = nullptr);
  ~Trace();
  /// The innermost trace of this thread; null if there is none.
  static Trace* current() noexcept { return static_cast<Trace*>(ops::Tracer::current()); }
  /// The number of ops that the traces of all threads have added, for a thread that waits for one to see whether it
  /// goes on.
  static std::uint64_t ops_added() noexcept;
  /// Counts as one, for a thread that traces a function and waits for something else.
  static void note_progress() noexcept;

  /// From here on, nested traced functions keep their programs as traced, before passes, and fuse none: so they can be
  /// compared, and written as C.
  void keep_parts() noexcept { keeps_parts_ = true; }
  bool keeps_parts() const noexcept { return keeps_parts_; }
  /// The same, but they are fused, and keep what fusion began with as well: they may be written or run.
  void keep_both() noexcept { keeps_both_ = true; }
  bool keeps_both() const noexcept { return keeps_both_; }
  /// From here on, layers whose primitives have no form in C compute by other ops.
  void compose() noexcept { composes_ = true; }
  /// Whether they do so in this thread.
  static bool composing() noexcept { return current() && current()->composes_; }
  /// From here on, gradients of nested traced functions are native code; null: they are not.
  void set_native_steps(const codegen::NativeOptions* options) noexcept { native_steps_ = options; }
  const codegen::NativeOptions* native_steps() const noexcept { return native_steps_; }
  /// Notes, for this trace and those around it, that the function gives a gradient of its own to what it computes:
  /// derivatives may lead from, and read, what its ops do not.
  void note_rule() noexcept {
    for (Trace* t = this; t; t = t->enclosing_) t->has_rules_ = true;
  }
  bool has_rules() const noexcept { return has_rules_; }
  /// Adds an argument with the dtype, shape and strides of `example`.
  Tensor argument(const Tensor& example);
  void add(const ops::Operation& operation, const ops::Call& call, std::span<const Tensor> outputs) override;
  void note(const Tensor& x) override;
  const char* owner() const noexcept override { return op_; }
  void draw_again(const ops::Effect& effect, std::uint64_t seed, std::uint64_t first) override;
  /// What the function reads besides its arguments: abstract tensors of enclosing traces, and variables that it reads
  /// before it assigns them. Each is a further argument, in this order. A tensor keeps its identity; a variable is
  /// identified by itself, whatever tensors its reads return. Call it when the function has returned: the state of an
  /// optimiser that it has made and destroyed is not among them, nor among the assigned variables, since every call
  /// begins with the initial values, which are constants.
  std::span<const Source> reads();
  /// Makes it a further argument, as if the function had read it.
  void add_read(const Source& source);
  /// Draws from the generator use `stream` instead: int64 [2], seed and position, an argument.
  void bind_stream(const Generator& generator, const Tensor& stream);
  /// The number of blocks drawn from each bound stream, in the order of binding; negative if only a run can tell.
  std::vector<std::int64_t> draws() const;
  /// For each negative one: seed and position after its last draw minus those that were bound.
  std::vector<Tensor> unknown_draws();
  /// For each bound stream, in the order of binding: seed and position after its last draw.
  std::vector<Tensor> last_streams();
  /// Seed and position of the next draw.
  Tensor stream(const Generator& generator);
  /// Makes draws from the generator continue at `stream`.
  void move_stream(const Generator& generator, const Tensor& stream);
  /// The generators whose streams were adopted.
  std::vector<const Generator*> drawn() const;
  /// Whether effects of these kinds reach this trace. They do not inside a function that may be run again for its
  /// derivative, whose handler is closer.
  bool reached_by(unsigned kinds) const noexcept { return ops::handler_of(kinds) == this; }
  /// The differentiable tensors that the traced function captured: a tape may follow them.
  std::span<const Tensor> captured() const noexcept { return captured_; }
  /// TraceError for a draw from a generator without a bound stream.
  void perform(const ops::Effect& effect) override;
  /// While it lives, the variables have these values in the trace; assigns meanwhile are undone at its end.
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

  /// The value of a variable, read as the function reads it: tapes of the trace watch the variable.
  Tensor read(const Variable& variable);
  /// The variables that were assigned, and their last values.
  std::vector<Variable> assigned() const;
  std::vector<Tensor> assigned_values() const;
  /// The assigned variables that the function has also read.
  std::vector<Variable> read_and_assigned() const;
  /// The current value of a variable, which no tape follows. The first call adds an argument.
  Tensor value(const Variable& variable);
  /// Assigns it in the trace.
  void assign(const Variable& variable, const Tensor& value);
  /// The number of values so far: those of later ops have no smaller index.
  Index values() const noexcept { return static_cast<Index>(program_.values.size()); }
  /// Ends the trace: the program that computes `results`. TraceError when one of them belongs to another trace.
  Program finish(std::span<const Tensor> results);

  /// The compiled functions that run as a part of this trace, innermost last.
  detail::List<const void*>& inlined() noexcept { return inlined_; }
  /// Whether a compiled function runs as a part of this trace or of those around it.
  bool inlines(const void* function) const noexcept;

 private:
  // A variable that was made in this trace: the state of an optimiser.
  struct Made {
    Variable variable;
    Index value;
    Tensor argument, initial;
  };
  bool is_local(const Variable& v) const noexcept;
  void settle_made();
  struct Stream {
    enum class Origin : std::uint8_t { bound, adopted, moved };
    const Generator* generator;
    Tensor tensor;
    Origin origin = Origin::bound;
    std::int64_t blocks = 0;  // drawn so far
  };
  Stream* find_stream(const Generator& generator);
  void adopt(const Tensor& x);
  void draw(const ops::Effect& effect);
  void assign(const ops::Effect& effect);
  Index operand_of(const Tensor& x, const char* op);
  Tensor& value_of(const Variable& variable);
  Tensor add_variable(const Variable& variable);
  void set(const Variable& variable, const Tensor& value, bool assigned);

  // Tells ops that a trace is open, before tapes are hidden and after they return.
  struct Watched {
    const bool nested = tape::watching() & tape::watch_program;
    Watched() { tape::set_watching(tape::watch_program, true); }
    ~Watched() {
      if (!nested) tape::set_watching(tape::watch_program, false);
    }
  };

  // Captures around the trace do not see its abstract tensors. They see what the program reads when it runs.
  struct NoCapture {
    tape::Capture* const around = std::exchange(detail::thread_state().capture, nullptr);
    ~NoCapture() { detail::this_thread.state->capture = around; }
  };

  const char* op_;
  Watched watched_;
  tape::Suspend hidden_;
  NoCapture no_capture_;
  Program program_;
  std::unordered_map<const detail::Block*, Index> values_;  // by the block that holds, or would hold, the elements
  std::unordered_map<const detail::Block*, Index> viewed_;  // for adopted views: the value of the base
  std::vector<Tensor> captured_;
  std::unordered_set<const detail::Block*> noted_;  // blocks of captured_
  Trace* enclosing_;
  bool keeps_parts_, keeps_both_, composes_, has_rules_ = false;
  const codegen::NativeOptions* native_steps_;
  std::uint64_t first_id_;  // ids of tensors made in this trace are larger
  std::vector<Source> reads_;
  std::vector<Stream> streams_;
  std::uint64_t first_variable_;  // ids of variables that are made in this trace are not smaller
  std::vector<Made> made_;        // of which it is not known yet whether they are arguments
  std::vector<Tensor> settled_;   // the abstract values of the others
  detail::List<const void*> inlined_;
  std::map<std::uint64_t, State> states_;  // by variable id, so in the order of construction
  ops::Tracer* below_;
};

/// While it lives, ops of this thread compute, in spite of any trace around them, and no tape records.
class Untraced {
 public:
  Untraced();
  Untraced(const Untraced&) = delete;
  Untraced& operator=(const Untraced&) = delete;
  ~Untraced();

 private:
  ops::Tracer* tracer_;
  bool watches_, keeps_;
  tape::Suspend unseen_;
};

}  // namespace reel::program
