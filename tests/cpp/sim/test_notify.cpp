#include <atomic>
#include <thread>

#include "check.hpp"

namespace {

struct Two {
  aclrtStream a = nullptr, b = nullptr;
  Two() {
    OK(aclrtCreateStream(&a));
    OK(aclrtCreateStream(&b));
  }
};

}  // namespace

TEST(notify, orders_and_resets) {
  start();
  Two two;
  aclrtNotify notify = nullptr;
  CODE(100000, aclrtCreateNotify(nullptr, 0));
  CODE(100000, aclrtCreateNotify(&notify, 7));
  OK(aclrtCreateNotify(&notify, 0));
  static std::atomic<int> sequence, seen;
  sequence = seen = 0;
  OK(aclrtWaitAndResetNotify(notify, two.b, 0));
  OK(aclrtLaunchHostFunc(two.b, [](void*) { seen = sequence.load(); }, nullptr));
  OK(aclrtLaunchHostFunc(two.a, [](void*) { sequence = 1; }, nullptr));
  OK(aclrtRecordNotify(notify, two.a));
  OK(aclrtSynchronizeStream(two.b));
  CHECK(seen == 1);
  OK(aclrtSynchronizeStream(two.a));
  OK(aclrtWaitAndResetNotify(notify, two.b, 1));  // it was reset
  CODE(507046, aclrtSynchronizeStreamWithTimeout(two.b, 5));
  FAILS(107019, "longer than its time-out", aclrtSynchronizeStream(two.b));
  uint32_t id = 99;
  OK(aclrtGetNotifyId(notify, &id));
  CODE(100000, aclrtGetNotifyId(notify, nullptr));
  CODE(100000, aclrtGetNotifyId(nullptr, &id));
  CODE(100000, aclrtRecordNotify(nullptr, two.a));
  CODE(200005, aclrtRecordNotify(notify, &id));
  CODE(100000, aclrtWaitAndResetNotify(nullptr, two.a, 0));
  OK(aclrtDestroyNotify(notify));
  CODE(200005, aclrtDestroyNotify(notify));
  CODE(100000, aclrtDestroyNotify(nullptr));
}

TEST(notify, values_in_memory) {
  start();
  Two two;
  void* memory = to_device({0, 0});
  OK(aclrtValueWait(memory, 5, ACL_STREAM_WAIT_VALUE_EQ, two.b));
  OK(aclrtValueWrite(memory, 5, 0, two.a));
  OK(aclrtSynchronizeStream(two.b));
  const uint64_t six = 6;
  OK(aclrtValueWait(memory, 6, ACL_STREAM_WAIT_VALUE_GEQ, two.b));
  OK(aclrtMemcpy(memory, 8, &six, 8, ACL_MEMCPY_HOST_TO_DEVICE));
  OK(aclrtSynchronizeStream(two.b));
  OK(aclrtValueWait(memory, 2, ACL_STREAM_WAIT_VALUE_AND, two.b));
  OK(aclrtValueWait(memory, 1, ACL_STREAM_WAIT_VALUE_NOR, two.b));
  OK(aclrtSynchronizeStream(two.b));
  CODE(100000, aclrtValueWait(nullptr, 1, 0, two.b));
  CODE(100000, aclrtValueWait(memory, 1, 4, two.b));
  CODE(107000, aclrtValueWait(static_cast<char*>(memory) + 4, 1, 0, two.b));
  CODE(100000, aclrtValueWrite(memory, 1, 1, two.b));
  CODE(100000, aclrtValueWrite(nullptr, 1, 0, two.b));
  OK(aclrtFree(memory));
  OK(aclrtValueWrite(memory, 1, 0, two.a));
  CODE(507013, aclrtSynchronizeStream(two.a));
  OK(aclrtValueWait(memory, 1, 0, two.a));
  CODE(507013, aclrtSynchronizeStream(two.a));
}
