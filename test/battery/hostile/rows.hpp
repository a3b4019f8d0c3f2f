// The pointwise ops and special functions of the op cases, for hostile_arguments.cpp: ops of one and of two tensors.
#pragma once
#include <array>

#include "../../op_cases.hpp"
#include "../../special/references/table.hpp"
#include "binary_ops.hpp"
#include "ops.hpp"

namespace {

// Calls add(name, operands, op), where op takes a list of tensors, for each op whose row calls it alone.
template <class Add>
void for_each_row(const Add& add) {
  for (const cases::Pointwise& row : cases::all_pointwise())
    if (!(row.flags & cases::by_complex))
      add(row.name, row.arity, [&row](const std::array<Tensor, 4>& x) {
        row.call(std::span(x).first(static_cast<std::size_t>(row.arity)));
      });
  references::for_each_function(
      [&](const char* name, int operands, double, double, auto, auto op) { add(name, operands, op); });
}
std::vector<Unary> with_rows(std::vector<Unary> ops) {
  for_each_row([&](const char* name, int operands, auto op) {
    if (operands == 1) ops.push_back({name, [op](const Tensor& x) { op(std::array{x, x, x, x}); }});
  });
  return ops;
}
std::vector<Binary> with_rows(std::vector<Binary> ops) {
  for_each_row([&](const char* name, int operands, auto op) {
    if (operands == 2) ops.push_back({name, [op](const Tensor& x, const Tensor& y) { op(std::array{x, y, x, y}); }});
  });
  return ops;
}

}  // namespace
