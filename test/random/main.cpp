// Random programs against an interpreter: random_programs [--seed S] [--count N] [--minutes M] [--shrink] [--only SEED]
// [--without OP] [--special] [--c FOLDER].
// Each program has a seed of its own, which is printed when it fails; --only runs that one. The run fails if a program
// differs, or if an op of the table in samples/README.md or a mode never occurred. --c writes the programs as C
// instead, with mains that compare, until there are as many as --count: test/codegen/compile runs them.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include "check/generated_c.hpp"
#include "check/modes.hpp"

using namespace random_programs;

namespace {

std::uint64_t current = 0;
void crashed(int signal) {
  char text[128];
  const int n =
      std::snprintf(text, sizeof text, "\nseed %llu: signal %d\n", static_cast<unsigned long long>(current), signal);
  if (write(1, text, static_cast<std::size_t>(n)) < 0) _exit(4);
  _exit(3);
}

struct Settings {
  std::uint64_t seed = 1, only = 0;
  std::int64_t count = 400;
  double minutes = 0;
  bool shrink = false, coverage = false, special = false;
  int failures = 10;   ///< the run ends after so many
  std::string folder;  ///< for programs as C
};
Settings parse(int argc, char** argv) {
  Settings s;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    const auto next = [&] { return ++i < argc ? argv[i] : throw std::runtime_error(a + " needs a number"); };
    if (a == "--seed")
      s.seed = std::strtoull(next(), nullptr, 0);
    else if (a == "--count")
      s.count = std::atoll(next());
    else if (a == "--minutes")
      s.minutes = std::atof(next()), s.count = INT64_MAX;
    else if (a == "--only")
      s.only = std::strtoull(next(), nullptr, 0);
    else if (a == "--failures")
      s.failures = std::atoi(next());
    else if (a == "--coverage")
      s.coverage = true;
    else if (a == "--c")
      s.folder = next();
    else if (a == "--without")
      excluded.push_back(next());
    else if (a == "--shrink")
      s.shrink = true;
    else if (a == "--special")
      s.special = true;
    else
      throw std::runtime_error("unknown argument " + a);
  }
  return s;
}

// Runs a program in a process of its own, so that a crash is an outcome too. Returns 0 if it passed, otherwise what
// went wrong.
int outcome_apart(const Program& p, const Plan& plan) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL), std::signal(SIGABRT, SIG_DFL), std::signal(SIGFPE, SIG_DFL);
    const Outcome o = check(p, plan);
    _exit(o.kind == Outcome::differs ? 1 : o.kind == Outcome::threw ? 2 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

void report(std::uint64_t seed, Program p, Plan plan, const std::string& message, bool smaller) {
  std::printf("seed %llu: %s\n%s\n", static_cast<unsigned long long>(seed), text_of(plan).c_str(), message.c_str());
  if (smaller) {
    const int how = outcome_apart(p, plan);
    shrink(p, plan, [how](const Program& q, const Plan& r) { return outcome_apart(q, r) == how; });
    std::printf("shrunk: %s\n", text_of(plan).c_str());
    if (how < 100) std::printf("%s\n", check(p, plan).message.c_str());
  }
  std::printf("%s\n", text_of(p, "  ").c_str());
  std::fflush(stdout);
}

// The ops of the table in samples/README.md that have not occurred, and those here that it does not list, such as
// solvers.
std::vector<std::string> missing_ops(const std::vector<std::int64_t>& counts) {
  std::ifstream file(REEL_SOURCE_ROOT "/samples/README.md");
  std::string line;
  bool table = false;
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] == 0) missing.push_back(ops()[i].name);
  while (std::getline(file, line)) {
    if (line.find("op table: begin") != std::string::npos) table = true;
    if (table && line.find("op table: end") != std::string::npos) return missing;
    if (!table || line.rfind("| ", 0) != 0 || line.rfind("| family", 0) == 0) continue;
    std::istringstream words(line.substr(line.find('|', 2) + 1));
    for (std::string word; words >> word;) {
      while (!word.empty() && std::strchr("*'|", word.back())) word.pop_back();
      if (word.empty()) continue;
      bool found = false;
      for (std::size_t i = 0; i < counts.size(); ++i) found = found || (ops()[i].name == word && counts[i] > 0);
      if (!found) missing.push_back(word);
    }
  }
  return {"samples/README.md has no op table"};
}

bool uses_one_of(const std::set<std::string>& names, const Program& p) {
  return std::ranges::any_of(p.statements, [&](const Statement& s) {
    return names.contains(s.op->name) ||
           std::ranges::any_of(s.bodies, [&](const Program& body) { return uses_one_of(names, body); });
  });
}

