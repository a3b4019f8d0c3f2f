// Files for writers: a new file that replaces the old one once it is complete.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace reel::io {

/// A file descriptor, closed at the end; -1 is none.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) noexcept : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  ~Descriptor();
  void swap(Descriptor& other) noexcept { std::swap(number_, other.number_); }
  operator int() const noexcept { return number_; }

 private:
  int number_;
};

/// 1. A temporary file is created in the folder of the path, named ".NAME.reel0.tmp" for a path that ends in NAME (or
/// reel1, reel2, ... while other writers are at work). 2. The caller writes. 3. commit() flushes it to disk and renames
/// it. Without commit() it is removed; after a crash the next writer of NAME removes it. Every failure is an IoError.
class OutputFile {
 public:
  /// `writer` is the public function that errors name.
  OutputFile(const char* writer, const std::string& path);
  OutputFile(const OutputFile&) = delete;
  ~OutputFile();

  void write(const void* bytes, std::uint64_t count);
  void write(std::string_view bytes) { write(bytes.data(), bytes.size()); }
  /// Overwrites bytes that were written before.
  void overwrite(std::uint64_t offset, std::string_view bytes);
  /// Bytes written so far.
  std::uint64_t size() const noexcept { return size_; }
  void commit();

 private:
  void create();
  void write_at(std::uint64_t offset, const void* bytes, std::uint64_t count);
  [[noreturn]] void refuse(const char* what) const;

  const char* writer_;
  std::string path_, name_, temporary_;  // the path as given; names in the folder
  Descriptor folder_, descriptor_;
  std::uint64_t size_ = 0;
};

}  // namespace reel::io
