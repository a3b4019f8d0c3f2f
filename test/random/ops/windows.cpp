// Borders, windows and blocks: their operands and calls.
#include "../../op_cases/references/windows.hpp"

#include "../rows.hpp"

namespace random_programs {

namespace {

using reel::Operand;
using reel::Shape;
using reel::Tensor;
using Z = ArraysOf<Num>;
using S = Statement;

DType own(const Inputs& in) {
  round_like(in[0]->dtype);
  return in[0]->dtype;
}
Extents any_shape(Maker& m) { return m.random_shape(1, 3); }

// An operand of at least this rank for which choose(m, shape, ints) finds ints: a value, or a fresh one.
Op window_op(const char* name, int rank, Extents (*fresh)(Maker& m),
             bool (*choose)(Maker& m, const Extents& shape, Ints& ints),
             ArrayOf<Num> (*reference)(const ArrayOf<Num>& x, const Ints& ints), Call call) {
  const auto make = [=](Maker& m, S& s) {
    int x = m.floating(rank, 3, true);
    if (x < 0) return false;
    if (!choose(m, m.at(x).shape, s.ints)) {
      if (m.depth > 0) return false;
      const Extents shape = fresh(m);
      if (static_cast<int>(shape.size()) < rank) return false;
      const bool source = m.source_elements + elements(shape) < 14;
      x = m.input(source ? Role::source : Role::constant, m.floating_dtype(), shape);
      if (x < 0 || !choose(m, m.at(x).shape, s.ints)) return false;
    }
    s.args = {Maker::arg(x)};
    return true;
  };
  return row_op<Num>(name, make, own, [=](Z x, const S& s) { return reference(x[0], s.ints); }, call,
                     {.weight = 0.6, .body = true});
}

// ints of pad: mode, before and after of the first axis, and of the last.
Extents borders(std::size_t rank, const Ints& n, std::size_t first) {
  Extents e(rank, 0);
  e.front() = n[first];
  if (rank > 1) e.back() = n[first + 2];
  return e;
}
Tensor padded(const Operand& operand, const Ints& n) {
  const Tensor x = operand.tensor();
  const auto rank = static_cast<std::size_t>(x.rank());
  return reel::pad(x, Shape(borders(rank, n, 1)), Shape(borders(rank, n, 2)), static_cast<reel::PadMode>(n[0]));
}
Op pad() {
  return window_op(
      "pad_mode", 1, any_shape,
      [](Maker& m, const Extents& x, Ints& n) {
        n = {m.below(4), m.between(0, 3), m.between(0, 2), m.between(0, 2), m.between(0, 1)};
        return x.front() > 0 && x.back() > 0;
      },
      [](const ArrayOf<Num>& x, const Ints& n) {
        const std::size_t rank = x.shape.size();
        return cases::pad_of(x, borders(rank, n, 1), borders(rank, n, 2), static_cast<reel::PadMode>(n[0]));
      },
      REEL_CALL(padded(x[0], i)));
}

// ints: axis, window or elements beyond those covered, stride, dilation.
Tensor overlap_added(const Operand& operand, const Ints& n) {
  const Tensor x = operand.tensor();
  const Shape s = x.shape();
  const std::int64_t extent = (s[n[0]] - 1) * n[2] + (s[-1] - 1) * n[3] + 1 + n[1];
  return reel::overlap_add(x, n[0], n[2], n[3], n[1] ? extent : -1);
}
void add_sliding(std::vector<Op>& t) {
  t.push_back(window_op(
      "sliding_window", 1, any_shape,
      [](Maker& m, const Extents& x, Ints& n) {
        n = {m.below(static_cast<int>(x.size())), m.between(1, 3), m.between(1, 2), m.between(1, 2)};
        return (n[1] - 1) * n[3] < x[at(n[0])];
      },
      [](const ArrayOf<Num>& x, const Ints& n) { return cases::sliding_window_of(x, n[0], n[1], n[2], n[3]); },
      REEL_CALL(reel::sliding_window(x[0], i[1], i[0], i[2], i[3]))));
  t.push_back(window_op(
      "overlap_add", 2, any_shape,
      [](Maker& m, const Extents& x, Ints& n) {
        n = {m.below(static_cast<int>(x.size()) - 1), m.between(0, 1), m.between(1, 2), m.between(1, 2)};
        return x[at(n[0])] > 0 && x.back() > 0;
      },
      [](const ArrayOf<Num>& x, const Ints& n) { return cases::overlap_add_of(x, n[0], n[2], n[3], n[1]); },
      REEL_CALL(overlap_added(x[0], i))));
}

// clang-format off
void add_blocks(std::vector<Op>& t) {
  t.push_back(window_op("pixel_shuffle", 3, [](Maker& m) { return Extents{4, m.between(1, 2), m.between(1, 2)}; }, [](Maker&, const Extents& x, Ints&) { return x[x.size() - 3] % 4 == 0; }, [](const ArrayOf<Num>& x, const Ints&) { return cases::pixel_shuffle_of(x, 2); },
      REEL_CALL(reel::pixel_shuffle(x[0], 2))));
  t.push_back(window_op("pixel_unshuffle", 3, [](Maker& m) { return Extents{1, 2, 2 * m.between(1, 2)}; }, [](Maker&, const Extents& x, Ints&) { return x[x.size() - 2] % 2 == 0 && x.back() % 2 == 0; }, [](const ArrayOf<Num>& x, const Ints&) { return cases::pixel_unshuffle_of(x, 2); },
      REEL_CALL(reel::pixel_unshuffle(x[0], 2))));
  // ints: block, before and after of axis 1.
  t.push_back(window_op("space_to_batch", 2, any_shape, [](Maker& m, const Extents& x, Ints& n) { n = {m.between(1, 3), m.between(0, 1), 0}; n[2] = (n[0] - (x[1] + n[1]) % n[0]) % n[0]; return true; }, [](const ArrayOf<Num>& x, const Ints& n) { return cases::space_to_batch_of(x, {n[0]}, {n[1]}, {n[2]}); },
      REEL_CALL(reel::space_to_batch(x[0], {i[0]}, {i[1]}, {i[2]}))));
  t.push_back(window_op("batch_to_space", 2, [](Maker& m) { return Extents{2 * m.between(1, 2), m.between(1, 3)}; }, [](Maker& m, const Extents& x, Ints& n) { n = {2, m.between(0, 1), m.between(0, 1)}; return x[0] % 2 == 0 && x[1] > 0; }, [](const ArrayOf<Num>& x, const Ints& n) { return cases::batch_to_space_of(x, {n[0]}, {n[1]}, {n[2]}); },
      REEL_CALL(reel::batch_to_space(x[0], {i[0]}, {i[1]}, {i[2]}))));
}
// clang-format on

}  // namespace

void add_windows(std::vector<Op>& t) {
  t.push_back(pad());
  add_sliding(t);
  add_blocks(t);
}

}  // namespace random_programs
