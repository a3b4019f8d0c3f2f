#include "io/input_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

namespace reel::io {

static_assert(std::endian::native == std::endian::little, "numbers of files are read as they lie");

void require_whole_path(const char* op, const std::string& path) {
  const std::size_t nul = path.find('\0');
  if (nul != std::string::npos) fail<IoError>(op, "{}...: byte {} of the path is NUL", path.substr(0, nul), nul);
}

InputFile::InputFile(const char* reader, const std::string& path) : reader_(reader), path_(path) {
  require_whole_path(reader_, path);
  const auto close_file = [](const int* descriptor) {
    ::close(*descriptor);
    delete descriptor;
  };
  auto descriptor = std::make_unique<int>(-1);
  // Without O_NONBLOCK, opening a named pipe without a writer would block.
  *descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (*descriptor < 0) fail<IoError>(reader_, "{}: cannot be opened: {}", path_, std::strerror(errno));
  descriptor_ = std::shared_ptr<const int>(descriptor.release(), close_file);
  struct stat status {};
  if (::fstat(*descriptor_, &status) != 0) fail<IoError>(reader_, "{}: {}", path_, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) fail<IoError>(reader_, "{}: not a regular file", path_);
  size_ = static_cast<std::uint64_t>(status.st_size);
}

void InputFile::read(std::uint64_t offset, void* to, std::uint64_t count) const {
  if (offset > size_ || count > size_ - offset)
    refuse(offset, "{} bytes are needed here, the file ends at byte {}", count, size_);
  auto* out = static_cast<char*>(to);
  while (count > 0) {
    const ::ssize_t got = ::pread(*descriptor_, out, static_cast<std::size_t>(count), static_cast<::off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(offset, "{}", std::strerror(errno));
    if (got == 0) refuse(offset, "the file was cut short while it was read");
    out += got;
    offset += static_cast<std::uint64_t>(got);
    count -= static_cast<std::uint64_t>(got);
  }
}

std::string InputFile::text(std::uint64_t offset, std::uint64_t count) const {
  if (offset > size_ || count > size_ - offset)
    refuse(offset, "{} bytes are needed here, the file ends at byte {}", count, size_);
  std::string result(static_cast<std::size_t>(count), '\0');
  read(offset, result.data(), count);
  return result;
}

std::shared_ptr<const std::byte> InputFile::map() const {
  const auto length = static_cast<std::size_t>(size_);
  void* begin = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, *descriptor_, 0);
  if (begin == MAP_FAILED) fail<IoError>(reader_, "{}: cannot be mapped: {}", path_, std::strerror(errno));
  const auto unmap = [length](const std::byte* p) { ::munmap(const_cast<std::byte*>(p), length); };
  return {static_cast<const std::byte*>(begin), unmap};
}

std::string InputFile::place(std::uint64_t offset) { return fmt::format("byte {}", offset); }

void InputFile::refuse_at(std::string_view place, const std::string& text) const {
  fail<IoError>(reader_, "{}: {}: {}", path_, place, text);
}

void ByteStream::read(void* to, std::uint64_t count) {
  if (count > remaining_) refuse("{} bytes are needed here, {} remain", count, remaining_);
  fill(to, count);
  remaining_ -= count;
}

void FileStream::fill(void* to, std::uint64_t count) {
  file_.read(at_, to, count);
  at_ += count;
}

std::string FileStream::place() const { return fmt::format("byte {}", at_); }

}  // namespace reel::io
