// A library that is closed while threads use it. Its thread-local objects are destroyed at the end of the thread, by
// code of the library, which therefore stays loaded. First in child processes, then in the process that forked them
// before its first use of the library. Argument: the library.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr int thread_count = 8;

// reel::Tensor as a result: a handle that is not copied by its bits. It is never dropped.
struct Tensor {
  void* block = nullptr;
  Tensor() = default;
  Tensor(const Tensor&) = delete;
  ~Tensor() {}
};
enum class DType : std::uint8_t { float64 = 7 };
// reel::linspace(double, double, std::int64_t, DType)
using Linspace = Tensor (*)(double, double, std::int64_t, DType);

// Threads that began to use the library end after it was closed.
bool used_and_closed(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return std::printf("%s\n", dlerror()), false;
  const auto linspace = reinterpret_cast<Linspace>(dlsym(library, "_ZN4reel8linspaceEddlNS_5DTypeE"));
  if (!linspace) return std::printf("no linspace\n"), false;
  std::atomic<int> made = 0;
  std::barrier used(thread_count + 1), closed(thread_count + 1);
  std::vector<std::thread> threads;
  for (int i = 0; i < thread_count; ++i)
    threads.emplace_back([&] {
      made += linspace(0, 1, 100'000, DType::float64).block != nullptr;
      used.arrive_and_wait();
      closed.arrive_and_wait();
    });
  used.arrive_and_wait();
  const bool done = dlclose(library) == 0 && made == thread_count;
  closed.arrive_and_wait();
  for (std::thread& t : threads) t.join();
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (int round = 0; round < 3; ++round) {
    const pid_t child = fork();
    if (child == 0) _exit(used_and_closed(argv[1]) ? 0 : 1);
    int ended = 0;
    if (child < 0 || waitpid(child, &ended, 0) != child || ended != 0)
      return std::printf("round %d: the child ends with status %d\n", round, ended), 1;
  }
  for (int round = 0; round < 3; ++round)
    if (!used_and_closed(argv[1])) return std::printf("round %d fails\n", round), 1;
  return 0;
}
