// Shared by the tests modelled on TensorFlow's: numbers from gradients.
#pragma once
#include <reel/reel.hpp>
#include <vector>

/// The only element of a gradient; fails the test with the reason when there is none.
inline double number(const reel::Gradient& g) { return g.dense().item(); }
inline std::vector<double> numbers(const reel::Gradient& g) { return g.dense().to_vector(); }
template <class Gradients>
std::vector<double> each_number(const Gradients& list) {
  std::vector<double> result;
  for (const auto& g : list) result.push_back(number(g));
  return result;
}
