#include "loops/index/scatter.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/visit.hpp"
#include "kernels/baseline/copy.hpp"
#include "loops/elementwise/cast.hpp"
#include "loops/elementwise/loop_nest.hpp"
#include "loops/index/along.hpp"

namespace reel::loops {
namespace {

template <class T>
struct Add {
  static void apply(T& sum, T x) {
    if constexpr (std::is_same_v<T, bool>)
      sum = sum || x;
    else if constexpr (std::is_integral_v<T>)
      sum = static_cast<T>(static_cast<std::make_unsigned_t<T>>(sum) + static_cast<std::make_unsigned_t<T>>(x));
    else
      sum = static_cast<T>(sum + x);
  }
};
template <class T>
struct Add<complex<T>> {
  static void apply(complex<T>& sum, complex<T> x) { sum = {sum.re + x.re, sum.im + x.im}; }
};

template <class T>
struct Multiply {
  static void apply(T& product, T x) {
    if constexpr (std::is_same_v<T, bool>)
      product = product && x;
    else if constexpr (std::is_integral_v<T>)  // unsigned of at least 32 bits: uint8 would be promoted to int
      product = static_cast<T>(static_cast<std::uint64_t>(product) * static_cast<std::uint64_t>(x));
    else
      product = static_cast<T>(product * x);
  }
};
template <class T>
struct Multiply<complex<T>> {
  static void apply(complex<T>& a, complex<T> b) { a = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
};

template <class T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(x);
  else
    return false;
}
template <class T>
bool same(T x, T y) {
  return x == y || (is_nan(x) && is_nan(y));
}
template <bool Largest>
struct Extreme {
  template <class T>
  static void apply(T& best, T x) {
    if (is_nan(x)) [[unlikely]]
      best = is_nan(best) ? best : x;
    else
      best = (Largest ? x > best : x < best) ? x : best;  // one instruction that keeps a NaN
  }
  // The same for an x that is not NaN: without a branch.
  template <class T>
  static void apply_number(T& best, T x) {
    best = (Largest ? x > best : x < best) ? x : best;
  }
};

template <class T>
constexpr bool is_complex_number = std::is_same_v<T, complex64> || std::is_same_v<T, complex128>;

// The last term replaces all others, whatever its type: a function of the element size.
struct Set {};

// Places are in [0, end), or negative and count from `wrap`.
struct Limits {
  std::int64_t end, wrap;
};
// Calls f(element, term) for terms with a place. False, with some terms left out, if a place is outside [-wrap, end).
template <class T, class F>
[[gnu::always_inline]] inline bool each_place(std::byte* results, const std::byte* terms, std::int64_t step,
                                              const std::int64_t* places, std::int64_t n, Limits limits, const F& f) {
  constexpr std::int64_t size = sizeof(T);
  const auto end = static_cast<std::uint64_t>(limits.end);
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t place = places[i];
    if (static_cast<std::uint64_t>(place) >= end) [[unlikely]] {
      place += limits.wrap;
      if (places[i] >= 0 || place < 0) return false;
    }
    f(results + place * size, terms + i * step * size);
  }
  return true;
}
// Extremes of floating numbers: NaNs, which are rare, in a second pass over a block.
template <class T, class F>
bool extremes_at(std::byte* results, const std::byte* terms, std::int64_t step, const std::int64_t* places,
                 std::int64_t n, Limits limits) {
  constexpr std::int64_t block = 256;
  for (std::int64_t i = 0; i < n; i += block) {
    bool any_nan = false, good = true;
    const auto each = [&](const auto& f) __attribute__((always_inline)) {
      good &= each_place<T>(results, terms + i * step * static_cast<std::int64_t>(sizeof(T)), step, places + i,
                            std::min(block, n - i), limits, [&](std::byte* to, const std::byte* from) {
                              f(*reinterpret_cast<T*>(to), *reinterpret_cast<const T*>(from));
                            });
    };
    each([&](T& best, T x) {
      any_nan |= is_nan(x);
      F::apply_number(best, x);
    });
    if (any_nan) [[unlikely]]
      each([](T& best, T x) {
        if (is_nan(x)) F::apply(best, x);
      });
    if (!good) return false;
  }
  return true;
}
// As each_place.
template <class T, class F>
bool scatter_at(std::byte* results, const std::byte* terms, std::int64_t step, const std::int64_t* places,
                std::int64_t n, Limits limits) {
  if constexpr (std::is_floating_point_v<T> && requires(T x) { F::apply_number(x, x); })
    return extremes_at<T, F>(results, terms, step, places, n, limits);
  else
    return each_place<T>(results, terms, step, places, n, limits, [](std::byte* to, const std::byte* from) {
      if constexpr (std::is_same_v<F, Set>)
        std::memcpy(to, from, sizeof(T));
      else
        F::apply(*reinterpret_cast<T*>(to), *reinterpret_cast<const T*>(from));
    });
}
template <class T, class F>
void scatter_run(std::byte* results, const std::byte* terms, std::int64_t step, std::int64_t n) {
  if constexpr (std::is_same_v<F, Set>) {
    if (step == 0)
      kernels::fill(terms, results, 1, n, sizeof(T));
    else
      std::memcpy(results, terms, static_cast<std::size_t>(n) * sizeof(T));
  } else {
    T* to = reinterpret_cast<T*>(results);
    const T* from = reinterpret_cast<const T*>(terms);
    if (step == 0)
      for (std::int64_t i = 0; i < n; ++i) F::apply(to[i], *from);
    else
      for (std::int64_t i = 0; i < n; ++i) F::apply(to[i], from[i]);
  }
}

// Combines terms with elements of one type: at places, and contiguously. The term of place i is i * step elements
// behind the first; step is 0 or 1.
struct ScatterKernels {
  bool (*at)(std::byte* results, const std::byte* terms, std::int64_t step, const std::int64_t* places, std::int64_t n,
             Limits limits) = nullptr;
  void (*run)(std::byte* results, const std::byte* terms, std::int64_t step, std::int64_t n) = nullptr;

