#include "io/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/fail.hpp"

namespace reel::io {
namespace {

// Resolves symbolic links, so that the file behind a link is replaced and the link remains.
std::string behind_links(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : path;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string(".") : path.substr(0, slash + 1);
}

}  // namespace

OutputFile::OutputFile(const char* writer, const std::string& path) : writer_(writer), path_(behind_links(path)) {
  struct stat old {};
  const bool replaces = ::stat(path_.c_str(), &old) == 0;
  if (replaces && !S_ISREG(old.st_mode)) fail<IoError>(writer_, "{}: not a regular file", path_);
  static std::atomic<unsigned> serial = 0;
  constexpr ::mode_t everyone = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;  // restricted by the umask
  do {
    temporary_ = fmt::format("{}.{}.{}.tmp", path_, ::getpid(), serial++);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, everyone);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) {
    temporary_.clear();
    refuse("cannot be written");
  }
  if (replaces) ::fchmod(descriptor_, old.st_mode);  // if refused, the file keeps the mode of a new one
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
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
  const int written = std::exchange(descriptor_, -1);
  if (::close(written) != 0) refuse("cannot be written");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) refuse("cannot be replaced");
  temporary_.clear();
  // A rename is durable once the folder is on disk. Some file systems do not support fsync of folders: then at least no
  // partial file remains.
  const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

void OutputFile::refuse(const char* what) const {
  const int error = errno;
  fail<IoError>(writer_, "{}: {}: {}", path_, what, std::strerror(error));
}

}  // namespace reel::io
