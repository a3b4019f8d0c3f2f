// Loops that keep intermediate results out of memory: transposed operands are transposed tile by tile, products are
// summed as they are computed. Compared with index arithmetic and with the unfused loops; the same bits for any number
// of threads.
#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <reel/elementwise.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "kernels/table.hpp"
#include "layouts.hpp"
#include "loops/loops.hpp"
#include "loops/program/program.hpp"
#include "support/numbers.hpp"

using namespace reel;

namespace {

// Calls f with 1, 2 and 7 threads and returns the first result. The others must have the same bits.
template <class F>
Tensor same_for_all_threads(const F& f) {
  const int before = num_threads();
  Tensor first;
  for (int threads : {1, 2, 7}) {
    set_num_threads(threads);
    const Tensor y = contiguous(f());
    if (!first.defined()) first = y;
    const std::size_t bytes = static_cast<std::size_t>(y.size()) * item_size(y.dtype());
    CHECK(std::memcmp(detail::block(first)->data, detail::block(y)->data, bytes) == 0);
  }
  set_num_threads(before);
  return first;
}

double distance(const Tensor& x, const Tensor& y) {
  REQUIRE(x.shape() == y.shape());
  const std::vector<double> a = x.to_vector(), b = y.to_vector();
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    worst = support::worse(worst, std::abs(a[i] - b[i]) / (1 + std::abs(b[i])));
  return worst;
}

Tensor view_of(const Tensor& x, std::int64_t offset, const Shape& shape, const Shape& strides) {
  return TensorAccess::adopt(detail::new_view(detail::block(x), offset, shape, strides));
}

}  // namespace

TEST_CASE("transposed operands are transposed tile by tile: every element size, odd edges, offsets") {
  const Shape shapes[] = {{16, 16}, {17, 63}, {64, 64}, {65, 129}, {300, 100}, {3, 1000}, {1000, 19}, {2, 20000}};
  for (DType d : {DType::boolean, DType::uint8, DType::int32, DType::int64, DType::float16, DType::float32,
                  DType::float64, DType::complex64, DType::complex128})
    for (const Shape& shape : shapes) {
      const std::int64_t rows = shape[0], columns = shape[1], n = rows * columns;
      const Tensor base = cast(mod(arange(n + 5) * 37, 101), d), other = cast(mod(arange(n) * 29, 97), d);
      // x[r][c] = base[c * rows + r + 5]; y lies in order, z has a flipped last axis.
      const Tensor x = view_of(base, 5, shape, {1, rows}), y = reshape(other, shape);
      const Tensor z = view_of(other, columns - 1, shape, {columns, -1});
      const Tensor sum = same_for_all_threads([&] { return x + y; });
      const Tensor with_flipped = same_for_all_threads([&] { return x + z; });
      const Tensor twice = same_for_all_threads([&] { return x + view_of(base, 0, shape, {1, rows}); });
      // A second operand with the same elements, and one with the same first element.
      const Tensor doubled = same_for_all_threads([&] { return x + view_of(base, 5, shape, {1, rows}); });
      const Tensor slanted = same_for_all_threads([&] { return x + view_of(base, 5, shape, {1, rows - 1}); });
      const std::vector<double>
          b = cast(d == DType::boolean ? cast(base, DType::int32) : base, DType::float64).to_vector(),
          o = cast(d == DType::boolean ? cast(other, DType::int32) : other, DType::float64).to_vector();
      const auto value = [&](const Tensor& t) {
        return cast(d == DType::boolean ? cast(t, DType::int32) : t, DType::float64).to_vector();
      };
      const std::vector<double> s = value(sum), f = value(with_flipped), t = value(twice);
      const std::vector<double> same = value(doubled), slant = value(slanted);
      const auto plus = [&](double p, double q) { return d == DType::boolean ? double(p + q > 0) : p + q; };
      std::size_t wrong = 0;
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c) {
          const auto i = static_cast<std::size_t>(r * columns + c), k = static_cast<std::size_t>(c * rows + r);
          const auto mirrored = static_cast<std::size_t>(r * columns + columns - 1 - c);
          wrong += s[i] != plus(b[k + 5], o[i]);
          wrong += f[i] != plus(b[k + 5], o[mirrored]);
          wrong += t[i] != plus(b[k + 5], b[k]);
          wrong += same[i] != plus(b[k + 5], b[k + 5]);
          wrong += slant[i] != plus(b[k + 5], b[static_cast<std::size_t>(c * (rows - 1) + r) + 5]);
        }
      INFO(to_string(shape) << " of " << item_size(d) << " bytes");
      CHECK(wrong == 0);
    }
}

