// Picks the kernels: the best set that this machine can run, or the one that REEL_ISA or set_isa() names.
#include "kernels/dispatch.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

using reel::kernels::Set;

extern "C" {
const Set* reel_kernels_scalar();
#if REEL_WITH_SSE2
const Set* reel_kernels_sse2();
#endif
#if REEL_WITH_AVX2
const Set* reel_kernels_avx2();
#endif
#if REEL_WITH_AVX512
const Set* reel_kernels_avx512();
#endif
#if REEL_WITH_NEON64
const Set* reel_kernels_neon64();
#endif
}

namespace reel::kernels {

namespace {

bool always() { return true; }
#if REEL_WITH_AVX2 || REEL_WITH_AVX512
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#endif
#if REEL_WITH_AVX512
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
#endif

// Best first.
constexpr struct Implementation {
  std::string_view isa;
  bool (*supported)();
  const Set* (*set)();
} implementations[] = {
#if REEL_WITH_AVX512
    {"avx512", has_avx512, reel_kernels_avx512},
#endif
#if REEL_WITH_AVX2
    {"avx2", has_avx2, reel_kernels_avx2},
#endif
#if REEL_WITH_SSE2
    {"sse2", always, reel_kernels_sse2},
#endif
#if REEL_WITH_NEON64
    {"neon64", always, reel_kernels_neon64},
#endif
    {"scalar", always, reel_kernels_scalar},
};

void detect_processor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();  // needed by callers that run before other constructors
#endif
}

char problem[200];

const Set* choose() {
  detect_processor();
  const Implementation* best = implementations;
  while (!best->supported()) ++best;
  const char* wanted = std::getenv("REEL_ISA");
  if (wanted == nullptr || *wanted == '\0') return best->set();
  if (const Set* set = find(wanted)) return set;
  const bool known = std::any_of(std::begin(implementations), std::end(implementations),
                                 [&](const Implementation& i) { return i.isa == wanted; });
  std::snprintf(problem, sizeof problem, "REEL_ISA=%.40s: %s; using %s instead", wanted,
                known ? "this machine does not support that instruction set"
                      : "no instruction set of this name is compiled in (scalar is always there)",
                best->isa.data());
  return best->set();
}

}  // namespace

namespace detail {
constinit const Set* active_set = nullptr;
}  // namespace detail

const char* isa_problem() { return problem[0] == '\0' ? nullptr : problem; }

const Set* find(std::string_view isa) {
  detect_processor();
  for (const Implementation& i : implementations)
    if (i.isa == isa) return i.supported() ? i.set() : nullptr;
  return nullptr;
}

std::string available() {
  detect_processor();
  std::string names;
  for (const Implementation& i : implementations)
    if (i.supported()) (names += names.empty() ? "" : ", ") += i.isa;
  return names;
}

void activate(const Set& set) noexcept {
  detail::active_set = &set;
  problem[0] = '\0';
}

namespace {
// Before the constructors of normal priority, for a static Variable may run ops.
[[gnu::constructor(101)]] void set_active() { detail::active_set = choose(); }
}  // namespace

}  // namespace reel::kernels
