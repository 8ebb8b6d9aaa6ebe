#include "core/execution/install/relay.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "core/base/json.h"
#include "core/execution/install/read_number.h"
#include "core/execution/install/relay_work.h"

namespace berth::install {
namespace {

constexpr std::size_t kRelayLineBytesMax = 1024;
constexpr std::size_t kPendingBytesMax = std::size_t{512} << 10;
constexpr std::size_t kRequestsMax = 20000;
constexpr std::size_t kUnderWayMax = 16;
constexpr std::size_t kProblemsMax = 8;
constexpr std::size_t kProblemBytesMax = 600;

std::string_view cut_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

// A sentence as an HTTP reason: one line of plain characters.
std::string as_reason(std::string sentence) {
  for (char& c : sentence) {
    if (c < ' ' || c >= 0x7f) c = '?';
  }
  return sentence.substr(0, kProblemBytesMax);
}

std::string credential_key(const Url& url) { return (url.https ? "s " : "p ") + url.origin(); }

}  // namespace

Relay::Relay(std::shared_ptr<const PackageIndex> index, OutputSink& said,
             std::function<void(std::string_view)> on_progress)
    : work_(std::make_shared<Work>(std::move(index), said, std::move(on_progress))) {}

Relay::~Relay() { close(); }

Task<void> Relay::open() { work_->executor = co_await boost::asio::this_coro::executor; }

void Relay::close() { work_->close(); }

std::string Relay::installer_argument() const {
  return fmt::format("relay:{}:{}", work_->indexes.size(), work_->index->find_links.size());
}

const std::vector<std::string>& Relay::problems() const { return work_->problems; }

OutputSink::Flow Relay::write(Stream stream, std::string_view bytes) {
  if (work_->closed) return Flow::kContinue;
  if (stream == Stream::kStderr) work_->said->write(stream, bytes);
  if (stream == Stream::kStdout) work_->take(bytes);
  return Flow::kContinue;
}

void Relay::on_resume(std::function<void()> resume) {
  if (work_->said != nullptr) work_->said->on_resume(std::move(resume));
}

InputSource::State Relay::read(std::string& into, std::size_t bytes_max) {
  if (work_->pending.empty()) {
    if (work_->closed) return State::kEnd;
    work_->starved = true;
    return State::kAgain;
  }
  const std::size_t count = std::min(bytes_max, work_->pending.size());
  into.append(work_->pending, 0, count);
  work_->pending.erase(0, count);
  if (work_->pending.size() < kPendingBytesMax) work_->wake_senders();
  return State::kData;
}

void Relay::on_ready(std::function<void()> ready) { work_->ready = std::move(ready); }

Relay::Work::Work(std::shared_ptr<const PackageIndex> given, OutputSink& said_by_pip,
                  std::function<void(std::string_view)> on_progress)
    : index(std::move(given)),
      said(&said_by_pip),
      on_progress_(std::move(on_progress)),
      fetcher_({index->idle_timeout, index->certificates}),
      cache_(index->cache_dir, index->cache_bytes_max) {
  const auto add = [this](const std::string& text) {
    auto url = parse_url(text);
    if (!url) return std::optional<Url>();
    origins_.insert(url->origin());
    if (!url->credentials.empty()) credentials_[credential_key(*url)] = url->credentials;
    url->credentials.clear();
    return std::optional<Url>(std::move(*url));
  };
  std::vector<std::string> named = {index->index_url};
  named.insert(named.end(), index->extra_index_urls.begin(), index->extra_index_urls.end());
  if (index->no_index) named.clear();
  for (const std::string& text : named) {
    auto url = text.empty() ? std::nullopt : add(text);
    if (!url) continue;
    if (url->target.back() != '/') url->target += '/';
    indexes.push_back(std::move(*url));
  }
  for (const std::string& link : index->find_links) {
    if (link.front() != '/') add(link);
  }
  for (const std::string& host : index->file_hosts) add("https://" + host);
}

void Relay::Work::close() {
  if (closed) return;
  closed = true;
  said = nullptr;
  on_progress_ = nullptr;
  ready = nullptr;
  pending.clear();
  fetcher_.close();
  drained_.notify();
}

void Relay::Work::wake_senders() { drained_.notify(); }

bool Relay::Work::allows(const Url& url) const { return origins_.contains(url.origin()); }

bool Relay::Work::is_trusted(const Url& url) const {
  const auto& trusted = index->trusted_hosts;
  return std::any_of(trusted.begin(), trusted.end(), [&url](const std::string& host) {
    return host == url.host || host == url.origin();
  });
}

std::string Relay::Work::credentials_for(const Url& url) const {
  const auto found = credentials_.find(credential_key(url));
  return found == credentials_.end() ? std::string() : found->second;
}

bool Relay::Work::count(std::uint64_t bytes) {
  fetched_ += bytes;
  return fetched_ <= index->install_bytes_max;
}

void Relay::Work::progress(std::string_view line) {
  if (on_progress_) on_progress_(line);
}

void Relay::Work::add_problem(std::string sentence) {
  sentence = as_reason(std::move(sentence));
  if (problems.size() >= kProblemsMax) return;
  if (std::find(problems.begin(), problems.end(), sentence) == problems.end()) {
    problems.push_back(std::move(sentence));
  }
}

void Relay::Work::push(std::string_view bytes) {
  if (closed) return;
  pending.append(bytes);
  if (!starved || !ready) return;
  starved = false;
  ready();
}

Task<void> Relay::Work::send_head(std::uint32_t id, unsigned status, std::int64_t length,
                                  std::string reason) {
  while (!closed && pending.size() >= kPendingBytesMax) co_await drained_.wait();
  push(fmt::format("{} head {} {} {}\n", id, status, length, as_reason(std::move(reason))));
}

Task<Status> Relay::Work::send_data(std::uint32_t id, std::string_view bytes) {
  while (!closed && pending.size() >= kPendingBytesMax) co_await drained_.wait();
  if (closed) co_return fail(ErrorKind::kCancelled, "the install ended");
  if (!bytes.empty()) push(fmt::format("{} data {}\n", id, bytes.size()).append(bytes));
  co_return Status();
}

void Relay::Work::send_end(std::uint32_t id, bool whole) {
  push(fmt::format("{} {}\n", id, whole ? "end" : "cut"));
}

Task<void> Relay::Work::refuse(std::uint32_t id, unsigned status, std::string sentence) {
  add_problem(sentence);
  co_await send_head(id, status, 0, std::move(sentence));
  send_end(id, true);
}

void Relay::Work::take(std::string_view bytes) {
  while (!bytes.empty() && !broken_ && !closed) {
    if (say_left_ > 0) {
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(say_left_, bytes.size()));
      said->write(say_stream_, bytes.substr(0, count));
      bytes.remove_prefix(count);
      say_left_ -= count;
      continue;
    }
    const std::size_t end = bytes.find('\n');
    line_.append(bytes.substr(0, std::min(end, kRelayLineBytesMax + 1)));
    if (line_.size() > kRelayLineBytesMax) {
      broken_ = true;
      add_problem("something in the sandbox wrote into the installer's own output; the index was closed to it");
      return;
    }
    if (end == bytes.npos) return;
    bytes.remove_prefix(end + 1);
    take_line(std::exchange(line_, {}));
  }
}

void Relay::Work::take_line(std::string_view line) {
  const std::string_view verb = cut_word(line);
  if (verb == "say") {
    std::uint32_t stream = 0;
    if (!read_number(cut_word(line), stream) || !read_number(line, say_left_)) broken_ = true;
    say_stream_ = stream == 2 ? Stream::kStderr : Stream::kStdout;
    return;
  }
  std::uint32_t id = 0;
  if (verb != "get" || !read_number(cut_word(line), id)) {
    broken_ = true;
    return;
  }
  ++requests_;
  // An installer asks for one thing after another; this is something else.
  if (!executor || requests_ > kRequestsMax || under_way_ >= kUnderWayMax) {
    broken_ = true;
    add_problem("too many requests of one install; the index was closed to it");
    return;
  }
  ++under_way_;
  boost::asio::co_spawn(*executor, serve(id, std::string(line)), boost::asio::detached);
}

}  // namespace berth::install
