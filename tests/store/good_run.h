// The three commits of a good run, with rows as large as real ones: what tests and measurements of
// a store make it do.
#ifndef BERTH_TESTS_STORE_GOOD_RUN_H_
#define BERTH_TESTS_STORE_GOOD_RUN_H_

#include <string>

#include "core/lifecycle/store.h"

namespace berth::test {

// An intent as it is first written, for call `number` of a session of `owner`.
Intent make_intent(long number, std::string_view owner = "owner-1");
// A receipt of a completed call.
Receipt make_receipt(const Intent& intent);

// Reserve with dispatch, confirm, release with result and receipt.
Task<Status> good_run(Store& store, long number, std::string owner = "owner-1");

}  // namespace berth::test

#endif  // BERTH_TESTS_STORE_GOOD_RUN_H_
