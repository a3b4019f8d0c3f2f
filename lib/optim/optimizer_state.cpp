#include "optim/optimizer_state.hpp"

#include <cmath>
#include <reel/ops/make.hpp>

#include "core/fail.hpp"
#include "ops/apply/effect.hpp"

namespace reel {
namespace detail {
namespace {

// Not recorded, unlike Variable::read.
Tensor read_unrecorded(const Variable& v) {
  Tensor result;
  VariableAccess::modify(v, [&](const Tensor& value) { result = value; });
  return result;
}

}  // namespace

template <class T>
T StateNumber<T>::read() const {
  if (ops::handled(ops::reads_variables)) return variable_->read().item<T>();
  return *mutable_data<T>(read_unrecorded(*variable_));
}
template <class T>
void StateNumber<T>::write(T number) const {
  if (ops::handled(ops::writes_variables)) return variable_->assign(scalar(number));
  VariableAccess::modify(*variable_, [&](Tensor& value) {
    ops::make_writable(value);
    *mutable_data<T>(value) = number;
  });
}
template <class T>
void StateNumber<T>::release() const noexcept {
  VariableAccess::abandon(*variable_);
  delete variable_;
}
template class StateNumber<double>;
template class StateNumber<std::int64_t>;

StateTensor::StateTensor(const StateTensor& other)
    : value_(other.variable_ ? read_unrecorded(*other.variable_) : other.value_) {}

}  // namespace detail

namespace {

// While it lives nothing is traced: an optimiser's state may become a Variable inside a traced function, with the value
// that it had before.
class Untraced {
 public:
  Untraced() noexcept : tracer_(detail::this_thread.state->tracer) {
    if (tracer_) detail::this_thread.state->tracer = nullptr;
  }
  Untraced(const Untraced&) = delete;
  Untraced& operator=(const Untraced&) = delete;
  ~Untraced() {
    if (tracer_) detail::this_thread.state->tracer = tracer_;
  }

 private:
  ops::Tracer* tracer_;
};

}  // namespace

template <class T>
const Variable& OptimizerAccess::made(detail::StateNumber<T>& number, const char* name) {
  const Untraced untraced;
  if (!number.variable_) number.variable_ = new Variable(scalar(number.value_), name, false);
  return *number.variable_;
}

const Variable& OptimizerAccess::made(detail::StateTensor& state, const Variable& of, const char* name) {
  const Untraced untraced;
  if (!state.variable_) {
    state.variable_.emplace(state.value_.defined() ? state.value_ : zeros(of.shape(), kept_dtype(of.dtype())), name,
                            false);
    state.value_ = {};
  }
  return *state.variable_;
}

template const Variable& OptimizerAccess::made(detail::StateNumber<double>& number, const char* name);
template const Variable& OptimizerAccess::made(detail::StateNumber<std::int64_t>& number, const char* name);

double OptimizerAccess::peek(const Hyperparameter& number) {
  return number.variable_ ? *detail::mutable_data<double>(detail::read_unrecorded(*number.variable_)) : number.value_;
}
template <class T>
Tensor OptimizerAccess::value(const detail::StateNumber<T>& number) {
  return number.variable_ ? detail::read_unrecorded(*number.variable_) : scalar(number.value_);
}
template Tensor OptimizerAccess::value(const detail::StateNumber<double>& number);
template Tensor OptimizerAccess::value(const detail::StateNumber<std::int64_t>& number);

Tensor OptimizerAccess::value(const detail::StateTensor& state) {
  return state.variable_ ? detail::read_unrecorded(*state.variable_) : state.value_;
}

const Variable& OptimizerAccess::velocity(SGD& sgd, const Variable& of) {
  return made(sgd.states_[VariableAccess::state_key(of)], of, "velocity");
}
const Variable& OptimizerAccess::mean(Adam& adam, const Variable& of) {
  return made(adam.states_[VariableAccess::state_key(of)].mean, of, "mean");
}
const Variable& OptimizerAccess::square(Adam& adam, const Variable& of) {
  return made(adam.states_[VariableAccess::state_key(of)].square, of, "square");
}
const Variable& OptimizerAccess::steps(Adam& adam, const Variable& of) {
  return made(adam.states_[VariableAccess::state_key(of)].steps, "steps");
}

void optim::require_option(const char* op, const char* name, double value, OptionDomain domain) {
  if (domain == OptionDomain::rate && (!(value >= 0) || std::isinf(value)))
    fail<ValueError>(op, "{} is {}, must be finite and not negative", name, value);
  if (domain == OptionDomain::decay && !(value >= 0 && value < 1))
    fail<ValueError>(op, "{} is {}, must lie in [0, 1)", name, value);
  if (domain == OptionDomain::not_negative && !(value >= 0))
    fail<ValueError>(op, "{} is {}, must not be negative", name, value);
}

}  // namespace reel
