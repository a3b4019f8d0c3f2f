// Runs code in a process of its own: first ops, and code that must not end the test program.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>

namespace support {

/// How a child ended: its exit status, or the signal that killed it.
struct Ending {
  int status = 0, signal = 0;
  friend bool operator==(const Ending&, const Ending&) = default;
};
inline std::string to_string(const Ending& e) {
  if (e.signal == SIGALRM) return "hangs";
  if (e.signal) return std::string("is killed: ") + strsignal(e.signal);
  return "exits with status " + std::to_string(e.status);
}

/// The command of the emulator that runs this program, REEL_TEST_EMULATOR; null where none does. It makes programs some
/// 20 times slower.
inline const char* emulator() { return std::getenv("REEL_TEST_EMULATOR"); }

/// Runs f, whose result is the exit status, in a copy of this process, for at most that many seconds, which only one
/// that hangs takes, also on a busy machine. Exit status 99 if it throws. The calling process should not have used a
/// tensor: an op after fork is supported in neither then.
template <class F>
Ending in_child(const F& f, unsigned seconds = 600) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(emulator() ? 20 * seconds : seconds);
    int status = 99;
    try {
      status = f();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "child: %s\n", e.what());
    }
    std::fflush(nullptr);
    _exit(status);
  }
  int ended = 0;
  if (child < 0 || waitpid(child, &ended, 0) != child) return {98, 0};
  return WIFSIGNALED(ended) ? Ending{0, WTERMSIG(ended)} : Ending{WEXITSTATUS(ended), 0};
}

/// A shell command that starts this program anew. An emulated system does not start programs of another machine's code.
inline std::string own_program() {
  const char* emulated_by = emulator();
  return (emulated_by ? std::string(emulated_by) + " '" : "'") +
         std::filesystem::read_symlink("/proc/self/exe").string() + "'";
}

}  // namespace support
