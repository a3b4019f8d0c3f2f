// Files for readers: a range of bytes of known length; errors name the place in it.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "core/fail.hpp"
#include "core/system/system.hpp"

namespace reel::io {

/// IoError of the public function `op` for a path with a NUL byte, where the system would cut it.
void require_whole_path(const char* op, const std::string& path);

/// A file open for reading, closed by its last copy.
class InputFile {
 public:
  /// `reader` is the public function that errors name. IoError unless the path leads to a regular file.
  InputFile(const char* reader, const std::string& path);

  std::uint64_t size() const noexcept { return file_.size(); }
  const std::string& path() const noexcept { return path_; }
  /// Copies `count` bytes from `offset` on. IoError when there are fewer.
  void read(std::uint64_t offset, void* to, std::uint64_t count) const;
  /// The little-endian number at `offset`.
  template <class T>
  T number(std::uint64_t offset) const {
    static_assert(std::is_unsigned_v<T>);
    T value = 0;
    read(offset, &value, sizeof(T));
    return value;
  }
  /// `count` bytes from `offset` on, as text.
  std::string text(std::uint64_t offset, std::uint64_t count) const;
  /// The whole file, mapped into memory as long as the pointer is kept.
  std::shared_ptr<const std::byte> map() const;

  /// IoError "reader: path: place: text".
  template <class... A>
  [[noreturn, gnu::cold]] void refuse(std::string_view place, fmt::format_string<detail::Shown<A>...> text,
                                      const A&... args) const {
    refuse_at(place, fmt::vformat(detail::text_of(text),
                                  fmt::make_format_args(static_cast<const detail::Shown<A>&>(detail::shown(args))...)));
  }
  template <class... A>
  [[noreturn, gnu::cold]] void refuse(std::uint64_t offset, fmt::format_string<detail::Shown<A>...> text,
                                      const A&... args) const {
    refuse(place(offset), text, args...);
  }

 private:
  static std::string place(std::uint64_t offset);
  // IoError unless the file has `count` bytes from `offset` on.
  void require(std::uint64_t offset, std::uint64_t count) const;
  std::size_t read_some(std::uint64_t offset, void* to, std::size_t count) const;
  [[noreturn]] void refuse_at(std::string_view place, const std::string& text) const;

  const char* reader_;
  std::string path_;
  os::ReadableFile file_;
};

/// A stream of bytes that are read once, from first to last.
class ByteStream {
 public:
  ByteStream(const InputFile& file, std::uint64_t size) : file_(file), remaining_(size) {}
  ByteStream(const ByteStream&) = delete;
  virtual ~ByteStream() = default;

  std::uint64_t remaining() const noexcept { return remaining_; }
  /// IoError when fewer remain.
  void read(void* to, std::uint64_t count);
  /// IoError at the place of the next byte.
  template <class... A>
  [[noreturn, gnu::cold]] void refuse(fmt::format_string<detail::Shown<A>...> text, const A&... args) const {
    file_.refuse(place(), text, args...);
  }

 protected:
  virtual void fill(void* to, std::uint64_t count) = 0;
  virtual std::string place() const = 0;
  const InputFile& file_;

 private:
  std::uint64_t remaining_;
};

/// A range of a file.
class FileStream final : public ByteStream {
 public:
  FileStream(const InputFile& file, std::uint64_t begin, std::uint64_t size) : ByteStream(file, size), at_(begin) {}

 private:
  void fill(void* to, std::uint64_t count) override;
  std::string place() const override;
  std::uint64_t at_;
};

}  // namespace reel::io
