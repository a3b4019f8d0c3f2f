// safetensors files: written and read back, also memory-mapped, and bytes that are not a valid file.
#include <fstream>

#include "samples.hpp"
#ifndef _WIN32
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>

#include "support/child.hpp"
#endif

using namespace reel;
using Catch::Contains;
using support::read_bytes;

namespace {

std::string with_header(const std::string& header, std::size_t bytes) {
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  return length + header + std::string(bytes, '\0');
}

std::string refused(const std::string& header, std::size_t bytes = 8) {
  return samples::refusal(with_header(header, bytes), [](const std::string& path) { load_safetensors(path); });
}

NamedTensors without_complex128() {
  NamedTensors tensors = samples::all();
  std::erase_if(tensors, [](const auto& entry) { return entry.second.dtype() == DType::complex128; });
  return tensors;
}

}  // namespace

TEST_CASE("every dtype that safetensors knows comes back, copied and mapped") {
  const support::TemporaryFolder folder;
  NamedTensors tensors = without_complex128();
  tensors["with \"quotes\", \n and größe"] = scalar(1.f);
  save_safetensors(folder / "all.safetensors", tensors, {{"format", "pt"}, {"note", "a \"b\""}});
  for (const bool mapped : {false, true})
    samples::require_same(load_safetensors(folder / "all.safetensors", {.mapped = mapped}), tensors);
  CHECK(load_safetensors_metadata(folder / "all.safetensors") ==
        std::map<std::string, std::string>{{"format", "pt"}, {"note", "a \"b\""}});
}

TEST_CASE("a mapped tensor outlives the name of its file and the other tensors of the file") {
  const support::TemporaryFolder folder;
  save_safetensors(folder / "x.safetensors", {{"a", arange(1000.)}, {"b", ones({3})}});
  Tensor a = load_safetensors(folder / "x.safetensors", {.mapped = true}).at("a");
  std::filesystem::remove(folder / "x.safetensors");
  CHECK(array_equal(a, arange(1000.)));
  a = std::move(a) * 2;  // an op that could reuse its operand must not write to the map
  CHECK(a[999].item() == 1998);
}

TEST_CASE("elements that are not aligned in the file are copied when it is mapped") {
  const support::TemporaryFolder folder;
  std::string bytes = with_header(R"({"x":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}} )", 0);
  const double value = 2.5;
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  REQUIRE((bytes.size() - sizeof value) % 8 != 0);
  support::write_bytes(folder / "x.safetensors", bytes);
  CHECK(load_safetensors(folder / "x.safetensors", {.mapped = true}).at("x")[0].item() == 2.5);
}

TEST_CASE("the data of a safetensors file that is written begins at a multiple of eight bytes") {
  const support::TemporaryFolder folder;
  for (const char* name : {"a", "ab", "abc", "abcdefgh"}) {
    save_safetensors(folder / "x.safetensors", {{name, scalar(1.)}, {"flag", scalar(true)}});
    CHECK((read_bytes(folder / "x.safetensors").size() - 9) % 8 == 0);
    CHECK(load_safetensors(folder / "x.safetensors").at(name).item() == 1);
  }
}

TEST_CASE("booleans of a safetensors file that are neither 0 nor 1 are true") {
  const support::TemporaryFolder folder;
  support::write_bytes(
      folder / "x.safetensors",
      with_header(R"({"x":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})", 0) + std::string("\0\1\7", 3));
  for (const bool mapped : {false, true})
    CHECK(support::same_bits(load_safetensors(folder / "x.safetensors", {.mapped = mapped}).at("x"),
                             cast(tensor({0, 1, 1}), DType::boolean)));
}

