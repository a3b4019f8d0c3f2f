// The memory block behind a Tensor: one 64-byte header, then extents, strides and (unless it is a view) the data. After
// a tensor is returned to the user, only the reference count and free marks may change.
#pragma once
#include <reel/tensor.hpp>
#include <string_view>

namespace reel::detail {

/// The slot of a tensor on a tape; tape 0 means none. The library writes marks before it returns a tensor. Only outputs
/// of a user's op may already be held by other threads: their marks are claimed atomically, at most once, and read
/// through on(). A slot is valid only if it still holds the tensor's id.
struct alignas(8) Mark {
  std::uint32_t tape = 0, slot = 0;
  /// Whether it is the mark of this tape, which must belong to the calling thread: then the slot may be read.
  bool on(std::uint32_t serial) const noexcept { return __atomic_load_n(&tape, __ATOMIC_RELAXED) == serial; }
  /// Sets the mark if it is free. Only for a block that no other thread can reach.
  bool set(Mark to) noexcept {
    if (tape) return false;
    *this = to;
    return true;
  }
  /// The same for a block that other threads may hold.
  bool claim(Mark to) noexcept {
    Mark none;
    return __atomic_compare_exchange(this, &none, &to, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }
};
inline constexpr int marks_per_block = 2;

enum BlockFlag : std::uint8_t {
  contiguous_flag = 1,  // row-major without gaps
  view_flag = 2,        // base is the Block that holds the data
  borrowed_flag = 4,    // base is the Owner
  abstract_flag = 8,    // stands for a value of a traced program: has a layout, but no data
  plain_flag = 16,      // contiguous and not abstract
  // Stands for an object that its owner holds; programs pass it on as a handle, without reading elements.
  token_flag = 32,
};

struct Block : BlockHead {
  std::uint64_t id;
  std::int64_t size;
  std::byte* data;
  void* base;
  Mark marks[marks_per_block];
  DType dtype;
  std::uint8_t rank, flags, size_class;
  std::uint32_t pool;

  std::int64_t* extents() noexcept { return reinterpret_cast<std::int64_t*>(this + 1); }
  const std::int64_t* extents() const noexcept { return reinterpret_cast<const std::int64_t*>(this + 1); }
  std::int64_t* strides() noexcept { return extents() + rank; }
  const std::int64_t* strides() const noexcept { return extents() + rank; }
  bool contiguous() const noexcept { return flags & contiguous_flag; }
  bool abstract() const noexcept { return flags & abstract_flag; }
  /// Contiguous, with readable elements.
  bool plain() const noexcept { return flags & plain_flag; }
  Shape shape() const { return {extents(), rank}; }
};
static_assert(sizeof(void*) != 8 || sizeof(Block) == 64);
static_assert(sizeof(Block) % 8 == 0);  // extents follow

inline constexpr std::uint64_t one_handle = 1, one_saved = (std::uint64_t{1} << 32) | 1;

/// The references of tapes to values that rules read later.
inline void retain_saved(Block* b, std::uint64_t count = 1) noexcept {
  __atomic_fetch_add(&b->references, count * one_saved, __ATOMIC_RELAXED);
}
/// The same for a block that no other thread can reach: no atomic instruction.
inline void retain_fresh(Block* b) noexcept {
  __atomic_store_n(&b->references, b->references + one_saved, __ATOMIC_RELAXED);
}
inline void release_saved(Block* b, std::uint64_t count = 1) noexcept {
  const std::uint64_t all = count * one_saved;
  if (__atomic_load_n(&b->references, __ATOMIC_ACQUIRE) == all ||
      __atomic_fetch_sub(&b->references, all, __ATOMIC_ACQ_REL) == all)
    destroy(b);
}
/// Whether a single handle, and no tape, holds the block.
inline bool held_once(const Block* b) noexcept {
  return __atomic_load_n(&b->references, __ATOMIC_ACQUIRE) == one_handle;
}
/// The number of owners: handles, views, and saved values of tapes.
inline std::uint32_t owners(const Block* b) noexcept {
  return static_cast<std::uint32_t>(__atomic_load_n(&b->references, __ATOMIC_ACQUIRE));
}

/// Whether only tapes hold the block.
inline bool only_saved(const Block* b) noexcept {
  const std::uint64_t n = __atomic_load_n(&b->references, __ATOMIC_ACQUIRE);
  return (n & 0xffffffffu) == n >> 32;
}

/// A block for a contiguous tensor, uninitialised. ShapeError for invalid shapes, std::bad_alloc.
Block* new_block(DType dtype, const std::int64_t* extents, int rank);
inline Block* new_block(DType dtype, const Shape& shape) { return new_block(dtype, shape.data(), shape.rank()); }
/// The same for a tensor with the dtype and shape of `like`, which is contiguous.
Block* new_like(const Block* like);
/// A view of `base`: a block that shares its data, `offset` elements in, with these strides (in elements).
Block* new_view(Block* base, std::int64_t offset, const Shape& shape, const Shape& strides);
/// What made an abstract tensor: an op, and the line that called it. Null if unknown; the texts live forever.
struct Maker {
  const char* op = nullptr;
  const char* file = nullptr;
  int line = 0;
};
/// A block without data for an abstract tensor, with its maker behind the strides. Views of it are abstract too; each
/// has an address as if there were data, from which its offset follows.
Block* new_abstract(DType dtype, const Shape& shape, const Shape& strides, const Maker& maker = {});
const Maker& maker_of(const Block* abstract) noexcept;
/// TraceError of an op that needs the elements of an abstract tensor: while a function is traced it names the ops that
/// choose without elements, afterwards the maker.
[[noreturn]] void fail_abstract(std::string_view op, const Block* b);
/// TraceError of a trace whose function uses an abstract tensor of another trace.
[[noreturn]] void fail_foreign(std::string_view op, const Block* b);
/// fail_abstract() if nothing is traced on this thread: a traced function has stored the tensor, or another thread
/// traces.
void fail_unless_traced(std::string_view op, const Block* b);
/// A block over memory that belongs to `base`, `bytes` in, with these strides (in elements).
Block* new_placed(Block* base, std::int64_t bytes, DType dtype, const Shape& shape, const Shape& strides);
/// A block over memory of the user.
Block* new_borrowed(const void* data, DType dtype, const Shape& shape, void* owner);
/// An id that is unique in the process: the thread's number above, its counter below.
std::uint64_t fresh_id();
/// The part of an id that identifies the thread.
constexpr std::uint64_t thread_of(std::uint64_t id) noexcept { return id >> 48; }
/// The thread part of the ids that this thread issues.
std::uint64_t this_thread_slot();
/// Whether any thread of the process has used a tensor or a tape.
bool any_thread_used() noexcept;
/// Called for each block with a mark by the thread that drops its last handle, to notify the tape.
extern void (*on_marked_destroyed)(const Block* block) noexcept;
/// Called when a thread first uses a tensor; the op throws what it throws.
extern void (*on_first_use)();
/// Called by each thread at its first use of a tensor; null if nobody needs it.
extern void (*on_new_thread)();

/// A list of fixed length; the first N elements are in place.
template <class T, std::size_t N>
class ShortList {
 public:
  explicit ShortList(std::size_t count) : count_(count), many_(count > N ? count : 0) {}
  ShortList(const ShortList&) = delete;
  ShortList& operator=(const ShortList&) = delete;
  T* data() noexcept { return count_ > N ? many_.data() : few_; }
  T& operator[](std::size_t i) noexcept { return data()[i]; }
  T* begin() noexcept { return data(); }
  T* end() noexcept { return data() + count_; }
  operator std::span<T>() noexcept { return {data(), count_}; }
  operator std::span<const T>() noexcept { return {data(), count_}; }

