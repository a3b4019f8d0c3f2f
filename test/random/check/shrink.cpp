// Reduces a failing program for as long as it fails: fewer outputs, statements replaced by their values, operands
// replaced by other operands, a simpler plan.
#include <algorithm>

#include "modes.hpp"

namespace random_programs {

namespace {

// Removes statements whose values are unused, and renumbers the others.
void drop_dead(Program& p, Plan& plan) {
  std::vector<bool> used(static_cast<std::size_t>(p.values()));
  for (const int o : p.outputs) used[static_cast<std::size_t>(o)] = true;
  std::vector<bool> keep(p.statements.size());
  for (std::size_t i = p.statements.size(); i-- > 0;) {
    const Statement& s = p.statements[i];
    for (int k = s.first; k < s.first + s.results; ++k) keep[i] = keep[i] || used[static_cast<std::size_t>(k)];
    keep[i] = keep[i] || s.role == Role::parameter;
    if (keep[i])
      for (const Arg& a : s.args)
        if (a.kind == Arg::value) used[static_cast<std::size_t>(a.index)] = true;
  }
  std::vector<int> number(static_cast<std::size_t>(p.values()), -1);
  std::vector<Statement> left;
  int next = 0;
  for (std::size_t i = 0; i < p.statements.size(); ++i) {
    if (!keep[i]) continue;
    Statement s = p.statements[i];
    for (int k = 0; k < s.results; ++k) number[static_cast<std::size_t>(s.first + k)] = next + k;
    s.first = next;
    next += s.results;
    for (Arg& a : s.args)
      if (a.kind == Arg::value) a.index = number[static_cast<std::size_t>(a.index)];
    left.push_back(std::move(s));
  }
  const auto renumber = [&](int& k) {
    if (k >= 0) k = number[static_cast<std::size_t>(k)];
  };
  for (int& o : p.outputs) renumber(o);
  renumber(plan.tap), renumber(plan.cut);
  p.statements = std::move(left);
}

// Statement i becomes an input with the values that it has.
bool make_input(Program& p, std::size_t i, Role role) {
  Statement& s = p.statements[i];
  if (s.role != Role::none || s.results != 1) return false;
  std::vector<Array> x;
  for (const Statement* in : p.inputs(Role::source)) x.push_back(array_of(*in));
  Arrays values;
  try {
    Jet::count = 1;
    interpret(p, x, values);
  } catch (...) {
    return false;
  }
  const Array& v = values[static_cast<std::size_t>(s.first)];
  Statement input;
  input.op = &op("input");
  input.role = reel::is_differentiable(v.dtype) ? role : Role::constant;
  input.first = s.first;
  input.dtype = v.dtype, input.shape = v.shape;
  for (const Num& n : v.data) {
    const auto rounded = [&](const Jet& j) {
      const double d = static_cast<double>(j.v[0]);
      if (v.dtype == DType::float16 || v.dtype == DType::bfloat16) return std::round(d * 8) / 8;
      return static_cast<double>(static_cast<float>(d));
    };
    input.data.push_back(rounded(n.re));
    if (reel::is_complex(v.dtype)) input.imaginary.push_back(rounded(n.im));
  }
  s = std::move(input);
  return true;
}

}  // namespace

void shrink(Program& p, Plan& plan, const std::function<bool(const Program&, const Plan&)>& fails) {
  const auto accept = [&](Program q, Plan r) {
    drop_dead(q, r);
    if (q.outputs.empty() || q.inputs(Role::source).empty() || !fails(q, r)) return false;
    p = std::move(q), plan = std::move(r);
    return true;
  };
  accept(p, plan);
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (std::size_t i = 0; i < p.outputs.size() && p.outputs.size() > 1; ++i) {
      Program q = p;
      q.outputs.erase(q.outputs.begin() + static_cast<std::ptrdiff_t>(i));
      if (accept(q, plan)) smaller = true, --i;
    }
    for (std::size_t i = p.statements.size(); i-- > 0;) {
      if (i >= p.statements.size()) continue;
      for (const Role role : {Role::constant, Role::source}) {
        Program q = p;
        if (make_input(q, i, role) && accept(q, plan)) {
          smaller = true;
          break;
        }
      }
    }
    for (std::size_t i = p.statements.size(); i-- > 0;) {
      if (i >= p.statements.size()) continue;
      Statement& s = p.statements[i];
      if (s.role == Role::source) {
        Program q = p;
        q.statements[i].role = Role::constant;
        if (accept(q, plan)) smaller = true;
      } else if (s.role == Role::none && s.results == 1) {  // its first operands in its place
        for (std::size_t a = 0; a < p.statements[i].args.size(); ++a) {
          const Arg operand = p.statements[i].args[a];
          if (operand.kind != Arg::value) continue;
          Program q = p;
          const int from = q.statements[i].first;
          for (Statement& t : q.statements)
            for (Arg& b : t.args)
              if (b.kind == Arg::value && b.index == from) b.index = operand.index, b.moved = false;
          for (int& o : q.outputs)
            if (o == from) o = operand.index;
          for (Statement& t : q.statements)
            for (Arg& b : t.args) b.moved = b.moved && b.index != operand.index;
          if (accept(q, plan)) {
            smaller = true;
            break;
          }
        }
      }
    }
    for (std::size_t i = 0; i < p.statements.size(); ++i) {
      Program q = p;
      bool changed = false;
      q.statements[i].layout = Layout::contiguous;
      changed = p.statements[i].layout != Layout::contiguous;
      for (Arg& a : q.statements[i].args) changed = changed || a.moved, a.moved = false;
      if (changed && accept(q, plan)) smaller = true;
    }
    for (std::size_t k = 0; k < plan.word.size() && plan.word.size() > 1; ++k) {
      Plan r = plan;
      r.word.erase(k, 1);
      if (accept(p, r)) smaller = true;
    }
    for (const Plan& r : {[&] {
                            Plan a = plan;
                            a.anomaly = false;
                            return a;
                          }(),
                          [&] {
                            Plan a = plan;
                            a.style = 0;
                            return a;
                          }(),
                          [&] {
                            Plan a = plan;
                            a.style = 0x0505050505;
                            return a;
                          }()})
      if ((plan.anomaly && !r.anomaly) || (plan.style != r.style && plan.style != 0x0505050505 && plan.style != 0)) {
        if (accept(p, r)) smaller = true;
      }
  }
}

}  // namespace random_programs
