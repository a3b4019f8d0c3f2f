// Fits the nonlinear regression problems of NIST's Statistical Reference Datasets from both of their starting points
// and counts the digits that agree with the certified answers. Derivatives come from the tape, the fit from
// levenberg_marquardt with its default options for every problem.
//   nist_fit [--data DIR] [--svg FILE]
// Exit status: 0 when the accuracy is reached, 1 when it is not, 2 for a wrong call or unreadable files.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <reel/optim.hpp>
#include <stdexcept>

#include "../chart/chart.hpp"
#include "problem.hpp"

namespace {

using nist::Problem;
using reel::Tensor;

constexpr double most_digits = 11;  // what NIST certifies
constexpr double fit_digits = 6;
constexpr double deviation_digits = 7;
constexpr double average_digits = 9.4;
constexpr std::size_t starts_allowed_to_fail = 2;

struct Options {
  std::string data;
  std::string svg;
};

struct Run {
  std::int64_t iterations = 0;
  double worst = 0;  // digits of the worst parameter
  double total = 0;  // sum over the parameters
  double sum_of_squares = 0;
  Tensor parameters;
  reel::StopReason reason{};
};

struct Report {
  std::vector<Run> runs;
  double deviation = 0;          // digits of the worst standard deviation, at the certified parameters
  double certified_squares = 0;  // sum of squares at the certified parameters
  double milliseconds = 0;
};

// Log relative error: the number of leading decimal digits that agree.
double digits(double value, double certified) {
  const double error = std::fabs(value - certified) / std::fabs(certified);
  if (error == 0) return most_digits;
  const double agreed = -std::log10(error);
  return std::isnan(agreed) ? 0 : std::clamp(agreed, 0.0, most_digits);
}

struct Observed {
  explicit Observed(const Problem& problem) : model(nist::model_of(problem.name)) {
    for (const auto& column : problem.x) x.push_back(reel::from_data(column));
    y = reel::from_data(problem.y);
    if (model.response) y = model.response(y);
  }
  Tensor residuals(const Tensor& b) const { return model.value(b, x) - y; }

