// The scenarios of allocation_failures.cpp that are about families of ops.
#include <reel/fft.hpp>
#include <reel/fft/signal.hpp>
#include <string>

#include "battery/allocation_scenarios.hpp"

using namespace reel;

namespace battery {

Results solved(const Tensor& b) {
  return gradient_of([&](const Tensor& d) {
    const Tensor a = weights() + diag(d);
    return sum(solve(a, b)) + sum(inverse(a)) + det(a) + slogdet(a).logdet;
  });
}
Results factored() {
  return gradient_of([](const Tensor& d) {
    const Tensor l = cholesky(weights() + diag(d));
    return sum(l) + sum(triangular_solve(l, eye(3)));
  });
}
Results convolved() {
  const Tensor w = reshape(linspace(-1, 1, 36), {2, 2, 3, 3});
  return gradient_of(
      [&](const Tensor& x) {
        const Tensor y = conv2d(x, w, {.padding = Padding::same});
        return sum(max_pool2d(y * y, {2, 2})) + sum(avg_pool2d(y, {2, 2}));
      },
      reshape(linspace(0, 2, 50), {1, 2, 5, 5}));
}
// Lengths of all three methods of transforms, whose plans are made and kept.
Results transformed() {
  return gradient_of(
      [](const Tensor& x) {
        const Tensor y = abs(fft(x)) + irfft(rfft(x), 37) + lfilter(ones({2}), ones({2}) * 0.5, x);
        return sum(y * y) + sum(abs(rfft(y, 144))) + sum(dct(x)) + sum(convolve(x, y, ConvolveMode::same));
      },
      linspace(0.5, 2, 37));
}
Results normalised() {
  return gradient_of(
      [](const Tensor& x) {
        return sum(layer_norm(x) * x) + sum(softmax_cross_entropy(x, softmax(x * 2))) + sum(rms_norm(x, ones({4})));
      },
      reshape(linspace(0, 2, 12), {3, 4}));
}
Results joined() {
  return gradient_of([](const Tensor& x) {
    const std::vector<Tensor> parts = split(x, 3);
    return sum(concatenate({x, x * 2}) * concatenate({stack({x, x})[0], tile(x, {1})})) + sum(parts[0] * parts[2]) +
           sum(pad(x, {1}, {2}) * 3) + sum(roll(x, 1, 0) * flip(x)) + sum(unstack(x)[1]);
  });
}
Results gathered() {
  const Variable table(reshape(linspace(0, 1, 20), {5, 4}), "table");
  const Tensor rows = tensor<std::int64_t>({1, 3, 1});
  GradientTape tape({.persistent = true});
  const Tensor y = sum(gather(table, rows) * 2);
  const Gradient g = tape.gradient(y, table);
  const IndexedSlices s = g.slices();
  table.assign_sub(g);
  return {s.values, s.indices, *g, table.read(), text(to_string(g))};
}
Results sliced() {
  return gradient_of(
      [](const Tensor& x) {
        return sum(x(range(0, 2), newaxis, range_from(1)) * 2) + sum(x(ellipsis, 0)) + sum(diagonal(x)) + sum(tril(x)) +
               sum(take_along_axis(x, tensor<std::int64_t>({{0}, {1}, {2}}), 1)) +
               sum(scatter_add(x, tensor<std::int64_t>({0, 0}), ones({2, 3})));
      },
      weights());
}
Results reduced() {
  return gradient_of(
      [](const Tensor& x) {
        return mean(x) + prod(x) + max(x) + sum(var(x, 0)) + norm(x) + logsumexp(x) + sum(cumsum(x, 0) * x) +
               sum(cumprod(x, 1) * x) + sum(reel::std(x, 1, 1, true) * x);
      },
      weights());
}
Results drawn() {
  Generator g(7);
  return {random_uniform(g, {5}),
          random_normal(g, {5}),
          random_truncated_normal(g, {5}),
          random_bernoulli(g, {5}, 0.3),
          random_categorical(g, ones({3}), 4),
          random_integers(g, {5}, 0, 9),
          random_permutation(g, 6)};
}
Results made() {
  static const double values[] = {1, 2, 3};
  return {tensor<bool>({true, false}),
          tensor<float>({{1, 2}, {3, 4}}),
          from_data(std::vector<double>{1, 2, 3}),
          borrow(values, {3}, std::string("a text that no short string holds in place")) * 2,
          cast(point(), DType::float32),
          cast(point(), DType::complex128),
          full({2, 2}, 3),
          eye(3),
          arange(5),
          one_hot(tensor<std::int64_t>({0, 2}), 3)};
}
Results parallel() {
  set_num_threads(2);
  const Tensor x = full({1 << 18}, 0.5);
  const auto [y, g] = value_and_grad([](const Tensor& a) { return sum(tanh(a) * a); })(x);
  return {y, sum(g), sum(matmul(ones({200, 200}), ones({200, 200})))};
}

}  // namespace battery
