// standin SERVICE --folder DIR [--faults FILE] [--minute-ms N]: one stand-in, until its standard input ends.
//
// DIR gets ca.pem, the authority to trust, and journal.ndjson, a line for each request. When it is ready
// it prints one line of JSON: {"service", "url", "port", "ca", "journal"}. Each line on its standard
// input is a command for Front::control and answered by one line; {"machines": true} asks how many real
// sandboxes there are.
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/base/json.h"
#include "core/base/run_loop.h"
#include "core/os/fd.h"
#include "tests/standins/server/authority.h"
#include "tests/standins/server/front.h"
#include "tests/standins/server/http_server.h"

namespace berth::standins {
namespace {

constexpr std::size_t kFaultsBytesMax = std::size_t{1} << 20;

struct Options {
  std::string service;
  std::filesystem::path folder;
  std::filesystem::path faults;
  std::chrono::milliseconds minute{0};  // 0: a minute
};

bool read_options(int argc, char** argv, Options* options) {
  if (argc < 4 || argc % 2 != 0) return false;
  options->service = argv[1];
  for (int i = 2; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--folder") {
      options->folder = argv[i + 1];
    } else if (name == "--faults") {
      options->faults = argv[i + 1];
    } else if (name == "--minute-ms") {
      options->minute = std::chrono::milliseconds(std::atoll(argv[i + 1]));
    } else {
      return false;
    }
  }
  return !options->folder.empty() && (options->service == "daytona" || options->service == "vercel");
}

// A thousand clients at once are within what it should hold.
void raise_open_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void say(const boost::json::value& value) {
  std::printf("%s\n", to_json_text(value).c_str());
  std::fflush(stdout);
}

class StandIn {
 public:
  StandIn(boost::asio::io_context& loop, Options options)
      : loop_(loop), options_(std::move(options)), input_(loop, dup(0)) {}

  Task<Status> run() {
    std::filesystem::create_directories(options_.folder);
    MachineFiles files;
    files.provider = BERTH_LOCAL_PROVIDER;
    files.worker = BERTH_WORKER;
    files.agent = BERTH_STANDIN_AGENT;
    files.state = options_.folder / "machines";
    BERTH_CO_TRY(machines_, co_await Machines::open(loop_.get_executor(), std::move(files)));
    service_ = options_.service == "daytona" ? make_daytona(*machines_) : make_vercel(*machines_);
    if (options_.minute.count() > 0) service_->minute_lasts(options_.minute);
    const std::filesystem::path journal = options_.folder / "journal.ndjson";
    front_ = std::make_unique<Front>(*service_, journal);
    if (!options_.faults.empty()) BERTH_CO_CHECK_OK(read_faults());
    BERTH_CO_TRY(const Certificates certificates, make_certificates());
    const std::filesystem::path authority = options_.folder / "ca.pem";
    BERTH_CO_CHECK_OK(os::replace_file(authority, certificates.authority, 0644));
    BERTH_CO_TRY(server_, HttpServer::open(loop_.get_executor(), certificates,
                                           [this](Exchange& exchange) { return front_->serve(exchange); }));
    service_->listens_at(server_->port());
    say(boost::json::object{{"service", options_.service},
                            {"url", "https://localhost:" + std::to_string(server_->port())},
                            {"port", server_->port()},
                            {"ca", authority.string()},
                            {"journal", journal.string()}});
    co_await obey();
    co_await service_->close();
    co_await machines_->close();
    co_return Status{};
  }

 private:
  Status read_faults() {
    BERTH_TRY(const std::string text, os::read_file(options_.faults, kFaultsBytesMax));
    BERTH_TRY(const boost::json::value parsed, parse_json(text));
    if (!parsed.is_array()) return fail(ErrorKind::kInvalidArgument, "the faults are no list");
    return front_->add_faults(parsed.get_array());
  }

  // Until the end of standard input.
  Task<void> obey() {
    std::string text;
    boost::system::error_code error;
    while (!error) {
      char piece[4096];
      const std::size_t count = co_await input_.async_read_some(
          boost::asio::buffer(piece), boost::asio::redirect_error(boost::asio::use_awaitable, error));
      text.append(piece, count);
      for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
        const std::string line = text.substr(0, end);
        text.erase(0, end + 1);
        co_await obey_one(line);
      }
    }
  }

  Task<void> obey_one(std::string line) {
    const auto parsed = parse_json(line);
    if (!parsed || !parsed->is_object()) {
      say(boost::json::object{{"error", "a command is one JSON object"}});
    } else if (parsed->get_object().contains("machines")) {
      const auto count = co_await machines_->count();
      boost::json::object answer;
      if (count) {
        answer["machines"] = *count;
      } else {
        answer["error"] = count.error().message();
      }
      say(answer);
    } else {
      say(front_->control(parsed->get_object()));
    }
  }

  boost::asio::io_context& loop_;
  Options options_;
  boost::asio::posix::stream_descriptor input_;
  std::unique_ptr<Machines> machines_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Front> front_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace
}  // namespace berth::standins

int main(int argc, char** argv) {
  using namespace berth::standins;
  Options options;
  if (!read_options(argc, argv, &options)) {
    std::fprintf(stderr, "usage: standin daytona|vercel --folder DIR [--faults FILE] [--minute-ms N]\n");
    return 2;
  }
  raise_open_files();
  boost::asio::io_context loop(1);
  int result = 1;
  {
    StandIn stand_in(loop, std::move(options));
    boost::asio::co_spawn(loop, stand_in.run(), [&](std::exception_ptr thrown, berth::Status status) {
      result = !thrown && status ? 0 : 1;
      if (!thrown && !status) std::fprintf(stderr, "standin: %s\n", status.error().message().c_str());
      loop.stop();
    });
    berth::run_loop(loop);
  }
  return result;
}
