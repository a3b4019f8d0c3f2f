// Loops over the numbers of matrices, for sources that are compiled for size: elements.cpp is not.
#pragma once
#include <cstdint>

namespace reel::loops::functions {

/// to[i] += factor from[i], i < n
void add_multiple(double* to, double factor, const double* from, std::int64_t n);
/// to[i] *= factor
void multiply(double* to, double factor, std::int64_t n);
/// to[i] += the magnitude of element i, which has two numbers if it is complex
void add_magnitudes(const double* from, bool complex, std::int64_t n, double* to);

}  // namespace reel::loops::functions
