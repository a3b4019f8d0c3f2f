// Operands of every kind, for hostile_arguments.cpp.
#pragma once
#include <limits>
#include <reel/reel.hpp>
#include <string>
#include <vector>

namespace {

using namespace reel;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN(),
                 infinity = std::numeric_limits<double>::infinity();

struct Named {
  std::string what;
  Tensor value;
};

std::vector<Named> operands() {
  std::vector<Named> all;
  for (int d = 0; d < 10; ++d) {
    const auto dtype = static_cast<DType>(d);
    for (const Shape& s : {Shape{}, Shape{0}, Shape{1}, Shape{3}, Shape{2, 0, 3}, Shape{2, 2}, Shape{1, 3, 4, 4}})
      all.push_back({to_string(s) + " of dtype " + std::to_string(d), ones(s, dtype)});
    all.push_back({"flipped view of dtype " + std::to_string(d), flip(ones({2, 3}, dtype))});
    all.push_back({"broadcast view of dtype " + std::to_string(d), broadcast_to(ones({1}, dtype), {5, 3})});
  }
  for (const double v : {not_a_number, infinity, -infinity, -0.0, 5e-324, 1.7976931348623157e308, -1e300})
    all.push_back({"[2, 2] of " + std::to_string(v), full({2, 2}, v)});
  all.push_back({"rank 32", ones(std::vector<std::int64_t>(32, 1))});
  all.push_back({"an untouched view of 2^40 elements", broadcast_to(ones({1}), {std::int64_t{1} << 40})});
  return all;
}

}  // namespace
