// Derivatives through a program against those op by op.
#pragma once
#include <reel/reel.hpp>

#include "catch.hpp"

inline void check_close(const reel::Tensor& a, const reel::Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  REQUIRE(a.dtype() == b.dtype());
  const auto x = a.to_vector<double>(), y = b.to_vector<double>();
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(x[i] == Approx(y[i]).epsilon(1e-13).margin(1e-13));
}
