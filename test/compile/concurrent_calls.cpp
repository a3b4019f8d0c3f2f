// Compiled functions that threads share, and how many programs an object keeps.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <latch>
#include <reel/compile.hpp>
#include <reel/control.hpp>
#include <reel/debug.hpp>
#include <reel/forward.hpp>
#include <reel/ops/sorting.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <thread>

#include "catch.hpp"
#include "compile/check_close.hpp"
#include "gradient/programs/traced_function.hpp"
#include "support/bits.hpp"
#include "support/ramp.hpp"

using namespace reel;
using support::ramp;
using support::same_bits;

namespace {

constexpr int threads = 8;

// All begin together.
template <class F>
void on_threads(const F& f) {
  std::vector<std::thread> list;
  std::latch start(threads);
  for (int t = 0; t < threads; ++t)
    list.emplace_back([&, t] {
      start.arrive_and_wait();
      f(t);
    });
  for (std::thread& t : list) t.join();
}

}  // namespace

TEST_CASE("concurrent calls: no update of a variable is lost, as op by op") {
  constexpr int calls = 2000;
  const Variable added(scalar(0.), "added"), subtracted(scalar(0.), "subtracted"), summed(scalar(0.), "summed"),
      rows(zeros({3, 2}), "rows"), of_eager(scalar(0.), "of_eager");
  const Tensor at = from_data(std::vector<std::int64_t>{2, 0, 2});
  const auto f = compile([&](const Tensor& x) {
    added.assign_add(x);
    subtracted.assign_sub(x * 2.);
    summed.assign(summed + x);  // a read and an assign
    rows.assign_add(Gradient(IndexedSlices{broadcast_to(x, {3, 2}), at, {3, 2}}));
    of_eager.assign_add(x);
    return added + x;
  });
  f(scalar(0.));
  on_threads([&](int) {
    for (int i = 0; i < calls; ++i) {
      f(scalar(1.));
      of_eager.assign_add(scalar(1.));
    }
  });
  constexpr double all = threads * calls;
  CHECK(added.read().item() == all);
  CHECK(subtracted.read().item() == -2 * all);
  CHECK(summed.read().item() == all);
  CHECK(of_eager.read().item() == 2 * all);
  CHECK(array_equal(rows.read(), tensor({{all, all}, {0., 0.}, {2 * all, 2 * all}})));
}

TEST_CASE("concurrent calls: steps of one optimiser are all made") {
  constexpr int calls = 1000;
  const Variable w(ramp({5}), "w"), twin(ramp({5}), "w");
  SGD sgd({.learning_rate = .25, .momentum = .5}), plain({.learning_rate = .25, .momentum = .5});
  // The gradient does not depend on the variable, so that the order of the steps does not matter.
  const auto step = compile([&](const Tensor& g) { sgd.step(Gradient(g), w); });
  const Tensor g = ramp({5}, .5);
  step(g);
  on_threads([&](int) {
    for (int i = 0; i < calls; ++i) step(g);
  });
  for (int i = 0; i < threads * calls + 1; ++i) plain.step(Gradient(g), twin);
  CHECK(same_bits(w.read(), twin.read()));
}

TEST_CASE("concurrent calls: with an optimiser, the loss is that of the steps before it") {
  const Variable count(scalar(0.), "count"), w(scalar(0.), "w");
  SGD sgd({.learning_rate = 1.});
  // w counts the steps; a call that returns it and is made again must see the value of its last attempt.
  const auto step = compile([&](const Tensor& x) {
    const Tensor before = w.read() * 1.;
    sgd.step(Gradient(-x), w);
    return before;
  });
  step(scalar(1.));
  std::vector<std::vector<double>> seen(threads);
  on_threads([&](int t) {
    for (int i = 0; i < 1000; ++i) seen[static_cast<std::size_t>(t)].push_back(step(scalar(1.)).item());
  });
  std::vector<double> all;
  for (const auto& list : seen) all.insert(all.end(), list.begin(), list.end());
  std::sort(all.begin(), all.end());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < all.size(); ++i) wrong += all[i] != static_cast<double>(i + 1);
  CHECK(wrong == 0);
}