  template <class T, class F>
  static constexpr ScatterKernels of() {
    return {scatter_at<T, F>, scatter_run<T, F>};
  }
};

ScatterKernels kernels_of(ScatterFunction f, DType d) {
  if (f == ScatterFunction::set)
    return with_size(item_size(d), []<class T>(T) { return ScatterKernels::of<T, Set>(); });
  return visit(d, [f]<class T>() -> ScatterKernels {
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
      return {};
    } else {
      if (f == ScatterFunction::add) return ScatterKernels::of<T, Add<T>>();
      if (f == ScatterFunction::multiply) return ScatterKernels::of<T, Multiply<T>>();
      if constexpr (is_complex_number<T>)
        return {};
      else
        return f == ScatterFunction::max ? ScatterKernels::of<T, Extreme<true>>()
                                         : ScatterKernels::of<T, Extreme<false>>();
    }
  });
}

// Results and terms as kernels take them: contiguous, or a single number as the term. 16-bit floats that are combined
// are converted to float32 until finish().
class Operands {
 public:
  ScatterKernels kernels;
  std::int64_t bytes, step;  // of an element; from one term to the next
  std::byte* results;
  const std::byte* terms;

  Operands(ScatterFunction f, const Tensor& operand, const Tensor& y) : y_(y), wide_(y), terms_(operand) {
    const detail::Block* block = detail::block(operand);
    const bool one = std::all_of(block->strides(), block->strides() + block->rank, [](auto s) { return s == 0; });
    step = one ? 0 : 1;
    if (one) {
      terms_ = detail::empty(operand.dtype(), {1});
      std::memcpy(detail::block(terms_)->data, block->data, item_size(operand.dtype()));
    }
    if (f != ScatterFunction::set && (y.dtype() == DType::float16 || y.dtype() == DType::bfloat16)) {
      wide_ = detail::empty(DType::float32, y.shape());
      cast(y, wide_);
      const Tensor wide_terms = detail::empty(DType::float32, terms_.shape());
      cast(terms_, wide_terms);
      terms_ = wide_terms;
    } else if (!one) {
      terms_ = contiguous(terms_);
    }
    kernels = kernels_of(f, wide_.dtype());
    bytes = static_cast<std::int64_t>(item_size(wide_.dtype()));
    results = detail::block(wide_)->data;
    terms = detail::block(terms_)->data;
  }
  void finish() const {
    if (wide_.dtype() != y_.dtype()) cast(wide_, y_);
  }

