#include "core/base/sha256.h"

#include <string>

#include "gtest/gtest.h"

namespace berth {
namespace {

// The examples of FIPS 180-2, appendix B, and the empty message.
TEST(Sha256, PublishedVectors) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesGiveTheDigestOfTheWhole) {
  const std::string text(100'001, 'x');
  for (const std::size_t piece : {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{65}}) {
    Sha256 digest;
    for (std::size_t at = 0; at < text.size(); at += piece)
      digest.update(std::string_view(text).substr(at, piece));
    EXPECT_EQ(digest.finish_hex(), sha256_hex(text)) << piece;
  }
}

TEST(Sha256, NulBytesCount) {
  EXPECT_NE(sha256_hex(std::string_view("a\0b", 3)), sha256_hex("a"));
}

}  // namespace
}  // namespace berth
