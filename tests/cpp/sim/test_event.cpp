#include <atomic>
#include <thread>

#include "check.hpp"

namespace {

struct Two {
  aclrtStream a = nullptr, b = nullptr;
  aclrtEvent event = nullptr;
  Two() {
    OK(aclrtCreateStream(&a));
    OK(aclrtCreateStream(&b));
    OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
  }
};
void hold(void* data) {
  const auto& open = *static_cast<std::atomic<bool>*>(data);
  while (!open.load()) std::this_thread::yield();
}

}  // namespace

TEST(event, kinds_of_events) {
  start();
  aclrtEvent event = nullptr;
  CODE(100000, aclrtCreateEvent(nullptr));
  OK(aclrtCreateEvent(&event));
  OK(aclrtDestroyEvent(event));
  FAILS(200005, "destroyed", aclrtDestroyEvent(event));
  CODE(100000, aclrtDestroyEvent(nullptr));
  CODE(100000, aclrtCreateEventWithFlag(&event, 0));
  CODE(100000, aclrtCreateEventWithFlag(&event, 0x1000));
  CODE(100000, aclrtCreateEventWithFlag(nullptr, 1));
  OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_TIME_LINE));
  FAILS(107000, "ACL_EVENT_SYNC", aclrtStreamWaitEvent(nullptr, event));
  OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
  CODE(100000, aclrtCreateEventExWithFlag(nullptr, ACL_EVENT_SYNC));
  aclrtEventStatus status = -1;
  aclrtEventWaitStatus waits = -1;
  FAILS(107000, "aclrtCreateEventExWithFlag", aclrtQueryEvent(event, &status));
  CODE(107000, aclrtQueryEventWaitStatus(event, &waits));
  CODE(107000, aclrtResetEvent(event, nullptr));
  uint32_t id = 0;
  OK(aclrtGetEventId(event, &id));
  CODE(100000, aclrtGetEventId(event, nullptr));
  CODE(100000, aclrtGetEventId(nullptr, &id));
}

TEST(event, limit) {
  start("{\"event_limit\": 2}");
  aclrtEvent a = nullptr, b = nullptr, c = nullptr;
  OK(aclrtCreateEvent(&a));
  uint32_t left = 0;
  OK(aclrtGetEventAvailNum(&left));
  CHECK(left == 1);
  CODE(100000, aclrtGetEventAvailNum(nullptr));
  OK(aclrtCreateEvent(&b));
  FAILS(207007, "EE1023", aclrtCreateEvent(&c));
  OK(aclrtDestroyEvent(b));
  OK(aclrtCreateEvent(&c));
}

TEST(event, statuses_are_each_other_s_inverse) {
  start();
  Two two;
  std::atomic<bool> open{false};
  OK(aclrtLaunchHostFunc(two.a, hold, &open));
  OK(aclrtRecordEvent(two.event, two.a));
  aclrtEventStatus old_status = -1;
  aclrtEventRecordedStatus status = -1;
  OK(aclrtQueryEvent(two.event, &old_status));
  OK(aclrtQueryEventStatus(two.event, &status));
  CHECK(old_status == 1 && status == 0);  // not ready, in both enumerations
  FAILS(507047, "Event synchronize timeout", aclrtSynchronizeEventWithTimeout(two.event, 1));
  CODE(107000, aclrtSynchronizeEventWithTimeout(two.event, -2));
  open = true;
  OK(aclrtSynchronizeEvent(two.event));
  OK(aclrtSynchronizeEventWithTimeout(two.event, 1000));
  OK(aclrtQueryEvent(two.event, &old_status));
  OK(aclrtQueryEventStatus(two.event, &status));
  CHECK(old_status == 0 && status == 1);  // complete
  CODE(100000, aclrtQueryEvent(two.event, nullptr));
  CODE(100000, aclrtQueryEventStatus(two.event, nullptr));
  CODE(100000, aclrtQueryEventStatus(nullptr, &status));
  CODE(100000, aclrtSynchronizeEvent(nullptr));
  CODE(200005, aclrtSynchronizeEvent(&open));
  CODE(100000, aclrtRecordEvent(nullptr, two.a));
  CODE(200005, aclrtRecordEvent(two.event, &open));
  OK(aclrtRecordEventWithFlag(two.event, two.a, 0));
  CODE(100000, aclrtRecordEventWithFlag(two.event, two.a, 2));
  OK(aclrtSynchronizeStream(two.a));
}

