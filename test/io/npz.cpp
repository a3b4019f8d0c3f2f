// npz files: files written by NumPy, files written and read back, and bytes that are not a valid file.
#include "samples.hpp"

using namespace reel;
using Catch::Contains;
using support::read_bytes;

namespace {

const std::string data_folder = REEL_SOURCE_ROOT "/test/io/data/";

std::string refused(const std::string& bytes) { return samples::refusal(bytes, load_npz); }

// An archive of one array, as the writer makes it.
std::string archive(bool compressed) {
  const support::TemporaryFolder folder;
  save_npz(folder / "x.npz", {{"x", samples::numbers(DType::float64)}}, {.compressed = compressed});
  return read_bytes(folder / "x.npz");
}

std::string replaced(std::string bytes, std::size_t at, const std::string& by) {
  return bytes.replace(at, by.size(), by);
}

}  // namespace

TEST_CASE("every dtype and layout comes back from an npz file") {
  const support::TemporaryFolder folder;
  NamedTensors tensors = samples::all();
  tensors["größe"] = scalar(1.);
  tensors["a/b"] = random_normal(*std::make_unique<Generator>(1), {300, 41});
  for (const bool compressed : {false, true}) {
    save_npz(folder / "all.npz", tensors, {.compressed = compressed});
    samples::require_same(load_npz(folder / "all.npz"), tensors);
  }
}

TEST_CASE("compression makes a file of zeros small") {
  const support::TemporaryFolder folder;
  save_npz(folder / "x.npz", {{"x", zeros({100000})}}, {.compressed = true});
  CHECK(std::filesystem::file_size(folder / "x.npz") < 2000);
  CHECK(array_equal(load_npz(folder / "x.npz").at("x"), zeros({100000})));
}

TEST_CASE("what NumPy saves in an npz file is read") {
  for (const char* file : {"numpy.npz", "numpy_compressed.npz"}) {
    INFO(file);
    const NamedTensors found = load_npz(data_folder + file);
    NamedTensors wanted;
    for (const DType dtype : samples::dtypes) {
      wanted[std::string(name(dtype)) + ".little"] = samples::numbers(dtype);
      if (dtype != DType::bfloat16) wanted[std::string(name(dtype)) + ".big"] = samples::numbers(dtype);
    }
    const Tensor numbers = samples::numbers(DType::float64);
    wanted["fortran"] = numbers;
    wanted["rank 0"] = scalar(5.);
    wanted["rank 1"] = wanted["größe"] = numbers[1];
    wanted["empty"] = zeros({0, 2});
    samples::require_same(found, wanted);
  }
}

TEST_CASE("an empty npz file comes back") {
  const support::TemporaryFolder folder;
  save_npz(folder / "x.npz", {});
  CHECK(load_npz(folder / "x.npz").empty());
}

TEST_CASE("names that no npz file can hold are refused") {
  const support::TemporaryFolder folder;
  CHECK_THROWS_AS(save_npz(folder / "x.npz", {{"", scalar(1.)}}), ValueError);
  CHECK_THROWS_WITH(save_npz(folder / "x.npz", {{std::string(70000, 'a'), scalar(1.)}}),
                    Contains("a name has 70000 bytes"));
  CHECK_FALSE(std::filesystem::exists(folder / "x.npz"));
}

