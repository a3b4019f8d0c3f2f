// det: the determinant by expansion into minors along the first row, as published: a minor is expanded again wherever
// it occurs, l! products in all. All minors of one size are computed at once, as one array.
#pragma once
#include <algorithm>
#include <functional>
#include <numeric>
#include <reel/compile.hpp>
#include <span>

#include "../eval.hpp"

namespace gradbench::det {

using reel::Tensor;

/// Matrices of more rows are expanded row by row down to this size, and those of this size are differentiated one
/// after the other, so that memory is that of 8! products.
inline constexpr std::int64_t rows_at_once = 8;

/// The expansion of a matrix [n, n]. A minor of size k has the last k rows and is identified by its columns, in order.
/// The n!/k! occurrences of minors of size k are stored in one array. Sub-minor i of minor m is number i n!/k! + m of
/// the array of size k - 1.
struct Expansion {
  std::int64_t size = 0;
  Tensor elements = {};      // places in (a, -a), flattened, of the elements in front of the sub-minors, with signs
  reel::Shape extents = {};  // how many of `elements` belong to each row of a
};

inline Expansion expansion(std::int64_t n) {
  std::vector<std::vector<std::int64_t>> minors(1, std::vector<std::int64_t>(static_cast<std::size_t>(n)));
  std::iota(minors[0].begin(), minors[0].end(), 0);
  std::vector<std::int64_t> elements;
  Expansion result{.size = n};
  for (std::int64_t row = 0; row < n; ++row) {
    std::vector<std::vector<std::int64_t>> next;
    for (std::int64_t i = 0; i < n - row; ++i)
      for (const auto& columns : minors) {
        elements.push_back((i % 2 * n + row) * n + columns[static_cast<std::size_t>(i)]);
        next.push_back(columns);
        next.back().erase(next.back().begin() + i);
      }
    result.extents.push_back(static_cast<std::int64_t>(next.size()));
    minors = std::move(next);
  }
  result.elements = reel::from_data(elements);
  return result;
}

/// The determinant of a [n, n] with its expansion.
inline Tensor expand(const Tensor& a, const Expansion& of) {
  const Tensor flat = reshape(a, {-1});
  const std::vector<Tensor> front = split_sizes(gather(reel::concatenate({flat, -flat}), of.elements), of.extents);
  Tensor minors = front.back();
  for (std::int64_t size = 2; size <= of.size; ++size) {
    const reel::Shape shape = {size, minors.size() / size};
    minors = sum(reshape(front[static_cast<std::size_t>(of.size - size)], shape) * reshape(minors, shape), 0);
  }
  return minors[0];
}

inline Tensor determinant(const Tensor& a, const Expansion& of) {
  const std::int64_t n = a.shape()[0];
  if (n == of.size) return reel::checkpoint([&of](const Tensor& minor) { return expand(minor, of); })(a);
  const Tensor below = slice(a, {reel::range_from(1)});
  std::vector<Tensor> terms;
  for (std::int64_t i = 0; i < n; ++i) {
    const Tensor left = slice(below, {reel::all, reel::range_to(i)});
    const Tensor right = slice(below, {reel::all, reel::range_from(i + 1)});
    const Tensor term = a[0][i] * determinant(reel::concatenate({left, right}, 1), of);
    terms.push_back(i % 2 == 0 ? term : -term);
  }
  return sum(reel::stack(terms));
}

inline Tensor primal_of(const Tensor& a, const Expansion& of) {
  return a.shape()[0] == of.size ? expand(a, of) : determinant(a, of);
}

inline Tensor gradient_of(const Tensor& a, const Expansion& of) {
  reel::GradientTape tape;
  tape.watch(a);
  return reshape(tape.gradient(primal_of(a, of), a).dense(), {-1});
}

struct Input {
  Tensor a;  // [l, l]
  Expansion expansion;
  /// gradient_of, recorded at its first run only. Expansions row by row are as long as their work and stay as they are.
  std::function<Tensor(const Tensor&)> gradient = {};
};

inline Input read(const Field& input) {
  const std::int64_t size = input.at("ell").integer(1);
  Input x{reshape(input.at("A").tensor({size * size}), {size, size}), expansion(std::min(size, rows_at_once))};
  const auto gradient = [of = x.expansion](const Tensor& a) { return gradient_of(a, of); };
  if (size <= rows_at_once)
    x.gradient = reel::compile(gradient);
  else
    x.gradient = gradient;
  return x;
}

inline Tensor primal(const Input& x) { return primal_of(x.a, x.expansion); }
inline Tensor gradient(const Input& x) { return x.gradient(x.a); }

inline Module functions() { return {{"primal", timed(read, primal)}, {"gradient", timed(read, gradient)}}; }

}  // namespace gradbench::det
