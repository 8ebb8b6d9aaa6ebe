#include "core/execution/install/http.h"

#include <gtest/gtest.h>

namespace berth::install {
namespace {

TEST(Http, ARequestCarriesCredentialsOnlyWhenThereAreSome) {
  const Url url = parse_url("http://h.example:81/a?b").value();
  EXPECT_EQ(request_text(url, "").find("Authorization"), std::string::npos);
  const std::string text = request_text(url, "user:word");
  EXPECT_EQ(text.rfind("GET /a?b HTTP/1.1\r\nHost: h.example:81\r\n", 0), 0u);
  EXPECT_NE(text.find("\r\nAuthorization: Basic dXNlcjp3b3Jk\r\n"), std::string::npos);
}

TEST(Http, AHeadIsReadWithLengthAndLocation) {
  bool chunked = true;
  const auto head = read_head("HTTP/1.1 302 Found here\r\nContent-Length: 12\r\nLOCATION:  /x \r\n", chunked);
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->status, 302u);
  EXPECT_EQ(head->reason, "Found here");
  EXPECT_EQ(head->location, "/x");
  EXPECT_EQ(head->length, 12u);
  EXPECT_FALSE(chunked);
}

TEST(Http, WhatIsNoHeadIsRefused) {
  bool chunked = false;
  for (const char* text : {"", "SSH-2.0", "HTTP/2 200", "HTTP/1.1 abc", "HTTP/1.1 200 OK\r\nno colon",
                           "HTTP/1.1 200 OK\r\nContent-Length: -1", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked"}) {
    EXPECT_FALSE(read_head(text, chunked).has_value()) << text;
  }
}

TEST(Http, ChunksAreTheSameHoweverTheyAreCut) {
  const std::string body = "4;name=x\r\nWiki\r\n00A\r\npedia in\r\n\r\n0\r\nTrailer: y\r\n\r\nbeyond";
  for (std::size_t step = 1; step <= body.size(); ++step) {
    ChunkDecoder decoder;
    std::string out;
    for (std::size_t at = 0; at < body.size(); at += step) {
      ASSERT_TRUE(decoder.take(std::string_view(body).substr(at, step), out).has_value()) << step;
    }
    EXPECT_EQ(out, "Wikipedia in\r\n");
    EXPECT_TRUE(decoder.ended());
  }
}

TEST(Http, WhatIsNoChunkIsRefused) {
  for (const char* text : {"x\r\n", "\r\n", "-1\r\n", "ffffffffffffffff\r\n", "1\r\nab\r\n"}) {
    ChunkDecoder decoder;
    std::string out;
    EXPECT_FALSE(decoder.take(text, out).has_value()) << text;
  }
  ChunkDecoder decoder;
  std::string out;
  EXPECT_FALSE(decoder.take(std::string(10000, '1'), out).has_value());
}

}  // namespace
}  // namespace berth::install
