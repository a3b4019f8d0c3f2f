// Figures of PyTorch, SciPy and mpmath: values, and gradients and second derivatives where a peer has them, and what
// PyTorch answers where it has none or a wrong one. test/tools/golden makes the files. A tolerance is a number of
// rounding units of the result's size plus its condition, which the files hold.
#include <cmath>
#include <complex>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "catch.hpp"
#include "op_cases.hpp"
#include "rows.hpp"
#include "support/derivatives.hpp"

using namespace reel;
using Doubles = std::vector<double>;
using golden::Row, golden::Tensors;

namespace {

struct Figures {
  bool relative = false;  // the scale is that of each element
  double scale = 0;
  Doubles values;
  mutable bool compared = false;
};
struct Peer {
  std::string who, what, said;
};
struct Case {
  std::string name;
  Tensors x;
  std::map<std::string, Figures> figures;  // y0 or t0, ..., g0 or s0, ..., h or h0, ...
  std::vector<Peer> peers;
};

// Numbers as Python writes them.
Doubles read_numbers(std::istream& in) {
  Doubles numbers;
  for (std::string word; in >> word;) {
    char* end = nullptr;
    numbers.push_back(std::strtod(word.c_str(), &end));
    INFO(word);
    REQUIRE(*end == 0);
  }
  return numbers;
}
Tensor complex_tensor(const Doubles& parts, const Shape& shape) {
  std::vector<std::complex<double>> numbers;
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) numbers.emplace_back(parts[i], parts[i + 1]);
  return from_data(numbers, shape);
}
Tensor read_operand(std::istream& in) {
  std::string dtype, extents;
  in >> dtype >> extents;
  Shape shape;
  std::istringstream list(extents);
  for (std::string extent; extents != "-" && std::getline(list, extent, ',');) shape.push_back(std::stoll(extent));
  const Doubles numbers = read_numbers(in);
  if (dtype == "c16") return complex_tensor(numbers, shape);
  const Tensor x = from_data(numbers, shape);
  return dtype == "f8" ? x : cast(x, dtype == "i8" ? DType::int64 : DType::boolean);
}
Figures read_figures(std::istream& in) {
  Figures figures;
  std::string scale;
  in >> scale;
  figures.relative = scale.at(0) == '%';
  figures.scale = std::stod(scale.substr(1));
  figures.values = read_numbers(in);
  return figures;
}
// `path` is that in `test` without .txt.
std::vector<Case> read_cases(const std::string& path) {
  std::ifstream file(REEL_SOURCE_ROOT "/test/" + path + ".txt");
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    std::string label, rest;
    in >> label;
    if (label == "case") {
      std::getline(in >> std::ws, rest);
      cases.push_back({.name = rest, .x = {}, .figures = {}, .peers = {}});
    } else if (label == "peer") {
      Peer peer;
      in >> peer.who >> peer.what;
      std::getline(in >> std::ws, peer.said);
      cases.back().peers.push_back(peer);
    } else if (label == "x") {
      cases.back().x.push_back(read_operand(in));
    } else {
      cases.back().figures[label] = read_figures(in);
    }
  }
  return cases;
}

bool is_complex(const Tensor& x) { return x.dtype() == DType::complex64 || x.dtype() == DType::complex128; }
bool is_differentiable(const Tensor& x) { return x.dtype() == DType::float64 || x.dtype() == DType::complex128; }
// The elements as numbers, of complex ones both parts.
Doubles parts(const Tensor& x) {
  if (!is_complex(x)) return cast(x, DType::float64).to_vector();
  Doubles numbers;
  for (const std::complex<double>& z : x.to_vector<std::complex<double>>()) {
    numbers.push_back(z.real());
    numbers.push_back(z.imag());
  }
  return numbers;
}

// As in record.py.
double weight(std::int64_t i, std::int64_t j) { return (static_cast<double>((7 * i + 3 * j) % 11) - 4.5) / 4; }
double direction(std::int64_t i, std::int64_t k) { return (static_cast<double>((5 * i + 2 * k + 1) % 13) - 5.5) / 8; }
Tensor filled(const Tensor& shaped, double (*number)(std::int64_t, std::int64_t), std::int64_t index) {
  Doubles numbers;
  for (std::int64_t i = 0; i < shaped.size() * (is_complex(shaped) ? 2 : 1); ++i) numbers.push_back(number(i, index));
  return is_complex(shaped) ? complex_tensor(numbers, shaped.shape()) : from_data(numbers, shaped.shape());
}

