// Ops that move elements, each by the rule that says where an element of the result comes from.
#include <algorithm>
#include <numeric>

#include "../ranged.hpp"

namespace random_programs {

namespace {

using reel::Operand;
using reel::Tensor;
using Text = std::function<std::string(const Statement&, const std::vector<std::string>&)>;
using Strings = std::vector<std::string>;

std::int64_t positive(std::int64_t axis, int rank) { return axis < 0 ? axis + rank : axis; }

/// y[i] = x[from(i)] for every index of the result.
template <class F>
Array moved(const Array& x, const Extents& shape, const F& from) {
  Array y(x.dtype, shape);
  for (std::int64_t i = 0; i < y.size(); ++i) y[i] = x[position_of(x.shape, from(indices_of(shape, i)))];
  return y;
}

using Make = bool (*)(Maker&, const Array&, Statement&);
using Eval = Array (*)(const Statement&, const Array&);
using Call = Tensor (*)(const Statement&, const Operand&);
/// An op of one operand. `min_rank`: of the operand. `body`: what it makes has an expected rank.
void add_move(std::vector<Op>& t, const char* name, int min_rank, Make make, Eval eval, Call call, Text text = {}) {
  Op o;
  o.name = name;
  o.body = true;
  o.make = [min_rank, make](Maker& m, Statement& s) {
    const int x = m.chance(0.1) ? m.number(min_rank) : m.floating(min_rank, 4, true);
    if (x < 0) return false;
    s.args = {Maker::arg(x)};
    return make(m, m.at(x), s);
  };
  o.eval = [eval](const Statement& s, const Inputs& in, Arrays& out) { out.push_back(eval(s, *in[0])); };
  o.call = [call](const Statement& s, const Operands& a, std::vector<Tensor>& out) { out.push_back(call(s, a[0])); };
  o.text = text;
  t.push_back(std::move(o));
}
/// name(x, {ints}), or name(x, int, int).
Text with_list(const char* name) {
  return [name](const Statement& s, const Strings& a) { return name + ("(" + a[0]) + ", " + braces(s.ints) + ")"; };
}
Text with_numbers(const char* name) {
  return [name](const Statement& s, const Strings& a) {
    std::string r = name + ("(" + a[0]);
    for (const auto i : s.ints) r += ", " + std::to_string(i);
    return r + ")";
  };
}
int any_axis(Maker& m, int rank) { return m.chance(0.5) ? m.below(rank) : m.below(rank) - rank; }

void add_shape_changes(std::vector<Op>& t) {
  add_move(
      t, "reshape", 0,
      [](Maker& m, const Array& x, Statement& s) {
        std::int64_t n = x.size();
        if (n == 0) return false;
        while (s.ints.size() < 3 && (n > 1 || m.chance(0.3))) {
          std::int64_t d = m.between(1, std::min<std::int64_t>(n, 6));
          while (n % d) --d;
          s.ints.push_back(d);
          n /= d;
        }
        if (n > 1) s.ints.push_back(n);
        if (!s.ints.empty() && m.chance(0.3)) s.ints[at(m.below(static_cast<int>(s.ints.size())))] = -1;
        return true;
      },
      [](const Statement& s, const Array& x) {
        Extents shape = s.ints;
        std::int64_t rest = 1;
        for (const auto e : shape) rest *= e < 0 ? 1 : e;
        for (auto& e : shape)
          if (e < 0) e = x.size() / rest;
        if (elements(shape) != x.size()) throw Unfit();
        Array y = x;
        y.shape = shape;
        return y;
      },
      [](const Statement& s, const Operand& x) { return reel::reshape(x, s.ints); }, with_list("reshape"));
  add_move(
      t, "transpose", 0,
      [](Maker& m, const Array& x, Statement& s) {
        s.ints.resize(x.shape.size());
        std::iota(s.ints.begin(), s.ints.end(), 0);
        std::shuffle(s.ints.begin(), s.ints.end(), m.random());
        for (auto& i : s.ints)
          if (m.chance(0.2)) i -= x.rank();
        return true;
      },
      [](const Statement& s, const Array& x) {
        Extents shape;
        for (const auto p : s.ints) shape.push_back(x.shape[at(positive(p, x.rank()))]);
        return moved(x, shape, [&](const Extents& i) {
          Extents r(i.size());
          for (std::size_t k = 0; k < i.size(); ++k) r[at(positive(s.ints[k], x.rank()))] = i[k];
          return r;
        });
      },
      [](const Statement& s, const Operand& x) { return reel::transpose(x, s.ints); }, with_list("transpose"));
  add_move(
      t, "moveaxis", 1,
      [](Maker& m, const Array& x, Statement& s) {
        s.ints = {any_axis(m, x.rank()), any_axis(m, x.rank())};
        return true;
      },
      [](const Statement& s, const Array& x) {
        const std::int64_t from = positive(s.ints[0], x.rank()), to = positive(s.ints[1], x.rank());
        Extents shape = x.shape;
        shape.erase(shape.begin() + from);
        shape.insert(shape.begin() + to, x.shape[at(from)]);
        return moved(x, shape, [&](Extents i) {
          const std::int64_t k = i[at(to)];
          i.erase(i.begin() + to);
          i.insert(i.begin() + from, k);
          return i;
        });
      },
      [](const Statement& s, const Operand& x) { return reel::moveaxis(x, s.ints[0], s.ints[1]); },
      with_numbers("moveaxis"));
  add_move(
      t, "squeeze", 1,
      [](Maker& m, const Array& x, Statement& s) {
        for (int a = 0; a < x.rank(); ++a)
          if (x.shape[at(a)] == 1 && m.chance(0.7)) s.ints.push_back(a);
        return !s.ints.empty();
      },
      [](const Statement& s, const Array& x) {
        Array y = x;
        for (std::size_t k = s.ints.size(); k-- > 0;) y.shape.erase(y.shape.begin() + s.ints[k]);
        return y;
      },
      [](const Statement& s, const Operand& x) { return reel::squeeze(x, s.ints); }, with_list("squeeze"));
  add_move(
      t, "expand_dims", 0,
      [](Maker& m, const Array& x, Statement& s) {
        s.ints = {any_axis(m, x.rank() + 1)};
        return x.rank() < 5;
      },
      [](const Statement& s, const Array& x) {
        Array y = x;
        y.shape.insert(y.shape.begin() + positive(s.ints[0], x.rank() + 1), 1);
        return y;
      },
      [](const Statement& s, const Operand& x) { return reel::expand_dims(x, s.ints[0]); },
      with_numbers("expand_dims"));
  add_move(
      t, "broadcast_to", 0,
      [](Maker& m, const Array& x, Statement& s) {
        s.ints = x.shape;
        for (auto& e : s.ints)
          if (e == 1 && m.chance(0.7)) e = m.between(0, 9) == 0 ? 0 : m.between(1, 3);
        while (s.ints.size() < 4 && m.chance(0.4)) s.ints.insert(s.ints.begin(), m.between(1, 3));
        return elements(s.ints) <= m.limit;
      },
      [](const Statement& s, const Array& x) {
        Array y(x.dtype, s.ints);
        for (std::int64_t i = 0; i < y.size(); ++i) y[i] = x[broadcast_index(x.shape, s.ints, i)];
        return y;
      },
      [](const Statement& s, const Operand& x) { return reel::broadcast_to(x, s.ints); }, with_list("broadcast_to"));
}

void add_copies(std::vector<Op>& t) {
  add_move(
      t, "flip", 0,
      [](Maker& m, const Array& x, Statement& s) {
        for (int a = 0; a < x.rank(); ++a)
          if (m.chance(0.6)) s.ints.push_back(m.chance(0.3) ? a - x.rank() : a);
        return !s.ints.empty();
      },
      [](const Statement& s, const Array& x) {
        return moved(x, x.shape, [&](Extents i) {
          for (const auto a : s.ints) {
            const std::size_t k = at(positive(a, x.rank()));
            i[k] = x.shape[k] - 1 - i[k];
          }
          return i;
        });
      },
      [](const Statement& s, const Operand& x) { return reel::flip(x, s.ints); }, with_list("flip"));
  add_move(
      t, "roll", 1,
      [](Maker& m, const Array& x, Statement& s) {
        s.ints = {m.between(-5, 5), any_axis(m, x.rank())};
        return true;
      },
      [](const Statement& s, const Array& x) {
        const std::size_t a = at(positive(s.ints[1], x.rank()));
        return moved(x, x.shape, [&](Extents i) {
          const std::int64_t n = x.shape[a];
          i[a] = ((i[a] - s.ints[0]) % n + n) % n;
          return i;
        });
      },
      [](const Statement& s, const Operand& x) { return reel::roll(x, s.ints[0], s.ints[1]); }, with_numbers("roll"));
  add_move(
      t, "tile", 1,
      [](Maker& m, const Array& x, Statement& s) {
        const int n = 1 + m.below(x.rank());
        for (int k = 0; k < n; ++k) s.ints.push_back(m.between(1, 3));
        std::int64_t total = x.size();
        for (const auto r : s.ints) total *= r;
        return total <= m.limit;
      },
      [](const Statement& s, const Array& x) {
        Extents shape = x.shape;
        for (std::size_t k = 0; k < s.ints.size(); ++k) shape[shape.size() - s.ints.size() + k] *= s.ints[k];
        return moved(x, shape, [&](Extents i) {
          for (std::size_t k = 0; k < i.size(); ++k) i[k] %= x.shape[k];
          return i;
        });
      },
      [](const Statement& s, const Operand& x) { return reel::tile(x, s.ints); }, with_list("tile"));
  add_move(
      t, "repeat", 1,
      [](Maker& m, const Array& x, Statement& s) {
        s.ints = {m.between(1, 3), any_axis(m, x.rank())};
        return x.size() * s.ints[0] <= m.limit;
      },
      [](const Statement& s, const Array& x) {
        const std::size_t a = at(positive(s.ints[1], x.rank()));
        Extents shape = x.shape;
        shape[a] *= s.ints[0];
        return moved(x, shape, [&](Extents i) {
          i[a] /= s.ints[0];
          return i;
        });
      },
      [](const Statement& s, const Operand& x) { return reel::repeat(x, s.ints[0], s.ints[1]); },
      with_numbers("repeat"));
  const auto same_shape = [](Maker&, const Array&, Statement&) { return true; };
  const auto same_array = [](const Statement&, const Array& x) { return x; };
  add_move(t, "contiguous", 0, same_shape, same_array,
           [](const Statement&, const Operand& x) { return reel::contiguous(x); });
  add_move(t, "identity", 0, same_shape, same_array,
           [](const Statement&, const Operand& x) { return reel::identity(x); });
  add_move(
      t, "stop_gradient", 0, same_shape,
      [](const Statement&, const Array& x) {
        Array y = x;
        for (Num& e : y.data) e = Num(e.re.value(), complex_numbers ? e.im.value() : Jet());
        return y;
      },
      [](const Statement&, const Operand& x) { return reel::stop_gradient(x); });
  add_move(
      t, "zeros_like", 0, same_shape, [](const Statement&, const Array& x) { return Array(x.dtype, x.shape); },
      [](const Statement&, const Operand& x) { return reel::zeros_like(x); });
  add_move(
      t, "ones_like", 0, same_shape,
      [](const Statement&, const Array& x) {
        Array y(x.dtype, x.shape);
        for (Num& e : y.data) e = Num(1);
        return y;
      },
      [](const Statement&, const Operand& x) { return reel::ones_like(x); });
  add_move(
      t, "full_like", 0,
      [](Maker& m, const Array&, Statement& s) {
        s.ints = {m.between(0, 1)};
        return true;
      },
      [](const Statement& s, const Array& x) {
        Array y(x.dtype, x.shape);
        for (Num& e : y.data) e = Num(static_cast<Real>(s.ints[0]));
        return y;
      },
      [](const Statement& s, const Operand& x) { return reel::full_like(x, s.ints[0]); }, with_numbers("full_like"));
  t.back().weight = t[t.size() - 2].weight = t[t.size() - 3].weight = 0.4;
}

// ints[0]: the dtype.
void add_cast(std::vector<Op>& t) {
  add_move(
      t, "cast", 0,
      [](Maker& m, const Array& x, Statement& s) {
        DType d = m.chance(0.8) ? m.floating_dtype() : static_cast<DType>(m.below(8));
        if (m.complex && m.chance(0.4)) d = m.chance(0.5) ? DType::complex64 : DType::complex128;
        if (d == DType::uint8)
          for (const Num& e : x.data)
            if (e.re.v[0] < 0) return false;
        s.ints = {static_cast<std::int64_t>(d)};
        return true;
      },
      [](const Statement& s, const Array& x) {
        const DType d = static_cast<DType>(s.ints[0]);
        Array y(d, x.shape);
        round_like(d);
        for (std::int64_t i = 0; i < x.size(); ++i) {
          const Jet& v = x[i].re;
          if (d == DType::boolean) {
            if (reel::is_complex(x.dtype)) throw Unfit();
            y[i] = same(v, 0) ? Num(0) : Num(1);
          } else if (d < DType::float16) {
            less(v, std::round(v.v[0]));  // certain
            y[i] = Num(std::trunc(v.v[0]));
          } else if (x.dtype < DType::float16) {
            y[i] = Num(v.v[0]);
          } else {
            y[i] = Num(rounded(v, 1, true),
                       reel::is_complex(d) && reel::is_complex(x.dtype) ? rounded(x[i].im, 1, true) : Jet());
          }
        }
        return y;
      },
      [](const Statement& s, const Operand& x) { return reel::cast(x, static_cast<DType>(s.ints[0])); },
      [](const Statement& s, const Strings& a) {
        return "cast(" + a[0] + ", DType::" + reel::name(static_cast<DType>(s.ints[0])) + ")";
      });
}

// Several operands of one shape: ints[0] the axis.
void add_joins(std::vector<Op>& t) {
  for (const bool stack : {false, true}) {
    Op o;
    o.name = stack ? "stack" : "concatenate";
    o.body = true;
    o.make = [stack](Maker& m, Statement& s) {
      const int x = m.chance(0.1) ? m.number(stack ? 0 : 1) : m.floating(stack ? 0 : 1, 3, true);
      if (x < 0) return false;
      const Extents shape = m.at(x).shape;
      const int axis = m.below(static_cast<int>(shape.size()) + stack);
      s.args = {Maker::arg(x)};
      for (int n = m.below(3); n > 0; --n) {
        const int y = m.pick([&](const Array& a) {
          Extents b = a.shape;
          if (!stack && b.size() == shape.size()) b[at(axis)] = shape[at(axis)];
          return b == shape && is_real_floating(a.dtype);
        });
        if (y >= 0) s.args.push_back(Maker::arg(y));
      }
      s.ints = {m.chance(0.3) ? axis - static_cast<int>(shape.size()) - stack : axis};
      return true;
    };
    o.eval = [stack](const Statement& s, const Inputs& in, Arrays& out) {
      std::vector<Array> parts;
      const DType d = promoted(in);
      round_like(d);
      std::size_t axis = at(positive(s.ints[0], in[0]->rank() + stack));
      Extents shape = in[0]->shape;
      if (stack) shape.insert(shape.begin() + static_cast<std::int64_t>(axis), 1);
      shape[axis] = 0;
      for (const Array* x : in) {
        parts.push_back(*x);
        if (stack) parts.back().shape.insert(parts.back().shape.begin() + static_cast<std::int64_t>(axis), 1);
        shape[axis] += parts.back().shape[axis];
        if (x->dtype != d)
          for (Num& e : parts.back().data) e.re = rounded(e.re, 1, true);
      }
      Array y(d, shape);
      for (std::int64_t i = 0; i < y.size(); ++i) {
        Extents k = indices_of(shape, i);
        std::size_t part = 0;
        while (k[axis] >= parts[part].shape[axis]) k[axis] -= parts[part++].shape[axis];
        y[i] = parts[part][position_of(parts[part].shape, k)];
      }
      out.push_back(std::move(y));
    };
    o.call = [stack](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
      const std::vector<Tensor> list = a.tensors();
      out.push_back(stack ? reel::stack(list, s.ints[0]) : reel::concatenate(list, s.ints[0]));
    };
    o.text = [stack](const Statement& s, const Strings& a) {
      std::string r = stack ? "stack({" : "concatenate({";
      for (std::size_t i = 0; i < a.size(); ++i) r += (i ? ", " : "") + a[i];
      return r + "}, " + std::to_string(s.ints[0]) + ")";
    };
    t.push_back(std::move(o));
  }
}

// ints: axis, then the extents of the parts (split: their number).
void add_splits(std::vector<Op>& t) {
  for (const std::string name : {"split", "split_sizes", "unstack"}) {
    Op o;
    o.name = name;
    o.body = true;
    o.make = [name](Maker& m, Statement& s) {
      const int x = m.floating(1, 4, true);
      if (x < 0) return false;
      const Array& a = m.at(x);
      const int axis = m.below(a.rank());
      const std::int64_t n = a.shape[at(axis)];
      if (n == 0) return false;
      s.ints = {m.chance(0.3) ? axis - a.rank() : axis};
      if (name == "split") {
        std::int64_t parts = m.between(1, n);
        while (n % parts) --parts;
        s.ints.push_back(parts);
      } else if (name == "split_sizes") {
        for (std::int64_t left = n; left > 0; left -= s.ints.back())
          s.ints.push_back(m.chance(0.1) ? 0 : m.between(1, left));
      }
      s.args = {Maker::arg(x)};
      return s.ints.size() < 7;
    };
    o.eval = [name](const Statement& s, const Inputs& in, Arrays& out) {
      const Array& x = *in[0];
      const std::size_t axis = at(positive(s.ints[0], x.rank()));
      Extents sizes(s.ints.begin() + 1, s.ints.end());
      if (name == "split") sizes = Extents(at(s.ints[1]), x.shape[axis] / s.ints[1]);
      if (name == "unstack") sizes = Extents(at(x.shape[axis]), 1);
      std::int64_t begin = 0;
      for (const auto n : sizes) {
        Extents shape = x.shape;
        shape[axis] = n;
        Array y = moved(x, shape, [&](Extents i) {
          i[axis] += begin;
          return i;
        });
        if (name == "unstack") y.shape.erase(y.shape.begin() + static_cast<std::int64_t>(axis));
        out.push_back(std::move(y));
        begin += n;
      }
    };
    o.call = [name](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
      if (name == "split") out = reel::split(a[0], s.ints[1], s.ints[0]);
      if (name == "split_sizes") out = reel::split_sizes(a[0], Extents(s.ints.begin() + 1, s.ints.end()), s.ints[0]);
      if (name == "unstack") out = reel::unstack(a[0], s.ints[0]);
    };
    o.text = [name](const Statement& s, const Strings& a) {
      std::string r = name + "(" + a[0] + ", ";
      if (name == "split") r += std::to_string(s.ints[1]) + ", ";
      if (name == "split_sizes") r += braces(Extents(s.ints.begin() + 1, s.ints.end())) + ", ";
      return r + std::to_string(s.ints[0]) + ")";
    };
    t.push_back(std::move(o));
  }
}

// ints: before and after, in pairs.
void add_pad(std::vector<Op>& t) {
  Op o;
  o.name = "pad";
  o.body = true;
  o.make = [](Maker& m, Statement& s) {
    const int x = m.chance(0.1) ? m.number() : m.floating(0, 3, true);
    if (x < 0) return false;
    std::int64_t n = 1;
    for (const auto e : m.at(x).shape) {
      s.ints.push_back(m.between(0, 2)), s.ints.push_back(m.between(0, 1));
      n *= e + s.ints.back() + s.ints[s.ints.size() - 2];
    }
    s.args = {Maker::arg(x)};
    if (m.chance(0.5)) s.args.push_back({.kind = Arg::weak_integer, .number = static_cast<double>(m.below(2))});
    return n <= m.limit;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const Array& x = *in[0];
    Extents shape;
    for (std::size_t a = 0; a < x.shape.size(); ++a) shape.push_back(x.shape[a] + s.ints[2 * a] + s.ints[2 * a + 1]);
    Array y(x.dtype, shape);
    for (std::int64_t i = 0; i < y.size(); ++i) {
      Extents k = indices_of(shape, i);
      bool inside = true;
      for (std::size_t a = 0; a < k.size(); ++a) {
        k[a] -= s.ints[2 * a];
        inside = inside && k[a] >= 0 && k[a] < x.shape[a];
      }
      y[i] = inside ? x[position_of(x.shape, k)] : in.size() > 1 ? (*in[1])[0] : Num(0);
    }
    out.push_back(std::move(y));
  };
  const auto halves = [](const Statement& s, std::size_t first) {
    Extents r;
    for (std::size_t k = first; k < s.ints.size(); k += 2) r.push_back(s.ints[k]);
    return r;
  };
  o.call = [halves](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(a.size() > 1 ? reel::pad(a[0], halves(s, 0), halves(s, 1), a[1])
                               : reel::pad(a[0], halves(s, 0), halves(s, 1)));
  };
  o.text = [halves](const Statement& s, const Strings& a) {
    return "pad(" + a[0] + ", " + braces(halves(s, 0)) + ", " + braces(halves(s, 1)) +
           (a.size() > 1 ? ", " + a[1] : "") + ")";
  };
  t.push_back(std::move(o));
}

}  // namespace

void add_shapes(std::vector<Op>& t) {
  add_shape_changes(t);
  add_copies(t);
  add_cast(t);
  add_joins(t);
  add_splits(t);
  add_pad(t);
}

}  // namespace random_programs
