// Which elements of a program's result may depend on which elements of its first argument, without numbers.
#pragma once
#include "program/program.hpp"
#include "program/sparsity/index_rows.hpp"

namespace reel::program {

/// For each element of the first result the elements of the first argument that its derivatives may not vanish by, by
/// the structure of the ops alone: both sides of a `where`, whatever the condition. Each element of a result of an op
/// without a rule in sparsity.cpp depends on all that its operands depend on. Linear in the size of the sets, up to the
/// sorting of rows. Positions that are constants must have been folded.
IndexRows sparsity(const Program& program);

}  // namespace reel::program
