// What plugins/http reads and writes without a socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "plugins/http/delivery.h"
#include "plugins/http/headers.h"
#include "plugins/http/lines.h"
#include "plugins/http/multipart.h"
#include "plugins/http/proxy.h"
#include "plugins/http/reply_parser.h"
#include "plugins/http/retry_after.h"
#include "plugins/http/secret.h"
#include "plugins/http/url.h"

namespace berth::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

template <class T>
concept Streamable = requires(std::ostream& out, const T& value) {
  out << value;
};
static_assert(!Streamable<Secret>, "a secret must not print");

std::string error_of(std::string_view url) {
  try {
    return "parsed: " + Url::parse(url).text();
  } catch (const UrlError& error) {
    return error.what();
  }
}

TEST(HttpUrl, HasOriginPathAndQuery) {
  const Url url = Url::parse("https://API.Example.com/a/b%20c?x=1&y=%2F#part");
  EXPECT_EQ(url.origin, (Origin{"api.example.com", 443}));
  EXPECT_EQ(url.target(), "/a/b%20c?x=1&y=%2F");
  EXPECT_EQ(url.shown(), "https://api.example.com/a/b%20c");
  EXPECT_EQ(Url::parse("https://h:8443").target(), "/");
  EXPECT_EQ(Url::parse("https://h:8443").origin.host_header(), "h:8443");
  EXPECT_EQ(Url::parse("https://[::1]:444/").origin.authority(), "[::1]:444");
}

TEST(HttpUrl, IsHttpsOnlyAndCarriesNoCredentials) {
  EXPECT_THAT(error_of("http://example.com/"), HasSubstr("does not begin with https://"));
  EXPECT_THAT(error_of("https://me:hunter2@example.com/"), HasSubstr("user name or password"));
  EXPECT_THAT(error_of("https://me:hunter2@example.com/"), Not(HasSubstr("hunter2")));
  EXPECT_THAT(error_of("nonsense?token=hunter2"), Not(HasSubstr("hunter2")));
  for (const char* bad : {"", "https://", "https:///x", "https://h:0/", "https://h:99999/",
                          "https://a b/", "https://h/\r\nX: y", "https://%61/"})
    EXPECT_THAT(error_of(bad), Not(HasSubstr("parsed"))) << bad;
}

TEST(HttpUrl, KeepsASegmentWhole) {
  const Url base = Url::parse("https://h/api/");
  EXPECT_EQ((base / "a/b?c d").target(), "/api/a%2Fb%3Fc%20d");
  EXPECT_EQ((base / "x").with_query("k y", "v&w").target(), "/api/x?k%20y=v%26w");
  EXPECT_THROW(base / "..", UrlError);
  EXPECT_THROW(base / "", UrlError);
}

TEST(HttpUrl, ResolvesWhatALocationSays) {
  const Url base = Url::parse("https://h:1/a/b?q=1");
  EXPECT_EQ(base.resolve("c").text(), "https://h:1/a/c");
  EXPECT_EQ(base.resolve("/d?e=f").text(), "https://h:1/d?e=f");
  EXPECT_EQ(base.resolve("//other/x").text(), "https://other/x");
  EXPECT_THROW(base.resolve("http://h:1/a"), UrlError);
  EXPECT_THROW(base.resolve("ftp://h/a"), UrlError);
}

TEST(HttpRetryAfter, ReadsSecondsAndEveryKindOfDate) {
  const auto now =
      std::chrono::system_clock::time_point(seconds(784'111'777));  // 6 Nov 1994 08:49:37
  EXPECT_EQ(retry_after("0", now), milliseconds(0));
  EXPECT_EQ(retry_after(" 120 ", now), seconds(120));
  EXPECT_EQ(retry_after("Sun, 06 Nov 1994 08:50:37 GMT", now), seconds(60));
  EXPECT_EQ(retry_after("Sunday, 06-Nov-94 08:50:37 GMT", now), seconds(60));
  EXPECT_EQ(retry_after("Sun Nov  6 08:50:37 1994", now), seconds(60));
  EXPECT_EQ(retry_after("Sun, 06 Nov 1994 08:00:00 GMT", now), milliseconds(0));
}

