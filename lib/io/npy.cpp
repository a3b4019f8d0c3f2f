#include "io/npy.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <reel/io.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>
#include <utility>

#include "io/elements.hpp"
#include "io/output_file.hpp"

namespace reel {
namespace io {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view magic = "\x93NUMPY"sv;
constexpr std::size_t alignment = 64;

// The type codes without byte order.
constexpr std::array<std::pair<std::string_view, Stored>, 15> codes{{{"b1", {DType::boolean}},
                                                                     {"i1", stored_int8},
                                                                     {"u1", {DType::uint8}},
                                                                     {"i2", stored_int16},
                                                                     {"u2", stored_uint16},
                                                                     {"i4", {DType::int32}},
                                                                     {"u4", stored_uint32},
                                                                     {"i8", {DType::int64}},
                                                                     {"u8", stored_uint64},
                                                                     {"f2", {DType::float16}},
                                                                     {"V2", {DType::bfloat16}},
                                                                     {"f4", {DType::float32}},
                                                                     {"f8", {DType::float64}},
                                                                     {"c8", {DType::complex64}},
                                                                     {"c16", {DType::complex128}}}};

struct Header {
  std::optional<Stored> type;
  std::optional<bool> fortran_order;
  std::optional<Shape> shape;
  bool big_endian = false;
};

// Parses the text of the header from left to right.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const ByteStream& in) : rest_(text), in_(in) {}

  Header parse() {
    Header header;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      value(key, header);
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (!rest_.empty()) refuse("text after the dictionary");
    if (!header.type || !header.fortran_order || !header.shape)
      refuse("'descr', 'fortran_order' or 'shape' is missing");
    return header;
  }

 private:
  template <class... A>
  [[noreturn]] void refuse(fmt::format_string<A...> text, const A&... args) const {
    in_.refuse("the array's header: {}", fmt::vformat(detail::text_of(text), fmt::make_format_args(args...)));
  }
  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n\r"), rest_.size())); }
  bool accept(char c) {
    skip_spaces();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) refuse("'{}' is missing before \"{}\"", c, rest_.substr(0, 20));
  }
  bool accept_word(std::string_view word) {
    skip_spaces();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::string_view string() {
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const std::size_t end = rest_.find(quote);
    if (end == rest_.npos) refuse("a string does not end");
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }

  void value(std::string_view key, Header& header) {
    if (key == "descr" && !header.type)
      descr(header);
    else if (key == "fortran_order" && !header.fortran_order)
      header.fortran_order = boolean();
    else if (key == "shape" && !header.shape)
      header.shape = tuple();
    else
      refuse("'{}' is unknown or there twice", key);
  }
  void descr(Header& header) {
    skip_spaces();
    if (!rest_.empty() && rest_.front() == '[')
      refuse("dtype {} has fields; save each of them alone", rest_.substr(0, rest_.find(']') + 1));
    const std::string_view text = string();
    const std::string_view code = text.substr(std::min<std::size_t>(text.find_first_not_of("<>=|"), text.size()));
    for (const auto& [name, type] : codes)
      if (name == code && text.size() <= code.size() + 1) header.type = type;
    if (!header.type) refuse("no tensor has dtype '{}'; convert the array with astype before it is saved", text);
    header.big_endian = text.front() == '>';
  }
  bool boolean() {
    if (accept_word("True")) return true;
    if (!accept_word("False")) refuse("'fortran_order' is neither True nor False");
    return false;
  }
  Shape tuple() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      if (shape.rank() == max_rank) refuse("more than {} axes", max_rank);
      shape.push_back(extent());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }
  std::int64_t extent() {
    skip_spaces();
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), n);
    if (error != std::errc() || n < 0) refuse("no extent at \"{}\"", rest_.substr(0, 20));
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    accept('L');  // as Python 2 wrote them
    return n;
  }

  std::string_view rest_;
  const ByteStream& in_;
};

Header read_header(ByteStream& in) {
  std::array<char, magic.size() + 2> start{};
  in.read(start.data(), start.size());
  if (std::string_view(start.data(), magic.size()) != magic) in.refuse("this is no npy file: it begins otherwise");
  const int version = static_cast<unsigned char>(start[magic.size()]);
  if (version < 1 || version > 3) in.refuse("format version {}; 1 to 3 are known", version);
  std::uint32_t length = 0;
  in.read(&length, version == 1 ? 2 : 4);
  if (length > in.remaining()) in.refuse("the header has {} bytes, {} remain", length, in.remaining());
  std::string text(length, '\0');
  in.read(text.data(), length);
  return HeaderParser(text, in).parse();
}

}  // namespace

Tensor read_npy(ByteStream& in) {
  const Header header = read_header(in);
  const Stored type = *header.type;
  Shape shape = *header.shape;
  const std::string fault = fault_of_size(in.remaining(), shape, type);
  if (!fault.empty()) in.refuse("the array of {}", fault);
  if (*header.fortran_order) std::reverse(shape.begin(), shape.end());
  void* data = nullptr;
  const Tensor x = detail::uninitialized(shape, type.dtype, data);
  const std::uint64_t bytes = in.remaining();
  void* const stored = place_of_stored(x, data, bytes);
  in.read(stored, bytes);
  if (header.big_endian) swap_bytes(stored, bytes, type);
  if (const std::string misfit = widen(data, bytes, type); !misfit.empty())
    in.refuse("the array of uint64: {}", misfit);
  if (type == DType::boolean) normalize_booleans(data, bytes);
  return *header.fortran_order && shape.rank() > 1 ? transpose(x) : x;
}

std::string npy_header(const Tensor& x) {
  std::string text = "{'descr': '";
  for (const auto& [code, type] : codes)
    if (type == x.dtype() && !type.integer_bytes) text += (type.size() == 1 ? "|" : "<") + std::string(code);
  text += "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t extent : x.shape()) text += std::to_string(extent) + (x.rank() == 1 ? "," : ", ");
  if (x.rank() > 1) text.resize(text.size() - 2);
  text += "), }";
  const std::size_t before = magic.size() + 4, end = before + text.size() + 1;
  text.append((alignment - end % alignment) % alignment, ' ');
  text += '\n';
  const std::size_t length = text.size();  // at most 32 axes: fits 16 bits
  return std::string(magic) + '\1' + '\0' + static_cast<char>(length % 256) + static_cast<char>(length / 256) + text;
}

}  // namespace io

Tensor load_npy(const std::string& path) {
  const io::InputFile file("load_npy", path);
  io::FileStream in(file, 0, file.size());
  return io::read_npy(in);
}

void save_npy(const std::string& path, const Tensor& x) {
  const io::RowMajor elements(x);
  io::OutputFile file("save_npy", path);
  file.write(io::npy_header(x));
  file.write(elements.data(), elements.bytes());
  file.commit();
}

}  // namespace reel
