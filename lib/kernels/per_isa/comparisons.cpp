// Comparisons, predicates, logic on booleans, and selection between two operands by a boolean. Both operands of a
// comparison have one type; a NaN compares unequal to everything.
#include "kernels/comparisons.hpp"

#include <cmath>
#include <limits>

#include "kernels/simd/complex.hpp"
#include "kernels/simd/element.hpp"
#include "kernels/simd/tail.hpp"

namespace reel::kernels {

namespace {

using Byte = std::uint8_t;

struct Equal {
  template <class T>
  Byte operator()(T x, T y) const {
    return x == y;
  }
};
struct NotEqual {
  template <class T>
  Byte operator()(T x, T y) const {
    return x != y;
  }
};
struct Less {
  template <class T>
  Byte operator()(T x, T y) const {
    return x < y;
  }
};
struct LessEqual {
  template <class T>
  Byte operator()(T x, T y) const {
    return x <= y;
  }
};
struct Greater {
  template <class T>
  Byte operator()(T x, T y) const {
    return x > y;
  }
};
struct GreaterEqual {
  template <class T>
  Byte operator()(T x, T y) const {
    return x >= y;
  }
};

struct IsNan {
  template <class T>
  Byte operator()(T x) const {
    return x != x;
  }
};
struct IsInf {
  template <class T>
  Byte operator()(T x) const {
    return std::abs(x) == std::numeric_limits<T>::infinity();
  }
  template <class T>
  Byte operator()(Complex<T> z) const {
    return (*this)(z.re) | (*this)(z.im);
  }
};
struct IsFinite {
  template <class T>
  Byte operator()(T x) const {
    return std::abs(x) < std::numeric_limits<T>::infinity();
  }
  template <class T>
  Byte operator()(Complex<T> z) const {
    return (*this)(z.re) & (*this)(z.im);
  }
};

struct And {
  Byte operator()(Byte x, Byte y) const { return x & y; }
};
struct Or {
  Byte operator()(Byte x, Byte y) const { return x | y; }
};
struct Xor {
  Byte operator()(Byte x, Byte y) const { return x ^ y; }
};
struct Not {
  Byte operator()(Byte x) const { return x ^ 1; }
};

template <std::size_t Words, class Word>
struct Block {
  Word word[Words];
};
struct Choose {
  template <class T>
  T operator()(Byte c, T x, T y) const {
    return c != 0 ? x : y;
  }
  // Two word selections each, branch-free.
  Block<2, std::uint64_t> operator()(Byte c, Block<2, std::uint64_t> x, Block<2, std::uint64_t> y) const {
    return {{c != 0 ? x.word[0] : y.word[0], c != 0 ? x.word[1] : y.word[1]}};
  }
};

struct IfEqual {
  template <class V>
  [[gnu::always_inline]] auto operator()(V a, V b) const {
    return a == b;
  }
};
struct IfLess {
  template <class V>
  [[gnu::always_inline]] auto operator()(V a, V b) const {
    return a < b;
  }
};
struct IfLessEqual {
  template <class V>
  [[gnu::always_inline]] auto operator()(V a, V b) const {
    return a <= b;
  }
};

// out[i] = Condition(a[i], b[i]) ? x[i] : y[i]. An operand of stride 0 stays in its register: the loop is limited by
// its loads.
template <class T, class Condition>
struct ChoiceLoop {
  using L = Vec<T>;
  static constexpr std::size_t operands = 4;
  static constexpr std::ptrdiff_t group = 4;  // vectors per test of the strides

