// The protocol of all benchmark programs, ours and the peers', so that bench/driver can run two of them in alternation.
// A program reads lines from standard input and answers each with a line of JSON on standard output:
//   list              {"cases": [{"name", "unit_count", ...}], "about": {...}}
//   operands LO HI .. ranges from which the next cases' operands are drawn (those that draw)
//   run NAME SECONDS  {"ns": of one run, "check": a checksum of its result}: runs for at least that long
//   memory NAME       {"bytes": the peak of ten runs above what the process held before the case}
// NAME may hold spaces. A failure is answered with {"error": "..."}. Only the standard library is used.
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// Measurements beside the time, by name.
using Extra = std::map<std::string, double>;

/// A case that is set up. `run` is what is timed, `check` runs it once and gives the checksum of its result.
struct Body {
  std::function<void()> run;
  std::function<double()> check = nullptr;
  std::function<Extra()> extra = nullptr;  // called after the first run
};

struct Case {
  std::string name;
  std::function<Body()> make;
  double unit_count = 1;      // number of ops, entries or elements in a run; 1: the run is the unit
  const char* unit = "run";   // the name of the unit
  double bytes = 0;           // read and written by a run, for GB/s; 0: unknown
  double flops = 0;           // of a run, for GFLOP/s; 0: unknown
  double tolerance = 1e-3;    // by which checksums of two programs may differ, relatively; 0: they are not compared
  std::string operands = {};  // "lo hi lo hi": the ranges from which operands are drawn, for the peer
};

/// Values drawn uniformly from [low, high), the same in every program.
template <class T>
std::vector<T> uniform(std::int64_t n, double low, double high, std::uint64_t seed) {
  std::vector<T> values(static_cast<std::size_t>(n));
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (T& v : values) {
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;  // splitmix64
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    v = static_cast<T>(low + (high - low) * static_cast<double>(z >> 11) * 0x1p-53);
  }
  return values;
}

/// The lengths of Fourier transforms: powers of 2, products of small primes, primes.
inline constexpr std::int64_t transform_lengths[] = {512,    1024,   2048,    4096,   8192, 16384, 32768, 65536, 131072,
                                                     262144, 524288, 1048576, 1000,   1536, 3125,  5040,  10000, 15360,
                                                     46656,  100000, 177147,  362880, 1009, 10007, 65537};
inline std::string transform_name(std::int64_t n) { return "fft of " + std::to_string(n) + ", complex128"; }

/// Sums a result with weights, so that a wrong sign or a wrong order changes the sum, and nothing cancels.
class Checksum {
 public:
  template <class T>
  void add(const T* values, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const double v = static_cast<double>(values[i]);
      sum_ += (v + 2 * std::abs(v)) * (1 + static_cast<double>(count_++ % 7) / 8);
    }
  }
  double value() const { return sum_; }

 private:
  double sum_ = 0;
  std::int64_t count_ = 0;
};

/// The ranges of the last `operands` line, or those given.
inline std::vector<double>& operand_ranges() {
  static std::vector<double> ranges;
  return ranges;
}

class Program {
 public:
  void add(Case c) { cases_.push_back(std::move(c)); }
  void add(std::vector<Case> cases) {
    for (Case& c : cases) add(std::move(c));
  }

  /// A fact about the program, for the report.
  void about(const std::string& key, const std::string& value) { about_[key] = value; }

  int serve() {
    std::string line;
    while (std::getline(std::cin, line)) {
      std::string answer;
      try {
        answer = reply(line);
      } catch (const std::exception& e) {
        answer = "{\"error\": " + quoted(e.what()) + "}";
      }
      std::puts(answer.c_str());
      std::fflush(stdout);
    }
    return 0;
  }

 private:
  using Clock = std::chrono::steady_clock;

  static std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c == '\n' ? ' ' : c;
    }
    return out + '"';
  }
  static std::string number(double v) {
    if (!std::isfinite(v)) return "null";
    char text[40];
    std::snprintf(text, sizeof text, "%.12g", v);
    return text;
  }

  std::string reply(const std::string& line) {
    const std::size_t space = line.find(' ');
    const std::string verb = line.substr(0, space), rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (verb == "list") return list();
    if (verb == "operands") {
      operand_ranges().clear();
      std::istringstream in(rest);
      for (double v; in >> v;) operand_ranges().push_back(v);
      return "{}";
    }
    if (verb == "memory") return memory(rest);
    const std::size_t last = rest.rfind(' ');
    if (verb != "run" || last == std::string::npos) throw std::runtime_error("not understood: " + line);
    return run(rest.substr(0, last), std::stod(rest.substr(last + 1)));
  }

  std::string list() const {
    std::string out = "{\"cases\": [";
    for (const Case& c : cases_)
      out += (&c == cases_.data() ? "" : ", ") + std::string("{\"name\": ") + quoted(c.name) +
             ", \"unit_count\": " + number(c.unit_count) + ", \"unit\": " + quoted(c.unit) +
             ", \"bytes\": " + number(c.bytes) + ", \"flops\": " + number(c.flops) +
             ", \"tolerance\": " + number(c.tolerance) + ", \"operands\": " + quoted(c.operands) + "}";
    out += "], \"about\": {";
    for (const auto& [key, value] : about_)
      out += (key == about_.begin()->first ? "" : ", ") + quoted(key) + ": " + quoted(value);
    return out + "}}";
  }

  void set_up(const std::string& name) {
    current_.clear();
    body_ = {};  // frees what the last case held
    const auto found = std::find_if(cases_.begin(), cases_.end(), [&](const Case& c) { return c.name == name; });
    if (found == cases_.end()) throw std::runtime_error("no case is named " + name);
    body_ = found->make();
    repeats_ = 1;
  }

  void prepare(const std::string& name) {
    if (name == current_) return;
    set_up(name);
    check_ = body_.check ? body_.check() : NAN;
    extra_.clear();
    if (body_.extra) extra_ = body_.extra();
    current_ = name;
  }

  double time() {
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < repeats_; ++i) body_.run();
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  std::string run(const std::string& name, double seconds) {
    prepare(name);
    double took = time();
    while (took < seconds) {
      const double more = std::clamp(1.1 * seconds / std::max(took, 1e-9), 1.1, 100.0);
      repeats_ = static_cast<std::int64_t>(std::ceil(static_cast<double>(repeats_) * more));
      took = time();
    }
    std::string out =
        "{\"ns\": " + number(took / static_cast<double>(repeats_) * 1e9) + ", \"check\": " + number(check_);
    for (const auto& [key, value] : extra_) out += ", " + quoted(key) + ": " + number(value);
    return out + "}";
  }

  // A line of /proc/self/status in bytes.
  static double status(const std::string& key) {
    std::ifstream in("/proc/self/status");
    for (std::string line; std::getline(in, line);)
      if (line.starts_with(key + ":")) return 1024 * std::stod(line.substr(key.size() + 1));
    return NAN;
  }

  std::string memory(const std::string& name) {
    std::ofstream("/proc/self/clear_refs") << 5;  // resets the peak
    const double before = status("VmRSS");
    set_up(name);
    for (int i = 0; i < 10; ++i) body_.run();
    current_.clear();
    return "{\"bytes\": " + number(status("VmHWM") - before) + "}";
  }

  std::vector<Case> cases_;
  std::map<std::string, std::string> about_;
  std::string current_;
  Body body_;
  double check_ = 0;
  Extra extra_;
  std::int64_t repeats_ = 1;
};

}  // namespace bench
