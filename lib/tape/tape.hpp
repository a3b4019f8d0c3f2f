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

#include "tape/observe/observe.hpp"
#include "tape/record.hpp"
#include "tape/saved.hpp"

namespace reel::detail {
/// The public headers' name of a tape: they declare no namespace but reel and detail.
struct TapeState {};
}  // namespace reel::detail

namespace reel::tape {

inline constexpr std::uint32_t no_slot = ~std::uint32_t{0};
/// With so many entries a tape first looks for those that can go.
inline constexpr std::int64_t first_sweep = 4096;

/// Shape and dtype of a slot, interned per tape.
struct Meta {
  std::uint64_t hash;
  DType dtype;
  std::uint8_t rank;
  std::int64_t extents[1];  // as many as rank
  Shape shape() const { return {extents, rank}; }
};

struct Slot {
  std::uint64_t id;  // of the tensor; 0 when free
  const Meta* meta;
  bool dead = false;       // the tensor is gone
  bool source = false;     // watched: kept by sweeps
  bool root = false;       // no entry made it: all else is computed from roots
  bool variable = false;   // of a variable: the ids of the values that were read lead to it, too
  std::uint32_t site = 0;  // of the op that made it, in the tape's sites
};

/// Slots by number, in memory of the thread's pool: in chunks, of which only the first is ever moved, while it grows.
class Slots {
 public:
  Slots() = default;
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  ~Slots() { drop(); }
  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }
  Slot& operator[](std::size_t i) noexcept { return chunks_[i >> chunk_bits][i & (chunk - 1)]; }
  const Slot& operator[](std::size_t i) const noexcept { return chunks_[i >> chunk_bits][i & (chunk - 1)]; }
  /// Room for so many in all, at most no_slot - 1; keeps what is there. Strong guarantee.
  void reserve(std::size_t capacity);
  /// One more, uninitialised; reserve first.
  Slot& add() noexcept { return (*this)[size_++]; }
  void clear() noexcept { size_ = 0; }
  /// The same, and frees the memory.
  void drop() noexcept;

 private:
  static constexpr std::size_t chunk_bits = 18, chunk = std::size_t{1} << chunk_bits;
  void grow();
  detail::List<Slot*> chunks_;
  std::size_t size_ = 0, capacity_ = 0;
};

/// The head of a variable-length record; the arrays follow it in the order of the counts.
struct Entry {
  const Rule* rule;
  std::uint32_t bytes, previous;  // of this entry; of the one before it in its chunk (0: none)
  std::uint32_t inputs, outputs, saved, attributes;

  std::uint32_t* slots() noexcept { return reinterpret_cast<std::uint32_t*>(this + 1); }
  const std::uint32_t* slots() const noexcept { return reinterpret_cast<const std::uint32_t*>(this + 1); }
  std::uint32_t input(std::size_t i) const noexcept { return slots()[i]; }
  std::uint32_t output(std::size_t k) const noexcept { return slots()[inputs + k]; }
  /// What the rule reads later. Handles that count as saved: made by retain_saved, never destroyed.
  Tensor* values() noexcept {
    return reinterpret_cast<Tensor*>(reinterpret_cast<std::byte*>(this + 1) + (inputs + outputs + 1) / 2 * 8);
  }
  const Tensor* values() const noexcept { return const_cast<Entry*>(this)->values(); }
  const detail::Block* block(std::size_t i) const noexcept { return detail::block(values()[i]); }
  std::int64_t* numbers() noexcept { return reinterpret_cast<std::int64_t*>(values() + saved); }
  const std::int64_t* numbers() const noexcept { return const_cast<Entry*>(this)->numbers(); }
  static std::size_t size_of(std::size_t inputs, std::size_t outputs, std::size_t saved, std::size_t attributes) {
    return sizeof(Entry) + (inputs + outputs + 1) / 2 * 8 + saved * sizeof(Tensor) + attributes * 8;
  }
};

