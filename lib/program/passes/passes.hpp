// Passes: each rewrites a program into one that computes the same bits with less work.
#pragma once
#include "program/program.hpp"

namespace reel::program {

/// Drops the instructions that no result needs, but for those that may throw.
void drop_unused(Program& program);
/// Computes once and for all what is made of constants and is small.
void fold_constants(Program& program);
/// Computes each expression once: instructions with the same operation, attributes and operands.
void share_equal(Program& program);
/// Joins pointwise operations of float32 or float64 of one shape to single passes over memory, where that is faster.
void fuse_pointwise(Program& program);

/// All of them, in this order.
void optimize(Program& program);

}  // namespace reel::program
