#include <atomic>
#include <thread>

#include "check.hpp"

namespace {

void count(void* data) { ++*static_cast<std::atomic<int>*>(data); }
void hold(void* data) {
  const auto& open = *static_cast<std::atomic<bool>*>(data);
  while (!open.load()) std::this_thread::yield();
}

}  // namespace

TEST(stream, create_and_destroy) {
  start();
  aclrtStream stream = nullptr;
  FAILS(100000, "stream", aclrtCreateStream(nullptr));
  OK(aclrtCreateStream(&stream));
  CODE(100000, aclrtDestroyStream(nullptr));
  OK(aclrtDestroyStream(stream));
  FAILS(200005, "destroyed", aclrtDestroyStream(stream));
  FAILS(200005, "no stream", aclrtSynchronizeStream(&stream));
  OK(aclrtCreateStreamWithConfig(&stream, 3, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC));
  CODE(100000, aclrtCreateStreamWithConfig(&stream, 0, 0x1000));
  CODE(100000, aclrtCreateStreamWithConfig(nullptr, 0, 0));
  uint32_t priority = 0, flags = 0;
  int32_t id = -1;
  OK(aclrtStreamGetPriority(stream, &priority));
  CHECK(priority == 3);
  OK(aclrtStreamGetFlags(stream, &flags));
  CHECK(flags == 3);
  OK(aclrtStreamGetId(stream, &id));
  CHECK(id >= 0);
  CODE(100000, aclrtStreamGetId(stream, nullptr));
  CODE(100000, aclrtStreamGetPriority(stream, nullptr));
  CODE(100000, aclrtStreamGetFlags(stream, nullptr));
  OK(aclrtDestroyStreamForce(stream));
  CODE(100000, aclrtDestroyStreamForce(nullptr));
  CODE(200005, aclrtDestroyStreamForce(stream));
  aclrtStream fallback = nullptr;
  OK(aclrtCtxGetCurrentDefaultStream(&fallback));
  CODE(100000, aclrtDestroyStream(fallback));
  int code = 0;
  std::thread([&] { code = aclrtCreateStream(&stream); }).join();
  CHECK(code == 107002);
}

TEST(stream, belongs_to_its_context) {
  start();
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  aclrtContext primary = nullptr, context = nullptr;
  OK(aclrtGetCurrentContext(&primary));
  OK(aclrtCreateContext(&context, 0));
  FAILS(107003, "does not belong", aclrtSynchronizeStream(stream));
  CODE(107003, aclrtDestroyStream(stream));
  aclrtStreamStatus status = -1;
  CODE(107003, aclrtStreamQuery(stream, &status));
  OK(aclrtSetCurrentContext(primary));
  OK(aclrtDestroyContext(context));
  OK(aclrtDestroyStream(stream));
}

TEST(stream, limit) {
  start("{\"stream_limit\": 3}");
  aclrtStream a = nullptr, b = nullptr, c = nullptr;
  uint32_t left = 0;
  OK(aclrtGetStreamAvailableNum(&left));
  CHECK(left == 2);
  CODE(100000, aclrtGetStreamAvailableNum(nullptr));
  OK(aclrtCreateStream(&a));
  OK(aclrtCreateStream(&b));
  FAILS(207008, "EE1023", aclrtCreateStream(&c));
  OK(aclrtDestroyStream(a));
  OK(aclrtCreateStream(&c));
}

TEST(stream, limits_follow_the_soc) {
  start("{\"soc\": \"Ascend910B4\"}");
  uint32_t left = 0;
  OK(aclrtGetStreamAvailableNum(&left));
  CHECK(left == 1983);
}

TEST(stream, runs_in_order_and_late) {
  start("{\"lateness_us\": 10000000}");
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  std::atomic<int> counter{0};
  for (int i = 0; i < 3; ++i) OK(aclrtLaunchHostFunc(stream, count, &counter));
  let_workers_run();
  CHECK(counter == 0);  // nobody waits for it yet
  aclrtStreamStatus status = -1;
  OK(aclrtStreamQuery(stream, &status));
  OK(aclrtSynchronizeStream(stream));
  CHECK(counter == 3);
  OK(aclrtStreamQuery(stream, &status));
  CHECK(status == ACL_STREAM_STATUS_COMPLETE);
  CODE(100000, aclrtStreamQuery(stream, nullptr));
  OK(aclrtLaunchHostFunc(stream, count, &counter));
  OK(aclrtDestroyStream(stream));  // waits
  CHECK(counter == 4);
}

TEST(stream, works_without_being_asked) {
  start("{\"lateness_us\": 100}");
  std::atomic<int> counter{0};
  OK(aclrtLaunchHostFunc(nullptr, count, &counter));
  while (counter == 0) std::this_thread::yield();
  OK(aclrtSynchronizeStream(nullptr));
}

