// Files for writers: a new file that replaces the old one once it is complete.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/system/system.hpp"

namespace reel::io {

/// os::ReplacedFile, written from first to last. Every failure is an IoError.
class OutputFile {
 public:
  /// `writer` is the public function that errors name.
  OutputFile(const char* writer, const std::string& path);

  void write(const void* bytes, std::uint64_t count);
  void write(std::string_view bytes) { write(bytes.data(), bytes.size()); }
  /// Overwrites bytes that were written before.
  void overwrite(std::uint64_t offset, std::string_view bytes);
  /// Bytes written so far.
  std::uint64_t size() const noexcept { return size_; }
  void commit();

 private:
  template <class F>
  void attempt(const F& f);

  const char* writer_;
  std::string path_;
  std::optional<os::ReplacedFile> file_;
  std::uint64_t size_ = 0;
};

}  // namespace reel::io
