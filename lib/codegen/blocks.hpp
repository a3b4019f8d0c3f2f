// Loops over elements that call functions, in blocks: arithmetic and calls in loops of their own, since compilers do
// not vectorise a loop that calls. Values pass between the loops of a block by arrays of its length.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "csource/writer.hpp"

namespace reel::codegen {

/// A loop over an axis that computes definitions and stores some of them.
struct ElementLoop {
  std::string index;  // the name of the loop's variable
  std::int64_t extent;
  std::vector<std::pair<std::string, std::string>> stores;  // an element, and its value
  bool reads_stored;                                        // elements of an array to which it stores
};

/// Whether blocks save more than they cost.
bool gains_by_blocks(csource::Writer& w, const csource::Definitions& defined, const ElementLoop& loop);
void write_in_blocks(csource::Writer& w, const csource::Definitions& defined, const ElementLoop& loop);

}  // namespace reel::codegen
