// The forward-backward recursion of Graves et al. 2006 on logarithms. States are the labels with a blank before and
// behind each. alpha(t, s) ends with the emission at t, beta(t, s) begins behind it: where a probability is 0, no
// infinity is subtracted. The blank's emission at each step, and the largest alpha of the step before, are subtracted
// and counted in the loss; of beta what is common to all states is subtracted too. Numbers of the size of the loss
// would be rounded, and with them the probabilities of states, which are normalized at each step.
#include "nn/ctc_loops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/table.hpp"
#include "loops/loops.hpp"
#include "loops/workspaces.hpp"

namespace reel::loops {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// Exponents below count as this one, whose exponential, 1e-304, is negligible beside 1: exp of a smaller one takes a
// microcode assist of more than a hundred cycles.
constexpr double least_exponent = -700;
constexpr double least_probability = 1e-304;  // above exp(-700)

// log(e^a + e^b + e^c) as `most`, the largest of them, plus log(1 + e^smaller + e^least): the arguments of both e.
struct LogSum {
  double most, smaller, least;
  LogSum(double a, double b, double c) {
    const double upper = a < b ? b : a, lower = a < b ? a : b, rest = upper < c ? upper : c;
    most = upper < c ? c : upper;
    const double shift = most == -infinity ? 0 : most;
    smaller = std::max((lower < rest ? rest : lower) - shift, least_exponent);
    least = std::max((lower < rest ? lower : rest) - shift, least_exponent);
    if (const double sum = a + b + c; sum != sum) most = sum;  // NaN stays
  }
};

// The recursion of one example in memory of its own, a row of states at a time.
class Recursion {
 public:
  // In numbers of 8 bytes. Rows of alpha begin with two states of probability 0, gap and next end with them.
  static std::int64_t room(std::int64_t steps, std::int64_t states) { return (steps + 6) * (states + 2); }

  // Rows of log_probs and slopes are `step` apart.
  Recursion(const double* log_probs, const std::int64_t* target, std::int64_t steps, std::int64_t labels,
            std::int64_t step, std::int64_t blank, std::byte* memory)
      : log_probs_(log_probs), steps_(steps), labels_(labels), step_(step), n_(2 * labels + 1) {
    const std::int64_t row = n_ + 2;
    label_ = reinterpret_cast<std::int64_t*>(memory);
    gap_ = reinterpret_cast<double*>(memory) + row;
    beta_ = gap_ + row;
    next_ = beta_ + row;
    work_ = next_ + row;
    alpha_ = work_ + 2 * row;
    for (std::int64_t s = 0; s < n_; ++s) {
      label_[s] = s % 2 == 0 ? blank : target[s / 2];
      gap_[s] = s % 2 == 1 && s > 1 && target[s / 2] != target[s / 2 - 1] ? 0 : -infinity;
    }
    for (double* end : {gap_, next_}) end[n_] = end[n_ + 1] = -infinity;
  }

  // Fills alpha; returns the loss.
  double forward() const {
    if (steps_ == 0) return labels_ == 0 ? 0 : infinity;
    double total = 0, above = 0;  // what has been subtracted; the largest alpha of the step before
    for (std::int64_t t = 0; t < steps_; ++t) {
      double* const row = alpha(t);
      row[-2] = row[-1] = -infinity;
      if (t == 0)
        for (std::int64_t s = 0; s < n_; ++s) row[s] = s < 2 ? 0 : -infinity;
      else
        arrive(alpha(t - 1), -1, gap_, row);
      const double blank = emission_of_blank(t), shift = above;
      total += above + blank;
      above = -infinity;
      for (std::int64_t s = 0; s < n_; ++s) {
        row[s] = (row[s] - shift) + (emissions(t)[label_[s]] - blank);
        above = above < row[s] ? row[s] : above;
      }
      above = finite_or_zero(above);
    }
    const double* last = alpha(steps_ - 1) + n_;
    const LogSum end(last[-1], n_ > 1 ? last[-2] : -infinity, -infinity);
    return -(total + (end.most + std::log(1 + std::exp(end.smaller))));
  }
  // Subtracts the probability of each state, given the labels, from the slope of its class. The loss is finite or NaN.
  void backward(double* slopes) const {
    for (std::int64_t s = 0; s < n_; ++s) beta_[s] = s + 2 < n_ ? -infinity : 0;
    for (std::int64_t t = steps_ - 1; t >= 0; --t) {
      const double *row = alpha(t), blank = emission_of_blank(t);
      double most = -infinity, sum = 0;
      for (std::int64_t s = 0; s < n_; ++s) {
        work_[s] = row[s] + beta_[s];
        most = most < work_[s] ? work_[s] : most;
      }
      for (std::int64_t s = 0; s < n_; ++s) {
        work_[s] = std::max(work_[s] - most, least_exponent);
        next_[s] = (beta_[s] - most) + (emissions(t)[label_[s]] - blank);
      }
      run(exp_, work_, n_);
      for (std::int64_t s = 0; s < n_; ++s) sum += work_[s];
      const double share = 1 / sum;
      for (std::int64_t s = 0; s < n_; ++s) {
        const double probability = work_[s] * share;
        slopes[t * step_ + label_[s]] -= probability < least_probability ? 0 : probability;
      }
      arrive(next_, 1, gap_ + 2, beta_);
    }
  }

