#include "linalg/functions/elements.hpp"

#include <cmath>

namespace reel::loops::functions {

void add_multiple(double* to, double factor, const double* from, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] += factor * from[i];
}

void multiply(double* to, double factor, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] *= factor;
}

void add_magnitudes(const double* from, bool complex, std::int64_t n, double* to) {
  if (complex)
    for (std::int64_t i = 0; i < n; ++i) to[i] += std::hypot(from[2 * i], from[2 * i + 1]);
  else
    for (std::int64_t i = 0; i < n; ++i) to[i] += std::abs(from[i]);
}

}  // namespace reel::loops::functions
