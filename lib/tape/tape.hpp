// A tape's insides: entries in an arena in recording order, slots for the tensors it follows, metadata interned.
//
// Terms. A *slot* stands for one followed tensor: a watched source, a variable, or the output of a recorded op. An
// *entry* is one recorded op: its rule, the slots of its inputs (no_slot where not followed) and outputs, the blocks
// its rule saved, and plain integers. Recording order is a topological order, so replay walks the arena backwards and
// a jvp forwards. Outputs find their slot by the marks in their block; sources and variables by a small hash map.
#pragma once
#include <atomic>
#include <functional>
#include <reel/tape.hpp>
#include <string>
#include <unordered_map>
#include <utility>

#include "tape/entry.hpp"
#include "tape/observe/observe.hpp"
#include "tape/record.hpp"
#include "tape/saved.hpp"
#include "tape/slots.hpp"
#include "tape/variable.hpp"

namespace reel::detail {
/// The name of a tape in public headers, which declare no namespace but reel and detail.
struct TapeState {};
}  // namespace reel::detail

namespace reel::tape {

/// The first sweep of a tape comes at this number of entries.
inline constexpr std::int64_t first_sweep = 4096;

/// Why a tensor computed from followed tensors is not followed.
struct UnrecordedReason {
  Unrecorded why;
  const char* op;
  std::int64_t index;  // the number of ops the tape had seen by then
  Site site;
};

class Capture;

/// By id of a tensor or block, in memory of the thread's pool: no system allocation in the steady state.
template <class V>
using ById = std::unordered_map<std::uint64_t, V, std::hash<std::uint64_t>, std::equal_to<std::uint64_t>,
                                detail::PoolAllocator<std::pair<const std::uint64_t, V>>>;

struct Tape : detail::TapeState {
  // abandoned: destroyed by another thread; the owning thread frees it
  enum class Status { off, on_stack, abandoned };
  // forward: an accumulator, which holds a tangent per slot instead of entries (forward.cpp).
  // capture: stands at the bottom of a stack for the tapes that a Capture hides.
  // observer: records nothing; it is below all others while every op is observed (observe.hpp).
  enum class Kind : std::uint8_t { reverse, forward, capture, observer };

  TapeOptions options;
  Kind kind = Kind::reverse;
  std::uint32_t serial = 0;
  std::uint64_t thread = 0;
  std::atomic<Status> status{Status::off};
  Tape* below = nullptr;
  int paused = 0, hidden = 0, replaying = 0;  // hidden: from the ops of an outer accumulator's jvp
  int deferring = 0;             // forward: the FunctionScopes that its entries wait for; -1 while it takes them
  std::uint32_t generation = 0;  // changes when entries are dropped: cursors are invalid then
  bool used = false, warned_growth = false;
  bool over_tangents = false;                               // see in_forward_over_reverse()
  bool traced = false;                                      // made in a traced function: part of its program
  bool orphan = false;                                      // its owner was destroyed during its replay
  std::int64_t replay_entries = 0, sweep_at = 0, seen = 0;  // seen: ops recorded so far

  Arena entries;
  Slots slots;
  detail::List<std::uint32_t> free_slots;
  std::size_t roots = 0;  // number of root slots
  ReferenceBatch references;
  IdMap by_id;
  std::vector<std::pair<Variable, std::uint32_t>> variables;
  std::vector<Meta*> metas;  // hash table of interned metadata
  std::size_t meta_count = 0;
  const Meta* last_meta = nullptr;
  ById<UnrecordedReason> unrecorded;
  Sites sites;
  ById<std::uint64_t> borrowed;      // checksums of borrowed memory, by the id of its block
  detail::List<Tensor> tangents;     // forward: one per slot
  const Capture* capture = nullptr;  // capture: the Capture that it stands for

  /// Where the op of an entry was called.
  Site site_of(const Entry& e) const noexcept { return e.outputs ? sites[slots[e.output(0)].site] : Site{}; }
  bool recording() const noexcept { return paused == 0 && hidden == 0; }
  /// The slot of x; no_slot if it is not followed.
  std::uint32_t find(const detail::Block* x) const noexcept {
    for (const detail::Mark& m : x->marks)
      if (m.on(serial) && m.slot < slots.size() && slots[m.slot].id == x->id) return m.slot;
    const std::uint32_t s = by_id.find(x->id);
    if (s == no_slot) return s;
    // The id of a freed slot stays in the map.
    return slots[s].id == x->id || slots[s].variable ? s : no_slot;
  }
  const Meta* intern(DType dtype, const std::int64_t* extents, int rank) {
    if (const Meta* m = last_meta; m && m->dtype == dtype && m->rank == rank) {
      for (int d = 0; d < rank; ++d)
        if (m->extents[d] != extents[d]) return last_meta = look_up(dtype, extents, rank);
      return m;
    }
    return last_meta = look_up(dtype, extents, rank);
  }
  const Meta* look_up(DType dtype, const std::int64_t* extents, int rank);
  /// A slot that is not in use; reserve first.
  std::uint32_t take_slot() noexcept {
    if (free_slots.empty()) [[likely]] {
      slots.add();
      return static_cast<std::uint32_t>(slots.size() - 1);
    }
    const std::uint32_t at = free_slots.back();
    free_slots.pop_back();
    return at;
  }
  void drop_metas() noexcept;
  std::uint32_t add_source(std::uint64_t id, DType dtype, const Shape& shape, bool variable = false);
  void clear() noexcept;
  ~Tape() {
    clear();
    drop_metas();
  }
};

inline Record::Record(const Tape& tape, const Entry& entry, const bool* wanted, std::int64_t batch,
                      IdentityRows identity_rows) noexcept
    : tape_(tape),
      entry_(entry),
      values_(entry.values()),
      saved_(entry.saved),
      wanted_(wanted),
      batch_(batch),
      identity_rows_(identity_rows) {}
inline const Rule& Record::rule() const noexcept { return *entry_.rule; }
inline bool Record::fits(const Tensor& x, std::size_t i) const noexcept {
  const Meta& m = *tape_.slots[entry_.input(i)].meta;
  const detail::Block* b = detail::block(x);
  bool same = !batch_ && b->rank == m.rank;
  for (int d = 0; same && d < m.rank; ++d) same = m.extents[d] == b->extents()[d];
  return same;
}

inline RuleScope::RuleScope(const Tape& t, const Entry& e) : entered_(watching() != 0) {
  if (!t.borrowed.empty()) [[unlikely]]
    check_borrowed(t, e);
  if (entered_) [[unlikely]]
    enter_watched(t, e);
}

/// A cleared tape, from a small cache of this thread.
Tape* make_tape(const TapeOptions& options, Tape::Kind kind = Tape::Kind::reverse);
void free_tape(Tape* tape) noexcept;
void push(Tape* tape);
/// Frees a tape whose owner was destroyed during its replay.
inline void end_replay(Tape& tape) noexcept {
  if (--tape.replaying == 0 && tape.orphan) free_tape(&tape);
}
/// While it lives its tape is being replayed and is not freed: a gradient function may destroy the tape object.
class Replaying {
 public:
  explicit Replaying(Tape& tape) noexcept : tape_(tape) { ++tape_.replaying; }
  Replaying(const Replaying&) = delete;
  Replaying& operator=(const Replaying&) = delete;
  ~Replaying() { end_replay(tape_); }

