// C of ops that choose elements by indices. Positions are in range: where they are made, others are refused.
#include "ops/index/write.hpp"

#include <algorithm>

#include "csource/steps.hpp"
#include "ops/index/scatter.hpp"

namespace reel::ops {
namespace {

using csource::Array, csource::Blocks, csource::cat, csource::Index, csource::literal, csource::Writer;
using IndexList = std::vector<Index>;

// The position that an array of them holds.
Index position_at(const Array& positions, std::span<const Index> at) {
  return Index(cat({"(int32_t)", positions.at(at)}));
}

// Calls f(position in the whole array, position in the parts) inside loops. The positions name those of the axis.
template <class F>
void write_at_positions(Writer& w, const Array& whole, const Array& positions, int axis, const F& f) {
  const Blocks nest(w);
  IndexList in_whole, in_parts;
  for (int d = 0; d < axis; ++d) in_whole.push_back(w.loop(whole.shape[d]));
  in_parts = in_whole;
  const IndexList k = w.loops(positions.shape);
  in_parts.insert(in_parts.end(), k.begin(), k.end());
  in_whole.push_back(position_at(positions, k));
  for (int d = axis + 1; d < whole.rank(); ++d) {
    in_whole.push_back(w.loop(whole.shape[d]));
    in_parts.push_back(in_whole.back());
  }
  f(in_whole, in_parts);
}

// The same where both arrays have all axes, and differ along one alone.
template <class F>
void write_along_positions(Writer& w, const Array& positions, int axis, const F& f) {
  const Blocks nest(w);
  const IndexList parts = w.loops(positions.shape);
  IndexList whole = parts;
  whole[static_cast<std::size_t>(axis)] = position_at(positions, parts);
  f(whole, parts);
}

int axis_of(const Call& call) { return static_cast<int>(call.attribute(0)); }

}  // namespace

// Negative indices count from the end. Attributes: the op's name, then axis and extent of each input.
void write_positions(const Call& call, Writer& w) {
  const Array& y = w.output(0);
  const Blocks nest(w);
  const IndexList at = w.loops(y.shape);
  std::string sum;
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    const std::string extent = literal(call.attribute(2 + 2 * k), DType::int64);
    const std::string i = w.let(DType::int64, csource::broadcast(w.input(k), y.shape).at(at));
    w.refuse_if(cat({i, " < -", extent, " || ", i, " >= ", extent}), "an index is out of range");
    const std::string here = w.let(DType::int64, cat({i, " < 0 ? ", i, " + ", extent, " : ", i}));
    sum = k == 0 ? here : w.let(DType::int64, cat({sum, " * ", extent, " + ", here}));
  }
  w.store(y, at, sum);
}

void write_gather(const Call& call, Writer& w) {
  write_at_positions(w, w.input(0), w.input(1), axis_of(call), [&](const IndexList& from, const IndexList& to) {
    w.store(w.output(0), to, w.input(0).at(from));
  });
}
void write_scatter_rows(const Call& call, Writer& w) {
  const Array& y = w.output(0);
  w.fill(y, Writer::zero(y.dtype));
  write_at_positions(w, y, w.input(1), axis_of(call),
                     [&](const IndexList& to, const IndexList& from) { w.accumulate(y, to, w.input(0).at(from)); });
}
void write_take_along(const Call& call, Writer& w) {
  write_along_positions(w, w.input(1), axis_of(call), [&](const IndexList& from, const IndexList& to) {
    w.store(w.output(0), to, w.input(0).at(from));
  });
}
void write_put_along(const Call& call, Writer& w) {
  const Array& y = w.output(0);
  w.fill(y, Writer::zero(y.dtype));
  write_along_positions(w, w.input(1), axis_of(call),
                        [&](const IndexList& to, const IndexList& from) { w.accumulate(y, to, w.input(0).at(from)); });
}

void write_one_hot(const Call&, Writer& w) {
  const Array& y = w.output(0);
  const Blocks nest(w);
  const IndexList at = w.loops(y.shape);
  const std::span<const Index> row(at.data(), at.size() - 1);
  const std::string one = is_differentiable(y.dtype) ? literal(1.0, y.dtype) : "1";
  w.store(y, at, cat({w.input(0).at(row), " == ", at.back().text(), " ? ", one, " : ", Writer::zero(y.dtype)}));
}

// ---- Terms at positions. Inputs: x, terms, positions.

namespace {

// Opens loops over the terms. In place of the axis, terms have those of the positions.
struct TermLoops {
  Blocks nest;
  IndexList at;  // in the result
  std::string value;

  TermLoops(const Call& call, Writer& w) : nest(w) {
    const int axis = axis_of(call);
    Array terms = w.input(1), positions = w.input(2);
    if (positions.rank() != 1) {
      Shape shape = w.input(0).shape;
      shape[axis] = positions.size();
      terms = csource::reshaped(w.dense(terms), shape);
      positions = csource::reshaped(w.dense(positions), {positions.size()});
    }
    at = w.loops(terms.shape);
    value = terms.at(at);
    Index& place = at[static_cast<std::size_t>(axis)];
    place = position_at(positions, {&place, 1});
  }
};

void write_extreme(const Call& call, Writer& w, const char* sign) {
  const Array& y = w.output(0);
  w.copy(w.input(0), y);
  if (static_cast<Member>(call.attribute(1)) == Member::no) {  // the first term replaces x
    const TermLoops terms(call, w);
    w.store(y, terms.at, terms.value);
  }
  const TermLoops terms(call, w);
  const std::string t = w.let(y.dtype, terms.value), so_far = y.at(terms.at);
  w.store(y, terms.at, cat({t, sign, so_far, " || ", t, " != ", t, " ? ", t, " : ", so_far}));
}

}  // namespace

