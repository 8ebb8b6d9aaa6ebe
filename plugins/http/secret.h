// Credentials that do not print.
//
// A Secret owns its text, is wiped when it goes, and shows it only to reveal(); there is no way to
// stream or format one. A Redactor takes secrets out of text that somebody else wrote, such as a
// service's error message. Values; any thread.
#ifndef BERTH_PLUGINS_HTTP_SECRET_H_
#define BERTH_PLUGINS_HTTP_SECRET_H_

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace berth::http {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  Secret(const Secret&) = default;
  Secret(Secret&& other) noexcept;
  Secret& operator=(const Secret& other);
  Secret& operator=(Secret&& other) noexcept;
  ~Secret();

  bool empty() const { return text_.empty(); }
  // For the one place that puts it on the wire.
  const std::string& reveal() const { return text_; }

 private:
  std::string text_;
};
std::ostream& operator<<(std::ostream&, const Secret&) = delete;

// Overwrites the text before giving it up.
void wipe(std::string& text);

// SHA-256 as 64 hexadecimal digits: what may be shown of a credential.
std::string fingerprint(const Secret& secret);
std::string sha256_hex(std::string_view bytes);

class Redactor {
 public:
  // A secret of fewer bytes than this is left alone: taking it out would garble ordinary words.
  static constexpr std::size_t kBytesMin = 4;

  // From now on the secret is taken out, as it is and as it looks percent-encoded.
  void add(const Secret& secret);
  std::string operator()(std::string_view text) const;

 private:
  std::vector<Secret> forms_;
};

}  // namespace berth::http

#endif  // BERTH_PLUGINS_HTTP_SECRET_H_
