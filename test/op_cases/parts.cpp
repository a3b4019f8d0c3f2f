// Rows of the ops of <reel/ops/parts.hpp>.
#include "references/parts.hpp"

#include <reel/ops/parts.hpp>

namespace cases {

namespace {

using namespace reel;
using namespace numbers;
using X = Operands;
using A = Arrays;

// Integers of drawn numbers, also negative ones, and the same of an array.
Tensor integers_of(const Tensor& x) { return cast(floor(stop_gradient(x) * 40), DType::int64); }
std::int64_t integer_of(Real x) { return static_cast<std::int64_t>(std::floor(static_cast<double>(x) * 40)); }
Tensor counts_of(const Tensor& x) { return abs(integers_of(x)) % 70 - 3; }
std::int64_t count_of(Real x) { return std::abs(integer_of(x)) % 70 - 3; }

// f of the elements of both.
template <class F>
Array of_both(A x, F f) {
  return by_elements(x, [&](const Real* v) { return f(v[0], v[1]); });
}
template <class F>
Array of_integers(A x, F f) {
  return of_both(x, [&](Real a, Real b) { return static_cast<Real>(f(integer_of(a), integer_of(b))); });
}
// Two functions of the elements of both, along a new last axis.
template <class F, class G>
Array paired(A x, F f, G g) {
  const Array re = of_both(x, f), im = of_both(x, g);
  Array y = re;
  y.shape.push_back(2);
  y.values.clear();
  for (std::size_t i = 0; i < re.values.size(); ++i) {
    y.values.push_back(re.values[i]);
    y.values.push_back(im.values[i]);
  }
  return y;
}
// f of both elements along the last axis.
template <class F>
Array of_pairs(const Array& x, F f) {
  const Shape shape(x.shape.data(), static_cast<std::size_t>(x.shape.rank() - 1));
  return build(shape, [&](Index i) {
    i.push_back(0);
    const Real re = at(x, i);
    i.back() = 1;
    return f(re, at(x, i));
  });
}
// The first elements along the last of three axes, with the others exchanged.
Array transposed_reals(const Array& x) {
  return build({x.shape[1], x.shape[0]}, [&](const Index& i) { return at(x, {i[1], i[0], 0}); });
}

// clang-format off
const Shaped rows[] = {
    {"bitwise_and", "3x4,3x4;2x5,5;0x2,2", [](X x) { return bitwise_and(integers_of(x[0]), integers_of(x[1])); }, [](A x) { return of_integers(x, [](auto a, auto b) { return a & b; }); }, {-2, 2}, nullptr, constant},
    {"bitwise_or", "3x4,3x4;2x5,5", [](X x) { return bitwise_or(integers_of(x[0]), integers_of(x[1])); }, [](A x) { return of_integers(x, [](auto a, auto b) { return a | b; }); }, {-2, 2}, nullptr, constant},
    {"bitwise_xor", "3x4,3x4;2x5,5", [](X x) { return bitwise_xor(integers_of(x[0]), integers_of(x[1])); }, [](A x) { return of_integers(x, [](auto a, auto b) { return a ^ b; }); }, {-2, 2}, nullptr, constant},
    {"bitwise_not", "3x4;0", [](X x) { return bitwise_not(integers_of(x[0])); }, [](A x) { return build(x[0].shape, [&](const Index& i) { return static_cast<Real>(~integer_of(at(x[0], i))); }); }, {-2, 2}, nullptr, constant},
    {"left_shift", "3x4,3x4;2x5,5", [](X x) { return left_shift(integers_of(x[0]), counts_of(x[1])); }, [](A x) { return of_both(x, [](Real a, Real b) { return static_cast<Real>(shifted_left(integer_of(a), count_of(b))); }); }, {-2, 2}, nullptr, constant},
    {"right_shift", "3x4,3x4;2x5,5", [](X x) { return right_shift(integers_of(x[0]), counts_of(x[1])); }, [](A x) { return of_both(x, [](Real a, Real b) { return static_cast<Real>(shifted_right(integer_of(a), count_of(b))); }); }, {-2, 2}, nullptr, constant},
    {"frexp", "7;2x3;0", [](X x) { return reel::frexp(x[0]).mantissa; }, [](A x) { return by_elements(x, [](const Real* v) { return mantissa_of(v[0]); }); }, {4.1, 7.9}},
    {"frexp", "2x9", [](X x) { return reel::frexp(x[0] * 1e-3).exponent; }, [](A x) { return build(x[0].shape, [&](const Index& i) { int e; static_cast<void>(std::frexp(static_cast<double>(at(x[0], i)) * 1e-3, &e)); return static_cast<Real>(e); }); }, {-9, 9}, nullptr, constant},
    {"ldexp", "3x4,3x4;2x5,5", [](X x) { return reel::ldexp(x[0], counts_of(x[1]) % 5); }, [](A x) { return of_both(x, [](Real a, Real b) { return times_power(a, (count_of(b) % 5 + 5) % 5); }); }},
    {"ldexp", "4,3x4;5", [](X x) { return reel::ldexp(x[0], -2) + (x.size() > 1 ? 0 * x[1] : Tensor(zeros({}))); }, [](A x) { return build(x.size() > 1 ? x[1].shape : x[0].shape, [&](const Index& i) { return at(x[0], {i.back()}) / 4; }); }},
    {"polar", "3x4,3x4;2x5,5;2x0,2x0", [](X x) { return real(polar(x[0], x[1])); }, [](A x) { return of_both(x, [](Real a, Real b) { return a * std::cos(b); }); }, {-2, 2}, nullptr, by_complex, 2},
    {"polar", "3x4,3x4;2x5,5", [](X x) { return imag(polar(x[0], x[1]) * polar(1, 0.5)); }, [](A x) { return of_both(x, [](Real a, Real b) { return a * std::sin(b + 0.5L); }); }, {-2, 2}, nullptr, by_complex, 4},
    {"as_real", "3x4,3x4;2x5,5;2x0,2x0", [](X x) { return as_real(square(make_complex(x[0], x[1]))); }, [](A x) { return paired(x, [](Real a, Real b) { return a * a - b * b; }, [](Real a, Real b) { return 2 * a * b; }); }, {-2, 2}, nullptr, by_complex, 2},
    {"as_complex", "3x4x2;2;5x2;0x2", [](X x) { return imag(square(as_complex(x[0]))); }, [](A x) { return of_pairs(x[0], [](Real a, Real b) { return 2 * a * b; }); }, {-2, 2}, nullptr, by_complex, 2},
    {"as_complex", "2x3x2", [](X x) { return real(as_complex(transpose(x[0], {1, 0, 2}))); }, [](A x) { return transposed_reals(x[0]); }, {-2, 2}, nullptr, by_complex},
    {"glu", "3x4;6;2x0", [](X x) { return glu(x[0]); }, [](A x) { return gated(x[0], x[0].shape.rank() - 1); }, {-2, 2}, nullptr, none, 2},
    {"glu", "4x3x2", [](X x) { return glu(x[0], 0); }, [](A x) { return gated(x[0], 0); }, {-2, 2}, nullptr, none, 2},
};
// clang-format on

}  // namespace

std::span<const Shaped> parts() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
