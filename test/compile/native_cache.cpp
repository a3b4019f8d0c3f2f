// compile(f, {.native = true}): compilers that fail, caches that others may write to, processes with habits of their
// own, threads.
#include "support/native_cache.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <reel/compile.hpp>
#include <reel/reel.hpp>
#include <sstream>
#include <thread>

#include "catch.hpp"
#include "support/child.hpp"
#include "support/warnings.hpp"

using namespace reel;
using support::NativeCache;

namespace {

// A program of about 60 scalar operations; `number` makes it another one.
struct Function {
  double number;
  Tensor operator()(const Tensor& x) const {
    Tensor y = x(0);
    for (int k = 0; k < 20; ++k) y = y * number + x(1) * y - 0.25;
    return y;
  }
};
auto native(double number) { return compile(Function{number}, {.native = true, .native_flags = {"-O0"}}); }
Tensor argument() { return from_data(std::array{0.75, 0.5}); }

// Whether the function gives what it gives op by op, and whether native code does.
bool is_native(auto& f, double number) {
  const double right = Function{number}(argument()).item<double>(), got = f(argument()).template item<double>();
  CHECK(std::abs(got - right) <= 1e-12 * (1 + std::abs(right)));
  return f.stats().native_instructions > 0;
}

// The one warning of a function that stays interpreted.
std::string reason_of_failure(double number) {
  const WarningLog log;
  auto f = native(number);
  CHECK(!is_native(f, number));
  GradientTape tape;  // other programs of the same function give no other warning
  const Tensor x = argument();
  tape.watch(x);
  const Tensor y = f(x);
  CHECK(tape.gradient(y, x));
  REQUIRE(log.texts.size() == 1);
  CHECK(log.texts[0].find('\n') == std::string::npos);
  return log.texts[0];
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool is_loaded(const std::string& object) {
  std::ostringstream maps;
  maps << std::ifstream("/proc/self/maps").rdbuf();
  return contains(maps.str(), object);
}

mode_t mode_of(const std::string& path) {
  struct stat s {};
  REQUIRE(::stat(path.c_str(), &s) == 0);
  return s.st_mode & 07777;
}

}  // namespace

TEST_CASE("native cache: an object is compiled once, for this user alone, and closed after its last program") {
  if (!support::has_compiler()) return;
  const NativeCache cache;
  const WarningLog log;
  cache.count_compilations();
  const mode_t mask = umask(0);
  std::string object;
  {
    auto f = native(0.5), g = native(0.5);
    CHECK(is_native(f, 0.5));
    CHECK(is_native(g, 0.5));
    object = cache.object();
    CHECK(cache.compilations() == 1);
    CHECK(mode_of(cache.folder()) == 0700);
    CHECK(mode_of(object) == 0700);
    CHECK(is_loaded(object));
    {
      auto copy = f;
      f = native(0.25);
      CHECK(is_native(copy, 0.5));
    }
    CHECK(is_native(g, 0.5));
    CHECK(is_loaded(object));
  }
  CHECK(!is_loaded(object));
  umask(mask);
  auto other_flags = compile(Function{0.5}, {.native = true, .native_flags = {"-O1"}});
  CHECK(is_native(other_flags, 0.5));
  CHECK(cache.compilations() == 2);
  cache.count_compilations("# another compiler");  // of another name
  std::filesystem::rename(cache.top() + "/compiler", cache.top() + "/other");
  cache.use_compiler(cache.top() + "/other");
  auto other_compiler = native(0.5);
  CHECK(is_native(other_compiler, 0.5));
  CHECK(cache.compilations() == 3);
  CHECK(log.texts.empty());
}

TEST_CASE("native cache: every compiler of the system, with its usual flags") {
  const NativeCache cache;
  for (const char* compiler : {"gcc", "clang", "g++", "tcc"}) {
    if (std::system((compiler + std::string(" -v >/dev/null 2>&1")).c_str()) != 0) continue;
    const WarningLog log;
    cache.use_compiler(compiler);
    auto f = compile(Function{0.5}, {.native = true});
    INFO(compiler);
    CHECK(is_native(f, 0.5));
    CHECK(log.texts.empty());
  }
}

TEST_CASE("native cache: words of $CC are arguments, and no shell sees them") {
  if (!support::has_compiler()) return;
  const NativeCache cache;
  cache.use_compiler("  cc\t-DNUMBER=$(touch${IFS}" + cache.top() + "/seen) ");
  auto f = native(0.5);
  CHECK(is_native(f, 0.5));
  CHECK(!std::filesystem::exists(cache.top() + "/seen"));
}

TEST_CASE("native cache: without a compiler that works the interpreter runs, and one warning says why") {
  if (!support::has_compiler()) return;
  const NativeCache cache;
  SECTION("none") {
    cache.use_compiler("/nonexistent/compiler -x");
    CHECK(contains(reason_of_failure(0.5), "/nonexistent/compiler: No such file"));
  }
  SECTION("it fails: the first line of what it says") {
    cache.use_script("[ \"$1\" = -v ] && exec cc -v\necho; echo first line >&2\necho second line >&2\nexit 1");
    CHECK(contains(reason_of_failure(0.5), ": first line"));
  }
  SECTION("it fails and says nothing") {
    cache.use_script("[ \"$1\" = -v ] && exec cc -v\nexit 3");
    CHECK(contains(reason_of_failure(0.5), "exit status 3"));
  }
  SECTION("it is interrupted") {
    cache.use_script("[ \"$1\" = -v ] && exec cc -v\ncc \"$@\"\nkill -9 $$");
    CHECK(contains(reason_of_failure(0.5), "ended by signal 9"));
  }
  SECTION("it leaves half of an object, and says that all is well") {
    cache.count_compilations("truncate -s 9000 \"$object\"");
    CHECK(contains(reason_of_failure(0.5), "is not complete"));
  }
  SECTION("it does not know the flags") {
    auto f = compile(Function{0.5}, {.native = true, .native_flags = {"-O0", "-mno-such-thing"}});
    const WarningLog log;
    CHECK(!is_native(f, 0.5));
    REQUIRE(log.texts.size() == 1);
    CHECK(contains(log.texts[0], "-mno-such-thing"));
  }
  if (std::filesystem::exists(cache.folder())) CHECK(cache.files() == 0);
  const WarningLog log;
  cache.use_compiler("cc");
  auto f = native(0.5);
  CHECK(is_native(f, 0.5));
  CHECK(log.texts.empty());
}

TEST_CASE("native cache: a folder that cannot be used, or that others may write to") {
  if (!support::has_compiler()) return;
  const NativeCache cache;
  SECTION("it cannot be made") {
    cache.use_home("/dev/null/home");
    CHECK(contains(reason_of_failure(0.5), "Not a directory"));
  }
  SECTION("others may write to it") {
    std::filesystem::create_directory(cache.folder());
    ::chmod(cache.folder().c_str(), 0770);
    CHECK(contains(reason_of_failure(0.5), "can be written to by others"));
    CHECK(cache.files() == 0);
  }
  SECTION("others may rename it") {
    ::chmod(cache.top().c_str(), 0707);
    CHECK(contains(reason_of_failure(0.5), "can be written to by everyone"));
  }
  SECTION("it is a link to another place") {
    std::filesystem::create_directory(cache.top() + "/elsewhere");
    std::filesystem::create_directory_symlink(cache.top() + "/elsewhere", cache.folder());
    CHECK(contains(reason_of_failure(0.5), "is no folder"));
  }
  SECTION("it belongs to another user") {
    std::filesystem::create_directory(cache.folder());
    if (::chown(cache.folder().c_str(), 12345, static_cast<gid_t>(-1)) == 0)
      CHECK(contains(reason_of_failure(0.5), "belongs to another user"));
  }
  SECTION("the disk is full") {
    struct Limit {  // a write fails as on a full disk
      rlimit before{};
      void (*signal)(int) = std::signal(SIGXFSZ, SIG_IGN);
      Limit() {
        getrlimit(RLIMIT_FSIZE, &before);
        const rlimit low{64, before.rlim_max};
        setrlimit(RLIMIT_FSIZE, &low);
      }
      ~Limit() {
        setrlimit(RLIMIT_FSIZE, &before);
        std::signal(SIGXFSZ, signal);
      }
    };
    std::string reason;
    {
      const Limit limit;
      reason = reason_of_failure(0.5);
    }
    CHECK(contains(reason, "File too large"));
    CHECK(cache.files() == 0);
  }
}

TEST_CASE("native cache: an object that somebody else may have written, or that is damaged, is replaced") {
  if (!support::has_compiler()) return;
  const NativeCache cache;
  const WarningLog log;
  cache.count_compilations();
  std::string object;
  {
    auto f = native(0.5);
    CHECK(is_native(f, 0.5));
    object = cache.object();
  }
  const auto loads_after = [&](const auto& damage) {
    damage();
    const int before = cache.compilations();
    {
      auto f = native(0.5);
      CHECK(is_native(f, 0.5));
      CHECK(cache.compilations() == before + 1);
    }
    CHECK(mode_of(object) == 0700);
    CHECK(cache.files() == 1);
  };
  loads_after([&] { ::chmod(object.c_str(), 0722); });
  loads_after([&] { std::filesystem::resize_file(object, 5000); });
  loads_after([&] { std::ofstream(object) << "no object"; });
  loads_after([&] { std::filesystem::remove(object); });
  if (::chown(object.c_str(), 12345, static_cast<gid_t>(-1)) == 0) {
    struct stat s {};
    loads_after([] {});
    CHECK((::stat(object.c_str(), &s) == 0 && s.st_uid == ::geteuid()));
  }
  loads_after([&] {  // the object of another program under this name
    {
      auto g = native(0.75);
      CHECK(is_native(g, 0.75));
    }
    for (const auto& entry : std::filesystem::directory_iterator(cache.folder()))
      if (entry.path() != object) std::filesystem::rename(entry.path(), object);
  });
  CHECK(log.texts.empty());
}

TEST_CASE("native cache: files that an earlier process has left are removed after a day") {
  if (!support::has_compiler()) return;
  const NativeCache cache;
  std::filesystem::create_directory(cache.folder());
  ::chmod(cache.folder().c_str(), 0700);
  for (const char* name : {"/a.part.1.1.c", "/b.part.2.1.so"}) std::ofstream(cache.folder() + name) << "text";
  std::filesystem::last_write_time(cache.folder() + "/a.part.1.1.c",
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(25));
  auto f = native(0.5);
  CHECK(is_native(f, 0.5));
  CHECK(!std::filesystem::exists(cache.folder() + "/a.part.1.1.c"));
  CHECK(std::filesystem::exists(cache.folder() + "/b.part.2.1.so"));
}

TEST_CASE("native cache: a host that ignores or collects the ends of its children") {
  if (!support::has_compiler()) return;
  const NativeCache cache;
  const WarningLog log;
  SECTION("SIGCHLD is ignored") {
    const auto before = std::signal(SIGCHLD, SIG_IGN);
    auto f = native(0.5);
    CHECK(is_native(f, 0.5));
    CHECK(log.texts.empty());
    std::signal(SIGCHLD, before);
  }
  SECTION("another thread waits for all children") {
    std::atomic<bool> stop{false};
    std::thread waits([&] {
      while (!stop)
        if (::waitpid(-1, nullptr, WNOHANG) <= 0) std::this_thread::yield();
    });
    auto f = native(0.5);
    CHECK(is_native(f, 0.5));
    CHECK(log.texts.empty());
    stop = true;
    waits.join();
  }
  SECTION("the compiler fails, and nobody knows") {
    const auto before = std::signal(SIGCHLD, SIG_IGN);
    cache.use_script("[ \"$1\" = -v ] && exec cc -v\nexit 1");
    reason_of_failure(0.5);
    std::signal(SIGCHLD, before);
  }
  SECTION("signals are blocked, and standard streams are closed") {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int input = ::dup(0);
    ::close(0);
    auto f = native(0.5);
    CHECK(is_native(f, 0.5));
    ::dup2(input, 0);
    ::close(input);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    CHECK(log.texts.empty());
  }
}

TEST_CASE("native cache: threads that call a new signature wait for one compilation") {
  if (!support::has_compiler()) return;
  const NativeCache cache;
  cache.count_compilations("sleep 0.4");  // longer than a thread waits for one that has come to a stop
  auto f = native(0.5);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  const double expected = Function{0.5}(argument()).item<double>();
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&] { right += std::abs(f(argument()).item<double>() - expected) < 1e-12; });
  for (std::thread& t : threads) t.join();
  CHECK(right == 4);
  CHECK(cache.compilations() == 1);
  CHECK(f.stats().traces == 1);
}

