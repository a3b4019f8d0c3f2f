// The test program. A listener checks that every test case ends with as many live tensors as it began with. With
// REEL_TEST_OTHER_SET the program is skipped if REEL_ISA names the set that this processor uses anyway.
#define CATCH_CONFIG_RUNNER
#include <cstdio>
#include <cstdlib>
#include <reel/runtime.hpp>
#include <string>

#include "catch.hpp"
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

}  // namespace

int main(int argc, char** argv) {
  const char* isa = std::getenv("REEL_ISA");
  if (isa && std::getenv("REEL_TEST_OTHER_SET") && reel::kernels::supported_sets().front()->isa == std::string(isa)) {
    std::printf("skipped: every test runs on %s, the set of this processor\n", isa);
    return 77;
  }
  const int failed = Catch::Session().run(argc, argv);
  return failed ? failed : leaks != 0;
}
