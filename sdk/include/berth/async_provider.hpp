// SPDX-License-Identifier: Apache-2.0
//
// For a provider that has an event loop of its own: derive from berth::AsyncProvider and return
// Asio awaitables. It needs Boost.Asio; berth/provider.hpp does not.
//
// Threading: one thread, started by open and joined by shutdown, runs every coroutine of the
// provider, so what they share needs no lock as long as it is not held across a co_await. A
// coroutine never waits other than by co_await.
//
// Cancellation: when the host cancels an operation, whatever it co_awaits ends with
// operation_aborted. Not so create, fence, destroy, open and shutdown: what they set going must be
// seen to its end, so they ask operation.cancelled() where they can stop cleanly. [CANC-002]
#ifndef BERTH_ASYNC_PROVIDER_HPP
#define BERTH_ASYNC_PROVIDER_HPP

#include <fcntl.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstdint>
#include <span>
#include <string_view>
#include <system_error>

#include "berth/provider.hpp"

namespace berth {
inline namespace sdk_v1 {

namespace detail {

template <class P, class Facts>
class AsyncShell;

// A descriptor of the host's, watched through a copy: the host's own is never closed or read.
inline boost::asio::posix::stream_descriptor watch(const boost::asio::any_io_executor& executor,
                                                   int fd) {
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0)
    throw std::system_error(errno, std::generic_category(), "a copy of a descriptor of the host");
  return boost::asio::posix::stream_descriptor(executor, copy);
}

}  // namespace detail

// An operation of berth::AsyncProvider.
class AsyncOperation : public OperationBase {
 public:
  using OperationBase::OperationBase;
  ~AsyncOperation() = default;

  // Sends bytes of a stream in pieces the host takes; suspends while the reader is behind.
  boost::asio::awaitable<Flow> output(Stream stream, std::string_view bytes) {
    do {
      const std::string_view piece = bytes.substr(0, BERTH_OUTPUT_CHUNK_MAX_BYTES);
      bytes.remove_prefix(piece.size());
      const berth_bytes raw{reinterpret_cast<const std::uint8_t*>(piece.data()), piece.size()};
      switch (table().output(table().ctx, id(), static_cast<berth_stream>(stream), raw)) {
        case BERTH_OUTPUT_ACCEPTED:
          break;
        case BERTH_OUTPUT_PAUSE:
          co_await until_ready();
          break;
        case BERTH_OUTPUT_LIMIT:
          co_return Flow::kLimit;
        default:
          co_return Flow::kCancelled;
      }
    } while (!bytes.empty());
    co_return Flow::kAccepted;
  }

  // Fetches bytes the caller supplies; zero means the end. Throws Failure::uncertain with
  // kCancelled when the operation is cancelled.
  boost::asio::awaitable<std::size_t> input(std::span<char> buffer) {
    for (;;) {
      std::uint64_t got = 0;
      switch (table().input(table().ctx, id(), reinterpret_cast<std::uint8_t*>(buffer.data()),
                            buffer.size(), &got)) {
        case BERTH_INPUT_DATA:
          co_return static_cast<std::size_t>(got);
        case BERTH_INPUT_END:
          co_return 0;
        case BERTH_INPUT_AGAIN:
          co_await until_ready();
          break;
        default:
          throw Operation::cancelled_failure();
      }
    }
  }

 private:
  // Suspends until the host is ready or the operation is cancelled; the next call tells which.
  boost::asio::awaitable<void> until_ready() {
    using boost::asio::experimental::awaitable_operators::operator||;
    const auto executor = co_await boost::asio::this_coro::executor;
    auto ready = detail::watch(executor, ready_fd());
    auto cancel = detail::watch(executor, cancel_fd());
    constexpr auto kRead = boost::asio::posix::stream_descriptor::wait_read;
    co_await (ready.async_wait(kRead, boost::asio::use_awaitable) ||
              cancel.async_wait(kRead, boost::asio::use_awaitable));
  }
};

class AsyncProvider {
 public:
  template <class T>
  using Awaitable = boost::asio::awaitable<T>;
  using BerthBase = AsyncProvider;
  template <class P, class Facts>
  using BerthShell = detail::AsyncShell<P, Facts>;

  AsyncProvider() = default;
  AsyncProvider(const AsyncProvider&) = delete;
  AsyncProvider& operator=(const AsyncProvider&) = delete;
  virtual ~AsyncProvider() = default;

  // The slots mean what they mean in berth::Provider.
  virtual Awaitable<void> open(AsyncOperation&, const OpenSpec&) { co_return; }
  virtual Awaitable<ProbeReport> probe(AsyncOperation&) = 0;
  virtual Awaitable<Scope> scope(AsyncOperation&) = 0;
  virtual Awaitable<Created> create(AsyncOperation&, std::string_view name, const CreateSpec&) = 0;
  virtual Awaitable<Found> lookup(AsyncOperation&, std::string_view name) = 0;
  virtual Awaitable<Found> fence(AsyncOperation&, std::string_view) { co_return Found{}; }
  virtual Awaitable<RunResult> run(AsyncOperation&, std::string_view ref, const Command&) = 0;
  virtual Awaitable<void> put_file(AsyncOperation&, std::string_view ref, const PutFile&) = 0;
  virtual Awaitable<GotFile> get_file(AsyncOperation&, std::string_view ref, const GetFile&) = 0;
  virtual Awaitable<Destroyed> destroy(AsyncOperation&, std::string_view name,
                                       std::string_view ref) = 0;
  virtual Awaitable<ListPage> list_owned(AsyncOperation&, std::string_view owner_tag,
                                         std::string_view cursor) = 0;
  virtual Awaitable<void> shutdown(AsyncOperation&) { co_return; }
  static const void* extension(std::string_view) { return nullptr; }

  void attach(const Host& host, boost::asio::any_io_executor executor) {
    host_ = &host;
    executor_ = std::move(executor);
  }

 protected:
  // Valid from open() on; not in the constructor.
  const Host& host() const { return *host_; }
  const boost::asio::any_io_executor& executor() const { return executor_; }

 private:
  const Host* host_ = nullptr;
  boost::asio::any_io_executor executor_;
};

}  // namespace sdk_v1
}  // namespace berth

#include "berth/detail/async_shell.hpp"

#endif  // BERTH_ASYNC_PROVIDER_HPP
