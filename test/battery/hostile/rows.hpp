// The ops of the op cases and special functions, for hostile_arguments.cpp: ops of one and of two tensors.
#pragma once
#include <algorithm>
#include <array>
#include <set>
#include <string>

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
// Ops whose rows prepare operands by other ops, whose errors name these, or take one of several results.
// clang-format off
constexpr const char* with_preparation[] = {
    "all", "any", "as_real", "bernoulli_isf", "bernoulli_kl", "bernoulli_ppf", "binom_isf", "binom_kl", "binom_ppf",
    "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "chi2_kl", "cholesky", "digitize", "eig", "eigh",
    "eigvalsh", "expand_dims", "fft", "fft2", "fftn", "fractional_avg_pool2d", "fractional_max_pool2d", "geom_isf",
    "geom_kl", "geom_ppf", "hfft", "hinge_embedding", "ifft", "ifft2", "ifftn", "ihfft", "irfft", "irfft2", "irfftn",
    "ldexp", "left_shift", "lu_factor", "lu_solve", "masked_softmax", "max_unpool1d", "max_unpool2d", "max_unpool3d",
    "meshgrid", "multi_margin", "nanmax", "nanmean", "nanmin", "nanpercentile", "nanprod", "nanstd", "nansum",
    "nanvar", "nbinom_kl", "nll", "nonzero", "one_hot", "percentile", "piecewise", "resize", "rfft", "rfft2", "rfftn",
    "right_shift", "searchsorted", "sort", "sparse_softmax_cross_entropy", "unstack"};
// clang-format on
// The same for the first row of each op that is not pointwise.
template <class Add>
void for_each_shaped_row(const Add& add) {
  std::set<std::string> seen;
  for (const std::span<const cases::Shaped> table : cases::shaped_tables())
    for (const cases::Shaped& row : table) {
      const auto operands = static_cast<int>(cases::shapes_of(row)[0].size());
      if (operands > 2 || std::ranges::count(with_preparation, std::string(row.name)) || !seen.insert(row.name).second)
        continue;
      add(row.name, operands, [&row, operands](const std::array<Tensor, 4>& x) {
        row.call(std::span(x).first(static_cast<std::size_t>(operands)));
      });
    }
}
std::vector<Unary> with_rows(std::vector<Unary> ops, bool shaped = false) {
  const auto add = [&](const char* name, int operands, auto op) {
    if (operands == 1) ops.push_back({name, [op](const Tensor& x) { op(std::array{x, x, x, x}); }});
  };
  for_each_row(add);
  if (shaped) for_each_shaped_row(add);
  return ops;
}
std::vector<Binary> with_rows(std::vector<Binary> ops, bool shaped = false) {
  const auto add = [&](const char* name, int operands, auto op) {
    if (operands == 2) ops.push_back({name, [op](const Tensor& x, const Tensor& y) { op(std::array{x, y, x, y}); }});
  };
  for_each_row(add);
  if (shaped) for_each_shaped_row(add);
  return ops;
}

}  // namespace
