// Ceres' Levenberg-Marquardt, as a C function of a shared module: bench/driver/minimizers.py passes it the residuals
// and Jacobians of a problem of bench/ours/minimizers.cpp.
#include <ceres/ceres.h>
#include <glog/logging.h>

#include <cstdint>
#include <limits>

namespace {

using Callback = void (*)(int problem, const double* x, double* to);

class Cost : public ceres::CostFunction {
 public:
  Cost(int problem, int unknowns, int residual_count, Callback residuals, Callback jacobian)
      : problem_(problem), residuals_(residuals), jacobian_(jacobian) {
    set_num_residuals(residual_count);
    mutable_parameter_block_sizes()->push_back(unknowns);
  }
  bool Evaluate(const double* const* parameters, double* residuals, double** jacobians) const override {
    residuals_(problem_, parameters[0], residuals);
    if (jacobians && jacobians[0]) jacobian_(problem_, parameters[0], jacobians[0]);
    return true;
  }

 private:
  int problem_;
  ::Callback residuals_, jacobian_;
};

}  // namespace

extern "C" {

struct CeresFit {
  double value;  // the sum of squares
  std::int64_t evaluations, jacobians;
};

const char* ceres_version() { return CERES_VERSION_STRING; }

/// Moves x from the start to the minimum. Tolerances are those of Ceres' own program for NIST's problems.
CeresFit ceres_fit(int problem, int unknowns, int residual_count, Callback residuals, Callback jacobian, double* x) {
  FLAGS_minloglevel = google::ERROR;  // no warnings of steps to infinity, which are refused
  ceres::Problem fit;
  fit.AddResidualBlock(new Cost(problem, unknowns, residual_count, residuals, jacobian), nullptr, x);
  ceres::Solver::Options options;
  options.linear_solver_type = ceres::DENSE_QR;
  options.max_num_iterations = 10000;
  options.function_tolerance = options.gradient_tolerance = options.parameter_tolerance =
      std::numeric_limits<double>::epsilon();
  options.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &fit, &summary);
  return {2 * summary.final_cost, summary.num_residual_evaluations, summary.num_jacobian_evaluations};
}

}  // extern "C"
