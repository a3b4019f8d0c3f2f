// The running library: threads, instruction set, memory, warnings, version.
#pragma once
#include <cstdint>
#include <reel/api.hpp>
#include <string_view>

namespace REEL_API reel {

/// "0.2.0"
const char* version() noexcept;

/// The number of threads that ops use at most: REEL_NUM_THREADS, or the machine's, until it is set. Results do not
/// depend on it. ValueError for less than 1.
void set_num_threads(int count);
int num_threads();

/// The instruction set in use: "scalar", "sse2", "avx2", "avx512" or "neon64". The best that the machine has, unless
/// set_isa() or the environment variable REEL_ISA names one; ValueError at the first op if REEL_ISA names one that the
/// machine lacks.
std::string_view isa();
/// Uses this instruction set from now on, whatever REEL_ISA says. Call it before the first tensor or tape: ValueError
/// afterwards, and for a set that the machine lacks or that was not compiled in. Results are bitwise equal on one set.
void set_isa(std::string_view name);

/// Does in advance what first uses would do: fixes the instruction set, starts the worker threads and the BLAS library,
/// and fills the calling thread's pool with small blocks. Call it before a loop with real-time requirements, once on
/// each thread that has one. What depends on a program's own shapes happens in its first calls: run one iteration as
/// well. ValueError if REEL_ISA names an instruction set that the machine lacks.
void warm_up();

/// What tune_blas() found and did.
struct BlasTuning {
  std::string_view before;  ///< the core type whose kernels OpenBLAS used, by its name for it: "Prescott"
  std::string_view now;     ///< the one that it uses now; the same if nothing was changed
  std::string_view reason;  ///< why, in words
};
/// On processors newer than itself, a release of OpenBLAS uses kernels without AVX2, at a third of the speed. This
/// function selects the kernels for Haswell or SkylakeX there, for the whole process; otherwise, and if
/// OPENBLAS_CORETYPE is set, it changes nothing. Call it before any other thread is started and before the first matrix
/// product of the process: no other thread may use OpenBLAS meanwhile, and OPENBLAS_CORETYPE is in the environment
/// while it runs.
BlasTuning tune_blas();

/// What the memory pool holds, all threads together.
struct MemoryStats {
  std::int64_t live_bytes = 0;    ///< in blocks of living tensors, headers included
  std::int64_t peak_bytes = 0;    ///< the most at any time so far, to within 64 KiB per thread
  std::int64_t live_tensors = 0;  ///< handles' blocks, views included, cached constants not
  std::int64_t pool_misses = 0;   ///< times that memory came from the system: constant in the steady state
};
MemoryStats memory_stats();
/// Resets the peak to what is live now.
void reset_peak_bytes();

/// Sends warnings to `handler(text, context)`, for the whole process; nullptr restores standard error. The library
/// prints nothing else.
void set_warning_handler(void (*handler)(std::string_view text, void* context), void* context = nullptr);

/// While true, this thread's replay and recording print a line per op to the warning handler.
void set_tracing(bool on);

}  // namespace reel
