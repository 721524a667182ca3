#include <cstring>
#include <fstream>
#include <thread>
#include <unistd.h>

#include "check.hpp"

namespace {

std::string file_with(const std::string& text) {
  const std::string path = "/tmp/aclsim_test_" + std::to_string(getpid()) + ".json";
  std::ofstream(path) << text;
  return path;
}

}  // namespace

TEST(init, counts_and_finalizes_once) {
  OK(aclInit(nullptr));
  CODE(100002, aclInit(nullptr));
  uint64_t count = 0;
  OK(aclFinalizeReference(&count));
  CHECK(count == 1);
  OK(aclFinalizeReference(&count));
  CHECK(count == 0);
  FAILS(100037, "no reference", aclFinalizeReference(&count));
  FAILS(100037, "finalized already", aclFinalize());
  OK(aclInit(nullptr));
  CODE(100002, aclInit(nullptr));
  OK(aclFinalize());
  CODE(100037, aclFinalize());
  OK(aclInit(nullptr));
}

TEST(init, is_needed_before_devices) {
  FAILS(100001, "aclInit was not called", aclrtSetDevice(0));
  aclrtContext context = nullptr;
  FAILS(100001, "aclInit", aclrtCreateContext(&context, 0));
  FAILS(100001, "aclInit", aclrtResetDevice(0));
  void* memory = nullptr;
  aclrtStream stream = nullptr;
  CODE(107002, aclrtMalloc(&memory, 10, ACL_MEM_MALLOC_NORMAL_ONLY));
  CODE(107002, aclrtCreateStream(&stream));
  CHECK(aclsim_configure("{\"require_init\": false}") == 0);
  OK(aclrtSetDevice(0));
}

TEST(init, reads_json) {
  FAILS(100003, "cannot be read", aclInit("/nowhere/acl.json"));
  std::string path = file_with("{]");
  FAILS(100006, "is invalid", aclInit(path.c_str()));
  path = file_with("{\"a\":[[[[[[[[[[[1]]]]]]]]]]]}");
  FAILS(100006, "levels", aclInit(path.c_str()));
  path = file_with("{\"aclsim\": {\"no such\": 1}}");
  FAILS(107000, "no option", aclInit(path.c_str()));
  path = file_with("{\"defaultDevice\":{\"default_device\":\"7\"}}");
  FAILS(107001, "default_device", aclInit(path.c_str()));
  path = file_with("{\"aclsim\": {\"faults\": \"nonsense\"}}");
  FAILS(107000, "fault plan", aclInit(path.c_str()));
}

TEST(init, a_second_configuration_differs) {
  OK(aclInit(nullptr));
  OK(aclFinalize());
  const std::string path = file_with("{\"err_msg_mode\":\"0\"}");
  FAILS(100000, "differs", aclInit(path.c_str()));
  OK(aclInit(nullptr));
}

TEST(init, default_device) {
  const std::string path = file_with("{\"defaultDevice\":{\"default_device\":\"0\"}}");
  OK(aclInit(path.c_str()));
  OK(aclrtSetDevice(0));
  int code = -1, device = -1;
  std::thread([&] { code = aclrtGetDevice(&device); }).join();
  CHECK(code == 0 && device == 0);
}

TEST(init, messages_are_per_thread) {
  start();
  recent();
  CODE(100000, aclrtMalloc(nullptr, 1, 0));
  std::string other = "none";
  std::thread([&] { other = recent(); }).join();
  CHECK(other.empty());
  const std::string own = recent();
  CHECK(own.find("EH0002: [PID: ") == 0);
  CHECK(own.find("devPtr must not be null") != std::string::npos);
  CHECK(recent() == own);  // shown again: nothing forgets it
}

TEST(init, messages_can_be_per_process) {
  const std::string path = file_with("{\"err_msg_mode\":\"1\"}");
  OK(aclInit(path.c_str()));
  OK(aclrtSetDevice(0));
  CODE(100000, aclrtMalloc(nullptr, 1, 0));
  std::string other;
  std::thread([&] { other = recent(); }).join();
  CHECK(other.find("devPtr") != std::string::npos);
}