// u depends on the operand: many functions do not change when all operands move together.
double weighted_sum(const Doubles& numbers, std::int64_t place) {
  double total = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    total += weight(static_cast<std::int64_t>(i), 1 + place) * numbers[i];
  return total;
}

constexpr double unit = std::numeric_limits<double>::epsilon() / 2, units = 32;

bool is_near(double got, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(got);
  return got == expected || (std::isfinite(expected) && std::abs(got - expected) <= tolerance);
}
bool agree(const Doubles& got, const Figures& right, double error = 0) {
  if (got.size() != right.values.size()) return false;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double size = right.scale * (right.relative ? std::abs(right.values[i]) : 1);
    if (!is_near(got[i], right.values[i], std::max(units * unit, error) * size + 1e-300)) return false;
  }
  return true;
}
std::string text(const Doubles& numbers) {
  std::ostringstream out;
  out.precision(17);
  for (const double number : numbers) out << ' ' << number;
  return out.str();
}
void check(const std::string& label, const Doubles& got, const Case& c, double error) {
  const auto found = c.figures.find(label);
  if (found == c.figures.end()) return;
  found->second.compared = true;
  INFO(label << " is" << text(got) << "\nthe peer's is" << text(found->second.values) << "\nof scale "
             << found->second.scale);
  CHECK(agree(got, found->second, error));
}

// The function of the differentiable operands alone.
struct Bound {
  support::Function f;
  Tensors x;
  std::vector<std::int64_t> places;
};
using OpCall = reel::Tensor (*)(cases::Operands x);
OpCall call_of_op(const std::string& name) {
  static const auto calls = [] {
    std::map<std::string, OpCall> all;
    for (const cases::Pointwise& row : cases::all_pointwise()) all.emplace(row.name, row.call);
    for (const auto& table : cases::shaped_tables())
      for (const cases::Shaped& row : table) all.emplace(row.name, row.call);
    return all;
  }();
  return calls.at(name);
}
support::Function call_of(const Row& row) {
  if (row.f) return row.f;
  return [call = call_of_op(row.name)](const Tensors& x) { return Tensors{call(x)}; };
}

Bound bound(const Row& row, const Tensors& all) {
  Bound b;
  for (std::size_t k = 0; k < all.size(); ++k)
    if (is_differentiable(all[k])) {
      b.x.push_back(all[k]);
      b.places.push_back(static_cast<std::int64_t>(k));
    }
  b.f = [f = call_of(row), all, places = b.places](const Tensors& x) {
    Tensors operands = all;
    for (std::size_t i = 0; i < x.size(); ++i) operands[static_cast<std::size_t>(places[i])] = x[i];
    Tensors floating;
    for (const Tensor& y : f(operands))
      if (is_differentiable(y)) floating.push_back(y);
    return floating;
  };
  return b;
}

// y + y^2 / 8, so that the cotangents of f depend on x.
support::Function bent(const support::Function& f) {
  return [f](const Tensors& x) {
    Tensors y = f(x);
    for (Tensor& part : y) part = part + square(part) / 8;
    return y;
  };
}

double inner(const Tensors& a, const Tensors& b) {
  double total = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const Doubles p = parts(a[k]), q = parts(b[k]);
    for (std::size_t i = 0; i < p.size(); ++i) total += p[i] * q[i];
  }
  return total;
}
// u^T H v: by reverse mode twice, whose result is h, by tangents of the gradient, and by the gradient of tangents.
void check_second_in_all_modes(const Row& row, const Case& c, const Bound& b, const Tensors& w, const Tensors& v,
                               const Tensors& h) {
  Tensors u;
  for (std::size_t i = 0; i < b.x.size(); ++i) u.push_back(filled(b.x[i], weight, 1 + b.places[i]));
  check("h", {inner(h, u)}, c, row.error);
  INFO("forward over reverse");
  check("h", {inner(support::push(support::gradient_of(b.f, w), b.x, u), v)}, c, row.error);
  INFO("reverse over forward");
  const auto tangents = [&b, &u](const Tensors& x) { return support::push(b.f, x, u); };
  check("h", {inner(support::pull(tangents, b.x, w), v)}, c, row.error);
}

