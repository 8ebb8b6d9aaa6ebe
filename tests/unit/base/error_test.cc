#include "core/base/error.h"

#include <cerrno>
#include <set>
#include <string>

#include "gtest/gtest.h"

namespace berth {
namespace {

TEST(Error, EveryKindHasItsOwnWord) {
  std::set<std::string> words;
  for (int kind = 0; kind <= static_cast<int>(ErrorKind::kInternal); ++kind)
    words.insert(std::string(to_string(static_cast<ErrorKind>(kind))));
  EXPECT_EQ(words.size(), static_cast<std::size_t>(ErrorKind::kInternal) + 1);
  EXPECT_TRUE(words.contains("unknown_outcome"));
}

TEST(Error, ContextComesFirstAndTheKindStays) {
  const Error inner(ErrorKind::kLimit, "has 3 bytes");
  const Error outer = inner.with("manifest.json").with("provider local");
  EXPECT_EQ(outer.message(), "provider local: manifest.json: has 3 bytes");
  EXPECT_EQ(outer.kind(), ErrorKind::kLimit);
  EXPECT_EQ(inner.message(), "has 3 bytes");
}

TEST(Error, MissingAndExistingFilesKeepTheirMeaning) {
  EXPECT_EQ(os_error(ENOENT, "a").kind(), ErrorKind::kNotFound);
  EXPECT_EQ(os_error(EEXIST, "a").kind(), ErrorKind::kConflict);
  EXPECT_EQ(os_error(EIO, "a").kind(), ErrorKind::kIo);
  EXPECT_EQ(os_error(ENOENT, "cannot open a").message(),
            "cannot open a: No such file or directory");
}

}  // namespace
}  // namespace berth
