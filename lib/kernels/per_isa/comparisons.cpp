// Comparisons, predicates, logic on booleans, and selection between two operands by a boolean. Both operands of a
// comparison have one type; a NaN compares unequal to everything.
#include <cmath>

#include "kernels/per_isa/parts.hpp"
#include "kernels/simd/complex.hpp"
#include "kernels/simd/element.hpp"
#include "kernels/simd/pointwise.hpp"

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

struct ChooseIfEqual {
  template <class V>
  [[gnu::always_inline]] V operator()(V a, V b, V x, V y) const {
    return where(a == b, x, y);
  }
};
struct ChooseIfLess {
  template <class V>
  [[gnu::always_inline]] V operator()(V a, V b, V x, V y) const {
    return where(a < b, x, y);
  }
};
struct ChooseIfLessEqual {
  template <class V>
  [[gnu::always_inline]] V operator()(V a, V b, V x, V y) const {
    return where(a <= b, x, y);
  }
};

template <class T>
void enter_choices(Set& set, DType type) {
  set.choice[0][index(type)] = &Map<T, ChooseIfEqual, 1, 0, 1, 2, 3>::run;
  set.choice[1][index(type)] = &Map<T, ChooseIfLess, 1, 0, 1, 2, 3>::run;
  set.choice[2][index(type)] = &Map<T, ChooseIfLessEqual, 1, 0, 1, 2, 3>::run;
}
template <class T>
void enter_equality(Set& set, DType type) {
  set.compare[static_cast<std::size_t>(Comparison::equal)][index(type)] = &ElementMap<Equal, Byte, T, T>::run;
  set.compare[static_cast<std::size_t>(Comparison::not_equal)][index(type)] = &ElementMap<NotEqual, Byte, T, T>::run;
}
template <class T>
void enter_order(Set& set, DType type) {
  enter_equality<T>(set, type);
  set.compare[static_cast<std::size_t>(Comparison::less)][index(type)] = &ElementMap<Less, Byte, T, T>::run;
  set.compare[static_cast<std::size_t>(Comparison::less_equal)][index(type)] = &ElementMap<LessEqual, Byte, T, T>::run;
  set.compare[static_cast<std::size_t>(Comparison::greater)][index(type)] = &ElementMap<Greater, Byte, T, T>::run;
  set.compare[static_cast<std::size_t>(Comparison::greater_equal)][index(type)] =
      &ElementMap<GreaterEqual, Byte, T, T>::run;
}
template <class T>
void enter_predicates(Set& set, DType type) {
  set.predicate[static_cast<std::size_t>(Predicate::isnan)][index(type)] = &ElementMap<IsNan, Byte, T>::run;
  set.predicate[static_cast<std::size_t>(Predicate::isinf)][index(type)] = &ElementMap<IsInf, Byte, T>::run;
  set.predicate[static_cast<std::size_t>(Predicate::isfinite)][index(type)] = &ElementMap<IsFinite, Byte, T>::run;
}

}  // namespace

void enter_comparisons(Set& set) {
  enter_order<Byte>(set, DType::boolean);
  enter_order<std::uint8_t>(set, DType::uint8);
  enter_order<std::int32_t>(set, DType::int32);
  enter_order<std::int64_t>(set, DType::int64);
  enter_order<float>(set, DType::float32);
  enter_order<double>(set, DType::float64);
  enter_equality<Complex<float>>(set, DType::complex64);
  enter_equality<Complex<double>>(set, DType::complex128);
  enter_predicates<float>(set, DType::float32);
  enter_predicates<double>(set, DType::float64);
  enter_predicates<Complex<float>>(set, DType::complex64);
  enter_predicates<Complex<double>>(set, DType::complex128);
  enter_choices<float>(set, DType::float32);
  enter_choices<double>(set, DType::float64);
  set.logical[static_cast<std::size_t>(Logical::conjunction)] = &ElementMap<And, Byte, Byte, Byte>::run;
  set.logical[static_cast<std::size_t>(Logical::disjunction)] = &ElementMap<Or, Byte, Byte, Byte>::run;
  set.logical[static_cast<std::size_t>(Logical::exclusive)] = &ElementMap<Xor, Byte, Byte, Byte>::run;
  set.logical[static_cast<std::size_t>(Logical::negation)] = &ElementMap<Not, Byte, Byte>::run;
  using Largest = Block<2, std::uint64_t>;
  set.select[size_class(1)] = &ElementMap<Choose, std::uint8_t, Byte, std::uint8_t, std::uint8_t>::run;
  set.select[size_class(2)] = &ElementMap<Choose, std::uint16_t, Byte, std::uint16_t, std::uint16_t>::run;
  set.select[size_class(4)] = &ElementMap<Choose, std::uint32_t, Byte, std::uint32_t, std::uint32_t>::run;
  set.select[size_class(8)] = &ElementMap<Choose, std::uint64_t, Byte, std::uint64_t, std::uint64_t>::run;
  set.select[size_class(16)] = &ElementMap<Choose, Largest, Byte, Largest, Largest>::run;
}

}  // namespace reel::kernels
