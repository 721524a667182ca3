#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "model_run.hpp"

namespace {

void hold(void* data) {
  const auto& open = *static_cast<std::atomic<bool>*>(data);
  while (!open.load()) std::this_thread::yield();
}

}  // namespace

TEST(control, fault_plan) {
  start("{\"faults\": \"aclrtMalloc@2=207001; aclrtMalloc@4-5=507899, aclrtFree@*=slow:1us\"}");
  void* memory[6] = {};
  const int expected[] = {0, 207001, 0, 507899, 507899, 0};
  for (int i = 0; i < 6; ++i) CODE(expected[i], aclrtMalloc(&memory[i], 64, 0));
  CHECK(reported("aclrtMalloc") == 6);
  OK(aclrtFree(memory[0]));
  CHECK(aclsim_set_faults("aclrtMemset@1+=async:5") == 0);
  FAILS(507013, "no live memory", aclrtMemset(memory[0], 64, 0, 64));
  CHECK(aclsim_set_faults("") == 0);
  for (const char* bad : {"x", "aclrtMalloc", "aclrtMalloc@=1", "aclrtMalloc@0=1", "aclrtMalloc@1=", "aclrtMalloc@1=-4",
                          "aclrtMalloc@1=slow:5", "noFunction@1=5", "device:x@lost", "device:0@gone",
                          "device:0@lost after soon", "device:0@slow:0", "aclrtMalloc@3-=1"}) {
    CHECK(aclsim_set_faults(bad) == -1);
    CHECK(std::string(aclsim_error()).find("fault plan") == 0);
  }
  const auto refused = [](const char* plan, const char* words) {
    CHECK(aclsim_set_faults(plan) == -1);
    CHECK(std::string(aclsim_error()).find(words) != std::string::npos);
  };
  refused("aclrtMalloc@3-1=207001", "is for no call: it ends before it begins");
  refused("device:-1@lost", "names no device");
  refused("device:1@lost", "the machine has device:0 alone");
  refused("aclrtMalloc@1=207001; device:5@slow:2", "\"device:5@slow:2\" names a device that is not there");
  CHECK(aclsim_set_faults("aclrtMalloc@3-3=207001; device:0@lost after 1s") == 0);
}

TEST(control, faults_of_devices_that_are_there) {
  CHECK(aclsim_configure("{\"devices\": 3, \"faults\": \"device:2@lost\"}") == 0);
  CHECK(aclsim_configure("{\"faults\": \"device:3@lost\"}") == -1);
  CHECK(std::string(aclsim_error()).find("device:0 to device:2") != std::string::npos);
  CHECK(aclsim_configure("{\"devices\": 0, \"faults\": \"device:0@lost\"}") == -1);
  CHECK(std::string(aclsim_error()).find("has none") != std::string::npos);
}

