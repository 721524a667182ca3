#include <atomic>
#include <cstring>
#include <thread>

#include "check.hpp"

namespace {

void hold(void* data) {
  const auto& open = *static_cast<std::atomic<bool>*>(data);
  while (!open.load()) std::this_thread::yield();
}

}  // namespace

TEST(copy, there_and_back) {
  start("{\"devices\": 2}");
  void *a = to_device({1, 2, 3, 4}), *b = to_device({}, 16);
  OK(aclrtMemcpy(b, 16, a, 16, ACL_MEMCPY_DEVICE_TO_DEVICE));
  CHECK(from_device(b, 4) == std::vector<float>({1, 2, 3, 4}));
  OK(aclrtMemset(b, 16, 0, 8));
  CHECK(from_device(b, 4) == std::vector<float>({0, 0, 3, 4}));
  int x = 1, y = 2;
  OK(aclrtMemcpy(&x, 4, &y, 4, ACL_MEMCPY_HOST_TO_HOST));
  CHECK(x == 2);
  OK(aclrtMemcpy(&x, 4, &y, 0, ACL_MEMCPY_HOST_TO_HOST));
  OK(aclrtMemcpy(a, 16, a, 16, ACL_MEMCPY_DEVICE_TO_DEVICE));
  CHECK(reported("h2d_bytes") == 16);
  OK(aclrtSetDevice(1));
  void* other = nullptr;
  OK(aclrtMalloc(&other, 16, 0));
  OK(aclrtMemcpy(other, 16, a, 16, ACL_MEMCPY_DEVICE_TO_DEVICE));
  CHECK(from_device(other, 2) == std::vector<float>({1, 2}));
}

TEST(copy, wrong_arguments) {
  start();
  void* a = to_device({1, 2});
  char host[96];
  FAILS(100000, "dst", aclrtMemcpy(nullptr, 8, a, 8, ACL_MEMCPY_DEVICE_TO_HOST));
  FAILS(100000, "src", aclrtMemcpy(host, 8, nullptr, 8, ACL_MEMCPY_DEVICE_TO_HOST));
  FAILS(107000, "at most destMax", aclrtMemcpy(host, 7, a, 8, ACL_MEMCPY_DEVICE_TO_HOST));
  FAILS(100000, "kind", aclrtMemcpy(host, 8, a, 8, 6));
  CODE(100000, aclrtMemcpy(host, 8, a, 8, -1));
  FAILS(507013, "allocation of 8 bytes", aclrtMemcpy(host, 96, a, 96, ACL_MEMCPY_DEVICE_TO_HOST));  // past the end
  OK(aclrtMemcpy(host, 64, a, 24, ACL_MEMCPY_DEVICE_TO_HOST));  // within the padding: nobody sees it
  OK(aclrtMemcpy(host, 8, a, 8, ACL_MEMCPY_HOST_TO_DEVICE));
  CHECK(violated("copy of another kind than its pointers"));
  CODE(100000, aclrtMemset(nullptr, 8, 0, 8));
  CODE(107000, aclrtMemset(a, 4, 0, 8));
  CODE(107000, aclrtMemset(a, 4, 0, 0));
  OK(aclrtFree(a));
  FAILS(507013, "which was freed", aclrtMemcpy(host, 8, a, 8, ACL_MEMCPY_DEVICE_TO_HOST));
  CODE(507013, aclrtMemset(a, 8, 0, 8));
  int code = 0;
  std::thread([&] { code = aclrtMemcpy(host, 8, host + 8, 8, ACL_MEMCPY_HOST_TO_HOST); }).join();
  CHECK(code == 107002);
  std::thread([&] { code = aclrtMemset(host, 8, 0, 8); }).join();
  CHECK(code == 107002);
}

