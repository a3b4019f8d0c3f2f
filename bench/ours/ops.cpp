// Every pointwise op and reduction of the table in test/op_cases, forward, by length and dtype; a few reductions along
// one axis, which that table has for small shapes only; and the Bessel functions of order 0 and 1. Operands of
// reductions are [n / 1000, 1000].
#include <reel/special.hpp>

#include "cases.hpp"
#include "op_cases.hpp"

namespace bench {

namespace {

using namespace reel;

using Call = Tensor (*)(std::span<const Tensor>);

struct Op {
  std::string name;
  Call call;
  std::vector<cases::Domain> domains;
  bool matrix;         // a reduction
  double results = 1;  // elements of the result for one of an operand
};

std::vector<Op> all_ops() {
  std::vector<Op> ops;
  const auto met = [&](const std::string& name) {
    return std::any_of(ops.begin(), ops.end(), [&](const Op& op) { return op.name == name; });
  };
  for (const cases::Pointwise& row : cases::pointwise()) {
    if (row.flags & cases::by_complex || met(row.name)) continue;
    ops.push_back({row.name, row.call, {row.domain, row.domain + row.arity}, false});
  }
  for (const cases::Shaped& row : cases::reductions()) {
    if (met(row.name)) continue;  // the first row of a name is its plainest form
    const std::string_view name = row.name;
    const bool scans = name == "softmax" || name == "log_softmax" || name == "cumsum" || name == "cumprod";
    // Of 10^7 factors: neither denormal nor infinite; and not so close to 1 that, for want of digits between them,
    // float rounds each product down.
    const bool product = name == "prod" || name == "cumprod";
    ops.push_back({row.name, row.call, {product ? cases::Domain{0.99, 1.010033} : row.domain}, true, scans ? 1. : 0.});
  }
  const cases::Domain d = {-2, 2};
  ops.push_back({"sum over rows", [](std::span<const Tensor> x) { return sum(x[0], 1); }, {d}, true, 0.001});
  ops.push_back({"sum over columns", [](std::span<const Tensor> x) { return sum(x[0], 0); }, {d}, true, 0});
  ops.push_back({"max over rows", [](std::span<const Tensor> x) { return max(x[0], 1); }, {d}, true, 0.001});
  ops.push_back({"max over columns", [](std::span<const Tensor> x) { return max(x[0], 0); }, {d}, true, 0});
  // clang-format off
#define BESSEL(name) ops.push_back({#name, [](std::span<const Tensor> x) { return name(x[0]); }, {{0.1, 20}}, false})
  BESSEL(i0); BESSEL(i1); BESSEL(i0e); BESSEL(i1e); BESSEL(k0); BESSEL(k1); BESSEL(k0e); BESSEL(k1e);
  BESSEL(j0); BESSEL(j1); BESSEL(y0); BESSEL(y1);
#undef BESSEL
  // clang-format on
  return ops;
}

}  // namespace

std::vector<Case> op_cases() {
  std::vector<Case> cases;
  for (const Op& op : all_ops())
    for (const DType dtype : {DType::float32, DType::float64})
      for (const auto& [n, text] : {std::pair(1000, "1e3"), {100000, "1e5"}, {10000000, "1e7"}}) {
        const Shape shape = op.matrix ? Shape{n / 1000, 1000} : Shape{n};
        const auto make = [op, dtype, shape] {
          std::vector<Tensor> x;
          for (std::size_t i = 0; i < op.domains.size(); ++i)
            x.push_back(drawn(shape, i + 1, op.domains[i].low, op.domains[i].high, dtype));
          return body([op, x] { return op.call(x); });
        };
        const bool wide = dtype == DType::float64;
        const double size = wide ? 8 : 4;
        const Tensor probe = op.call(std::vector<Tensor>(op.domains.size(), ones({1, 1}, dtype)));
        const double result = probe.dtype() == DType::boolean ? 1 : probe.dtype() == dtype ? size : 8;
        std::string ranges;
        for (const auto& d : op.domains) ranges += std::to_string(d.low) + " " + std::to_string(d.high) + " ";
        cases.push_back({.name = op.name + (wide ? " f64" : " f32") + ", n = " + text,
                         .make = make,
                         .unit_count = static_cast<double>(n),
                         .unit = "element",
                         .bytes = n * (size * static_cast<double>(op.domains.size()) + result * op.results),
                         .tolerance = wide ? 1e-6 : 1e-3,
                         .operands = ranges});
      }
  return cases;
}

}  // namespace bench
