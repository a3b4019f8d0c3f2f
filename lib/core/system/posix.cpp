// POSIX systems. What only Linux or glibc have is left out elsewhere.
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "core/system/math.hpp"
#include "core/system/system.hpp"

namespace reel::os {

// ---- Memory

void* allocate(std::size_t alignment, std::size_t bytes) noexcept { return std::aligned_alloc(alignment, bytes); }
void deallocate(void* memory) noexcept { std::free(memory); }

void advise_huge_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef MADV_HUGEPAGE
  madvise(begin, bytes, MADV_HUGEPAGE);
#endif
}

// ---- Functions

double log_gamma(double x) noexcept {
  int sign;
  return static_cast<double>(::lgammal_r(x, &sign));  // glibc's lgamma of double errs by more than 3 ulp
}
float log_gamma(float x) noexcept {
  int sign;
  return static_cast<float>(::lgamma_r(x, &sign));
}

// ---- Threads and processors

namespace {
// The destructor of a pthread key runs after those of thread_local objects, and again if one of them sets the value.
pthread_key_t thread_key;
}  // namespace

bool reserve_thread_value(void (*end)(void* value)) noexcept { return pthread_key_create(&thread_key, end) == 0; }
void drop_thread_value() noexcept { pthread_key_delete(thread_key); }
bool set_thread_value(void* value) noexcept { return pthread_setspecific(thread_key, value) == 0; }
void use_all_digits() noexcept {}

int allowed_processors() noexcept {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  return static_cast<int>(std::thread::hardware_concurrency());  // more than 1024 processors
}

std::int64_t last_cache_bytes() noexcept {
#ifdef _SC_LEVEL3_CACHE_SIZE
  return std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE));
#else
  return 0;
#endif
}

int thread_count() noexcept {
  DIR* tasks = opendir("/proc/self/task");
  if (!tasks) return 0;
  int count = 0;
  while (const dirent* task = readdir(tasks)) count += task->d_name[0] != '.';
  closedir(tasks);
  return count;
}

void set_variable(const char* name, const char* value) noexcept {
  if (value)
    setenv(name, value, 1);
  else
    unsetenv(name);
}

// ---- Files that are read

std::FILE* open_text(const char* path) noexcept { return std::fopen(path, "w"); }

/// A file descriptor, closed at the end; -1 is none.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) noexcept : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  void swap(Descriptor& other) noexcept { std::swap(number_, other.number_); }
  operator int() const noexcept { return number_; }

 private:
  int number_;
};

namespace {

// The text of errno.
[[noreturn]] void fail(const char* what) {
  const std::string reason = std::strerror(errno);
  throw FileError{*what ? what + (": " + reason) : reason};
}
constexpr const char* not_regular = "not a regular file";

}  // namespace

struct ReadableFile::Handle {
  Descriptor descriptor;
};

ReadableFile::ReadableFile(const std::string& path) {
  // Without O_NONBLOCK, opening a named pipe without a writer would block.
  handle_.reset(new Handle{Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK))});
  if (handle_->descriptor < 0) fail("cannot be opened");
  struct stat status {};
  if (::fstat(handle_->descriptor, &status) != 0) fail("");
  if (!S_ISREG(status.st_mode)) throw FileError{not_regular};
  size_ = static_cast<std::uint64_t>(status.st_size);
}

std::size_t ReadableFile::read(std::uint64_t offset, void* to, std::size_t count) const {
  for (;;) {
    const ::ssize_t got = ::pread(handle_->descriptor, to, count, static_cast<::off_t>(offset));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) fail("");
  }
}

std::shared_ptr<const std::byte> ReadableFile::map() const {
  const auto length = static_cast<std::size_t>(size_);
  void* begin = length == size_ ? ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, handle_->descriptor, 0) : MAP_FAILED;
  if (begin == MAP_FAILED) fail("cannot be mapped");
  const auto unmap = [length](const std::byte* p) { ::munmap(const_cast<std::byte*>(p), length); };
  return {static_cast<const std::byte*>(begin), unmap};
}

// ---- Files that are replaced

