// Requests for memory that fail on demand. A program that links failing_allocations.cpp has malloc, calloc, realloc,
// aligned_alloc, memalign and posix_memalign of its own, and through them operator new and the pool, in every library
// of the process. Memory that is mapped directly (stacks of threads, OpenBLAS's buffers) is not counted.
#pragma once
#include <cstdint>

namespace support {

enum class Fails { never, once, for_ever };

/// Counts the requests of all threads from 0 and lets request n fail, or it and all after it.
void fail_allocation(std::int64_t n, Fails how) noexcept;
/// Stops failing requests. Returns whether one failed.
bool allow_allocations() noexcept;
/// Requests since the last fail_allocation().
std::int64_t allocation_requests() noexcept;

}  // namespace support
