// Windows, from version 8 on.
#ifndef NOMINMAX  // libstdc++ defines it
#define NOMINMAX
#endif
#define WIN32_LEAN_AND_MEAN
#include <malloc.h>
#include <windows.h>
// After windows.h:
#include <tlhelp32.h>
#undef near  // in a unity build other sources follow
#undef far

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "core/system/math.hpp"
#include "core/system/system.hpp"

namespace reel::os {

// ---- Memory

void* allocate(std::size_t alignment, std::size_t bytes) noexcept { return _aligned_malloc(bytes, alignment); }
void deallocate(void* memory) noexcept { _aligned_free(memory); }
void advise_huge_pages(void*, std::size_t) noexcept {}  // they need a privilege

// ---- Functions. They write signgam, which nobody here reads.

double log_gamma(double x) noexcept { return static_cast<double>(std::lgamma(static_cast<long double>(x))); }
float log_gamma(float x) noexcept { return static_cast<float>(std::lgamma(static_cast<double>(x))); }

// ---- Threads and processors

namespace {

DWORD thread_index = FLS_OUT_OF_INDEXES;
void (*end_of_thread)(void* value) = nullptr;

void NTAPI call_end(void* value) {
  if (value) end_of_thread(value);
}

}  // namespace

bool reserve_thread_value(void (*end)(void* value)) noexcept {
  end_of_thread = end;
  // A DLL that holds this is never unloaded: threads that used it call into it when they end.
  HMODULE self = nullptr;
  GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                     reinterpret_cast<const wchar_t*>(&call_end), &self);
  thread_index = FlsAlloc(call_end);
  return thread_index != FLS_OUT_OF_INDEXES;
}
void drop_thread_value() noexcept { FlsFree(thread_index); }
bool set_thread_value(void* value) noexcept {
  use_all_digits();
  return FlsSetValue(thread_index, value) != 0;
}
// A thread that the C library did not start begins with the 53 bits of double, and others have been seen with them.
// Nothing but long double uses the x87 unit.
void use_all_digits() noexcept {
  constexpr unsigned short precision = 0x300;
  unsigned short control;
  __asm__ volatile("fnstcw %0" : "=m"(control));
  if ((control & precision) == precision) return;
  control |= precision;
  __asm__ volatile("fldcw %0" : : "m"(control));
}

int allowed_processors() noexcept {
  DWORD_PTR process = 0, whole = 0;
  if (GetProcessAffinityMask(GetCurrentProcess(), &process, &whole) && process != 0)
    return std::popcount(static_cast<std::uint64_t>(process));
  return static_cast<int>(GetActiveProcessorCount(ALL_PROCESSOR_GROUPS));  // of several groups
}

std::int64_t last_cache_bytes() noexcept {
  DWORD bytes = 0;
  GetLogicalProcessorInformation(nullptr, &bytes);
  std::vector<SYSTEM_LOGICAL_PROCESSOR_INFORMATION> all(bytes / sizeof(SYSTEM_LOGICAL_PROCESSOR_INFORMATION));
  if (all.empty() || !GetLogicalProcessorInformation(all.data(), &bytes)) return 0;
  std::int64_t most = 0;
  for (const auto& each : all)
    if (each.Relationship == RelationCache) most = std::max(most, static_cast<std::int64_t>(each.Cache.Size));
  return most;
}

int thread_count() noexcept {
  const HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
  if (snapshot == INVALID_HANDLE_VALUE) return 0;
  int count = 0;
  THREADENTRY32 thread{};
  thread.dwSize = sizeof thread;
  for (BOOL more = Thread32First(snapshot, &thread); more; more = Thread32Next(snapshot, &thread))
    count += thread.th32OwnerProcessID == GetCurrentProcessId();
  CloseHandle(snapshot);
  return count;
}

void set_variable(const char* name, const char* value) noexcept {
  _putenv_s(name, value ? value : "");  // an empty value removes it
}

// ---- Files that are read

namespace {

// Of UTF-8; empty for what is none, which no file is named.
std::wstring wide(std::string_view text) {
  const int size = static_cast<int>(text.size());
  std::wstring result(
      static_cast<std::size_t>(MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text.data(), size, nullptr, 0)),
      L'\0');
  MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text.data(), size, result.data(), static_cast<int>(result.size()));
  return result;
}
std::string narrow(std::wstring_view text) {
  const int size = static_cast<int>(text.size());
  std::string result(
      static_cast<std::size_t>(WideCharToMultiByte(CP_UTF8, 0, text.data(), size, nullptr, 0, nullptr, nullptr)), '\0');
  WideCharToMultiByte(CP_UTF8, 0, text.data(), size, result.data(), static_cast<int>(result.size()), nullptr, nullptr);
  return result;
}

