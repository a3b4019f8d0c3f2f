// What allocation_failures.cpp runs: small programs that between them use every part of the library.
#pragma once
#include <reel/reel.hpp>
#include <span>
#include <vector>

namespace battery {

using Results = std::vector<reel::Tensor>;

struct Scenario {
  const char* name;
  Results (*run)();
  bool lives_on = false;  ///< it uses objects that outlive the run, so only the next run restores what they hold
};
std::span<const Scenario> scenarios();

}  // namespace battery
