// Slices, gathers, scatters and diagonals, by the rule that says where an element of the result comes from.
#include <algorithm>

#include "../ranged.hpp"

namespace random_programs {

namespace {

using reel::Operand;
using reel::SliceItem;
using reel::Tensor;
using Strings = std::vector<std::string>;

std::int64_t positive(std::int64_t axis, int rank) { return axis < 0 ? axis + rank : axis; }

// ints, four for each item: kind, start, stop, step. Kinds: 0 index, 1 range, 2 all, 3 new axis, 4 range_from, 5
// range_to.
SliceItem item_of(const std::int64_t* i) {
  switch (i[0]) {
    case 0:
      return SliceItem(i[1]);
    case 1:
      return reel::range(i[1], i[2], i[3]);
    case 3:
      return reel::newaxis;
    case 4:
      return reel::range_from(i[1], i[3]);
    case 5:
      return reel::range_to(i[2], i[3]);
    default:
      return {};
  }
}
/// Python's start:stop:step on an axis of n elements.
Extents chosen(const std::int64_t* i, std::int64_t n) {
  if (i[0] == 0) return {i[1] < 0 ? i[1] + n : i[1]};
  const std::int64_t step = i[0] == 2 ? 1 : i[3];
  const bool down = step < 0;
  const auto cut = [&](std::int64_t k) {
    if (k < 0) k += n;
    return std::clamp<std::int64_t>(k, down ? -1 : 0, down ? n - 1 : n);
  };
  const std::int64_t start = i[0] == 1 || i[0] == 4 ? cut(i[1]) : down ? n - 1 : 0;
  const std::int64_t stop = i[0] == 1 || i[0] == 5 ? cut(i[2]) : down ? -1 : n;
  Extents r;
  for (std::int64_t k = start; down ? k > stop : k < stop; k += step) r.push_back(k);
  return r;
}

void add_slice(std::vector<Op>& t) {
  Op o;
  o.name = "slice";
  o.weight = 3;
  o.body = true;
  o.make = [](Maker& m, Statement& s) {
    const int x = m.chance(0.1) ? m.number(1) : m.floating(1, 4, true);
    if (x < 0) return false;
    int axis = 0;
    while (axis < m.at(x).rank() && m.chance(0.85)) {
      const std::int64_t n = m.at(x).shape[at(axis)];
      std::int64_t kind = m.below(6);
      if (n == 0 && kind == 0) kind = 2;
      s.ints.push_back(kind);
      s.ints.push_back(kind == 0 ? m.between(-n, n - 1) : m.between(-n - 1, n));
      s.ints.push_back(m.between(-n - 1, n + 1));
      static const std::vector<std::int64_t> steps = {1, 1, 2, -1, -2, 3};
      s.ints.push_back(m.choose(steps));
      axis += kind != 3;
    }
    s.args = {Maker::arg(x)};
    return s.ints.size() <= 24;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const Array& x = *in[0];
    std::vector<Extents> places;
    Extents shape;
    for (std::size_t i = 0; i < s.ints.size(); i += 4) {
      if (s.ints[i] == 3) {
        shape.push_back(1);
        continue;
      }
      places.push_back(chosen(&s.ints[i], x.shape[places.size()]));
      if (s.ints[i] != 0) shape.push_back(static_cast<std::int64_t>(places.back().size()));
    }
    while (places.size() < x.shape.size()) {
      const std::int64_t all[] = {2, 0, 0, 1};
      shape.push_back(x.shape[places.size()]);
      places.push_back(chosen(all, shape.back()));
    }
    Array y(x.dtype, shape);
    Extents counts;
    for (const Extents& p : places) counts.push_back(static_cast<std::int64_t>(p.size()));
    for (std::int64_t i = 0; i < y.size(); ++i) {
      Extents k = indices_of(counts, i);
      for (std::size_t a = 0; a < k.size(); ++a) k[a] = places[a][at(k[a])];
      y[i] = x[position_of(x.shape, k)];
    }
    out.push_back(std::move(y));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    std::vector<SliceItem> items;
    for (std::size_t i = 0; i < s.ints.size(); i += 4) items.push_back(item_of(&s.ints[i]));
    out.push_back(reel::slice(a[0], items));
  };
  o.text = [](const Statement& s, const Strings& a) {
    std::string r = "slice(" + a[0] + ", {";
    for (std::size_t i = 0; i < s.ints.size(); i += 4) {
      const auto n = [&](std::size_t k) { return std::to_string(s.ints[i + k]); };
      const std::string kinds[] = {
          n(1),      "range(" + n(1) + ", " + n(2) + ", " + n(3) + ")", "SliceItem()",
          "newaxis", "range_from(" + n(1) + ", " + n(3) + ")",          "range_to(" + n(2) + ", " + n(3) + ")"};
      r += (i ? ", " : "") + kinds[at(s.ints[i])];
    }
    return r + "})";
  };
  t.push_back(std::move(o));
}

// args: x, indices. ints: axis.
void add_gathers(std::vector<Op>& t) {
  for (const bool along : {false, true}) {
    Op o;
    o.name = along ? "take_along_axis" : "gather";
    o.weight = 2;
    o.body = true;
    o.make = [along](Maker& m, Statement& s) {
      const int x = m.floating(1, 3, true);
      if (x < 0) return false;
      const Extents shape = m.at(x).shape;
      const int axis = along || m.chance(0.5) ? m.below(static_cast<int>(shape.size())) : 0;
      const std::int64_t n = shape[at(axis)];
      if (n == 0) return false;
      s.ints = {axis};
      Extents indices = m.random_shape(0, 2);
      if (along) {
        indices = shape;
        indices[at(axis)] = m.between(1, 3);
      }
      const int k = m.integers(indices, m.chance(0.3) ? -n : 0, n - 1);
      s.args = {Maker::arg(x), Maker::arg(k)};
      return k >= 0 && reel::is_integer(m.at(k).dtype);
    };
    o.eval = [along](const Statement& s, const Inputs& in, Arrays& out) {
      const Array &x = *in[0], &k = *in[1];
      const std::size_t axis = at(positive(s.ints[0], x.rank()));
      Extents shape = x.shape;
      const auto a = static_cast<std::ptrdiff_t>(axis);
      if (along) {
        shape = k.shape;
      } else {
        shape.erase(shape.begin() + a);
        shape.insert(shape.begin() + a, k.shape.begin(), k.shape.end());
      }
      Array y(x.dtype, shape);
      for (std::int64_t i = 0; i < y.size(); ++i) {
        Extents where = indices_of(shape, i);
        std::int64_t index = 0;
        if (along) {
          index = static_cast<std::int64_t>(k[i].re.v[0]);
        } else {
          const Extents part(where.begin() + a, where.begin() + a + k.rank());
          index = static_cast<std::int64_t>(k[position_of(k.shape, part)].re.v[0]);
          where.erase(where.begin() + a, where.begin() + a + k.rank());
          where.insert(where.begin() + a, 0);
        }
        where[axis] = positive(index, static_cast<int>(x.shape[axis]));
        y[i] = x[position_of(x.shape, where)];
      }
      out.push_back(std::move(y));
    };
    o.call = [along](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
      out.push_back(along ? reel::take_along_axis(a[0], a[1], s.ints[0]) : reel::gather(a[0], a[1], s.ints[0]));
    };
    o.text = [along](const Statement& s, const Strings& a) {
      return std::string(along ? "take_along_axis(" : "gather(") + a[0] + ", " + a[1] + ", " +
             std::to_string(s.ints[0]) + ")";
    };
    t.push_back(std::move(o));
  }
}

void add_scatter(std::vector<Op>& t) {
  Op o;
  o.name = "scatter_add";
  o.body = true;
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating(1, 3);
    if (x < 0 || m.at(x).shape[0] == 0) return false;
    const Extents shape = m.at(x).shape;
    const DType d = m.at(x).dtype;
    Extents indices = m.random_shape(0, 1), updates = indices;
    updates.insert(updates.end(), shape.begin() + 1, shape.end());
    const int k = m.integers(indices, m.chance(0.3) ? -shape[0] : 0, shape[0] - 1);
    if (k < 0 || !reel::is_integer(m.at(k).dtype) || elements(updates) > m.limit) return false;
    int u = m.pick([&](const Array& a) { return a.shape == updates && a.dtype == d; });
    if (u < 0) u = m.input(m.depth == 0 && m.chance(0.5) ? Role::source : Role::constant, d, updates);
    s.args = {Maker::arg(x), Maker::arg(k), Maker::arg(u)};
    return u >= 0;
  };
  o.eval = [](const Statement&, const Inputs& in, Arrays& out) {
    Array y = *in[0];
    const Array &k = *in[1], &u = *in[2];
    round_like(y.dtype);
    const std::int64_t row = y.size() / y.shape[0];
    for (std::int64_t i = 0; i < k.size(); ++i)
      for (std::int64_t j = 0; j < row; ++j)
        y[positive(static_cast<std::int64_t>(k[i].re.v[0]), static_cast<int>(y.shape[0])) * row + j] += u[i * row + j];
    out.push_back(std::move(y));
  };
  o.call = [](const Statement&, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::scatter_add(a[0], a[1], a[2]));
  };
  t.push_back(std::move(o));
}