  // Combines n terms, from number `term` on, with the places behind element `base`. False if one is outside.
  bool at(std::int64_t base, std::int64_t term, const std::int64_t* places, std::int64_t n, Limits limits) const {
    return kernels.at(results + base * bytes, terms + term * step * bytes, step, places, n, limits);
  }
  // Combines n terms with the elements from `base` on.
  void run(std::int64_t base, std::int64_t term, std::int64_t n) const {
    kernels.run(results + base * bytes, terms + term * step * bytes, step, n);
  }

 private:
  const Tensor& y_;
  Tensor wide_, terms_;
};

// Maps terms [outer, count, inner] to elements of a tensor [outer, extent, inner].
struct ScatterMap {
  AxisSplit split;
  std::int64_t count;
  const std::int64_t* position;
  ScatterMap(const Tensor& whole, const Tensor& positions, int axis)
      : split(whole.shape(), axis), count(positions.size()), position(detail::mutable_data<std::int64_t>(positions)) {}
  std::int64_t first(std::int64_t outer) const { return outer * split.extent * split.inner; }
  std::int64_t to(std::int64_t outer, std::int64_t k) const { return first(outer) + position[k] * split.inner; }
  std::int64_t from(std::int64_t outer, std::int64_t k) const { return (outer * count + k) * split.inner; }

  // Calls f(place, term) for all terms of an outer index and inner elements [begin, end), in order.
  template <class F>
  void for_each_term(std::int64_t outer, std::int64_t begin, std::int64_t end, const F& f) const {
    if (split.inner == 1) {
      const std::int64_t first_place = outer * split.extent, first_term = outer * count;
      for (std::int64_t k = 0; k < count; ++k) f(first_place + position[k], first_term + k);
      return;
    }
    for (std::int64_t k = 0; k < count; ++k)
      for (std::int64_t i = begin; i < end; ++i) f(to(outer, k) + i, from(outer, k) + i);
  }

  // Calls f(outer, begin, end) for each outer index and ranges of inner elements; different ranges share no place.
  template <class F>
  void for_each_block(const F& f) const {
    const auto run_all = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t outer = begin; outer < end; ++outer) f(outer, 0, split.inner);
    };
    const std::int64_t terms = split.outer * count * split.inner;
    if (terms < parallel_threshold)
      run_all(0, split.outer);
    else if (split.outer > 1)
      parallel_for(split.outer, 1, run_all);
    else
      parallel_for(split.inner, 64, [&](std::int64_t begin, std::int64_t end) { f(0, begin, end); });
  }
};

}  // namespace

void scatter(ScatterFunction f, const Tensor& terms, const Tensor& positions, int axis, const Tensor& y) {
  if (terms.size() == 0) return;
  const ScatterMap map(y, positions, axis);
  const Operands operands(f, terms, y);
  map.for_each_block([&](std::int64_t outer, std::int64_t begin, std::int64_t end) {
    if (map.split.inner == 1) {
      operands.at(map.first(outer), map.from(outer, 0), map.position, map.count, {map.split.extent, 0});
      return;
    }
    for (std::int64_t k = 0; k < map.count; ++k)
      operands.run(map.to(outer, k) + begin, map.from(outer, k) + begin, end - begin);
  });
  operands.finish();
}

