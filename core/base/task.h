// Task<T>: a coroutine on the process's one event loop.
#ifndef BERTH_CORE_BASE_TASK_H_
#define BERTH_CORE_BASE_TASK_H_

#include <boost/asio/awaitable.hpp>

namespace berth {

template <class T>
using Task = boost::asio::awaitable<T>;

}  // namespace berth

#endif  // BERTH_CORE_BASE_TASK_H_
