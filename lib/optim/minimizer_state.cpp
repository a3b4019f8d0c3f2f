#include "optim/minimizer_state.hpp"

#include <reel/ops/make.hpp>

namespace reel::optim {

namespace {

constexpr std::size_t common_numbers = 5;  // method, value, iterations, evaluations, products

std::int64_t count(double x) { return static_cast<std::int64_t>(x); }

[[noreturn]] void fail_state(const char* op) {
  fail<ValueError>(op, "the state is not one that {} has left for so many parameters; start with an empty one", op);
}

Vector doubles(const char* op, const Tensor& x) {
  if (!x.defined() || x.dtype() != DType::float64) fail_state(op);
  return x.to_vector<double>();
}

}  // namespace

std::optional<Saved> read_state(const char* op, const MinimizerState* state, Method method, std::size_t size,
                                std::size_t numbers, std::int64_t group) {
  if (!state || !state->position.defined()) return std::nullopt;
  const Vector common = doubles(op, state->numbers), rows = doubles(op, state->vectors);
  Saved saved;
  saved.now.x = doubles(op, state->position);
  saved.now.gradient = doubles(op, state->gradient);
  if (common.size() != common_numbers + numbers || common[0] != static_cast<double>(method) ||
      saved.now.x.size() != size || saved.now.gradient.size() != size || state->vectors.rank() != 2 ||
      state->vectors.shape()[1] != static_cast<std::int64_t>(size) || state->vectors.shape()[0] % group != 0)
    fail_state(op);
  saved.now.value = common[1];
  saved.summary.iterations = count(common[2]);
  saved.summary.evaluations = count(common[3]);
  saved.summary.products = count(common[4]);
  saved.numbers.assign(common.begin() + common_numbers, common.end());
  for (auto row = rows.begin(); row != rows.end(); row += static_cast<std::ptrdiff_t>(size))
    saved.vectors.emplace_back(row, row + static_cast<std::ptrdiff_t>(size));
  return saved;
}

StopReason read_reason(const char* op, double number) {
  if (!(number >= 0 && number <= static_cast<double>(StopReason::stopped))) fail_state(op);
  const auto reason = static_cast<StopReason>(number);
  return reason == StopReason::stopped ? StopReason::iteration_limit : reason;
}

void write_state(MinimizerState* state, Method method, const Saved& saved) {
  if (!state) return;
  const auto size = static_cast<std::int64_t>(saved.now.x.size());
  Vector numbers{static_cast<double>(method), saved.now.value, static_cast<double>(saved.summary.iterations),
                 static_cast<double>(saved.summary.evaluations), static_cast<double>(saved.summary.products)};
  numbers.insert(numbers.end(), saved.numbers.begin(), saved.numbers.end());
  Vector rows;
  for (const Vector& v : saved.vectors) rows.insert(rows.end(), v.begin(), v.end());
  *state = {from_data(saved.now.x, {size}), from_data(saved.now.gradient, {size}), from_data(numbers),
            from_data(rows, {static_cast<std::int64_t>(saved.vectors.size()), size})};
}

}  // namespace reel::optim