TEST(HttpRetryAfter, BoundsWhatIsAbsurdAndRefusesNonsense) {
  const auto now = std::chrono::system_clock::time_point(seconds(784'111'777));
  EXPECT_EQ(retry_after("99999999999999999999", now), kRetryAfterMax);
  EXPECT_EQ(retry_after("Fri, 31 Dec 2100 23:59:59 GMT", now), kRetryAfterMax);
  for (const char* bad : {"", "-1", "1.5", "soon", "Sun, 06 Nov 1994",
                          "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT",
                          "Sun, 06 Nop 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 PST"})
    EXPECT_EQ(retry_after(bad, now), std::nullopt) << bad;
}

TEST(HttpSecret, IsTakenOutOfForeignText) {
  Redactor redact;
  redact.add(Secret("dtn_abc/def"));
  redact.add(Secret("dtn_abc/def-longer"));
  redact.add(Secret("x"));
  EXPECT_EQ(redact("key dtn_abc/def, again dtn_abc%2Fdef, and dtn_abc/def-longer."),
            "key ***, again ***, and ***.");
  EXPECT_EQ(redact("text with x stays"), "text with x stays");
  EXPECT_EQ(fingerprint(Secret("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(HttpHeaders, RefuseWhatWouldBreakOut) {
  Headers headers;
  EXPECT_THROW(headers.add("X", "a\r\nEvil: 1"), std::invalid_argument);
  EXPECT_THROW(headers.add("X Y", "a"), std::invalid_argument);
  EXPECT_THROW(headers.add("", "a"), std::invalid_argument);
  headers.add("Content-Type", "Text/HTML; charset=utf-8");
  EXPECT_EQ(headers.find("content-TYPE"), "Text/HTML; charset=utf-8");
  EXPECT_EQ(media_type(headers), "text/html");
  headers.set("content-type", "a/b");
  EXPECT_EQ(headers.all().size(), 1u);
}

bool goes_through(std::string_view no_proxy, std::string_view url) {
  const ProxySettings settings("http://proxy:3128", no_proxy);
  return settings.for_origin(Url::parse(url).origin) != nullptr;
}

TEST(HttpProxy, NoProxyMatchesNamesDomainsAddressesAndRanges) {
  EXPECT_TRUE(goes_through("", "https://a.example.com"));
  EXPECT_FALSE(goes_through("*", "https://a.example.com"));
  for (const char* same : {"example.com", ".example.com", "*.example.com", " x, EXAMPLE.com "})
    EXPECT_FALSE(goes_through(same, "https://a.example.com")) << same;
  EXPECT_FALSE(goes_through("example.com", "https://example.com"));
  EXPECT_TRUE(goes_through("example.com", "https://notexample.com"));
  EXPECT_TRUE(goes_through("a.example.com", "https://example.com"));
  EXPECT_FALSE(goes_through("example.com:443", "https://example.com"));
  EXPECT_TRUE(goes_through("example.com:8443", "https://example.com"));
  EXPECT_FALSE(goes_through("10.0.0.0/8", "https://10.1.2.3"));
  EXPECT_TRUE(goes_through("10.0.0.0/8", "https://11.1.2.3"));
  EXPECT_FALSE(goes_through("127.0.0.1", "https://127.0.0.1:9"));
  EXPECT_FALSE(goes_through("::1", "https://[::1]:9"));
  EXPECT_FALSE(goes_through("fd00::/9", "https://[fd00::7]"));
  EXPECT_TRUE(goes_through("fd00::/9", "https://[fe80::7]"));
}

TEST(HttpProxy, IsSpokenToInTheClearOrOverTlsAndKeepsItsPassword) {
  const ProxySettings settings("http://me:hunter2@Proxy:3128", "");
  EXPECT_EQ(settings.proxy()->shown(), "proxy:3128");
  EXPECT_EQ(settings.proxy()->authorization.reveal(), "Basic bWU6aHVudGVyMg==");
  EXPECT_FALSE(settings.proxy()->tls);
  EXPECT_EQ(ProxySettings("proxy:99", "").proxy()->port, 99);
  EXPECT_TRUE(ProxySettings("HTTPS://proxy:99", "").proxy()->tls);
  EXPECT_EQ(ProxySettings("https://proxy", "").proxy()->port, 443);
  EXPECT_EQ(ProxySettings("http://proxy", "").proxy()->port, 80);
  for (const char* bad :
       {"socks5://me:hunter2@p", "ftp://me:hunter2@p", "http://", "me:hunter2@:"}) {
    try {
      const ProxySettings refused(bad, "");
      ADD_FAILURE() << bad;
    } catch (const UrlError& error) {
      EXPECT_THAT(error.what(), Not(HasSubstr("hunter2")));
    }
  }
}

TEST(HttpLines, AreTheSameHoweverTheStreamIsCut) {
  const std::string stream = "{\"a\":1}\r\n\n{\"b\":\"\xc3\xa9\"}\n\r\nlast";
  for (std::size_t first = 0; first <= stream.size(); ++first) {
    for (std::size_t second = first; second <= stream.size(); ++second) {
      std::vector<std::string> lines;
      const auto keep = [&](std::string_view line) { lines.emplace_back(line); };
      LineReader reader(64);
      reader.put(std::string_view(stream).substr(0, first), keep);
      reader.put(std::string_view(stream).substr(first, second - first), keep);
      reader.put(std::string_view(stream).substr(second), keep);
      reader.end(keep);
      ASSERT_THAT(lines, ElementsAre("{\"a\":1}", "{\"b\":\"\xc3\xa9\"}", "last"))
          << first << ", " << second;
    }
  }
}

TEST(HttpLines, OfAnyLengthAreRefusedBeyondTheBound) {
  LineReader reader(8);
  const auto ignore = [](std::string_view) {};
  reader.put("12345678\n", ignore);
  reader.put("1234", ignore);
  EXPECT_THROW(reader.put("56789", ignore), RecordTooLong);
}

TEST(HttpSse, EventsAreTheSameHoweverTheStreamIsCut) {
  const std::string stream =
      "\xef\xbb\xbfretry: 1500\r\n: comment\ndata: one\rdata:  two\r\n\r\nid: 7\nevent: "
      "end\ndata\n\n"
      "event: nothing\n\nid\ndata:x\n\ndata: lost";
  for (std::size_t first = 0; first <= stream.size(); ++first) {
    for (std::size_t second = first; second <= stream.size(); ++second) {
      std::vector<std::string> seen;
      const auto keep = [&](const SseEvent& event) {
        seen.push_back(event.event + "|" + event.data + "|" + event.id);
      };
      SseReader reader(256);
      reader.put(std::string_view(stream).substr(0, first), keep);
      reader.put(std::string_view(stream).substr(first, second - first), keep);
      reader.put(std::string_view(stream).substr(second), keep);
      ASSERT_THAT(seen, ElementsAre("|one\n two|", "end||7", "|x|")) << first << ", " << second;
      EXPECT_EQ(reader.retry(), milliseconds(1500));
    }
  }
}

TEST(HttpSse, AnEventBeyondTheBoundIsRefused) {
  SseReader reader(32);
  const auto ignore = [](const SseEvent&) {};
  EXPECT_THROW(for (int i = 0; i < 16; ++i) reader.put("data: 1234\n", ignore), RecordTooLong);
}

TEST(HttpMultipart, FramesPartsSoThatNamesCannotBreakOut) {
  const MultipartForm form;
  const std::string boundary = form.content_type().substr(form.content_type().find('=') + 1);
  EXPECT_EQ(form.field("path", "/a"),
            "--" + boundary + "\r\nContent-Disposition: form-data; name=\"path\"\r\n\r\n/a\r\n");
  EXPECT_EQ(form.file_head("f", "a\"b\r\nc"),
            "--" + boundary +
                "\r\nContent-Disposition: form-data; name=\"f\"; "
                "filename=\"a%22b%0D%0Ac\"\r\nContent-Type: application/octet-stream\r\n\r\n");
  EXPECT_EQ(form.end(), "--" + boundary + "--\r\n");
  EXPECT_NE(MultipartForm().content_type(), form.content_type());
}

struct Parsed {
  int status = 0;
  std::string body;
  bool done = false;
  std::string wrong;
};

Parsed parse(std::string_view answer, std::size_t cut, bool end = false) {
  ReplyParser parser(ReplyParser::Body::kAsAnnounced, 1024);
  Parsed out;
  std::string kept;
  try {
    for (const std::string_view piece : {answer.substr(0, cut), answer.substr(cut)}) {
      kept += piece;
      kept.erase(0, parser.put(kept, out.body));
    }
    if (end) parser.put_end();
    out.status = parser.status();
    out.done = parser.done();
  } catch (const ParseError& error) {
    out.wrong = error.what();
  }
  return out;
}

TEST(HttpReplyParser, ReadsTheSameHoweverTheAnswerIsCut) {
  const std::vector<std::string> answers{
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nT: "
      "r\r\n\r\n",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 \r\n"
      "content-length: 5\r\n\r\nhello"};
  for (const std::string& answer : answers) {
    for (std::size_t cut = 0; cut <= answer.size(); ++cut) {
      const Parsed parsed = parse(answer, cut);
      ASSERT_EQ(parsed.wrong, "") << answer << " cut at " << cut;
      ASSERT_EQ(parsed.status, 200) << cut;
      ASSERT_EQ(parsed.body, "hello") << cut;
      ASSERT_TRUE(parsed.done) << cut;
    }
  }
}

TEST(HttpReplyParser, RefusesWhatIsNotAnAnswer) {
  for (const char* bad :
       {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n",
        "<html>not http</html>\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nbad name: 1\r\n\r\n"})
    EXPECT_NE(parse(bad, 0).wrong, "") << bad;
}

TEST(HttpReplyParser, BoundsTheHead) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  EXPECT_THAT(parse(head + "X: " + std::string(2000, 'a') + "\r\n\r\n", 0).wrong,
              HasSubstr("too large"));
  EXPECT_THAT(parse(head + "X: " + std::string(2000, 'a'), 0).wrong, HasSubstr("too large"));
  std::string many = head;
  for (int i = 0; i < 300; ++i) many += "a:b\r\n";
  EXPECT_THAT(parse(many + "\r\n", 0).wrong, HasSubstr("too large"));
  std::string interim;
  for (int i = 0; i < 20; ++i) interim += "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_THAT(parse(interim, 0).wrong, HasSubstr("too many interim"));
}

TEST(HttpReplyParser, EndsWithTheConnectionOnlyWhereThatIsMeant) {
  EXPECT_TRUE(parse("HTTP/1.1 200 OK\r\n\r\nall", 5, true).done);
  EXPECT_NE(parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", 5, true).wrong, "");
  EXPECT_NE(parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", 5, true).wrong,
            "");
  EXPECT_TRUE(parse("HTTP/1.1 204 No Content\r\n\r\n", 5).done);
}

TEST(HttpDeliveryClass, DecidesWhatMayExist) {
  const auto failure = [](Delivery delivery) {
    return failure_of(TransportFailure(Reason::kClosed, delivery, "m"));
  };
  EXPECT_EQ(failure(Delivery::kNotSent).outcome_class(), OutcomeClass::kRejected);
  EXPECT_EQ(failure(Delivery::kUnknown).outcome_class(), OutcomeClass::kUncertain);
  EXPECT_EQ(failure(Delivery::kAnswered).outcome_class(), OutcomeClass::kUncertain);
}

}  // namespace
}  // namespace berth::http
