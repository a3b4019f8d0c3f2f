// B-splines, values on grids and images, for hostile_arguments.cpp: ops of one and of two tensors.
#pragma once
#include <reel/image.hpp>

#include "binary_ops.hpp"
#include "ops.hpp"

namespace {

// clang-format off
std::vector<Unary> with_grids(std::vector<Unary> ops) {
  const std::vector<Unary> added = {
      {"BSpline", [](const Tensor& x) { b_spline(arange(7), arange(4), 2)(x); }},
      {"affine_grid", [](const Tensor& x) { affine_grid(x, {2, 1, 2, 2}); }},
      {"grid_sample", [](const Tensor& x) { grid_sample(x, zeros({1, 2, 2, 2})); }},
      {"map_coordinates", [](const Tensor& x) { map_coordinates(ones({3, 3}), x, {0, Border::grid_wrap}); }},
      {"resize", [](const Tensor& x) { resize(x, {2, 3}); }},
      {"resize", [](const Tensor& x) { resize(x, {1, 3, 2, 9}, {ResizeMethod::lanczos5}); }},
      {"resize", [](const Tensor& x) { resize(x, {7}, {ResizeMethod::nearest}); }},
      {"regular_grid", [](const Tensor& x) { regular_grid({x}, x, ones({2, 1}), {.method = GridMethod::nearest}); }},
  };
  ops.insert(ops.end(), added.begin(), added.end());
  return ops;
}
std::vector<Binary> with_grids(std::vector<Binary> ops) {
  const std::vector<Binary> added = {
      {"b_spline", [](const Tensor& x, const Tensor& y) { b_spline(x, y, 1); }},
      {"b_spline", [](const Tensor& x, const Tensor& y) { b_spline(y, x, 0); }},
      {"grid_sample", [](const Tensor& x, const Tensor& y) { grid_sample(x, y); }},
      {"grid_sample", [](const Tensor& x, const Tensor& y) { grid_sample(x, y, {GridMethod::cubic, GridPadding::reflection, true}); }},
      {"map_coordinates", [](const Tensor& x, const Tensor& y) { map_coordinates(x, y); }},
      {"map_coordinates", [](const Tensor& x, const Tensor& y) { map_coordinates(x, y, {1, Border::mirror}); }},
      {"regular_grid", [](const Tensor& x, const Tensor& y) { regular_grid({x}, x, y); }},
      {"regular_grid", [](const Tensor& x, const Tensor& y) { regular_grid({arange(2), arange(2)}, x, y, {.method = GridMethod::cubic, .fill = {}}); }},
  };
  ops.insert(ops.end(), added.begin(), added.end());
  return ops;
}
// clang-format on

}  // namespace