TEST(copy, asynchronous_ones_are_late) {
  start("{\"lateness_us\": 10000000}");
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  float *pinned = nullptr, *back = nullptr;
  OK(aclrtMallocHost(reinterpret_cast<void**>(&pinned), 16));
  OK(aclrtMallocHost(reinterpret_cast<void**>(&back), 16));
  void* memory = to_device({}, 16);
  pinned[0] = 1;
  back[0] = -1;
  OK(aclrtMemcpyAsync(memory, 16, pinned, 16, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  OK(aclrtMemcpyAsync(back, 16, memory, 16, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  let_workers_run();
  CHECK(back[0] == -1);
  CHECK(aclsim_copies_in_flight() == 2);
  pinned[0] = 2;  // the mistake that a card punishes: the buffer is used again too early
  OK(aclrtSynchronizeStream(stream));
  CHECK(back[0] == 2);
  CHECK(aclsim_copies_in_flight() == 0);
  OK(aclrtMemsetAsync(memory, 16, 0, 16, stream));
  OK(aclrtSynchronizeStream(stream));
  CHECK(from_device(memory, 1)[0] == 0);
  OK(aclrtFreeHost(pinned));
  OK(aclrtFreeHost(back));
}

TEST(copy, pageable_memory_drains_the_stream) {
  start("{\"lateness_us\": 10000000}");
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  void* memory = to_device({}, 16);
  static std::atomic<int> before;
  before = 0;
  OK(aclrtLaunchHostFunc(stream, [](void*) { before = 1; }, nullptr));
  float values[4] = {5, 6, 7, 8};
  OK(aclrtMemcpyAsync(memory, 16, values, 16, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  CHECK(before == 1);
  CHECK(from_device(memory, 4)[3] == 8);
  OK(aclsim_launch(stream, nullptr, nullptr, 0, 507015));
  CODE(507015, aclrtMemcpyAsync(memory, 16, values, 16, ACL_MEMCPY_HOST_TO_DEVICE, stream));
}

TEST(copy, wrong_asynchronous_arguments) {
  start();
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  void *memory = to_device({1, 2}), *pinned = nullptr;
  OK(aclrtMallocHost(&pinned, 64));
  FAILS(207000, "host to host",
        aclrtMemcpyAsync(pinned, 8, static_cast<char*>(pinned) + 8, 8, ACL_MEMCPY_HOST_TO_HOST, stream));
  CODE(107000, aclrtMemcpyAsync(memory, 8, pinned, 0, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  CODE(107000, aclrtMemcpyAsync(memory, 4, pinned, 8, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  CODE(100000, aclrtMemcpyAsync(nullptr, 4, pinned, 4, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  CODE(200005, aclrtMemcpyAsync(memory, 8, pinned, 8, ACL_MEMCPY_HOST_TO_DEVICE, &memory));
  CODE(100000, aclrtMemsetAsync(nullptr, 8, 0, 8, stream));
  CODE(107000, aclrtMemsetAsync(memory, 4, 0, 8, stream));
  CODE(200005, aclrtMemsetAsync(memory, 8, 0, 8, &memory));
  char host[8];
  OK(aclrtMemsetAsync(host, 8, 1, 8, stream));
  CHECK(host[0] == 1);
  // A device address that does not live fails when the card comes to it.
  OK(aclrtFree(memory));
  OK(aclrtMemcpyAsync(memory, 8, pinned, 8, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  FAILS(507013, "which was freed", aclrtSynchronizeStream(stream));
  OK(aclrtMemsetAsync(memory, 8, 0, 8, stream));
  CODE(507013, aclrtSynchronizeStream(stream));
  OK(aclrtFreeHost(pinned));
}

TEST(copy, memory_freed_before_its_copy) {
  start();
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  std::atomic<bool> open{false};
  void *memory = to_device({1, 2}), *pinned = nullptr;
  OK(aclrtMallocHost(&pinned, 64));
  OK(aclrtLaunchHostFunc(stream, hold, &open));
  OK(aclrtMemcpyAsync(memory, 8, pinned, 8, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  OK(aclrtFreeHost(pinned));
  open = true;
  FAILS(507013, "freed before the copy ran", aclrtSynchronizeStream(stream));
}

TEST(copy, rows) {
  start();
  void* memory = to_device({0, 0, 0, 0, 0, 0, 0, 0});
  const float rows[6] = {1, 2, 0, 3, 4, 0};
  OK(aclrtMemcpy2d(memory, 16, rows, 12, 8, 2, ACL_MEMCPY_HOST_TO_DEVICE));
  CHECK(from_device(memory, 8) == std::vector<float>({1, 2, 0, 0, 3, 4, 0, 0}));
  FAILS(100000, "dpitch", aclrtMemcpy2d(memory, 4, rows, 12, 8, 2, ACL_MEMCPY_HOST_TO_DEVICE));
  CODE(100000, aclrtMemcpy2d(nullptr, 16, rows, 12, 8, 2, ACL_MEMCPY_HOST_TO_DEVICE));
  CODE(100000, aclrtMemcpy2d(memory, 16, nullptr, 12, 8, 2, ACL_MEMCPY_HOST_TO_DEVICE));
  CODE(100000, aclrtMemcpy2d(memory, 16, rows, 12, 8, 2, ACL_MEMCPY_HOST_TO_HOST));
  CODE(507013, aclrtMemcpy2d(memory, 64, rows, 12, 8, 2, ACL_MEMCPY_HOST_TO_DEVICE));
  float* pinned = nullptr;
  OK(aclrtMallocHost(reinterpret_cast<void**>(&pinned), 32));
  OK(aclrtMemcpy2dAsync(pinned, 8, memory, 16, 8, 2, ACL_MEMCPY_DEVICE_TO_HOST, nullptr));
  OK(aclrtSynchronizeStream(nullptr));
  CHECK(pinned[2] == 3 && pinned[3] == 4);
  CODE(100000, aclrtMemcpy2dAsync(pinned, 4, memory, 16, 8, 2, ACL_MEMCPY_DEVICE_TO_HOST, nullptr));
  OK(aclrtFreeHost(pinned));
}

TEST(copy, batches) {
  start();
  void* memory = to_device({0, 0, 0, 0});
  float one = 1, two = 2;
  void *dsts[] = {memory, static_cast<char*>(memory) + 4}, *srcs[] = {&one, &two};
  std::size_t sizes[] = {4, 4}, rooms[] = {4, 4}, indexes[] = {0, 1}, failed_index = 0;
  aclrtMemcpyBatchAttr attributes[2] = {};
  OK(aclrtMemcpyBatch(dsts, rooms, srcs, sizes, 2, attributes, indexes, 1, &failed_index));
  CHECK(failed_index == SIZE_MAX && from_device(memory, 2)[1] == 2);
  rooms[1] = 1;
  CODE(107000, aclrtMemcpyBatch(dsts, rooms, srcs, sizes, 2, attributes, indexes, 1, &failed_index));
  CHECK(failed_index == 1);
  CODE(100000, aclrtMemcpyBatch(nullptr, rooms, srcs, sizes, 2, attributes, indexes, 1, &failed_index));
  CODE(107000, aclrtMemcpyBatch(dsts, rooms, srcs, sizes, 0, attributes, indexes, 1, &failed_index));
  std::size_t falling[] = {1, 0};
  CODE(107000, aclrtMemcpyBatch(dsts, rooms, srcs, sizes, 2, attributes, falling, 2, &failed_index));
  rooms[1] = 4;
  OK(aclrtMemcpyBatchAsync(dsts, rooms, srcs, sizes, 2, attributes, indexes, 2, &failed_index, nullptr));
  CODE(100000, aclrtMemcpyBatchAsync(nullptr, rooms, srcs, sizes, 2, attributes, indexes, 2, &failed_index, nullptr));
  OK(aclrtSynchronizeStream(nullptr));
}

TEST(copy, takes_the_time_that_the_model_says) {
  start("{\"virtual_time\": true, \"h2d_fixed_us\": 10, \"h2d_gbps\": 1, \"d2h_fixed_us\": 1000}");
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  void *memory = nullptr, *pinned = nullptr;
  OK(aclrtMalloc(&memory, 1000000, 0));
  OK(aclrtMallocHost(&pinned, 1000000));
  const uint64_t begin = aclsim_now();
  OK(aclrtMemcpyAsync(memory, 1000000, pinned, 1000000, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  OK(aclrtSynchronizeStream(stream));
  CHECK(aclsim_now() - begin == 1'010'000);  // 10 us and 1 MB at 1 GB/s
  OK(aclrtMemcpy(pinned, 4, memory, 4, ACL_MEMCPY_DEVICE_TO_HOST));
  CHECK(aclsim_now() - begin == 2'010'000);
  // Two streams share the engine that copies in one direction.
  aclrtStream other = nullptr;
  OK(aclrtCreateStream(&other));
  const uint64_t again = aclsim_now();
  OK(aclrtMemcpyAsync(memory, 4, pinned, 4, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  OK(aclrtMemcpyAsync(static_cast<char*>(memory) + 64, 4, pinned, 4, ACL_MEMCPY_HOST_TO_DEVICE, other));
  OK(aclrtSynchronizeDevice());
  CHECK(aclsim_now() - again == 2 * 10'004);
  OK(aclrtMemcpyAsync(memory, 1000000, pinned, 1000000, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  aclrtStreamStatus status = -1;
  int asked = 0;
  do {
    OK(aclrtStreamQuery(stream, &status));
    ++asked;
  } while (status == ACL_STREAM_STATUS_NOT_READY);
  CHECK(asked > 2);  // asking moves virtual time
  OK(aclrtMemcpyAsync(memory, 1000000, pinned, 1000000, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  CODE(507046, aclrtSynchronizeStreamWithTimeout(stream, 1));
  OK(aclrtSynchronizeStreamWithTimeout(stream, 2));
  OK(aclrtFreeHost(pinned));
}
