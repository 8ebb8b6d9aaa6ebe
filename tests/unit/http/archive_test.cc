// Archives that other programs have to be able to read: tar and gzip of this machine judge them.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "plugins/http/tar.h"

namespace berth::http {
namespace {

namespace fs = std::filesystem;

class HttpArchive : public ::testing::Test {
 protected:
  HttpArchive() {
    std::string path = (fs::temp_directory_path() / "berth-archive-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = path;
  }
  ~HttpArchive() override { fs::remove_all(folder_); }

  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }
  std::string read(const std::string& name) const {
    std::ifstream in(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  int shell(const std::string& line) const {
    return std::system(("cd '" + folder_.string() + "' && " + line).c_str());
  }

  fs::path folder_;
};

TEST_F(HttpArchive, IsUnpackedByTar) {
  const std::string deep(120, 'd'), odd = deep + "/" + std::string(140, 'f');
  std::string archive;
  for (const std::string& path : {std::string("bin/run.sh"), deep + "/short", odd}) {
    const std::string contents = "contents of " + path;
    archive += tar_head({path, contents.size(), 0750, 1'700'000'000}) + contents +
               tar_padding(contents.size());
  }
  archive += tar_head({"empty", 0}) + tar_end();
  write("a.tar", archive);
  ASSERT_EQ(shell("tar xf a.tar"), 0);
  EXPECT_EQ(read("bin/run.sh"), "contents of bin/run.sh");
  EXPECT_EQ(read(deep + "/short"), "contents of " + deep + "/short");
  EXPECT_EQ(read(odd), "contents of " + odd);
  EXPECT_EQ(fs::file_size(folder_ / "empty"), 0u);
  EXPECT_EQ(fs::status(folder_ / "bin/run.sh").permissions(), static_cast<fs::perms>(0750));
}

TEST_F(HttpArchive, RefusesPathsThatLeaveIt) {
  for (const char* bad : {"", "/etc/passwd", "..", "../x", "a/../b", "a/.."})
    EXPECT_THROW(tar_head({bad, 0}), std::invalid_argument) << bad;
}

TEST_F(HttpArchive, StoredGzipIsUnpackedByGzip) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{65'535},
                                  std::size_t{65'536}, std::size_t{300'001}}) {
    std::string contents;
    for (std::size_t i = 0; i < bytes; ++i) contents.push_back(static_cast<char>(i * 31 + i / 251));
    StoredGzip gzip(bytes);
    std::string packed = StoredGzip::head();
    for (std::size_t at = 0; at < bytes; at += 7'001)
      packed += gzip.put(std::string_view(contents).substr(at, 7'001));
    packed += gzip.end();
    EXPECT_EQ(packed.size(), StoredGzip::size_of(bytes));
    write("a.gz", packed);
    ASSERT_EQ(shell("gzip -dc a.gz > a"), 0) << bytes;
    EXPECT_EQ(read("a"), contents) << bytes;
  }
}

TEST_F(HttpArchive, StoredGzipHoldsWhatWasAnnounced) {
  StoredGzip gzip(3);
  EXPECT_THROW(gzip.put("four"), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(gzip.end()), std::invalid_argument);
}

}  // namespace
}  // namespace berth::http
