// Generates programs. Every statement is interpreted when it is generated. It is removed again if its values are large,
// ill-conditioned, undefined, or undecided within rounding error.
#include <cmath>

#include "program.hpp"

namespace random_programs {

namespace {
bool tame(const Array& x, int limit) {
  if (x.size() > limit || x.rank() > 6) return false;
  const double bound = x.dtype == DType::float16 || x.dtype == DType::bfloat16 ? 0.25 : 1e-3;
  for (const Num& n : x.data)
    for (const Jet* j : {&n.re, &n.im}) {
      if (!std::isfinite(j->v[0]) || std::fabs(j->v[0]) > 60) return false;
      if (!(j->e[0] <= bound * static_cast<double>(1 + std::fabs(j->v[0])))) return false;
      if (!complex_numbers) break;
    }
  return true;
}
bool broadcasts(const Extents& a, const Extents& b) {
  try {
    broadcast_shapes(a, b);
    return true;
  } catch (const Unfit&) {
    return false;
  }
}
}  // namespace

int Maker::pick(const std::function<bool(const Array&)>& fits) {
  std::vector<int> found;
  for (int i = 0; i < static_cast<int>(values_.size()); ++i)
    if (fits(at(i))) found.push_back(i);
  if (found.empty()) return -1;
  const int n = static_cast<int>(found.size());
  return found[static_cast<std::size_t>(chance(0.5) ? std::max(below(n), below(n))
                                                    : n - 1 - std::min(below(n), below(3)))];
}

DType Maker::floating_dtype() {
  if (halves && chance(0.5)) return chance(0.5) ? DType::float16 : DType::bfloat16;
  if (chance(0.85)) return main;
  return chance(0.5) ? DType::float32 : DType::float64;
}

Extents Maker::random_shape(int min_rank, int max_rank) {
  static const std::vector<int> ranks = {0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4};
  static const std::vector<std::int64_t> extents = {1, 2, 2, 2, 3, 3, 4};
  for (;;) {
    const int rank = choose(ranks);
    if (rank < min_rank || rank > max_rank) continue;
    Extents shape;
    for (int i = 0; i < rank; ++i) shape.push_back(chance(0.01) ? 0 : choose(extents));
    if (elements(shape) <= (depth ? 6 : 16)) return shape;
  }
}

int Maker::floating(int min_rank, int max_rank, bool with_complex) {
  const auto fits = [&](const Array& a) {
    return a.rank() >= min_rank && a.rank() <= max_rank &&
           (is_real_floating(a.dtype) || (with_complex && reel::is_complex(a.dtype)));
  };
  int x = chance(0.93) ? pick(fits) : -1;
  if (x >= 0 || (depth && chance(0.8))) return x;
  const bool source = depth == 0 && source_elements < 10 && chance(0.6);
  DType d = floating_dtype();
  if (with_complex && complex && chance(0.5)) d = d == DType::float32 ? DType::complex64 : DType::complex128;
  return input(source ? Role::source : Role::constant, d, random_shape(min_rank, max_rank));
}
int Maker::number(int min_rank, int max_rank) {
  const int x = pick([&](const Array& a) {
    return a.rank() >= min_rank && a.rank() <= max_rank && (complex || !reel::is_complex(a.dtype)) && chance(0.7);
  });
  if (x >= 0 && chance(0.8)) return x;
  static const std::vector<DType> dtypes = {DType::boolean, DType::uint8, DType::int32, DType::int64};
  return input(Role::constant, choose(dtypes), random_shape(min_rank, max_rank));
}

Arg Maker::beside(int x, bool with_weak, bool integer) {
  if (with_weak && chance(0.2)) {
    if (chance(0.25)) {
      const auto n = static_cast<double>(between(-2, 3));
      return {.kind = Arg::weak_integer, .number = at(x).dtype == DType::uint8 ? std::fabs(n) : n};
    }
    return weak(static_cast<double>(between(-6, 8)) * 0.25);
  }
  const Extents shape = at(x).shape;
  const int y = pick([&](const Array& a) {
    if (!broadcasts(a.shape, shape) || elements(broadcast_shapes(a.shape, shape)) > limit) return false;
    if (reel::is_complex(a.dtype) && !reel::is_complex(at(x).dtype) && chance(0.7)) return false;
    return is_real_floating(a.dtype) || reel::is_complex(a.dtype) || integer || chance(0.15);
  });
  if (y >= 0 && chance(0.85)) return arg(y);
  Extents part = shape;  // a shape that broadcasts with it
  for (auto& e : part)
    if (chance(0.3)) e = e == 1 && !depth ? 2 : 1;
  if (!part.empty() && chance(0.3)) part.erase(part.begin());
  if (elements(broadcast_shapes(part, shape)) > limit) part = shape;
  DType d = integer ? (chance(0.5) ? DType::int32 : DType::uint8) : floating_dtype();
  if (chance(0.05)) d = DType::int32;
  const bool source = depth == 0 && source_elements + elements(part) < 14 && chance(0.5);
  return arg(input(source ? Role::source : Role::constant, d, part));
}

int Maker::input(Role role, DType dtype, const Extents& shape) {
  std::vector<double> data;
  for (std::int64_t i = 0; i < elements(shape); ++i) {
    double v = kinks ? 0.5 * static_cast<double>(between(-3, 3)) : uniform(-2, 2);
    if (!kinks && chance(0.1)) v = static_cast<double>(between(-2, 2));
    if (dtype == DType::boolean) v = below(2);
    if (dtype == DType::uint8) v = below(4);
    if (dtype == DType::int32 || dtype == DType::int64) v = static_cast<double>(between(-3, 3));
    if (dtype == DType::float16 || dtype == DType::bfloat16) v = std::round(v * 16) / 16;
    data.push_back(static_cast<float>(v));
  }
  return input_of(dtype, shape, data, role);
}
int Maker::input_of(DType dtype, const Extents& shape, const std::vector<double>& data, Role role) {
  Statement s;
  s.op = &op("input");
  s.role = role == Role::source && (depth > 0 || dtype < DType::float16) ? Role::constant : role;
  s.dtype = dtype;
  s.shape = shape;
  s.data = data;
  round_like(dtype);
  for (double& x : s.data) x = static_cast<double>(nearest(x));
  if (reel::is_complex(dtype))
    for (std::size_t i = 0; i < data.size(); ++i) s.imaginary.push_back(static_cast<float>(uniform(-1.5, 1.5)));
  if (role != Role::parameter && chance(0.25)) s.layout = static_cast<Layout>(below(4));
  if (s.role == Role::source) source_elements += static_cast<int>(elements(shape)) * (reel::is_complex(dtype) ? 2 : 1);
  return add(std::move(s)) ? static_cast<int>(values_.size()) - 1 : -1;
}
int Maker::integers(const Extents& shape, std::int64_t low, std::int64_t high) {
  std::vector<double> data;
  for (std::int64_t i = 0; i < elements(shape); ++i) data.push_back(static_cast<double>(between(low, high)));
  const DType d = low == 0 && high == 1 && chance(0.8) ? DType::boolean : chance(0.7) ? DType::int64 : DType::int32;
  return input_of(d, shape, data);
}

bool Maker::add(Statement s) {
  const std::size_t before = values_.size();
  s.first = static_cast<int>(before);
  try {
    if (s.role == Role::none)
      evaluate(s, values_);
    else
      values_.push_back(array_of(s));
    bool good = true;
    for (std::size_t i = before; i < values_.size(); ++i) good = good && tame(values_[i], std::max(limit, 40));
    if (good) {
      s.results = static_cast<int>(values_.size() - before);
      p_.statements.push_back(std::move(s));
      return true;
    }
  } catch (const Ambiguous&) {
  } catch (const Unfit&) {
  }
  values_.resize(before);
  return false;
}

int Maker::emit(const std::string& name, const std::vector<Arg>& args, const std::vector<std::int64_t>& ints,
                const std::vector<double>& reals) {
  Statement s;
  s.op = &op(name);
  s.args = args;
  s.ints = ints;
  s.reals = reals;
  const int first = static_cast<int>(values_.size());
  return add(std::move(s)) ? first : -1;
}

// Maps a value into an interval: by abs and an offset, or by the sigmoid.
int Maker::within(int x, double low, double high) {
  const auto inside = [&](int k) {
    for (const Num& n : at(k).data)
      if (static_cast<double>(n.re.v[0]) < low || static_cast<double>(n.re.v[0]) > high) return false;
    return true;
  };
  if (x < 0 || inside(x)) return x;
  if (!is_real_floating(at(x).dtype)) return -1;
  if (high > 1e8) {
    const int a = emit(chance(0.7) ? "square" : "abs", {arg(x)});
    return a < 0 ? -1 : emit("add", {arg(a), weak(low < 0 ? 0.25 : low + 0.25)});
  }
  if (low < -1e8) {
    const int a = emit("abs", {arg(x)});
    const int b = a < 0 ? -1 : emit("negative", {arg(a)});
    return b < 0 ? -1 : emit("add", {arg(b), weak(high)});
  }
  const int a = emit(chance(0.5) ? "sin" : "tanh", {arg(x)});
  const int b = a < 0 ? -1 : emit("multiply", {arg(a), weak((high - low) / 2 * 0.9375)});
  return b < 0 ? -1 : emit("add", {arg(b), weak((high + low) / 2)});
}

bool Maker::try_random(bool body) {
  static const auto sums = [](bool only_bodies) {
    std::vector<double> total;
    double sum = 0;
    for (const Op& o : ops()) total.push_back(sum += only_bodies && !o.body ? 0 : o.weight);
    return total;
  };
  static const std::vector<double> all = sums(false), bodies = sums(true);
  const std::vector<double>& total = body ? bodies : all;
  const double r = uniform(0, total.back());
  std::size_t k = 0;
  while (total[k] <= r) ++k;
  const std::size_t statements = p_.statements.size(), values = values_.size();
  const int counted = source_elements;
  Statement s;
  s.op = &ops()[k];
  for (const std::string& name : excluded)
    if (s.op->name == name) return false;
  bool made = false;
  try {
    made = s.op->make(*this, s) && add(std::move(s));
  } catch (const Unfit&) {
  } catch (const Ambiguous&) {
  }
  if (!made) {
    p_.statements.resize(statements);
    values_.resize(values);
    source_elements = counted;
  }
  return made;
}

// The last use of a value may pass it as an rvalue, if nothing else reads it.
static void move_last_uses(Program& p, Maker& m) {
  std::vector<Arg*> last(static_cast<std::size_t>(p.values()));
  for (Statement& s : p.statements)
    for (Arg& a : s.args)
      if (a.kind == Arg::value) {
        Arg*& l = last[static_cast<std::size_t>(a.index)];
        // A value that occurs twice in one statement is not moved.
        bool twice = false;
        for (const Arg& b : s.args) twice = twice || (&b != &a && b.kind == Arg::value && b.index == a.index);
        l = twice ? nullptr : &a;
      }
  for (const int o : p.outputs) last[static_cast<std::size_t>(o)] = nullptr;
  for (Arg* a : last)
    if (a && m.chance(0.4)) a->moved = true;
}

Program random_program(std::uint64_t seed) {
  Random random(seed * 0x9e3779b97f4a7c15u + 1);
  Jet::count = 1;
  for (int attempt = 0; attempt < 100; ++attempt) {
    Program p;
    Maker m(random, p);
    m.kinks = m.chance(0.3);
    m.complex = m.chance(0.15);
    m.halves = m.chance(0.06);
    m.main = m.chance(0.7) ? DType::float64 : DType::float32;
    complex_numbers = m.complex;
    const int n = m.below(3) + 1;
    for (int i = 0; i < n; ++i) {
      DType d = m.floating_dtype();
      if (m.complex && m.chance(0.5)) d = d == DType::float32 ? DType::complex64 : DType::complex128;
      if (m.input(Role::source, d, m.random_shape(0, 4)) < 0) break;
    }
    const int wanted = static_cast<int>(p.statements.size()) + 1 + m.below(10);
    for (int tries = 0; tries < 200 && static_cast<int>(p.statements.size()) < wanted; ++tries) m.try_random(false);
    // Outputs: floating values that statements made, the last one among them.
    std::vector<int> made;
    const std::vector<bool> depends = dependent(p);
    const bool any = m.chance(0.05);
    for (const Statement& s : p.statements)
      if (s.role == Role::none)
        for (int k = s.first; k < s.first + s.results; ++k)
          if (depends[static_cast<std::size_t>(k)] || (any && reel::is_differentiable(m.at(k).dtype)))
            made.push_back(k);
    if (made.empty() || m.source_elements == 0) continue;
    p.outputs.push_back(made.back());
    while (m.chance(0.4)) p.outputs.push_back(m.choose(made));
    move_last_uses(p, m);
    return p;
  }
  return {};
}

}  // namespace random_programs