TEST_CASE("invalid npz files are refused with their fault") {
  const std::string good = archive(false), deflated = archive(true);
  const std::size_t central = good.find("PK\1\2"), end64 = good.find("PK\6\6"), end = good.find("PK\5\6");
  CHECK(refused(good).empty());
  CHECK_THAT(refused(""), Contains("too short"));
  CHECK_THAT(refused(std::string(100, 'x')), Contains("its end is not there"));
  CHECK_THAT(refused(replaced(good, end + 4, "\1")), Contains("split into several files"));
  CHECK_THAT(refused(replaced(good, end64, "xx")), Contains("the zip64 record is not there"));
  CHECK_THAT(refused(replaced(good, end64 + 32, "\2")), Contains("a directory of 2 members"));
  CHECK_THAT(refused(replaced(good, central, "xx")), Contains("a member's record is not there"));
  CHECK_THAT(refused(replaced(good, central + 8, "\1")), Contains("encrypted"));
  CHECK_THAT(refused(replaced(good, central + 10, "\xc")), Contains("compression method 12"));
  CHECK_THAT(refused(replaced(good, central + 28, "\xff\xff")), Contains("leaves the directory"));
  CHECK_THAT(refused(replaced(good, 0, "xx")), Contains("member 'x.npy' is not there"));
  CHECK_THAT(refused(replaced(good, 30, "y")), Contains("the directory calls this member 'x.npy'"));
  CHECK_THAT(refused(replaced(good, central + 46, "y")), Contains("the directory calls this member 'y.npy'"));
  CHECK_THAT(refused(replaced(good, good.find("NUMPY") + 100, "!")),
             Contains("text after the dictionary") || Contains("checksum"));
  CHECK_THAT(refused(replaced(good, central - 1, "!")), Contains("the checksum is"));
  CHECK_THAT(refused(replaced(deflated, deflated.find("PK\1\2") - 3, "!!!")), Contains("of 'x.npy'"));
  const std::size_t sizes = central + 46 + 5 + 4;  // of the zip64 field: content, then bytes in the file
  CHECK_THAT(refused(replaced(good, sizes, "\1")), Contains("cannot hold"));
  const std::size_t deflated_sizes = deflated.find("PK\1\2") + 46 + 5 + 4;
  CHECK_THAT(refused(replaced(deflated, deflated_sizes + 3, "\1")), Contains("cannot hold"));  // 16 MiB
  CHECK_THAT(refused(replaced(deflated, deflated_sizes, "\xff")), Contains("does not fit") || Contains("has 48 bytes"));
}

TEST_CASE("bytes after the end of a deflate stream are refused") {
  std::string bytes = archive(true);
  const std::size_t central = bytes.find("PK\1\2");
  bytes.insert(central, "x");
  const std::size_t end64 = bytes.find("PK\6\6"), locator = bytes.find("PK\6\7");
  const std::size_t deflated = central + 1 + 46 + 5 + 4 + 8;  // the member's bytes in the file, in its zip64 field
  for (const std::size_t at : {deflated, end64 + 48, locator + 8}) ++bytes[at];
  CHECK_THAT(refused(bytes), Contains("more is deflated here than is said"));
}

TEST_CASE("two members of one name, and members that overlap, are refused") {
  const support::TemporaryFolder folder;
  save_npz(folder / "x.npz", {{"a", scalar(1.)}, {"b", scalar(2.)}});
  std::string twice = read_bytes(folder / "x.npz");
  for (std::size_t at = twice.find("b.npy"); at != twice.npos; at = twice.find("b.npy", at)) twice[at] = 'a';
  CHECK_THAT(refused(twice), Contains("two members are named 'a.npy'"));
  std::string overlapping = read_bytes(folder / "x.npz");
  const std::size_t sizes = overlapping.find("PK\1\2") + 46 + 5 + 4;  // of the first central record's zip64 field
  for (const std::size_t at : {sizes, sizes + 8}) overlapping[at] = static_cast<char>(overlapping[at] + 10);
  CHECK_THAT(refused(overlapping), Contains("member 'b.npy' overlaps 'a.npy'"));
}

TEST_CASE("a member that is no npy file is refused") {
  std::string bytes = archive(false);
  for (std::size_t at = bytes.find("x.npy"); at != bytes.npos; at = bytes.find("x.npy", at))
    bytes.replace(at, 5, "x.txt");
  CHECK_THAT(refused(bytes), Contains("member 'x.txt' is no npy file"));
}
