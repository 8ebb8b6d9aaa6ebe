// Task<T>: a coroutine on the process's one event loop.
//
// g++ 12 destroys a temporary twice when it is an argument inside a co_await expression and a lambda
// with captures, or an aggregate in braces, that owns something. Give such an argument a name first:
//   UnitOfWork work = [job](Transaction& rows) { return job->run(rows); };
//   const Status done = co_await store.commit(std::move(work));
#ifndef BERTH_CORE_BASE_TASK_H_
#define BERTH_CORE_BASE_TASK_H_

#include <boost/asio/awaitable.hpp>

namespace berth {

template <class T>
using Task = boost::asio::awaitable<T>;

}  // namespace berth

#endif  // BERTH_CORE_BASE_TASK_H_
