// npy files: files written by NumPy, files written and read back, and bytes that are not a valid file.
#include "samples.hpp"

using namespace reel;
using Catch::Contains;
using support::read_bytes;

namespace {

const std::string data_folder = REEL_SOURCE_ROOT "/test/io/data/";

std::string refused(const std::string& bytes) { return samples::refusal(bytes, load_npy); }

std::string with_header(const std::string& dictionary, const std::string& elements) {
  const std::size_t n = dictionary.size();
  return "\x93NUMPY\x01" + std::string(1, '\0') + static_cast<char>(n % 256) + static_cast<char>(n / 256) + dictionary +
         elements;
}

std::string of_shape(const std::string& shape, std::size_t bytes) {
  return with_header("{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + "}", std::string(bytes, '\0'));
}

}  // namespace

TEST_CASE("every dtype and layout comes back from an npy file") {
  const support::TemporaryFolder folder;
  for (const auto& [name, x] : samples::all()) {
    INFO(name);
    save_npy(folder / "x.npy", x);
    samples::require_same({{name, load_npy(folder / "x.npy")}}, {{name, x}});
  }
}

TEST_CASE("NaN, infinities and the sign of zero come back from an npy file") {
  const support::TemporaryFolder folder;
  const Tensor x = tensor({-0.0, INFINITY, -INFINITY, NAN, 5e-324});
  save_npy(folder / "x.npy", x);
  CHECK(support::same_bits(load_npy(folder / "x.npy"), x));
}

TEST_CASE("the format versions that NumPy writes are read") {
  for (const char* version : {"1", "2", "3"})
    CHECK(array_equal(load_npy(data_folder + "numpy_version_" + version + ".npy"), samples::numbers(DType::float64)));
}

TEST_CASE("an npy file is written as NumPy writes it") {
  const support::TemporaryFolder folder;
  save_npy(folder / "x.npy", samples::numbers(DType::float64));
  CHECK(read_bytes(folder / "x.npy") == read_bytes(data_folder + "numpy_version_1.npy"));
}

TEST_CASE("integers of types that no tensor has are widened where an npy file is read") {
  CHECK(array_equal(load_npy(data_folder + "numpy_int16.npy"), tensor<int>({{0, 1, 2}, {3, 4, 5}})));
  const support::TemporaryFolder folder;
  const auto read = [&](const std::string& code, const std::string& elements) {
    support::write_bytes(folder / "x.npy",
                         with_header("{'descr': '" + code + "', 'fortran_order': False, 'shape': (2,)}", elements));
    return load_npy(folder / "x.npy");
  };
  const auto check = [&](const std::string& code, const std::string& elements, const Tensor& expected) {
    INFO(code);
    CHECK(support::same_bits(read(code, elements), expected));
  };
  check("|i1", "\x80\x7f", tensor<std::int32_t>({-128, 127}));
  check("<i2", std::string("\0\x80\xff\x7f", 4), tensor<std::int32_t>({-32768, 32767}));
  check(">i2", std::string("\x80\0\x7f\xff", 4), tensor<std::int32_t>({-32768, 32767}));
  check("<u2", std::string("\xff\xff\1\0", 4), tensor<std::int32_t>({65535, 1}));
  check("<u4", std::string("\xff\xff\xff\xff\1\0\0\0", 8), tensor<std::int64_t>({4294967295, 1}));
  check(">u4", std::string("\xff\xff\xff\xff\0\0\0\1", 8), tensor<std::int64_t>({4294967295, 1}));
  const std::string most = "\xff\xff\xff\xff\xff\xff\xff\x7f", one = std::string("\1\0\0\0\0\0\0\0", 8);
  check("<u8", most + one, tensor<std::int64_t>({std::numeric_limits<std::int64_t>::max(), 1}));
  CHECK_THROWS_WITH(read("<u8", one + std::string(7, '\0') + "\x80"),
                    Contains("element 1 is 9223372036854775808, too large for int64"));
  CHECK_THROWS_WITH(read("<u2", "abc"), Contains("uint16 [2] does not fit the 3 bytes"));
  CHECK_THROWS_WITH(read("|i1", "abc"), Contains("int8 [2] has 2 bytes, there are 3"));
}

