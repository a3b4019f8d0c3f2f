// Updates by index arrays, masks and segments, one element after the other. ints: what selects, as each op says.
#include <algorithm>
#include <cmath>
#include <reel/ops/indexing.hpp>

#include "../ranged.hpp"

namespace random_programs {

namespace {

using reel::Operand;
using reel::Tensor;
using Strings = std::vector<std::string>;

std::int64_t positive(std::int64_t i, std::int64_t n) { return i < 0 ? i + n : i; }
std::int64_t whole(const Num& n) { return static_cast<std::int64_t>(n.re.v[0]); }

// How a value is combined with an element.
enum class Does { set, add, multiply, max, min };

// The shares of several jets in their extreme: equal among those that equal it.
Jet extreme(const std::vector<Jet>& all, bool largest) {
  Jet best = all[0];
  for (const Jet& x : all)
    if (largest ? less(best, x) : less(x, best)) best = x;
  std::vector<Jet> ties;
  for (const Jet& x : all)
    if (same(x, best)) ties.push_back(x);
  if (ties.size() == 1) return ties[0];
  Jet mean;
  const Exactly guard;
  for (const Jet& x : ties) mean += x;
  mean = mean * Jet(1.0L / static_cast<Real>(ties.size()));
  mean.v[0] = best.v[0];
  return mean;
}

// The elements of a list with the values at places in it.
void update(std::vector<Num>& y, const std::vector<std::int64_t>& places, const std::vector<Num>& values, Does does,
            bool member = true) {
  std::vector<std::vector<Num>> met(y.size());
  for (std::size_t k = 0; k < places.size(); ++k) met[at(places[k])].push_back(values[k]);
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (met[i].empty()) continue;
    if (does == Does::set) {
      y[i] = met[i].back();
    } else if (does == Does::max || does == Does::min) {
      std::vector<Jet> all;
      if (member) all.push_back(y[i].re);
      for (const Num& v : met[i]) all.push_back(v.re);
      y[i] = extreme(all, does == Does::max);
    } else {
      if (!member) y[i] = Num(does == Does::add ? 0 : 1);
      for (const Num& v : met[i]) y[i] = does == Does::add ? y[i] + v : y[i] * v;
    }
  }
}

// ---- index and its updates. args: x, rows, columns, and of updates values [count]. With ints[0] == 0 the rows alone
// choose, and values are [count, the other axes].

struct Chosen {
  std::vector<std::int64_t> places;
  Extents shape;
};
Chosen chosen(const Array& x, const Array& rows, const Array* columns) {
  Chosen c;
  c.shape = rows.shape;
  const std::size_t axes = columns ? 2 : 1;
  c.shape.insert(c.shape.end(), x.shape.begin() + static_cast<std::ptrdiff_t>(axes), x.shape.end());
  const std::int64_t inner = elements(Extents(x.shape.begin() + static_cast<std::ptrdiff_t>(axes), x.shape.end()));
  for (std::int64_t k = 0; k < rows.size(); ++k) {
    std::int64_t place = positive(whole(rows[k]), x.shape[0]);
    if (columns) place = place * x.shape[1] + positive(whole((*columns)[k]), x.shape[1]);
    for (std::int64_t i = 0; i < inner; ++i) c.places.push_back(place * inner + i);
  }
  return c;
}

struct IndexOp {
  const char* name;
  Does does;
  Tensor (*call)(const Operand&, reel::IndexItems, const Operand&);
};
const IndexOp index_ops[] = {{"index", Does::set, nullptr},
                             {"index_update", Does::set, reel::index_update},
                             {"index_add", Does::add, reel::index_add},
                             {"index_multiply", Does::multiply, reel::index_multiply},
                             {"index_max", Does::max, reel::index_max},
                             {"index_min", Does::min, reel::index_min}};

// An input of this shape, or a value that has it.
int values_of(Maker& m, DType d, const Extents& shape) {
  if (elements(shape) > m.limit) return -1;
  const int v = m.pick([&](const Array& a) { return a.shape == shape && a.dtype == d; });
  return v >= 0 ? v : m.input(m.depth == 0 && m.chance(0.5) ? Role::source : Role::constant, d, shape);
}

void add_index_op(std::vector<Op>& t, const IndexOp& op) {
  Op o;
  o.name = op.name;
  o.weight = 0.8;
  o.body = true;
  o.make = [&op](Maker& m, Statement& s) {
    const int x = m.floating(1, 3);
    if (x < 0) return false;
    const Extents shape = m.at(x).shape;
    const DType d = m.at(x).dtype;
    const bool both = shape.size() > 1 && m.chance(0.5);
    if (shape[0] == 0 || (both && shape[1] == 0)) return false;
    const Extents count = {m.between(1, 3)};
    const int rows = m.integers(count, m.chance(0.3) ? -shape[0] : 0, shape[0] - 1);
    const int columns = both ? m.integers(count, m.chance(0.3) ? -shape[1] : 0, shape[1] - 1) : rows;
    if (rows < 0 || columns < 0 || !reel::is_integer(m.at(rows).dtype) || !reel::is_integer(m.at(columns).dtype))
      return false;
    s.ints = {both};
    s.args = {Maker::arg(x), Maker::arg(rows), Maker::arg(columns)};
    if (!op.call) return true;
    const Chosen c = chosen(m.at(x), m.at(rows), both ? &m.at(columns) : nullptr);
    const int v = values_of(m, d, c.shape);
    s.args.push_back(Maker::arg(v));
    return v >= 0;
  };
  o.eval = [&op](const Statement& s, const Inputs& in, Arrays& out) {
    const Chosen c = chosen(*in[0], *in[1], s.ints[0] ? in[2] : nullptr);
    round_like(in[0]->dtype);
    if (!op.call) {
      Array y(in[0]->dtype, c.shape);
      for (std::int64_t i = 0; i < y.size(); ++i) y[i] = (*in[0])[c.places[at(i)]];
      out.push_back(std::move(y));
      return;
    }
    Array y = *in[0];
    update(y.data, c.places, in[3]->data, op.does);
    out.push_back(std::move(y));
  };
  o.call = [&op](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    const Tensor rows = a.tensor(1);
    if (!op.call)
      out.push_back(s.ints[0] ? reel::index(a[0], {rows, a.tensor(2)}) : reel::index(a[0], {rows}));
    else
      out.push_back(s.ints[0] ? op.call(a[0], {rows, a.tensor(2)}, a[3]) : op.call(a[0], {rows}, a[3]));
  };
  o.text = [&op](const Statement& s, const Strings& a) {
    return std::string(op.name) + "(" + a[0] + ", {" + a[1] + (s.ints[0] ? ", " + a[2] : "") + "}" +
           (op.call ? ", " + a[3] : "") + ")";
  };
  t.push_back(std::move(o));
}

// ---- rows of x from ints[0] on, with values of so many rows

void add_slices(std::vector<Op>& t) {
  for (const bool add : {false, true}) {
    Op o;
    o.name = add ? "slice_add" : "slice_update";
    o.body = true;
    o.make = [](Maker& m, Statement& s) {
      const int x = m.floating(1, 3, true);
      if (x < 0 || m.at(x).shape[0] == 0) return false;
      Extents shape = m.at(x).shape;
      s.ints = {m.below(static_cast<int>(shape[0]))};
      shape[0] = m.between(1, shape[0] - s.ints[0]);
      s.ints.push_back(s.ints[0] + shape[0]);
      const int v = values_of(m, m.at(x).dtype, shape);
      s.args = {Maker::arg(x), Maker::arg(v)};
      return v >= 0;
    };
    o.eval = [add](const Statement& s, const Inputs& in, Arrays& out) {
      Array y = *in[0];
      round_like(y.dtype);
      const std::int64_t first = s.ints[0] * (y.size() / y.shape[0]);
      for (std::int64_t i = 0; i < in[1]->size(); ++i) y[first + i] = add ? y[first + i] + (*in[1])[i] : (*in[1])[i];
      out.push_back(std::move(y));
    };
    o.call = [add](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
      out.push_back((add ? reel::slice_add : reel::slice_update)(a[0], {reel::range(s.ints[0], s.ints[1])}, a[1]));
    };
    o.text = [add](const Statement& s, const Strings& a) {
      return std::string(add ? "slice_add(" : "slice_update(") + a[0] + ", {range(" + std::to_string(s.ints[0]) + ", " +
             std::to_string(s.ints[1]) + ")}, " + a[1] + ")";
    };
    t.push_back(std::move(o));
  }
}

// ---- along an axis. args: x, indices, values; ints: axis, reduction, whether x is a member.

void add_along(std::vector<Op>& t) {
  for (const std::string name : {"put_along_axis", "scatter_add_along_axis", "scatter_reduce"}) {
    Op o;
    o.name = name;
    o.body = true;
    o.make = [name](Maker& m, Statement& s) {
      const int x = m.floating(1, 3);
      if (x < 0) return false;
      Extents shape = m.at(x).shape;
      const int axis = m.below(static_cast<int>(shape.size()));
      const std::int64_t n = shape[at(axis)];
      if (n == 0) return false;
      shape[at(axis)] = m.between(1, 3);
      const int k = m.integers(shape, m.chance(0.3) ? -n : 0, n - 1);
      if (k < 0 || !reel::is_integer(m.at(k).dtype)) return false;
      const int v = values_of(m, m.at(x).dtype, shape);
      s.ints = {axis, m.below(5), m.chance(0.5)};
      s.args = {Maker::arg(x), Maker::arg(k), Maker::arg(v)};
      return v >= 0;
    };
    o.eval = [name](const Statement& s, const Inputs& in, Arrays& out) {
      Array y = *in[0];
      const bool reduces = name == "scatter_reduce";
      round_like(reduces && (y.dtype == DType::float16 || y.dtype == DType::bfloat16) ? DType::float32 : y.dtype);
      std::vector<std::int64_t> places, counts(at(y.size()), s.ints[2] != 0);
      for (std::int64_t i = 0; i < in[1]->size(); ++i) {
        Extents where = indices_of(in[1]->shape, i);
        where[at(s.ints[0])] = positive(whole((*in[1])[i]), y.shape[at(s.ints[0])]);
        places.push_back(position_of(y.shape, where));
        ++counts[at(places.back())];
      }
      static const Does does[] = {Does::add, Does::add, Does::multiply, Does::max, Does::min};
      const Does what = reduces ? does[s.ints[1]] : name == "put_along_axis" ? Does::set : Does::add;
      update(y.data, places, in[2]->data, what, !reduces || s.ints[2] != 0);
      if (reduces && s.ints[1] == 1)
        for (std::int64_t i = 0; i < y.size(); ++i)
          if (counts[at(i)] > 1) y[i].re = y[i].re / Jet(static_cast<Real>(counts[at(i)]));
      round_like(y.dtype);
      if (reduces && Jet::precision < 24)
        for (Num& e : y.data) e.re = rounded(e.re, 1);
      out.push_back(std::move(y));
    };
    o.call = [name](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
      if (name == "scatter_reduce")
        out.push_back(
            reel::scatter_reduce(a[0], a[1], a[2], s.ints[0], static_cast<reel::Reduction>(s.ints[1]), s.ints[2] != 0));
      else
        out.push_back((name == "put_along_axis" ? reel::put_along_axis : reel::scatter_add_along_axis)(a[0], a[1], a[2],
                                                                                                       s.ints[0]));
    };
    o.text = [name](const Statement& s, const Strings& a) {
      return name + "(" + a[0] + ", " + a[1] + ", " + a[2] + ", " + std::to_string(s.ints[0]) +
             (name == "scatter_reduce"
                  ? ", static_cast<Reduction>(" + std::to_string(s.ints[1]) + (s.ints[2] ? "), true)" : "), false)")
                  : ")");
    };
    t.push_back(std::move(o));
  }
}

// ---- of x as a list. ints: the mode; args: x, indices, and of put values.

void add_flat(std::vector<Op>& t) {
  for (const bool puts : {false, true}) {
    Op o;
    o.name = puts ? "put" : "take";
    o.body = true;
    o.make = [puts](Maker& m, Statement& s) {
      const int x = m.floating(0, 3);
      if (x < 0 || m.at(x).size() == 0) return false;
      const std::int64_t n = m.at(x).size();
      s.ints = {m.below(3)};
      const Extents shape = m.random_shape(0, 2);
      const int k = m.integers(shape, s.ints[0] ? -2 * n : -n, s.ints[0] ? 2 * n : n - 1);
      if (k < 0 || !reel::is_integer(m.at(k).dtype)) return false;
      s.args = {Maker::arg(x), Maker::arg(k)};
      if (!puts) return true;
      const int v = values_of(m, m.at(x).dtype, m.at(k).shape);
      s.args.push_back(Maker::arg(v));
      return v >= 0;
    };
    o.eval = [puts](const Statement& s, const Inputs& in, Arrays& out) {
      Array y = puts ? *in[0] : Array(in[0]->dtype, in[1]->shape);
      const std::int64_t n = in[0]->size();
      for (std::int64_t i = 0; i < in[1]->size(); ++i) {
        const std::int64_t k = whole((*in[1])[i]);
        const std::int64_t place = s.ints[0] == 0   ? positive(k, n)
                                   : s.ints[0] == 1 ? (k % n + n) % n
                                                    : std::clamp<std::int64_t>(k, 0, n - 1);
        if (puts)
          y[place] = (*in[2])[i];
        else
          y[i] = (*in[0])[place];
      }
      out.push_back(std::move(y));
    };
    o.call = [puts](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
      const auto mode = static_cast<reel::IndexMode>(s.ints[0]);
      out.push_back(puts ? reel::put(a[0], a[1], a[2], mode) : reel::take(a[0], a[1], mode));
    };
    o.text = [puts](const Statement& s, const Strings& a) {
      return (puts ? "put(" + a[0] + ", " + a[1] + ", " + a[2] : "take(" + a[0] + ", " + a[1]) +
             ", static_cast<IndexMode>(" + std::to_string(s.ints[0]) + "))";
    };
    t.push_back(std::move(o));
  }
}

// ---- masks: where the sign bit of ints[0] >> i is set. args: x.

bool set_at(const Statement& s, std::int64_t i) { return (s.ints[0] >> (i % 8) & 1) != 0; }
Tensor mask_of(const Statement& s, std::int64_t n) {
  std::vector<std::int64_t> mask;
  for (std::int64_t i = 0; i < n; ++i) mask.push_back(set_at(s, i));
  return reel::cast(reel::from_data(mask), DType::boolean);
}
std::string mask_text(const Statement& s, const std::string& x) {
  return "mask(" + std::to_string(s.ints[0]) + ", first axis of " + x + ")";
}

void add_masks(std::vector<Op>& t) {
  for (const std::string name : {"boolean_mask", "compress", "masked_fill", "nonzero"}) {
    Op o;
    o.name = name;
    o.weight = 0.6;
    o.make = [](Maker& m, Statement& s) {
      const int x = m.floating(1, 3);
      s.ints = {m.below(256)};
      s.args = {Maker::arg(x)};
      return x >= 0;
    };
    o.eval = [name](const Statement& s, const Inputs& in, Arrays& out) {
      const Array& x = *in[0];
      const std::int64_t n = x.shape[0], row = n == 0 ? 0 : x.size() / n;
      if (name == "nonzero") {
        Array y(DType::int64, {5});
        std::int64_t found = 0;
        for (std::int64_t i = 0; i < x.size() && found < 5; ++i)
          if (!same(x[i].re, Jet(0))) y[found++] = Num(static_cast<Real>(i / row));
        while (found < 5) y[found++] = Num(7);
        out.push_back(std::move(y));
        return;
      }
      Extents shape = x.shape;
      shape[0] = 0;
      std::vector<Num> kept;
      for (std::int64_t i = 0; i < n; ++i) {
        shape[0] += set_at(s, i);
        for (std::int64_t k = 0; k < row; ++k)
          if (set_at(s, i)) kept.push_back(x[i * row + k]);
      }
      if (name != "masked_fill") {
        Array y(x.dtype, shape);
        y.data = kept;
        out.push_back(std::move(y));
        return;
      }
      Array y = x;  // the mask is of the last axis
      for (std::int64_t i = 0; i < y.size(); ++i)
        if (set_at(s, i % y.shape.back())) y[i] = Num(0.5L);
      out.push_back(std::move(y));
    };
    o.call = [name](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
      const Tensor x = a.tensor(0);
      const std::int64_t n = x.shape()[0];
      if (name == "boolean_mask")
        out.push_back(reel::boolean_mask(x, mask_of(s, n)));
      else if (name == "compress")
        out.push_back(reel::compress(mask_of(s, n), x, 0));
      else if (name == "masked_fill")
        out.push_back(reel::masked_fill(x, mask_of(s, x.shape().back()), 0.5));
      else
        out.push_back(reel::nonzero(x, {.size = 5, .fill = 7})[0]);
    };
    o.text = [name](const Statement& s, const Strings& a) {
      if (name == "nonzero") return "nonzero(" + a[0] + ", {.size = 5, .fill = 7})[0]";
      if (name == "compress") return "compress(" + mask_text(s, a[0]) + ", " + a[0] + ", 0)";
      return name + "(" + a[0] + ", " + mask_text(s, a[0]) + (name == "masked_fill" ? ", 0.5)" : ")");
    };
    t.push_back(std::move(o));
  }
}

// ---- segments. args: x, ids of its first axis, of sparse ones indices [count] and ids [count]; ints: how many.

void add_embedding(std::vector<Op>& t) {
  Op o;
  o.name = "embedding";
  o.body = true;
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating(1, 3);
    if (x < 0 || m.at(x).shape[0] == 0) return false;
    const std::int64_t n = m.at(x).shape[0];
    const int k = m.integers(m.random_shape(0, 1), m.chance(0.3) ? -n : 0, n - 1);
    s.ints = {m.between(-1, n - 1)};
    s.args = {Maker::arg(x), Maker::arg(k)};
    return k >= 0 && reel::is_integer(m.at(k).dtype);
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const Array &x = *in[0], &k = *in[1];
    const std::int64_t n = x.shape[0], row = x.size() / n, padding = positive(s.ints[0], n);
    Extents shape = k.shape;
    shape.insert(shape.end(), x.shape.begin() + 1, x.shape.end());
    Array y(x.dtype, shape);
    for (std::int64_t i = 0; i < k.size(); ++i)
      for (std::int64_t j = 0; j < row; ++j) {
        const std::int64_t from = positive(whole(k[i]), n);
        const Num& e = x[from * row + j];
        y[i * row + j] = from == padding ? Num(e.re.value()) : e;
      }
    out.push_back(std::move(y));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::embedding(a[0], a[1], s.ints[0]));
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "embedding(" + a[0] + ", " + a[1] + ", " + std::to_string(s.ints[0]) + ")";
  };
  t.push_back(std::move(o));
}