void write_scatter_add(const Call& call, Writer& w) {
  w.copy(w.input(0), w.output(0));
  const TermLoops terms(call, w);
  w.accumulate(w.output(0), terms.at, terms.value);
}
void write_scatter_set(const Call& call, Writer& w) {
  w.copy(w.input(0), w.output(0));
  const TermLoops terms(call, w);
  w.store(w.output(0), terms.at, terms.value);
}
void write_scatter_multiply(const Call& call, Writer& w) {
  const Array& y = w.output(0);
  w.copy(w.input(0), y);
  const TermLoops terms(call, w);
  w.store(y, terms.at, cat({"(", csource::type_of(y.dtype), ")(", y.at(terms.at), " * ", terms.value, ")"}));
}
void write_scatter_max(const Call& call, Writer& w) { write_extreme(call, w, " > "); }
void write_scatter_min(const Call& call, Writer& w) { write_extreme(call, w, " < "); }

namespace {

// The text with the numbers of axes of x from that of the call on, and of positions, in place of ? and !. In it #0 is
// the number of positions, #1 the product of the extents behind the axis, #2 the extent of x, #3 whether x is a member.
void write_by_steps(const Call& call, Writer& w, std::size_t positions, bool member, const char* text) {
  const Shape& shape = w.input(0).shape;
  const int axis = axis_of(call), of_positions = w.input(positions).rank();
  if (of_positions == 0) csource::fail_without_form(w);
  std::int64_t inner = 1;
  for (int d = axis + 1; d < shape.rank(); ++d) inner *= shape.begin()[d];
  csource::write_steps(w, w.input(0).dtype,
                       csource::filled(text, "?!", {std::to_string(shape.rank() - axis), std::to_string(of_positions)}),
                       {w.input(positions).size(), inner, shape.begin()[axis], member});
}

}  // namespace

void write_others(const Call& call, Writer& w) {
  write_by_steps(call, w, 2, false, "for i0:? i1:? i2:! o0:?\n$others(i0, i1, i2, o0, #0, #1)");
}
void write_term_shares(const Call& call, Writer& w) {
  write_by_steps(call, w, 3, static_cast<Member>(call.attribute(1)) == Member::yes,
                 "temp t0 i0\nfor i0:? i1:? i2:? i3:! o0:? o1:? t0:?\n"
                 "$shares(i0, i1, i2, i3, o0, o1, t0, #3, #2, #0, #1)");
}

// Whether each term is the last one at its position: no later one is there.
void write_last(const Call&, Writer& w) {
  const Array x = csource::reshaped(w.dense(w.input(0)), {w.input(0).size()}),
              y = csource::reshaped(w.output(0), x.shape);
  const Blocks nest(w);
  const Index i = w.loop(x.size());
  const std::string is_last = w.variable(DType::boolean, "1");
  {
    const Blocks inner(w);
    const Index k = w.loop(i + Index(1), Index(x.size()));
    w.open(cat({"if (", x.at({&k, 1}), " == ", x.at({&i, 1}), ")"}));
    w.statement(cat({is_last, " = 0"}));
  }
  w.store(y, {&i, 1}, is_last);
}

// ---- Diagonals and triangles. Attribute: the offset.

void write_place_diagonal(const Call& call, Writer& w) {
  const Array& y = w.output(0);
  w.fill(y, Writer::zero(y.dtype));
  const int last = y.rank() - 1;
  const std::int64_t offset = call.attribute(0), row = y.strides[last - 1], column = y.strides[last];
  Array diagonal = y;
  diagonal.shape = w.input(0).shape;
  diagonal.strides = Shape(y.strides.begin(), static_cast<std::size_t>(last));
  diagonal.strides[last - 1] = row + column;
  if (diagonal.size() != 0) diagonal.offset.add(Index(offset >= 0 ? offset * column : -offset * row));
  w.copy(w.input(0), diagonal);
}

namespace {

void write_triangle(const Call& call, Writer& w, const char* relation) {
  const Array &x = w.input(0), &y = w.output(0);
  const Blocks nest(w);
  const IndexList at = w.loops(y.shape);
  // An offset beyond the matrix acts like one at its border.
  const std::int64_t most = y.shape[-1] + y.shape[-2], offset = std::clamp(call.attribute(0), -most, most);
  const Index distance = at.back() - at[at.size() - 2];
  w.store(y, at,
          cat({distance.text(), relation, std::to_string(offset), " ? ", x.at(at), " : ", Writer::zero(y.dtype)}));
}

}  // namespace

void write_tril(const Call& call, Writer& w) { write_triangle(call, w, " <= "); }
void write_triu(const Call& call, Writer& w) { write_triangle(call, w, " >= "); }

}  // namespace reel::ops