TEST_CASE("more transposed operands than tiles, along different axes") {
  const Shape shape{20, 30, 40};
  for (std::uint64_t seed = 1; seed < 40; ++seed) {
    const Tensor x = layouts::view(shape, seed), y = layouts::view(shape, seed * 3), w = layouts::view(shape, seed * 7);
    const Tensor out = same_for_all_threads([&] { return clip(x, y, w); });
    std::size_t i = 0, wrong = 0;
    const std::vector<double> z = out.to_vector();
    layouts::for_each_index(shape, [&](const Shape& at) {
      wrong += z[i++] != std::min(std::max(layouts::at(x, at), layouts::at(y, at)), layouts::at(w, at));
    });
    CHECK(wrong == 0);
  }
  // A derivative with four operands g, x, y, w.
  const Tensor base = from_data(layouts::numbers(4 * 50 * 70, 5), {4, 70, 50});
  const auto part = [&](std::int64_t k) { return transpose(base[k]); };
  const Tensor x[] = {part(0), part(1), part(2), part(3)};
  const Tensor out = detail::empty(DType::float64, {50, 70});
  const Tensor* in[] = {&x[0], &x[1], &x[2], &x[3]};
  loops::pointwise(kernels::pointwise(kernels::index_of<"clip">(), DType::float64).derivative[0], {50, 70}, in, out);
  std::size_t i = 0, wrong = 0;
  layouts::for_each_index({50, 70}, [&](const Shape& at) {
    const double a = layouts::at(x[1], at);
    const bool inside = a >= layouts::at(x[2], at) && a <= layouts::at(x[3], at);
    wrong += detail::mutable_data<double>(out)[i++] != (inside ? layouts::at(x[0], at) : 0);
  });
  CHECK(wrong == 0);
}

TEST_CASE("non-temporal stores: every element size, addresses and lengths around cache lines and blocks") {
  for (DType d : {DType::boolean, DType::float16, DType::float32, DType::float64, DType::complex128})
    for (std::int64_t n : {32768, 32769, 40003, 65535})
      for (std::int64_t offset : {0, 1, 3, 17}) {
        const auto bytes = static_cast<std::int64_t>(item_size(d));
        const Tensor x = cast(mod(arange(n) * 37, 101), d), y = cast(mod(arange(n) * 29, 97), d);
        const Tensor row = cast(arange(7), d);
        const kernels::Loop add = kernels::pointwise(kernels::index_of<"add">(), d).value;
        // The sum and one element on either side, its memory begun at some element of a line.
        const auto sum = [&](std::int64_t from, const Tensor& a, const Tensor& b, const Shape& shape) {
          const Tensor whole = cast(full({n + offset + 2}, 1), d);
          const Tensor* in[] = {&a, &b};
          loops::pointwise_any(add, shape, in, view_of(whole, offset + 1, shape, {shape[1], 1}), from);
          return whole;
        };
        const std::int64_t total = n * bytes, never = std::int64_t{1} << 60;
        INFO(item_size(d) << " bytes, " << n << " elements, from the one at " << offset + 1);
        const auto same = [&](const Tensor& a, const Tensor& b) {
          return std::memcmp(detail::block(a)->data, detail::block(b)->data,
                             static_cast<std::size_t>(a.size() * bytes)) == 0;
        };
        const Tensor expected = sum(total + 1, x, y, {1, n});
        CHECK(same(same_for_all_threads([&] { return sum(total, x, y, {1, n}); }), expected));
        // Short rows, which are processed in tiles.
        const Tensor table = view_of(x, 0, {n / 7, 7}, {7, 1});
        CHECK(same(sum(1, table, row, {n / 7, 7}), sum(never, table, row, {n / 7, 7})));
        // Into the memory of an operand.
        const Tensor place = x + cast(full({1}, 0), d), *in[] = {&place, &y};
        loops::pointwise_any(add, place.shape(), in, place, 1);
        CHECK(std::memcmp(detail::block(place)->data, detail::block(expected)->data + (offset + 1) * bytes,
                          static_cast<std::size_t>(total)) == 0);
      }
}

TEST_CASE("transposing copies of every size of element and odd edges") {
  for (DType d : {DType::uint8, DType::float16, DType::float32, DType::float64, DType::complex128})
    for (const Shape& shape :
         {Shape{1, 1}, {3, 5}, {16, 16}, {31, 33}, {70, 130}, {257, 300}, {2, 40000}, {40000, 3}}) {
      const std::int64_t rows = shape[0], columns = shape[1];
      const Tensor base = cast(mod(arange(rows * columns + 3), 251), d), x = view_of(base, 3, shape, {1, rows});
      const Tensor y = same_for_all_threads([&] { return loops::contiguous(x); });
      const std::size_t bytes = item_size(d);
      std::size_t wrong = 0;
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c)
          wrong +=
              std::memcmp(detail::block(y)->data + static_cast<std::size_t>(r * columns + c) * bytes,
                          detail::block(base)->data + static_cast<std::size_t>(c * rows + r + 3) * bytes, bytes) != 0;
      INFO(to_string(shape) << " of " << bytes << " bytes");
      CHECK(wrong == 0);
    }
}

