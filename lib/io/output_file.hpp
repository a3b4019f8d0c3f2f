// Files for writers: a new file that replaces the old one once it is complete.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace reel::io {

/// 1. A temporary file is created in the folder of the path. 2. The caller writes. 3. commit() flushes it to disk and
/// renames it. Without commit() it is removed. Every failure is an IoError.
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
  void write_at(std::uint64_t offset, const void* bytes, std::uint64_t count);
  [[noreturn]] void refuse(const char* what) const;

  const char* writer_;
  std::string path_, temporary_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace reel::io