 private:
  double* alpha(std::int64_t t) const { return alpha_ + t * (n_ + 2) + 2; }
  const double* emissions(std::int64_t t) const { return log_probs_ + t * step_; }
  static double finite_or_zero(double x) { return std::isfinite(x) ? x : 0; }
  double emission_of_blank(std::int64_t t) const { return finite_or_zero(emissions(t)[label_[0]]); }
  // out(s): the sum over the states s, s + side and, without a gap at s, s + 2 side.
  void arrive(const double* from, std::int64_t side, const double* gap, double* out) const {
    double *smaller = work_, *least = work_ + n_;
    for (std::int64_t s = 0; s < n_; ++s) {
      const LogSum sum(from[s], from[s + side], gap[s] == 0 ? from[s + 2 * side] : -infinity);
      out[s] = sum.most;
      smaller[s] = sum.smaller;
      least[s] = sum.least;
    }
    run(exp_, work_, 2 * n_);
    for (std::int64_t s = 0; s < n_; ++s) smaller[s] = 1 + smaller[s] + least[s];
    run(log_, smaller, n_);
    for (std::int64_t s = 0; s < n_; ++s) out[s] += smaller[s];
  }
  static void run(kernels::Loop f, double* x, std::int64_t n) {
    const kernels::Strided in{x, 1};
    f(&in, x, n);
  }

  const double* log_probs_;
  std::int64_t steps_, labels_, step_, n_;
  std::int64_t* label_;                           // the class of each state
  double *gap_, *beta_, *next_, *work_, *alpha_;  // gap: 0 where a state may follow the one before the last
  kernels::Loop exp_ = kernels::pointwise(kernels::index_of<"exp">(), DType::float64).value,
                log_ = kernels::pointwise(kernels::index_of<"log">(), DType::float64).value;
};

}  // namespace

void ctc(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths,
         std::int64_t blank, bool zero_infinity, const Tensor& loss, const Tensor& slopes) {
  const Shape shape = log_probs.shape();
  const std::int64_t count = shape[1], classes = shape[2], width = targets.shape()[1], states = 2 * width + 1;
  const auto ints = [](const Tensor& x) { return detail::mutable_data<std::int64_t>(x); };
  const auto* probs = detail::mutable_data<double>(log_probs);
  double *result = detail::mutable_data<double>(loss),
         *to = slopes.defined() ? detail::mutable_data<double>(slopes) : nullptr;
  if (to) std::fill_n(to, slopes.size(), 0.0);
  if (count == 0) return;
  Workspaces workspaces(count, Recursion::room(shape[0], states) * static_cast<std::int64_t>(sizeof(double)));
  parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
    workspaces.use([&](std::byte* memory) {
      for (std::int64_t i = begin; i < end; ++i) {
        const Recursion r(probs + i * classes, ints(targets) + i * width, ints(input_lengths)[i],
                          ints(target_lengths)[i], count * classes, blank, memory);
        result[i] = r.forward();
        if (to && result[i] != infinity) r.backward(to + i * classes);
        if (zero_infinity && result[i] == infinity) result[i] = 0;
      }
    });
  });
}

InvalidAlignment find_invalid(const Shape& log_probs, const Tensor& targets, const Tensor& input_lengths,
                              const Tensor& target_lengths, std::int64_t blank) {
  const auto ints = [](const Tensor& x) { return detail::mutable_data<std::int64_t>(x); };
  const std::int64_t width = targets.shape()[1];
  for (std::int64_t i = 0; i < log_probs[1]; ++i) {
    const std::int64_t steps = ints(input_lengths)[i], labels = ints(target_lengths)[i];
    if (steps < 0 || steps > log_probs[0]) return {0, i, steps};
    if (labels < 0 || labels > width) return {1, i, labels};
    for (std::int64_t k = 0; k < labels; ++k)
      if (const std::int64_t label = ints(targets)[i * width + k]; label < 0 || label >= log_probs[2] || label == blank)
        return {2, i * width + k, label};
  }
  return {};
}

}  // namespace reel::loops
