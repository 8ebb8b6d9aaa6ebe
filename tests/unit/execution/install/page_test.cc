#include "core/execution/install/page.h"

#include <gtest/gtest.h>

#include <string>

namespace berth::install {
namespace {

const Url kPage = parse_url("https://host.example/simple/demo/").value();

TEST(Page, LinksToPackageFilesAreReadWithWhatIsSaidOfThem) {
  const std::string digest(64, 'a');
  const auto links = read_page("<html><A class=x HREF='../../f/demo-1.0-py3-none-any.whl#sha256=" + digest +
                                   "' data-requires-python=\"&gt;=3.8,&lt;4\" data-yanked>demo</a>",
                               kPage, 10);
  ASSERT_EQ(links.size(), 1u);
  EXPECT_EQ(links[0].file_name, "demo-1.0-py3-none-any.whl");
  EXPECT_EQ(links[0].url.display(), "https://host.example/f/demo-1.0-py3-none-any.whl");
  EXPECT_EQ(links[0].sha256, digest);
  EXPECT_EQ(links[0].requires_python, ">=3.8,<4");
  EXPECT_TRUE(links[0].yanked.has_value());
  EXPECT_EQ(link_line(links[0], "/file/0/x"),
            "<a href=\"/file/0/x#sha256=" + digest +
                "\" data-requires-python=\"&gt;=3.8,&lt;4\" data-yanked=\"\">demo-1.0-py3-none-any.whl</a><br>\n");
}

TEST(Page, ABaseMovesTheLinksAndACommentHasNone) {
  const auto links = read_page(
      "<base href=\"https://other.example/d/\"><!-- <a href=hidden-1.whl> --><a href=seen-1.tar.gz>", kPage, 10);
  ASSERT_EQ(links.size(), 1u);
  EXPECT_EQ(links[0].url.display(), "https://other.example/d/seen-1.tar.gz");
}

TEST(Page, WhatIsNoPackageFileIsLeftOut) {
  EXPECT_TRUE(read_page("<a href='?C=N'>Name</a><a href='../'>up</a><a href='x.exe'>x</a><abbr href=a.whl>"
                        "<a href='a%22b c.whl'><a href='javascript:x.whl'><a>",
                        kPage, 10)
                  .empty());
}

TEST(Page, TheNumberOfLinksIsBoundedAndPiecesOfTagsAreHarmless) {
  std::string many;
  for (int i = 0; i < 50; ++i) many += "<a href=a-1.whl>";
  EXPECT_EQ(read_page(many, kPage, 7).size(), 7u);
  const std::string whole = "<a href=\"a-1.whl#sha256=00\" data-yanked='why'>";
  for (std::size_t end = 0; end < whole.size(); ++end) {
    EXPECT_LE(read_page(whole.substr(0, end), kPage, 10).size(), 1u);
  }
}

}  // namespace
}  // namespace berth::install
