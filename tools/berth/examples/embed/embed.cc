// Runs a program in a sandbox, shows its output as it comes, cancels another, prints the receipts.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <iostream>

#include "core/host/host.h"

struct Printer : berth::ExecutionObserver {
  berth::Cancellation stop;
  bool stop_at_first_output = false;

  Flow on_output(const berth::OutputChunk& chunk) override {
    std::cout << chunk.text << std::flush;
    if (stop_at_first_output) stop.request(berth::Cancellation::Reason::kCaller);
    return Flow::kContinue;
  }
};

berth::Task<berth::Status> run_both(berth::Host& host) {
  BERTH_CO_TRY(berth::HostedProvider* local, co_await host.load("local"));
  BERTH_CO_CHECK_OK(berth::check_usable(*local->loaded));
  berth::ExecutionRequest request;
  request.code = "for i in range(3): print('line', i)\nresult = {'answer': 6 * 7}\n";
  request.key = berth::CallKey{"ada", "example", "first"};
  Printer first;
  auto result = co_await host.execute(*local, request, &first, first.stop);
  std::cout << "first: " << to_string(result.status) << "\n";
  request.code = "import time\nprint('waiting\\n', end='')\ntime.sleep(600)\n";
  request.key.call = "second";
  Printer second;
  second.stop_at_first_output = true;
  result = co_await host.execute(*local, request, &second, second.stop);
  std::cout << "second: " << to_string(result.status) << "\n";

  berth::ReceiptFilter mine;
  mine.owner = "ada";
  BERTH_CO_TRY(const auto receipts, co_await host.receipts(mine));
  for (const berth::Receipt& receipt : receipts) {
    std::cout << "receipt: " << receipt.call << ", " << to_string(receipt.settlement) << ", "
              << (receipt.cost ? std::to_string(receipt.cost->micros()) : "?") << " micro-dollars\n";
  }
  co_return berth::Status();
}

int main(int count, char** arguments) {
  boost::asio::io_context loop(1);
  const berth::HostOptions options{count == 2 ? arguments[1] : "", BERTH_INSTALLATION};
  auto host = berth::Host::open(loop.get_executor(), options);
  berth::Status status = host ? berth::Status() : berth::fail(host.error());
  if (host) {
    boost::asio::co_spawn(loop, run_both(**host), [&](std::exception_ptr, berth::Status ended) {
      status = ended;
      boost::asio::co_spawn(loop, (*host)->close(), [](std::exception_ptr) {});
    });
    loop.run();
  }
  if (!status) std::cerr << "embed: " << status.error().message() << "\n";
  return status ? 0 : 1;
}