TEST_CASE("concurrent calls: a call commits only what it has computed from current values") {
  const Variable updated(scalar(1.), "updated"), assigned(scalar(1.), "assigned"), read(scalar(1.), "read");
  const auto traced = std::make_shared<autodiff::Traced>(
      "compile",
      [&](std::span<const Tensor> x) {
        updated.assign_add(x[0]);
        assigned.assign(x[0] * read);
        return std::vector{x[0] + 1.};
      },
      std::vector{scalar(2.)});
  const std::vector<Tensor> x{scalar(2.)};
  const auto commits = [&](const auto& meanwhile) {
    reel::detail::List<Tensor> made, before;
    traced->make(x, {}, {}, made, before);
    meanwhile();
    return traced->commit(made, before);
  };
  CHECK(commits([] {}));
  CHECK(updated.read().item() == 3);
  CHECK_FALSE(commits([&] { updated.assign_add(scalar(1.)); }));
  CHECK_FALSE(commits([&] { updated.assign(updated.read() * 2.); }));
  CHECK(updated.read().item() == 8);
  CHECK(assigned.read().item() == 2);
  CHECK(commits([&] {  // a tape that reads it changes no value
    GradientTape tape;
    static_cast<void>(updated.read());
  }));
  CHECK(updated.read().item() == 10);
  // What is only assigned, or only read, need not be current: op by op it need not either.
  CHECK(commits([&] { assigned.assign(scalar(7.)); }));
  CHECK(commits([&] { read.assign(scalar(5.)); }));
  CHECK(assigned.read().item() == 2);
  CHECK(updated.read().item() == 14);
}

TEST_CASE("concurrent calls: fifteen programs on eight threads give the results of one") {
  const Variable w(ramp({3}, .2), "w");
  const Tensor captured = ramp({3}, .7);
  using Function = std::function<Tensor(const Tensor&)>;
  const auto list = [&](const auto& wrap) -> std::vector<Function> {
    const auto f = [&](const auto& body) { return Function(wrap(body)); };
    return {
        f([](const Tensor& x) { return tanh(x) * x; }),
        f([](const Tensor& x) { return sum(exp(x * x)); }),
        f([](const Tensor& x) {
          return matmul(reshape(x, {3, 1}), reshape(x, {1, 3}));
        }),
        f([&](const Tensor& x) { return x * w + captured; }),
        f([](const Tensor& x) { return grad([](const Tensor& y) { return sum(y * y * y); })(x); }),
        f([](const Tensor& x) { return hessian([](const Tensor& y) { return sum(sin(y)) * sum(y); })(x); }),
        f([](const Tensor& x) { return jvp([](const Tensor& y) { return y * exp(y); }, x, ones({3})).second; }),
        f([](const Tensor& x) {
          return while_loop([](const Tensor& z) { return sum(z) < 30.; }, [](const Tensor& z) { return z * 1.5; }, x);
        }),
        f([](const Tensor& x) {
          return cond(
              sum(x) > 3., [](const Tensor& z) { return z * 2.; }, [](const Tensor& z) { return -z; }, x);
        }),
        f([](const Tensor& x) {
          return scan([](const Tensor& c, const Tensor& e) { return std::pair(c * .9 + e, c); }, scalar(0.),
                      broadcast_to(sum(x), {100}))
              .second;
        }),
        f([](const Tensor& x) { return checkpoint([](const Tensor& y) { return tanh(y) * y; })(x); }),
        f([](const Tensor& x) {
          return custom_gradient(
              [](const Tensor& y) { return std::pair(y * y, [y](const Tensor& dy) { return 3. * y * dy; }); })(x);
        }),
        f([](const Tensor& x) { return sort(x * -1.); }),
        f([](const Tensor& x) {
          return gather(x, from_data(std::vector<std::int64_t>{2, 0, 0, 1}));
        }),
        f([](const Tensor& x) { return cumsum(x, 0) / (1. + abs(x)); }),
    };
  };
  const auto eager = list([](const auto& body) { return body; });
  const auto compiled = list([](const auto& body) { return compile(body); });
  REQUIRE(compiled.size() == 15);
  std::atomic<int> wrong = 0;
  on_threads([&](int t) {
    for (int i = 0; i < 6; ++i)
      for (std::size_t k = 0; k < compiled.size(); ++k) {
        const std::size_t at = (k + static_cast<std::size_t>(t) * 2) % compiled.size();
        const Tensor x = ramp({3}, .1 * (i + t));
        wrong += !same_bits(compiled[at](x), eager[at](x));
        const auto scaled = [&](const Function& h) { return grad([&](const Tensor& y) { return sum(h(y)); })(x); };
        wrong += !allclose(scaled(compiled[at]), scaled(eager[at]), {.rtol = 1e-12, .atol = 1e-13});
      }
  });
  CHECK(wrong == 0);
}