bool scatter_if_positions(ScatterFunction f, const Tensor& terms, const Tensor& indices, const Tensor& y) {
  const Operands operands(f, terms, y);
  const bool positions = operands.at(0, 0, detail::mutable_data<std::int64_t>(indices), indices.size(), {y.size(), 0});
  operands.finish();
  return positions;
}

namespace {

// The elements of a matrix that an index along the axis and the following axes name.
std::int64_t matrix_size(const Tensor& y, int axis) {
  const AxisSplit split(y.shape(), axis);
  return split.extent * split.inner;
}

}  // namespace

void add_along(const Tensor& terms, const Tensor& positions, int axis, const Tensor& sum) {
  if (terms.size() == 0) return;
  const Operands operands(ScatterFunction::add, terms, sum);
  const std::int64_t matrix = matrix_size(sum, axis);
  for_each_along(positions, axis, sum.shape()[axis],
                 [&](std::int64_t base, std::int64_t term, const std::int64_t* places, std::int64_t n) {
                   return operands.at(base, term, places, n, {matrix, matrix});
                 });
  operands.finish();
}

BadIndex scatter_along(ScatterFunction f, const Tensor& terms, const Tensor& indices, int axis, const Tensor& y) {
  if (terms.size() == 0) return {};
  const Operands operands(f, terms, y);
  const std::int64_t matrix = matrix_size(y, axis);
  const BadIndex bad =
      for_each_index_along(indices, terms.shape(), axis, y.shape()[axis],
                           [&](std::int64_t base, std::int64_t term, const std::int64_t* places, std::int64_t n) {
                             return operands.at(base, term, places, n, {matrix, matrix});
                           });
  operands.finish();
  return bad;
}

void find_last(const Tensor& positions, std::int64_t extent, const Tensor& last) {
  const Tensor latest = detail::empty(DType::int64, {extent});
  auto* at = detail::mutable_data<std::int64_t>(latest);
  const auto* position = detail::mutable_data<std::int64_t>(positions);
  auto* to = detail::mutable_data<bool>(last);
  const std::int64_t count = positions.size();
  for (std::int64_t k = 0; k < count; ++k) at[position[k]] = k;
  for (std::int64_t k = 0; k < count; ++k) to[k] = at[position[k]] == k;
}

namespace {

// results = the product of the terms before (running on in `products`) and after each term.
template <class T>
void from_both_sides(const ScatterMap& map, const T* terms, T* products, T* results) {
  T one{};
  if constexpr (is_complex_number<T>)
    one.re = 1;
  else
    one = 1;
  map.for_each_block([=](std::int64_t outer, std::int64_t begin, std::int64_t end) {
    map.for_each_term(outer, begin, end, [=](std::int64_t place, std::int64_t term) {
      results[term] = products[place];
      Multiply<T>::apply(products[place], terms[term]);
    });
    map.for_each_term(outer, begin, end, [=](std::int64_t place, std::int64_t) { products[place] = one; });
    for (std::int64_t k = map.count; k-- > 0;)
      for (std::int64_t i = begin; i < end; ++i) {
        T& product = products[map.to(outer, k) + i];
        Multiply<T>::apply(results[map.from(outer, k) + i], product);
        Multiply<T>::apply(product, terms[map.from(outer, k) + i]);
      }
  });
}

}  // namespace

void products_of_others(const Tensor& strided, const Tensor& terms, const Tensor& positions, int axis,
                        const Tensor& others) {
  if (terms.size() == 0) return;
  const Tensor running = detail::empty(strided.dtype(), strided.shape());
  copy(strided, running);
  Tensor scratch;
  const Tensor& factors = contiguous(terms, scratch);
  const ScatterMap map(running, positions, axis);
  visit(running.dtype(), [&]<class T>() {
    if constexpr (!std::is_same_v<T, float16> && !std::is_same_v<T, bfloat16>)
      from_both_sides(map, detail::mutable_data<const T>(factors), detail::mutable_data<T>(running),
                      detail::mutable_data<T>(others));
  });
}

