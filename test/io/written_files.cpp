// Files are replaced completely or not at all, and only regular files are read or replaced.
#include <thread>

#include "samples.hpp"
#ifndef _WIN32
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>

#include "support/child.hpp"
#endif

using namespace reel;
using Catch::Contains;
namespace fs = std::filesystem;

TEST_CASE("a tensor that cannot be saved leaves the old file unchanged") {
  const support::TemporaryFolder folder;
  save_npz(folder / "x.npz", {{"x", scalar(1.)}});
  CHECK_THROWS_AS(save_npz(folder / "x.npz", {{"a", scalar(2.)}, {"b", Tensor()}}), ValueError);
  CHECK(load_npz(folder / "x.npz").at("x").item() == 1);
  CHECK(std::distance(fs::directory_iterator(folder / ""), fs::directory_iterator()) == 1);
}

TEST_CASE("a path with a NUL byte is refused") {
  const support::TemporaryFolder folder;
  const std::string path = (folder / "x.npz") + std::string("\0.npz", 5);
  Tensor x = scalar(1.);
  CHECK_THROWS_WITH(save_npy(path, x), Contains("of the path is NUL"));
  CHECK_THROWS_AS(save_npz(path, {{"x", x}}), IoError);
  CHECK_THROWS_AS(save_safetensors(path, {{"x", x}}), IoError);
  CHECK_THROWS_AS(save(path, x), IoError);
  CHECK_THROWS_AS(ChromeTraceGuard(path), IoError);
  CHECK(fs::is_empty(folder / ""));
  save_npz(folder / "x.npz", {{"x", x}});
  CHECK_THROWS_AS(load_npy(path), IoError);
  CHECK_THROWS_AS(load_npz(path), IoError);
  CHECK_THROWS_AS(load_safetensors(path), IoError);
  CHECK_THROWS_AS(load_csv(path), IoError);
  CHECK_THROWS_AS(load(path, x), IoError);
}

TEST_CASE("paths are UTF-8") {
  const support::TemporaryFolder folder;
  const std::string name = "gr\u00f6\u00dfe \u6570 \U0001f9ee.npz", path = folder / name;
  for (const double value : {1., 2.}) save_npz(path, {{"x", scalar(value)}});
  CHECK(load_npz(path).at("x").item() == 2);
  CHECK(fs::exists(fs::path(std::u8string(path.begin(), path.end()))));
  CHECK(std::distance(fs::directory_iterator(folder / ""), fs::directory_iterator()) == 1);
}

TEST_CASE("a file that is missing, or in no folder, is an error that names it") {
  const support::TemporaryFolder folder;
  CHECK_THROWS_WITH(load_npy(folder / "nowhere"), Contains("nowhere: cannot be opened: "));
  CHECK_THROWS_WITH(save_npy(folder / "no/where", scalar(1.)), Contains("no/where: cannot be written: "));
  CHECK_THROWS_WITH(load_npy(folder / ""), Contains("not a regular file"));
  CHECK_THROWS_WITH(save_npy(folder / "", scalar(1.)), Contains("not a regular file"));
}

TEST_CASE("threads that save to one path at once leave one complete file") {
  const support::TemporaryFolder folder;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int k = 0; k < 8; ++k) save_npy(folder / "x.npy", full({3}, i));
    });
  for (std::thread& t : threads) t.join();
  CHECK(load_npy(folder / "x.npy").shape() == Shape{3});
  CHECK(std::distance(fs::directory_iterator(folder / ""), fs::directory_iterator()) == 1);
}