TEST_CASE("limits: programs of derivatives are bounded by max_signatures, and those dropped are made again") {
  const auto f = [](const std::vector<Tensor>& x) {
    Tensor y = x[0];
    for (const Tensor& a : x) y = y * a + sin(a);
    return y;
  };
  const auto program = compile(f, {.max_signatures = 2});
  std::vector<Tensor> x;
  for (int i = 0; i < 6; ++i) x.push_back(scalar(.3 * i + .1));
  const auto gradients = [&](const auto& h, std::size_t subset) {
    GradientTape tape({.watch_accessed_variables = false});
    for (std::size_t i = 0; i < x.size(); ++i)
      if (subset >> i & 1) tape.watch(x[i]);
    const Tensor y = h(x);
    return tape.gradient(y, x, {.unconnected_gradients = UnconnectedGradients::zero});
  };
  std::int64_t kept = 0;
  for (std::size_t subset = 1; subset < 64; ++subset) {
    const auto got = gradients(program, subset), expected = gradients(f, subset);
    for (std::size_t i = 0; i < x.size(); ++i) check_close(*got[i], *expected[i]);
    if (subset == 8) kept = memory_stats().live_tensors;
  }
  CHECK(memory_stats().live_tensors < kept + 200);
  // Along tangents of other arguments.
  for (std::size_t i = 0; i < x.size(); ++i) {
    ForwardAccumulator accumulator(x[i], scalar(1.));
    check_close(*accumulator.jvp(program(x)), *accumulator.jvp(f(x)));
    if (i == 2) kept = memory_stats().live_tensors;
  }
  CHECK(memory_stats().live_tensors < kept + 100);
}

TEST_CASE("limits: a compiled function that calls itself within another one is refused") {
  std::function<Tensor(const Tensor&)> self;
  const auto f = compile([&](const Tensor& x) { return self(x) * 2.; });
  self = [&](const Tensor& x) { return f(x); };
  const auto through_loop = compile([&](const Tensor& x) {
    return fori_loop(
        100, [&](const Tensor&, const Tensor& z) { return self(z); }, x);
  });
  const Tensor x = ramp({3});
  CHECK_THROWS_WITH(compile([&](const Tensor& y) { return f(y) + 1.; })(x), Catch::Contains("calls itself"));
  self = [&](const Tensor& y) { return through_loop(y); };
  CHECK_THROWS_WITH(compile([&](const Tensor& y) { return through_loop(y) + 1.; })(x), Catch::Contains("calls itself"));
  const auto twice = compile([](const Tensor& y) { return y * 2.; });
  CHECK(same_bits(compile([&](const Tensor& y) { return twice(twice(y)) + twice(y); })(x), x * 2. * 2. + x * 2.));
}