TEST_CASE("the gradient of a broadcast operand is summed as it is computed") {
  struct Case {
    Shape full, part;
  };
  const Case cases[] = {{{40, 1024}, {1024}},
                        {{40, 1024}, {40, 1}},
                        {{40, 1024}, {1}},
                        {{40, 1024}, {}},
                        {{10, 5, 1000}, {5, 1}},
                        {{10, 5, 1000}, {5, 1000}},
                        {{10, 5, 1000}, {10, 1, 1000}},
                        {{300, 7, 40}, {7, 40}},
                        {{300, 7, 40}, {300, 1, 1}},
                        {{3, 50001}, {50001}},
                        {{50001, 3}, {3}},
                        {{2, 3, 100, 257}, {3, 1, 257}},
                        {{70000}, {1}},
                        {{100000}, {}},
                        {{1, 1, 70000}, {1}},
                        {{33, 1025}, {1025}}};
  for (DType d : {DType::float32, DType::float64, DType::complex64})
    for (const Case& c : cases) {
      const double tolerance = d == DType::float64 ? 1e-12 : 2e-5;
      const Tensor x = cast(from_data(layouts::numbers(c.full.elements(), 1), c.full), d),
                   g = cast(from_data(layouts::numbers(c.full.elements(), 2), c.full), d),
                   y = cast(from_data(layouts::numbers(c.part.elements(), 3), c.part) + 3., d);
      INFO(to_string(c.full) << " and " << to_string(c.part));
      const Tensor dy = same_for_all_threads([&] {
        GradientTape tape;
        tape.watch(y);
        return *tape.gradient(x / y, y, {.output_gradients = g});
      });
      // Reference in double: the sum of -g x / y^2 over the axes along which y is broadcast.
      const Tensor each = real(g) * -real(x) / square(real(y));
      Shape aligned = c.part;
      while (aligned.rank() < c.full.rank()) aligned.insert(0, 1);
      std::vector<double> total(static_cast<std::size_t>(c.part.elements()));
      const std::vector<double> terms = cast(each, DType::float64).to_vector();
      std::size_t i = 0;
      layouts::for_each_index(c.full, [&](const Shape& at) {
        std::int64_t to = 0;
        for (int k = 0; k < aligned.rank(); ++k) to = to * aligned[k] + (aligned[k] == 1 ? 0 : at[k]);
        total[static_cast<std::size_t>(to)] += terms[i++];
      });
      const double size = static_cast<double>(c.full.elements()) / static_cast<double>(c.part.elements());
      CHECK(distance(cast(real(dy), DType::float64) / std::sqrt(size), from_data(total, c.part) / std::sqrt(size)) <
            tolerance * 50);
    }
}

TEST_CASE("a fused sum has the bits of the sum of a stored product") {
  // Runs up to 2048 elements, and rows of any length.
  for (const auto& [full, axes] : {std::pair<Shape, Shape>{{50, 1024}, {0}},
                                   {{50, 1024}, {1}},
                                   {{7, 9, 1000}, {0, 1}},
                                   {{7, 9, 1000}, {1}},
                                   {{60, 2, 300}, {0}},
                                   {{5, 9000}, {0}}}) {
    const Tensor x = from_data(layouts::numbers(full.elements(), 1), full),
                 y = from_data(layouts::numbers(full[-1], 2), {full[-1]});
    const kernels::Reduction& sum = kernels::reduction(kernels::ReduceFunction::sum, DType::float64);
    const kernels::Loop multiply = kernels::pointwise(kernels::index_of<"multiply">(), DType::float64).value;
    const Tensor* in[] = {&x, &y};
    Shape kept;
    for (int d = 0; d < full.rank(); ++d)
      if (std::find(axes.begin(), axes.end(), d) == axes.end()) kept.push_back(full[d]);
    const Tensor fused = detail::empty(DType::float64, kept);
    INFO(to_string(full) << " over " << to_string(axes));
    REQUIRE(loops::pointwise_reduce(multiply, full, in, sum, axes, fused));
    const Tensor separate = detail::empty(DType::float64, kept), product = detail::empty(DType::float64, full);
    loops::pointwise(multiply, full, in, product);
    loops::reduce(sum, product, axes, separate);
    CHECK(fused.to_vector() == separate.to_vector());
  }
}

