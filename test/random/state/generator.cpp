// Random programs and plans.
#include <algorithm>
#include <random>

#include "program.hpp"

namespace random_state {

const char* name_of(Kind kind) {
  static const char* const names[kinds] = {"expression", "read",       "assign",      "draw",        "gather", "tape",
                                           "step",       "while",      "fori_tensor", "fori_number", "scan",   "cond",
                                           "switch",     "checkpoint", "custom",      "compiled",    "repeat"};
  return names[static_cast<int>(kind)];
}

bool Without::has(const std::string& word) const { return std::find(words.begin(), words.end(), word) != words.end(); }

namespace {

// What a statement may do where it stands.
struct Place {
  int depth = 0;
  bool body = false;                  ///< in a body that is run again
  bool tape = false;                  ///< within a tape or a function that is derived
  bool piece = false;                 ///< in a compiled function of its own
  unsigned reads = 15, assigns = 15;  ///< variables, as bits
};

class Generate {
 public:
  Generate(std::uint64_t seed, const Without& without) : random_(seed * 2654435761u + 12345), without_(without) {}

  Program program(std::uint64_t seed) {
    Program p;
    p.seed = seed;
    p.n = 2 + below(2);
    p.arguments = 1 + below(3);
    p.twice = p.arguments > 1 && below(5) == 0;
    value_only_ = below(7) == 0;
    std::vector<int> scope;
    for (int i = 0; i < p.arguments; ++i) scope.push_back(i);
    if (below(2)) scope.push_back(captured);
    for (int i = 0; i < p.arguments; ++i) p.body.parameters.push_back(i);
    fill(p.body, scope, Place{}, 3 + below(6), 1 + below(3));
    return p;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  // Later values are likelier.
  int pick(const std::vector<int>& scope) {
    const int size = static_cast<int>(scope.size());
    return scope[static_cast<std::size_t>(std::max(below(size), below(size)))];
  }
  int variable(unsigned allowed, bool with_table = false) {
    std::vector<int> list;
    for (int i = 0; i < (with_table ? 4 : 3); ++i)
      if (allowed >> i & 1) list.push_back(i);
    return list.empty() ? -1 : list[static_cast<std::size_t>(below(static_cast<int>(list.size())))];
  }

  void fill(Block& b, std::vector<int> scope, const Place& at, int count, int results) {
    for (int i = 0; i < count; ++i) {
      Statement s = statement(scope, at);
      scope.push_back(s.id);
      b.statements.push_back(std::move(s));
    }
    for (int i = 0; i < results; ++i) {
      if (!at.depth) {
        b.results.push_back(i ? pick(scope) : scope.back());
        continue;
      }
      Statement s = basic(Kind::expression, scope);
      s.style = 3 + below(2);
      s.in[0] = i ? pick(scope) : scope.back();
      b.results.push_back(s.id);
      scope.push_back(s.id);
      b.statements.push_back(std::move(s));
    }
  }
  Block block(const std::vector<int>& outer, Place at, int parameters, int results) {
    Block b;
    std::vector<int> scope = outer;
    for (int i = 0; i < parameters; ++i) {
      b.parameters.push_back(next_++);
      scope.push_back(b.parameters.back());
    }
    ++at.depth;
    fill(b, scope, at, 1 + below(at.depth > 2 ? 2 : 3), results);
    return b;
  }
  // The place in a body that may run again. A variable is read there or assigned, not both.
  Place in_body(Place at) {
    const bool first = !at.body;
    at.body = true;
    if (at.tape || without_.has("assign_in_body"))
      at.assigns = 0;
    else if (first && !value_only_) {
      at.assigns = static_cast<unsigned>(below(16)) & static_cast<unsigned>(below(16));
      at.reads = ~at.assigns & 15;
    }
    return at;
  }

  Statement basic(Kind kind, const std::vector<int>& scope) {
    Statement s;
    s.kind = kind;
    s.id = next_++;
    s.in = {pick(scope), pick(scope)};
    if (kind == Kind::expression) s.style = below(15);
    return s;
  }

  Kind kind(const Place& at) {
    while (true) {
      const int r = below(100);
      Kind k = Kind::expression;
      if (r >= 26) k = Kind::read;
      if (r >= 38) k = Kind::assign;
      if (r >= 42) k = Kind::draw;
      if (r >= 45) k = Kind::gather;
      if (r >= 48) k = Kind::tape;
      if (r >= 54) k = Kind::step;
      if (r >= 58) k = static_cast<Kind>(static_cast<int>(Kind::while_loop) + (r - 58) * 10 / 42);
      if (without_.has(name_of(k))) continue;
      if (at.depth >= 3 && k >= Kind::while_loop && k != Kind::custom) continue;
      if (at.depth >= 3 && (k == Kind::tape || k == Kind::step)) continue;
      if ((k == Kind::read || k == Kind::gather) && !(k == Kind::gather ? at.reads & 8 : at.reads & 7)) continue;
      if (k == Kind::assign && !at.assigns) continue;
      if (k == Kind::draw && at.piece) continue;
      if (k == Kind::compiled && at.reads == 0) continue;
      if (k == Kind::step && at.body && !value_only_) continue;
      if (k == Kind::step && (at.tape || (at.reads & 3) != 3 || (at.assigns & 3) != 3)) continue;
      return k;
    }
  }

  Statement statement(const std::vector<int>& scope, const Place& at) {
    const Kind k = kind(at);
    Statement s = basic(k, scope);
    switch (k) {
      case Kind::expression:
        break;
      case Kind::read:
        s.variables = {variable(at.reads)};
        s.style = below(2);
        break;
      case Kind::assign:
        s.variables = {variable(at.assigns, true)};
        s.style = below(3);
        break;
      case Kind::draw:
        s.style = below(2);
        break;
      case Kind::gather:
        s.style = below(2);
        break;
      case Kind::tape:
        tape(s, scope, at);
        break;
      case Kind::step:
        step(s, scope, at);
        break;
      default:
        control(s, scope, at);
    }
    return s;
  }
  void tape(Statement& s, const std::vector<int>& scope, Place at) {
    s.style = below(11);
    s.trips = at.body || at.piece;
    at.tape = true;
    if (at.body) at.assigns = 0;
    if (s.style == 0 && (at.reads & 11)) {
      s.variables = {variable(at.reads & 3)};
      if (s.variables[0] < 0) s.variables.clear();
    }
    if (s.style > 5) at = in_body(at);
    s.blocks = {block(scope, at, 1, 1)};
  }
  void step(Statement& s, const std::vector<int>& scope, Place at) {
    s.style = below(7) + 8 * below(4);
    s.variables = {0, 1};
    if ((at.reads & at.assigns & 8) && below(2)) s.variables.push_back(table);
    at.tape = true;
    s.blocks = {block(scope, at, 1, 1)};
  }
  void control(Statement& s, const std::vector<int>& scope, Place at) {
    const Kind k = s.kind;
    const Place outer = at;
    s.trips = 1 + below(4);
    if (k == Kind::custom) return custom(s, outer);
    if (k != Kind::repeat && k != Kind::compiled) at = in_body(at);
    if (k == Kind::compiled) at.piece = true;
    const bool loop = k == Kind::while_loop || k == Kind::fori_tensor || k == Kind::fori_number || k == Kind::scan;
    if (loop) {
      const std::int64_t budgets[] = {0, 0, 0, 1, 100, 400};
      s.budget = without_.has("budget") ? 0 : budgets[below(6)];
      s.compiled = k != Kind::fori_number && below(3) == 0;  // a number is read, which no trace can do
      at.piece = at.piece || s.compiled;
    }
    if (k == Kind::scan || k == Kind::cond || k == Kind::switch_case || k == Kind::checkpoint) s.style = below(2);
    if (k == Kind::while_loop) s.style = below(3) == 0;
    if (k == Kind::scan && !(at.reads & 8)) s.style = 0;
    if (k == Kind::checkpoint && below(4) == 0) s.in[1] = s.in[0];
    if (k == Kind::compiled) s.in.resize(1);
    if ((loop && k != Kind::scan) || k == Kind::repeat) s.in.resize(1 + static_cast<std::size_t>(below(2)));
    const int state = static_cast<int>(s.in.size());
    const int parameters = k == Kind::fori_tensor || k == Kind::fori_number ? state + 1 : k == Kind::scan ? 2 : state;
    const int results = k == Kind::scan ? 2 : loop || k == Kind::repeat ? state : 1;
    const int count = k == Kind::cond ? 2 : k == Kind::switch_case ? 3 : 1;
    for (int i = 0; i < count; ++i) s.blocks.push_back(block(scope, at, parameters, results));
  }
  // Rules that capture intermediates, rules without a jvp (at the top only), and rules that run a block again.
  void custom(Statement& s, Place at) {
    s.style = below(4);
    if ((s.style == 0 || s.style == 2) && without_.has("captured")) s.style = 1;
    if (s.style == 3 && at.depth >= 3) s.style = 1;
    if (s.style == 2 && (at.depth || !(at.reads & 3))) s.style = 1;
    if (s.style == 2) s.variables = {variable(at.reads & 3)};
    if (s.style != 3) return;
    at = in_body(at);
    at.tape = at.piece = true, at.reads = at.assigns = 0;
    s.blocks = {block({}, at, 1, 1)};
  }

  std::mt19937_64 random_;
  const Without& without_;
  bool value_only_ = false;
  int next_ = first_id;
};

// Whether a body reads and assigns a variable, in which case it has no derivative; whether a rule has no jvp; and
// whether there is a tape. In a compiled function arguments that are the same tensor are two tensors to a tape.
struct Contents {
  bool both = false, no_jvp = false, tape = false;
};
void collect(const Block& b, unsigned& reads, unsigned& assigns, Contents& c) {
  for (const Statement& s : b.statements) {
    unsigned r = 0, a = 0;
    for (const Block& inner : s.blocks) collect(inner, r, a, c);
    for (const int v : s.variables)
      if (v >= 0) (s.kind == Kind::assign ? a : r) |= 1u << v;
    if (s.kind == Kind::step)
      for (const int v : s.variables) a |= 1u << v;
    if (s.kind == Kind::gather || (s.kind == Kind::scan && s.style == 1)) r |= 8;
    if (s.kind == Kind::custom && s.style == 2) c.no_jvp = true;
    c.tape = c.tape || s.kind == Kind::tape || s.kind == Kind::step;
    const bool body = s.kind >= Kind::while_loop && s.kind <= Kind::custom;
    c.both = c.both || (body && (r & a));
    reads |= r, assigns |= a;
  }
}

// The order of the derivatives that a program takes itself; whether bodies gather rows, and there are loops.
struct Derivatives {
  int order = 0;
  bool gathers = false, loops = false;
};
void collect(const Block& b, bool body, Derivatives& d) {
  int order = 0;
  for (const Statement& s : b.statements) {
    Derivatives inner;
    for (const Block& part : s.blocks) collect(part, body || s.kind >= Kind::while_loop, inner);
    const bool tape = s.kind == Kind::tape;
    order = std::max(order, inner.order + (s.kind == Kind::step) + tape * (s.style == 7 ? 2 : 1));
    d.gathers |= inner.gathers || (body && s.kind == Kind::gather);
    d.loops |= inner.loops || (s.kind >= Kind::while_loop && s.kind <= Kind::scan);
  }
  d.order = std::max(d.order, order);
}

}  // namespace

Program generate(std::uint64_t seed, const Without& without) { return Generate(seed, without).program(seed); }

std::vector<Plan> plans_of(const Program& p, const Without& without) {
  std::mt19937_64 random(p.seed * 40503 + 99);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
  Contents c;
  unsigned reads = 0, assigns = 0;
  collect(p.body, reads, assigns, c);
  const char* const words[] = {"", "R", "F", "RR", "RF", "FR", "FF", "RRR", "RFR", "FRR"};
  std::vector<Plan> plans;
  for (int i = 0; i < 10; ++i) {
    Plan plan;
    const std::string word = words[i];
    const bool forward = word.find('F') != std::string::npos;
    if ((c.both && !word.empty()) || (c.no_jvp && forward)) continue;
    if (i >= 3 && below(i > 6 ? 4 : 2)) continue;  // compiling a third derivative takes as long as all others
    if ((forward && without.has("forward")) || (i > 2 && without.has("second"))) continue;
    for (const char letter : word) {
      const int masks[] = {1, 2, 1, 2, 3, 4, 7, 2};
      plan.levels.push_back({letter == 'F', masks[below(8)], below(6)});
      if (without.has("by_variables")) plan.levels.back().sources &= ~by_variables;
      if (!plan.levels.back().sources) plan.levels.back().sources = by_arguments;
    }
    const int size = static_cast<int>(word.size());
    const int way = below(8);
    const bool one_side = without.has("across");
    plan.way = way == 0 || without.has("whole") ? Way::recorded : way == 1 ? Way::parts : Way::whole;
    if (p.twice && c.tape && plan.way == Way::whole) plan.way = Way::parts;
    plan.same_zeros = without.has("zeros");
    plan.inside = plan.way == Way::whole && !p.twice ? one_side ? size * below(2) : below(size + 1) : 0;
    plan.check = plan.way == Way::whole && !without.has("check") && below(6) == 0;
    plans.push_back(plan);
  }
  return plans;
}

namespace {

bool holds(const Block& b, Kind kind) {
  return std::any_of(b.statements.begin(), b.statements.end(), [&](const Statement& s) {
    return s.kind == kind ||
           std::any_of(s.blocks.begin(), s.blocks.end(), [&](const Block& inner) { return holds(inner, kind); });
  });
}

}  // namespace

bool may_be_none(const Block& b) {
  return std::any_of(b.statements.begin(), b.statements.end(), [](const Statement& s) {
    const bool body = s.kind >= Kind::while_loop && s.kind != Kind::custom;
    return s.kind == Kind::while_loop || s.kind == Kind::fori_tensor || s.kind == Kind::cond ||
           s.kind == Kind::switch_case || s.kind == Kind::compiled ||
           std::any_of(s.blocks.begin(), s.blocks.end(),
                       [&](const Block& inner) { return may_be_none(inner) || (body && holds(inner, Kind::custom)); });
  });
}

bool has_bodies(const Block& b) {
  return std::any_of(b.statements.begin(), b.statements.end(), [](const Statement& s) {
    return (s.kind >= Kind::while_loop && s.kind != Kind::custom) ||
           std::any_of(s.blocks.begin(), s.blocks.end(), has_bodies);
  });
}

bool rounds(const Program& p, const Plan& plan) {
  if (!has_bodies(p.body)) return false;
  Derivatives d;
  collect(p.body, false, d);
  const bool jacobian =
      std::any_of(plan.levels.begin(), plan.levels.end(), [](const Level& l) { return !l.forward && l.style == 5; });
  const int order = static_cast<int>(plan.levels.size()) + d.order;
  return order > 1 || (order == 1 && (d.gathers || (d.loops && jacobian)));
}

}  // namespace random_state
