// The memory pool: size classes, one pool per thread, no lock and no system call in the steady state. A block freed by
// another thread is pushed on its pool's stack of returned blocks; the owner empties the stack when one of its free
// lists is empty. Memory of lists (allocate(), deallocate()) is kept by the thread that frees it, up to a limit, and is
// spare memory of the process beyond. A pool outlives its thread: at exit it is abandoned, and the next new thread
// adopts it. The rest of the thread's state (core/thread.hpp) is stored in it and ends with the thread.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>
#include <new>
#include <reel/ops/make.hpp>
#include <reel/runtime.hpp>

#include "core/block.hpp"
#include "core/fail.hpp"
#include "core/system/system.hpp"
#include "core/task.hpp"
#include "core/thread.hpp"
#ifdef REEL_ADDRESS_SANITIZER  // free blocks are poisoned, so that it sees uses after free
#include <sanitizer/asan_interface.h>
#endif

namespace reel::detail {

void (*on_marked_destroyed)(const Block*) noexcept = nullptr;
void (*on_first_use)() = nullptr;
void (*on_new_thread)() = nullptr;
void (*end_lane_programs)(ThreadState&) noexcept = nullptr;
void (*end_tapes)(ThreadState&) noexcept = nullptr;

namespace {

// Classes 0..7 are multiples of 128 bytes; above, four per doubling, up to 2^51 bytes, with 32-bit pointers to 2^31.
constexpr bool wide_pointers = sizeof(void*) == 8;
constexpr std::size_t step = 128, linear_classes = 8, class_count = linear_classes + 4 * (wide_pointers ? 41 : 21);
constexpr std::int64_t most_elements = std::int64_t{1} << (wide_pointers ? 46 : 26);
constexpr std::size_t slab_bytes = 256 * 1024, largest_in_slab = 16 * 1024, large_bytes = 1024 * 1024;
constexpr std::size_t cache_floor = std::size_t{256} << 20;  // least size of the cache of free large blocks
constexpr std::int64_t flush_bytes = 64 * 1024;              // by which live bytes change before a thread reports them
constexpr std::int64_t most_kept = 256 * 1024;  // bytes of lists that a thread frees beyond what it has allocated
constexpr std::uint32_t max_pools = 65535, no_pool = ~std::uint32_t{0};

#ifdef REEL_ADDRESS_SANITIZER
void poison(void* p, std::size_t bytes) noexcept { __asan_poison_memory_region(p, bytes); }
void unpoison(void* p, std::size_t bytes) noexcept { __asan_unpoison_memory_region(p, bytes); }
#else
void poison(void*, std::size_t) noexcept {}
void unpoison(void*, std::size_t) noexcept {}
#endif

constexpr std::size_t class_of(std::size_t bytes) noexcept {
  if (bytes <= step * linear_classes) return (bytes - 1) / step;
  const auto top = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 1;
  return linear_classes + (top - 10) * 4 + (((bytes - 1) >> (top - 2)) & 3);
}
constexpr std::size_t bytes_of(std::size_t size_class) noexcept {
  if (size_class < linear_classes) return (size_class + 1) * step;
  const std::size_t k = size_class - linear_classes;
  return (5 + k % 4) << (k / 4 + 8);
}
static_assert(bytes_of(class_of(1)) == 128 && bytes_of(class_of(1024)) == 1024 && bytes_of(class_of(1025)) == 1280);
static_assert(bytes_of(class_of(5000)) == 5120 && bytes_of(class_of(std::size_t{1} << 30)) == std::size_t{1} << 30);

// The largest tensor: header and aligned data. Also the limit for lists.
constexpr std::size_t most_bytes = static_cast<std::size_t>(most_elements) * 16 + sizeof(Block) + 16 * max_rank + 64;
static_assert(class_of(most_bytes) < class_count && class_count <= 256);

struct Free {
  Free* next;
};

// The header of a slab; its blocks follow.
struct alignas(64) Slab {
  Slab* older;
};

// Counters are written by the owner only, and read by memory_stats().
template <class T>
void bump(std::atomic<T>& counter, T by) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

struct Pool : ThreadState {
  Free* lists[class_count] = {};
  std::atomic<Free*> returned{nullptr};
  std::byte *slab = nullptr, *slab_end = nullptr;
  Slab* slabs = nullptr;  // linked list, newest first: slabs stay reachable for leak checkers
  std::atomic<std::int64_t> live_tensors{0}, live_bytes{0}, misses{0}, cached_large{0};
  std::int64_t flushed = 0, fail_after = -1;  // flushed: the part of live_bytes that the process-wide count includes
  std::uint64_t next_id = 1;                  // with the thread's number above
  std::int64_t listed = 0, most_listed = 0;   // bytes of lists: allocated less freed or taken from spare; maximum
  std::uint32_t index = no_pool;
  Pool* next_abandoned = nullptr;
};

// The state of a thread without a pool. Its free lists are empty and its index matches no block, so that fast paths
// need not test for a pool.
constinit Pool blank;

std::atomic<Pool*> pools[max_pools];
std::atomic<std::uint32_t> pool_count{0};
std::atomic<std::int64_t> flushed_bytes{0}, peak_bytes{0};
std::atomic<std::int64_t> foreign_tensors{0}, foreign_bytes{0};  // negative: dropped by threads without a pool
std::atomic<Free*> spare[class_count];                           // stacks of spare memory, by class
std::mutex adoption;
Pool* abandoned = nullptr;

void raise_peak(std::int64_t now) noexcept {
  std::int64_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (now > peak && !peak_bytes.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

void give_up(Pool& p) noexcept {
  static_cast<ThreadState&>(p) = {};
  this_thread = {nullptr, &blank};
  const std::lock_guard lock(adoption);
  p.next_abandoned = abandoned;
  abandoned = &p;
}

// Ends a thread's state.
void end_thread(void* p) noexcept {
  auto& pool = *static_cast<Pool*>(p);
  forget_error();  // the error itself may live on in another thread
  if (end_lane_programs) end_lane_programs(pool);
  if (end_tapes) end_tapes(pool);
  give_up(pool);
}

bool ends_threads = false;
[[gnu::constructor(101)]] void reserve_end_of_threads() { ends_threads = os::reserve_thread_value(end_thread); }
// The library must not be unloaded, as part of a plugin, before threads that call into it at their end.
[[gnu::destructor(101)]] void drop_end_of_threads() {
  if (ends_threads) os::drop_thread_value();
}

Pool& new_or_adopted() {
  const std::lock_guard lock(adoption);
  if (Pool* p = abandoned) {
    abandoned = p->next_abandoned;
    return *p;
  }
  const std::uint32_t count = pool_count.load(std::memory_order_relaxed);
  if (count == max_pools)
    fail_without_line<ValueError>("memory", "more than {} threads use tensors at once", max_pools);
  auto* p = new Pool;
  p->index = count;
  p->next_id = (std::uint64_t{count} + 1) << 48 | 1;
  pools[count].store(p, std::memory_order_release);
  pool_count.store(count + 1, std::memory_order_release);
  return *p;
}

// Gives this thread a pool. If that fails, the thread is unchanged and may try again.
[[gnu::noinline]] Pool& acquire() {
  if (on_first_use) on_first_use();
  if (!ends_threads)
    fail_without_line<ValueError>("memory", "the process has no pthread key left for the library's per-thread state");
  Pool& p = new_or_adopted();
  if (!os::set_thread_value(&p)) {
    give_up(p);
    throw std::bad_alloc();
  }
  this_thread.state = &p;
  if (on_new_thread) try {
      on_new_thread();
    } catch (...) {
      os::set_thread_value(nullptr);
      end_thread(&p);
      throw;
    }
  return p;
}
inline Pool& own_or_blank() noexcept { return static_cast<Pool&>(*this_thread.state); }
inline Pool& pool() {
  Pool& p = own_or_blank();
  return p.index != no_pool ? p : acquire();
}

// Returns a cached block of a large class to the system.
void give_back(Pool& p, std::size_t size_class) noexcept {
  Free* f = p.lists[size_class];
  p.lists[size_class] = f->next;
  bump(p.cached_large, -static_cast<std::int64_t>(bytes_of(size_class)));
  unpoison(f, bytes_of(size_class));
  os::deallocate(f);
}

// Whether the cache has room for one more block of a large class. Blocks of other classes are evicted, the largest
// first: a program that switches to arrays of another size need not use the old sizes again.
[[gnu::noinline]] bool make_room(Pool& p, std::size_t size_class) noexcept {
  const auto bytes = static_cast<std::int64_t>(bytes_of(size_class));
  const auto limit = std::max<std::int64_t>(cache_floor, peak_bytes.load(std::memory_order_relaxed) + p.most_listed);
  for (std::size_t c = class_count; p.cached_large + bytes > limit && c-- > class_of(large_bytes);)
    while (c != size_class && p.lists[c] && p.cached_large + bytes > limit) give_back(p, c);
  return p.cached_large + bytes <= limit;
}

inline void put(Pool& p, Free* f, std::size_t size_class) noexcept {
  const std::size_t bytes = bytes_of(size_class);
  if (bytes >= large_bytes) {
    if (!make_room(p, size_class)) {
      unpoison(f, bytes);
      return os::deallocate(f);
    }
    bump(p.cached_large, static_cast<std::int64_t>(bytes));
  }
  f->next = p.lists[size_class];
  p.lists[size_class] = f;
  poison(reinterpret_cast<std::byte*>(f) + sizeof(Block), bytes - sizeof(Block));
}

void drain(Pool& p) noexcept {
  for (Free* f = p.returned.exchange(nullptr, std::memory_order_acquire); f;) {
    Free* next = f->next;
    // The class is stored in the header, behind the link.
    put(p, f, reinterpret_cast<Block*>(f)->size_class);
    f = next;
  }
}

// Makes the memory of a list spare: the next thread that has none of its class takes it.
[[gnu::cold, gnu::noinline]] void make_spare(void* memory, std::size_t size_class) noexcept {
  const std::size_t bytes = bytes_of(size_class);
  if (bytes >= large_bytes) return os::deallocate(memory);
  auto* f = new (memory) Free{spare[size_class].load(std::memory_order_relaxed)};
  poison(static_cast<std::byte*>(memory) + sizeof(Block), bytes - sizeof(Block));
  while (!spare[size_class].compare_exchange_weak(f->next, f, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

void take_spare(Pool& p, std::size_t size_class) noexcept {
  for (Free* f = spare[size_class].exchange(nullptr, std::memory_order_acquire); f;) {
    Free* next = f->next;
    put(p, f, size_class);
    p.listed -= static_cast<std::int64_t>(bytes_of(size_class));
    f = next;
  }
}

void trim(Pool& p) noexcept {
  for (std::size_t c = class_of(large_bytes); c < class_count; ++c)
    while (p.lists[c]) give_back(p, c);
}

// In huge pages from 4 MiB on, where the system supports madvise: page faults of small pages cost more than a kernel's
// pass over the memory.
Free* from_system(std::size_t bytes) noexcept {
  constexpr std::size_t huge_page = std::size_t{2} << 20;  // bytes; x86-64's, and AArch64's with pages of 4 KiB
  if (bytes < 2 * huge_page) return static_cast<Free*>(os::allocate(64, bytes));
  const std::size_t whole = (bytes + huge_page - 1) / huge_page * huge_page;
  auto* f = static_cast<Free*>(os::allocate(huge_page, whole));
  if (f) os::advise_huge_pages(f, whole);
  return f;
}

// Refills the list of a class in this thread's pool, which is `own_or_blank` or is created here.
[[gnu::noinline]] Pool& refill(Pool& own_or_blank, std::size_t size_class) {
  Pool& p = own_or_blank.index != no_pool ? own_or_blank : acquire();
  drain(p);
  if (p.lists[size_class]) return p;
  take_spare(p, size_class);
  if (p.lists[size_class]) return p;
  bump(p.misses, std::int64_t{1});
  const std::size_t bytes = bytes_of(size_class);
  Free* f = nullptr;
  if (bytes <= largest_in_slab) {
    if (static_cast<std::size_t>(p.slab_end - p.slab) < bytes) {
      auto* slab = static_cast<std::byte*>(os::allocate(64, slab_bytes));
      if (!slab) throw std::bad_alloc();
      p.slabs = new (slab) Slab{p.slabs};
      p.slab = slab + sizeof(Slab);
      p.slab_end = slab + slab_bytes;
    }
    // A whole run of blocks at once, so that misses are rare.
    constexpr std::size_t run_bytes = 4096;
    const std::size_t run = std::max<std::size_t>(
        1, std::min<std::size_t>(run_bytes / bytes, static_cast<std::size_t>(p.slab_end - p.slab) / bytes));
    for (std::size_t i = run; i-- > 0;) put(p, reinterpret_cast<Free*>(p.slab + i * bytes), size_class);
    p.slab += run * bytes;
    return p;
  }
  f = from_system(bytes);
  if (!f) {
    trim(p);
    f = from_system(bytes);
    if (!f) throw std::bad_alloc();
  }
  if (bytes >= large_bytes) bump(p.cached_large, static_cast<std::int64_t>(bytes));
  f->next = p.lists[size_class];
  p.lists[size_class] = f;
  return p;
}

// Adds this thread's change to the process-wide count of bytes, once it is large enough.
[[gnu::noinline]] void flush(Pool& p, std::int64_t live) noexcept {
  const std::int64_t change = live - std::exchange(p.flushed, live);
  raise_peak(flushed_bytes.fetch_add(change, std::memory_order_relaxed) + change);
}

inline void account(Pool& p, std::int64_t bytes) noexcept {
  const std::int64_t live = p.live_bytes.load(std::memory_order_relaxed) + bytes;
  p.live_bytes.store(live, std::memory_order_relaxed);
  if (static_cast<std::uint64_t>(live - p.flushed + flush_bytes) > 2 * flush_bytes) [[unlikely]]
    flush(p, live);
}

// Memory of a class, uninitialised, from the pool of this thread.
struct Taken {
  Pool& pool;
  void* memory;
};
inline Taken take(std::size_t size_class) {
  check_outside_task();
  Pool* p = &own_or_blank();
  if (p->fail_after >= 0) [[unlikely]]
    if (p->fail_after-- == 0) throw std::bad_alloc();
  if (!p->lists[size_class]) [[unlikely]]
    p = &refill(*p, size_class);
  Free* f = p->lists[size_class];
  p->lists[size_class] = f->next;
  const std::size_t whole = bytes_of(size_class);
  if (whole >= large_bytes) bump(p->cached_large, -static_cast<std::int64_t>(whole));
  unpoison(f, whole);
  return {*p, f};
}

// A block of a class, with one handle; the caller sets what describes the tensor.
inline Block* take_class(std::size_t size_class) {
  const auto [p, memory] = take(size_class);
  auto* b = new (memory) Block;
  account(p, static_cast<std::int64_t>(bytes_of(size_class)));
  bump(p.live_tensors, std::int64_t{1});
  b->references = one_handle;
  b->id = p.next_id++;
  b->base = nullptr;
  b->marks[0] = b->marks[1] = {};
  b->size_class = static_cast<std::uint8_t>(size_class);
  b->pool = p.index;
  return b;
}
inline Block* take_block(std::size_t bytes) { return take_class(class_of(bytes)); }

// The stride of rows of `extent` elements, `stride` apart, in a tensor without elements; 0 if it overflows, since other
// extents may be arbitrary if one is 0.
std::int64_t row_stride(std::int64_t stride, std::int64_t extent) noexcept {
  std::int64_t product;
  return __builtin_mul_overflow(stride, extent, &product) ? 0 : product;
}

// `more`: bytes behind the strides.
Block* new_header(DType dtype, const Shape& shape, const Shape& strides, std::byte* data, std::size_t more = 0) {
  Block* b = take_block(sizeof(Block) + 16 * static_cast<std::size_t>(shape.rank()) + more);
  b->dtype = dtype;
  b->rank = static_cast<std::uint8_t>(shape.rank());
  std::uint64_t size = 1;  // of the axes so far, from the last; it may overflow if another extent is 0
  bool row_major = true;
  std::int64_t *to = b->extents(), *to_strides = b->strides();
  for (int i = shape.rank(); i-- > 0;) {
    const std::int64_t extent = to[i] = shape.data()[i], stride = to_strides[i] = strides.data()[i];
    row_major = row_major && (extent == 1 || stride == static_cast<std::int64_t>(size));
    size *= static_cast<std::uint64_t>(extent);
  }
  b->size = static_cast<std::int64_t>(size);
  b->data = data;
  b->flags = size == 0 || row_major ? contiguous_flag | plain_flag : 0;
  return b;
}

}  // namespace

// A block for a tensor without elements; the product of the other extents may overflow.
[[gnu::cold, gnu::noinline]] static Block* new_empty_block(DType dtype, const std::int64_t* extents, int rank) {
  Block* b = take_block(sizeof(Block) + 16 * static_cast<std::size_t>(rank));
  b->size = 0;
  b->data = reinterpret_cast<std::byte*>(b->extents() + 2 * rank);
  b->dtype = dtype;
  b->rank = static_cast<std::uint8_t>(rank);
  b->flags = contiguous_flag | plain_flag;
  std::int64_t stride = 1;
  for (int i = rank; i-- > 0; stride = row_stride(stride, extents[i])) {
    b->extents()[i] = extents[i];
    b->extents()[rank + i] = stride;
  }
  return b;
}

Block* new_block(DType dtype, const std::int64_t* extents, int rank) {
  std::int64_t elements = 1;
  bool odd = false;
  for (int i = 0; i < rank; ++i) {
    std::int64_t product;
    odd |= __builtin_mul_overflow(elements, extents[i], &product) | (extents[i] < 0);
    elements = product;
  }
  if (odd) [[unlikely]]
    elements = Shape(extents, static_cast<std::size_t>(rank)).elements();  // throws, unless an extent is 0
  const std::size_t head = sizeof(Block) + 16 * static_cast<std::size_t>(rank);
  if (static_cast<std::uint64_t>(elements) - 1 >= static_cast<std::uint64_t>(most_elements)) [[unlikely]] {
    if (elements == 0) return new_empty_block(dtype, extents, rank);
    fail<ShapeError>("memory", "a tensor of shape {} would have {} elements, more than this machine can address",
                     Shape(extents, static_cast<std::size_t>(rank)), elements);
  }
  const std::size_t bytes = static_cast<std::size_t>(elements) * item_size(dtype);
  const std::size_t offset = bytes >= 64 ? (head + 63) / 64 * 64 : head;
  Block* b = take_block(offset + bytes);
  b->size = elements;
  b->data = reinterpret_cast<std::byte*>(b) + offset;
  b->dtype = dtype;
  b->rank = static_cast<std::uint8_t>(rank);
  b->flags = contiguous_flag | plain_flag;
  std::int64_t stride = 1;
  std::int64_t *to = b->extents(), *strides = b->strides();
  for (int i = rank; i-- > 0;) {
    to[i] = extents[i];
    strides[i] = stride;
    stride *= extents[i];
  }
  return b;
}

Block* new_like(const Block* like) {
  if (like->flags != (contiguous_flag | plain_flag)) [[unlikely]]
    return new_block(like->dtype, like->extents(), like->rank);
  // It has its own memory: large enough for the new tensor, in the layout of new_block().
  Block* b = take_class(like->size_class);
  b->size = like->size;
  b->data = reinterpret_cast<std::byte*>(b) + (like->data - reinterpret_cast<const std::byte*>(like));
  b->dtype = like->dtype;
  b->rank = like->rank;
  b->flags = contiguous_flag | plain_flag;
  for (int i = 0; i < 2 * like->rank; ++i) b->extents()[i] = like->extents()[i];  // and strides
  return b;
}

Block* new_view(Block* base, std::int64_t offset, const Shape& shape, const Shape& strides) {
  return new_placed(base, offset * static_cast<std::int64_t>(item_size(base->dtype)), base->dtype, shape, strides);
}

Block* new_placed(Block* base, std::int64_t bytes, DType dtype, const Shape& shape, const Shape& strides) {
  Block* b = new_header(dtype, shape, strides, base->data + bytes);
  Block* root = base->flags & view_flag ? static_cast<Block*>(base->base) : base;  // a view of a view: no chains
  retain(root);
  b->base = root;
  b->flags |= view_flag;
  if (base->abstract()) b->flags = static_cast<std::uint8_t>((b->flags & ~plain_flag) | abstract_flag);
  return b;
}

Block* new_abstract(DType dtype, const Shape& shape, const Shape& strides, const Maker& maker) {
  // No process maps memory there: reading elements by mistake crashes immediately.
  constexpr auto nowhere = static_cast<std::uintptr_t>(wide_pointers ? std::uint64_t{1} << 47 : std::uint64_t{3} << 30);
  Block* b = new_header(dtype, shape, strides, reinterpret_cast<std::byte*>(nowhere), sizeof(Maker));
  b->flags = static_cast<std::uint8_t>((b->flags & ~plain_flag) | abstract_flag);
  new (b->strides() + b->rank) Maker(maker);
  return b;
}

Block* new_borrowed(const void* data, DType dtype, const Shape& shape, void* owner) {
  const bool empty = shape.elements() == 0;  // throws before anything is allocated
  Shape strides = shape;
  std::int64_t stride = 1;
  for (int i = shape.rank(); i-- > 0;) {
    strides[i] = stride;
    stride = empty ? row_stride(stride, shape[i]) : stride * shape[i];
  }
  Block* b = new_header(dtype, shape, strides, static_cast<std::byte*>(const_cast<void*>(data)));
  b->base = owner;
  b->flags |= borrowed_flag;
  return b;
}

namespace {

// Returns a block to the pool of another thread, which reads the class from the header.
void send_back(Pool& owner, Block* b) noexcept {
  auto* f = reinterpret_cast<Free*>(b);
  f->next = owner.returned.load(std::memory_order_relaxed);
  while (!owner.returned.compare_exchange_weak(f->next, f, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

}  // namespace

void* allocate(std::size_t bytes) {
  if (bytes > most_bytes) throw std::bad_alloc();
  const std::size_t size_class = class_of(std::max<std::size_t>(bytes, 1));
  const auto [p, memory] = take(size_class);
  p.listed += static_cast<std::int64_t>(bytes_of(size_class));
  p.most_listed = std::max(p.most_listed, p.listed);
  return memory;
}
void deallocate(void* memory, std::size_t bytes) noexcept {
  check_outside_task();
  const std::size_t size_class = class_of(std::max<std::size_t>(bytes, 1));
  Pool& p = own_or_blank();
  if (p.index == no_pool || p.listed < -most_kept) [[unlikely]]
    return make_spare(memory, size_class);
  p.listed -= static_cast<std::int64_t>(bytes_of(size_class));
  put(p, new (memory) Free, size_class);
}

std::int64_t pool_bytes(const Block* b) noexcept {
  const auto bytes = static_cast<std::int64_t>(bytes_of(b->size_class));
  return b->flags & view_flag ? bytes + pool_bytes(static_cast<const Block*>(b->base)) : bytes;
}

namespace {

// Destroys blocks that other threads own, or that hold more than their own memory.
[[gnu::noinline]] void destroy_any(Block* b) noexcept {
  if (b->flags & view_flag) release(static_cast<Block*>(b->base));
  if (b->flags & borrowed_flag) delete static_cast<Owner*>(b->base);
  const std::size_t size_class = b->size_class;
  const auto bytes = static_cast<std::int64_t>(bytes_of(size_class));
  Pool& p = own_or_blank();
  if (p.index != no_pool) {
    bump(p.live_tensors, std::int64_t{-1});
    account(p, -bytes);
    if (b->pool == p.index) return put(p, reinterpret_cast<Free*>(b), size_class);
  } else {  // a thread that only drops tensors needs no pool; there may be no memory for one
    foreign_tensors.fetch_sub(1, std::memory_order_relaxed);
    foreign_bytes.fetch_sub(bytes, std::memory_order_relaxed);
    flushed_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  }
  send_back(*pools[b->pool].load(std::memory_order_acquire), b);
}

}  // namespace

void destroy(BlockHead* head) noexcept {
  check_outside_task();
  auto* b = static_cast<Block*>(head);
  if (b->marks[0].tape && on_marked_destroyed) on_marked_destroyed(b);
  Pool& p = own_or_blank();
  if (b->pool != p.index || b->flags & (view_flag | borrowed_flag)) [[unlikely]]
    return destroy_any(b);
  const std::size_t size_class = b->size_class;
  bump(p.live_tensors, std::int64_t{-1});
  put(p, reinterpret_cast<Free*>(b), size_class);
  account(p, -static_cast<std::int64_t>(bytes_of(size_class)));
}

std::uint64_t fresh_id() { return pool().next_id++; }
std::uint64_t this_thread_slot() { return pool().index + std::uint64_t{1}; }

void renew(Block* b) {
  b->id = fresh_id();
  b->marks[0] = b->marks[1] = {};
}

Tensor alias(const Tensor& x) {
  Block* b = block(x);
  return TensorAccess::adopt(new_view(b, 0, b->shape(), Shape(b->strides(), b->rank)));
}

void fail_allocation_after(std::int64_t n) { pool().fail_after = n; }

constinit ThreadState& blank_state = blank;
constinit thread_local ThisThread this_thread{nullptr, &blank};
ThreadState& thread_state() { return pool(); }
bool any_thread_used() noexcept { return pool_count.load(std::memory_order_acquire) != 0; }

}  // namespace reel::detail

namespace reel {

MemoryStats memory_stats() {
  using namespace detail;
  MemoryStats s;
  s.live_tensors = foreign_tensors.load(std::memory_order_relaxed);
  std::int64_t bytes = foreign_bytes.load(std::memory_order_relaxed);
  const std::uint32_t count = pool_count;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Pool& p = *pools[i].load(std::memory_order_acquire);
    s.live_tensors += p.live_tensors.load(std::memory_order_relaxed);
    s.pool_misses += p.misses.load(std::memory_order_relaxed);
    bytes += p.live_bytes.load(std::memory_order_relaxed);
  }
  s.live_bytes = bytes;
  raise_peak(bytes);
  s.peak_bytes = peak_bytes.load(std::memory_order_relaxed);
  return s;
}

void reset_peak_bytes() { detail::peak_bytes.store(memory_stats().live_bytes, std::memory_order_relaxed); }

}  // namespace reel
