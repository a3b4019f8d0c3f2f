// What the operating system gives. One source per system implements it; no other file of the library asks which system
// it is. Paths are UTF-8.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace reel::os {

// ---- Memory

/// Memory from the system's allocator; null if there is none. `alignment` is a power of two that divides `bytes`.
void* allocate(std::size_t alignment, std::size_t bytes) noexcept;
void deallocate(void* memory) noexcept;
/// Asks for huge pages; a failure has no consequences.
void advise_huge_pages(void* begin, std::size_t bytes) noexcept;

// ---- Threads and processors

/// Reserves one value per thread. When a thread ends, `end` gets its value; if the destructor of a thread_local object
/// sets one behind that, again. Called once; false if the process has no such value left.
bool reserve_thread_value(void (*end)(void* value)) noexcept;
void drop_thread_value() noexcept;
/// Sets the value of this thread; null is none. False if there is no memory for it.
bool set_thread_value(void* value) noexcept;
/// This thread computes in long double with all its digits, where the system may have set fewer.
void use_all_digits() noexcept;

/// The number of processors that the process may use.
int allowed_processors() noexcept;
/// Bytes of the last-level cache; 0 if unknown.
std::int64_t last_cache_bytes() noexcept;
/// The number of threads of the process; 0 if unknown.
int thread_count() noexcept;

/// Sets a variable of the environment; a null value removes it.
void set_variable(const char* name, const char* value) noexcept;

// ---- Files

/// Why a file cannot be read or written.
struct FileError {
  std::string text;
};

/// As std::fopen with mode "w".
std::FILE* open_text(const char* path) noexcept;

/// A regular file open for reading, closed by its last copy.
class ReadableFile {
 public:
  ReadableFile() = default;
  /// FileError if there is none.
  explicit ReadableFile(const std::string& path);
  std::uint64_t size() const noexcept { return size_; }
  /// Copies bytes from `offset` on and returns how many, at most `count`; 0 at the end of the file. FileError.
  std::size_t read(std::uint64_t offset, void* to, std::size_t count) const;
  /// The whole file, mapped into memory as long as the pointer is kept. FileError. The file is not empty.
  std::shared_ptr<const std::byte> map() const;

 private:
  struct Handle;
  std::shared_ptr<const Handle> handle_;
  std::uint64_t size_ = 0;
};

/// 1. A temporary file is created in the folder of the path, named ".NAME.reel0.tmp" for a path that ends in NAME (or
/// reel1, reel2, ... while other writers are at work). 2. The caller writes. 3. commit() flushes it to disk and renames
/// it. Without commit() it is removed; after a crash the next writer of NAME removes it. Every failure is a FileError.
class ReplacedFile {
 public:
  explicit ReplacedFile(const std::string& path);
  ReplacedFile(const ReplacedFile&) = delete;
  ~ReplacedFile();
  void write_at(std::uint64_t offset, const void* bytes, std::uint64_t count);
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reel::os
