#include <pthread.h>

#include <atomic>
#include <thread>

#include "check.hpp"

TEST(resources, stream_configuration) {
  start();
  aclrtStreamConfigHandle* config = aclrtCreateStreamConfigHandle();
  std::size_t flag = ACL_STREAM_FAST_LAUNCH, size = 64;
  uint32_t priority = 2;
  void* work = nullptr;
  OK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_FLAG, &flag, sizeof flag));
  OK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_PRIORITY, &priority, sizeof priority));
  OK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_WORK_SIZE, &size, sizeof size));
  OK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_WORK_ADDR_PTR, &work, sizeof work));
  const uint32_t narrow = ACL_STREAM_FAST_LAUNCH;
  OK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_FLAG, &narrow, sizeof narrow));
  CODE(100000, aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_FLAG, &flag, 1));
  CODE(100000, aclrtSetStreamConfigOpt(config, 9, &flag, 8));
  CODE(100000, aclrtSetStreamConfigOpt(config, 0, nullptr, 8));
  CODE(100000, aclrtSetStreamConfigOpt(nullptr, 0, &flag, 8));
  aclrtStream stream = nullptr;
  OK(aclrtCreateStreamV2(&stream, config));
  CODE(100000, aclrtCreateStreamV2(&stream, nullptr));
  uint32_t got = 0;
  OK(aclrtStreamGetPriority(stream, &got));
  CHECK(got == 2);
  OK(aclrtDestroyStreamConfigHandle(config));
  CODE(200005, aclrtDestroyStreamConfigHandle(config));
  aclrtStreamAttrValue value{};
  for (int attribute :
       {ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK, ACL_STREAM_ATTR_USER_CUSTOM_TAG, ACL_STREAM_ATTR_CACHE_OP_INFO}) {
    value.userCustomTag = 7;
    OK(aclrtSetStreamAttribute(stream, attribute, &value));
    value.userCustomTag = 0;
    OK(aclrtGetStreamAttribute(stream, attribute, &value));
    CHECK(value.userCustomTag == 7);
  }
  value.failureMode = ACL_STOP_ON_FAILURE;
  OK(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_FAILURE_MODE, &value));
  OK(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_FAILURE_MODE, &value));
  CHECK(value.failureMode == ACL_STOP_ON_FAILURE);
  OK(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_PRIORITY, &value));
  CHECK(value.streamPriority == 2);
  CODE(100000, aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_PRIORITY, &value));
  CODE(100000, aclrtGetStreamAttribute(stream, 77, &value));
  CODE(100000, aclrtGetStreamAttribute(stream, 1, nullptr));
  CODE(100000, aclrtSetStreamAttribute(stream, 1, nullptr));
  CODE(200005, aclrtGetStreamAttribute(&value, 1, &value));
}

TEST(resources, cores_and_features) {
  start();
  uint32_t value = 0, all = 0;
  OK(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, &all));
  CHECK(all > 0);
  OK(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, 1));
  OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_VECTOR_CORE, &value));
  CHECK(value == 1);
  OK(aclrtResetDeviceResLimit(0));
  OK(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, &value));
  CHECK(value == all);
  CODE(107000, aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, all + 1));
  CODE(100000, aclrtSetDeviceResLimit(0, 9, 1));
  CODE(107001, aclrtSetDeviceResLimit(9, 0, 1));
  CODE(107001, aclrtResetDeviceResLimit(9));
  CODE(100000, aclrtGetDeviceResLimit(0, 9, &value));
  CODE(100000, aclrtGetDeviceResLimit(0, 0, nullptr));
  CODE(100000, aclrtGetResInCurrentThread(0, nullptr));
  int32_t has = 9;
  OK(aclrtGetDeviceCapability(0, 1, &has));
  CHECK(has == 0);
  CODE(107001, aclrtGetDeviceCapability(9, 1, &has));
  const aclCannAttr* list = nullptr;
  std::size_t number = 0;
  OK(aclGetCannAttributeList(&list, &number));
  CHECK(number == 2);
  OK(aclGetCannAttribute(list[0], &has));
  CHECK(has == 1);
  CODE(100000, aclGetCannAttribute(55, &has));
  CODE(100000, aclGetCannAttributeList(nullptr, &number));
}

TEST(resources, last_fault) {
  start();
  aclrtErrorInfo info{};
  OK(aclrtGetErrorVerbose(0, &info));
  CHECK(info.errorType == ACL_RT_NO_ERROR);
  OK(aclsim_launch(nullptr, nullptr, nullptr, 0, 507015));
  CODE(507015, aclrtSynchronizeStream(nullptr));
  OK(aclrtGetErrorVerbose(0, &info));
  CHECK(info.errorType == ACL_RT_ERROR_AICORE);
  CODE(100000, aclrtGetErrorVerbose(0, nullptr));
  uint32_t task = 0;
  OK(aclrtGetThreadLastTaskId(&task));
  CHECK(task == 1);
  CODE(100000, aclrtGetThreadLastTaskId(nullptr));
}

TEST(resources, host_functions_on_a_thread) {
  start("{\"lateness_us\": 100}");
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  const auto self = static_cast<std::uint64_t>(pthread_self());
  FAILS(107012, "subscribes no stream", aclrtProcessHostFunc(1));
  OK(aclrtSubscribeHostFunc(self, stream));
  CODE(107011, aclrtSubscribeHostFunc(self, stream));
  static std::atomic<std::uint64_t> ran;
  ran = 0;
  OK(aclrtLaunchHostFunc(stream, [](void*) { ran = static_cast<std::uint64_t>(pthread_self()); }, nullptr));
  OK(aclrtProcessHostFunc(-1));
  CHECK(ran == self);
  OK(aclrtSynchronizeStream(stream));
  CODE(107000, aclrtProcessHostFunc(0));
  CODE(507012, aclrtProcessHostFunc(1));
  OK(aclrtUnSubscribeHostFunc(self, stream));
  CODE(107012, aclrtUnSubscribeHostFunc(self, stream));
}