TEST(event, orders_two_streams) {
  start();
  Two two;
  std::atomic<bool> open{false};
  static std::atomic<int> sequence;
  sequence = 0;
  OK(aclrtLaunchHostFunc(two.a, hold, &open));
  OK(aclrtLaunchHostFunc(two.a, [](void*) { sequence = 1; }, nullptr));
  OK(aclrtRecordEvent(two.event, two.a));
  OK(aclrtStreamWaitEvent(two.b, two.event));
  static std::atomic<int> seen;
  seen = -1;
  OK(aclrtLaunchHostFunc(two.b, [](void*) { seen = sequence.load(); }, nullptr));
  aclrtEventWaitStatus waits = -1;
  OK(aclrtQueryEventWaitStatus(two.event, &waits));
  CHECK(waits == ACL_EVENT_WAIT_STATUS_NOT_READY);
  open = true;
  OK(aclrtSynchronizeStream(two.b));  // hurries the other stream too
  CHECK(seen == 1);
  OK(aclrtQueryEventWaitStatus(two.event, &waits));
  CHECK(waits == ACL_EVENT_WAIT_STATUS_COMPLETE);
  CODE(100000, aclrtStreamWaitEvent(two.b, nullptr));
  CODE(100000, aclrtQueryEventWaitStatus(two.event, nullptr));
  OK(aclrtStreamWaitEventWithTimeout(two.b, two.event, 5));
  CODE(107000, aclrtStreamWaitEventWithTimeout(two.b, two.event, -1));
  OK(aclrtSynchronizeStream(two.b));
}

TEST(event, a_wait_covers_the_last_record_before_it) {
  start("{\"lateness_us\": 10000000}");
  Two two;
  OK(aclrtStreamWaitEvent(two.b, two.event));
  CHECK(violated("wait for an event that was never recorded"));
  OK(aclrtSynchronizeStream(two.b));  // nothing to wait for
  std::atomic<bool> open{false};
  OK(aclrtRecordEvent(two.event, two.a));
  OK(aclrtStreamWaitEvent(two.b, two.event));
  OK(aclrtLaunchHostFunc(two.a, hold, &open));
  OK(aclrtRecordEvent(two.event, two.a));
  OK(aclrtSynchronizeStream(two.b));  // the second record is not its business
  open = true;
  OK(aclrtSynchronizeStream(two.a));
}

TEST(event, reset) {
  start();
  aclrtStream stream = nullptr;
  aclrtEvent event = nullptr;
  OK(aclrtCreateStream(&stream));
  OK(aclrtCreateEvent(&event));
  OK(aclrtRecordEvent(event, stream));
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtResetEvent(event, stream));
  OK(aclrtSynchronizeStream(stream));
  aclrtEventStatus status = -1;
  OK(aclrtQueryEvent(event, &status));
  CHECK(status == ACL_EVENT_STATUS_NOT_READY);
  CODE(100000, aclrtResetEvent(nullptr, stream));
  CODE(200005, aclrtResetEvent(event, &status));
}

TEST(event, times) {
  start("{\"virtual_time\": true}");
  Two two;
  aclrtEvent end = nullptr, plain = nullptr;
  OK(aclrtCreateEventWithFlag(&end, ACL_EVENT_TIME_LINE));
  OK(aclrtCreateEventWithFlag(&plain, ACL_EVENT_SYNC));
  float ms = 0;
  uint64_t from = 0, to = 0;
  FAILS(107006, "not recorded", aclrtEventElapsedTime(&ms, two.event, end));
  OK(aclrtRecordEvent(two.event, two.a));
  OK(aclsim_launch(two.a, nullptr, nullptr, 3'600'000'000'000, 0));  // an hour
  OK(aclrtRecordEvent(end, two.a));
  OK(aclrtRecordEvent(plain, two.a));
  OK(aclrtSynchronizeStream(two.a));
  OK(aclrtEventElapsedTime(&ms, two.event, end));
  CHECK(ms == 3'600'000.0f);
  OK(aclrtEventGetTimestamp(two.event, &from));
  OK(aclrtEventGetTimestamp(end, &to));
  CHECK(to - from == 3'600'000'000);
  FAILS(107007, "before the start", aclrtEventElapsedTime(&ms, end, two.event));
  FAILS(107006, "ACL_EVENT_TIME_LINE", aclrtEventElapsedTime(&ms, plain, end));
  CODE(107006, aclrtEventGetTimestamp(plain, &to));
  CODE(100000, aclrtEventElapsedTime(nullptr, two.event, end));
  CODE(100000, aclrtEventElapsedTime(&ms, nullptr, end));
  CODE(100000, aclrtEventElapsedTime(&ms, two.event, nullptr));
  CODE(100000, aclrtEventGetTimestamp(end, nullptr));
  CODE(100000, aclrtEventGetTimestamp(nullptr, &to));
}

TEST(event, devices_do_not_mix) {
  start("{\"devices\": 2}");
  aclrtEvent event = nullptr;
  OK(aclrtCreateEvent(&event));
  OK(aclrtSetDevice(1));
  FAILS(107003, "device", aclrtRecordEvent(event, nullptr));
}
