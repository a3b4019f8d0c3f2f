// ADOL-C, a scalar tape: every run records anew, as reel's cases do; "replay" rows use one trace again.
#include <adolc/adolc.h>

#include "../common/models.hpp"

namespace {

using bench::Body, bench::Case, bench::Checksum;

constexpr int length = 1000;
constexpr short tag = 1;

// The value of f at x.
template <class F>
double trace(const std::vector<double>& x, F f) {
  std::vector<adouble> active(x.size());
  trace_on(tag);
  for (std::size_t i = 0; i < x.size(); ++i) active[i] <<= x[i];
  double value = 0;
  f(active) >>= value;
  trace_off();
  return value;
}

double sum_of(const std::vector<double>& values) {
  Checksum sum;
  sum.add(values.data(), static_cast<std::int64_t>(values.size()));
  return sum.value();
}

// f() gives the result.
template <class F>
Body body(F f) {
  return {[f] { f(); }, [f] { return sum_of(f()); }};
}

template <class F>
std::vector<double> gradient_of(const std::vector<double>& x, F f) {
  trace(x, f);
  std::vector<double> g(x.size());
  gradient(tag, static_cast<int>(x.size()), x.data(), g.data());
  return g;
}

adouble products(const std::vector<adouble>& x) {
  adouble y = x[0];
  for (int i = 0; i < length; ++i) y = y * 1.0001;
  return y;
}
adouble tanhs(const std::vector<adouble>& x) {
  adouble y = x[0];
  for (int i = 0; i < length; ++i) y = tanh(y);
  return y;
}
adouble rosenbrock(const std::vector<adouble>& x) {
  adouble sum = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    const adouble a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
    sum += 100 * a * a + b * b;
  }
  return sum;
}

// By the trace of the last case. Keeping the forward sweep makes fos_reverse possible.
std::vector<double> value_and_gradient(const std::vector<double>& x) {
  const int n = static_cast<int>(x.size());
  std::vector<double> result(x.size() + 1);
  double one = 1;
  zos_forward(tag, 1, n, 1, x.data(), result.data());
  fos_reverse(tag, 1, n, &one, result.data() + 1);
  return result;
}

}  // namespace

int main() {
  bench::Program program;
  const auto per_op = [&](const char* name, auto f) {
    program.add(Case{.name = name, .make = [=] { return body(f); }, .unit_count = length, .unit = "op"});
  };
  per_op("1000 x mul on [1], record + gradient, f64", [] { return gradient_of({1.5}, products); });
  per_op("1000 x mul on [1], recording only, f64", [] { return std::vector<double>{trace({1.5}, products)}; });
  per_op("1000 x tanh on [1], record + gradient, f64", [] { return gradient_of({1.5}, tanhs); });
  const auto whole = [&](const char* name, int n, auto f) {
    program.add(Case{.name = name, .make = [=] {
                       const auto x = bench::uniform<double>(n, -1, 1, 1), v = bench::uniform<double>(n, -1, 1, 2);
                       return body([=] { return f(x, v); });
                     }});
  };
  using Vector = std::vector<double>;
  whole("Rosenbrock n = 1000 gradient, f64", 1000,
        [](const Vector& x, const Vector&) { return gradient_of(x, rosenbrock); });
  whole("Rosenbrock n = 1000 Hessian-vector product, f64", 1000, [](const Vector& x, const Vector& v) {
    trace(x, rosenbrock);
    Vector at = x, direction = v, product(x.size());
    hess_vec(tag, static_cast<int>(x.size()), at.data(), direction.data(), product.data());
    return product;
  });
  whole("Rosenbrock n = 50 full Hessian, f64", 50, [](const Vector& x, const Vector&) {
    trace(x, rosenbrock);
    const std::size_t n = x.size();
    Vector at = x, full(n * n);
    std::vector<double*> rows;
    for (std::size_t i = 0; i < n; ++i) rows.push_back(&full[i * n]);
    hessian(tag, static_cast<int>(n), at.data(), rows.data());
    for (std::size_t i = 0; i < n; ++i)  // the lower half alone is written
      for (std::size_t j = 0; j < i; ++j) full[j * n + i] = full[i * n + j];
    return full;
  });
  bench::models::for_each([&]<class Model>(Model model) {
    const std::string name = bench::models::row_name(model);
    const Vector x = Model::inputs();
    program.add(bench::models::case_of(name, [x] {
      trace(x, Model::template value<adouble>);
      return value_and_gradient(x);
    }));
    for (const char* how : {", compiled", ", native"})
      program.add(Case{.name = name + how, .make = [x] {
                         trace(x, Model::template value<adouble>);
                         return body([x] { return value_and_gradient(x); });
                       }});
  });
  return program.serve();
}
