// The records of a zip archive, as both reader and writer see them: a signature, then little-endian fields.
#pragma once
#include <cstdint>
#include <string>
#include <type_traits>

namespace reel::io::zip {

inline constexpr std::uint32_t local_signature = 0x04034b50, central_signature = 0x02014b50, end_signature = 0x06054b50,
                               end64_signature = 0x06064b50, locator_signature = 0x07064b50;
/// Bytes of each record without its name, extra fields and comment.
inline constexpr std::uint64_t local_bytes = 30, central_bytes = 46, end_bytes = 22, end64_bytes = 56,
                               locator_bytes = 20;
inline constexpr std::uint16_t version = 45;     // the first with zip64
inline constexpr std::uint16_t zip64_extra = 1;  // the extra field that holds 64-bit sizes
inline constexpr std::uint16_t encrypted_flag = 1, utf8_flag = 1 << 11;
inline constexpr std::uint16_t date_1980_01_01 = 1 << 5 | 1;
/// The value of a 16-bit or 32-bit field whose number is in the zip64 record.
inline constexpr std::uint16_t elsewhere16 = 0xffff;
inline constexpr std::uint32_t elsewhere32 = 0xffffffff;

/// Appends fields to a record.
class Record {
 public:
  template <class... T>
  explicit Record(T... fields) {
    (add(fields), ...);
  }
  template <class T>
  void add(T field) {
    static_assert(std::is_unsigned_v<T>);
    text_.append(reinterpret_cast<const char*>(&field), sizeof(T));
  }
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

}  // namespace reel::io::zip