// What --coverage adds to the first `count` programs: of those that follow, at most a hundred times as many, the ones
// with an op that has not occurred yet.
class Coverage {
 public:
  Coverage(const Settings& settings, const std::vector<std::int64_t>& counts) : settings_(settings), counts_(counts) {}
  bool wants_more(std::int64_t programs) {
    if (programs < settings_.count) return true;
    if (!settings_.coverage || programs >= 100 * settings_.count) return false;
    if (const std::int64_t all = std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0}); all != counted_) {
      const std::vector<std::string> names = missing_ops(counts_);
      missing_ = {names.begin(), names.end()};
      counted_ = all;
    }
    return !missing_.empty();
  }
  bool has_use_of(const Program& p, std::int64_t programs) const {
    return programs < settings_.count || uses_one_of(missing_, p);
  }

 private:
  const Settings& settings_;
  const std::vector<std::int64_t>& counts_;
  std::set<std::string> missing_;
  std::int64_t counted_ = -1;
};

// Ops without a form in C are left out of later programs.
int write_programs(const Settings& settings) {
  std::int64_t written = 0, drawn = 0, loops = 0;
  std::map<std::string, int> refusals;
  for (; written < settings.count && drawn < 200 * settings.count; ++drawn) {
    current = settings.seed * 1000003 + static_cast<std::uint64_t>(drawn);
    const Program p = random_program(current);
    const bool has_loops = std::ranges::any_of(p.statements, [](const Statement& s) { return !s.bodies.empty(); });
    if (!has_loops && written % 2 == 0) continue;
    std::string refused, name = std::to_string(current);
    name.insert(0, "random_");
    if (write_as_c(p, settings.folder, name, refused)) {
      ++written;
      loops += has_loops;
    }
    if (refused.empty()) continue;
    const std::size_t begin = refused.find(": ");
    ++refusals[begin == std::string::npos ? refused
                                          : refused.substr(begin + 2, refused.find(' ', begin + 2) - begin - 2)];
  }
  std::printf(
      "seed %llu: %lld programs as C, %lld of them with loops, branches or checkpoints, of %lld drawn; refused:",
      static_cast<unsigned long long>(settings.seed), static_cast<long long>(written), static_cast<long long>(loops),
      static_cast<long long>(drawn));
  for (const auto& [name, n] : refusals) std::printf(" %s %d", name.c_str(), n);
  std::printf("\n");
  return written < settings.count;
}

int run(const Settings& settings) {
  if (!settings.folder.empty()) return write_programs(settings);
  const auto began = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(); };
  std::vector<std::int64_t> counts(ops().size());
  std::int64_t programs = 0, skipped = 0;
  int failed = 0;
  if (!settings.only) std::printf("seed %llu\n", static_cast<unsigned long long>(settings.seed));
  Coverage coverage(settings, counts);
  for (; coverage.wants_more(programs) && (settings.minutes <= 0 || seconds() < 60 * settings.minutes) &&
         failed < settings.failures;
       ++programs) {
    current = settings.only ? settings.only : settings.seed * 1000003 + static_cast<std::uint64_t>(programs);
    Program p = random_program(current);
    if (!coverage.has_use_of(p, programs)) continue;
    Plan plan = random_plan(p, current);
    if (plan.special = settings.special; plan.special) make_operands_special(p, current);
    if (settings.only) std::printf("%s\n%s", text_of(plan).c_str(), text_of(p, "  ").c_str()), std::fflush(stdout);
    if (settings.only && settings.shrink && outcome_apart(p, plan) >= 100) {
      report(current, p, plan, "crashes", true);
      return 1;
    }
    const Outcome o = check(p, plan);
    if (o.kind == Outcome::skipped)
      ++skipped;
    else
      count_ops(p, counts);
    if (o.kind == Outcome::differs || o.kind == Outcome::threw) {
      ++failed;
      report(current, p, plan, o.message, settings.shrink);
    }
    if (settings.only) return failed != 0;
    if (programs % 10000 == 9999) {
      std::printf("%lld programs after %.0f s\n", static_cast<long long>(programs + 1), seconds());
      std::fflush(stdout);
    }
  }
  std::printf("%lld programs in %.1f s, %lld skipped, %d failed\n", static_cast<long long>(programs), seconds(),
              static_cast<long long>(skipped), failed);
  for (const auto& [mode, n] : mode_counts()) std::printf("  %-24s %lld\n", mode.c_str(), static_cast<long long>(n));
  for (std::size_t i = 0; i < counts.size(); ++i)
    std::printf("%s%s %lld", i % 8 ? ", " : "\n  ", ops()[i].name.c_str(), static_cast<long long>(counts[i]));
  std::printf("\n");
  const std::vector<std::string> missing = missing_ops(counts);
  for (const std::string& name : missing)
    if (settings.coverage) std::printf("never occurred: %s\n", name.c_str());
  return failed || (settings.coverage && !missing.empty());
}

}  // namespace

int main(int argc, char** argv) {
  for (const int s : {SIGSEGV, SIGABRT, SIGFPE, SIGILL}) std::signal(s, crashed);
  reel::set_warning_handler([](std::string_view, void*) {}, nullptr);
  return run(parse(argc, argv));
}