TEST_CASE("a fused product and addition has the bits of the two ops") {
  const kernels::Loop multiply = kernels::pointwise(kernels::index_of<"multiply">(), DType::float64).value,
                      add = kernels::pointwise(kernels::index_of<"add">(), DType::float64).value;
  for (const Shape& shape : {Shape{}, {1}, {1000}, {1025}, {70001}, {300, 257}, {9000, 5}, {7, 100, 3, 40}, {0, 4}})
    for (std::uint64_t seed = 1; seed < 12; ++seed) {
      const Tensor x = layouts::view(shape, seed, seed % 4), y = layouts::view(shape, seed * 3, seed % 5);
      const Tensor start = from_data(layouts::numbers(shape.elements(), seed * 7), shape);
      const Tensor* in[] = {&x, &y};
      const Tensor fused = same_for_all_threads([&] {
        const Tensor sum = from_data(start.to_vector(), shape);
        loops::pointwise_into_sum(multiply, shape, in, add, sum);
        return sum;
      });
      INFO(to_string(shape) << ", seed " << seed);
      CHECK(fused.to_vector() == (start + x * y).to_vector());
    }
}

TEST_CASE("a product is added to an owned cotangent in place, with the same bits in parts") {
  const std::int64_t n = 40000, part = 5000;  // the parts are too small for it
  for (DType d : {DType::float32, DType::float64, DType::bfloat16, DType::complex64}) {
    const Tensor x = cast(from_data(layouts::numbers(2 * n, 1), {2, n}), d),
                 w = cast(from_data(layouts::numbers(2 * n, 2), {2, n}), d);
    const auto gradient_of = [](const Tensor& t, const Tensor& by) {
      GradientTape tape;
      tape.watch(t);
      const Tensor y = exp(t) * by + t * t * t + sin(t) / (by + 3);
      return *tape.gradient(y, t, {.output_gradients = by + 1});
    };
    const Tensor whole = same_for_all_threads([&] { return gradient_of(x, w); });
    std::size_t wrong = 0;
    for (std::int64_t at = 0; at < n; at += part) {
      const auto cut = [&](const Tensor& t) { return contiguous(slice(t, {all, range(at, at + part)})); };
      wrong += !array_equal(cut(whole), gradient_of(cut(x), cut(w)));
    }
    CHECK(wrong == 0);
  }
  // Only the sum is overwritten, not the caller's cotangent, the cotangent of an intermediate source, or an earlier
  // result.
  const Tensor x = from_data(layouts::numbers(n, 3), {n}), given = from_data(layouts::numbers(n, 4), {n});
  const std::vector<double> before = given.to_vector();
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor a = sin(x), y = a * x + exp(a) * a;
  tape.stop();  // what a tape records is computed op by op
  const std::vector<Gradient> first = tape.gradient(y, {a, x}, {.output_gradients = given});
  const std::vector<double> at_a = first[0].dense().to_vector(), at_x = first[1].dense().to_vector();
  const std::vector<Gradient> again = tape.gradient(y, {x, a}, {.output_gradients = given});
  CHECK(given.to_vector() == before);
  CHECK(first[0].dense().to_vector() == at_a);
  CHECK(again[0].dense().to_vector() == at_x);
  CHECK(again[1].dense().to_vector() == at_a);
  CHECK(distance(first[0].dense(), given * (x + exp(a) * (1 + a))) < 1e-14);
  // With an outer tape it is recorded as a product and an addition.
  const auto f = [](const Tensor& t) { return sum(sin(t) * t + t * t * t); };
  GradientTape outer;
  outer.watch(x);
  const Tensor slope = grad<0>(f)(x);
  CHECK(distance(*outer.gradient(slope, x), 2 * cos(x) - x * sin(x) + 6 * x) < 1e-13);
}

TEST_CASE("elementwise gradients and rolls add to an owned cotangent with the bits of separate additions") {
  const auto step = [](auto a, auto b, auto y, auto moved) {
    return std::tuple(sin(a) * moved + b * y, tanh(y * b) - a * moved);
  };
  for (const Shape& shape : {Shape{1}, {30}, {1, 700}, {300, 7}, {40000}, {3, 20000}})
    for (const std::int64_t axis : {std::int64_t{0}, shape.rank() - std::int64_t{1}}) {
      const auto numbers = [&](std::uint64_t seed) {
        return from_data(layouts::numbers(shape.elements(), seed), shape);
      };
      const Tensor x = numbers(1), w = numbers(2), given = numbers(3);
      // With an outer tape every addition is an op.
      const auto gradients = [&](bool recorded) {
        std::optional<GradientTape> outer;
        if (recorded) outer.emplace().watch(x);
        GradientTape tape;
        tape.watch(std::vector{x, w});
        Tensor y = x, z = w, middle;
        for (int k = 1; k < 4; ++k) {
          std::tie(y, z) = elementwise(step, x, w, y, roll(y, k, axis));
          z = elementwise([](auto a, auto b, auto c) { return a * b + c; }, x, x, z) + roll(x, -k, axis);
          if (k == 2) middle = y;
        }
        const std::vector<Gradient> g =
            tape.gradient(y + roll(z, 1, axis), {x, w, middle}, {.output_gradients = given});
        return reel::stack({*g[0], *g[1], *g[2]});
      };
      INFO(to_string(shape) << ", axis " << axis);
      const Tensor own = same_for_all_threads([&] { return gradients(false); });
      CHECK(array_equal(own, gradients(true)));
      CHECK(array_equal(given, numbers(3)));
    }
}

