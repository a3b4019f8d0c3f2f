// libtorch's side of bench/ours/{scalar,arrays,networks,tape}.cpp: the same names, the same mathematics.
// OMP_NUM_THREADS and REEL_NUM_THREADS say how many threads. With "first-gradient" it takes one gradient and ends.
#include <dlfcn.h>

#include <cstring>
#include <limits>
#include <memory>
#include <thread>

#include "libtorch.hpp"

namespace {

using namespace bench;
using torch::autograd::grad;
namespace F = torch::nn::functional;

std::vector<Case> cases;
void add(const std::string& name, std::function<Body()> make) { cases.push_back({.name = name, .make = make}); }

Tensor products(Tensor y, const Tensor& c, std::int64_t length = 1000) {
  for (std::int64_t i = 0; i < length; ++i) y = y * c;
  return y;
}
Tensor tanhs(Tensor y) {
  for (int i = 0; i < 1000; ++i) y = torch::tanh(y);
  return y;
}
Tensor rosenbrock(const Tensor& x) {
  const Tensor head = x.slice(0, 0, -1), tail = x.slice(0, 1);
  return (100 * torch::square(tail - torch::square(head)) + torch::square(1 - head)).sum();
}

void scalar_cases(torch::Dtype dtype) {
  const std::string suffix = dtype == torch::kFloat64 ? ", f64" : "";
  const Tensor x = torch::full({1}, 1.5, dtype), c = torch::full({1}, 1.0001, dtype), active = leaf(x);
  add("1000 x mul on [1], record + gradient" + suffix,
      [=] { return body([=] { return grad({products(active, c)}, {active})[0]; }); });
  add("1000 x mul on [1], recording only" + suffix, [=] { return body([=] { return products(active, c); }); });
  add("1000 x mul on [1], no tape active" + suffix, [=] {
    return body([=] {
      const torch::NoGradGuard guard;
      return products(x, c);
    });
  });
  add("1000 x tanh on [1], record + gradient" + suffix,
      [=] { return body([=] { return grad({tanhs(active)}, {active})[0]; }); });

  const auto whole = [&](const char* name, std::int64_t n, auto f) {
    add(name + suffix, [=] {
      const Tensor at = leaf(drawn({n}, 1, -1, 1, dtype)), v = drawn({n}, 2, -1, 1, dtype);
      return body([=] { return f(at, v); });
    });
  };
  whole("Rosenbrock n = 1000 gradient", 1000, [](const Tensor& at, const Tensor&) { return gradient(rosenbrock, at); });
  whole("Rosenbrock n = 1000 Hessian-vector product", 1000, [](const Tensor& at, const Tensor& v) {
    const Tensor slope = grad({rosenbrock(at)}, {at}, {}, true, true)[0];
    return grad({slope}, {at}, {v})[0];
  });
  whole("Rosenbrock n = 50 full Hessian", 50, [](const Tensor& at, const Tensor&) {
    const Tensor slope = grad({rosenbrock(at)}, {at}, {}, true, true)[0];
    std::vector<Tensor> rows;
    for (std::int64_t i = 0; i < at.size(0); ++i) rows.push_back(grad({slope[i]}, {at}, {}, true)[0]);
    return torch::stack(rows);
  });
}

template <class G>
void gradient_of_sum(const std::string& name, std::int64_t n, G f) {
  add(name, [=] {
    const Tensor x = leaf(drawn({n}, 1)), y = drawn({n}, 2);
    return body([=] { return grad({f(x, y).sum()}, {x})[0]; });
  });
}

template <class G>
void gradient_of_square(const std::string& name, G f) {
  add(name, [=] {
    const Tensor x = leaf(drawn({1024, 1024}, 1));
    return body([=] { return gradient(f, x); });
  });
}

// The five-point Laplacian inside a grid [n + 2, n + 2].
Tensor laplacian(const Tensor& x, std::int64_t n) {
  const auto part = [&](std::int64_t i, std::int64_t j) { return x.narrow(0, 1 + i, n).narrow(1, 1 + j, n); };
  return part(-1, 0) + part(1, 0) + part(0, -1) + part(0, 1) - 4 * part(0, 0);
}

void stencil_cases() {
  constexpr std::int64_t n = 128;
  const std::string name = "stencil of five points [128,128], f64";
  const auto grid = [] { return drawn({n + 2, n + 2}, 1, -1, 1, torch::kFloat64); };
  add(name, [=] {
    return body([x = grid()] {
      const torch::NoGradGuard guard;
      return laplacian(x, n);
    });
  });
  add(name + ", gradient", [=] {
    const Tensor x = leaf(grid());
    return body([=] { return grad({torch::square(laplacian(x, n)).sum()}, {x})[0]; });
  });
}

void array_cases() {
  stencil_cases();
  const auto tanh_of_product = [](const Tensor& x, const Tensor& y) { return torch::tanh(x * y) + x; };
  const auto softplus_of_product = [](const Tensor& x, const Tensor& y) { return torch::log1p(torch::exp(-x * y)); };
  constexpr std::int64_t large = 10000000;
  gradient_of_sum("gradient of sum(tanh(x*y)+x), n = 1e3", 1000, tanh_of_product);
  gradient_of_sum("gradient of sum(tanh(x*y)+x), n = 1e5", 100000, tanh_of_product);
  // libtorch has nothing to fuse with: op by op in both rows.
  for (const char* how : {"op by op", "as one fused elementwise"}) {
    const std::string end = std::string(", n = 1e7, ") + how;
    gradient_of_sum("gradient of sum(tanh(x*y)+x)" + end, large, tanh_of_product);
    gradient_of_sum("gradient of sum(log1p(exp(-x*y)))" + end, large, softplus_of_product);
    gradient_of_sum("gradient of sum((x*y+x)*y)" + end, large,
                    [](const Tensor& x, const Tensor& y) { return (x * y + x) * y; });
    gradient_of_sum("gradient of sum(where(x>0, x*y, y)+1.5x)" + end, large,
                    [](const Tensor& x, const Tensor& y) { return torch::where(x > 0, x * y, y) + 1.5 * x; });
    gradient_of_sum("gradient of sum(exp(x)sin(y)+xy)" + end, large,
                    [](const Tensor& x, const Tensor& y) { return torch::exp(x) * torch::sin(y) + x * y; });
  }
  add("tanh forward, n = 1e5", [] {
    return body([x = drawn({100000}, 1)] {
      const torch::NoGradGuard guard;
      return torch::tanh(x);
    });
  });
  add("sum((x+b)^2), [1024,1024] + [1024], gradient", [] {
    const Tensor x = leaf(drawn({1024, 1024}, 1)), b = leaf(drawn({1024}, 2));
    return body([=] { return grad({torch::square(x + b).sum()}, {x, b}); });
  });
  add("sum((x+b)^2), [1024,1024] + [1024], gradient by b alone", [] {
    const Tensor x = drawn({1024, 1024}, 1), b = leaf(drawn({1024}, 2));
    return body([=] { return grad({torch::square(x + b).sum()}, {b}); });
  });
  gradient_of_square("logsumexp over rows [1024,1024], gradient",
                     [](const Tensor& x) { return torch::logsumexp(x, 1).sum(); });
  gradient_of_square("sum(transpose(x)*x) [1024,1024], gradient", [](const Tensor& x) { return (x.t() * x).sum(); });
  add("log_softmax over rows [1024,1024], gradient", [] {
    const Tensor x = leaf(drawn({1024, 1024}, 1)), g = drawn({1024, 1024}, 2);
    return body([=] { return grad({torch::log_softmax(x, 1)}, {x}, {g}); });
  });
  add("layer_norm rows [1024,1024], gradient", [] {
    const Tensor x = leaf(drawn({1024, 1024}, 1)), g = drawn({1024, 1024}, 2);
    const Tensor scale = leaf(drawn({1024}, 3, 0.5, 1.5)), offset = leaf(drawn({1024}, 4));
    return body([=] { return grad({torch::layer_norm(x, {1024}, scale, offset)}, {x, scale, offset}, {g}); });
  });
  // 1.13 has the fused function for inference alone.
  for (const std::int64_t n : {128, 512, 2048})
    for (const bool causal : {false, true})
      add(std::string(causal ? "causal " : "") + "attention [8," + std::to_string(n) + ",64], gradient", [=] {
        const Tensor q = leaf(drawn({8, n, 64}, 1)), k = leaf(drawn({8, n, 64}, 2)), v = leaf(drawn({8, n, 64}, 3));
        const Tensor g = drawn({8, n, 64}, 4), future = torch::ones({n, n}, torch::kBool).triu(1);
        return body([=] {
          Tensor scores = torch::matmul(q * 0.125, k.transpose(-2, -1));
          if (causal) scores = scores.masked_fill(future, -std::numeric_limits<float>::infinity());
          return grad({torch::matmul(torch::softmax(scores, -1), v)}, {q, k, v}, {g});
        });
      });
  add("lstm T50 B16 I32 H64, gradient", [] {
    const Tensor x = leaf(drawn({50, 16, 32}, 1)), g = drawn({50, 16, 64}, 2), zero = torch::zeros({1, 16, 64});
    const Tensor wi = leaf(drawn({256, 32}, 3, -0.1, 0.1)), wh = leaf(drawn({256, 64}, 4, -0.1, 0.1));
    const Tensor bi = leaf(drawn({256}, 5, -0.1, 0.1)), bh = leaf(drawn({256}, 6, -0.1, 0.1));
    return body([=] {
      const Tensor y = std::get<0>(torch::lstm(x, {zero, zero}, {wi, wh, bi, bh}, true, 1, 0.0, true, false, false));
      return grad({y}, {x, wi, wh, bi, bh}, {g});
    });
  });
  for (const std::int64_t n : {6, 32, 128, 1024})
    add("sum(matmul) " + std::to_string(n) + "^3, gradient", [n] {
      const Tensor a = leaf(drawn({n, n}, 1)), b = leaf(drawn({n, n}, 2));
      return body([=] { return grad({torch::matmul(a, b).sum()}, {a, b}); });
    });
  for (const std::int64_t n : {6, 32, 128, 1024})
    add("matmul " + std::to_string(n) + "^3, gradient for a given cotangent", [n] {
      const Tensor a = leaf(drawn({n, n}, 1)), b = leaf(drawn({n, n}, 2)), g = drawn({n, n}, 3);
      return body([=] { return grad({torch::matmul(a, b)}, {a, b}, {g}); });
    });
  const auto jacobian = [](const std::string& name, std::int64_t n, torch::Dtype dtype) {
    add(name, [=] {
      const auto weights = [&](std::uint64_t seed) { return drawn({n, n}, seed, -0.1, 0.1, dtype); };
      const Tensor w1 = weights(1), w2 = weights(2), w3 = weights(3), b = drawn({n}, 4, -1, 1, dtype);
      const Tensor x = leaf(drawn({n}, 5, -1, 1, dtype)), one = torch::eye(n, dtype);
      return body([=] {
        const auto layer = [&](const Tensor& h, const Tensor& w) { return torch::matmul(h, w) + b; };
        const Tensor y = layer(torch::tanh(layer(torch::tanh(layer(x, w1)), w2)), w3);
        std::vector<Tensor> rows;
        for (std::int64_t i = 0; i < n; ++i) rows.push_back(grad({y}, {x}, {one[i]}, true)[0]);
        return torch::stack(rows);
      });
    });
  };
  for (const char* how : {"", ", row by row"}) {  // by rows in both: 1.13 has no batched Jacobian in C++
    jacobian(std::string("Jacobian of an MLP 256-256-256-256, f32") + how, 256, torch::kFloat32);
    jacobian(std::string("Jacobian of an MLP 256-256-256-256, f64") + how, 256, torch::kFloat64);
    jacobian(std::string("Jacobian of an MLP 16-16-16-16, f64") + how, 16, torch::kFloat64);
  }
}

void mlp(const std::string& name, const std::vector<std::int64_t>& widths, std::int64_t batch) {
  add(name, [=] {
    std::vector<Tensor> p;
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
      const double bound = 1 / std::sqrt(static_cast<double>(widths[i]));
      p.push_back(leaf(drawn({widths[i], widths[i + 1]}, 10 + i, -bound, bound)));
      p.push_back(leaf(drawn({widths[i + 1]}, 20 + i, -bound, bound)));
    }
    const Tensor x = drawn({batch, widths[0]}, 1), labels = torch::arange(batch) % widths.back();
    const auto step = [=] {
      Tensor h = x;
      for (std::size_t i = 0; i < p.size(); i += 2) {
        h = torch::addmm(p[i + 1], h, p[i]);
        if (i + 2 < p.size()) h = torch::relu(h);
      }
      const auto gradients = grad({F::cross_entropy(h, labels)}, p);
      const torch::NoGradGuard guard;
      for (std::size_t i = 0; i < p.size(); ++i) Tensor(p[i]).sub_(gradients[i], 0.01);
    };
    return Body{step, [=] {
                  step();
                  return sum_of(p);
                }};
  });
}

