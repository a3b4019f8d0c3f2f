// Native code for parts of programs: a pass that runs between simplify() and fuse().
#pragma once
#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "program/passes/passes.hpp"

namespace reel::codegen {

/// Options of one compiled function, for all its programs.
struct NativeOptions {
  std::vector<std::string> flags;  // for the compiler, in place of the usual ones, if there are any
  mutable std::atomic<bool> warned{false};
};

/// Replaces instructions that have a form in C, and run faster so, by single ones that run native code: one compilation
/// for all these programs. If it fails, one warning per options says why, and the programs stay as they are. What an
/// operation refuses is thrown as by the instructions that were replaced.
void compile_native(std::span<program::Program* const> programs, const NativeOptions& options);
/// The number of instructions that native code replaces, in all of a program.
std::size_t native_instructions(const program::Program& program);

}  // namespace reel::codegen