/// Entries one after another in chunks that never move. Chunks come from the thread's pool, and go back to it.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { clear(false); }
  /// Makes sure that the next add of up to `bytes` does not throw.
  void reserve(std::size_t bytes) {
    if (chunks_.empty() || chunks_.back().capacity - chunks_.back().used < bytes) [[unlikely]]
      grow(bytes);
  }
  /// Room for an entry, `previous` and `bytes` set.
  Entry* add(std::size_t bytes) noexcept {
    Chunk& c = chunks_.back();
    auto* e = new (static_cast<void*>(c.data + c.used)) Entry;
    __builtin_prefetch(c.data + c.used + 1024, 1);  // the processor itself looks no further than a page
    e->bytes = static_cast<std::uint32_t>(bytes);
    e->previous = c.used - c.last;
    c.last = c.used;
    c.used += e->bytes;
    ++count_;
    return e;
  }
  std::int64_t count() const noexcept { return count_; }
  std::int64_t bytes() const noexcept;
  /// Frees all memory but, if `keep`, a first small chunk.
  void clear(bool keep) noexcept;
  void swap(Arena& other) noexcept {
    chunks_.swap(other.chunks_);
    std::swap(count_, other.count_);
  }

  /// A place in the arena, to walk with.
  struct Place {
    std::size_t chunk = 0;
    std::uint32_t offset = 0;
  };
  /// Past the last entry.
  Place end() const noexcept {
    return {chunks_.empty() ? 0 : chunks_.size() - 1, chunks_.empty() ? 0 : chunks_.back().used};
  }
  /// The entry before `at`, which moves there; null at the front.
  Entry* step_back(Place& at) const noexcept {
    while (at.offset == 0) {
      if (at.chunk == 0) return nullptr;
      at = {at.chunk - 1, chunks_[at.chunk - 1].used};
    }
    const Chunk& c = chunks_[at.chunk];
    // From the end of the chunk to its last entry, from an entry to the one before it.
    at.offset = at.offset == c.used ? c.last : at.offset - reinterpret_cast<Entry*>(c.data + at.offset)->previous;
    return reinterpret_cast<Entry*>(c.data + at.offset);
  }
  /// The entry at `at`, which moves past it; null at `end`.
  Entry* step_forward(Place& at, Place end) const noexcept {
    while (at.chunk < end.chunk && at.offset == chunks_[at.chunk].used) at = {at.chunk + 1, 0};
    if (at.chunk == end.chunk && at.offset >= end.offset) return nullptr;
    auto* e = reinterpret_cast<Entry*>(chunks_[at.chunk].data + at.offset);
    at.offset += e->bytes;
    return e;
  }
  /// Calls f(entry) in recording order.
  template <class F>
  void for_each(F f) const {
    for (const Chunk& c : chunks_)
      for (std::byte *p = c.data, *end = c.data + c.used; p != end;) {
        auto* e = reinterpret_cast<Entry*>(p);
        p += e->bytes;
        f(*e);
      }
  }
  /// Frees the chunks behind the one of `at`: replay of a used-up tape is done with them.
  void release_after(Place at) noexcept {
    while (chunks_.size() > at.chunk + 1) drop_last();
  }

 private:
  struct Chunk {
    std::byte* data;
    std::uint32_t capacity, used, last;
  };
  void grow(std::size_t bytes);
  void drop_last() noexcept;
  detail::List<Chunk> chunks_;
  std::int64_t count_ = 0;
};

/// From ids to slots: open addressing, no erasure.
class IdMap {
 public:
  std::uint32_t find(std::uint64_t id) const noexcept {
    // Most ids that ops ask for are not here.
    return seen_ >> (id & 63) & 1 ? search(id) : no_slot;
  }
  /// Room for `more` insertions that do not throw.
  void reserve(std::size_t more) {
    if ((count_ + more) * 2 > table_.size()) [[unlikely]]
      grow(more);
  }
  /// Adds or replaces; reserve first.
  void set(std::uint64_t id, std::uint32_t slot) noexcept;
  void clear() noexcept;
  bool empty() const noexcept { return count_ == 0; }
  /// The map of the pairs for which keep(id, slot).
  template <class Keep>
  IdMap filtered(Keep keep) const {
    IdMap map;
    map.reserve(count_);
    for (const auto& [id, slot] : table_)
      if (id && keep(id, slot)) map.set(id, slot);
    return map;
  }

