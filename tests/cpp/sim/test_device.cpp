#include <cstring>
#include <thread>

#include "check.hpp"

namespace {

int on_new_thread(const std::function<int()>& body) {
  int code = -1;
  std::thread([&] { code = body(); }).join();
  return code;
}

}  // namespace

TEST(device, a_fresh_thread_has_no_context) {
  start();
  int device = -1;
  OK(aclrtGetDevice(&device));
  CHECK(device == 0);
  FAILS(100000, "deviceId", aclrtGetDevice(nullptr));
  CHECK(on_new_thread([&] { return aclrtGetDevice(&device); }) == 107002);
  void* memory = nullptr;
  CHECK(on_new_thread([&] { return aclrtMalloc(&memory, 16, 0); }) == 107002);
  CHECK(on_new_thread([&] {
          aclrtSetDevice(0);
          const int code = aclrtMalloc(&memory, 16, 0);
          return code;
        }) == 0);
  OK(aclrtFree(memory));
}

TEST(device, the_primary_context_is_shared) {
  start("{\"devices\": 2}");
  aclrtContext first = nullptr, second = nullptr, other = nullptr;
  OK(aclrtGetCurrentContext(&first));
  on_new_thread([&] { return aclrtSetDevice(0) + aclrtGetCurrentContext(&second); });
  CHECK(first == second);
  OK(aclrtSetDevice(1));
  OK(aclrtGetCurrentContext(&other));
  CHECK(other != first);
  FAILS(107002, "explicitly", aclrtDestroyContext(first));
  OK(aclrtSetCurrentContext(first));
  int device = -1;
  OK(aclrtGetDevice(&device));
  CHECK(device == 0);
  uint32_t flags = 9;
  int32_t active = -1;
  OK(aclrtGetPrimaryCtxState(1, &flags, &active));
  CHECK(active == 1);
  CODE(100000, aclrtGetPrimaryCtxState(1, &flags, nullptr));
  CODE(107001, aclrtGetPrimaryCtxState(5, &flags, &active));
}

TEST(device, contexts) {
  start("{\"devices\": 2}");
  aclrtContext context = nullptr, current = nullptr, primary = nullptr;
  OK(aclrtGetCurrentContext(&primary));
  FAILS(100000, "context", aclrtCreateContext(nullptr, 0));
  FAILS(107001, "Expected value: [0, 2)", aclrtCreateContext(&context, 2));
  OK(aclrtCreateContext(&context, 1));
  OK(aclrtGetCurrentContext(&current));
  CHECK(current == context);
  int device = -1;
  OK(aclrtGetDevice(&device));
  CHECK(device == 1);
  CODE(100000, aclrtGetCurrentContext(nullptr));
  CODE(100000, aclrtSetCurrentContext(nullptr));
  CODE(107000, aclrtSetCurrentContext(&device));
  CODE(100000, aclrtDestroyContext(nullptr));
  OK(aclrtDestroyContext(context));
  CODE(107002, aclrtGetCurrentContext(&current));
  CODE(107002, aclrtGetDevice(&device));
  FAILS(107000, "was destroyed", aclrtSetCurrentContext(context));
  FAILS(107002, "already been destroyed", aclrtDestroyContext(context));
  OK(aclrtSetCurrentContext(primary));
  aclrtStream stream = nullptr;
  OK(aclrtCtxGetCurrentDefaultStream(&stream));
  CHECK(stream != nullptr);
  OK(aclrtSynchronizeStream(stream));
  CODE(100000, aclrtCtxGetCurrentDefaultStream(nullptr));
}

TEST(device, set_and_reset_are_counted) {
  start();
  OK(aclrtSetDevice(0));
  OK(aclrtResetDevice(0));
  int device = -1;
  OK(aclrtGetDevice(&device));
  OK(aclrtResetDevice(0));
  CODE(107002, aclrtGetDevice(&device));
  FAILS(507007, "was not set", aclrtResetDevice(0));
  CODE(507007, aclrtResetDeviceForce(0));
  CODE(107001, aclrtResetDevice(9));
  CODE(107001, aclrtSetDevice(-1));
  OK(aclrtSetDevice(0));
  OK(aclrtSetDevice(0));
  OK(aclrtResetDeviceForce(0));
  CODE(107002, aclrtGetDevice(&device));
}

TEST(device, reset_with_live_resources) {
  start();
  aclrtStream stream = nullptr;
  aclrtEvent event = nullptr;
  aclrtContext context = nullptr, primary = nullptr;
  OK(aclrtGetCurrentContext(&primary));
  OK(aclrtCreateStream(&stream));
  OK(aclrtCreateEvent(&event));
  void* memory = to_device({1, 2, 3});
  OK(aclrtCreateContext(&context, 0));
  OK(aclrtSetCurrentContext(primary));
  OK(aclrtResetDevice(0));
  CHECK(violated("device reset with live streams") && violated("device reset with live events"));
  CHECK(violated("device reset with live device memory") && violated("device reset with live contexts"));
  OK(aclrtSetDevice(0));
  CODE(200005, aclrtSynchronizeStream(stream));
  CODE(200005, aclrtSynchronizeEvent(event));
  CODE(107000, aclrtSetCurrentContext(context));
  CODE(207002, aclrtFree(memory));
}