 private:
  Tape& tape_;
};
/// Removes the tape from this thread's stack, at any position.
void pop(Tape* tape) noexcept;
/// If another thread destroyed a tape on this thread's stack, frees it and returns true.
bool reap(Tape* tape) noexcept;
/// Frees what an entry's attributes own.
[[gnu::cold]] void release_attributes(Entry& entry) noexcept;
/// Releases the values that an entry saved and what its attributes own.
template <class Drop>
inline void release(Entry& e, Drop drop) noexcept {
  Tensor* values = e.values();
  for (std::uint32_t i = 0; i < e.saved; ++i)
    if (detail::Block* b = TensorAccess::take(values[i])) drop(b, i);
  if (e.attributes) [[unlikely]]
    release_attributes(e);
}
inline void release(Entry& e) noexcept {
  release(e, [](detail::Block* b, std::size_t) { detail::release_saved(b); });
}
/// Reserves `more` slots, for an op of that name.
void reserve_slots(Tape& tape, const char* op, std::size_t more);
/// Drops the entries whose results cannot be reached any more.
void sweep(Tape& tape);
/// Finds the entries whose results can be reached, in recording order, and returns their number. Others release what
/// they saved.
std::size_t find_live(Tape& tape, detail::List<char>& keep);
/// Takes the tangents of a forward tape's only entry from its inputs to its outputs, and drops the entry.
void advance(Tape& forward);
/// The same for the entries that waited for a FunctionScope, but for those whose results cannot be reached. Results of
/// ops without a jvp get a tangent that is not known, except for the entry of the function itself.
void advance_deferred(Tape& forward, const Rule& function);
/// Whether the tangent is not known: a boolean stands for it.
inline bool is_unknown(const Tensor& tangent) noexcept { return detail::block(tangent)->dtype == DType::boolean; }
/// NotDifferentiable: the op reads a tangent that is not known.
[[noreturn, gnu::cold]] void fail_unknown(const char* op);
/// Drops these entries.
void drop_deferred(Tape& forward) noexcept;
/// Reserves `more` slots, so that publishing and dropping do not throw.
void reserve_tangents(Tape& forward, std::size_t more);
/// Drops the slot of a destroyed tensor, and its tangent.
void drop_tangent(Tape& forward, std::uint32_t slot) noexcept;
/// TapeError unless the tape belongs to this thread. TraceError if it was made in a traced function and is used outside
/// it, or the other way round.
void check_thread(const Tape& tape, const char* what);
/// Names of slots for messages: a variable's name, "source_0" for a source, "multiply_3:0" for a result, with the index
/// of its op on the tape.
std::vector<std::string> slot_names(const Tape& tape);

void trace_recorded(const char* name, std::span<const Tensor* const> inputs, std::span<const Tensor* const> outputs);
/// The lines printed for one replay (rules S16 and S112).
class ReplayLines {
 public:
  explicit ReplayLines(const Tape& tape) : names_(slot_names(tape)), terms_(tape.slots.size()) {}
  /// Prints that a gradient was added for the slot.
  void arrived(std::uint32_t slot) { ++terms_[slot]; }
  /// Prints that the slot's sum is complete.
  void complete(std::uint32_t slot, const Shape& shape, const char* method);
  void rule_ran(const Record& record, const Entry& entry, std::span<const Tensor> g,
                std::span<const Gradient> dx) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::uint32_t> terms_;
};

void watch(Tape& tape, const Tensor& x);
void watch(Tape& tape, const Variable& x);
/// The same while the variable's lock is held, which asking for the shape would take again.
void watch(Tape& tape, const Variable& x, DType dtype, const Shape& shape);

}  // namespace reel::tape

namespace reel {

namespace tape {
/// The member of the public classes.
inline Tape& state(detail::TapeState* t) noexcept { return *static_cast<Tape*>(t); }
}  // namespace tape

struct GradientTapeAccess {
  static tape::Tape& get(const GradientTape& t) noexcept { return tape::state(t.tape_); }
};

}  // namespace reel