void network_cases() {
  mlp("MLP 13-32-32-3, batch 16, SGD step", {13, 32, 32, 3}, 16);
  mlp("MLP 784-256-128-10, batch 64, SGD step", {784, 256, 128, 10}, 64);
  mlp("MLP 784-1024-1024-10, batch 256, SGD step", {784, 1024, 1024, 10}, 256);
  add("LSTM unrolled T50 B16 I32 H64, gradient", [] {
    constexpr std::int64_t steps = 50, batch = 16, inputs = 32, states = 64;
    std::vector<Tensor> x;
    for (std::int64_t t = 0; t < steps; ++t) x.push_back(drawn({batch, inputs}, 100 + static_cast<std::uint64_t>(t)));
    const std::vector<Tensor> p = {leaf(drawn({inputs, 4 * states}, 1, -0.15, 0.15)),
                                   leaf(drawn({states, 4 * states}, 2, -0.15, 0.15)),
                                   leaf(drawn({4 * states}, 3, -0.15, 0.15))};
    const Tensor zero = torch::zeros({batch, states});
    return body([=] {
      Tensor h = zero, c = zero;
      for (const Tensor& input : x) {
        const std::vector<Tensor> gates = (torch::matmul(input, p[0]) + torch::matmul(h, p[1]) + p[2]).chunk(4, 1);
        c = torch::sigmoid(gates[1]) * c + torch::sigmoid(gates[0]) * torch::tanh(gates[2]);
        h = torch::sigmoid(gates[3]) * torch::tanh(c);
      }
      return grad({h.sum()}, p);
    });
  });
  add("conv2d 3x3 [16,16,28,28] -> 32, gradient of x and w", [] {
    const Tensor x = leaf(drawn({16, 16, 28, 28}, 1)), w = leaf(drawn({32, 16, 3, 3}, 2));
    const Tensor g = drawn({16, 32, 28, 28}, 3);
    return body([=] { return grad({torch::conv2d(x, w, {}, 1, 1)}, {x, w}, {g}); });
  });
}

