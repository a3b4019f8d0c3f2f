// Arrangements of elements: operands and calls. ints: two numbers.
#include <reel/ops/arranging.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/ops/windows.hpp>

#include "../../op_cases/references/movements.hpp"
#include "../rows.hpp"

namespace random_programs {

namespace {

using namespace cases::moves;
using cases::Index;
using reel::Tensor;
using X = ArraysOf<Num>;
using Y = ArrayOf<Num>;
using N = const Ints&;

struct Arrangement {
  const char* name;
  std::vector<int> ranks;  // the least rank of each operand; below 0: that very rank
  Y (*reference)(X x, N n);
  Call call;
};

template <auto F>
Y twice(X x, N) {
  const Y both[] = {x[0], x[0]};
  return F(X(both));
}
Y last_half(const Y& x, std::int64_t axis) {
  const std::int64_t n = 2 - x.shape[axis] % 2;
  return part_of(x, n - 1, n, axis);
}
std::int64_t halves_of(const Tensor& x, std::int64_t axis) { return 2 - x.shape()[axis] % 2; }
std::vector<Tensor> two(const Tensor& x) { return {x, x}; }
// masked_scatter: whether the element at a position takes one of `count` values.
bool takes_value(std::int64_t at, std::int64_t count) { return at % 2 == 0 && at / 2 < count; }
// The mask of x's shape that is true at the positions for which f is.
template <class F>
Tensor mask_where(const Tensor& x, F f) {
  std::vector<std::int64_t> mask;
  for (std::int64_t i = 0; i < x.size(); ++i) mask.push_back(f(i));
  return reel::cast(reel::reshape(reel::from_data(mask), x.shape()), DType::boolean);
}
Tensor mask_of(const Tensor& x, std::int64_t by, std::int64_t rest) {
  return mask_where(x, [&](std::int64_t i) { return i % by == rest % by; });
}
Tensor first_of(const reel::Operand& x) { return reel::slice(x, {0}); }
Y first_number(const Y& x) { return part(x, 0, 0, 1); }
// (k + n) % m for each element along the first axis: counts and lengths.
Ints numbers_along(const Y& x, std::int64_t n, std::int64_t m) {
  Ints list;
  for (std::int64_t k = 0; k < x.shape[0]; ++k) list.push_back((k + n) % m);
  return list;
}
Tensor numbers_along(const Tensor& x, std::int64_t n, std::int64_t m) {
  return reel::mod(reel::arange(x.shape()[0]) + n, m);
}
reel::Shape halved(const Tensor& x) { return x.shape()[0] % 2 == 0 ? reel::Shape{-1, 2} : reel::Shape{x.shape()[0]}; }
Y unflattened(X x, N) {
  Y y = x[0];
  if (y.shape[0] % 2 == 0) y.shape[0] /= 2, y.shape.insert(1, 2);
  return y;
}
Tensor in_blocks(const Tensor& x) { return reel::block({{x, x}, {reel::zeros(x.shape(), x.dtype()), x}}); }
Y blocks(X x, N) {
  const Y upper[] = {x[0], x[0]}, lower[] = {cases::filled<Num>(x[0].shape, 0), x[0]};
  const Y rows[] = {joined(X(upper), 1), joined(X(lower), 1)};
  return joined(X(rows), 0);
}
std::int64_t groups_of(std::int64_t channels) { return channels % 2 == 0 ? 2 : 1; }
Y shuffled(X x, N) {
  return moved(x[0], x[0].shape, [&](Index i) {
    const std::int64_t channels = x[0].shape[-3], groups = groups_of(channels);
    std::int64_t& channel = i[i.size() - 3];
    channel = channel % groups * (channels / groups) + channel / groups;
    return i;
  });
}
Y with_values(X x, N) {
  std::int64_t at = 0;
  return cases::build<Num>(x[0].shape, [&](const Index& i) {
    const std::int64_t k = at++;
    return takes_value(k, x[1].shape[0]) ? x[1].values[u(k / 2)] : cases::at(x[0], i);
  });
}
template <class F>
Y one_of(X x, F f) {
  const Y both[] = {x[0], first_number(x[1])};
  return chosen(x[0].shape, X(both), f);
}
Tensor chosen_by(const Tensor& x, const Tensor& y, std::int64_t n) {
  return reel::choose(reel::reshape(reel::mod(reel::arange(x.size()) + n, 3), x.shape()), {x, y, x});
}
Tensor pieces(const Tensor& x, const Tensor& y, std::int64_t n) {
  return reel::piecewise(x, {mask_of(x, 2, n)}, {[](const Tensor& t) { return t; }}, y);
}
Tensor selected(const Tensor& x, const Tensor& y, N n) {
  return reel::select({mask_of(x, 2, n[0]), mask_of(x, 3, n[1])}, {x, y});
}
Tensor with_values(const Tensor& x, const Tensor& y) {
  return reel::masked_scatter(x, mask_where(x, [&](std::int64_t i) { return takes_value(i, y.size()); }), y);
}
Tensor broadcast_twice(const Tensor& x) {
  reel::Shape s = x.shape();
  s.insert(0, 2);
  return reel::broadcast_arrays({x, reel::zeros(s)})[0];
}
Y broadcast_twice(X x, N) {
  cases::Extents shape = x[0].shape;
  shape.insert(0, 2);
  return broadcast_array(x[0], shape);
}
Tensor first_element(const Tensor& x) { return reel::reshape(x, {x.size()})[0]; }

// clang-format off
const std::vector<Arrangement>& arrangements() {
  static const std::vector<Arrangement> all = {
      {"swapaxes", {2}, [](X x, N) { return swapped_axes(x[0], 0, 1); }, REEL_CALL(reel::swapaxes(x[0], 0, 1))},
      {"matrix_transpose", {2}, [](X x, N) { return swapped_axes(x[0], -1, -2); }, REEL_CALL(reel::matrix_transpose(x[0]))},
      {"unflatten", {1}, unflattened, REEL_CALL(reel::unflatten(x.tensor(0), 0, halved(x.tensor(0))))},
      {"append", {1, -1}, [](X x, N) { return joined(x, 0, flattened<Num>); }, REEL_CALL(reel::append(x[0], x[1]))},
      {"block", {-2}, blocks, REEL_CALL(in_blocks(x.tensor(0)))},
      {"channel_shuffle", {3}, shuffled, REEL_CALL(reel::channel_shuffle(x.tensor(0), groups_of(x.tensor(0).shape()[-3])))},
      {"masked_scatter", {1, -1}, with_values, REEL_CALL(with_values(x.tensor(0), x.tensor(1)))},
      {"select", {1, -1}, [](X x, N n) { return one_of(x, [&](std::int64_t at) { return at % 2 == n[0] % 2 ? 0 : at % 3 == n[1] % 3 ? 1 : -1; }); }, REEL_CALL(selected(x.tensor(0), first_of(x[1]), i))},
      {"choose", {1, -1}, [](X x, N n) { return one_of(x, [&](std::int64_t at) { return (at + n[0]) % 3 == 1; }); }, REEL_CALL(chosen_by(x.tensor(0), first_of(x[1]), i[0]))},
      {"piecewise", {1, -1}, [](X x, N n) { return one_of(x, [&](std::int64_t at) { return at % 2 != n[0] % 2; }); }, REEL_CALL(pieces(x.tensor(0), first_of(x[1]), i[0]))},
      {"flatten", {1}, [](X x, N) { return flattened(x[0]); }, REEL_CALL(reel::flatten(x[0]))},
      {"rot90", {2}, [](X x, N n) { return rotated(x[0], n[0]); }, REEL_CALL(reel::rot90(x[0], i[0]))},
      {"diag_embed", {1}, [](X x, N n) { return diagonal_matrices(x[0], n[0]); }, REEL_CALL(reel::diag_embed(x[0], i[0]))},
      {"set_diagonal", {-2, -1}, [](X x, N) { return with_diagonal(x[0], first_number(x[1])); }, REEL_CALL(reel::set_diagonal(x[0], first_of(x[1])))},
      {"band_part", {2}, [](X x, N n) { return band_part(x[0], n[0], n[1]); }, REEL_CALL(reel::band_part(x[0], i[0], i[1]))},
      {"block_diag", {-2, -2}, [](X x, N) { return block_diagonal(x); }, REEL_CALL(reel::block_diag({x.tensor(0), x.tensor(1)}))},
      {"meshgrid", {-1, -1}, [](X x, N n) { return grid(x, u(n[0] % 2), false); }, REEL_CALL(reel::meshgrid({x.tensor(0), x.tensor(1)})[u(i[0] % 2)])},
      {"toeplitz", {-1, -1}, [](X x, N) { return toeplitz_matrix(x); }, REEL_CALL(reel::toeplitz(x[0], x[1]))},
      {"hankel", {-1, -1}, [](X x, N) { return hankel_matrix(x); }, REEL_CALL(reel::hankel(x[0], x[1]))},
      {"circulant", {-1}, [](X x, N) { return circulant_matrix(x[0]); }, REEL_CALL(reel::circulant(x[0]))},
      {"atleast_1d", {0}, [](X x, N) { return at_least(x[0], 1); }, REEL_CALL(reel::atleast_1d(x[0]))},
      {"atleast_2d", {0}, [](X x, N) { return at_least(x[0], 2); }, REEL_CALL(reel::atleast_2d(x[0]))},
      {"atleast_3d", {0}, [](X x, N) { return at_least(x[0], 3); }, REEL_CALL(reel::atleast_3d(x[0]))},
      {"hstack", {1}, twice<horizontally<Num>>, REEL_CALL(reel::hstack(two(x.tensor(0))))},
      {"vstack", {1}, twice<vertically<Num>>, REEL_CALL(reel::vstack(two(x.tensor(0))))},
      {"dstack", {1}, twice<in_depth<Num>>, REEL_CALL(reel::dstack(two(x.tensor(0))))},
      {"column_stack", {-1}, twice<columns<Num>>, REEL_CALL(reel::column_stack(two(x.tensor(0))))},
      {"array_split", {1}, [](X x, N n) { return part_of(x[0], 0, n[0] + 1, 0); }, REEL_CALL(reel::array_split(x[0], i[0] + 1)[0])},
      {"hsplit", {1}, [](X x, N) { return last_half(x[0], x[0].shape.rank() > 1); }, REEL_CALL(reel::hsplit(x[0], halves_of(x.tensor(0), x.tensor(0).rank() > 1)).back())},
      {"vsplit", {1}, [](X x, N) { return last_half(x[0], 0); }, REEL_CALL(reel::vsplit(x[0], halves_of(x.tensor(0), 0)).back())},
      {"dsplit", {3}, [](X x, N) { return last_half(x[0], 2); }, REEL_CALL(reel::dsplit(x[0], halves_of(x.tensor(0), 2)).back())},
      {"broadcast_arrays", {1}, broadcast_twice, REEL_CALL(broadcast_twice(x.tensor(0)))},
      {"repeat_counts", {1}, [](X x, N n) { return repeated(x[0], numbers_along(x[0], n[0], 3), 0); }, REEL_CALL(reel::repeat(x[0], numbers_along(x.tensor(0), i[0], 3), 0))},
      {"reverse_sequence", {2}, [](X x, N n) { return reversed_sequences(x[0], numbers_along(x[0], n[0], x[0].shape[1] + 1), 1); }, REEL_CALL(reel::reverse_sequence(x[0], numbers_along(x.tensor(0), i[0], x.tensor(0).shape()[1] + 1), 1))},
      {"full", {1}, [](X x, N n) { return Y{{2, n[0]}, std::vector(u(2 * n[0]), x[0].values[0])}; }, REEL_CALL(reel::full({2, i[0]}, first_element(x.tensor(0))))},
  };
  return all;
}
// clang-format on

bool make_operands(const Arrangement& op, Maker& m, Statement& s) {
  const int least = op.ranks[0] < 0 ? -op.ranks[0] : op.ranks[0];
  const int x = m.floating(least, op.ranks[0] < 0 ? least : 3, true);
  if (x < 0 || m.at(x).size() == 0) return false;
  s.ints = {m.between(0, 3), m.between(0, 2)};
  s.args = {Maker::arg(x)};
  for (std::size_t k = 1; k < op.ranks.size(); ++k) {
    const int rank = -op.ranks[k];
    int other = m.pick([&](const Array& a) { return a.dtype == m.at(x).dtype && a.rank() == rank && a.size() > 0; });
    if (other < 0) other = m.input(Role::constant, m.at(x).dtype, m.random_shape(rank, rank));
    if (other < 0 || m.at(other).size() == 0) return false;
    s.args.push_back(Maker::arg(other));
  }
  return true;
}

// ints: the count, whether powers ascend.
bool make_powers(Maker& m, Statement& s) {
  const int x = m.floating(0, 2);
  s.ints = {m.between(1, 4), m.chance(0.5)};
  s.args = {Maker::arg(x)};
  return x >= 0;
}
// ints: the count.
bool make_ends(Maker& m, Statement& s) {
  const int x = m.floating(0, 2);
  if (x < 0) return false;
  int y = m.pick([&](const Array& a) { return a.dtype == m.at(x).dtype && a.shape == m.at(x).shape; });
  if (y < 0) y = m.input(Role::constant, m.at(x).dtype, m.at(x).shape);
  s.ints = {m.between(1, 4)};
  s.args = {Maker::arg(x), Maker::arg(y)};
  return y >= 0;
}
DType own_dtype(const Inputs& in) {
  round_like(in[0]->dtype);
  return in[0]->dtype;
}

}  // namespace

void add_arranging(std::vector<Op>& t) {
  for (const Arrangement& op : arrangements())
    t.push_back(row_op<Num>(
        op.name, [&op](Maker& m, Statement& s) { return make_operands(op, m, s); }, own_dtype,
        [&op](X x, const Statement& s) { return op.reference(x, s.ints); }, op.call, {0.6, true}));
  t.push_back(row_op<Num>("vander", make_powers, own_dtype,
                          [](X x, const Statement& s) { return powers(x[0], s.ints[0], s.ints[1] != 0); },
                          REEL_CALL(reel::vander(x[0], i[0], i[1] != 0)), {1, true}));
  t.push_back(row_op<Jet>("linspace", make_ends, own_dtype,
                          [](ArraysOf<Jet> x, const Statement& s) { return steps_between(x, s.ints[0]); },
                          REEL_CALL(reel::linspace(x[0], x[1], i[0])), {1, true}));
}

}  // namespace random_programs
