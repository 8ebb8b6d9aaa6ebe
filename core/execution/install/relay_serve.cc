// The answers of a relay: pages read and written anew, files from the cache, a folder or the index.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include "core/execution/install/relay_work.h"

namespace berth::install {
namespace {

constexpr std::size_t kPageBytesMax = std::size_t{32} << 20;
constexpr std::size_t kListedFilesMax = 100000;
constexpr std::size_t kFolderEntriesMax = 10000;
constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
constexpr int kRedirectsMax = 5;

bool is_redirect(unsigned status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool is_project_name(std::string_view name) {
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

std::optional<std::size_t> read_index(std::string_view text, std::size_t size) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number >= size) return std::nullopt;
  return number;
}

// The parts of "/index/0/name/" or "/file/3/a.whl".
std::vector<std::string_view> segments(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty() && parts.size() < 5) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    parts.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return parts;
}

// The next piece of a file; empty at its end or when it cannot be read.
std::string read_piece(int fd) {
  std::string piece(kPieceBytes, '\0');
  ssize_t got = 0;
  do {
    got = ::read(fd, piece.data(), piece.size());
  } while (got < 0 && errno == EINTR);
  piece.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return piece;
}

}  // namespace

// Collects a page.
class Relay::Work::PageSink : public FetchSink {
 public:
  explicit PageSink(Work& work) : work_(work) {}

  Status on_head(const FetchHead& got) override {
    head = got;
    return {};
  }
  Task<Status> on_data(std::string_view bytes) override {
    if (html.size() + bytes.size() > kPageBytesMax || !work_.count(bytes.size())) {
      co_return fail(ErrorKind::kLimit, fmt::format("the page is longer than {} MiB", kPageBytesMax >> 20));
    }
    html.append(bytes);
    co_return Status();
  }

  FetchHead head;
  std::string html;

 private:
  Work& work_;
};

// Passes a file on while it comes, and keeps a copy.
class Relay::Work::FileSink : public FetchSink {
 public:
  FileSink(Work& work, std::uint32_t id, std::unique_ptr<WheelCache::Entry> entry)
      : copy(std::move(entry)), work_(work), id_(id) {}

  Status on_head(const FetchHead& got) override {
    head = got;
    if (head.status == 200 && head.length && *head.length > work_.index->install_bytes_max) {
      return too_much();
    }
    return {};
  }
  Task<Status> on_data(std::string_view bytes) override {
    if (!work_.count(bytes.size())) co_return too_much();
    if (copy) copy->append(bytes);
    if (!begun) {
      begun = true;
      const std::int64_t length = head.length ? static_cast<std::int64_t>(*head.length) : -1;
      std::string reason = "OK";
      co_await work_.send_head(id_, 200, length, std::move(reason));
    }
    co_return co_await work_.send_data(id_, bytes);
  }

  FetchHead head;
  std::unique_ptr<WheelCache::Entry> copy;
  bool begun = false;

 private:
  tl::unexpected<Error> too_much() const {
    return fail(ErrorKind::kLimit, fmt::format("more than {} MiB would be fetched for one install",
                                               work_.index->install_bytes_max >> 20));
  }

  Work& work_;
  std::uint32_t id_;
};

Task<void> Relay::Work::serve(std::uint32_t id, std::string path) {
  const auto self = shared_from_this();  // the relay may be gone before this ends
  co_await route(id, std::move(path));
  --under_way_;
}

Task<void> Relay::Work::route(std::uint32_t id, std::string path) {
  const std::vector<std::string_view> parts = segments(path);
  if (parts.size() >= 3 && parts[0] == "index" && is_project_name(parts[2])) {
    if (const auto number = read_index(parts[1], indexes.size())) {
      Url url = indexes[*number];
      url.target.append(parts[2]).append("/");
      co_await serve_page(id, std::move(url));
      co_return;
    }
  } else if (parts.size() >= 2 && parts[0] == "links") {
    if (const auto number = read_index(parts[1], index->find_links.size())) {
      std::string link = index->find_links[*number];
      if (link.front() == '/') {
        co_await serve_folder(id, std::move(link));
        co_return;
      }
      auto url = parse_url(link);
      if (url) {
        url->credentials.clear();
        co_await serve_page(id, std::move(*url));
        co_return;
      }
    }
  } else if (parts.size() == 3 && parts[0] == "file") {
    if (const auto number = read_index(parts[1], files_.size())) {
      File file = files_[*number];
      co_await serve_file(id, std::move(file));
      co_return;
    }
  }
  std::string reason = "no such page";
  co_await send_head(id, 404, 0, std::move(reason));
  send_end(id, true);
}