// As bench/ours/compiled.cpp.
Tensor rollout(const Tensor& thrusts) {
  constexpr double h = 0.02, gravity = 9.81, arm = 4;
  Tensor x = torch::zeros({}, torch::kFloat64), z = x, angle = x, vx = x, vz = x, spin = x, cost = x;
  for (std::int64_t k = 0; k < 50; ++k) {
    const Tensor left = thrusts[k][0], right = thrusts[k][1], thrust = left + right;
    vx = vx - h * (thrust * torch::sin(angle));
    vz = vz + h * (thrust * torch::cos(angle) - gravity);
    spin = spin + h * (arm * (left - right));
    x = x + h * vx;
    z = z + h * vz;
    angle = angle + h * spin;
    cost = cost + torch::square(x - 1.) + torch::square(z - 1.) + 0.1 * torch::square(angle);
  }
  return cost;
}

// The C++ library has nothing to compile with: rows of compiled functions stand beside the same rows op by op.
void compiled_cases() {
  add("gelu on [32,1000,4096]", [] {
    return body([x = drawn({32, 1000, 4096}, 1)] {
      const torch::NoGradGuard guard;
      return x * (1 + torch::erf(x / 1.41421356)) / 2;
    });
  });
  add("rollout of 50 steps, value and gradient, f64", [] {
    const Tensor u = leaf(drawn({50, 2}, 1, 4.5, 5.5, torch::kFloat64));
    return body([=] {
      const Tensor cost = rollout(u);
      return std::vector<Tensor>{cost, grad({cost}, {u})[0]};
    });
  });
  for (const char* name : {"1000 x mul on [1], record + gradient", "1000 x mul on [1], record + gradient, f64",
                           "Rosenbrock n = 1000 gradient", "Rosenbrock n = 1000 gradient, f64",
                           "gradient of sum(tanh(x*y)+x), n = 1e7, op by op", "MLP 13-32-32-3, batch 16, SGD step",
                           "LSTM unrolled T50 B16 I32 H64, gradient", "gelu on [32,1000,4096]",
                           "rollout of 50 steps, value and gradient, f64"}) {
    const auto same = std::find_if(cases.begin(), cases.end(), [&](const Case& c) { return c.name == name; });
    add(std::string(name) + ", compiled", same->make);
  }
}

