// Complex numbers: the holomorphic ops of the table with their derivatives, and conversions to and from real and
// imaginary parts. Compiled once, since most of the time is spent in the C library. Instruction sets with vectors have
// their own exp, log, sqrt and divide: per_isa/complex.cpp.
#include "kernels/baseline/complex.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "kernels/simd/complex.hpp"
#include "kernels/simd/element.hpp"
#include "kernels/simd/family.hpp"

namespace reel::kernels {

namespace {

// The holomorphic ops. The others have no complex derivative or no complex value.
constexpr std::array<std::string_view, 17> holomorphic = {
    "add", "subtract", "multiply", "divide", "negative", "square", "reciprocal", "power", "sqrt",
    "exp", "log",      "sin",      "cos",    "tan",      "sinh",   "cosh",       "tanh"};

// A loop over elements E that reads the operands K.
template <class E>
struct ElementLoops {
  template <class F, std::size_t... K>
  static constexpr Loop loop() {
    return &run<F, K...>;
  }
  template <class F, std::size_t... K>
  static void run(const Strided* in, void* out, std::ptrdiff_t n) {
    constexpr Layout layout = [] {
      Layout l{.operands = 0, .bytes = {}, .out_bytes = sizeof(E), .repeats = false};
      ((l.bytes[K] = sizeof(E), l.operands = K + 1), ...);
      return l;
    }();
    if (n != 1 && !direct(layout, in)) return staged(&run<F, K...>, layout, in, out, n);
    over(F{}, static_cast<E*>(out), n, static_cast<const E*>(in[K].data)...);
  }
  template <class F, class... In>
  static void over(F f, E* out, std::ptrdiff_t n, const In*... in) {
    for (std::ptrdiff_t i = 0; i < n; ++i) out[i] = f(in[i]...);
  }
};

template <const auto& Family, std::size_t At>
void enter_definition(PointwiseKernels& all) {
  using Definition = std::tuple_element_t<At, std::remove_cvref_t<decltype(Family)>>;
  if constexpr (std::find(holomorphic.begin(), holomorphic.end(), Definition::name) != holomorphic.end()) {
    auto& entries = all.op[table::first_of(Family) + At];
    entries[index(DType::complex64)] = DefinitionLoops<ElementLoops<Complex<float>>, Family, At>::all();
    entries[index(DType::complex128)] = DefinitionLoops<ElementLoops<Complex<double>>, Family, At>::all();
  }
}
template <const auto& Family>
void enter_family(PointwiseKernels& all) {
  [&]<std::size_t... At>(std::index_sequence<At...>) { (enter_definition<Family, At>(all), ...); }
  (std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(Family)>>>());
}

struct TakeReal {
  template <class T>
  T operator()(Complex<T> z) const {
    return z.re;
  }
};
struct TakeImag {
  template <class T>
  T operator()(Complex<T> z) const {
    return z.im;
  }
};
struct Magnitude {
  template <class T>
  T operator()(Complex<T> z) const {
    return std::hypot(z.re, z.im);
  }
};
struct Angle {
  template <class T>
  T operator()(Complex<T> z) const {
    return std::atan2(z.im, z.re);
  }
};
struct Conj {
  template <class T>
  Complex<T> operator()(Complex<T> z) const {
    return {z.re, -z.im};
  }
};
struct Join {
  template <class T>
  Complex<T> operator()(T re, T im) const {
    return {re, im};
  }
};

template <class T>
Loop loop_of(ComplexFunction f) {
  using Z = Complex<T>;
  switch (f) {
    case ComplexFunction::real:
      return &ElementMap<TakeReal, T, Z>::run;
    case ComplexFunction::imag:
      return &ElementMap<TakeImag, T, Z>::run;
    case ComplexFunction::abs:
      return &ElementMap<Magnitude, T, Z>::run;
    case ComplexFunction::angle:
      return &ElementMap<Angle, T, Z>::run;
    case ComplexFunction::conj:
      return &ElementMap<Conj, Z, Z>::run;
    default:
      return &ElementMap<Join, Z, T, T>::run;
  }
}

}  // namespace

void enter_complex(PointwiseKernels& all) {
  enter_family<table::arithmetic>(all);
  enter_family<table::powers>(all);
  enter_family<table::trigonometric>(all);
}

Loop complex_function(ComplexFunction f, DType d) {
  return d == DType::complex64 ? loop_of<float>(f) : loop_of<double>(f);
}

}  // namespace reel::kernels
