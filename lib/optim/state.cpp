#include "optim/state.hpp"

#include <reel/ops/make.hpp>

#include "ops/index/rows.hpp"

namespace reel {
namespace detail {
namespace {

// Not recorded, unlike Variable::read.
Tensor value_of(const Variable& v) {
  Tensor result;
  VariableAccess::modify(v, [&](const Tensor& value) { result = value; });
  return result;
}

}  // namespace

template <class T>
T StateNumber<T>::read() const {
  return *mutable_data<T>(value_of(*variable_));
}
template <class T>
void StateNumber<T>::write(T number) const {
  VariableAccess::modify(*variable_, [&](Tensor& value) {
    ops::make_writable(value);
    *mutable_data<T>(value) = number;
  });
}
template <class T>
void StateNumber<T>::release() const noexcept {
  delete variable_;
}
template class StateNumber<double>;
template class StateNumber<std::int64_t>;

StateTensor::StateTensor(const StateTensor& other)
    : value_(other.variable_ ? value_of(*other.variable_) : other.value_) {}

}  // namespace detail

template <class T>
const Variable& OptimizerAccess::made(detail::StateNumber<T>& number, const char* name) {
  if (!number.variable_) number.variable_ = new Variable(scalar(number.value_), name, false);
  return *number.variable_;
}

const Variable& OptimizerAccess::made(detail::StateTensor& state, const Variable& of, const char* name) {
  if (!state.variable_) {
    state.variable_.emplace(state.value_.defined() ? state.value_ : zeros(of.shape(), of.dtype()), name, false);
    state.value_ = {};
  }
  return *state.variable_;
}

const Variable& OptimizerAccess::variable(Hyperparameter& number, const char* name) { return made(number, name); }
const Variable& OptimizerAccess::velocity(SGD& sgd, const Variable& of) {
  return made(sgd.velocity_[of.id()], of, "velocity");
}
const Variable& OptimizerAccess::mean(Adam& adam, const Variable& of) {
  return made(adam.states_[of.id()].mean, of, "mean");
}
const Variable& OptimizerAccess::square(Adam& adam, const Variable& of) {
  return made(adam.states_[of.id()].square, of, "square");
}
const Variable& OptimizerAccess::steps(Adam& adam, const Variable& of) {
  return made(adam.states_[of.id()].steps, "steps");
}

}  // namespace reel