struct SegmentOp {
  const char* name;
  Does does;
  double power;  // of the number of terms that a sum is divided by
  Tensor (*call)(const Operand&, const Operand&, std::int64_t);
  Tensor (*sparse)(const Operand&, const Operand&, const Operand&, std::int64_t);
};
const SegmentOp segment_ops[] = {
    {"segment_sum", Does::add, 0, reel::segment_sum, nullptr},
    {"segment_mean", Does::add, 1, reel::segment_mean, nullptr},
    {"segment_prod", Does::multiply, 0, reel::segment_prod, nullptr},
    {"segment_max", Does::max, 0, reel::segment_max, nullptr},
    {"segment_min", Does::min, 0, reel::segment_min, nullptr},
    {"sparse_segment_sum", Does::add, 0, nullptr, reel::sparse_segment_sum},
    {"sparse_segment_mean", Does::add, 1, nullptr, reel::sparse_segment_mean},
    {"sparse_segment_sqrt_n", Does::add, 0.5, nullptr, reel::sparse_segment_sqrt_n},
    {"bincount", Does::add, 0,
     [](const Operand& x, const Operand& ids, std::int64_t n) { return reel::bincount(ids, n, x); }, nullptr},
};

void add_segment_op(std::vector<Op>& t, const SegmentOp& op) {
  const bool bins = std::string(op.name) == "bincount";
  Op o;
  o.name = op.name;
  o.weight = 0.8;
  o.body = true;
  o.make = [&op, bins](Maker& m, Statement& s) {
    const int x = m.floating(1, bins ? 1 : 3);
    if (x < 0 || m.at(x).shape[0] == 0) return false;
    const std::int64_t rows = m.at(x).shape[0], n = m.between(1, 3);
    s.ints = {n};
    s.args = {Maker::arg(x)};
    Extents count = {rows};
    if (op.sparse) {
      count = {m.between(1, 4)};
      const int k = m.integers(count, 0, rows - 1);
      if (k < 0 || !reel::is_integer(m.at(k).dtype)) return false;
      s.args.push_back(Maker::arg(k));
    }
    const int ids = m.integers(count, bins ? 0 : -1, n - 1);
    s.args.push_back(Maker::arg(ids));
    return ids >= 0 && reel::is_integer(m.at(ids).dtype);
  };
  o.eval = [&op](const Statement& s, const Inputs& in, Arrays& out) {
    const Array &x = *in[0], &ids = *in.back();
    const std::int64_t row = x.size() / x.shape[0];
    Extents shape = x.shape;
    shape[0] = s.ints[0];
    Array y(x.dtype, shape);
    round_like(x.dtype == DType::float16 || x.dtype == DType::bfloat16 ? DType::float32 : x.dtype);
    std::vector<std::int64_t> places, counts(at(s.ints[0]));
    std::vector<Num> values;
    for (std::int64_t k = 0; k < ids.size(); ++k) {
      const std::int64_t id = whole(ids[k]), from = op.sparse ? positive(whole((*in[1])[k]), x.shape[0]) : k;
      if (id < 0) continue;
      ++counts[at(id)];
      for (std::int64_t i = 0; i < row; ++i) {
        places.push_back(id * row + i);
        values.push_back(x[from * row + i]);
      }
    }
    if (op.does == Does::max || op.does == Does::min)
      for (const std::int64_t c : counts)
        if (c == 0) throw Unfit();  // infinite
    for (Num& e : y.data) e = Num(op.does == Does::multiply ? 1 : 0);
    update(y.data, places, values, op.does, false);
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const auto count = static_cast<Real>(counts[at(i / row)]);
      if (op.power > 0 && count > 1) y[i].re = y[i].re / rounded(Jet(op.power < 1 ? std::sqrt(count) : count), 1, true);
    }
    round_like(x.dtype);
    if (Jet::precision < 24)
      for (Num& e : y.data) e.re = rounded(e.re, 1);
    out.push_back(std::move(y));
  };
  o.call = [&op](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(op.sparse ? op.sparse(a[0], a[1], a[2], s.ints[0]) : op.call(a[0], a[1], s.ints[0]));
  };
  o.text = [&op, bins](const Statement& s, const Strings& a) {
    const std::string n = std::to_string(s.ints[0]);
    if (bins) return "bincount(" + a[1] + ", " + n + ", " + a[0] + ")";
    return std::string(op.name) + "(" + a[0] + ", " + a[1] + (op.sparse ? ", " + a[2] : "") + ", " + n + ")";
  };
  t.push_back(std::move(o));
}

}  // namespace

void add_updates(std::vector<Op>& t) {
  for (const IndexOp& op : index_ops) add_index_op(t, op);
  add_slices(t);
  add_along(t);
  add_flat(t);
  add_masks(t);
  add_embedding(t);
  for (const SegmentOp& op : segment_ops) add_segment_op(t, op);
}

}  // namespace random_programs