 private:
  T few_[N] = {};
  std::size_t count_;
  List<T> many_;
};

/// Bytes of the pool that a handle to the block keeps alive: its own, and for a view those of the block with the data.
std::int64_t pool_bytes(const Block* b) noexcept;

/// For tests: the n-th allocation of this thread from now on throws std::bad_alloc; -1 turns it off.
void fail_allocation_after(std::int64_t n);

}  // namespace reel::detail

namespace reel {

/// Conversion between handles and blocks, for the library.
struct TensorAccess {
  static detail::Block* get(const Tensor& x) noexcept { return static_cast<detail::Block*>(x.block_); }
  /// Takes over one reference.
  static Tensor adopt(detail::Block* b) noexcept {
    Tensor x;
    x.block_ = b;
    return x;
  }
  /// Adds a reference.
  static Tensor share(detail::Block* b) noexcept {
    detail::retain(b);
    return adopt(b);
  }
  static detail::Block* take(Tensor& x) noexcept {
    detail::Block* b = get(x);
    x.block_ = nullptr;
    return b;
  }
};

namespace detail {
inline Block* block(const Tensor& x) noexcept { return TensorAccess::get(x); }
inline Tensor empty(DType dtype, const Shape& shape) { return TensorAccess::adopt(new_block(dtype, shape)); }
template <class T>
T* mutable_data(const Tensor& x) noexcept {
  return reinterpret_cast<T*>(block(x)->data);
}
/// Whether the block may be overwritten by a result: a single handle, own data, no tape.
inline bool reusable(const Block* b) noexcept {
  return held_once(b) && (b->flags & (plain_flag | view_flag | borrowed_flag)) == plain_flag;
}
/// Gives the handle's block a new identity: fresh id, no marks. Only for a reusable block.
void renew(Block* b);
/// A new tensor (fresh id) with the same data, shape and strides.
Tensor alias(const Tensor& x);
/// TraceError for an abstract tensor where nothing is traced.
inline void require_known(const char* op, const Tensor& x) {
  if (const Block* b = block(x); b && b->abstract()) [[unlikely]]
    fail_unless_traced(op, b);
}
}  // namespace detail

}  // namespace reel
