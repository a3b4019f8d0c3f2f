// The test program. A listener checks that every test case ends with as many live tensors as it began with. With
// REEL_TEST_OTHER_MACHINE it runs as on the processor of REEL_ISA and REEL_TABLES: with the OpenBLAS core type that
// fits the instruction set. It is skipped if that is this processor, or has instructions that this one lacks.
#define CATCH_CONFIG_RUNNER
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <reel/runtime.hpp>
#include <string>

#include "catch.hpp"
#include "core/system/system.hpp"
#include "kernels/dispatch.hpp"

namespace {

int leaks = 0;

#if CATCH_VERSION_MAJOR < 3
using ListenerBase = Catch::TestEventListenerBase;
#else
using ListenerBase = Catch::EventListenerBase;
#endif

struct LiveTensors : ListenerBase {
  using ListenerBase::ListenerBase;
  void testCaseStarting(const Catch::TestCaseInfo& test) override {
    ListenerBase::testCaseStarting(test);
    name = test.name;
    before = reel::memory_stats().live_tensors;
  }
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    const std::int64_t after = reel::memory_stats().live_tensors;
    if (after != before) {
      ++leaks;
      std::fprintf(stderr, "\n'%s' began with %lld live tensors and ended with %lld\n", name.c_str(),
                   static_cast<long long>(before), static_cast<long long>(after));
    }
    ListenerBase::testCaseEnded(stats);
  }
  std::string name;  // Catch2 2 and 3 differ in how the statistics hold it
  std::int64_t before = 0;
};
CATCH_REGISTER_LISTENER(LiveTensors)

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// OpenBLAS reads its core type before main, so the program starts again. "Prescott" has SSE2.
void use_core_type_of(const std::string& isa, char** argv) {
  const std::string core = isa == "avx512" ? "SkylakeX" : isa == "avx2" ? "Haswell" : "Prescott";
  if (variable("OPENBLAS_CORETYPE") == core) return;
  reel::os::set_variable("OPENBLAS_CORETYPE", core.c_str());
  execv(argv[0], argv);
  std::perror("execv");
  std::exit(1);
}

// Returns whether the program is to be skipped.
bool become_other_machine(char** argv) {
  using namespace reel::kernels;
  const std::string own(supported_sets().front()->isa), tables_of = variable("REEL_TABLES");
  const std::string isa = variable("REEL_ISA").empty() ? own : variable("REEL_ISA");
  const bool other_set = tables_of.empty() && isa != own, other_tables = !tables_of.empty() && tables() != vendor();
  if (!find(isa) || (!other_set && !other_tables)) return true;
  use_core_type_of(isa, argv);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (std::getenv("REEL_TEST_OTHER_MACHINE") && become_other_machine(argv)) {
    std::printf("skipped: this processor has these tables and instructions, or lacks the instructions\n");
    return 77;
  }
  const int failed = Catch::Session().run(argc, argv);
  return failed ? failed : leaks != 0;
}
