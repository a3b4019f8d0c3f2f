// Random programs with state: random_state [--seed S] [--count N] [--minutes M] [--only SEED] [--plan K] [--text]
// [--shrink] [--distinct] [--failures N] [--without WORD] [--native]. Each program runs in a process of its own, so
// that a crash is an outcome too. --only runs one program, and --text prints it; --shrink prints the smallest program
// that fails alike, --distinct one for each kind of failure. --without leaves out a kind of statement by its name, or
// one of:
//   captured        rules of custom_gradient that capture intermediate values
//   assign_in_body  assignments in bodies that derivatives run again
//   budget          memory budgets
//   whole, across   compiled functions; derivatives of which a part is inside of the compiled function
//   check           CompileOptions::check
//   by_variables, forward, second   derivatives by variables, in forward mode, of second and third order
//   zeros           differences between 0 and -0
// --native compiles with CompileOptions::native; values are then compared to rounding.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <reel/runtime.hpp>
#include <stdexcept>

#include "program.hpp"

using namespace random_state;

namespace {

struct Settings {
  std::uint64_t seed = 1, only = 0;
  std::int64_t count = 150;
  double minutes = 0;
  bool shrink = false, distinct = false, text = false, native = false;
  int failures = 10, plan = -1;
  Without without;
};
Settings parse(int argc, char** argv) {
  Settings s;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    const auto next = [&] { return ++i < argc ? argv[i] : throw std::runtime_error(a + " needs a value"); };
    if (a == "--seed")
      s.seed = std::strtoull(next(), nullptr, 0);
    else if (a == "--count")
      s.count = std::atoll(next());
    else if (a == "--minutes")
      s.minutes = std::atof(next()), s.count = INT64_MAX;
    else if (a == "--only")
      s.only = std::strtoull(next(), nullptr, 0);
    else if (a == "--plan")
      s.plan = std::atoi(next());
    else if (a == "--failures")
      s.failures = std::atoi(next());
    else if (a == "--native")
      s.native = true;
    else if (a == "--without")
      s.without.words.push_back(next());
    else if (a == "--shrink")
      s.shrink = true;
    else if (a == "--distinct")
      s.shrink = s.distinct = true;
    else if (a == "--text")
      s.text = true;
    else
      throw std::runtime_error("unknown argument " + a);
  }
  return s;
}

// Shared with the children: the plan that runs, and what it found.
struct Shared {
  int plan;
  char text[4000];
};
Shared* shared = nullptr;

// The outcomes of plans from `first` on, until one fails: "" or what was found.
std::string apart(const Program& p, const std::vector<Plan>& plans, std::size_t& first) {
  std::fflush(stdout);
  shared->plan = static_cast<int>(first);
  shared->text[0] = 0;
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{30, 30};  // seconds of this process
    setrlimit(RLIMIT_CPU, &limit);
    reel::set_num_threads(1);
    if (!std::freopen("/dev/null", "w", stderr)) _exit(4);
    for (std::size_t k = first; k < plans.size(); ++k) {
      shared->plan = static_cast<int>(k);
      const std::string found = check(p, plans[k]);
      std::snprintf(shared->text, sizeof shared->text, "%s", found.c_str());
      if (!found.empty()) _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  first = static_cast<std::size_t>(shared->plan);
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status)) + ":";
  if (WEXITSTATUS(status) > 1) return "exit " + std::to_string(WEXITSTATUS(status)) + ":";
  return shared->text;
}
std::string apart(const Program& p, const Plan& plan) {
  std::size_t first = 0;
  return apart(p, {plan}, first);
}
std::string category(const std::string& found) { return found.substr(0, found.find(':')); }

// Takes the first simpler program that fails in the same way, until there is none.
void shrink(Program& p, Plan& plan, const std::string& how) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (Candidate& c : simpler(p, plan)) {
      if (category(apart(c.program, c.plan)) != how) continue;
      p = std::move(c.program);
      plan = std::move(c.plan);
      smaller = true;
      break;
    }
  }
}

// The kinds of the statements, without expressions: failures that shrink to the same ones are alike.
std::string kinds_of(const Block& b) {
  std::string text;
  for (const Statement& s : b.statements) {
    if (s.kind == Kind::expression) continue;
    text += std::string(" ") + name_of(s.kind);
    for (const Block& inner : s.blocks) text += "(" + kinds_of(inner) + ")";
  }
  return text;
}

class Run {
 public:
  explicit Run(const Settings& s) : s_(s) {}
  void one(std::uint64_t seed) {
    const Program p = generate(seed, s_.without);
    std::vector<Plan> plans = plans_of(p, s_.without);
    for (Plan& plan : plans) plan.native = s_.native && plan.way == Way::whole;
    if (s_.plan >= 0) plans = {plans.at(static_cast<std::size_t>(s_.plan))};
    if (s_.text) std::printf("%s\n", text_of(p, plans.back()).c_str());
    ++programs_;
    for (std::size_t k = 0; k < plans.size(); ++k) {
      const std::size_t from = k;
      const std::string found = apart(p, plans, k);
      runs_ += static_cast<std::int64_t>(k - from) + 1;
      if (found.empty()) return;
      if (category(found).starts_with("refused"))
        ++refused_[found];
      else
        report(p, plans[k], s_.plan >= 0 ? s_.plan : static_cast<int>(k), found);
    }
  }
  bool failed() const { return failures_ >= s_.failures; }
  int end() const {
    for (const auto& [text, count] : refused_) std::printf("refused %d: %s\n", count, text.c_str());
    for (const auto& [text, count] : categories_) std::printf("failed %d: %s\n", count, text.c_str());
    std::printf("%lld programs, %lld plans, %d failures\n", static_cast<long long>(programs_),
                static_cast<long long>(runs_), failures_);
    return failures_ > 0;
  }

 private:
  void report(Program p, Plan plan, int number, const std::string& found) {
    ++failures_;
    const std::string how = category(found);
    if (categories_[how]++ && s_.only == 0 && !s_.shrink) return;
    if (s_.distinct) {
      shrink(p, plan, how);
      if (kinds_[how + kinds_of(p.body)]++) return;
    }
    std::printf("==== seed %llu, plan %d: %s\n%s\n", static_cast<unsigned long long>(p.seed), number,
                text_of(plan).c_str(), found.c_str());
    if (s_.shrink) {
      if (!s_.distinct) shrink(p, plan, how);
      std::printf("shrunk: %s\n%s\n", text_of(plan).c_str(), apart(p, plan).c_str());
    }
    std::printf("%s\n", text_of(p, plan).c_str());
    std::fflush(stdout);
  }
  const Settings& s_;
  std::map<std::string, int> refused_, categories_, kinds_;
  std::int64_t programs_ = 0, runs_ = 0;
  int failures_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const Settings s = parse(argc, argv);
  shared =
      static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const auto begin = std::chrono::steady_clock::now();
  const auto minutes = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / 60;
  };
  Run run(s);
  if (s.only) {
    run.one(s.only);
  } else {
    std::printf("seed %llu\n", static_cast<unsigned long long>(s.seed));
    for (std::int64_t i = 0; i < s.count && !run.failed() && (s.minutes == 0 || minutes() < s.minutes); ++i)
      run.one(s.seed + static_cast<std::uint64_t>(i));
  }
  return run.end();
}
