#include "core/execution/install/url.h"

#include <gtest/gtest.h>

namespace berth::install {
namespace {

TEST(Url, HasHostPortTargetAndCredentialsApart) {
  const auto url = parse_url("https://reader:p%40ss@Index.Example:8443/simple/?a=b#sha256=00");
  ASSERT_TRUE(url.has_value());
  EXPECT_TRUE(url->https);
  EXPECT_EQ(url->origin(), "index.example:8443");
  EXPECT_EQ(url->target, "/simple/?a=b");
  EXPECT_EQ(url->fragment, "sha256=00");
  EXPECT_EQ(url->credentials, "reader:p@ss");
  EXPECT_EQ(url->display(), "https://index.example:8443/simple/");
}

TEST(Url, AnAddressOfVersionSixKeepsItsBracketsForPeople) {
  const auto url = parse_url("http://[::1]:8080/x");
  ASSERT_TRUE(url.has_value());
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(url->display(), "http://[::1]:8080/x");
}

TEST(Url, WhatIsNoUrlIsRefusedWithoutRepeatingIt) {
  for (const char* text : {"", "ftp://h/", "http://", "http://h:0/", "http://h:99999/", "http://h:8o/",
                           "http://secret:word@/", "http://a b/", "http://h/a b", "http://h/\r\nX: y",
                           "http://[::1/", "https://u:p%0d%0a@h/"}) {
    const auto url = parse_url(text);
    ASSERT_FALSE(url.has_value()) << text;
    EXPECT_EQ(url.error().message().find("secret"), std::string::npos);
  }
}

TEST(Url, ReferencesAreResolvedAgainstTheirPage) {
  const Url page = parse_url("https://u:p@host.example/root/simple/demo/").value();
  const auto leads_to = [&page](std::string_view reference) {
    return resolve(page, reference).value().display();
  };
  EXPECT_EQ(leads_to("../../files/a.whl#sha256=0"), "https://host.example/root/files/a.whl");
  EXPECT_EQ(leads_to("/b.whl"), "https://host.example/b.whl");
  EXPECT_EQ(leads_to("c.whl?x=1"), "https://host.example/root/simple/demo/c.whl");
  EXPECT_EQ(leads_to("//other.example/d.whl"), "https://other.example/d.whl");
  EXPECT_EQ(leads_to("http://third.example:81/e.whl"), "http://third.example:81/e.whl");
  EXPECT_EQ(leads_to("../../../../../f.whl"), "https://host.example/f.whl");
  EXPECT_EQ(resolve(page, "g.whl")->credentials, "");
  EXPECT_EQ(resolve(page, "g.whl#md5=1")->fragment, "md5=1");
  EXPECT_FALSE(resolve(page, "javascript:alert(1)").has_value());
}

}  // namespace
}  // namespace berth::install
