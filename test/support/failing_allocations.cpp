// The malloc family over glibc's own, with a counter. Constant-initialised: the loader allocates before any
// constructor.
#include "support/failing_allocations.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* memory);
}

namespace {

constinit std::atomic<std::int64_t> requests{0}, failing{-1};
constinit std::atomic<bool> for_ever{false}, failed{false};

// Whether this request fails.
bool fails() noexcept {
  const std::int64_t first = failing.load(std::memory_order_relaxed);
  const std::int64_t n = requests.fetch_add(1, std::memory_order_relaxed);
  if (first < 0 || n < first || (n > first && !for_ever.load(std::memory_order_relaxed))) return false;
  failed.store(true, std::memory_order_relaxed);
  errno = ENOMEM;
  return true;
}

}  // namespace

namespace support {

void fail_allocation(std::int64_t n, Fails how) noexcept {
  failed.store(false);
  requests.store(0);
  for_ever.store(how == Fails::for_ever);
  failing.store(how == Fails::never ? -1 : n);
}

bool allow_allocations() noexcept {
  failing.store(-1);
  return failed.load();
}

std::int64_t allocation_requests() noexcept { return requests.load(); }

}  // namespace support

extern "C" {
// Default visibility, so that the loader takes these for every library.
#pragma GCC visibility push(default)
void* malloc(std::size_t bytes) { return fails() ? nullptr : __libc_malloc(bytes); }
void* calloc(std::size_t count, std::size_t bytes) { return fails() ? nullptr : __libc_calloc(count, bytes); }
void* realloc(void* memory, std::size_t bytes) { return fails() ? nullptr : __libc_realloc(memory, bytes); }
void* memalign(std::size_t alignment, std::size_t bytes) {
  return fails() ? nullptr : __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return fails() ? nullptr : __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  if (fails()) return ENOMEM;
  *memory = __libc_memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}
void free(void* memory) { __libc_free(memory); }
#pragma GCC visibility pop
}