TEST(control, faults_of_tasks) {
  start("{\"virtual_time\": true}");
  Run m(plain_model());
  m.add(m.in, 16);
  m.add(m.out, 16);
  CHECK(aclsim_set_faults(
            "aclmdlExecuteAsync@2=async:507014; aclmdlExecuteAsync@3=slow:2s; aclmdlExecuteAsync@4=500002") == 0);
  OK(aclmdlExecuteAsync(m.id, m.in, m.out, nullptr));
  OK(aclrtSynchronizeStream(nullptr));
  OK(aclmdlExecuteAsync(m.id, m.in, m.out, nullptr));
  FAILS(507014, "fault plan", aclrtSynchronizeStream(nullptr));
  const uint64_t begin = aclsim_now();
  OK(aclmdlExecuteAsync(m.id, m.in, m.out, nullptr));
  CODE(507046, aclrtSynchronizeStreamWithTimeout(nullptr, 1000));
  OK(aclrtSynchronizeStream(nullptr));
  CHECK(aclsim_now() - begin == 2'000'000'000);
  FAILS(500002, "fault plan", aclmdlExecuteAsync(m.id, m.in, m.out, nullptr));
}

TEST(control, a_lost_device) {
  start("{\"virtual_time\": true, \"devices\": 2, \"faults\": \"device:0@lost after 2s\"}");
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  OK(aclsim_launch(stream, nullptr, nullptr, 1'000'000'000, 0));
  OK(aclrtSynchronizeStream(stream));
  OK(aclsim_launch(stream, nullptr, nullptr, 0, 0));
  OK(aclrtSynchronizeStream(stream));
  aclsim_advance(1'000'000'001);
  void* memory = nullptr;
  FAILS(507901, "is lost", aclrtMalloc(&memory, 64, 0));
  CODE(507901, aclrtSynchronizeStream(stream));
  CODE(507901, aclrtSetDevice(0));
  aclrtDeviceStatus status = -1;
  OK(aclrtQueryDeviceStatus(0, &status));
  CHECK(status == ACL_RT_DEVICE_STATUS_ABNORMAL);
  OK(aclrtSetDevice(1));  // the other one works on
  OK(aclrtMalloc(&memory, 64, 0));
  OK(aclrtResetDevice(0));
  CHECK(!violated("device reset with live streams"));  // it could not have been destroyed before
}

TEST(control, a_slow_start) {
  start("{\"virtual_time\": true, \"set_device_ms\": 3000, \"load_ms\": 500}", false);
  uint64_t begin = aclsim_now();
  OK(aclrtSetDevice(0));
  CHECK(aclsim_now() - begin == 3'000'000'000);
  OK(aclrtSetDevice(0));
  begin = aclsim_now();
  Run m(plain_model());
  CHECK(aclsim_now() - begin == 500'000'000);
}

TEST(control, options) {
  CHECK(aclsim_configure(nullptr) == -1);
  CHECK(aclsim_configure("[]") == -1);
  CHECK(aclsim_configure("{\"devices\": 65}") == -1);
  CHECK(aclsim_configure("{\"devices\": \"two\"}") == -1);
  CHECK(aclsim_configure("{\"h2d_gbps\": -1}") == -1);
  CHECK(aclsim_configure("{\"what\": 1}") == -1);
  CHECK(std::string(aclsim_error()).find("what") != std::string::npos);
  CHECK(aclsim_configure("{\"faults\": \"bad\"}") == -1);
  start();
  CHECK(aclsim_configure("{\"hbm_bytes\": 4194304}") == -1);
  CHECK(std::string(aclsim_error()).find("while a device is open") != std::string::npos);
  CHECK(aclsim_configure("{\"fp16\": true}") == 0);
  OK(aclrtResetDevice(0));
  CHECK(aclsim_configure("{\"hbm_bytes\": 4194304}") == 0);
  OK(aclrtSetDevice(0));
  std::size_t free = 0, total = 0;
  OK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
  CHECK(total == 4194304);
}

TEST(control, environment) {
  setenv("ACLSIM_CONFIG", "{\"devices\": 3}", 1);
  setenv("ACLSIM_FAULTS", "aclrtMalloc@1=207001", 1);
  uint32_t count = 0;
  OK(aclrtGetDeviceCount(&count));
  CHECK(count == 3);
  OK(aclInit(nullptr));
  OK(aclrtSetDevice(2));
  void* memory = nullptr;
  CODE(207001, aclrtMalloc(&memory, 1, 0));
  aclsim_reset();
  unsetenv("ACLSIM_FAULTS");
  setenv("ACLSIM_CONFIG", "/nowhere", 1);
  FAILS(107000, "cannot be read", aclInit(nullptr));
  aclsim_reset();
  setenv("ACLSIM_CONFIG", "{\"x\":", 1);
  FAILS(107000, "ACLSIM_CONFIG", aclInit(nullptr));
  unsetenv("ACLSIM_CONFIG");
}

TEST(control, log_and_report) {
  start("{\"call_log\": true}");
  void* memory = nullptr;
  OK(aclrtMalloc(&memory, 64, 0));
  CODE(100000, aclrtMalloc(nullptr, 64, 0));
  std::string log(aclsim_call_log(nullptr, 0) + 100, '\0');
  aclsim_call_log(log.data(), log.size());
  CHECK(log.find("aclrtMalloc 0\n") != std::string::npos && log.find("aclrtMalloc 100000\n") != std::string::npos);
  CHECK(log.find("aclrtSetDevice 0\n") != std::string::npos);
  char tiny[4];
  CHECK(aclsim_call_log(tiny, sizeof tiny) > 4 && std::strlen(tiny) == 3);
  std::string handles(4096, '\0');
  aclsim_live_handles(handles.data(), handles.size());
  CHECK(handles.find("context 0x") == 0);
  CHECK(std::string(aclsim_version()).find("1.0") == 0);
  CHECK(reported("used_bytes") == 4096 && reported("allocations") == 1 && reported("context") == 1);
}

TEST(control, spawning_while_copies_are_in_flight) {
  start();
  CHECK(aclsim_note_spawn("posix_spawn") == 0);
  std::atomic<bool> open{false};
  void *memory = to_device({1}), *pinned = nullptr;
  OK(aclrtMallocHost(&pinned, 4));
  OK(aclrtLaunchHostFunc(nullptr, hold, &open));
  OK(aclrtMemcpyAsync(memory, 4, pinned, 4, ACL_MEMCPY_HOST_TO_DEVICE, nullptr));
  CHECK(aclsim_note_spawn("posix_spawn") == 1);
  CHECK(violated("posix_spawn while an asynchronous copy is in flight"));
  std::string ignored;
  in_child([] {}, ignored);
  CHECK(violated("fork while an asynchronous copy is in flight"));
  open = true;
  OK(aclrtSynchronizeStream(nullptr));
  OK(aclrtFreeHost(pinned));
}

TEST(control, a_reset_takes_all_but_pinned_memory) {
  start();
  void *pinned = nullptr, *memory = to_device({1});
  OK(aclrtMallocHost(&pinned, 64));
  aclmdlDataset* dataset = aclmdlCreateDataset();
  CHECK(aclsim_reset() == 0);
  static_cast<char*>(pinned)[0] = 1;  // the program may hold it still
  CHECK(reported("pinned_blocks") == 0 && reported("dataset") == -1);
  start();
  CODE(207002, aclrtFree(memory));
  CODE(200005, aclmdlDestroyDataset(dataset));
  OK(aclrtFreeHost(pinned));
  CODE(207002, aclrtFreeHost(pinned));
}

TEST(control, kernels_are_stood_in_for) {
  start();
  float* memory = static_cast<float*>(to_device({1, 2}));
  OK(aclsim_launch(nullptr, [](void* device) { static_cast<float*>(aclsim_shadow(device))[1] = 7; }, memory, 1000, 0));
  OK(aclrtSynchronizeStream(nullptr));
  CHECK(from_device(memory, 2)[1] == 7);
  CHECK(aclsim_shadow(&memory) == nullptr);
  CODE(200005, aclsim_launch(&memory, nullptr, nullptr, 0, 0));
}
