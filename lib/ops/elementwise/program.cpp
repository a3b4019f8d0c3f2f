// The programs in use, by their graphs, with their derivatives.
#include "ops/elementwise/program.hpp"

#include <unordered_map>

#include "ops/elementwise/trace.hpp"

namespace reel::ops {

namespace {

// A function whose program depends on its captures, such as a loop of captured length, makes many programs. Beyond this
// number they are dropped from the cache, and live as long as a tape holds them.
constexpr std::size_t most_programs = 1024;

struct Cache {
  std::mutex mutex;
  std::unordered_multimap<std::uint64_t, Shared> programs;
};
Cache& cache() {
  static Cache& c = *new Cache;  // never destroyed: a static object may compute in its destructor
  return c;
}

std::uint64_t hash_of(const loops::Graph& graph) {
  std::uint64_t h = static_cast<std::uint64_t>(graph.inputs);
  for (const loops::Node& node : graph.nodes) h = (h ^ hash(node)) * 0x9e3779b97f4a7c15u;
  for (const std::int32_t output : graph.outputs) h = (h ^ static_cast<std::uint64_t>(output)) * 0x9e3779b97f4a7c15u;
  return h;
}

}  // namespace

Shared find_program(const loops::Graph& graph) {
  const std::uint64_t key = hash_of(graph);
  Cache& c = cache();
  const std::lock_guard lock(c.mutex);
  const auto [first, last] = c.programs.equal_range(key);
  for (auto p = first; p != last; ++p)
    if (const loops::Graph& g = p->second->graph();
        g.inputs == graph.inputs && g.outputs == graph.outputs && g.nodes == graph.nodes)
      return p->second;
  if (c.programs.size() >= most_programs) c.programs.clear();
  return c.programs.emplace(key, Shared(new Program(graph)))->second;
}

const Derivative& Program::derivative(const Direction& direction) const {
  if (const Derivative* d = derivatives_.find(direction)) return *d;
  const std::lock_guard lock(mutex_);
  if (const Derivative* d = derivatives_.find(direction)) return *d;
  return derivatives_.add(direction, derive(graph_, direction));
}

}  // namespace reel::ops