Tensor derivative(const Tensor& x, int order) {
  const Tensor c = torch::full({1}, 1.0000001);
  Tensor y = torch::square(torch::tanh(x * c)).sum();
  for (int i = 0; i < order; ++i) y = grad({y}, {x}, {}, true, i + 1 < order)[0].sum();
  return y;
}

void tape_cases() {
  const Tensor x = leaf(torch::full({1}, 1.5)), c = torch::full({1}, 1.0000001);
  for (const auto& [count, text] : {std::pair(1000, "1e3"), {100000, "1e5"}}) {
    const std::int64_t length = count;
    add("tape: record, entries = " + std::string(text), [=] { return body([=] { return products(x, c, length); }); });
    add("tape: record + gradient, entries = " + std::string(text),
        [=] { return body([=] { return grad({products(x, c, length)}, {x})[0]; }); });
  }
  add("tape: replay of a persistent tape, entries = 1e3", [=] {
    const Tensor y = products(x, c);
    return body([=] { return grad({y}, {x}, {}, true)[0]; });
  });
  for (const int order : {1, 2, 3})
    add("tape: order " + std::to_string(order) + " of sum(square(tanh(x*c))) on [1], nested tapes",
        [=] { return body([=] { return derivative(x, order); }); });
  for (const int count : {1, 2})
    add("tape: " + std::to_string(count) + " independent tapes, each 100 x 1000 mul on [1], record + gradient", [=] {
      return Body{[=] {
        std::vector<std::thread> threads;
        const auto work = [=] {
          const Tensor own = leaf(torch::full({1}, 1.5));
          for (int i = 0; i < 100; ++i) grad({products(own, c)}, {own});
        };
        for (int i = 1; i < count; ++i) threads.emplace_back(work);
        work();
        for (std::thread& t : threads) t.join();
      }};
    });
}

}  // namespace

int main(int argc, char** argv) {
  if (const char* threads = std::getenv("REEL_NUM_THREADS")) torch::set_num_threads(std::atoi(threads));
  if (argc > 1 && !std::strcmp(argv[1], "first-gradient")) {
    const Tensor x = torch::tensor({1.5f, 2.f}).set_requires_grad(true);
    return gradient([](const Tensor& t) { return (t * t).sum(); }, x)[0].item<float>() == 3 ? 0 : 1;
  }
  scalar_cases(torch::kFloat32);
  scalar_cases(torch::kFloat64);
  array_cases();
  network_cases();
  compiled_cases();
  tape_cases();
  bench::Program program;
  if (void* corename = dlsym(RTLD_DEFAULT, "openblas_get_corename"))
    program.about("openblas_core", reinterpret_cast<char* (*)()>(corename)());
  program.add(cases);
  program.add(libtorch_choosing());
  program.add(libtorch_moving());
  program.add(libtorch_neural());
  program.add(libtorch_linear_algebra());
  program.add(libtorch_transforms());
  program.add(libtorch_distributions());
  program.add(libtorch_ops());
  return program.serve();
}
