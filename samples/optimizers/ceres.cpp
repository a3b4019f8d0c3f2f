// Least squares by Ceres with Jacobians from reel, in place of templates over Ceres' Jet.
//
// A curve: one cost function, whose residuals and Jacobian a compiled function computes. Checked against NIST's
// certified parameters of the problem Misra1a.
//
// Bundle adjustment: cameras and points from where the cameras see the points. Each observation is a residual block of
// Ceres. When Ceres announces a point through its EvaluationCallback, one run of a compiled function computes the
// residuals and the blocks of the Jacobian of all observations; the cost functions copy theirs. Checked against reel's
// levenberg_marquardt with a sparse Jacobian, and against the observed scene.
#include <ceres/ceres.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <reel/compile.hpp>
#include <reel/geometry.hpp>
#include <reel/linalg.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <reel/sparse.hpp>
#include <utility>
#include <vector>

using reel::Tensor;

namespace {

void copy(const Tensor& from, double* to) {
  const Tensor whole = reel::contiguous(from);
  const auto values = whole.data<double>();
  std::copy(values.begin(), values.end(), to);
}

ceres::Solver::Summary solve(ceres::Problem& problem) {
  ceres::Solver::Options options;
  options.function_tolerance = options.gradient_tolerance = options.parameter_tolerance = 1e-15;
  options.max_num_iterations = 200;
  options.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  return summary;
}

// A curve

// Residuals of one block of parameters, with their Jacobian from one run of a program.
template <class F>
class CurveCost : public ceres::CostFunction {
 public:
  CurveCost(F f, int residuals, int parameters) : value_(reel::compile(f)), linearized_(reel::compile(Linearized{f})) {
    set_num_residuals(residuals);
    mutable_parameter_block_sizes()->push_back(parameters);
  }
  bool Evaluate(const double* const* parameters, double* residuals, double** jacobians) const override {
    const std::size_t n = static_cast<std::size_t>(parameter_block_sizes()[0]);
    const Tensor x = reel::from_data(std::span(parameters[0], n));
    if (!jacobians || !jacobians[0]) {
      copy(value_(x), residuals);
      return true;
    }
    const auto [value, jacobian] = linearized_(x);
    copy(value, residuals);
    copy(jacobian, jacobians[0]);
    return true;
  }

