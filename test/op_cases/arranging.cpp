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

// clang-format off
constexpr Shaped rows[] = {
    {"swapaxes", "2x3x4", [](X x) { return swapaxes(x[0], 0, -1); }, [](A x) { return build({4, 3, 2}, [&](const Index& i) { return at(x[0], {i[2], i[1], i[0]}); }); }},
    {"swapaxes", "2x3", [](X x) { return swapaxes(x[0], 1, 1); }, [](A x) { return x[0]; }},
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
};
// clang-format on

}  // namespace

std::span<const Shaped> arranging() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