TEST_CASE("integers of types that no tensor has are widened where a safetensors file is read") {
  const support::TemporaryFolder folder;
  const auto read = [&](const std::string& dtype, const std::string& elements, bool mapped) {
    const std::string header =
        R"({"x":{"dtype":")" + dtype + R"(","shape":[2],"data_offsets":[0,)" + std::to_string(elements.size()) + "]}}";
    support::write_bytes(folder / "x.safetensors", with_header(header, 0) + elements);
    return load_safetensors(folder / "x.safetensors", {.mapped = mapped}).at("x");
  };
  for (const bool mapped : {false, true}) {
    CHECK(support::same_bits(read("I8", "\x80\x7f", mapped), tensor<std::int32_t>({-128, 127})));
    CHECK(support::same_bits(read("I16", "\xff\xff\xff\x7f", mapped), tensor<std::int32_t>({-1, 32767})));
    CHECK(support::same_bits(read("U16", "\xff\xff\xff\x7f", mapped), tensor<std::int32_t>({65535, 32767})));
    CHECK(support::same_bits(read("U32", std::string("\xff\xff\xff\xff\1\0\0\0", 8), mapped),
                             tensor<std::int64_t>({4294967295, 1})));
    const std::string one = std::string("\1\0\0\0\0\0\0\0", 8);
    CHECK(support::same_bits(read("U64", one + one, mapped), tensor<std::int64_t>({1, 1})));
    CHECK_THROWS_WITH(read("U64", one + std::string(8, '\xff'), mapped),
                      Contains("'x' of uint64: element 1 is 18446744073709551615, too large for int64"));
  }
}

TEST_CASE("tensors that safetensors cannot hold are refused, and nothing is written") {
  const support::TemporaryFolder folder;
  const std::string path = folder / "x.safetensors";
  CHECK_THROWS_WITH(save_safetensors(path, {{"z", samples::numbers(DType::complex128)}}),
                    Contains("'z' is complex128") && Contains("save_npz"));
  CHECK_THROWS_AS(save_safetensors(path, {{"__metadata__", scalar(1.)}}), ValueError);
  CHECK_THROWS_WITH(save_safetensors(path, {{"\xff", scalar(1.)}}), Contains("not UTF-8"));
  CHECK_THROWS_WITH(save_safetensors(path, {}, {{"a", "\xff"}}), Contains("not UTF-8"));
  CHECK_THROWS_AS(save_safetensors(path, {{"x", Tensor()}}), ValueError);
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("invalid safetensors files are refused with their fault") {
  const auto tensor_of = [](const std::string& dtype, const std::string& shape, const std::string& range) {
    return R"({"x":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + range + "}}";
  };
  CHECK(refused(tensor_of("F64", "[1]", "[0,8]")).empty());
  CHECK(refused("{}", 0).empty());
  const auto load = [](const std::string& path) { load_safetensors(path); };
  CHECK_THAT(samples::refusal("", load), Contains("8 bytes are needed here, the file ends at byte 0"));
  CHECK_THAT(samples::refusal(std::string(8, '\xff') + "{}", load), Contains("at most 100000000 are allowed"));
  CHECK_THAT(samples::refusal(std::string("\x10\0\0\0\0\0\0\0{}", 10), load), Contains("16 bytes are needed here"));
  CHECK_THAT(refused(" {}"), Contains("does not begin with a brace"));
  CHECK_THAT(refused("{\"x\":"), Contains("the header is not JSON"));
  CHECK_THAT(refused("{} {}"), Contains("the header is not JSON"));
  CHECK_THAT(refused("{}", 8), Contains("the tensors have 0 bytes, the file holds 8"));
  CHECK_THAT(refused(tensor_of("F8_E5M2", "[8]", "[0,8]")), Contains("no tensor has dtype F8_E5M2"));
  CHECK_THAT(refused(tensor_of("F64", "[2]", "[0,8]")), Contains("float64 [2] does not fit the 8 bytes"));
  CHECK_THAT(refused(tensor_of("F64", "[]", "[0,16]"), 16), Contains("has 8 bytes, there are 16"));
  CHECK_THAT(refused(tensor_of("F64", "[9223372036854775807,9223372036854775807]", "[0,8]")), Contains("does not fit"));
  CHECK_THAT(refused(tensor_of("F64", "[18446744073709551615]", "[0,8]")), Contains("an extent of"));
  CHECK_THAT(refused(tensor_of("F64", "[-1]", "[0,8]")), Contains("the number -1"));
  CHECK_THAT(refused(tensor_of("F64", "[1.5]", "[0,8]")), Contains("the number 1.5"));
  CHECK_THAT(refused(tensor_of("F64", "[[1]]", "[0,8]")), Contains("a list where there is none to be"));
  CHECK_THAT(refused(tensor_of("F64", "[1]", "[0,8,8]")), Contains("data_offsets has 3 numbers"));
  CHECK_THAT(refused(tensor_of("F64", "[1]", "[8,0]")), Contains("has bytes 8 to 0"));
  CHECK_THAT(refused(tensor_of("F64", "[1]", "[8,16]"), 16), Contains("the tensor before it ends at 0"));
  CHECK_THAT(refused(tensor_of("F64", "[1]", "[0,16]"), 8), Contains("has 8 bytes, there are 16"));
  CHECK_THAT(refused(tensor_of("F64", "true", "[0,8]")), Contains("a boolean"));
  CHECK_THAT(refused(tensor_of("F64", "null", "[0,8]")), Contains("a null"));
  CHECK_THAT(refused(tensor_of("F64", "{}", "[0,8]")), Contains("an object where there is none to be"));
  CHECK_THAT(refused(tensor_of("F64", "\"1\"", "[0,8]")), Contains("a text where there is none to be"));
  CHECK_THAT(refused(tensor_of("F64", "1", "[0,8]")), Contains("the number 1 where there is none to be"));
  CHECK_THAT(refused(R"({"x":{"dtype":"F64","shape":[1]}})"), Contains("dtype, shape or data_offsets is missing"));
  CHECK_THAT(refused(R"({"x":{"dtype":"F64","dtype":"F64","shape":[1],"data_offsets":[0,8]}})"),
             Contains("a text where"));
  CHECK_THAT(refused(R"({"__metadata__":{"a":1}})"), Contains("the number 1"));
  CHECK_THAT(refused(R"({"__metadata__":{"a":"1","a":"2"}})"), Contains("'a' is there twice"));
  CHECK_THAT(refused(R"({"__metadata__":{},"__metadata__":{}})"), Contains("the metadata is there twice"));
  CHECK_THAT(refused(R"({"x":8})"), Contains("the number 8"));
  const std::string both = R"({"dtype":"F64","shape":[1],"data_offsets":[)";
  CHECK_THAT(refused("{\"x\":" + both + "0,8]},\"x\":" + both + "8,16]}}", 16), Contains("two tensors are named 'x'"));
  CHECK_THAT(refused("{\"x\":" + both + "0,8]},\"y\":" + both + "4,12]}}", 12),
             Contains("the tensor before it ends at 8"));
  CHECK_THAT(refused("{\"x\":" + both + "0,8]},\"y\":" + both + "12,20]}}", 20),
             Contains("the tensor before it ends at 8"));
}