 private:
  struct Linearized {
    F f;
    std::pair<Tensor, Tensor> operator()(const Tensor& x) const { return {f(x), reel::jacobian(f)(x)}; }
  };
  reel::Compiled<F> value_;
  reel::Compiled<Linearized> linearized_;
};

// NIST/ITL Statistical Reference Datasets, Misra1a: y = b0 (1 - exp(-b1 x)) from the first of NIST's starts.
bool curve() {
  const Tensor y =
      reel::tensor({10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.4, 75.47, 81.78});
  const Tensor x =
      reel::tensor({77.6, 114.9, 141.1, 190.8, 239.9, 289., 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.});
  const double certified[] = {238.94212918, 0.00055015643181};
  const auto residuals = [=](const Tensor& b) { return b[0] * (1 - exp(-b[1] * x)) - y; };
  double b[] = {500, 0.0001};
  ceres::Problem problem;
  problem.AddResidualBlock(new CurveCost(residuals, static_cast<int>(y.size()), 2), nullptr, b);
  const auto summary = solve(problem);
  double error = 0;
  for (int k = 0; k < 2; ++k) error = std::max(error, std::abs(b[k] / certified[k] - 1));
  const bool good = error < 1e-8;
  std::printf("Misra1a: %zu steps, parameters %.10g and %.10g, relative error %.1e: %s\n", summary.iterations.size(),
              b[0], b[1], error, good ? "good" : "FAILED");
  return good;
}

// Bundle adjustment

constexpr std::int64_t cameras = 6, points = 40, known = 2;  // the first two cameras fix position, direction and scale
constexpr double deviation = 1e-3;                           // of what a camera sees, in focal lengths

// Which camera sees which point where, [K], [K] and [K, 2], and the scene: cameras [C, 6] as rotation vectors and
// translations from the world, points [P, 3].
struct Scene {
  Tensor of_camera, of_point, seen, cameras, points;
};

// Where the cameras see the points, in units of the focal length: [K, 9], a camera and a point each, to [K, 2].
Tensor project(const Tensor& camera_and_point) {
  const auto part = [&](std::int64_t from, std::int64_t to) {
    return camera_and_point(reel::ellipsis, reel::range(from, to));
  };
  const Tensor turned = reel::squeeze(matmul(reel::so3_exp(part(0, 3)), reel::expand_dims(part(6, 9), -1)), {-1});
  const Tensor at = turned + part(3, 6);
  return at(reel::ellipsis, reel::range(0, 2)) / at(reel::ellipsis, reel::range(2, 3));
}

Tensor joined(const Scene& scene, const Tensor& of_cameras, const Tensor& of_points) {
  return reel::concatenate({gather(of_cameras, scene.of_camera), gather(of_points, scene.of_point)}, 1);
}

Tensor residuals(const Scene& scene, const Tensor& camera_and_point) {
  return (project(camera_and_point) - scene.seen) / deviation;
}

// Cameras on a circle around the points, which look at their centre.
Scene scene() {
  reel::Generator generator(7);
  const Tensor angle = reel::arange(double(cameras)) * 0.7, none = reel::zeros({cameras});
  Scene s;
  s.of_camera = reel::reshape(reel::broadcast_to(reel::expand_dims(reel::arange(cameras), 1), {cameras, points}), {-1});
  s.of_point = reel::reshape(reel::broadcast_to(reel::arange(points), {cameras, points}), {-1});
  s.cameras = reel::stack({none, angle, none, none, none, none + 5}, 1);
  s.points = reel::random_uniform(generator, {points, 3}, -1, 1, reel::DType::float64);
  s.seen = project(joined(s, s.cameras, s.points)) +
           reel::random_normal(generator, {cameras * points, 2}, 0, deviation, reel::DType::float64);
  return s;
}

// The residuals of all observations, and their Jacobians by camera and point, [K, 2, 9], at the point that Ceres
// evaluates.
class Observations : public ceres::EvaluationCallback {
 public:
  Observations(const Scene& scene, const double* of_cameras, const double* of_points)
      : scene_(scene), cameras_(of_cameras), points_(of_points) {}
  void PrepareForEvaluation(bool jacobians, bool new_point) override {
    if (!new_point && !jacobians) return;
    const Tensor c = reel::from_data(std::span(cameras_, std::size_t(6 * cameras)), {cameras, 6});
    const Tensor p = reel::from_data(std::span(points_, std::size_t(3 * points)), {points, 3});
    auto [values, slopes] = all_(joined(scene_, c, p));
    values_ = reel::contiguous(values);
    slopes_ = reel::contiguous(slopes);
    ++runs_;
  }
  const double* values(std::int64_t k) const { return values_.data<double>().data() + 2 * k; }
  const double* slopes(std::int64_t k) const { return slopes_.data<double>().data() + 18 * k; }
  int runs() const { return runs_; }

 private:
  struct All {
    Scene scene;
    std::pair<Tensor, Tensor> operator()(const Tensor& x) const {
      const auto f = [this](const Tensor& at) { return residuals(scene, at); };
      return {f(x), reel::batch_jacobian(f)(x)};
    }
  };
  Scene scene_;
  const double *cameras_, *points_;
  reel::Compiled<All> all_ = reel::compile(All{scene_});
  Tensor values_, slopes_;
  int runs_ = 0;
};

// Observation k: copies what the callback has computed.
class Seen : public ceres::SizedCostFunction<2, 6, 3> {
 public:
  Seen(const Observations& all, std::int64_t k) : all_(all), k_(k) {}
  bool Evaluate(const double* const*, double* residuals, double** jacobians) const override {
    std::copy_n(all_.values(k_), 2, residuals);
    for (int row = 0; jacobians && row < 2; ++row) {
      const double* slope = all_.slopes(k_) + 9 * row;
      if (jacobians[0]) std::copy_n(slope, 6, jacobians[0] + 6 * row);
      if (jacobians[1]) std::copy_n(slope + 6, 3, jacobians[1] + 3 * row);
    }
    return true;
  }

