// Rows of the ops of <reel/ops/arranging.hpp>.
#include <reel/ops/arranging.hpp>

#include "naive.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

// Matrices [..., n, m] with f(leading indices, row, column).
template <class F>
Array matrices(Shape leading, std::int64_t n, std::int64_t m, F f) {
  leading.push_back(n);
  leading.push_back(m);
  return build(leading, [&](const Index& i) { return f(Index(i.begin(), i.end() - 2), i[i.size() - 2], i.back()); });
}
Index with(Index i, std::int64_t last) {
  i.push_back(last);
  return i;
}
Shape without_last(Shape s) {
  s.pop_back();
  return s;
}

// The element in row-major order; that of an array that broadcasts; all elements of two arrays.
Real flat(const Array& x, std::int64_t i) { return x.values[static_cast<std::size_t>(i)]; }
Real last_of(const Array& x, Index i) {
  i.erase(i.begin(), i.end() - x.shape.rank());
  for (std::size_t d = 0; d < i.size(); ++d)
    if (x.shape[static_cast<std::int64_t>(d)] == 1) i[d] = 0;
  return at(x, i);
}
Row joined(A x) {
  Row all = x[0].values;
  all.insert(all.end(), x[1].values.begin(), x[1].values.end());
  return all;
}

// clang-format off
constexpr Shaped rows[] = {
    {"swapaxes", "2x3x4", [](X x) { return swapaxes(x[0], 0, -1); }, [](A x) { return build({4, 3, 2}, [&](const Index& i) { return at(x[0], {i[2], i[1], i[0]}); }); }},
    {"swapaxes", "2x3", [](X x) { return swapaxes(x[0], 1, 1); }, [](A x) { return x[0]; }},
    {"matrix_transpose", "2x3x4;3x2", [](X x) { return matrix_transpose(x[0]); }, [](A x) { Shape s = x[0].shape; std::swap(s[-1], s[-2]); return build(s, [&](Index i) { std::swap(i.back(), i[i.size() - 2]); return at(x[0], i); }); }},
    {"moveaxis", "2x3x4x1", [](X x) { return moveaxis(x[0], {0, -1}, {2, 0}); }, [](A x) { return build({1, 3, 2, 4}, [&](const Index& i) { return at(x[0], {i[2], i[1], i[3], i[0]}); }); }},
    {"unflatten", "2x6", [](X x) { return unflatten(x[0], -1, {3, -1}); }, [](A x) { return Array{{2, 3, 2}, x[0].values}; }},
    {"unflatten", "4x0;4x3", [](X x) { return unflatten(x[0], 0, {2, 1, 2}); }, [](A x) { return Array{{2, 1, 2, x[0].shape[1]}, x[0].values}; }},
    {"flatten", "2x3x4;5;();2x0", [](X x) { return flatten(x[0]); }, [](A x) { return Array{{x[0].shape.elements()}, x[0].values}; }},
    {"rot90", "3x4;3x4x2", [](X x) { return rot90(x[0]); }, [](A x) { Shape s = x[0].shape; std::swap(s[0], s[1]); return build(s, [&](Index i) { const std::int64_t row = i[0]; i[0] = i[1]; i[1] = 3 - row; return at(x[0], i); }); }},
    {"rot90", "3x4", [](X x) { return rot90(x[0], -2); }, [](A x) { return build({3, 4}, [&](const Index& i) { return at(x[0], {2 - i[0], 3 - i[1]}); }); }},
    {"rot90", "2x3x4", [](X x) { return rot90(x[0], 3, 1, -1); }, [](A x) { return build({2, 4, 3}, [&](const Index& i) { return at(x[0], {i[0], 2 - i[2], i[1]}); }); }},
    {"rot90", "2x3", [](X x) { return rot90(x[0], 8); }, [](A x) { return x[0]; }},
    {"diag_embed", "3;2x3;2x0", [](X x) { return diag_embed(x[0]); }, [](A x) { const std::int64_t n = x[0].shape[-1]; return matrices(without_last(x[0].shape), n, n, [&](const Index& b, auto i, auto j) { return i == j ? at(x[0], with(b, i)) : 0; }); }},
    {"diag_embed", "2x3", [](X x) { return diag_embed(x[0], -2); }, [](A x) { return matrices({2}, 5, 5, [&](const Index& b, auto i, auto j) { return i == j + 2 ? at(x[0], with(b, j)) : 0; }); }},
    {"set_diagonal", "3x4,3;2x3x4,3;2x3x4,2x3;3x4,()", [](X x) { return set_diagonal(x[0], x[1]); },
      [](A x) { return build(x[0].shape, [&](const Index& i) { if (i[i.size() - 2] != i.back()) return at(x[0], i); Index v(i.begin(), i.end() - 1); while (static_cast<int>(v.size()) > x[1].shape.rank()) v.erase(v.begin()); return at(x[1], v); }); }},
    {"set_diagonal", "3x4,2;3x2,0", [](X x) { return set_diagonal(x[0], x[1], 2); }, [](A x) { return build(x[0].shape, [&](const Index& i) { return i[1] == i[0] + 2 ? at(x[1], {i[0]}) : at(x[0], i); }); }},
    {"band_part", "4x5;2x3x3", [](X x) { return band_part(x[0], 1, 0); }, [](A x) { return build(x[0].shape, [&](const Index& i) { const auto d = i.back() - i[i.size() - 2]; return d >= -1 && d <= 0 ? at(x[0], i) : 0; }); }},
    {"band_part", "4x5", [](X x) { return band_part(x[0], -1, 2); }, [](A x) { return build(x[0].shape, [&](const Index& i) { return i[1] - i[0] <= 2 ? at(x[0], i) : 0; }); }},
    {"band_part", "4x5", [](X x) { return band_part(x[0], 2, -1); }, [](A x) { return build(x[0].shape, [&](const Index& i) { return i[0] - i[1] <= 2 ? at(x[0], i) : 0; }); }},
    {"band_part", "2x3", [](X x) { return band_part(x[0], -1, -1); }, [](A x) { return x[0]; }},
    {"block_diag", "2x3,1x2;2x2,0x1", [](X x) { return block_diag(x); },
      [](A x) { const std::int64_t n = x[0].shape[0], m = x[0].shape[1]; return matrices({}, n + x[1].shape[0], m + x[1].shape[1], [&](const Index&, auto i, auto j) { return i < n && j < m ? at(x[0], {i, j}) : i >= n && j >= m ? at(x[1], {i - n, j - m}) : 0; }); }},
    {"meshgrid", "2,3", [](X x) { return meshgrid(x)[0] * meshgrid(x, true)[1][0][0] + meshgrid(x)[1]; }, [](A x) { return matrices({}, 3, 2, [&](const Index&, auto i, auto j) { return x[0].values[static_cast<std::size_t>(j)] * x[1].values[0] + x[1].values[static_cast<std::size_t>(i)]; }); }},
    {"meshgrid", "2,3,2", [](X x) { return meshgrid({x[0], x[1], x[2]}, true)[1]; }, [](A x) { return build({2, 3, 2}, [&](const Index& i) { return at(x[1], {i[1]}); }); }},
    {"toeplitz", "3,4;1,3;3,1", [](X x) { return toeplitz(x[0], x[1]); }, [](A x) { return matrices({}, x[0].shape[0], x[1].shape[0], [&](const Index&, auto i, auto j) { return i >= j ? at(x[0], {i - j}) : at(x[1], {j - i}); }); }},
    {"hankel", "3,4;1,3;3,1", [](X x) { return hankel(x[0], x[1]); }, [](A x) { const std::int64_t n = x[0].shape[0]; return matrices({}, n, x[1].shape[0], [&](const Index&, auto i, auto j) { return i + j < n ? at(x[0], {i + j}) : at(x[1], {i + j - n + 1}); }); }},
    {"circulant", "4;1;0", [](X x) { return circulant(x[0]); }, [](A x) { const std::int64_t n = x[0].shape[0]; return matrices({}, n, n, [&](const Index&, auto i, auto j) { return at(x[0], {(i - j + n) % n}); }); }},
    {"vander", "3;2x3;()", [](X x) { return vander(x[0], 4); }, [](A x) { Shape s = x[0].shape; s.push_back(4); return build(s, [&](Index i) { const auto k = i.back(); i.pop_back(); return std::pow(at(x[0], i), static_cast<Real>(3 - k)); }); }, {-2, 2}, nullptr, none, 8},
    {"vander", "3", [](X x) { return vander(x[0], -1, true); }, [](A x) { return build({3, 3}, [&](const Index& i) { return std::pow(x[0].values[static_cast<std::size_t>(i[0])], static_cast<Real>(i[1])); }); }, {-2, 2}, nullptr, none, 4},
    {"linspace", "(),();2,3x2;3,1", [](X x) { return linspace(x[0], x[1], 4); },
      [](A x) { Shape s = x[1].shape.rank() < x[0].shape.rank() || x[1].shape == Shape{1} ? x[0].shape : x[1].shape; s.insert(0, 4); return build(s, [&](Index i) { const Real t = static_cast<Real>(i[0]) / 3; i.erase(i.begin()); return last_of(x[0], i) * (1 - t) + last_of(x[1], i) * t; }); }, {-2, 2}, nullptr, none, 2},
    {"linspace", "2,2", [](X x) { return linspace(x[0], x[1], 1); }, [](A x) { return Array{{1, 2}, x[0].values}; }},
    {"atleast_1d", "();3", [](X x) { return atleast_1d(x[0]); }, [](A x) { return Array{{x[0].shape.elements()}, x[0].values}; }},
    {"atleast_2d", "();3;2x3", [](X x) { return atleast_2d(x[0]); }, [](A x) { return Array{x[0].shape.rank() == 2 ? x[0].shape : Extents{1, x[0].shape.elements()}, x[0].values}; }},
    {"atleast_3d", "();3;2x3;1x2x3", [](X x) { return atleast_3d(x[0]); }, [](A x) { Shape s = x[0].shape; if (s.rank() < 3) s = s.rank() == 2 ? Shape{s[0], s[1], 1} : Shape{1, s.elements(), 1}; return Array{s, x[0].values}; }},
    {"hstack", "2,3;2x1,2x2;(),3", [](X x) { return hstack(x); }, [](A x) { const std::int64_t n = x[0].shape.rank() == 2 ? 2 : 1, m = x[0].shape.elements() / n, k = x[1].shape.elements() / n; Array y = matrices({}, n, m + k, [&](const Index&, auto i, auto j) { return j < m ? flat(x[0], i * m + j) : flat(x[1], i * k + j - m); }); if (n == 1) y.shape = {m + k}; return y; }},
    {"vstack", "2,2;1x2,2x2;2,2x2", [](X x) { return vstack(x); }, [](A x) { return Array{{(x[0].shape.elements() + x[1].shape.elements()) / 2, 2}, joined(x)}; }},
    {"dstack", "3,3;2x3,2x3", [](X x) { return dstack(x); }, [](A x) { return build({x[0].shape.rank() == 2 ? 2 : 1, 3, 2}, [&](const Index& i) { return flat(x[static_cast<std::size_t>(i[2])], i[0] * 3 + i[1]); }); }},
    {"column_stack", "3,3;3,3x2", [](X x) { return column_stack(x); }, [](A x) { const std::int64_t k = x[1].shape.elements() / 3; return matrices({}, 3, 1 + k, [&](const Index&, auto i, auto j) { return j == 0 ? flat(x[0], i) : flat(x[1], i * k + j - 1); }); }},
    {"append", "2x3,2;(),3;0,2", [](X x) { return append(x[0], x[1]); }, [](A x) { const Row all = joined(x); return Array{{static_cast<std::int64_t>(all.size())}, all}; }},
    {"append", "1x3,2x3", [](X x) { return append(x[0], x[1], 0); }, [](A x) { return Array{{3, 3}, joined(x)}; }},
    {"block", "2x1,2x2", [](X x) { return block({{x[0], x[1]}, {x[1], x[0]}}); }, [](A x) { return build({4, 3}, [&](const Index& i) { const bool lower = i[0] >= 2; const std::int64_t row = i[0] % 2; if (lower) return i[1] < 2 ? at(x[1], {row, i[1]}) : at(x[0], {row, 0}); return i[1] < 1 ? at(x[0], {row, 0}) : at(x[1], {row, i[1] - 1}); }); }},
    {"block", "(),2", [](X x) { return block({{x[0], x[1]}}); }, [](A x) { return Array{{1, 3}, joined(x)}; }},
    {"array_split", "7", [](X x) { const std::vector<Tensor> y = array_split(x[0], 3); return concatenate({y[2], y[0], y[1] * 2}); }, [](A x) { const Row& r = x[0].values; return Array{{7}, {r[5], r[6], r[0], r[1], r[2], 2 * r[3], 2 * r[4]}}; }},
    {"array_split", "2x3", [](X x) { return array_split(x[0], 4, -1)[1]; }, [](A x) { return build({2, 1}, [&](const Index& i) { return at(x[0], {i[0], 1}); }); }},
    {"hsplit", "4;2x4", [](X x) { return hsplit(x[0], 2)[1]; }, [](A x) { Shape s = x[0].shape; s[-1] = 2; return build(s, [&](Index i) { i.back() += 2; return at(x[0], i); }); }},
    {"vsplit", "4x2", [](X x) { return vsplit(x[0], 2)[1]; }, [](A x) { return build({2, 2}, [&](const Index& i) { return at(x[0], {i[0] + 2, i[1]}); }); }},
    {"dsplit", "2x1x2", [](X x) { return dsplit(x[0], 2)[1]; }, [](A x) { return build({2, 1, 1}, [&](const Index& i) { return at(x[0], {i[0], 0, 1}); }); }},
    {"broadcast_arrays", "2x1,3", [](X x) { const std::vector<Tensor> y = broadcast_arrays(x); return y[0] * y[1]; }, [](A x) { return matrices({}, 2, 3, [&](const Index&, auto i, auto j) { return flat(x[0], i) * flat(x[1], j); }); }},
    {"repeat", "3x2", [](X x) { return repeat(x[0], tensor<std::int64_t>({2, 0, 3}), 0); }, [](A x) { return build({5, 2}, [&](const Index& i) { return at(x[0], {i[0] < 2 ? 0 : 2, i[1]}); }); }, {-2, 2}, nullptr, by_values},
    {"repeat", "2x3", [](X x) { return repeat(x[0], tensor<std::int64_t>({2}), 1); }, [](A x) { return build({2, 6}, [&](const Index& i) { return at(x[0], {i[0], i[1] / 2}); }); }, {-2, 2}, nullptr, by_values},
    {"reverse_sequence", "2x4;2x3x2", [](X x) { return reverse_sequence(x[0], tensor<std::int64_t>({3, 0}), 1); }, [](A x) { return build(x[0].shape, [&](Index i) { if (i[0] == 0 && i[1] < 3) i[1] = 2 - i[1]; return at(x[0], i); }); }},
    {"reverse_sequence", "4x2x3", [](X x) { return reverse_sequence(x[0], tensor<std::int64_t>({4, 1, 2}), 0, -1); }, [](A x) { const std::int64_t n[] = {4, 1, 2}; return build(x[0].shape, [&](Index i) { if (i[0] < n[i[2]]) i[0] = n[i[2]] - 1 - i[0]; return at(x[0], i); }); }},
    {"full", "();1", [](X x) { return full({2, 3}, x[0]); }, [](A x) { return Array{{2, 3}, Row(6, x[0].values[0])}; }},
};
// clang-format on

}  // namespace

std::span<const Shaped> arranging() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
