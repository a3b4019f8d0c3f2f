// A library that uses reel, compiled once for each version of it; USER is its namespace. See two_versions.cpp.
#include <reel/reel.hpp>

namespace USER {

void set_threads(int count) { reel::set_num_threads(count); }
int threads() { return reel::num_threads(); }

std::int64_t live_tensors() { return reel::memory_stats().live_tensors; }
void keep_one() { static const reel::Tensor kept = reel::ones({2}) + 1.; }

double slope_of_cube() {
  const reel::Tensor x = reel::scalar(3.0);
  reel::GradientTape tape;
  tape.watch(x);
  return (*tape.gradient(x * x * x, x)).item();
}

bool refuses_shapes() {
  try {
    reel::ones({2}) + reel::ones({3});
  } catch (const reel::ShapeError&) {
    return true;
  }
  return false;
}

}  // namespace USER