// ints: offset.
void add_diagonals(std::vector<Op>& t) {
  using Call = Tensor (*)(const Operand&, std::int64_t);
  const auto add = [&t](const char* name, Call call, int min_rank, int max_rank,
                        void (*eval)(const Array&, std::int64_t, Array&)) {
    Op o;
    o.name = name;
    o.body = true;
    o.make = [min_rank, max_rank](Maker& m, Statement& s) {
      const int x = m.chance(0.1) ? m.number(min_rank, max_rank) : m.floating(min_rank, max_rank, true);
      if (x < 0) return false;
      s.args = {Maker::arg(x)};
      s.ints = {m.between(-1, 1)};
      if (m.at(x).rank() >= 2) {  // the offset lies within the matrix
        const std::int64_t rows = m.at(x).shape[m.at(x).shape.size() - 2], columns = m.at(x).shape.back();
        if (rows == 0 || columns == 0 || s.ints[0] >= columns || -s.ints[0] >= rows) s.ints[0] = 0;
      }
      return true;
    };
    o.eval = [eval](const Statement& s, const Inputs& in, Arrays& out) {
      Array y;
      round_like(in[0]->dtype);
      eval(*in[0], s.ints[0], y);
      out.push_back(std::move(y));
    };
    o.call = [call](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
      out.push_back(call(a[0], s.ints[0]));
    };
    o.text = [name](const Statement& s, const Strings& a) {
      return name + ("(" + a[0]) + ", " + std::to_string(s.ints[0]) + ")";
    };
    t.push_back(std::move(o));
  };
  const auto diagonal = [](const Array& x, std::int64_t offset, Array& y) {
    const std::int64_t rows = x.shape[x.shape.size() - 2], columns = x.shape.back(),
                       batch = rows * columns > 0 ? x.size() / (rows * columns) : 0;
    const std::int64_t r0 = offset < 0 ? -offset : 0, c0 = offset > 0 ? offset : 0;
    const std::int64_t n = std::max<std::int64_t>(0, std::min(rows - r0, columns - c0));
    Extents shape(x.shape.begin(), x.shape.end() - 2);
    if (elements(shape) != batch) throw Unfit();
    shape.push_back(n);
    y = Array(x.dtype, shape);
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t i = 0; i < n; ++i) y[b * n + i] = x[(b * rows + r0 + i) * columns + c0 + i];
  };
  static const auto take_diagonal = diagonal;
  add("diagonal", reel::diagonal, 2, 4, diagonal);
  add("diag", reel::diag, 1, 2, [](const Array& x, std::int64_t offset, Array& y) {
    if (x.rank() == 2) return take_diagonal(x, offset, y);
    const std::int64_t n = x.size() + std::abs(offset);
    y = Array(x.dtype, {n, n});
    for (std::int64_t i = 0; i < x.size(); ++i)
      y[(i + (offset < 0 ? -offset : 0)) * n + i + (offset > 0 ? offset : 0)] = x[i];
  });
  add("trace", reel::trace, 2, 4, [](const Array& x, std::int64_t offset, Array& y) {
    Array d;
    take_diagonal(x, offset, d);
    if (x.dtype < DType::int64) throw Unfit();  // the header names no dtype for their sum
    y = Array(x.dtype, Extents(d.shape.begin(), d.shape.end() - 1));
    const std::int64_t n = d.shape.back();
    for (std::int64_t i = 0; i < d.size(); ++i) y[i / n] += d[i];
  });
  const auto triangle = [](const Array& x, std::int64_t offset, Array& y, bool lower) {
    y = x;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const Extents k = indices_of(x.shape, i);
      const std::int64_t above = k.back() - k[k.size() - 2];
      if (lower ? above > offset : above < offset) y[i] = Num(0);
    }
  };
  static const auto cut = triangle;
  add("tril", reel::tril, 2, 4, [](const Array& x, std::int64_t offset, Array& y) { cut(x, offset, y, true); });
  add("triu", reel::triu, 2, 4, [](const Array& x, std::int64_t offset, Array& y) { cut(x, offset, y, false); });

  Op o;
  o.name = "one_hot";
  o.weight = 0.6;
  o.make = [](Maker& m, Statement& s) {
    const int k = m.integers(m.random_shape(0, 2), 0, 3);
    s.args = {Maker::arg(k)};
    s.ints = {m.between(2, 4), static_cast<std::int64_t>(m.floating_dtype())};
    return k >= 0 && reel::is_integer(m.at(k).dtype);
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const Array& k = *in[0];
    Extents shape = k.shape;
    shape.push_back(s.ints[0]);
    Array y(static_cast<DType>(s.ints[1]), shape);
    for (std::int64_t i = 0; i < k.size(); ++i) {
      const auto hot = static_cast<std::int64_t>(k[i].re.v[0]);
      if (hot >= 0 && hot < s.ints[0]) y[i * s.ints[0] + hot] = Num(1);
    }
    out.push_back(std::move(y));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::one_hot(a[0], s.ints[0], static_cast<DType>(s.ints[1])));
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "one_hot(" + a[0] + ", " + std::to_string(s.ints[0]) +
           ", DType::" + reel::name(static_cast<DType>(s.ints[1])) + ")";
  };
  t.push_back(std::move(o));
}

}  // namespace

void add_indexing(std::vector<Op>& t) {
  add_slice(t);
  add_gathers(t);
  add_scatter(t);
  add_diagonals(t);
}

}  // namespace random_programs