#ifndef _WIN32  // a limit of a process
TEST_CASE("many tensors and texts take at most twice the file and 384 bytes for each tensor") {
  if (const char* path = std::getenv("REEL_TEST_PATH")) {  // a process with a limit: this test, run again below
    const auto count = static_cast<std::size_t>(std::stoi(std::getenv("REEL_TEST_COUNT")));
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t most =
        pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + 2 * std::filesystem::file_size(path) + 384 * count;
    rlimit old{};
    REQUIRE(getrlimit(RLIMIT_AS, &old) == 0);
    const rlimit limit{most, old.rlim_max};
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
    std::size_t found = 0;
    try {
      found = load_safetensors(path).size();
    } catch (const std::bad_alloc&) {
    }
    REQUIRE(setrlimit(RLIMIT_AS, &old) == 0);  // OpenBLAS tries for ever to get memory
    CHECK(found == count);
    return;
  }
  const support::TemporaryFolder folder;
  constexpr std::size_t count = 40000;
  std::string header = "{\"__metadata__\":{", separator;
  for (std::size_t i = 0; i < count; ++i)
    header += std::exchange(separator, ",") + "\"" + std::to_string(i) + "\":\"\"";
  header += "}";
  for (std::size_t i = 0; i < count; ++i)
    header += ",\"layer." + std::to_string(i) + R"(":{"dtype":"F32","shape":[1],"data_offsets":[)" +
              std::to_string(4 * i) + "," + std::to_string(4 * i + 4) + "]}";
  header += "}";
  const std::string path = folder / "x.safetensors";
  support::write_bytes(path, with_header(header, 4 * count));
  const std::string command = "REEL_TEST_COUNT=" + std::to_string(count) + " REEL_TEST_PATH='" + path + "' " +
                              support::own_program() + " 'many tensors and texts*'";
  CHECK(std::system((command + " > /dev/null").c_str()) == 0);
}
#endif