namespace {

// The operands are contiguous. `counts` is as large as x.
template <class T>
struct Shares {
  const T *x, *terms, *y;
  T *x_shares, *term_shares, *counts;

  void compute(const ScatterMap& map, bool member) const {
    map.for_each_block([=, *this](std::int64_t outer, std::int64_t begin, std::int64_t end) {
      const auto each_place = [=](auto f) {
        for (std::int64_t row = 0; row < map.split.extent; ++row)
          for (std::int64_t i = begin; i < end; ++i) f((outer * map.split.extent + row) * map.split.inner + i);
      };
      const auto each_term = [=](auto f) { map.for_each_term(outer, begin, end, f); };
      each_place([=, *this](std::int64_t at) { x_shares[at] = static_cast<T>(!member || same(x[at], y[at])); });
      if (!member) each_term([=, *this](std::int64_t to, std::int64_t) { x_shares[to] = 0; });
      each_place([=, *this](std::int64_t at) { counts[at] = x_shares[at]; });
      each_term([=, *this](std::int64_t to, std::int64_t from) {
        term_shares[from] = static_cast<T>(same(terms[from], y[to]));
        counts[to] += term_shares[from];
      });
      each_term([=, *this](std::int64_t to, std::int64_t from) { term_shares[from] /= std::max<T>(counts[to], 1); });
      each_place([=, *this](std::int64_t at) { x_shares[at] /= std::max<T>(counts[at], 1); });
    });
  }
};

}  // namespace

void extreme_shares(const Tensor& x, const Tensor& terms, const Tensor& positions, const Tensor& y, int axis,
                    bool member, const Tensor& x_shares, const Tensor& term_shares) {
  Tensor dense_x, dense_terms, dense_y;
  const Tensor &a = contiguous(x, dense_x), &b = contiguous(terms, dense_terms), &c = contiguous(y, dense_y);
  const Tensor counts = detail::empty(x.dtype(), x.shape());
  const ScatterMap map(x_shares, positions, axis);
  visit(x.dtype(), [&]<class T>() {
    if constexpr (std::is_floating_point_v<T>)
      Shares<T>{detail::mutable_data<const T>(a),     detail::mutable_data<const T>(b),
                detail::mutable_data<const T>(c),     detail::mutable_data<T>(x_shares),
                detail::mutable_data<T>(term_shares), detail::mutable_data<T>(counts)}
          .compute(map, member);
  });
}

void find_runs(const Tensor& positions, std::int64_t extent, const Tensor& order, const Tensor& place,
               const Tensor& before, const Tensor& behind) {
  const std::int64_t count = positions.size();
  const Tensor starts = detail::empty(DType::int64, {extent + 1});
  auto* start = detail::mutable_data<std::int64_t>(starts);
  const auto* position = detail::mutable_data<std::int64_t>(positions);
  auto *to_order = detail::mutable_data<std::int64_t>(order), *to_place = detail::mutable_data<std::int64_t>(place);
  auto *to_before = detail::mutable_data<std::int64_t>(before), *to_behind = detail::mutable_data<std::int64_t>(behind);
  std::fill_n(start, extent + 1, 0);
  for (std::int64_t k = 0; k < count; ++k) ++start[position[k] + 1];
  for (std::int64_t p = 0; p < extent; ++p) start[p + 1] += start[p];
  // Afterwards start[p] is the end of p's range, no longer its beginning.
  for (std::int64_t k = 0; k < count; ++k) {
    to_place[k] = start[position[k]]++;
    to_order[to_place[k]] = k;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t p = position[to_order[i]], first = p == 0 ? 0 : start[p - 1];
    to_before[i] = i - first;
    to_behind[i] = start[p] - 1 - i;
  }
}

}  // namespace reel::loops
