// A bar on the terminal that shows how far a long computation is. Nothing is written when stderr is no terminal.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace terminal {

class Progress {
 public:
  // total: the number of steps; 0 if it is unknown, then steps are counted.
  explicit Progress(std::string what, std::int64_t total = 0) : what_(std::move(what)), total_(total) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { erase(); }
  // Before other output on the terminal.
  void erase() {
    if (drawn_ != Clock::time_point()) std::fputs("\r\033[K", stderr);
    drawn_ = Clock::time_point();
  }

  // One more step is done, after which the quantity `name` is `value`. Drawn at most ten times a second.
  void step(const char* name = nullptr, double value = 0) {
    ++done_;
    const Clock::time_point now = Clock::now();
    if (!terminal_ || now - drawn_ < std::chrono::milliseconds(100)) return;
    drawn_ = now;
    constexpr std::int64_t width = 30;
    const auto full = static_cast<std::size_t>(total_ > 0 ? std::min(width, width * done_ / total_) : 0);
    const std::string bar = "[" + std::string(full, '#') + std::string(width - full, '.') + "] ";
    const std::string of = total_ > 0 ? " of " + std::to_string(total_) : "";
    std::fprintf(stderr, "\r\033[K%s%s %lld%s", total_ > 0 ? bar.c_str() : "", what_.c_str(),
                 static_cast<long long>(done_), of.c_str());
    if (name) std::fprintf(stderr, ", %s %.3e", name, value);
    std::fflush(stderr);
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  std::int64_t total_, done_ = 0;
  bool terminal_ = isatty(STDERR_FILENO) == 1;
  Clock::time_point drawn_;
};

}  // namespace terminal