// The text of GetLastError().
[[noreturn]] void fail(const char* what) {
  const DWORD error = GetLastError();
  wchar_t text[512];
  const DWORD size = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, nullptr, error, 0, text,
                                    static_cast<DWORD>(std::size(text)), nullptr);
  std::string reason = narrow({text, size});
  while (!reason.empty() && (reason.back() == '\n' || reason.back() == '\r' || reason.back() == '.')) reason.pop_back();
  if (reason.empty()) reason = "error " + std::to_string(error);
  throw FileError{*what ? what + (": " + reason) : reason};
}
constexpr const char* not_regular = "not a regular file";

}  // namespace

/// Closed at the end.
class Handle {
 public:
  explicit Handle(HANDLE handle = INVALID_HANDLE_VALUE) noexcept : handle_(handle) {}
  Handle(const Handle&) = delete;
  ~Handle() { close(); }
  void close() noexcept {
    if (*this) CloseHandle(std::exchange(handle_, INVALID_HANDLE_VALUE));
  }
  void swap(Handle& other) noexcept { std::swap(handle_, other.handle_); }
  explicit operator bool() const noexcept { return handle_ != INVALID_HANDLE_VALUE && handle_; }
  HANDLE get() const noexcept { return handle_; }

 private:
  HANDLE handle_;
};

namespace {

// The position of one read or write.
OVERLAPPED at(std::uint64_t offset) noexcept {
  OVERLAPPED result{};
  result.Offset = static_cast<DWORD>(offset);
  result.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return result;
}
constexpr std::uint64_t most_at_once = std::uint64_t{1} << 30;  // bytes of one read or write

bool is_there(const std::wstring& path) noexcept { return GetFileAttributesW(path.c_str()) != INVALID_FILE_ATTRIBUTES; }
bool is_folder(const std::wstring& path) noexcept {
  const DWORD attributes = GetFileAttributesW(path.c_str());
  return attributes != INVALID_FILE_ATTRIBUTES && attributes & FILE_ATTRIBUTE_DIRECTORY;
}

}  // namespace