  static void run(const Strided* in, void* out, std::ptrdiff_t n) {
    if (n < 1) return;
    if (n > 1 && ((in[0].stride | in[1].stride | in[2].stride | in[3].stride) & ~std::ptrdiff_t(1)) != 0) {
      constexpr Layout layout{operands, {sizeof(T), sizeof(T), sizeof(T), sizeof(T)}, sizeof(T), true};
      return staged(&run, layout, in, out, n);
    }
    const T* p[operands];
    L value[operands];
    unsigned varies = 0;  // a bit for each operand
    for (std::size_t k = 0; k < operands; ++k) {
      p[k] = static_cast<const T*>(in[k].data);
      value[k] = L(*p[k]);
      varies |= unsigned{in[k].stride != 0} << k;
    }
    T* to = static_cast<T*>(out);
    std::ptrdiff_t i = 0;
    for (; n - i >= group * L::size; i += group * L::size) {
      asm("" : "+r"(varies));  // no copy of the loop for each value
      L of[operands][group];
      for (std::size_t k = 0; k < operands; ++k) {
        for (std::ptrdiff_t j = 0; j < group; ++j) of[k][j] = value[k];
        if ((varies >> k & 1u) != 0)
          for (std::ptrdiff_t j = 0; j < group; ++j) of[k][j] = L::load(p[k] + i + j * L::size);
      }
      for (std::ptrdiff_t j = 0; j < group; ++j)
        where(Condition{}(of[0][j], of[1][j]), of[2][j], of[3][j]).store(to + i + j * L::size);
    }
    for (; n - i >= L::size; i += L::size) {
      asm("" : "+r"(varies));  // no copy of the loop for each value
      for (std::size_t k = 0; k < operands; ++k)
        if ((varies >> k & 1u) != 0) value[k] = L::load(p[k] + i);
      where(Condition{}(value[0], value[1]), value[2], value[3]).store(to + i);
    }
    if (i == n) return;
    for (std::size_t k = 0; k < operands; ++k)
      if ((varies >> k & 1u) != 0) value[k] = load_first(p[k] + i, n - i, value[k]);
    store_first(where(Condition{}(value[0], value[1]), value[2], value[3]), to + i, n - i);
  }
};

template <class T>
void enter_choices(ComparisonKernels& all, DType type) {
  all.choice[static_cast<std::size_t>(Choice::equal)][index(type)] = &ChoiceLoop<T, IfEqual>::run;
  all.choice[static_cast<std::size_t>(Choice::less)][index(type)] = &ChoiceLoop<T, IfLess>::run;
  all.choice[static_cast<std::size_t>(Choice::less_equal)][index(type)] = &ChoiceLoop<T, IfLessEqual>::run;
}
template <class T>
void enter_equality(ComparisonKernels& all, DType type) {
  all.compare[static_cast<std::size_t>(Comparison::equal)][index(type)] = &ElementMap<Equal, Byte, T, T>::run;
  all.compare[static_cast<std::size_t>(Comparison::not_equal)][index(type)] = &ElementMap<NotEqual, Byte, T, T>::run;
}
template <class T>
void enter_order(ComparisonKernels& all, DType type) {
  enter_equality<T>(all, type);
  all.compare[static_cast<std::size_t>(Comparison::less)][index(type)] = &ElementMap<Less, Byte, T, T>::run;
  all.compare[static_cast<std::size_t>(Comparison::less_equal)][index(type)] = &ElementMap<LessEqual, Byte, T, T>::run;
  all.compare[static_cast<std::size_t>(Comparison::greater)][index(type)] = &ElementMap<Greater, Byte, T, T>::run;
  all.compare[static_cast<std::size_t>(Comparison::greater_equal)][index(type)] =
      &ElementMap<GreaterEqual, Byte, T, T>::run;
}
template <class T>
void enter_predicates(ComparisonKernels& all, DType type) {
  all.predicate[static_cast<std::size_t>(Predicate::isnan)][index(type)] = &ElementMap<IsNan, Byte, T>::run;
  all.predicate[static_cast<std::size_t>(Predicate::isinf)][index(type)] = &ElementMap<IsInf, Byte, T>::run;
  all.predicate[static_cast<std::size_t>(Predicate::isfinite)][index(type)] = &ElementMap<IsFinite, Byte, T>::run;
}

}  // namespace

const void* comparisons_kernels() {
  static ComparisonKernels all;
  enter_order<Byte>(all, DType::boolean);
  enter_order<std::uint8_t>(all, DType::uint8);
  enter_order<std::int32_t>(all, DType::int32);
  enter_order<std::int64_t>(all, DType::int64);
  enter_order<float>(all, DType::float32);
  enter_order<double>(all, DType::float64);
  enter_equality<Complex<float>>(all, DType::complex64);
  enter_equality<Complex<double>>(all, DType::complex128);
  enter_predicates<float>(all, DType::float32);
  enter_predicates<double>(all, DType::float64);
  enter_predicates<Complex<float>>(all, DType::complex64);
  enter_predicates<Complex<double>>(all, DType::complex128);
  enter_choices<float>(all, DType::float32);
  enter_choices<double>(all, DType::float64);
  all.logical[static_cast<std::size_t>(Logical::conjunction)] = &ElementMap<And, Byte, Byte, Byte>::run;
  all.logical[static_cast<std::size_t>(Logical::disjunction)] = &ElementMap<Or, Byte, Byte, Byte>::run;
  all.logical[static_cast<std::size_t>(Logical::exclusive)] = &ElementMap<Xor, Byte, Byte, Byte>::run;
  all.logical[static_cast<std::size_t>(Logical::negation)] = &ElementMap<Not, Byte, Byte>::run;
  using Largest = Block<2, std::uint64_t>;
  all.select[size_class(1)] = &ElementMap<Choose, std::uint8_t, Byte, std::uint8_t, std::uint8_t>::run;
  all.select[size_class(2)] = &ElementMap<Choose, std::uint16_t, Byte, std::uint16_t, std::uint16_t>::run;
  all.select[size_class(4)] = &ElementMap<Choose, std::uint32_t, Byte, std::uint32_t, std::uint32_t>::run;
  all.select[size_class(8)] = &ElementMap<Choose, std::uint64_t, Byte, std::uint64_t, std::uint64_t>::run;
  all.select[size_class(16)] = &ElementMap<Choose, Largest, Byte, Largest, Largest>::run;
  return &all;
}

}  // namespace reel::kernels
