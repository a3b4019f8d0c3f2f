// The order of elimination of a sparse symmetric pattern, and its assembly tree. Plain arrays, no tensors.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace reel::optim {

/// Rows, columns and fronts of a sparse matrix: fewer than 2^31.
using Index = std::int32_t;
using Indices = std::vector<Index>;
/// An index of a list.
constexpr std::size_t at(std::int64_t i) noexcept { return static_cast<std::size_t>(i); }

/// An undirected graph: vertex i has the neighbours [starts[i], starts[i + 1]), without i itself.
struct Graph {
  std::vector<std::int64_t> starts;
  Indices neighbours;
  Index size() const noexcept { return static_cast<Index>(starts.size() - 1); }
};

/// The fronts of a multifrontal elimination, children before parents. A front eliminates `pivots` vertices, and updates
/// `border` vertices of its ancestors.
struct AssemblyTree {
  Indices parent;          // of each front; -1: a root
  Indices pivots, border;  // counts
  Indices front_of;        // of each vertex: the front that eliminates it
};

/// Approximate minimum degree: Amestoy, Davis and Duff, "An approximate minimum degree ordering algorithm", SIAM
/// Journal on Matrix Analysis and Applications 17, 1996. Vertices with many neighbours are eliminated last, in a front
/// of their own. The border counts do not include them.
AssemblyTree minimum_degree(const Graph& graph);
/// Merges fronts with their parents where that adds few explicit zeros, and sorts them in postorder.
AssemblyTree amalgamate(const AssemblyTree& tree);

}  // namespace reel::optim
