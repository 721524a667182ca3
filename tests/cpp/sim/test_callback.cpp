#include <pthread.h>

#include <atomic>
#include <thread>

#include "check.hpp"

namespace {

std::atomic<int> calls{0};
void count(void*) { ++calls; }

std::uint64_t self() { return static_cast<std::uint64_t>(pthread_self()); }

}  // namespace

TEST(callback, served_by_the_subscribed_thread) {
  start();
  calls = 0;
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  FAILS(107015, "aclrtSubscribeReport first", aclrtLaunchCallback(count, nullptr, ACL_CALLBACK_BLOCK, stream));
  FAILS(107012, "subscribes no stream", aclrtProcessReport(1));
  aclrtContext context = nullptr;
  OK(aclrtGetCurrentContext(&context));
  std::atomic<std::uint64_t> id{0};
  std::atomic<bool> stop{false};
  std::thread server([&] {
    aclrtSetCurrentContext(context);
    id = self();
    while (!stop) aclrtProcessReport(10);
  });
  while (id == 0) std::this_thread::yield();
  OK(aclrtSubscribeReport(id, stream));
  FAILS(107011, "subscribed already", aclrtSubscribeReport(id, stream));
  OK(aclrtLaunchCallback(count, nullptr, ACL_CALLBACK_BLOCK, stream));
  OK(aclrtLaunchCallback(count, nullptr, ACL_CALLBACK_NO_BLOCK, stream));
  OK(aclrtLaunchCallback(count, nullptr, ACL_CALLBACK_BLOCK, stream));
  OK(aclrtSynchronizeStream(stream));
  CHECK(calls == 3);
  CODE(100000, aclrtLaunchCallback(nullptr, nullptr, ACL_CALLBACK_BLOCK, stream));
  CODE(100000, aclrtLaunchCallback(count, nullptr, 5, stream));
  CODE(107012, aclrtUnSubscribeReport(12345, stream));
  OK(aclrtUnSubscribeReport(id, stream));
  CODE(107012, aclrtUnSubscribeReport(id, stream));
  stop = true;
  server.join();
}

TEST(callback, wrong_arguments) {
  start();
  aclrtStream a = nullptr, b = nullptr;
  OK(aclrtCreateStream(&a));
  OK(aclrtCreateStream(&b));
  CODE(100000, aclrtSubscribeReport(0, a));
  CODE(200005, aclrtSubscribeReport(self(), &a));
  OK(aclrtSubscribeReport(self(), a));
  CODE(107011, aclrtUnSubscribeReport(self(), b));
  CODE(107000, aclrtProcessReport(0));
  CODE(107000, aclrtProcessReport(-2));
  CODE(507012, aclrtProcessReport(1));
  OK(aclrtUnSubscribeReport(self(), a));
  CODE(100000, aclrtLaunchHostFunc(a, nullptr, nullptr));
  CODE(200005, aclrtLaunchHostFunc(&a, count, nullptr));
}

TEST(callback, an_own_thread_serves_itself) {
  start("{\"lateness_us\": 100}");
  calls = 0;
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  OK(aclrtSubscribeReport(self(), stream));
  OK(aclrtLaunchCallback(count, nullptr, ACL_CALLBACK_NO_BLOCK, stream));
  OK(aclrtProcessReport(-1));
  CHECK(calls == 1);
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtUnSubscribeReport(self(), stream));
}

namespace {

std::atomic<std::uint32_t> code{0}, device{9}, stream_id{99}, task{0}, thread_id{0};
void on_exception(aclrtExceptionInfo* info) {
  code = aclrtGetErrorCodeFromExceptionInfo(info);
  device = aclrtGetDeviceIdFromExceptionInfo(info);
  stream_id = aclrtGetStreamIdFromExceptionInfo(info);
  task = aclrtGetTaskIdFromExceptionInfo(info);
  thread_id = aclrtGetThreadIdFromExceptionInfo(info);
}

}  // namespace

TEST(callback, exceptions_are_told) {
  start();
  OK(aclrtSetExceptionInfoCallback(on_exception));
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  int32_t id = -1;
  OK(aclrtStreamGetId(stream, &id));
  OK(aclsim_launch(stream, nullptr, nullptr, 0, 507014));
  CODE(507014, aclrtSynchronizeStream(stream));
  CHECK(code == 507014 && device == 0 && static_cast<int32_t>(stream_id) == id && task == 1);
  CHECK(thread_id == static_cast<std::uint32_t>(self()));
  CHECK(aclrtGetTaskIdFromExceptionInfo(nullptr) == UINT32_MAX);
  CHECK(aclrtGetErrorCodeFromExceptionInfo(nullptr) == UINT32_MAX);
  CHECK(aclrtGetDeviceIdFromExceptionInfo(nullptr) == UINT32_MAX);
  CHECK(aclrtGetStreamIdFromExceptionInfo(nullptr) == UINT32_MAX);
  CHECK(aclrtGetThreadIdFromExceptionInfo(nullptr) == UINT32_MAX);
  OK(aclrtSetExceptionInfoCallback(nullptr));
}
