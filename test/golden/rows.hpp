// The calls whose results test/tools/golden has from other libraries, one row a function. A row's name is that of its
// cases up to the slash.
#pragma once
#include <reel/reel.hpp>
#include <vector>

namespace golden {

using Tensors = std::vector<reel::Tensor>;

/// A row without a call is that of the op of its name: the first in the table of op cases.
struct Row {
  const char* name;
  Tensors (*f)(const Tensors& x) = nullptr;
  double error = 0;  // relative to the scale of the results, of methods that stop at a tolerance
};

#define REEL_ROW(name, ...)                                                          \
  {                                                                                  \
    name, []([[maybe_unused]] const Tensors& x) -> Tensors { return {__VA_ARGS__}; } \
  }

extern const std::vector<Row> element_rows, linear_algebra_rows, network_rows, function_rows, grid_rows,
    distribution_rows, delicate_rows, beyond_rows;

}  // namespace golden
