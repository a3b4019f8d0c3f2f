#include "io/input_file.hpp"

#include <bit>

namespace reel::io {

static_assert(std::endian::native == std::endian::little, "numbers of files are read as they lie");

void require_whole_path(const char* op, const std::string& path) {
  const std::size_t nul = path.find('\0');
  if (nul != std::string::npos) fail<IoError>(op, "{}...: byte {} of the path is NUL", path.substr(0, nul), nul);
}

InputFile::InputFile(const char* reader, const std::string& path) : reader_(reader), path_(path) {
  require_whole_path(reader_, path);
  try {
    file_ = os::ReadableFile(path);
  } catch (const os::FileError& error) {
    fail<IoError>(reader_, "{}: {}", path_, error.text);
  }
}

void InputFile::read(std::uint64_t offset, void* to, std::uint64_t count) const {
  require(offset, count);
  auto* out = static_cast<char*>(to);
  while (count > 0) {
    const std::size_t got = read_some(offset, out, static_cast<std::size_t>(count));
    if (got == 0) refuse(offset, "the file was cut short while it was read");
    out += got;
    offset += got;
    count -= got;
  }
}

std::size_t InputFile::read_some(std::uint64_t offset, void* to, std::size_t count) const {
  try {
    return file_.read(offset, to, count);
  } catch (const os::FileError& error) {
    refuse(offset, "{}", error.text);
  }
}

void InputFile::require(std::uint64_t offset, std::uint64_t count) const {
  if (offset > size() || count > size() - offset)
    refuse(offset, "{} bytes are needed here, the file ends at byte {}", count, size());
}

std::string InputFile::text(std::uint64_t offset, std::uint64_t count) const {
  require(offset, count);
  std::string result(static_cast<std::size_t>(count), '\0');
  read(offset, result.data(), count);
  return result;
}

std::shared_ptr<const std::byte> InputFile::map() const {
  try {
    return file_.map();
  } catch (const os::FileError& error) {
    fail<IoError>(reader_, "{}: {}", path_, error.text);
  }
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