TEST_CASE("programs of any size read contiguous, repeated, single and strided operands") {
  // The xor of comparisons is a mask in memory, whose operands are too.
  const auto of_lanes = [](auto x, auto row, auto one, auto column) {
    return where(logical_xor(logical_xor(x < row, one < x), x < 0.25), x * one + 1.5, column) - row;
  };
  const auto of_tensors = [](const Tensor& x, const Tensor& row, const Tensor& one, const Tensor& column) {
    const Tensor odd = logical_xor(logical_xor(less(x, row), less(one, x)), less(x, 0.25));
    return where(odd, x * one + 1.5, column) - row;
  };
  for (const DType d : {DType::float32, DType::float64})
    for (const Shape& shape : {Shape{1, 1}, {1, 7}, {5, 1}, {4, 5}, {16, 32}, {3, 300}, {40, 50}, {70, 90}}) {
      CAPTURE(d, shape);
      const std::int64_t m = shape[0], n = shape[1];
      const auto numbers = [&](const Shape& of, unsigned seed) {
        return cast(from_data(layouts::numbers(of.elements(), seed), of), d);
      };
      const Tensor x = numbers(shape, 1), row = numbers({n}, 2), one = numbers({}, 3), column = numbers({m, 1}, 4);
      const auto check = [&](const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& e) {
        CHECK(array_equal(elementwise(of_lanes, a, b, c, e), of_tensors(a, b, c, e)));
      };
      check(x, row, one, column);
      check(x, x, row, row);
      check(x, row, numbers({1, 1}, 5), one);
      check(transpose(numbers({n, m}, 6)), x, one, row);
      check(x, numbers({1, n}, 7), one, flip(row));
    }
}

TEST_CASE("programs on views take several short rows at a time: the bits of single ops, in values and gradients") {
  const auto of_lanes = [](auto c, auto a, auto b, auto factor, auto row) {
    return where(logical_xor(c < a, b < row), c + factor * (a + b - 2 * c), tanh(a) * row) - c * c * c;
  };
  const auto of_tensors = [](const Tensor& c, const Tensor& a, const Tensor& b, const Tensor& factor,
                             const Tensor& row) {
    return where(logical_xor(less(c, a), less(b, row)), c + factor * (a + b - 2 * c), tanh(a) * row) - c * c * c;
  };
  for (const DType d : {DType::float32, DType::float64})
    for (const Shape& shape :
         {Shape{5, 34}, {9, 35}, {100, 66}, {98, 98}, {3, 6, 70}, {2, 2, 3, 40}, {4, 130}, {300, 130}}) {
      CAPTURE(d, shape);
      const auto numbers = [&](const Shape& of, unsigned seed) {
        return cast(from_data(layouts::numbers(of.elements(), seed), of), d);
      };
      const std::int64_t m = shape[-2], n = shape[-1];
      const auto part = [&](const Tensor& x, std::int64_t i, std::int64_t j) {
        return slice(x, {ellipsis, range(i, m - 2 + i), range(j, n - 2 + j)});
      };
      Shape column = shape;
      column[-1] = 1;
      column[-2] -= 2;
      const Tensor x = numbers(shape, 1), factor = numbers(column, 2), row = numbers({n - 2}, 3);
      const auto results = [&](const auto& f) {
        GradientTape tape;
        tape.watch(x);
        const Tensor y = f(part(x, 1, 1), part(x, 0, 1), part(x, 1, 2), factor, row);
        return std::pair(y, *tape.gradient(y, x));
      };
      const auto fused = results([&](const auto&... of) { return elementwise(of_lanes, of...); });
      const auto by_op = results(of_tensors);
      CHECK(array_equal(fused.first, by_op.first));
      CHECK(support::largest(fused.second - by_op.second) <= (d == DType::float32 ? 1e-5 : 1e-14));
      for (const int threads : {1, 3}) {
        const int before = num_threads();
        set_num_threads(threads);
        CHECK(
            array_equal(results([&](const auto&... of) { return elementwise(of_lanes, of...); }).second, fused.second));
        set_num_threads(before);
      }
    }
}