 private:
  std::uint32_t search(std::uint64_t id) const noexcept;
  static std::size_t hash(std::uint64_t id) noexcept { return (id * 0x9e3779b97f4a7c15u) >> 32; }
  void grow(std::size_t more);
  detail::List<std::pair<std::uint64_t, std::uint32_t>> table_;
  std::size_t mask_ = 0, count_ = 0;
  std::uint64_t seen_ = 0;  // a bit for the end of each id
};

/// Why a tensor computed from followed ones is not followed.
struct Taint {
  Cut why;
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
  bool orphan = false;                                      // its owner went while it was replayed
  std::int64_t replay_entries = 0, sweep_at = 0, seen = 0;  // seen: ops recorded so far

  Arena entries;
  Slots slots;
  detail::List<std::uint32_t> free_slots;
  std::size_t roots = 0;  // slots of that kind
  Stock stock;
  IdMap by_id;
  std::vector<std::pair<Variable, std::uint32_t>> variables;
  std::vector<Meta*> metas;  // hash table of interned metadata
  std::size_t meta_count = 0;
  const Meta* last_meta = nullptr;
  std::unordered_map<std::uint64_t, Taint> taints;
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
                      Units units) noexcept
    : tape_(tape),
      entry_(entry),
      values_(entry.values()),
      saved_(entry.saved),
      wanted_(wanted),
      batch_(batch),
      units_(units) {}
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
/// The innermost tape on this thread's stack that is no accumulator; null if there is none.
Tape* innermost() noexcept;
/// Takes the tangents of a forward tape's only entry from its inputs to its outputs, and drops the entry.
void advance(Tape& forward);
/// Room for `more` slots, so that publishing and dropping throw nothing.
void reserve_tangents(Tape& forward, std::size_t more);
/// The tensor of this slot is gone, and its tangent with it.
void drop_tangent(Tape& forward, std::uint32_t slot) noexcept;
/// TapeError unless the tape belongs to this thread.
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

/// While it lives, this thread reads these variables as these values: a function that is run again for its derivative
/// sees what it saw the first time, whatever was assigned since.
class FrozenReads {
 public:
  FrozenReads(std::span<const Variable> variables, std::span<const Tensor> values);
  FrozenReads(const FrozenReads&) = delete;
  FrozenReads& operator=(const FrozenReads&) = delete;
  ~FrozenReads();
  /// The value to read, null when the variable is not frozen on this thread.
  static Tensor* find(const Variable& variable) noexcept;

 private:
  std::vector<std::pair<std::uint64_t, Tensor>> values_;  // by Variable::id()
  FrozenReads* below_;
};

struct VariableAccess {
  /// For each tape of this thread: the variable's value `id` is read. Called under the variable's lock.
  static void on_read(const Variable& v, Tensor& value);
  /// Replaces the value by combine(value, delta), in its own memory if nobody else holds it. Not recorded.
  static void update(const Variable& v, const char* op, Tensor (*combine)(Tensor&&, const Tensor&),
                     const Tensor& delta);
  /// Lets `change` replace the value, under the variable's lock, by one of the same shape and dtype. Not recorded.
  template <class F>
  static void modify(const Variable& v, const char* op, F&& change) {
    modify(
        v, op, [](void* f, Tensor& value) { (*static_cast<std::remove_reference_t<F>*>(f))(value); }, &change);
  }
  static void modify(const Variable& v, const char* op, void (*change)(void* context, Tensor& value), void* context);
};

namespace tape {
/// What the public classes hold.
inline Tape& state(detail::TapeState* t) noexcept { return *static_cast<Tape*>(t); }
}  // namespace tape

struct GradientTapeAccess {
  static tape::Tape& get(const GradientTape& t) noexcept { return tape::state(t.tape_); }
};

}  // namespace reel
