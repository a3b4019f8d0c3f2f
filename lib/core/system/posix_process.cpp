// Programs, loaded objects and the cache's folder on POSIX systems.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <link.h>
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>

#include "core/system/process.hpp"

extern char** environ;

namespace reel::os {

namespace {

[[noreturn]] void fail_by_errno(const std::string& what) { throw FileError{what + ": " + std::strerror(errno)}; }

struct OpenFile {
  int number = -1;
  ~OpenFile() { close(); }
  void close() noexcept {
    if (number >= 0) ::close(std::exchange(number, -1));
  }
};

}  // namespace

bool is_privileged() noexcept {
#ifdef __linux__
  return getauxval(AT_SECURE) != 0;
#else
  return issetugid() != 0;
#endif
}

std::string trusted_variable(const char* name) {
  const char* value = is_privileged() ? nullptr : std::getenv(name);
  return value ? value : "";
}

// ---- Commands

namespace {

// The ends of a pipe, closed in every program that another thread starts meanwhile.
struct Pipe {
  OpenFile read, write;
  Pipe() {
    int ends[2];
#ifdef __linux__
    if (::pipe2(ends, O_CLOEXEC) != 0) fail_by_errno("no pipe");
#else
    if (::pipe(ends) != 0) fail_by_errno("no pipe");
    for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
#endif
    read.number = ends[0];
    write.number = ends[1];
  }
};

// What a program starts with: output to the pipe, no input, signals as at login. A compiler that inherited an ignored
// SIGCHLD could not wait for its own children.
class Start {
 public:
  explicit Start(int output) {
    posix_spawn_file_actions_init(&files_);
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_addopen(&files_, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files_, output, 1);
    posix_spawn_file_actions_adddup2(&files_, output, 2);
#ifdef __GLIBC_PREREQ  // other C libraries do not have it
#if __GLIBC_PREREQ(2, 34)
    posix_spawn_file_actions_addclosefrom_np(&files_, 3);
#endif
#endif
    sigset_t ours, none;
    sigemptyset(&none);
    sigemptyset(&ours);
    sigaddset(&ours, SIGCHLD);
    sigaddset(&ours, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes_, &ours);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  Start(const Start&) = delete;
  ~Start() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  // The number of the process, or the negated error.
  ::pid_t run(const std::vector<std::string>& arguments) const {
    std::vector<char*> list;
    for (const std::string& one : arguments) list.push_back(const_cast<char*>(one.c_str()));
    list.push_back(nullptr);
    char path[] = "PATH=/usr/bin:/bin";
    char* trusted[] = {path, nullptr};
    ::pid_t child = -1;
    const int error =
        ::posix_spawnp(&child, list[0], &files_, &attributes_, list.data(), is_privileged() ? trusted : environ);
    return error == 0 ? child : -error;
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

// A child that ends.
class Child {
 public:
  explicit Child(::pid_t number) : number_(number) {}
  // Whether it has ended; with `wait`, when it has.
  bool ended(bool wait) {
    while (!ended_) {
      const ::pid_t got = ::waitpid(number_, &status_, wait ? 0 : WNOHANG);
      if (got == 0) return false;
      if (got < 0 && errno == EINTR) continue;
      known_ = got == number_;
      ended_ = true;
    }
    return true;
  }
  CommandResult result(std::string said) const {
    if (!known_) return {Ended::unknown, std::move(said)};
    if (WIFEXITED(status_) && WEXITSTATUS(status_) == 0) return {Ended::well, std::move(said)};
    if (said.empty())
      said = WIFSIGNALED(status_) ? "ended by signal " + std::to_string(WTERMSIG(status_))
                                  : "exit status " + std::to_string(WEXITSTATUS(status_));
    return {Ended::badly, std::move(said)};
  }

 private:
  ::pid_t number_;
  int status_ = 0;
  bool ended_ = false, known_ = false;
};

}  // namespace

CommandResult run_command(const std::vector<std::string>& arguments, void (*waiting)()) {
  constexpr int interval_ms = 50;
  constexpr std::size_t most_kept = 16384;
  Pipe pipe;
  const ::pid_t started = Start(pipe.write.number).run(arguments);
  pipe.write.close();
  if (started < 0) return {Ended::badly, arguments[0] + ": " + std::strerror(-started)};
  Child child(started);
  std::string said;
  for (bool open = true; open;) {
    pollfd ready{pipe.read.number, POLLIN, 0};
    if (::poll(&ready, 1, interval_ms) == 0) {
      waiting();
      open = !child.ended(false);  // a process that it has left behind may keep the pipe open
      continue;
    }
    char text[4096];
    const ::ssize_t got = ::read(pipe.read.number, text, sizeof text);
    if (got > 0 && said.size() < most_kept) said.append(text, static_cast<std::size_t>(got));
    open = got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
  }
  child.ended(true);
  return child.result(std::move(said));
}

std::string processor_features() {
  std::string text;
#ifdef __linux__
  // One processor's lines, in the order of the file; those of other machines' kernels are ARM's, RISC-V's, POWER's.
  char bytes[8192];
  OpenFile file{::open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC)};
  const ::ssize_t got = file.number < 0 ? -1 : ::read(file.number, bytes, sizeof bytes);
  std::string_view rest(bytes, got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    for (const char* name : {"vendor_id", "cpu family", "model", "stepping", "flags", "cache size", "Features", "CPU ",
                             "isa", "uarch", "cpu\t"})
      if (line.starts_with(name) && line.find("MHz") == line.npos && text.find(line) == text.npos)
        text.append(line).append("\n");
  }
  if (!text.empty())
    return text + std::to_string(getauxval(AT_HWCAP)) + " " + std::to_string(getauxval(AT_HWCAP2)) + "\n";
#endif
  utsname names{};
  ::uname(&names);
  return text + names.machine + " " + names.nodename + "\n";
}

// ---- The folder

namespace {

std::string cache_of_user() {
  std::string cache = trusted_variable("XDG_CACHE_HOME");
  if (cache.starts_with('/')) return cache;
  std::string home = trusted_variable("HOME");
  if (home.starts_with('/')) return home + "/.cache";
  const passwd* user = ::getpwuid(::geteuid());
  if (!user || *user->pw_dir != '/') throw FileError{"neither XDG_CACHE_HOME nor HOME names a folder"};
  return std::string(user->pw_dir) + "/.cache";
}

bool others_write(const struct stat& s) { return (s.st_mode & (S_IWGRP | S_IWOTH)) != 0; }

// No folder above may let others rename what is in it.
void require_safe(const std::string& path) {
  struct stat s {};
  if (::lstat(path.c_str(), &s) != 0) fail_by_errno(path);
  if (!S_ISDIR(s.st_mode)) throw FileError{path + " is no folder"};
  if (s.st_uid != ::geteuid()) throw FileError{path + " belongs to another user"};
  if (others_write(s)) throw FileError{path + " can be written to by others; it should have mode 0700"};
  for (std::size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0;
       slash = path.rfind('/', slash - 1)) {
    const std::string above = path.substr(0, slash);
    if (::stat(above.c_str(), &s) != 0) fail_by_errno(above);
    if ((s.st_mode & S_IWOTH) && !(s.st_mode & S_ISVTX)) throw FileError{above + " can be written to by everyone"};
  }
}

// A folder and those above it.
void make_folders(const std::string& path) {
  if (::mkdir(path.c_str(), S_IRWXU) == 0 || errno == EEXIST) return;
  const std::size_t slash = path.rfind('/');
  if (errno != ENOENT || slash == 0 || slash == std::string::npos) fail_by_errno(path);
  make_folders(path.substr(0, slash));
  if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) fail_by_errno(path);
}

constexpr const char* abandoned = ".part.";  // in names that create() makes

}  // namespace

PrivateFolder::PrivateFolder(const std::string& name) : temporary_(is_privileged()) {
  if (temporary_) {
    path_ = std::string(P_tmpdir) + "/" + name + "-XXXXXX";  // mkdtemp replaces the letters
    if (!::mkdtemp(path_.data())) fail_by_errno(path_);
    return;
  }
  path_ = cache_of_user() + "/" + name;
  make_folders(path_);
  require_safe(path_);
}

PrivateFolder::~PrivateFolder() {
  if (!temporary_) return;
  if (DIR* folder = ::opendir(path_.c_str())) {
    while (const dirent* entry = ::readdir(folder)) ::unlinkat(::dirfd(folder), entry->d_name, 0);
    ::closedir(folder);
  }
  ::rmdir(path_.c_str());
}

bool PrivateFolder::holds(const std::string& name) const {
  struct stat s {};
  return ::lstat(path_of(name).c_str(), &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == ::geteuid() && !others_write(s) &&
         s.st_nlink == 1;
}

std::string PrivateFolder::create(const std::string& stem, const std::string& suffix, const std::string& text) {
  static std::atomic<unsigned> last{0};
  OpenFile file;
  std::string name;
  do {
    name = stem + abandoned + std::to_string(::getpid()) + "." + std::to_string(++last) + suffix;
    file.number =
        ::open(path_of(name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  } while (file.number < 0 && errno == EEXIST);
  if (file.number < 0) fail_by_errno(path_of(name));
  for (std::size_t at = 0; at < text.size();) {
    const ::ssize_t put = ::write(file.number, text.data() + at, text.size() - at);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      const int error = errno;
      remove(name);
      errno = error;
      fail_by_errno(path_of(name));
    }
    at += static_cast<std::size_t>(put);
  }
  return name;
}

void PrivateFolder::rename(const std::string& from, const std::string& to) {
  OpenFile file{::open(path_of(from).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
  if (file.number < 0 || ::fchmod(file.number, S_IRWXU) != 0 || ::fsync(file.number) != 0 ||
      ::rename(path_of(from).c_str(), path_of(to).c_str()) != 0)
    fail_by_errno(path_of(from));
}

void PrivateFolder::remove(const std::string& name) noexcept { ::unlink(path_of(name).c_str()); }

void PrivateFolder::remove_abandoned() noexcept {
  constexpr std::time_t day = 86400;
  DIR* folder = ::opendir(path_.c_str());
  if (!folder) return;
  while (const dirent* entry = ::readdir(folder)) {
    struct stat s {};
    if (std::strstr(entry->d_name, abandoned) &&
        ::fstatat(::dirfd(folder), entry->d_name, &s, AT_SYMLINK_NOFOLLOW) == 0 &&
        s.st_mtime < std::time(nullptr) - day)
      ::unlinkat(::dirfd(folder), entry->d_name, 0);
  }
  ::closedir(folder);
}

// ---- Objects

namespace {

// Whether all that an object's header announces is in the file: loading less would end the process when a page behind
// the end is touched.
bool is_complete([[maybe_unused]] const std::string& path) {
#ifdef __linux__
  const OpenFile file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat s {};
  ElfW(Ehdr) header{};
  if (::fstat(file.number, &s) != 0 || ::pread(file.number, &header, sizeof header, 0) != sizeof header ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr)))
    return false;
  const auto size = static_cast<std::uint64_t>(s.st_size);
  if (header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize > size) return false;
  for (unsigned k = 0; k < header.e_phnum; ++k) {
    ElfW(Phdr) part{};
    const std::uint64_t at = header.e_phoff + k * sizeof part;
    if (::pread(file.number, &part, sizeof part, static_cast<::off_t>(at)) != sizeof part ||
        part.p_offset + part.p_filesz > size)
      return false;
  }
#endif
  return true;
}

}  // namespace

SharedObject::SharedObject(const std::string& path) : handle_(nullptr) {
  if (!is_complete(path)) throw FileError{path + " is not complete"};
  handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) {
    const char* why = ::dlerror();
    throw FileError{why ? why : path + " cannot be loaded"};
  }
}
SharedObject::~SharedObject() { ::dlclose(handle_); }
void* SharedObject::find(const char* symbol) const noexcept { return ::dlsym(handle_, symbol); }

}  // namespace reel::os
