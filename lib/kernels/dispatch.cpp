// Chooses the kernels: the best set that this machine supports, or the one that REEL_ISA or set_isa() names.
#include "kernels/dispatch.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "kernels/instruction_sets.hpp"

extern "C" {
#define REEL_DECLARE(name) const reel::kernels::Set* reel_kernels_##name();
REEL_FOR_EACH_ISA(REEL_DECLARE)
#undef REEL_DECLARE
}

namespace reel::kernels {

namespace {

// Whether this processor supports the instruction set. Those that are not listed are supported by every processor of
// the family.
bool is_supported([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::avx512)
    return is_supported(InstructionSet::avx2) && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (set == InstructionSet::avx2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return true;
}

// Best first.
constexpr struct Implementation {
  std::string_view isa;
  InstructionSet instruction_set;
  const Set* (*set)();
  bool supported() const { return is_supported(instruction_set); }
} implementations[] = {
#define REEL_IMPLEMENTATION(name) {#name, InstructionSet::name, reel_kernels_##name},
    REEL_FOR_EACH_ISA(REEL_IMPLEMENTATION)
#undef REEL_IMPLEMENTATION
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
constinit Set active_set{};
}  // namespace detail

const char* isa_problem() { return problem[0] == '\0' ? nullptr : problem; }

const Set* find(std::string_view isa) {
  detect_processor();
  for (const Implementation& i : implementations)
    if (i.isa == isa) return i.supported() ? i.set() : nullptr;
  return nullptr;
}

std::vector<const Set*> supported_sets() {
  detect_processor();
  std::vector<const Set*> sets;
  for (const Implementation& i : implementations)
    if (i.supported()) sets.push_back(i.set());
  return sets;
}

std::string available() {
  std::string names;
  for (const Set* set : supported_sets()) (names += names.empty() ? "" : ", ") += set->isa;
  return names;
}

void activate(const Set& set) noexcept {
  detail::active_set = set;
  problem[0] = '\0';
}

Vendor vendor() noexcept {
#if defined(__x86_64__)
  detect_processor();
  if (__builtin_cpu_is("intel")) return Vendor::intel;
  if (__builtin_cpu_is("amd")) return Vendor::amd;
#endif
  return Vendor::other;
}

namespace {

Vendor choose_tables() noexcept {
  const char* name = std::getenv("REEL_TABLES");
  const std::string_view wanted = name == nullptr ? "" : name;
  return wanted == "intel"   ? Vendor::intel
         : wanted == "amd"   ? Vendor::amd
         : wanted == "other" ? Vendor::other
                             : vendor();
}

}  // namespace

Vendor tables() noexcept {
  static const Vendor chosen = choose_tables();
  return chosen;
}

namespace {
// Before constructors of normal priority: a static Variable may run ops.
[[gnu::constructor(101)]] void set_active() { detail::active_set = *choose(); }
}  // namespace

}  // namespace reel::kernels
