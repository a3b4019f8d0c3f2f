// The 27 models, written with the library's functions on whole arrays: nothing here knows of derivatives.
#include <numbers>
#include <stdexcept>

#include "problem.hpp"

namespace nist {
namespace {

using reel::Tensor;
using Predictors = std::vector<Tensor>;

constexpr double pi = std::numbers::pi;

Tensor saturating(const Tensor& b, const Predictors& x) { return b[0] * (1 - exp(-b[1] * x[0])); }

Tensor misra1b(const Tensor& b, const Predictors& x) { return b[0] * (1 - power(1 + b[1] * x[0] / 2, -2)); }

Tensor misra1c(const Tensor& b, const Predictors& x) { return b[0] * (1 - rsqrt(1 + 2 * b[1] * x[0])); }

Tensor misra1d(const Tensor& b, const Predictors& x) { return b[0] * b[1] * x[0] / (1 + b[1] * x[0]); }

Tensor chwirut(const Tensor& b, const Predictors& x) { return exp(-b[0] * x[0]) / (b[1] + b[2] * x[0]); }

Tensor three_exponentials(const Tensor& b, const Predictors& x) {
  return b[0] * exp(-b[1] * x[0]) + b[2] * exp(-b[3] * x[0]) + b[4] * exp(-b[5] * x[0]);
}

Tensor bell(const Tensor& x, const Tensor& middle, const Tensor& width) { return exp(-square((x - middle) / width)); }

Tensor two_bells(const Tensor& b, const Predictors& x) {
  return b[0] * exp(-b[1] * x[0]) + b[2] * bell(x[0], b[3], b[4]) + b[5] * bell(x[0], b[6], b[7]);
}

Tensor danwood(const Tensor& b, const Predictors& x) { return b[0] * power(x[0], b[1]); }

Tensor quadratic_ratio(const Tensor& b, const Predictors& x) {
  const Tensor& t = x[0];
  return (b[0] + t * (b[1] + t * b[2])) / (1 + t * (b[3] + t * b[4]));
}

Tensor cubic_ratio(const Tensor& b, const Predictors& x) {
  const Tensor& t = x[0];
  return (b[0] + t * (b[1] + t * (b[2] + t * b[3]))) / (1 + t * (b[4] + t * (b[5] + t * b[6])));
}

Tensor nelson(const Tensor& b, const Predictors& x) { return b[0] - b[1] * x[0] * exp(-b[2] * x[1]); }

Tensor log_of(const Tensor& y) { return log(y); }

Tensor mgh17(const Tensor& b, const Predictors& x) {
  return b[0] + b[1] * exp(-x[0] * b[3]) + b[2] * exp(-x[0] * b[4]);
}

Tensor roszman(const Tensor& b, const Predictors& x) { return b[0] - b[1] * x[0] - arctan(b[2] / (x[0] - b[3])) / pi; }

Tensor enso(const Tensor& b, const Predictors& x) {
  const Tensor t = 2 * pi * x[0];
  return b[0] + b[1] * cos(t / 12) + b[2] * sin(t / 12) + b[4] * cos(t / b[3]) + b[5] * sin(t / b[3]) +
         b[7] * cos(t / b[6]) + b[8] * sin(t / b[6]);
}

Tensor mgh09(const Tensor& b, const Predictors& x) {
  const Tensor& t = x[0];
  return b[0] * t * (t + b[1]) / (t * (t + b[2]) + b[3]);
}

Tensor rat42(const Tensor& b, const Predictors& x) { return b[0] / (1 + exp(b[1] - b[2] * x[0])); }

Tensor rat43(const Tensor& b, const Predictors& x) { return b[0] / power(1 + exp(b[1] - b[2] * x[0]), 1 / b[3]); }

Tensor mgh10(const Tensor& b, const Predictors& x) { return b[0] * exp(b[1] / (x[0] + b[2])); }

Tensor eckerle(const Tensor& b, const Predictors& x) { return b[0] / b[1] * exp(-square((x[0] - b[2]) / b[1]) / 2); }

Tensor bennett(const Tensor& b, const Predictors& x) { return b[0] * power(b[1] + x[0], -1 / b[2]); }

// clang-format off
constexpr const char* three_exponentials_text = "b1 exp(-b2 x) + b3 exp(-b4 x) + b5 exp(-b6 x)";
constexpr const char* two_bells_text = "b1 exp(-b2 x) + b3 exp(-((x-b4)/b5)^2) + b6 exp(-((x-b7)/b8)^2)";
constexpr const char* cubic_ratio_text = "(b1+b2 x+b3 x^2+b4 x^3) / (1+b5 x+b6 x^2+b7 x^3)";
const Model models[] = {
  {"Misra1a",  "b1 (1 - exp(-b2 x))",                        saturating,         nullptr},
  {"Chwirut2", "exp(-b1 x) / (b2 + b3 x)",                   chwirut,            nullptr},
  {"Chwirut1", "exp(-b1 x) / (b2 + b3 x)",                   chwirut,            nullptr},
  {"Lanczos3", three_exponentials_text,                      three_exponentials, nullptr},
  {"Gauss1",   two_bells_text,                               two_bells,          nullptr},
  {"Gauss2",   two_bells_text,                               two_bells,          nullptr},
  {"DanWood",  "b1 x^b2",                                    danwood,            nullptr},
  {"Misra1b",  "b1 (1 - (1 + b2 x/2)^-2)",                   misra1b,            nullptr},
  {"Kirby2",   "(b1+b2 x+b3 x^2) / (1+b4 x+b5 x^2)",         quadratic_ratio,    nullptr},
  {"Hahn1",    cubic_ratio_text,                             cubic_ratio,        nullptr},
  {"Nelson",   "log y = b1 - b2 x1 exp(-b3 x2)",             nelson,             log_of},
  {"MGH17",    "b1 + b2 exp(-b4 x) + b3 exp(-b5 x)",         mgh17,              nullptr},
  {"Lanczos1", three_exponentials_text,                      three_exponentials, nullptr},
  {"Lanczos2", three_exponentials_text,                      three_exponentials, nullptr},
  {"Gauss3",   two_bells_text,                               two_bells,          nullptr},
  {"Misra1c",  "b1 (1 - (1 + 2 b2 x)^-1/2)",                 misra1c,            nullptr},
  {"Misra1d",  "b1 b2 x / (1 + b2 x)",                       misra1d,            nullptr},
  {"Roszman1", "b1 - b2 x - arctan(b3/(x-b4)) / pi",         roszman,            nullptr},
  {"ENSO",     "b1 + three cosines and sines, two periods free", enso,            nullptr},
  {"MGH09",    "b1 (x^2 + b2 x) / (x^2 + b3 x + b4)",        mgh09,              nullptr},
  {"Thurber",  cubic_ratio_text,                             cubic_ratio,        nullptr},
  {"BoxBOD",   "b1 (1 - exp(-b2 x))",                        saturating,         nullptr},
  {"Rat42",    "b1 / (1 + exp(b2 - b3 x))",                  rat42,              nullptr},
  {"MGH10",    "b1 exp(b2 / (x + b3))",                      mgh10,              nullptr},
  {"Eckerle4", "b1/b2 exp(-((x-b3)/b2)^2 / 2)",              eckerle,            nullptr},
  {"Rat43",    "b1 / (1 + exp(b2 - b3 x))^(1/b4)",           rat43,              nullptr},
  {"Bennett5", "b1 (b2 + x)^(-1/b3)",                        bennett,            nullptr},
};
// clang-format on

}  // namespace

const Model& model_of(const std::string& name) {
  for (const Model& model : models) {
    if (name == model.name) return model;
  }
  throw std::runtime_error("no model is known for '" + name + "'");
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const Model& model : models) names.emplace_back(model.name);
  return names;
}

}  // namespace nist
