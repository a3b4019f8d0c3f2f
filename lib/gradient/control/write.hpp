// Loops, branches and checkpoints as C: bodies are written in place, with what they leave for gradients in the
// workspace.
#pragma once
#include <span>

#include "codegen/program.hpp"
#include "gradient/programs/derivative.hpp"

namespace reel::autodiff {

/// A place for a value that is assigned repeatedly: a variable for one element, otherwise workspace, noted in `taken`.
csource::Array place_for(csource::Writer& w, const Tensor& like, std::vector<csource::Array>& taken);
/// Workspace for `count` values of this kind, or for those of a token, which no code that has been written uses.
csource::Array kept_rows(csource::Writer& w, const csource::Array& like, std::int64_t count);
/// The value, or token, that was kept in row i.
csource::Array kept_at(const csource::Array& kept, const csource::Index& i);
/// Copies a value, or what a token stands for.
void copy_kept(csource::Writer& w, const csource::Array& from, const csource::Array& to);
csource::Array zero_like(const Tensor& like);

}  // namespace reel::autodiff