void check_derivatives(const Row& row, const Case& c, const Tensors& y) {
  const Bound b = bound(row, c.x);
  Tensors w, v;
  for (std::size_t j = 0; j < y.size(); ++j)
    if (is_differentiable(y[j])) w.push_back(filled(y[j], weight, static_cast<std::int64_t>(j)));
  if (b.x.empty() || w.empty()) return;
  const Tensors g = support::pull(b.f, b.x, w);
  for (std::size_t i = 0; i < g.size(); ++i) {
    const std::string place = std::to_string(b.places[i]);
    check("g" + place, parts(g[i]), c, row.error);
    check("s" + place, {weighted_sum(parts(g[i]), b.places[i])}, c, row.error);
    v.push_back(filled(g[i], direction, b.places[i]));
  }
  const auto second = c.figures.lower_bound("h");
  if (second == c.figures.end() || second->first[0] != 'h') return;
  const bool whole = second->first != "h";
  const support::Function f = whole ? b.f : bent(b.f), gradient = support::gradient_of(f, w);
  const Tensors h = support::pull(gradient, b.x, v);
  if (whole)
    for (std::size_t i = 0; i < h.size(); ++i) check("h" + std::to_string(b.places[i]), parts(h[i]), c, row.error);
  else
    check_second_in_all_modes(row, c, {f, b.x, b.places}, w, v, h);
}

void check_family(const std::string& path, const std::vector<Row>& rows) {
  std::map<std::string, const Row*> by_name;
  for (const Row& row : rows) CHECK(by_name.emplace(row.name, &row).second);
  std::set<std::string> used;
  for (const Case& c : read_cases(path)) {
    INFO(c.name);
    const auto found = by_name.find(c.name.substr(0, c.name.find('/')));
    if (found == by_name.end()) {
      FAIL_CHECK("no row");
      continue;
    }
    used.insert(found->first);
    try {
      const Tensors y = call_of(*found->second)(c.x);
      for (std::size_t j = 0; j < y.size(); ++j) {
        check("y" + std::to_string(j), parts(y[j]), c, found->second->error);
        check("t" + std::to_string(j), {weighted_sum(parts(y[j]), static_cast<std::int64_t>(j))}, c,
              found->second->error);
      }
      check_derivatives(*found->second, c, y);
    } catch (const std::exception& error) {
      FAIL_CHECK(error.what());
    }
    for (const auto& [label, figures] : c.figures) {
      INFO(label << " of the peer was compared with nothing");
      CHECK(figures.compared);
    }
  }
  for (const Row& row : rows) {
    INFO(row.name << " has no figures");
    CHECK(used.count(row.name) == 1);
  }
}

}  // namespace

TEST_CASE("pointwise functions, reductions and arranging are those of other libraries") {
  check_family("golden/elements", golden::element_rows);
}
TEST_CASE("linear algebra, Fourier transforms and signals are those of other libraries") {
  check_family("linalg/golden", golden::linear_algebra_rows);
}
TEST_CASE("networks, sequences, losses and distributions are those of other libraries") {
  check_family("nn/golden", golden::network_rows);
}
TEST_CASE("interpolation, integrals, equations and rotations are those of other libraries") {
  check_family("special/golden", golden::function_rows);
}

TEST_CASE("splines, grids, images, morphology, bands and first weights are those of other libraries") {
  check_family("interpolate/golden", golden::grid_rows);
}

TEST_CASE("distributions, their tails, quantiles and samples are those of mpmath") {
  check_family("stats/golden", golden::distribution_rows);
}

TEST_CASE("where derivatives are infinite, jump or are a choice, they are as documented") {
  check_family("golden/delicate", golden::delicate_rows);
}

// An answer that is missing, or numbers that differ from the right ones.
TEST_CASE("where PyTorch has no derivative or a wrong one, it is the one on record") {
  check_family("golden/beyond", golden::beyond_rows);
  for (const Case& c : read_cases("golden/beyond")) {
    INFO(c.name);
    CHECK_FALSE(c.peers.empty());
    for (const Peer& peer : c.peers) {
      INFO(peer.who << ": " << peer.what << " " << peer.said);
      if (peer.said.rfind("raises", 0) == 0 || peer.said.rfind("lacks", 0) == 0) continue;
      REQUIRE(c.figures.count(peer.what) == 1);
      std::istringstream in(peer.said);
      const Doubles answer = read_numbers(in);
      REQUIRE(answer.size() == c.figures.at(peer.what).values.size());
      CHECK_FALSE(agree(answer, c.figures.at(peer.what)));
    }
  }
}