namespace {

// A graph of random functions, all or most of which can be chained, with some of its values as outputs.
loops::Graph random_graph(std::mt19937& random, std::int32_t inputs, int steps, bool all) {
  using loops::Node, loops::Opcode;
  const auto below = [&](std::size_t n) { return static_cast<std::int32_t>(random() % n); };
  constexpr std::size_t add = kernels::index_of<"add">(), multiply = kernels::index_of<"multiply">(),
                        square = kernels::index_of<"square">();
  constexpr std::size_t binary[] = {add, kernels::index_of<"subtract">(), multiply, kernels::index_of<"divide">(),
                                    kernels::index_of<"maximum">()};
  constexpr std::size_t unary[] = {kernels::index_of<"negative">(), square, kernels::index_of<"tanh">()};
  loops::Graph graph;
  graph.inputs = inputs;
  for (std::int32_t i = 0; i < inputs; ++i) graph.nodes.push_back({Opcode::input, 0, 0, {i, -1, -1, -1, -1}});
  graph.nodes.push_back(loops::literal(0.75));
  for (int i = 0; i < steps; ++i) {
    const std::size_t known = graph.nodes.size();
    // Values of the last steps are read most.
    const auto operand = [&] { return below(2) == 0 ? static_cast<std::int32_t>(known) - 1 - below(3) : below(known); };
    const std::int32_t x = operand(), y = operand(), kind = below(8);
    const auto function = [](std::size_t f) { return static_cast<std::uint16_t>(f); };
    if (kind < 5)
      graph.nodes.push_back({Opcode::value, 0, function(binary[below(std::size(binary) - all)]), {x, y, -1, -1, -1}});
    else if (kind < 6)
      graph.nodes.push_back({Opcode::value, 0, function(unary[below(std::size(unary) - all)]), {x, -1, -1, -1, -1}});
    else if (kind < 7)
      graph.nodes.push_back({Opcode::derivative, 0, function(multiply), {x, -1, y, -1, -1}});
    else
      graph.nodes.push_back({Opcode::derivative, 0, function(square), {x, y, -1, -1, -1}});
  }
  const auto last = static_cast<std::int32_t>(graph.nodes.size()) - 1;
  graph.outputs = {last};
  for (int k = below(3); k > 0; --k)
    if (const std::int32_t other = inputs + 1 + below(static_cast<std::size_t>(steps)); other != last)
      graph.outputs.push_back(other);
  return graph;
}

// Each function of a graph as a program of its own.
std::vector<Tensor> one_by_one(const loops::Graph& graph, DType dtype, const Shape& shape,
                               std::span<const Tensor* const> in) {
  std::vector<Tensor> values;
  values.reserve(graph.nodes.size());  // so that none moves
  for (const loops::Node& node : graph.nodes) {
    if (node.opcode == loops::Opcode::input) {
      values.push_back(*in[static_cast<std::size_t>(node.in[0])]);
    } else if (node.opcode == loops::Opcode::literal) {
      values.push_back(cast(scalar(loops::literal_value(node)), dtype));
    } else {
      loops::Graph alone;
      std::vector<const Tensor*> operands;
      loops::Node copy = node;
      for (std::int32_t& x : copy.in)
        if (x >= 0) {
          operands.push_back(&values[static_cast<std::size_t>(x)]);
          x = alone.inputs++;
          alone.nodes.push_back({loops::Opcode::input, 0, 0, {x, -1, -1, -1, -1}});
        }
      alone.nodes.push_back(copy);
      alone.outputs = {alone.inputs};
      values.push_back(detail::empty(dtype, shape));
      loops::Code(alone).run(dtype, shape, operands, {}, std::span(&values.back(), 1));
    }
  }
  std::vector<Tensor> out;
  for (const std::int32_t k : graph.outputs) out.push_back(values[static_cast<std::size_t>(k)]);
  return out;
}

}  // namespace

TEST_CASE("chains of cheap functions have the bits of single ones: any outputs, layouts and lengths") {
  std::mt19937 random(7);
  const Shape shapes[] = {{2, 3}, {1, 127}, {8, 16}, {3, 86}, {40, 100}, {7, 2000}, {300, 130}, {5, 7001}};
  for (int round = 0; round < 240; ++round) {
    const Shape shape = shapes[round % std::ssize(shapes)];
    const DType dtype = round / 8 % 2 == 0 ? DType::float32 : DType::float64;
    const loops::Graph graph = random_graph(random, 5, 3 + round % 40, round % 5 < 4);
    CAPTURE(round, shape, dtype);
    const auto numbers = [&](const Shape& of, unsigned seed) {
      return cast(from_data(layouts::numbers(of.elements(), seed), of), dtype);
    };
    const std::int64_t m = shape[0], n = shape[1];
    const Tensor part = slice(numbers({m + 1, n + 2}, 5), {range(1, m + 1), range(1, n + 1)});
    const Tensor list[] = {numbers(shape, 1), numbers({n}, 2), numbers({}, 3), numbers({m, 1}, 4),
                           round % 3 == 0 ? numbers(shape, 5) : part};
    const Tensor* in[] = {&list[0], &list[1], &list[2], &list[3], &list[4]};
    if (round % 3 == 0) in[1] = in[3] = &list[0];  // without strides
    const std::vector<Tensor> expected = one_by_one(graph, dtype, shape, in);
    std::vector<Tensor> out;
    for (std::size_t k = 0; k < expected.size(); ++k) out.push_back(detail::empty(dtype, shape));
    loops::Code(graph).run(dtype, shape, in, {}, out);
    for (std::size_t k = 0; k < out.size(); ++k) {
      const auto bits = [&](const Tensor& x) { return where(isnan(x), cast(scalar(9), dtype), x); };
      const Tensor got = bits(out[k]), wanted = bits(expected[k]);
      const std::size_t bytes = static_cast<std::size_t>(got.size()) * item_size(dtype);
      CHECK(std::memcmp(detail::block(got)->data, detail::block(wanted)->data, bytes) == 0);
    }
  }
}

