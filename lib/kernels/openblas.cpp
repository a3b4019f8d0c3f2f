// The state of OpenBLAS: one thread for the library's calls and, on request, kernels that match this processor. On a
// processor newer than itself, a release of OpenBLAS uses its SSE3 kernels, at a third of the speed.
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "core/system/system.hpp"
#include "kernels/blas.hpp"

extern "C" {
void openblas_set_num_threads(int count);
int openblas_get_num_threads();
int openblas_get_parallel();
char* openblas_get_corename();
// Exists only in builds with kernels for several processors (DYNAMIC_ARCH). Chooses the kernels again.
[[gnu::weak]] void gotoblas_dynamic_init();
[[gnu::weak]] void gotoblas_dynamic_quit();
}

namespace reel::kernels {

void prepare_blas() noexcept {
  if (openblas_get_num_threads() != 1) [[unlikely]]
    openblas_set_num_threads(1);
}

const char* blas_core() noexcept { return openblas_get_corename(); }

#ifdef __x86_64__

namespace {

constexpr const char* variable = "OPENBLAS_CORETYPE";

// The OpenBLAS core type that matches this processor; null: any will do.
const char* matching_core() noexcept {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return nullptr;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  return avx512 ? "SkylakeX" : "Haswell";
}

// Whether the kernels in use support neither AVX2 nor AVX-512.
bool outdated(std::string_view core) noexcept {
  constexpr std::string_view known[] = {"Katmai",       "Coppermine", "Northwood",   "Prescott",    "Banias",
                                        "Core2",        "Penryn",     "Dunnington",  "Nehalem",     "Athlon",
                                        "Opteron",      "Barcelona",  "Bobcat",      "Atom",        "Nano",
                                        "Opteron_SSE3", "Bulldozer",  "Sandybridge", "Steamroller", "Piledriver"};
  return std::find(std::begin(known), std::end(known), core) != std::end(known);
}

// Whether the process has no threads except those that OpenBLAS started, which are idle.
bool alone() noexcept {
  const int count = os::thread_count();
  if (count == 0) return false;
  constexpr int own_threads = 1;  // openblas_get_parallel: sequential 0, its own threads 1, OpenMP 2
  return count <= (openblas_get_parallel() == own_threads ? openblas_get_num_threads() : 1);
}

void choose_again(const char* core) noexcept {
  if (core) os::set_variable(variable, core);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  if (core) os::set_variable(variable, nullptr);
}

}  // namespace

const char* tune_blas() noexcept {
  if (!gotoblas_dynamic_init || !gotoblas_dynamic_quit) return "this build of OpenBLAS has kernels for one processor";
  if (const char* wanted = std::getenv(variable); wanted && *wanted) return "OPENBLAS_CORETYPE is set, and holds";
  const char* core = matching_core();
  if (!core || !outdated(blas_core())) return "OpenBLAS knows this processor";
  if (!alone())
    return "not changed, because other threads run or OpenBLAS was used: call tune_blas() first thing in main";
  choose_again(core);
  if (!outdated(blas_core())) return "OpenBLAS did not know this processor, and now uses kernels that fit it";
  choose_again(nullptr);  // back to its own choice
  return "this build of OpenBLAS has no kernels that fit this processor";
}

#else

const char* tune_blas() noexcept { return "OpenBLAS is left to its own choice on this platform"; }

#endif

}  // namespace reel::kernels
