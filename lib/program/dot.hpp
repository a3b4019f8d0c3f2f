// Programs as pictures.
#pragma once
#include <string>

#include "program/program.hpp"

namespace reel::program {

/// The program in the language of Graphviz: a node for each instruction, argument, constant and result.
std::string to_dot(const Program& program);

}  // namespace reel::program