TEST(init, asking_without_context_adds_noise) {
  OK(aclInit(nullptr));
  int device = 0;
  CODE(107002, aclrtGetDevice(&device));
  CHECK(recent().find("rtGetDevMsg execute failed") != std::string::npos);
}

TEST(init, last_error) {
  start();
  CODE(107000, aclrtSynchronizeStreamWithTimeout(nullptr, -2));
  CODE(107000, aclrtPeekAtLastError(0));
  CODE(107000, aclrtGetLastError(0));
  CODE(0, aclrtGetLastError(0));
  CODE(100000, aclrtPeekAtLastError(1));
  CODE(100000, aclrtGetLastError(1));
}

TEST(init, versions) {
  start("{\"cann\": \"8.2.RC1\"}");
  int32_t major = 0, minor = 0, patch = -1;
  OK(aclrtGetVersion(&major, &minor, &patch));
  CHECK(major == 1 && minor > 0 && patch == 0);
  FAILS(100000, "null", aclrtGetVersion(nullptr, &minor, &patch));
  aclCANNPackageVersion version;
  OK(aclsysGetCANNVersion(0, &version));
  CHECK(std::string(version.version) == "8.2.RC1" && std::string(version.majorVersion) == "8");
  CODE(100000, aclsysGetCANNVersion(0, nullptr));
  CODE(100000, aclsysGetCANNVersion(8, &version));
  char name[] = "runtime", none[] = "", text[128];
  OK(aclsysGetVersionStr(name, text));
  CHECK(std::string(text) == "8.2.RC1");
  CODE(100000, aclsysGetVersionStr(none, text));
  CODE(100000, aclsysGetVersionStr(nullptr, text));
  int32_t number = 0;
  OK(aclsysGetVersionNum(name, &number));
  CHECK(number == 80200000);
  CODE(100000, aclsysGetVersionNum(name, nullptr));
}

TEST(init, refused_functions_say_so) {
  start();
  void* address = nullptr;
  FAILS(207000, "does not have aclrtReserveMemAddress", aclrtReserveMemAddress(&address, 1, 0, nullptr, 0));
  uint32_t id = 0;
  CODE(207000, aclmdlLoadFromFileWithQ("a", &id, nullptr, 0, nullptr, 0));
  CODE(207000, aclmdlLoadFromMemWithQ("a", 1, &id, nullptr, 0, nullptr, 0));
  CODE(207000, aclmdlLoadFromModel(nullptr, nullptr, &id));
  CODE(207000, aclmdlQueryExeOMDesc("a", nullptr));
  size_t size = 0;
  CODE(207000, aclmdlGetAippDataSize(1, &size));
  CODE(207000, aclrtReleaseMemAddress(address));
  CODE(207000, aclrtMallocPhysical(nullptr, 1, nullptr, 0));
  CODE(207000, aclrtFreePhysical(nullptr));
  CODE(207000, aclrtMapMem(nullptr, 1, 0, nullptr, 0));
  CODE(207000, aclrtUnmapMem(nullptr));
  CODE(207000, aclrtMemPoolCreate(nullptr, nullptr));
  CODE(207000, aclrtMemPoolDestroy(nullptr));
  CODE(207000, aclrtMemPoolSetAttr(nullptr, 0, nullptr));
  CODE(207000, aclrtMemPoolGetAttr(nullptr, 0, nullptr));
  CODE(207000, aclrtMemPoolMallocAsync(&address, 1, nullptr, nullptr));
  CODE(207000, aclrtMemPoolFreeAsync(address, nullptr));
  CODE(207000, aclrtMemPoolTrimTo(nullptr, 0));
  CODE(207000, aclrtStreamStop(nullptr));
  CODE(207000, aclrtGetArgsFromExceptionInfo(nullptr, nullptr, nullptr));
  CODE(207000, aclrtGetFuncHandleFromExceptionInfo(nullptr, nullptr));
  CODE(207000, aclrtDeviceGetUuid(0, nullptr));
  CODE(207000, aclrtDeviceGetPCIBusId(0, nullptr, 0));
}