Task<Status> Relay::Work::fetch(Url url, FetchSink& into) {
  // Stands in front of `into`, so that it sees no redirect.
  class Following : public FetchSink {
   public:
    explicit Following(FetchSink& behind) : behind_(behind) {}
    Status on_head(const FetchHead& got) override {
      head = got;
      return is_redirect(got.status) ? Status() : behind_.on_head(got);
    }
    Task<Status> on_data(std::string_view bytes) override { return behind_.on_data(bytes); }
    FetchHead head;

   private:
    FetchSink& behind_;
  };
  for (int hops = 0; hops <= kRedirectsMax; ++hops) {
    if (!allows(url)) {
      co_return fail(ErrorKind::kRefused,
                     fmt::format("{} is not a host of the configured package index{}; add {} to "
                                 "python.fileHosts if files may come from there",
                                 url.display(), hops > 0 ? ", and the index redirects to it" : "",
                                 url.origin()));
    }
    Following following(into);
    std::string credentials = credentials_for(url);
    const Status got = co_await fetcher_.get(url, std::move(credentials), !is_trusted(url), following);
    if (!got) co_return got;
    if (!is_redirect(following.head.status)) co_return Status();
    auto next = resolve(url, following.head.location);
    if (!next || following.head.location.empty()) {
      co_return fail(ErrorKind::kCorrupt, fmt::format("{} redirects to nowhere", url.display()));
    }
    if (url.https && !next->https) {
      co_return fail(ErrorKind::kRefused, fmt::format("{} redirects from https to http", url.display()));
    }
    next->credentials.clear();
    url = std::move(*next);
  }
  co_return fail(ErrorKind::kLimit,
                 fmt::format("{}: more than {} redirects", url.display(), kRedirectsMax));
}

Task<void> Relay::Work::serve_page(std::uint32_t id, Url url) {
  PageSink page(*this);
  const Status got = co_await fetch(url, page);
  if (closed) co_return;
  if (!got) {
    std::string sentence = "the package index cannot be used: " + got.error().message();
    co_await refuse(id, 502, std::move(sentence));
    co_return;
  }
  if (page.head.status == 404 || page.head.status == 410) {
    std::string reason = "the index does not have it";
    co_await send_head(id, 404, 0, std::move(reason));
    send_end(id, true);
    co_return;
  }
  if (page.head.status != 200) {
    std::string sentence = fmt::format("the package index answered {} {} for {}", page.head.status,
                                       page.head.reason, url.display());
    co_await refuse(id, page.head.status >= 400 && page.head.status < 500 ? page.head.status : 502,
                    std::move(sentence));
    co_return;
  }
  std::vector<File> files;
  for (PageLink& link : read_page(page.html, url, kListedFilesMax)) files.push_back({std::move(link), {}});
  co_await send_page(id, std::move(files));
}

Task<void> Relay::Work::serve_folder(std::uint32_t id, std::string folder) {
  std::vector<File> files;
  std::error_code error;
  std::filesystem::directory_iterator it(folder, error);
  for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!is_package_file(name) || !it->is_regular_file(error)) continue;
    if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+!-~") !=
        name.npos) {
      continue;
    }
    if (files.size() >= kFolderEntriesMax) break;
    File file;
    file.link.file_name = name;
    file.path = it->path().string();
    files.push_back(std::move(file));
  }
  if (error) {
    add_problem(fmt::format("python.findLinks '{}' cannot be read: {}", folder, error.message()));
  }
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.link.file_name < b.link.file_name; });
  co_await send_page(id, std::move(files));
}