  const nist::Model& model;
  std::vector<Tensor> x;
  Tensor y;
};

Run fit(const Problem& problem, const Observed& observed, std::size_t start) {
  const auto result = reel::levenberg_marquardt([&](const Tensor& b) { return observed.residuals(b); },
                                                reel::from_data(problem.start[start]));
  Run run;
  run.iterations = result.iterations;
  run.sum_of_squares = result.sum_of_squares;
  run.parameters = result.parameters;
  run.reason = result.reason;
  run.worst = most_digits;
  const std::vector<double> found = result.parameters.to_vector<double>();
  for (std::size_t j = 0; j < found.size(); ++j) {
    const double agreed = digits(found[j], problem.certified[j]);
    run.worst = std::min(run.worst, agreed);
    run.total += agreed;
  }
  return run;
}

Report report_on(const Problem& problem) {
  const auto begin = std::chrono::steady_clock::now();
  const Observed observed(problem);
  Report report;
  for (std::size_t start = 0; start < problem.start.size(); ++start)
    report.runs.push_back(fit(problem, observed, start));

  reel::LevenbergMarquardtOptions only_evaluate;
  only_evaluate.max_iterations = 0;
  only_evaluate.polish = false;
  const auto at = reel::levenberg_marquardt([&](const Tensor& b) { return observed.residuals(b); },
                                            reel::from_data(problem.certified), only_evaluate);
  report.certified_squares = at.sum_of_squares;
  report.deviation = most_digits;
  const std::vector<double> deviation = at.standard_deviations().to_vector<double>();
  for (std::size_t j = 0; j < deviation.size(); ++j)
    report.deviation = std::min(report.deviation, digits(deviation[j], problem.deviation[j]));
  const auto end = std::chrono::steady_clock::now();
  report.milliseconds = std::chrono::duration<double, std::milli>(end - begin).count();
  return report;
}

chart::Panel panel_for(const Problem& problem, const Report& report) {
  const Observed observed(problem);
  const std::vector<double> y = observed.y.to_vector<double>();
  const auto best = std::min_element(report.runs.begin(), report.runs.end(),
                                     [](const Run& a, const Run& b) { return a.sum_of_squares < b.sum_of_squares; });
  char note[64];
  std::snprintf(note, sizeof note, "%s, %.1f digits", problem.level.c_str(), best->worst);
  chart::Panel panel{problem.name, note, observed.model.formula, {}};
  // A second predictor splits the observations into one series for each of its values.
  std::map<double, chart::Series> groups;
  for (std::size_t i = 0; i < y.size(); ++i) {
    chart::Series& group = groups[problem.x.size() > 1 ? problem.x[1][i] : 0.0];
    group.points_x.push_back(problem.x[0][i]);
    group.points_y.push_back(y[i]);
  }
  for (auto& [second, series] : groups) {
    const auto [low, high] = std::minmax_element(series.points_x.begin(), series.points_x.end());
    std::vector<Tensor> grid{reel::linspace(*low, *high, 300)};
    if (problem.x.size() > 1) {
      grid.push_back(reel::full({300}, second));
      series.label = "x2 = " + std::to_string(static_cast<int>(second));
    }
    series.curve_x = grid[0].to_vector<double>();
    series.curve_y = observed.model.value(best->parameters, grid).to_vector<double>();
    panel.series.push_back(std::move(series));
  }
  return panel;
}

void show_progress(std::size_t done, std::size_t count, const std::string& name) {
  if (!isatty(STDERR_FILENO)) return;
  if (done == count)
    std::fprintf(stderr, "\r\033[K");
  else
    std::fprintf(stderr, "\r\033[K[%2zu/%zu] fitting %s", done + 1, count, name.c_str());
  std::fflush(stderr);
}

void print_row(const Problem& problem, const Report& report) {
  std::printf("%-9s %-8s %4zu %2zu ", problem.name.c_str(), problem.level.c_str(), problem.y.size(),
              problem.certified.size());
  for (const Run& run : report.runs) std::printf("| %6lld %7.2f ", static_cast<long long>(run.iterations), run.worst);
  std::printf("| %8.2f%s| %7.1f\n", report.deviation, problem.name == "Lanczos1" ? "*" : " ", report.milliseconds);
}

bool print_bar(bool reached, const char* text) {
  std::printf("%s %s\n", reached ? "[ok]    " : "[MISSED]", text);
  return reached;
}

void explain_lanczos1(const Report& report) {
  std::printf(
      "\n* Lanczos1 is data without error: its certified sum of squares is 1.43e-25, and our fit leaves %.2e. Rounded "
      "to\n"
      "  the 11 digits that are certified, the parameters alone leave %.2e, so at them no program can find the\n"
      "  certified standard deviations. The fitted parameters themselves agree.\n",
      report.runs[0].sum_of_squares, report.certified_squares);
}

bool summarise(const std::vector<Problem>& problems, const std::vector<Report>& reports) {
  std::size_t starts = 0, reached = 0, parameters = 0, deviations = 0, expected = 0;
  double worst = 0, total = 0, milliseconds = 0;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    for (const Run& run : reports[i].runs) {
      ++starts;
      reached += run.worst >= fit_digits;
      worst += run.worst;
      total += run.total;
      parameters += problems[i].certified.size();
    }
    milliseconds += reports[i].milliseconds;
    if (problems[i].name == "Lanczos1") {
      explain_lanczos1(reports[i]);
      continue;
    }
    ++expected;
    deviations += reports[i].deviation >= deviation_digits;
  }
  const double average = worst / static_cast<double>(starts);
  char text[160];
  std::printf("\n");
  std::snprintf(text, sizeof text, "%zu of %zu starts reach %g digits in every parameter (at least %zu)", reached,
                starts, fit_digits, starts - starts_allowed_to_fail);
  bool good = print_bar(reached + starts_allowed_to_fail >= starts, text);
  std::snprintf(text, sizeof text, "%.2f digits on average in the worst parameter, %.2f in all (at least %.1f)",
                average, total / static_cast<double>(parameters), average_digits);
  good = print_bar(average >= average_digits, text) && good;
  std::snprintf(text, sizeof text, "standard deviations agree to %g digits on %zu of %zu problems (all but Lanczos1)",
                deviation_digits, deviations, reports.size());
  good = print_bar(deviations == expected, text) && good;
  std::printf("         %.2f s in all\n", milliseconds / 1000);
  return good;
}

Options parse(int argc, char** argv) {
  Options options;
  options.svg = (std::filesystem::path(argv[0]).parent_path() / "nist_fit.svg").string();
  chart::read_arguments(argc, argv, {{"--data", "DIR", &options.data}, {"--svg", "FILE", &options.svg}});
  return options;
}

std::vector<Problem> load(const Options& options) {
  if (options.data.empty()) return nist::built_in_problems();
  std::vector<Problem> problems;
  for (const std::string& name : nist::all_names())
    problems.push_back(nist::read_problem((std::filesystem::path(options.data) / (name + ".dat")).string(), name));
  return problems;
}

int run(const Options& options) {
  const std::vector<Problem> problems = load(options);
  std::printf("NIST nonlinear regression: %s\n\n",
              options.data.empty() ? "the 17 problems (14 tables of data) with at most 37 observations"
                                   : ("all 27 problems, from " + options.data).c_str());
  std::printf("problem   level       n  p |    start 1     |    start 2     | std.dev. |  time/ms\n");
  std::printf("                           |  steps  digits |  steps  digits |   digits |\n");
  std::vector<Report> reports;
  std::vector<chart::Panel> panels;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    show_progress(i, problems.size(), problems[i].name);
    reports.push_back(report_on(problems[i]));
    panels.push_back(panel_for(problems[i], reports.back()));
    show_progress(problems.size(), problems.size(), "");
    print_row(problems[i], reports.back());
    std::fflush(stdout);
  }
  const bool good = summarise(problems, reports);
  chart::write(options.svg, "NIST reference regressions: observations and the curves that reel fitted", panels);
  std::printf("         data and curves: %s\n", options.svg.c_str());
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const std::exception& error) {
    chart::stop("nist_fit", error.what());
  }
}
