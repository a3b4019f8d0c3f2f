// Files are replaced completely or not at all, and only regular files are read or replaced.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "samples.hpp"

using namespace reel;
using Catch::Contains;
namespace fs = std::filesystem;

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

TEST_CASE("a tensor that cannot be saved leaves the old file unchanged") {
  const support::TemporaryFolder folder;
  save_npz(folder / "x.npz", {{"x", scalar(1.)}});
  CHECK_THROWS_AS(save_npz(folder / "x.npz", {{"a", scalar(2.)}, {"b", Tensor()}}), ValueError);
  CHECK(load_npz(folder / "x.npz").at("x").item() == 1);
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
