// A tape's insides: entries in an arena in recording order, slots for the tensors it follows, metadata interned.
//
// Terms. A *slot* stands for one followed tensor: a watched source, a variable, or the output of a recorded op. An
// *entry* is one recorded op: its rule, the slots of its inputs (no_slot where not followed) and outputs, the blocks
// its rule saved, and plain integers. Recording order is a topological order, so replay walks the arena backwards and
// a jvp forwards. Outputs find their slot by the marks in their block; sources and variables by a small hash map.
#pragma once
#include <atomic>
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
/// The public headers' name of a tape: they declare no namespace but reel and detail.
struct TapeState {};
}  // namespace reel::detail

namespace reel::tape {

/// With so many entries a tape first looks for those that can go.
inline constexpr std::int64_t first_sweep = 4096;

/// Why a tensor computed from followed ones is not followed.
struct UnrecordedReason {
  Unrecorded why;
  const char* op;
  std::int64_t index;  // ops the tape had seen by then
  Site site;
};

class Capture;

struct Tape : detail::TapeState {
  enum class Place { off, on_stack, abandoned };  // abandoned: destroyed by another thread, its own frees it
  // forward: an accumulator, which holds a tangent for each slot in place of entries (forward.cpp).
  // capture: stands at the bottom of a stack for the tapes that a Capture hides.
  // observer: records nothing; it lies below all others while something looks on (observe.hpp).
  enum class Kind : std::uint8_t { reverse, forward, capture, observer };

  TapeOptions options;
  Kind kind = Kind::reverse;
  std::uint32_t serial = 0;
  std::uint64_t thread = 0;
  std::atomic<Place> place{Place::off};
  Tape* below = nullptr;
  int paused = 0, hidden = 0, replaying = 0;  // hidden: from the ops of an outer accumulator's jvp
  bool used = false, warned_growth = false;
  bool traced = false;                                      // made in a function that is traced: a part of its program
  bool orphan = false;                                      // its owner went while it was replayed
  std::int64_t replay_entries = 0, sweep_at = 0, seen = 0;  // seen: ops recorded so far

  Arena entries;
  Slots slots;
  detail::List<std::uint32_t> free_slots;
  std::size_t roots = 0;  // slots of that kind
  ReferenceBatch references;
  IdMap by_id;
  std::vector<std::pair<Variable, std::uint32_t>> variables;
  std::vector<Meta*> metas;  // hash table of interned metadata
  std::size_t meta_count = 0;
  const Meta* last_meta = nullptr;
  std::unordered_map<std::uint64_t, UnrecordedReason> unrecorded;
  Sites sites;
  std::unordered_map<std::uint64_t, std::uint64_t> borrowed;  // sums over borrowed memory, by its block's id
  detail::List<Tensor> tangents;                              // forward: of each slot
  const Capture* capture = nullptr;                           // capture: whose

  /// Where the op of an entry was called.
  Site site_of(const Entry& e) const noexcept { return e.outputs ? sites[slots[e.output(0)].site] : Site{}; }
  bool recording() const noexcept { return paused == 0 && hidden == 0; }
  /// The slot of x, no_slot if it is not followed.
  std::uint32_t find(const detail::Block* x) const noexcept {
    for (const detail::Mark& m : x->marks)
      if (m.on(serial) && m.slot < slots.size() && slots[m.slot].id == x->id) return m.slot;
    const std::uint32_t s = by_id.find(x->id);
    if (s == no_slot) return s;
    // A slot that was given up leaves its id behind.
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
/// Frees a tape that its owner gave up while it was replayed.
inline void end_replay(Tape& tape) noexcept {
  if (--tape.replaying == 0 && tape.orphan) free_tape(&tape);
}
/// While it lives its tape is replayed, and is not freed: a gradient function may destroy it.
class Replaying {
 public:
  explicit Replaying(Tape& tape) noexcept : tape_(tape) { ++tape_.replaying; }
  Replaying(const Replaying&) = delete;
  Replaying& operator=(const Replaying&) = delete;
  ~Replaying() { end_replay(tape_); }

 private:
  Tape& tape_;
};
/// Takes the tape off this thread's stack, wherever in it it is.
void pop(Tape* tape) noexcept;
/// Frees a tape on this thread's stack that another thread gave up; true if it was one.
bool reap(Tape* tape) noexcept;
/// Drops what an entry's attributes own.
[[gnu::cold]] void release_attributes(Entry& entry) noexcept;
/// Drops the values an entry saved and what its attributes own.
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
/// Drops the entries whose results nobody can reach any more.
void sweep(Tape& tape);
/// Takes the tangents of a forward tape's only entry from its inputs to its outputs, and drops the entry.
void advance(Tape& forward);
/// Room for `more` slots, so that publishing and dropping throw nothing.
void reserve_tangents(Tape& forward, std::size_t more);
/// The tensor of this slot is gone, and its tangent with it.
void drop_tangent(Tape& forward, std::uint32_t slot) noexcept;
/// TapeError unless the tape belongs to this thread; TraceError unless it was made in a traced function and is used
/// there, or neither.
void check_thread(const Tape& tape, const char* what);
/// What the tape calls its slots, for the eye: a variable by its name, a source "source_0", a result "multiply_3:0"
/// with the number of its op on the tape.
std::vector<std::string> slot_names(const Tape& tape);

void trace_recorded(const char* name, std::span<const Tensor* const> inputs, std::span<const Tensor* const> outputs);
/// The lines of one replay (rules S16 and S112).
class ReplayLines {
 public:
  explicit ReplayLines(const Tape& tape) : names_(slot_names(tape)), terms_(tape.slots.size()) {}
  /// A gradient was added for the slot.
  void arrived(std::uint32_t slot) { ++terms_[slot]; }
  /// The slot's sum is complete.
  void complete(std::uint32_t slot, const Shape& shape, const char* method);
  void rule_ran(const Record& record, const Entry& entry, std::span<const Tensor> g,
                std::span<const Gradient> dx) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::uint32_t> terms_;
};

void watch(Tape& tape, const Tensor& x);
void watch(Tape& tape, const Variable& x);
/// The same under the variable's lock, which asking it for its shape would take again.
void watch(Tape& tape, const Variable& x, DType dtype, const Shape& shape);

}  // namespace reel::tape

namespace reel {

namespace tape {
/// What the public classes hold.
inline Tape& state(detail::TapeState* t) noexcept { return *static_cast<Tape*>(t); }
}  // namespace tape

struct GradientTapeAccess {
  static tape::Tape& get(const GradientTape& t) noexcept { return tape::state(t.tape_); }
};

}  // namespace reel
