// Primitives as calls of helper functions in C, written as text: the cheapest form of one that no loop runs through.
#pragma once
#include <initializer_list>

#include "csource/writer.hpp"

namespace reel::csource {

/// Writes the lines of a text. i0, o1, t2 are inputs, outputs and temporaries of the instruction, #0 a number, `real`
/// the C type of the dtype, $name a helper function (csource/typed.hpp). A line is one of
///   copy i0 o0              copies, with conversion and broadcasting
///   temp t0 real #0 #0      takes workspace for a dtype (real, int32, int64) and shape; temp t0 int32 i1: for
///                           the shape of an array; temp t0 i1: for its dtype too
///   for i0:2 o0:1           opens loops over all axes but the last 2 of i0, 1 of o0, up to the next of these lines
///   refuse CONDITION|WHY    returns an error
///   STATEMENT               of C, where i0 is the address of the part, which is dense, and @i0 the value of one
///   element
/// Outputs that nobody wants are workspace. Inputs with no own axes need no address: only @i0 reads them.
void write_steps(Writer& w, DType real, std::string_view text, std::span<const std::int64_t> numbers);
inline void write_steps(Writer& w, DType real, std::string_view text, std::initializer_list<std::int64_t> numbers) {
  write_steps(w, real, text, std::span(numbers.begin(), numbers.size()));
}
/// TraceError: the instruction has no form in C for these operands.
[[noreturn]] void fail_without_form(const Writer& w);

}  // namespace reel::csource
