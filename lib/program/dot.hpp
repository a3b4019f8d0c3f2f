// Programs as graphs in Graphviz's language.
#pragma once
#include <string>

#include "program/program.hpp"

namespace reel::program {

/// The text of the graph: a node for each instruction, argument, constant and result.
std::string to_dot(const Program& program);

}  // namespace reel::program
