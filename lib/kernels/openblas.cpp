// The state of OpenBLAS itself: one thread, and kernels for the processor that is there. A release of OpenBLAS gives
// processors newer than itself the kernels of 2004 (SSE3), a third of the speed. It chooses when it is loaded; what it
// exports to choose again is called here, when this library is loaded and nothing computes yet.
#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "kernels/blas.hpp"

extern "C" {
void openblas_set_num_threads(int count);
int openblas_get_num_threads();
int openblas_get_parallel();
char* openblas_get_corename();
// Only in builds that hold kernels for several processors (DYNAMIC_ARCH).
[[gnu::weak]] void gotoblas_dynamic_init();
[[gnu::weak]] void gotoblas_dynamic_quit();
}

namespace reel::kernels {

void prepare_blas() noexcept {
  static const bool once = [] {
    openblas_set_num_threads(1);
    return true;
  }();
  static_cast<void>(once);
}

bool blas_has_choice() noexcept { return gotoblas_dynamic_init && gotoblas_dynamic_quit; }
const char* blas_core() noexcept { return openblas_get_corename(); }

namespace {

#if defined(__x86_64__) && defined(__linux__)

// The kernels that this processor deserves, as a variable of the environment; null: any will do.
const char* deserved() noexcept {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return nullptr;
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
  return wide ? "OPENBLAS_CORETYPE=SkylakeX" : "OPENBLAS_CORETYPE=Haswell";
}

// Whether the kernels in use know neither AVX2 nor AVX-512.
bool outdated(std::string_view core) noexcept {
  constexpr std::string_view known[] = {"Katmai",       "Coppermine", "Northwood",   "Prescott",    "Banias",
                                        "Core2",        "Penryn",     "Dunnington",  "Nehalem",     "Athlon",
                                        "Opteron",      "Barcelona",  "Bobcat",      "Atom",        "Nano",
                                        "Opteron_SSE3", "Bulldozer",  "Sandybridge", "Steamroller", "Piledriver"};
  return std::find(std::begin(known), std::end(known), core) != std::end(known);
}

// Whether the process runs no other thread than those that OpenBLAS started to wait for work: a library that is loaded
// later may find products running.
bool alone() noexcept {
  DIR* tasks = opendir("/proc/self/task");
  if (!tasks) return false;
  int count = 0;
  while (const dirent* task = readdir(tasks)) count += task->d_name[0] != '.';
  closedir(tasks);
  constexpr int own_threads = 1;  // openblas_get_parallel: sequential 0, threads of its own 1, OpenMP's 2
  return count <= (openblas_get_parallel() == own_threads ? openblas_get_num_threads() : 1);
}

// OpenBLAS chooses again while its environment has one more variable. The environment is replaced as a whole for that
// moment, not written to, and so is what it was afterwards.
void choose(const char* variable) {
  std::vector<char*> variables;
  for (char** v = environ; v && *v; ++v) variables.push_back(*v);
  variables.push_back(const_cast<char*>(variable));
  variables.push_back(nullptr);
  char** const own = environ;
  gotoblas_dynamic_quit();
  environ = variables.data();
  gotoblas_dynamic_init();
  environ = own;
}

// Before the constructors of static objects, which may compute.
[[gnu::constructor(101)]] void modernise() noexcept {
  if (!blas_has_choice() || std::getenv("OPENBLAS_CORETYPE")) return;
  const char* variable = deserved();
  if (!variable || !outdated(blas_core()) || !alone()) return;
  try {
    choose(variable);
  } catch (...) {  // no memory: the kernels stay as they are
    return;
  }
  if (!outdated(blas_core())) return;
  gotoblas_dynamic_quit();  // this build lacks them: its own choice again
  gotoblas_dynamic_init();
}

#endif

}  // namespace
}  // namespace reel::kernels