TEST(device, counting_and_visibility) {
  CHECK(aclsim_configure("{\"devices\": 4}") == 0);
  uint32_t count = 0;
  OK(aclrtGetDeviceCount(&count));
  CHECK(count == 4);
  CODE(100000, aclrtGetDeviceCount(nullptr));
  setenv("ASCEND_RT_VISIBLE_DEVICES", "1,3", 1);
  OK(aclrtGetDeviceCount(&count));
  CHECK(count == 2);
  setenv("ASCEND_RT_VISIBLE_DEVICES", "0,2,1", 1);
  OK(aclrtGetDeviceCount(&count));
  CHECK(count == 2);
  for (const char* bad : {"x", "7", " 0"}) {
    setenv("ASCEND_RT_VISIBLE_DEVICES", bad, 1);
    FAILS(207004, "ASCEND_RT_VISIBLE_DEVICES", aclrtGetDeviceCount(&count));
  }
  OK(aclInit(nullptr));
  CODE(107001, aclrtSetDevice(0));
  unsetenv("ASCEND_RT_VISIBLE_DEVICES");
  CHECK(aclsim_configure("{\"devices\": 0}") == 0);
  CODE(207004, aclrtGetDeviceCount(&count));
  CHECK(aclrtGetSocName() == nullptr);
}

TEST(device, facts) {
  start("{\"soc\": \"Ascend910B4\", \"hbm_bytes\": 1073741824}");
  CHECK(std::string(aclrtGetSocName()) == "Ascend910B4");
  aclrtRunMode mode = -1;
  OK(aclrtGetRunMode(&mode));
  CHECK(mode == ACL_HOST);
  CODE(100000, aclrtGetRunMode(nullptr));
  aclrtDeviceStatus status = -1;
  OK(aclrtQueryDeviceStatus(0, &status));
  CHECK(status == ACL_RT_DEVICE_STATUS_NORMAL);
  CODE(100000, aclrtQueryDeviceStatus(0, nullptr));
  CODE(107001, aclrtQueryDeviceStatus(3, &status));
  aclrtUtilizationInfo use{};
  OK(aclrtGetDeviceUtilizationRate(0, &use));
  CHECK(use.cubeUtilization >= 0 && use.cubeUtilization <= 100);
  CODE(100000, aclrtGetDeviceUtilizationRate(0, nullptr));
  CODE(107001, aclrtGetDeviceUtilizationRate(3, &use));
  use.utilizationExtend = reinterpret_cast<aclrtUtilizationExtendInfo*>(&use);
  CODE(100000, aclrtGetDeviceUtilizationRate(0, &use));
  int64_t value = 0;
  OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, &value));
  CHECK(value == 1073741824);
  CODE(100000, aclrtGetDeviceInfo(0, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, nullptr));
  CODE(107001, aclrtGetDeviceInfo(4, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, &value));
  CODE(207000, aclrtGetDeviceInfo(0, 9999, &value));
  OK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_AI_CORE_NUM, &value));
  CHECK(value > 0);
  CODE(100000, aclGetDeviceCapability(0, 77, &value));
  int32_t least = -1, greatest = -1, can = -1;
  OK(aclrtDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(least == 7 && greatest == 0);
  OK(aclrtCheckArchCompatibility("Ascend910B1", &can));
  CHECK(can == 1);
  OK(aclrtCheckArchCompatibility("Ascend310P3", &can));
  CHECK(can == 0);
  CODE(100000, aclrtCheckArchCompatibility(nullptr, &can));
}

TEST(device, peers_and_timeouts) {
  start("{\"devices\": 2}");
  int32_t can = -1;
  OK(aclrtDeviceCanAccessPeer(&can, 0, 1));
  CHECK(can == 1);
  CODE(100000, aclrtDeviceCanAccessPeer(nullptr, 0, 1));
  CODE(107001, aclrtDeviceCanAccessPeer(&can, 0, 2));
  OK(aclrtDeviceEnablePeerAccess(1, 0));
  CODE(100000, aclrtDeviceEnablePeerAccess(1, 1));
  CODE(107001, aclrtDeviceEnablePeerAccess(0, 0));
  OK(aclrtDeviceDisablePeerAccess(1));
  CODE(107001, aclrtDeviceDisablePeerAccess(7));
  OK(aclrtSetOpWaitTimeout(1));
  OK(aclrtSetOpExecuteTimeOut(2));
  uint32_t ms = 0;
  OK(aclrtGetOpExecuteTimeout(&ms));
  CHECK(ms == 2000);
  OK(aclrtSetOpExecuteTimeOutWithMs(5));
  uint64_t actual = 0;
  OK(aclrtSetOpExecuteTimeOutV2(1500, &actual));
  CHECK(actual == 2000);
  CODE(100000, aclrtSetOpExecuteTimeOutV2(1500, nullptr));
  CODE(100000, aclrtGetOpExecuteTimeout(nullptr));
  CHECK(on_new_thread([] { return aclrtSetOpWaitTimeout(1); }) == 107002);
  CHECK(on_new_thread([] { return aclrtSetOpExecuteTimeOut(1); }) == 107002);
  CHECK(on_new_thread([] { return aclrtSetOpExecuteTimeOutWithMs(1); }) == 107002);
  OK(aclrtSynchronizeDevice());
  OK(aclrtSynchronizeDeviceWithTimeout(100));
  CODE(107000, aclrtSynchronizeDeviceWithTimeout(-2));
  CHECK(on_new_thread([] { return aclrtSynchronizeDevice(); }) == 107002);
}

TEST(device, too_much_memory_is_refused) {
  OK(aclInit(nullptr));
  // A terabyte of memory takes eight of addresses, which machines have; the option's bound is the test here.
  CHECK(aclsim_configure("{\"hbm_bytes\": 1}") != 0);
  CHECK(std::string(aclsim_error()).find("hbm_bytes") != std::string::npos);
}