TEST_CASE("a program that overwrites an operand selects by what the operand was") {
  using loops::Node, loops::Opcode;
  const auto number = [](auto enumerator) { return static_cast<std::uint16_t>(enumerator); };
  loops::Graph graph;
  graph.inputs = 2;
  graph.nodes = {{Opcode::input, 0, 0, {0, -1, -1, -1, -1}},
                 {Opcode::input, 0, 0, {1, -1, -1, -1, -1}},
                 {Opcode::comparison, 0, number(kernels::Comparison::less), {0, 1, -1, -1, -1}},
                 {Opcode::value, 0, number(kernels::index_of<"square">()), {0, -1, -1, -1, -1}},
                 {Opcode::select, 0, 0, {2, 1, 3, -1, -1}}};
  graph.outputs = {3, 4};
  const Tensor x = cast(mod(arange(3000) * 37, 11) - 5, DType::float64), y = zeros({3000}), old = x + 0.0;
  const Tensor* in[] = {&x, &y};
  const Tensor out[] = {x, detail::empty(DType::float64, {3000})};
  loops::Code(graph).run(DType::float64, {3000}, in, {}, out);
  CHECK(out[0].to_vector() == square(old).to_vector());
  CHECK(out[1].to_vector() == where(old < y, y, square(old)).to_vector());
}

TEST_CASE("a rule writes only into a cotangent without other handles") {
  const Tensor x = from_data(layouts::numbers(3000, 1), {3000}), ones = reel::ones({3000});
  Tensor given = from_data(layouts::numbers(3000, 2), {3000});
  const std::vector<double> before = given.to_vector();
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor a = tanh(x), b = exp(a), y = b * a;
  tape.stop();
  const std::vector<double> first = tape.gradient(y, x, {.output_gradients = given}).dense().to_vector();
  CHECK(given.to_vector() == before);
  // An intermediate source keeps its cotangent.
  const std::vector<Gradient> both = tape.gradient(y, {a, x}, {.output_gradients = given});
  CHECK(both[1].dense().to_vector() == first);
  CHECK(tape.gradient(y, x, {.output_gradients = given}).dense().to_vector() == first);
  const std::vector<double> values = x.to_vector(), at_a = both[0].dense().to_vector();
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double t = std::tanh(values[i]), da = before[i] * (std::exp(t) + t * std::exp(t));
    worst = support::worse(worst, std::abs(da - at_a[i]), std::abs(da * (1 - t * t) - first[i]));
  }
  CHECK(worst < 1e-12);
}