namespace {

constexpr const char* not_written = "cannot be written";

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string("./") : path.substr(0, slash + 1);
}
std::string name_in_folder(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The file behind symbolic links, which may not exist yet. Empty, and errno is set, for links in a circle.
std::string behind_links(std::string path) {
  constexpr int links_max = 40;  // as Linux follows
  char target[PATH_MAX];
  for (int i = 0; i < links_max; ++i) {
    const ::ssize_t length = ::readlink(path.c_str(), target, sizeof target);
    if (length < 0) return path;
    const std::string next(target, static_cast<std::size_t>(length));
    path = next.starts_with('/') ? next : folder_of(path).append(next);
  }
  errno = ELOOP;
  return {};
}

// Shorter than the longest name of a file system, 255 bytes, and with whole UTF-8 sequences.
std::string temporary_name(const std::string& name, unsigned serial) {
  std::size_t length = std::min<std::size_t>(name.size(), 200);
  while (length < name.size() && (static_cast<unsigned char>(name[length]) & 0xc0) == 0x80) --length;
  return "." + name.substr(0, length) + ".reel" + std::to_string(serial) + ".tmp";
}

// Whether the name still leads to the open file.
bool is_named(int folder, const std::string& name, int descriptor) {
  struct stat open {
  }, named{};
  return ::fstat(descriptor, &open) == 0 && ::fstatat(folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

// Removes temporary files that no process writes: their writers would hold the lock.
void remove_abandoned(int folder, const std::string& of) {
  for (unsigned serial = 0;; ++serial) {
    const std::string name = temporary_name(of, serial);
    const Descriptor found(::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (found < 0) return;
    if (::flock(found, LOCK_EX | LOCK_NB) == 0 && is_named(folder, name, found)) ::unlinkat(folder, name.c_str(), 0);
  }
}

#ifdef O_PATH
constexpr int only_as_folder = O_PATH;
#else
constexpr int only_as_folder = O_RDONLY;
#endif

}  // namespace

struct ReplacedFile::State {
  std::string name, temporary;  // names in the folder
  Descriptor folder, descriptor;

  // The temporary file is locked while it is written, where the file system has locks.
  void create() {
    constexpr ::mode_t everyone = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;  // restricted by the umask
    for (unsigned serial = 0;; ++serial) {
      std::string next = temporary_name(name, serial);
      Descriptor file(::openat(folder, next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, everyone));
      if (file < 0 && errno != EEXIST) fail(not_written);
      if (file < 0) continue;
      // Before it is locked, another writer may take it for abandoned and remove it.
      const bool taken = ::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
      if (taken || !is_named(folder, next, file)) continue;
      descriptor.swap(file);
      temporary.swap(next);
      return;
    }
  }
  ~State() {
    if (!temporary.empty()) ::unlinkat(folder, temporary.c_str(), 0);
  }
};

ReplacedFile::ReplacedFile(const std::string& path) : state_(new State) {
  State& s = *state_;
  const std::string target = behind_links(path);
  if (target.empty() && !path.empty()) fail(not_written);
  struct stat old {};
  const bool replaces = ::stat(target.c_str(), &old) == 0;
  if (!replaces && errno != ENOENT) fail(not_written);
  if (replaces && !S_ISREG(old.st_mode)) throw FileError{not_regular};
  s.name = name_in_folder(target);
  if (s.name.empty()) fail(not_written);
  Descriptor(::open(folder_of(target).c_str(), only_as_folder | O_DIRECTORY | O_CLOEXEC)).swap(s.folder);
  if (s.folder < 0) fail(not_written);
  remove_abandoned(s.folder, s.name);
  s.create();
  if (replaces) ::fchmod(s.descriptor, old.st_mode);  // if refused, the file keeps the mode of a new one
}

ReplacedFile::~ReplacedFile() = default;

void ReplacedFile::write_at(std::uint64_t offset, const void* bytes, std::uint64_t count) {
  const auto* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ::ssize_t put =
        ::pwrite(state_->descriptor, from, static_cast<std::size_t>(count), static_cast<::off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail(not_written);
    from += put;
    offset += static_cast<std::uint64_t>(put);
    count -= static_cast<std::uint64_t>(put);
  }
}

void ReplacedFile::commit() {
  State& s = *state_;
  if (::fsync(s.descriptor) != 0) fail(not_written);
  // The lock is kept meanwhile: it ends with the descriptor.
  if (::renameat(s.folder, s.temporary.c_str(), s.folder, s.name.c_str()) != 0) fail("cannot be replaced");
  s.temporary.clear();
  // A rename is durable once the folder is on disk. Some file systems do not support fsync of folders: then at least no
  // partial file remains.
  const Descriptor folder(::openat(s.folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder >= 0) ::fsync(folder);
}

}  // namespace reel::os
