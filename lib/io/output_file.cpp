#include "io/output_file.hpp"

#include "core/fail.hpp"
#include "io/input_file.hpp"

namespace reel::io {

OutputFile::OutputFile(const char* writer, const std::string& path) : writer_(writer), path_(path) {
  require_whole_path(writer_, path);
  attempt([&] { file_.emplace(path); });
}

void OutputFile::write(const void* bytes, std::uint64_t count) {
  attempt([&] { file_->write_at(size_, bytes, count); });
  size_ += count;
}

void OutputFile::overwrite(std::uint64_t offset, std::string_view bytes) {
  attempt([&] { file_->write_at(offset, bytes.data(), bytes.size()); });
}

void OutputFile::commit() {
  attempt([&] { file_->commit(); });
}

template <class F>
void OutputFile::attempt(const F& f) {
  try {
    f();
  } catch (const os::FileError& error) {
    fail<IoError>(writer_, "{}: {}", path_, error.text);
  }
}

}  // namespace reel::io
