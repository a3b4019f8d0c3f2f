// Native code for parts of programs: a pass that runs between simplify() and fuse().
#pragma once
#include <atomic>
#include <string>
#include <vector>

#include "program/passes/passes.hpp"

namespace reel::codegen {

/// Options of one compiled function, for all its programs.
struct NativeOptions {
  std::vector<std::string> flags;  // for the compiler, in place of the usual ones, if there are any
  mutable std::atomic<bool> warned{false};
};

/// Replaces instructions that have a form in C, and run faster so, by single ones that run native code. If the compiler
/// fails, one warning per options says why, and the program stays as it is. What an operation refuses is thrown as by
/// the instructions that were replaced.
void compile_native(program::Program& program, const NativeOptions& options);
/// The same for both parts of a program, in one compilation. What a loop leaves for its gradient passes as bytes if
/// both are native.
void compile_native(program::Parts& parts, const NativeOptions& options);
/// The number of instructions that native code replaces, in all of a program.
std::size_t native_instructions(const program::Program& program);

}  // namespace reel::codegen