 private:
  const Observations& all_;
  std::int64_t k_;
};

struct Found {
  Tensor cameras, points;
  double cost = 0;  // half the sum of squares
};

Found by_ceres(const Scene& scene, const Found& start) {
  std::vector<double> c = start.cameras.to_vector(), p = start.points.to_vector();
  Observations all(scene, c.data(), p.data());
  ceres::Problem::Options options;
  options.evaluation_callback = &all;
  ceres::Problem problem(options);
  const auto of_camera = scene.of_camera.to_vector<std::int64_t>(), of_point = scene.of_point.to_vector<std::int64_t>();
  for (std::size_t k = 0; k < of_camera.size(); ++k)
    problem.AddResidualBlock(new Seen(all, std::int64_t(k)), nullptr, &c[std::size_t(6 * of_camera[k])],
                             &p[std::size_t(3 * of_point[k])]);
  for (std::size_t k = 0; k < known; ++k) problem.SetParameterBlockConstant(&c[6 * k]);
  const auto summary = solve(problem);
  std::printf("Ceres: %zu steps, %d runs of the program, cost %.9f\n", summary.iterations.size(), all.runs(),
              summary.final_cost);
  return {reel::from_data(c, {cameras, 6}), reel::from_data(p, {points, 3}), summary.final_cost};
}

Found by_reel(const Scene& scene, const Found& start) {
  const std::vector<Tensor> tree{start.cameras(reel::range(known, cameras)), start.points};
  const auto [x, tree_of] = reel::ravel(tree);
  const Tensor fixed = start.cameras(reel::range(0, known));
  const auto f = [&, unravel = tree_of](const Tensor& at) {
    const auto unknown = unravel(at);
    return reel::reshape(residuals(scene, joined(scene, reel::concatenate({fixed, unknown[0]}, 0), unknown[1])), {-1});
  };
  const auto found = reel::levenberg_marquardt(f, reel::sparse_jacobian(f, x), x);
  std::printf("reel:  %lld steps, %lld Jacobians, cost %.9f\n", static_cast<long long>(found.iterations),
              static_cast<long long>(found.jacobians), found.sum_of_squares / 2);
  const auto unknown = tree_of(found.parameters);
  return {reel::concatenate({fixed, unknown[0]}, 0), unknown[1], found.sum_of_squares / 2};
}

double largest(const Tensor& x) { return reel::max(reel::abs(x)).item(); }

bool bundle() {
  const Scene s = scene();
  reel::Generator generator(8);
  const Tensor moved = reel::random_normal(generator, {cameras - known, 6}, 0, 0.05, reel::DType::float64);
  const Found start{s.cameras + reel::pad(moved, {known, 0}, {0, 0}),
                    s.points + reel::random_normal(generator, {points, 3}, 0, 0.1, reel::DType::float64)};
  const Found theirs = by_ceres(s, start), ours = by_reel(s, start);
  const double apart = std::max(largest(theirs.cameras - ours.cameras), largest(theirs.points - ours.points));
  const double off = std::max(largest(ours.cameras - s.cameras), largest(ours.points - s.points));
  // Twice the cost is distributed as chi squared with as many degrees of freedom as there are residuals too many.
  const double freedom = 2 * cameras * points - 6 * (cameras - known) - 3 * points;
  const double score = (2 * ours.cost - freedom) / std::sqrt(2 * freedom);
  const bool good = apart < 1e-7 && std::abs(theirs.cost / ours.cost - 1) < 1e-10 && off < 0.03 && std::abs(score) < 4;
  std::printf("parameters differ by %.1e, from the scene by %.4f; the cost is %.1f deviations from its mean: %s\n",
              apart, off, score, good ? "good" : "FAILED");
  return good;
}

}  // namespace

int main() {
  const bool both[] = {curve(), bundle()};
  return both[0] && both[1] ? 0 : 1;
}