std::FILE* open_text(const char* path) noexcept {
  try {
    return _wfopen(wide(path).c_str(), L"wb");
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

struct ReadableFile::Handle {
  os::Handle file;
};

ReadableFile::ReadableFile(const std::string& path) {
  const std::wstring name = wide(path);
  if (is_folder(name)) throw FileError{not_regular};
  // As on POSIX systems, the file may be written, replaced and removed meanwhile.
  constexpr DWORD shared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
  handle_.reset(new Handle{os::Handle(
      CreateFileW(name.c_str(), GENERIC_READ, shared, nullptr, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr))});
  if (!handle_->file) fail("cannot be opened");
  if (GetFileType(handle_->file.get()) != FILE_TYPE_DISK) throw FileError{not_regular};
  LARGE_INTEGER size{};
  if (!GetFileSizeEx(handle_->file.get(), &size)) fail("");
  size_ = static_cast<std::uint64_t>(size.QuadPart);
}

std::size_t ReadableFile::read(std::uint64_t offset, void* to, std::size_t count) const {
  OVERLAPPED place = at(offset);
  DWORD got = 0;
  const auto wanted = static_cast<DWORD>(std::min<std::uint64_t>(count, most_at_once));
  if (!ReadFile(handle_->file.get(), to, wanted, &got, &place) && GetLastError() != ERROR_HANDLE_EOF) fail("");
  return got;
}

std::shared_ptr<const std::byte> ReadableFile::map() const {
  const os::Handle mapping(CreateFileMappingW(handle_->file.get(), nullptr, PAGE_READONLY, 0, 0, nullptr));
  if (!mapping) fail("cannot be mapped");
  void* begin = MapViewOfFile(mapping.get(), FILE_MAP_READ, 0, 0, 0);  // keeps the mapping
  if (!begin) fail("cannot be mapped");
  return {static_cast<const std::byte*>(begin), [](const std::byte* p) { UnmapViewOfFile(p); }};
}

// ---- Files that are replaced

namespace {

constexpr const char* not_written = "cannot be written";

std::wstring full(const std::wstring& path) {
  std::wstring result(32768, L'\0');  // the longest path
  const DWORD size = GetFullPathNameW(path.c_str(), static_cast<DWORD>(result.size()), result.data(), nullptr);
  result.resize(size < result.size() ? size : 0);
  return result;
}

// The file behind symbolic links, if it exists.
std::wstring behind_links(const std::wstring& path) {
  const os::Handle file(CreateFileW(path.c_str(), 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                    OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr));
  if (!file) return full(path);
  if (GetFileType(file.get()) != FILE_TYPE_DISK) throw FileError{not_regular};
  std::wstring result(32768, L'\0');
  const DWORD size =
      GetFinalPathNameByHandleW(file.get(), result.data(), static_cast<DWORD>(result.size()), FILE_NAME_NORMALIZED);
  result.resize(size < result.size() ? size : 0);
  return result.empty() ? full(path) : result;
}

std::wstring temporary_name(const std::wstring& path, unsigned serial) {
  const std::size_t slash = path.find_last_of(L"/\\:");
  const std::size_t begin = slash == std::wstring::npos ? 0 : slash + 1;
  return path.substr(0, begin) + L"." + path.substr(begin, 200) + L".reel" + std::to_wstring(serial) + L".tmp";
}

// Renames an open file onto another, which may be open. False, and GetLastError() is set, if it cannot. Only Windows 10
// replaces a file that is open.
bool rename_open(HANDLE file, const std::wstring& target) {
  // FILE_RENAME_INFO, of which older headers lack the flags.
  struct Rename {
    DWORD flags;
    HANDLE root;
    DWORD bytes;
    wchar_t name[1];
  };
  constexpr auto rename_info = FileRenameInfo, rename_info_ex = static_cast<FILE_INFO_BY_HANDLE_CLASS>(22);
  constexpr DWORD replace_if_exists = 1, posix_semantics = 2;
  const std::size_t bytes = target.size() * sizeof(wchar_t);
  std::vector<std::byte> memory(sizeof(Rename) + bytes);
  auto& rename =
      *new (memory.data()) Rename{replace_if_exists | posix_semantics, nullptr, static_cast<DWORD>(bytes), {}};
  std::memcpy(rename.name, target.data(), bytes);
  const auto size = static_cast<DWORD>(memory.size());
  if (SetFileInformationByHandle(file, rename_info_ex, memory.data(), size)) return true;
  rename.flags = replace_if_exists;
  return SetFileInformationByHandle(file, rename_info, memory.data(), size);
}

// Removes temporary files that no process writes: living writers do not let others remove them.
void remove_abandoned(const std::wstring& of) {
  for (unsigned serial = 0;; ++serial) {
    const std::wstring name = temporary_name(of, serial);
    if (!DeleteFileW(name.c_str()) && GetLastError() == ERROR_FILE_NOT_FOUND) return;
    if (GetFileAttributesW(name.c_str()) == INVALID_FILE_ATTRIBUTES && GetLastError() != ERROR_FILE_NOT_FOUND) return;
  }
}

}  // namespace

struct ReplacedFile::State {
  std::wstring target, temporary;
  os::Handle file;

  void create() {
    for (unsigned serial = 0;; ++serial) {
      std::wstring next = temporary_name(target, serial);
      os::Handle made(CreateFileW(next.c_str(), GENERIC_WRITE | DELETE, FILE_SHARE_READ, nullptr, CREATE_NEW,
                                  FILE_ATTRIBUTE_NORMAL, nullptr));
      const DWORD error = GetLastError();
      if (!made && (error == ERROR_FILE_EXISTS || error == ERROR_SHARING_VIOLATION || is_there(next))) continue;
      if (!made) {
        SetLastError(error);
        fail(not_written);
      }
      file.swap(made);
      temporary.swap(next);
      return;
    }
  }
  ~State() {
    file.close();
    if (!temporary.empty()) DeleteFileW(temporary.c_str());
  }
};

ReplacedFile::ReplacedFile(const std::string& path) : state_(new State) {
  State& s = *state_;
  s.target = behind_links(wide(path));
  if (is_folder(s.target)) throw FileError{not_regular};
  if (s.target.empty()) {
    SetLastError(ERROR_PATH_NOT_FOUND);
    fail(not_written);
  }
  remove_abandoned(s.target);
  s.create();
}

ReplacedFile::~ReplacedFile() = default;

void ReplacedFile::write_at(std::uint64_t offset, const void* bytes, std::uint64_t count) {
  const auto* from = static_cast<const char*>(bytes);
  while (count > 0) {
    OVERLAPPED place = at(offset);
    DWORD put = 0;
    if (!WriteFile(state_->file.get(), from, static_cast<DWORD>(std::min(count, most_at_once)), &put, &place))
      fail(not_written);
    from += put;
    offset += put;
    count -= put;
  }
}

void ReplacedFile::commit() {
  State& s = *state_;
  if (!FlushFileBuffers(s.file.get())) fail(not_written);
  // It stays open until it has its name, so that no other writer removes it.
  constexpr int most_attempts = 100;  // of about 10 ms: another process may hold the old file for a moment
  for (int attempt = 1; !rename_open(s.file.get(), s.target); ++attempt) {
    const DWORD error = GetLastError();
    if (attempt == most_attempts || (error != ERROR_ACCESS_DENIED && error != ERROR_SHARING_VIOLATION))
      fail("cannot be replaced");
    Sleep(10);
  }
  s.temporary.clear();
  FlushFileBuffers(s.file.get());  // the name
  s.file.close();
}

}  // namespace reel::os