// In processes of their own: this one has tensors, and may have other threads.
static const char* const in_child = "REEL_TEST_NATIVE_CHILD";
TEST_CASE("native cache: child that forks", "[.]") {
  if (!std::getenv(in_child)) return;
  auto f = native(0.5);
  REQUIRE(is_native(f, 0.5));
  CHECK(support::in_child([&] {
          if (!is_native(f, 0.5)) return 1;
          auto g = native(0.125);
          return is_native(g, 0.125) ? 0 : 2;
        }) == support::Ending{0, 0});
  CHECK(is_native(f, 0.5));
}
TEST_CASE("native cache: child with privileges", "[.]") {
  if (!std::getenv(in_child)) return;
  const WarningLog log;
  auto f = native(0.5);
  CHECK(is_native(f, 0.5));
  CHECK(log.texts.empty());
}

TEST_CASE("native cache: native code in forked and in privileged processes") {
  if (!support::has_compiler() || support::emulator()) return;
  const NativeCache cache;
  const support::Setting child_runs(in_child, "1");
  CHECK(std::system(
            (support::own_program() + " 'native cache: child that forks' >" + cache.top() + "/log 2>&1").c_str()) == 0);
  // A process whose effective user is not the real one, as of a set-user-id program. Only root can start one here.
  if (::geteuid() != 0) return;
  cache.count_compilations();
  std::filesystem::remove_all(cache.folder());
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const pid_t child = fork();
  if (child == 0) {
    if (::setresuid(12345, 0, 0) != 0) _exit(97);
    ::execl(program.c_str(), program.c_str(), "native cache: child with privileges", nullptr);
    _exit(98);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(cache.compilations() == 0);
  CHECK(!std::filesystem::exists(cache.folder()));
}
