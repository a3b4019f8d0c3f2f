#include "io/output_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "core/fail.hpp"
#include "io/input_file.hpp"

namespace reel::io {
namespace {

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
    path = next.starts_with('/') ? next : folder_of(path) + next;
  }
  errno = ELOOP;
  return {};
}

// Shorter than the longest name of a file system, 255 bytes, and with whole UTF-8 sequences.
std::string temporary_name(const std::string& name, unsigned serial) {
  std::size_t length = std::min<std::size_t>(name.size(), 200);
  while (length < name.size() && (static_cast<unsigned char>(name[length]) & 0xc0) == 0x80) --length;
  return fmt::format(".{}.reel{}.tmp", std::string_view(name).substr(0, length), serial);
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

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

OutputFile::OutputFile(const char* writer, const std::string& path) : writer_(writer), path_(path) {
  require_whole_path(writer_, path);
  const std::string target = behind_links(path);
  if (target.empty() && !path.empty()) refuse("cannot be written");
  struct stat old {};
  const bool replaces = ::stat(target.c_str(), &old) == 0;
  if (!replaces && errno != ENOENT) refuse("cannot be written");
  if (replaces && !S_ISREG(old.st_mode)) fail<IoError>(writer_, "{}: not a regular file", path_);
  name_ = name_in_folder(target);
  if (name_.empty()) refuse("cannot be written");
  Descriptor(::open(folder_of(target).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)).swap(folder_);
  if (folder_ < 0) refuse("cannot be written");
  remove_abandoned(folder_, name_);
  create();
  if (replaces) ::fchmod(descriptor_, old.st_mode);  // if refused, the file keeps the mode of a new one
}

// The temporary file is locked while it is written, where the file system has locks.
void OutputFile::create() {
  constexpr ::mode_t everyone = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;  // restricted by the umask
  for (unsigned serial = 0;; ++serial) {
    std::string name = temporary_name(name_, serial);
    Descriptor file(::openat(folder_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, everyone));
    if (file < 0 && errno != EEXIST) refuse("cannot be written");
    if (file < 0) continue;
    // Before it is locked, another writer may take it for abandoned and remove it.
    const bool taken = ::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (taken || !is_named(folder_, name, file)) continue;
    descriptor_.swap(file);
    temporary_.swap(name);
    return;
  }
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlinkat(folder_, temporary_.c_str(), 0);
}

void OutputFile::write(const void* bytes, std::uint64_t count) {
  write_at(size_, bytes, count);
  size_ += count;
}

void OutputFile::overwrite(std::uint64_t offset, std::string_view bytes) {
  write_at(offset, bytes.data(), bytes.size());
}

void OutputFile::write_at(std::uint64_t offset, const void* bytes, std::uint64_t count) {
  const auto* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ::ssize_t put = ::pwrite(descriptor_, from, static_cast<std::size_t>(count), static_cast<::off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) refuse("cannot be written");
    from += put;
    offset += static_cast<std::uint64_t>(put);
    count -= static_cast<std::uint64_t>(put);
  }
}

void OutputFile::commit() {
  if (::fsync(descriptor_) != 0) refuse("cannot be written");
  // The lock is kept meanwhile: it ends with the descriptor.
  if (::renameat(folder_, temporary_.c_str(), folder_, name_.c_str()) != 0) refuse("cannot be replaced");
  temporary_.clear();
  // A rename is durable once the folder is on disk. Some file systems do not support fsync of folders: then at least no
  // partial file remains.
  const Descriptor folder(::openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder >= 0) ::fsync(folder);
}

void OutputFile::refuse(const char* what) const {
  const int error = errno;
  fail<IoError>(writer_, "{}: {}: {}", path_, what, std::strerror(error));
}

}  // namespace reel::io
