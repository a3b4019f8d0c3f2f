// A regression problem of the NIST Statistical Reference Datasets: data, two starting points, certified answers.
#pragma once
#include <reel/reel.hpp>
#include <string>
#include <vector>

namespace nist {

struct Problem {
  std::string name;
  std::string level;                       // lower, average or higher difficulty
  std::vector<double> y;                   // as observed; some models are of a function of it
  std::vector<std::vector<double>> x;      // one or two predictors
  std::vector<std::vector<double>> start;  // two
  std::vector<double> certified;           // parameters, 11 digits
  std::vector<double> deviation;           // standard deviations of the parameters, 11 digits
};

// y = value(b, x) + error, or response(y) = value(b, x) + error.
struct Model {
  const char* name;
  const char* formula;
  reel::Tensor (*value)(const reel::Tensor& b, const std::vector<reel::Tensor>& x);  // b [p], x each [n], result [n]
  reel::Tensor (*response)(const reel::Tensor& y);                                   // null: y itself
};

// Throws std::runtime_error for a name that is none of the 27.
const Model& model_of(const std::string& name);
std::vector<std::string> all_names();  // in NIST's order of difficulty

// The problems with at most 37 observations: their figures are part of the program (tables.cpp).
std::vector<Problem> built_in_problems();

// Reads one of NIST's .dat files, by the line ranges that its header states. Throws std::runtime_error that names the
// file and what is wrong with it.
Problem read_problem(const std::string& path, const std::string& name);

}  // namespace nist