#ifndef _WIN32  // limits, permissions, links and processes of POSIX
TEST_CASE("a failed write leaves the old file unchanged") {
  const support::TemporaryFolder folder;
  const std::string path = folder / "x.npy";
  save_npy(path, scalar(1.));
  rlimit old{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, old.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  CHECK_THROWS_AS(save_npy(path, zeros({10000})), IoError);
  CHECK_THROWS_WITH(save_npz(path, {{"x", zeros({10000})}}), Contains("cannot be written"));
  REQUIRE(setrlimit(RLIMIT_FSIZE, &old) == 0);
  std::signal(SIGXFSZ, handler);
  CHECK(load_npy(path).item() == 1);
  CHECK(std::distance(fs::directory_iterator(folder / ""), fs::directory_iterator()) == 1);
}

TEST_CASE("saving through a link replaces its target and keeps the permissions") {
  const support::TemporaryFolder folder;
  save_npy(folder / "x.npy", scalar(1.));
  REQUIRE(chmod((folder / "x.npy").c_str(), 0640) == 0);
  fs::create_symlink("x.npy", folder / "link.npy");
  save_npy(folder / "link.npy", scalar(2.));
  CHECK(fs::is_symlink(folder / "link.npy"));
  CHECK(load_npy(folder / "x.npy").item() == 2);
  CHECK((fs::status(folder / "x.npy").permissions() & fs::perms::mask) == fs::perms(0640));
}

TEST_CASE("only regular files are read and replaced") {
  const support::TemporaryFolder folder;
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  for (const std::string& path : {folder / "", folder / "pipe", std::string("/dev/null")}) {
    INFO(path);
    CHECK_THROWS_WITH(load_npy(path), Contains("not a regular file"));
    CHECK_THROWS_WITH(save_npy(path, scalar(1.)), Contains("not a regular file"));
  }
  CHECK_THROWS_WITH(load_npy(folder / "nowhere"), Contains("nowhere: cannot be opened: No such file"));
  CHECK_THROWS_WITH(save_npy(folder / "no/where", scalar(1.)), Contains("cannot be written: No such file"));
}

TEST_CASE("new files have the permissions of the umask") {
  const support::TemporaryFolder folder;
  const mode_t old = umask(027);
  save_npy(folder / "x.npy", scalar(1.));
  umask(old);
  CHECK((fs::status(folder / "x.npy").permissions() & fs::perms::mask) == fs::perms(0640));
}

TEST_CASE("saving through links whose target does not exist yet makes the target") {
  const support::TemporaryFolder folder;
  fs::create_directory(folder / "data");
  fs::create_symlink("data/second.npy", folder / "first.npy");
  fs::create_symlink("x.npy", folder / "data/second.npy");
  save_npy(folder / "first.npy", scalar(2.));
  CHECK(fs::is_symlink(folder / "first.npy"));
  CHECK(fs::is_symlink(folder / "data/second.npy"));
  CHECK(load_npy(folder / "data/x.npy").item() == 2);
  fs::create_symlink("a.npy", folder / "b.npy");
  fs::create_symlink("b.npy", folder / "a.npy");
  CHECK_THROWS_WITH(save_npy(folder / "a.npy", scalar(1.)), Contains("Too many levels of symbolic links"));
  CHECK(fs::is_symlink(folder / "a.npy"));
}

TEST_CASE("names of up to 255 bytes are written") {
  const support::TemporaryFolder folder;
  for (const std::size_t length : {200u, 201u, 251u, 255u}) {
    std::string name = std::string(length - 4, 'n') + ".npz";
    for (std::size_t i = 0; i + 6 < length; i += 2) name.replace(i, 2, "ö");
    INFO(name.size());
    save_npz(folder / name, {{"x", scalar(1.)}});
    CHECK(load_npz(folder / name).at("x").item() == 1);
  }
  CHECK_THROWS_WITH(save_npy(folder / std::string(256, 'n'), scalar(1.)), Contains("File name too long"));
  CHECK(std::distance(fs::directory_iterator(folder / ""), fs::directory_iterator()) == 4);
}

TEST_CASE("what a process leaves that dies while it writes is removed by the next save") {
  if (const char* path = std::getenv("REEL_TEST_PATH")) {  // the process that dies: this test, run again below
    const rlimit small{4096, 4096};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    std::signal(SIGXFSZ, SIG_DFL);
    save_npy(path, zeros({10000}));
    return;
  }
  const support::TemporaryFolder folder;
  const std::string path = folder / "x.npy";
  save_npy(path, scalar(1.));
  const std::string command =
      "REEL_TEST_PATH='" + path + "' " + support::own_program() + " 'what a process leaves*' > /dev/null 2>&1";
  for (int i = 0; i < 2; ++i) CHECK(std::system(command.c_str()) != 0);
  CHECK(load_npy(path).item() == 1);
  CHECK(std::distance(fs::directory_iterator(folder / ""), fs::directory_iterator()) == 2);
  save_npy(path, scalar(2.));
  CHECK(std::distance(fs::directory_iterator(folder / ""), fs::directory_iterator()) == 1);
  CHECK(load_npy(path).item() == 2);
}
#endif