TEST_CASE("an npy file with a dtype that no tensor has is refused") {
  CHECK_THAT(refused(with_header("{'descr': '<U4', 'fortran_order': False, 'shape': (1,)}", std::string(16, '\0'))),
             Contains("no tensor has dtype '<U4'") && Contains("astype"));
  CHECK_THROWS_WITH(load_npy(data_folder + "numpy_record.npy"), Contains("has fields") && Contains("('a', '<f4')"));
}

TEST_CASE("invalid npy files are refused with their fault") {
  const std::string good = of_shape("(2,)", 16);
  CHECK(refused(good).empty());
  CHECK_THAT(refused(""), Contains("byte 0: 8 bytes are needed here, 0 remain"));
  CHECK_THAT(refused("PK\3\4 no npy file"), Contains("this is no npy file"));
  CHECK_THAT(refused("\x93NUMPY\x04" + good.substr(7)), Contains("format version 4"));
  CHECK_THAT(refused(good.substr(0, 12)), Contains("the header has"));
  CHECK_THAT(refused(good + "x"), Contains("has 16 bytes, there are 17"));
  CHECK_THAT(refused(good.substr(0, good.size() - 1)), Contains("float64 [2] does not fit the 15 bytes"));
  CHECK_THAT(refused(of_shape("(9223372036854775807, 9223372036854775807)", 8)), Contains("does not fit"));
  CHECK_THAT(refused(of_shape("(0, 9223372036854775807, 9223372036854775807)", 0)), Contains("does not fit"));
  CHECK_THAT(refused(of_shape("(99999999999999999999,)", 8)), Contains("no extent at"));
  CHECK_THAT(refused(of_shape("(-1,)", 8)), Contains("no extent at"));
  CHECK_THAT(refused(of_shape("(" + std::string(200, '1') + ")", 8)), Contains("no extent at"));
  std::string ones = "(";
  for (int i = 0; i < 33; ++i) ones += "1, ";
  CHECK_THAT(refused(of_shape(ones + ")", 8)), Contains("more than 32 axes"));
  const auto header = [](const std::string& text) { return refused(with_header(text, std::string(8, '\0'))); };
  CHECK_THAT(header("{'descr': '<f8', 'shape': ()}"), Contains("'descr', 'fortran_order' or 'shape' is missing"));
  CHECK_THAT(header("{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': ()}"),
             Contains("'descr' is unknown or there twice"));
  CHECK_THAT(header("{'descr': '<f8', 'fortran_order': 0, 'shape': ()}"), Contains("neither True nor False"));
  CHECK_THAT(header("{'descr': '<f8', 'fortran_order': False, 'shape': ()} and"),
             Contains("text after the dictionary"));
  CHECK_THAT(header("{'descr': '<f8"), Contains("a string does not end"));
  CHECK_THAT(header("{'descr' '<f8'}"), Contains("':' is missing before"));
  CHECK_THAT(header("{'descr': '', 'fortran_order': False, 'shape': ()}"), Contains("no tensor has dtype ''"));
  CHECK_THAT(header("{'descr': '<>f8', 'fortran_order': False, 'shape': ()}"), Contains("no tensor has dtype"));
}

TEST_CASE("booleans of a file that are neither 0 nor 1 are true") {
  const support::TemporaryFolder folder;
  support::write_bytes(folder / "x.npy", with_header("{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}",
                                                     std::string("\0\1\7", 3)));
  const Tensor x = load_npy(folder / "x.npy");
  CHECK(support::same_bits(x, cast(tensor({0, 1, 1}), DType::boolean)));
}

TEST_CASE("tensors from an npy file can be watched") {
  const support::TemporaryFolder folder;
  save_npy(folder / "x.npy", samples::numbers(DType::float64));
  GradientTape tape;
  const Tensor x = transpose(load_npy(folder / "x.npy"));
  tape.watch(x);
  CHECK(array_equal(*tape.gradient(sum(x * x), x), 2 * x));
}