TEST_CASE("cotangents of slices are added to one owned buffer in place") {
  const Tensor x = from_data(layouts::numbers(60, 1), {6, 10});
  const auto f = [](const Tensor& t) {
    Tensor total = sum(t) * 0.5;
    for (std::int64_t i = 0; i < 6; ++i) total = total + sum(t[i] * t[5 - i]);
    total = total + sum(slice(t, {range(1, 5), range(9, 0, -3)})) + sum(tanh(slice(t, {all, 3})));
    return total + t[2][3] * t[2][3] + sum(slice(t, {range(0, 6, 2), newaxis, range(2, 2)}));
  };
  const auto value = [&](const std::vector<double>& v) {
    const auto at = [&](std::size_t r, std::size_t c) { return v[r * 10 + c]; };
    double total = 0;
    for (double e : v) total += 0.5 * e;
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t k = 0; k < 10; ++k) total += at(i, k) * at(5 - i, k);
    for (std::size_t r = 1; r < 5; ++r)
      for (std::size_t c : {9u, 6u, 3u}) total += at(r, c);
    for (std::size_t r = 0; r < 6; ++r) total += std::tanh(at(r, 3));
    return total + at(2, 3) * at(2, 3);
  };
  std::vector<double> v = x.to_vector(), expected;
  for (double& e : v) {
    const double before = e;
    e = before + 1e-5;
    const double up = value(v);
    e = before - 1e-5;
    expected.push_back((up - value(v)) / 2e-5);
    e = before;
  }
  for (AggregationMethod method :
       {AggregationMethod::add_n, AggregationMethod::tree, AggregationMethod::accumulate_n}) {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor y = f(x);
    tape.stop();
    const Tensor g = *tape.gradient(y, x, {.aggregation_method = method});
    CHECK(distance(g, from_data(expected, {6, 10})) < 1e-7);
    CHECK(g.to_vector() == (*tape.gradient(y, x, {.aggregation_method = method})).to_vector());
  }
  // Memory with other handles is not overwritten: the cotangent of a sum or an identity, the caller's cotangent.
  const Tensor given = from_data(layouts::numbers(60, 2), {6, 10});
  const std::vector<double> before = given.to_vector();
  GradientTape tape;
  tape.watch(x);
  const Tensor y = identity(x), row = x[1], z = identity(y);
  const std::vector<Gradient> g = tape.gradient({row, z}, {x, y, z}, {.output_gradients = {ones({10}), given}});
  CHECK(given.to_vector() == before);
  CHECK(g[1].dense().to_vector() == before);
  CHECK(g[2].dense().to_vector() == before);
  std::vector<double> sum_of_both = before;
  for (std::size_t i = 10; i < 20; ++i) sum_of_both[i] += 1;
  CHECK(g[0].dense().to_vector() == sum_of_both);
  // Recorded to second order, and batched.
  const Tensor h = hessian(f)(x), j = jacobian([](const Tensor&t) { return t[0] * t[1] + t[0]; })(x);
  CHECK(reshape(h, {60, 60}).to_vector() == transpose(reshape(h, {60, 60})).to_vector());
  std::size_t wrong = 0;
  for (std::int64_t r = 0; r < 10; ++r)
    for (std::int64_t i = 0; i < 60; ++i) {
      const double e = r == i        ? v[static_cast<std::size_t>(10 + i)] + 1
                       : i == r + 10 ? v[static_cast<std::size_t>(r)]
                                     : 0;
      wrong += j.to_vector()[static_cast<std::size_t>(r * 60 + i)] != e;
    }
  CHECK(wrong == 0);
}

TEST_CASE("the gradient of a loop over rows of a matrix holds one cotangent of the matrix") {
  const Tensor x = from_data(layouts::numbers(512 * 512, 1), {512, 512});
  reset_peak_bytes();
  const std::int64_t before = memory_stats().peak_bytes;
  GradientTape tape;
  tape.watch(x);
  Tensor total = scalar(0.);
  for (std::int64_t i = 0; i < 512; ++i) total = total + sum(x[i] * x[i]);
  CHECK((*tape.gradient(total, x)).to_vector() == (x * 2).to_vector());
  const std::int64_t matrix = 512 * 512 * 8;
  CHECK(memory_stats().peak_bytes - before < 20 * matrix);  // one for each row would be 512
}

TEST_CASE("the product with a cotangent of ones is the operand itself unless its memory is borrowed") {
  const Shape shape{40, 50};
  const Tensor x = from_data(layouts::numbers(2000, 1), shape), y = from_data(layouts::numbers(2000, 2), shape);
  std::vector<double> mine = layouts::numbers(2000, 3);
  const std::vector<double> given = mine;
  const Tensor z = borrow(mine.data(), shape, std::shared_ptr<void>());
  GradientTape tape({.persistent = true});
  for (const Tensor* t : {&x, &y, &z}) tape.watch(*t);
  const Tensor total = sum(x * y) + sum(transpose(x) * transpose(z)), half = sum(x * y) * 0.5, own = sum(x * z),
               sole = sum(x * y);
  tape.stop();
  const Tensor dx = *tape.gradient(total, x), dy = *tape.gradient(total, y), by_z = *tape.gradient(own, x);
  const Tensor by_y = *tape.gradient(sole, x);
  const Tensor halved = *tape.gradient(half, y);
  mine.assign(mine.size(), 0.);
  CHECK(dy.to_vector() == x.to_vector());
  CHECK(dy.id() != x.id());
  CHECK(by_y.data<double>().data() == y.data<double>().data());
  CHECK(by_z.to_vector() == given);
  CHECK(dx.to_vector() == (y + from_data(given, shape)).to_vector());
  CHECK(halved.to_vector() == (x * 0.5).to_vector());
  // A broadcast operand and a number as operand.
  const Tensor row = from_data(layouts::numbers(50, 4), {50}), number = scalar(3.);
  GradientTape other;
  for (const Tensor* t : {&x, &row, &number}) other.watch(*t);
  const std::vector<Gradient> g = other.gradient(sum(x * row) + sum(number * x), {x, row, number});
  CHECK(g[0].dense().to_vector() == (broadcast_to(row, shape) + 3).to_vector());
  CHECK(distance(g[1].dense(), sum(x, 0)) < 1e-14);
  CHECK(distance(g[2].dense(), sum(x)) < 1e-14);
}
