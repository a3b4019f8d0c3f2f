// The structural dependence of a program's result on its first argument, without numbers.
#pragma once
#include "program/program.hpp"
#include "sparse/index_rows.hpp"

namespace reel::program {

/// For each element of the first result, the elements of the first argument on which it may depend through derivatives,
/// by the structure of the ops alone: both sides of a `where` count, whatever the condition. For an op without a rule
/// in sparsity.cpp, each element depends on everything that its operands depend on. Linear in the size of the sets, up
/// to the sorting of rows. Constant positions must have been folded.
IndexRows sparsity(const Program& program);

}  // namespace reel::program