TEST(stream, time_outs) {
  start();
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  std::atomic<bool> open{false};
  OK(aclrtLaunchHostFunc(stream, hold, &open));
  FAILS(507046, "Stream synchronize timeout", aclrtSynchronizeStreamWithTimeout(stream, 1));
  CODE(507046, aclrtSynchronizeDeviceWithTimeout(1));
  aclrtStreamStatus status = -1;
  OK(aclrtStreamQuery(stream, &status));
  CHECK(status == ACL_STREAM_STATUS_NOT_READY);
  FAILS(107000, "-1 or more", aclrtSynchronizeStreamWithTimeout(stream, -2));
  open = true;
  OK(aclrtSynchronizeStreamWithTimeout(stream, -1));
}

TEST(stream, failures_surface_at_the_next_wait) {
  start();
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  OK(aclsim_launch(stream, nullptr, nullptr, 0, 507015));
  std::atomic<int> counter{0};
  OK(aclrtLaunchHostFunc(stream, count, &counter));
  FAILS(507015, "kernel failed", aclrtSynchronizeStream(stream));
  CHECK(counter == 1);  // it goes on
  OK(aclrtSynchronizeStream(stream));
  CODE(107000, aclrtSetStreamFailureMode(stream, 2));
  CODE(107000, aclrtSetStreamFailureMode(nullptr, 1));
  OK(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
  OK(aclsim_launch(stream, nullptr, nullptr, 0, 507015));
  OK(aclrtLaunchHostFunc(stream, count, &counter));
  CODE(507015, aclrtSynchronizeStream(stream));
  CHECK(counter == 1);  // it stopped
  FAILS(507015, "stops on failure", aclrtLaunchHostFunc(stream, count, &counter));
  aclrtStream other = nullptr;
  OK(aclrtCreateStream(&other));
  CODE(507015, aclrtLaunchHostFunc(other, count, &counter));  // the whole context did
}

TEST(stream, abort_drops_what_waits) {
  start();
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  std::atomic<bool> open{false};
  std::atomic<int> counter{0};
  OK(aclrtLaunchHostFunc(stream, hold, &open));
  for (int i = 0; i < 5; ++i) OK(aclrtLaunchHostFunc(stream, count, &counter));
  int waiting = -1;
  aclrtContext context = nullptr;
  OK(aclrtGetCurrentContext(&context));
  std::thread waiter([&] {
    aclrtSetCurrentContext(context);
    waiting = aclrtSynchronizeStream(stream);
  });
  std::thread opener([&] {
    // The abort waits for the task that runs: let it end once the rest is gone.
    aclrtStreamStatus status = -1;
    aclrtSetCurrentContext(context);
    aclrtStreamQuery(stream, &status);
    open = true;
  });
  const int aborted = aclrtStreamAbort(stream);
  opener.join();
  waiter.join();
  CHECK(aborted == 0);
  CHECK(waiting == 107023 || waiting == 0);
  CHECK(counter <= 5);
  CODE(100000, aclrtStreamAbort(nullptr));
  const int before = counter;
  OK(aclrtLaunchHostFunc(stream, count, &counter));  // usable again
  OK(aclrtSynchronizeStream(stream));
  CHECK(counter == before + 1);
}

TEST(stream, force_does_not_wait) {
  start("{\"lateness_us\": 10000000}");
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  std::atomic<int> counter{0};
  for (int i = 0; i < 100; ++i) OK(aclrtLaunchHostFunc(stream, count, &counter));
  OK(aclrtDestroyStreamForce(stream));
  CHECK(counter == 0);
}

namespace {

std::atomic<int> created{0}, destroyed{0};
void watch(aclrtStream stream, aclrtStreamState state, void* data) {
  CHECK(stream != nullptr && data == &created);
  if (state == ACL_RT_STREAM_STATE_CREATE_POST) ++created;
  if (state == ACL_RT_STREAM_STATE_DESTROY_PRE) ++destroyed;
}

}  // namespace

TEST(stream, state_callback) {
  start();
  CODE(100000, aclrtRegStreamStateCallback(nullptr, watch, &created));
  OK(aclrtRegStreamStateCallback("test", watch, &created));
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  OK(aclrtDestroyStream(stream));
  CHECK(created == 1 && destroyed == 1);
  OK(aclrtRegStreamStateCallback("test", nullptr, nullptr));
  OK(aclrtCreateStream(&stream));
  CHECK(created == 1);
}

TEST(stream, a_callback_must_not_wait) {
  start();
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  static std::atomic<int> code;
  code = 0;
  static aclrtContext context;
  OK(aclrtGetCurrentContext(&context));
  OK(aclrtLaunchHostFunc(
      stream,
      [](void* s) {
        aclrtSetCurrentContext(context);
        code = aclrtSynchronizeStream(s);
      },
      stream));
  OK(aclrtSynchronizeStream(stream));
  CHECK(code == 107000);
}