Task<void> Relay::Work::send_page(std::uint32_t id, std::vector<File> files) {
  std::string html = "<!DOCTYPE html><html><body>\n";
  for (File& file : files) {
    const std::string key = file.path.empty() ? file.link.url.display() + "#" + file.link.url.target + file.link.hash
                                              : file.path;
    const auto [place, added] = file_numbers_.try_emplace(key, files_.size());
    if (added && files_.size() >= kListedFilesMax) {
      file_numbers_.erase(place);
      add_problem(fmt::format("more than {} files were listed; the rest is left out", kListedFilesMax));
      break;
    }
    const std::string target = fmt::format("/file/{}/{}", place->second, file.link.file_name);
    html += link_line(file.link, target);
    if (added) files_.push_back(std::move(file));
  }
  html += "</body></html>\n";
  std::string reason = "OK";
  co_await send_head(id, 200, static_cast<std::int64_t>(html.size()), std::move(reason));
  for (std::size_t at = 0; at < html.size(); at += kPieceBytes) {
    const Status sent = co_await send_data(id, std::string_view(html).substr(at, kPieceBytes));
    if (!sent) co_return;
  }
  send_end(id, true);
}

Task<bool> Relay::Work::serve_kept(std::uint32_t id, const File& file, os::Fd descriptor, bool verify) {
  struct stat info {};
  if (fstat(descriptor.get(), &info) != 0 || !S_ISREG(info.st_mode)) co_return false;
  if (verify) {
    Sha256 digest;
    for (std::string piece = read_piece(descriptor.get()); !piece.empty();
         piece = read_piece(descriptor.get())) {
      digest.update(piece);
      co_await boost::asio::post(*executor, boost::asio::use_awaitable);
    }
    if (digest.finish_hex() != file.link.sha256 || lseek(descriptor.get(), 0, SEEK_SET) != 0) {
      co_return false;
    }
  }
  std::string reason = "OK";
  co_await send_head(id, 200, info.st_size, std::move(reason));
  for (std::string piece = read_piece(descriptor.get()); !piece.empty();
       piece = read_piece(descriptor.get())) {
    const Status sent = co_await send_data(id, piece);
    if (!sent) co_return true;
  }
  send_end(id, true);
  co_return true;
}

Task<void> Relay::Work::serve_file(std::uint32_t id, File file) {
  if (!file.path.empty()) {
    auto opened = os::open_file(file.path, O_RDONLY | O_NONBLOCK);
    bool served = false;
    if (opened) served = co_await serve_kept(id, file, std::move(*opened), false);
    if (!served) {
      std::string sentence = fmt::format("'{}' cannot be read", file.path);
      co_await refuse(id, 404, std::move(sentence));
    }
    co_return;
  }
  if (os::Fd kept = cache_.open(file.link.sha256); kept.valid()) {
    if (co_await serve_kept(id, file, std::move(kept), true)) co_return;
    cache_.remove(file.link.sha256);
  }
  progress("fetching " + file.link.file_name);
  FileSink sink(*this, id, file.link.sha256.empty() ? nullptr : cache_.begin());
  const Status got = co_await fetch(file.link.url, sink);
  if (closed) co_return;
  if (sink.begun) {
    if (got) cache_.commit(std::move(sink.copy), file.link.sha256);
    if (!got) add_problem(fmt::format("{} was not fetched whole: {}", file.link.file_name, got.error().message()));
    send_end(id, got.has_value());
    co_return;
  }
  std::string sentence;
  if (!got) {
    sentence = fmt::format("{} cannot be fetched: {}", file.link.file_name, got.error().message());
  } else {
    sentence = fmt::format("the package index answered {} {} for {}", sink.head.status, sink.head.reason,
                           file.link.url.display());
  }
  const unsigned status = !got ? (got.error().kind() == ErrorKind::kRefused ? 403u : 502u)
                               : (sink.head.status >= 400 && sink.head.status < 500 ? sink.head.status : 502u);
  co_await refuse(id, status, std::move(sentence));
}

}  // namespace berth::install
