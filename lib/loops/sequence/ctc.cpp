// The forward-backward recursion of Graves et al. 2006 on logarithms. States are the labels with a blank before and
// after each. alpha(t, s) includes the emission at t, beta(t, s) does not. So for probabilities of 0 no infinity is
// subtracted.
#include "loops/sequence/ctc.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "loops/loops.hpp"
#include "loops/workspaces.hpp"

namespace reel::loops {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double log_sum(double a, double b, double c) {
  const double most = std::max({a, b, c});
  if (most == -infinity) return a + b + c;  // NaN stays
  return most + std::log(std::exp(a - most) + std::exp(b - most) + std::exp(c - most));
}

// One example. Rows of log_probs and slopes are `step` apart.
struct Example {
  const double* log_probs;
  const std::int64_t* target;
  std::int64_t steps, labels, step, blank;

  std::int64_t states() const { return 2 * labels + 1; }
  std::int64_t label(std::int64_t s) const { return s % 2 == 0 ? blank : target[s / 2]; }
  double emission(std::int64_t t, std::int64_t s) const { return log_probs[t * step + label(s)]; }
  // Whether state s may follow s - 2, skipping the blank between them.
  bool skips(std::int64_t s) const { return s % 2 == 1 && s > 1 && target[s / 2] != target[s / 2 - 1]; }

  // alpha [steps, states]; returns the loss.
  double forward(double* alpha) const {
    const std::int64_t n = states();
    if (steps == 0) return labels == 0 ? 0 : infinity;
    for (std::int64_t t = 0; t < steps; ++t) {
      const double* before = alpha + (t - 1) * n;
      for (std::int64_t s = 0; s < n; ++s) {
        const double arrived =
            t == 0 ? (s < 2 ? 0 : -infinity)
                   : log_sum(before[s], s > 0 ? before[s - 1] : -infinity, skips(s) ? before[s - 2] : -infinity);
        alpha[t * n + s] = arrived + emission(t, s);
      }
    }
    const double* last = alpha + (steps - 1) * n;
    return -log_sum(last[n - 1], n > 1 ? last[n - 2] : -infinity, -infinity);
  }
  // Subtracts the probability of each state, given the labels, from the slope of its class. beta: room for 2 n numbers.
  void backward(const double* alpha, double loss, double* beta, double* slopes) const {
    const std::int64_t n = states();
    double* next = beta + n;
    for (std::int64_t s = 0; s < n; ++s) beta[s] = s + 2 < n ? -infinity : 0;
    for (std::int64_t t = steps - 1; t >= 0; --t) {
      for (std::int64_t s = 0; s < n; ++s) {
        slopes[t * step + label(s)] -= std::exp(alpha[t * n + s] + beta[s] + loss);
        next[s] = beta[s] + emission(t, s);
      }
      for (std::int64_t s = 0; s < n; ++s)
        beta[s] =
            log_sum(next[s], s + 1 < n ? next[s + 1] : -infinity, s + 2 < n && skips(s + 2) ? next[s + 2] : -infinity);
    }
  }
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
  Workspaces workspaces(count, (shape[0] + 2) * states * static_cast<std::int64_t>(sizeof(double)));
  parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
    workspaces.use([&](std::byte* memory) {
      for (std::int64_t i = begin; i < end; ++i) {
        const Example e{probs + i * classes,     ints(targets) + i * width, ints(input_lengths)[i],
                        ints(target_lengths)[i], count * classes,           blank};
        auto* beta = reinterpret_cast<double*>(memory);
        result[i] = e.forward(beta + 2 * states);
        if (to && result[i] != infinity) e.backward(beta + 2 * states, result[i], beta, to + i * classes);
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