TEST_CASE("limits: an AnomalyGuard in a compiled function is refused; one around the call sees its ops") {
  const Tensor x = ramp({3}, -2.);
  CHECK_THROWS_AS(compile([](const Tensor& y) {
                    const AnomalyGuard guard;
                    return log(y);
                  })(x),
                  TraceError);
  const auto f = compile([](const Tensor& y) { return log(y); });
  f(x);
  const AnomalyGuard guard;
  CHECK_THROWS_AS(f(x), ValueError);
}

TEST_CASE("effects: a branch that does not run assigns nothing where a function is run again") {
  const Variable v(scalar(1.), "v");
  const auto f = [&](const Tensor& x) {
    return cond(
        sum(x) > 0., [](const Tensor& z) { return z * 2.; },
        [&](const Tensor& z) {
          v.assign(v * 2.);
          return z * v;
        },
        x);
  };
  const auto program = compile(f);
  const Tensor x = ramp({3}, .1);
  const auto modes = [&](const auto& h) {
    check_close(jvp(h, x, ones({3})).second, ones({3}) * 2.);
    check_close(grad([&](const Tensor& y) { return sum(h(y)); })(x), ones({3}) * 2.);
  };
  modes([&](const Tensor& y) { return checkpoint(program)(y); });
  const auto loop = [&](const Tensor& y) {
    return fori_loop(
        1, [&](std::int64_t, const Tensor& z) { return program(z); }, y);
  };
  modes(loop);
  CHECK(v.read().item() == 1);
  CHECK_THROWS_AS(jvp(loop, -x, ones({3})), TapeError);  // the branch that assigns
}

TEST_CASE("concurrent calls: a function that waits, while it is traced, for a thread that calls it") {
  struct Waiting {
    std::atomic<bool> waits{false};
    std::promise<Tensor> of_other, done;
    std::thread thread;
  };
  // The functions of the threads outlive this test if they wait for ever.
  const auto begin = [](bool gradients) {
    const auto w = std::make_shared<Waiting>();
    const auto f = std::make_shared<Compiled<Tensor(const Tensor&)>>();
    const auto run = [f = f.get(), gradients](const Tensor& x) {
      return gradients ? grad([&](const Tensor& y) { return sum((*f)(y)); })(x) : (*f)(x);
    };
    *f = compile([w, run](const Tensor& x) {
      if (w->waits.exchange(false)) std::thread([&] { w->of_other.set_value(run(ramp({3}, .5))); }).join();
      return sin(x) * x;
    });
    if (gradients) static_cast<void>((*f)(ramp({3})));
    w->waits = true;
    w->thread = std::thread([f, run, w] { w->done.set_value(run(ramp({3}))); });
    return w;
  };
  for (const bool gradients : {false, true}) {
    CAPTURE(gradients);
    const auto expected = [gradients](const Tensor& x) { return gradients ? cos(x) * x + sin(x) : sin(x) * x; };
    const auto w = begin(gradients);
    std::future<Tensor> done = w->done.get_future();
    const bool in_time = done.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
    in_time ? w->thread.join() : w->thread.detach();
    REQUIRE(in_time);
    check_close(done.get(), expected(ramp({3})));
    check_close(w->of_other.get_future().get(), expected(ramp({3}, .5)));
  }
}

TEST_CASE("concurrent calls: threads that call first at once trace one after another") {
  int running = 0, most = 0;  // no thread uses them while another does
  const auto f = compile([&](const Tensor& x) {
    most = std::max(most, ++running);
    Tensor y = x;
    for (int k = 0; k < 200; ++k) y = sin(y) + x;
    --running;
    return y;
  });
  std::atomic<int> wrong{0};
  on_threads([&](int) { wrong += !same_bits(f(ramp({3})), f(ramp({3}))); });
  CHECK(wrong == 0);
  CHECK(most == 1);
  CHECK(f.stats().traces == 1);
}
