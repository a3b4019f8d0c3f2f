// Scenarios of compiled functions for allocation_failures.cpp: tracing, runs and derivatives. Those that assign check
// that a failed call has changed nothing: a std::logic_error is reported as a failure of the scenario.
#include <algorithm>
#include <new>
#include <reel/compile.hpp>
#include <reel/control.hpp>
#include <reel/custom.hpp>
#include <reel/optim.hpp>
#include <stdexcept>

#include "battery/allocation_scenarios.hpp"

using namespace reel;

namespace battery {

namespace {

constexpr auto wave = [](const Tensor& x) { return sum(tanh(matmul(weights(), x)) * x + exp(x * .5)); };

// Calls f, which assigns the variables. After a failure their values must be those from before.
template <class F>
auto unchanged_or_called(std::initializer_list<Variable> variables, const F& f) {
  std::vector<Tensor> before;
  for (const Variable& v : variables) before.push_back(v.read());
  try {
    return f();
  } catch (const std::bad_alloc&) {
    std::size_t k = 0;
    for (const Variable& v : variables) {
      const Tensor now = v.read(), &was = before[k++];
      if (!std::equal(was.data<double>().begin(), was.data<double>().end(), now.data<double>().begin()))
        throw std::logic_error("a failed call has assigned a variable");
    }
    throw;
  }
}

template <class F>
Results traced_modes(const F& f) {
  return every_mode(compile(f));
}

struct Model {
  Variable w{weights(), "w"}, b{point(), "b"};
  auto leaves() { return std::tie(w, b); }
};

}  // namespace

Results compiled_call() {
  const auto f = compile(wave);
  Results all;
  for (int i = 0; i < 2; ++i) all.push_back(f(point() * (1. + i)));
  return all;
}
Results compiled_modes() { return traced_modes(wave); }
Results compiled_hessian() { return {hessian(compile(wave))(point())}; }
Results compiled_inside() {
  return {compile([](const Tensor& x) { return hessian(wave)(x); })(point()),
          compile([](const Tensor& x) { return jvp(wave, x, ones({3})).second; })(point())};
}
Results compiled_check() {
  const Variable v(point(), "v");
  const auto f = compile(
      [&](const Tensor& x) {
        v.assign_add(x);
        return sum(v * x);
      },
      {.check = 1});
  return {unchanged_or_called({v}, [&] { return f(point()); }), v.read()};
}
Results compiled_eviction() {
  const auto f = compile([](const Tensor& x, int n) { return x * n; }, {.max_signatures = 2});
  Results all;
  struct Silence {
    Silence() {
      set_warning_handler([](std::string_view, void*) {});
    }
    ~Silence() { set_warning_handler(nullptr); }
  } silence;
  for (int n = 0; n < 3; ++n) all.push_back(f(point(), n));
  return all;
}
Results compiled_while_loop() {
  return traced_modes([](const Tensor& x) {
    return sum(
        while_loop([](const Tensor& z) { return sum(z) < 30.; }, [](const Tensor& z) { return z * 1.5 + .5; }, x));
  });
}
Results compiled_cond() {
  return traced_modes([](const Tensor& x) {
    return sum(cond(
        sum(x) > 0., [](const Tensor& z) { return z * z; }, [](const Tensor& z) { return -z; }, x));
  });
}
Results compiled_scan() {
  return traced_modes([](const Tensor& x) {
    const auto [last, all] = scan([](const Tensor& c, const Tensor& e) { return std::pair(c * .9 + e, sin(c)); },
                                  scalar(0.), broadcast_to(sum(x), {80}));
    return last + sum(all);
  });
}
Results compiled_checkpoint() {
  return traced_modes([](const Tensor& x) { return checkpoint(wave)(x) + wave(x); });
}
Results compiled_custom_gradient() {
  return gradient_of(compile([](const Tensor& x) {
    return sum(custom_gradient(
        [](const Tensor& y) { return std::pair(y * y, [y](const Tensor& dy) { return 3. * y * dy; }); })(x));
  }));
}
// Results are built before variables are assigned.
Results compiled_tree() {
  const Variable v(point(), "v");
  const auto f = compile([&](const std::vector<Tensor>& x, const std::map<std::string, Tensor>& y) {
    v.assign(v * 2. + x[0]);
    return std::pair(std::map<std::string, Tensor>{{"a name that is longer than any short string", x[0] * v},
                                                   {"another name that needs memory of its own", y.at("y")}},
                     std::vector<std::vector<Tensor>>{{x[1]}, {x[1] + 1., v.read()}});
  });
  const std::vector<Tensor> x{point(), point() * 2.};
  const std::map<std::string, Tensor> y{{"y", point()}};
  Results all;
  for (int i = 0; i < 2; ++i) {
    const auto [named, listed] = unchanged_or_called({v}, [&] { return f(x, y); });
    for (const auto& [name, one] : named) all.push_back(one);
    for (const auto& list : listed) all.insert(all.end(), list.begin(), list.end());
  }
  all.push_back(v.read());
  return all;
}
Results compiled_assigns() {
  const Variable v(point(), "v"), count(scalar(0.), "count"), table(zeros({4, 3}), "table");
  const auto f = compile([&](const Tensor& x) {
    count.assign_add(scalar(1.));
    v.assign_sub(x * count);
    table.assign_add(Gradient(IndexedSlices{reshape(x, {1, 3}), from_data(std::vector<std::int64_t>{2}), {4, 3}}));
    return v + x;
  });
  Results all;
  for (int i = 0; i < 2; ++i) all.push_back(unchanged_or_called({v, count, table}, [&] { return f(point()); }));
  GradientTape tape;
  const Tensor x = point();
  tape.watch(x);
  const Tensor y = unchanged_or_called({v, count, table}, [&] { return f(x); });
  all.push_back(*tape.gradient(y, x));
  for (const Variable& one : {v, count, table}) all.push_back(one.read());
  return all;
}
Results compiled_loop_with_effects() {
  const Variable v(point(), "v");
  Generator g(3);
  const auto f = compile([&](const Tensor& x, Generator& from) {
    return fori_loop(
        80,
        [&](const Tensor&, const Tensor& z) {
          v.assign(v * .9 + z * .1);
          return z * .95 + random_uniform(from, {3}) * v;
        },
        x);
  });
  const Tensor y = unchanged_or_called({v}, [&] { return f(point(), g); });
  return {y, v.read(), scalar(static_cast<double>(g.position()))};
}
template <class Make>
Results compiled_steps(const Make& make, bool clipped) {
  Model model;
  auto optimizer = make();
  const auto step = compile([&](const Tensor& x, const Tensor& rows) {
    GradientTape tape;
    const Tensor loss = sum(square(matmul(gather(model.w, rows), x) + model.b));
    std::vector<Gradient> g = tape.gradient(loss, {model.w, model.b});
    optimizer.step(clipped ? clip_by_global_norm(g, 1.).gradients : g, model);
    return loss;
  });
  const Tensor rows = from_data(std::vector<std::int64_t>{2, 0, 2});
  Results all;
  for (int i = 0; i < 2; ++i)
    all.push_back(unchanged_or_called({model.w, model.b}, [&] { return step(point(), rows); }));
  all.push_back(model.w.read());
  all.push_back(model.b.read());
  return all;
}
Results compiled_adam() {
  return compiled_steps([] { return Adam({.learning_rate = .1}); }, false);
}
Results compiled_clipped_sgd() {
  return compiled_steps([] { return SGD({.learning_rate = .1, .momentum = .9}); }, true);
}
Results compiled_local_adam() {
  const Variable v(point(), "v");
  const auto f = compile([&](const Tensor& x) {
    Adam adam({.learning_rate = .1});
    GradientTape tape;
    const Tensor loss = sum(square(v * x));
    adam.step(tape.gradient(loss, v), v);
    return sum(v * x);
  });
  const Tensor x = point();
  GradientTape tape({.watch_accessed_variables = false});
  tape.watch(x);
  const Tensor y = unchanged_or_called({v}, [&] { return f(x); });
  return {y, *tape.gradient(y, x), v.read()};
}
Results compiled_budget() {
  const auto f = compile([](const Tensor& x) {
    const auto step = [](const Tensor& c, const Tensor& e) { return std::pair(sin(c) + e, c * e); };
    const auto [last, all] = scan(step, x, broadcast_to(x, {80, 3}), {.memory_budget = 1024});
    return sum(last) + sum(all);
  });
  Results all = gradient_of(f);
  for (Tensor& one : gradient_of(f, point() * .5)) all.push_back(std::move(one));  // warm
  return all;
}
Results compiled_variables() {
  const Variable v(point(), "v"), w(point() * 2., "w");
  const auto f = compile([](const Tensor& x, std::vector<Variable> list) {
    list[0].assign_add(x * list[1]);
    return sum(list[0] * x) + sum(list[1]);
  });
  Results all;
  for (int i = 0; i < 2; ++i) {
    GradientTape tape;
    const Tensor y = unchanged_or_called({v, w}, [&] { return f(point(), std::vector{v, w}); });
    all.push_back(y);
    all.push_back(*tape.gradient(y, w));
  }
  for (const Variable& one : {v, w}) all.push_back(one.read());
  return all;
}

}  // namespace battery
