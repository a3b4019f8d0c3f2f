// The table of op cases: a row for each exported op, from which values, both modes, orders, edge cases and coverage are
// tested, the op table of samples/README.md is generated, and the benchmarks take their inputs. Rows of the engine's
// ops are in op_cases, those of a subject in its folder: rows.cpp, or rows/*.cpp.
#pragma once
#include <cstdlib>
#include <reel/reel.hpp>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "random/number.hpp"

namespace cases {

/// Whether the rows of this op are tested: all are, unless the environment variable REEL_OP_CASES names a single op.
inline bool selected(const std::string& name) {
  const char* op = std::getenv("REEL_OP_CASES");
  return !op || name == op;
}
/// The rows of a table that are tested.
template <class Row, std::size_t N>
std::vector<Row> selected_rows(const Row (&rows)[N]) {
  std::vector<Row> some(std::begin(rows), std::end(rows));
  std::erase_if(some, [](const Row& row) { return !selected(row.name); });
  return some;
}

using Real = long double;
using Operands = std::span<const reel::Tensor>;

/// Operands are drawn uniformly from [low, high].
struct Domain {
  double low = 0, high = 0;
};

enum Flag : unsigned {
  none = 0,
  integers = 1,        // takes integers and returns integers
  booleans = 2,        // ... for booleans too
  boolean_result = 4,  // has no gradient
  constant = 8,        // deliberately not connected to its operands
  by_complex = 16,     // of complex numbers, made from real operands: not a function of lanes
  not_of_lanes = 32,   // a function of tensors only
  by_values = 64,      // the extents of the result depend on elements: cannot be traced
};

/// The reference of a pointwise op, as a function of its operands' elements. Written for `auto x`, it also takes jets,
/// and random programs and the test of derivatives use it. Otherwise these have references of their own.
struct PointwiseValue {
  using Jet = random_programs::Jet;
  Real (*real)(const Real* x);
  Jet (*jet)(const Jet* x) = nullptr;

  template <class F>
  constexpr PointwiseValue(F f) : real(f) {
    if constexpr (std::is_convertible_v<F, Jet (*)(const Jet*)>) jet = f;
  }
  Real operator()(const Real* x) const { return real(x); }
};

/// A pointwise op: its operands broadcast, and a long double function of elements is its reference.
struct Pointwise {
  const char* name;
  reel::Tensor (*call)(Operands x);
  int arity;
  Domain domain[3];  // where it and its derivatives are tested
  PointwiseValue value;
  Domain wide[3] = {};                        // where the value alone is tested; empty: domain
  bool (*smooth)(const double* x) = nullptr;  // false near kinks, where central differences are of no use
  unsigned flags = none;
  double absolute = 0;  // an error below this counts as none (near the zeros of lgamma and digamma)
};
std::span<const Pointwise> pointwise();
/// All rows, whether they are tested or not.
std::span<const Pointwise> all_pointwise();

/// The extents of an array. As those of a Shape, but by code of the tests alone.
struct Extents : std::vector<std::int64_t> {
  using vector::vector;
  Extents(const std::vector<std::int64_t>& extents) : vector(extents) {}
  Extents(const reel::Shape& shape) : vector(shape.begin(), shape.end()) {}
  int rank() const { return static_cast<int>(size()); }
  std::int64_t elements() const {
    std::int64_t n = 1;
    for (const std::int64_t extent : *this) n *= extent;
    return n;
  }
  /// A negative axis counts from the end.
  std::size_t position(std::int64_t axis) const { return static_cast<std::size_t>(axis < 0 ? axis + rank() : axis); }
  std::int64_t operator[](std::int64_t axis) const { return vector::operator[](position(axis)); }
  std::int64_t& operator[](std::int64_t axis) { return vector::operator[](position(axis)); }
  void insert(std::int64_t axis, std::int64_t extent) { vector::insert(begin() + axis, extent); }
  void erase(std::int64_t axis) { vector::erase(begin() + static_cast<std::ptrdiff_t>(position(axis))); }
};

/// A naive array of numbers, row-major, for references: of long doubles in the tests of the table, of jets or complex
/// jets in random programs.
template <class N>
struct ArrayOf {
  Extents shape;
  std::vector<N> values;
};
template <class N>
using ArraysOf = std::span<const ArrayOf<N>>;
using Array = ArrayOf<Real>;
using Arrays = ArraysOf<Real>;

/// Any other op, with fixed other arguments; several rows for one op where its arguments matter.
struct Shaped {
  const char* name;
  /// Operand shapes: "3x4,4x5;4,4x5" are two cases of two operands; "()" is rank 0.
  const char* shapes;
  reel::Tensor (*call)(Operands x);
  Array (*reference)(Arrays x);
  Domain domain = {-2, 2};
  /// Converts a drawn operand to one that suits the op (well-conditioned, positive definite); null: as drawn.
  reel::Tensor (*prepare)(const reel::Tensor& drawn, std::size_t operand) = nullptr;
  unsigned flags = none;
  /// Tolerances are multiplied by it: a condition number, or the error of a narrower dtype.
  double slack = 1;
};
std::span<const Shaped> reductions();
std::span<const Shaped> movements();
std::span<const Shaped> linear_algebra();
std::span<const Shaped> networks();

/// Rows of the ops that have headers of their own.
std::span<const Shaped> arranging();
std::span<const Shaped> factorisations();
std::span<const Shaped> fft_rows();
std::span<const Shaped> indexing();
std::span<const Shaped> interpolation_rows();
std::span<const Shaped> distributions();
std::span<const Shaped> losses();
std::span<const Shaped> matrix_functions();
std::span<const Shaped> matrix_products();
std::span<const Shaped> nn();
std::span<const Shaped> parts();
std::span<const Shaped> rotation_rows();
std::span<const Shaped> scans();
std::span<const Shaped> sequence_rows();
std::span<const Shaped> signal_rows();
std::span<const Shaped> sorting();
std::span<const Shaped> special();
std::span<const Shaped> statistics();
std::span<const Shaped> structured();
std::span<const Shaped> windows();
struct Family {
  const char* name;
  std::span<const Shaped> (*rows)();
};
std::span<const Family> families();
/// All tables but the pointwise one.
std::vector<std::span<const Shaped>> shaped_tables();

/// The shapes of a row, one list per case.
std::vector<std::vector<reel::Shape>> shapes_of(const Shaped& row);

/// A kink or a singular point: expected value and gradients (for ones as cotangent).
struct Edge {
  const char* name;
  const char* point;  // the name of the special point
  reel::Tensor (*call)(Operands x);
  std::vector<reel::Tensor> (*inputs)();
  std::vector<double> value;
  std::vector<std::vector<double>> gradients;
  double tolerance = 1e-13;
  std::vector<std::vector<double>> tangents = {};  // of forward mode, where they differ from the gradients
};
std::vector<Edge> edges();

}  // namespace cases
