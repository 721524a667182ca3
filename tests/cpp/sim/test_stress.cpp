#include <atomic>
#include <cstdlib>
#include <thread>

#include "model_run.hpp"

// Threads that do everything at once on two devices. ACLSIM_STRESS_CALLS sets how much, in calls.
TEST(stress, threads_streams_devices) {
  const char* wanted = std::getenv("ACLSIM_STRESS_CALLS");
  const long total = wanted == nullptr ? 20000 : std::atol(wanted);
  constexpr int threads = 16, streams_per_device = 4;
  start("{\"devices\": 2, \"lateness_us\": 20}");
  aclrtStream streams[2][streams_per_device];
  for (int device = 0; device < 2; ++device) {
    OK(aclrtSetDevice(device));
    for (auto& stream : streams[device]) OK(aclrtCreateStream(&stream));
  }
  std::atomic<long> calls{0}, wrong{0};
  const std::string model = plain_model().bytes();
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      const auto call = [&](int code) {
        ++calls;
        if (code != 0) ++wrong;
      };
      const int device = t % 2;
      call(aclrtSetDevice(device));
      void *memory = nullptr, *pinned = nullptr;
      call(aclrtMallocHost(&pinned, 64));
      float* values = static_cast<float*>(pinned);
      uint32_t id = 0;
      call(aclmdlLoadFromMem(model.data(), model.size(), &id));
      aclmdlDataset *in = aclmdlCreateDataset(), *out = aclmdlCreateDataset();
      void* y = nullptr;
      call(aclrtMalloc(&memory, 16, ACL_MEM_MALLOC_HUGE_FIRST));
      call(aclrtMalloc(&y, 16, ACL_MEM_MALLOC_HUGE_FIRST));
      aclDataBuffer *ib = aclCreateDataBuffer(memory, 16), *ob = aclCreateDataBuffer(y, 16);
      call(aclmdlAddDatasetBuffer(in, ib));
      call(aclmdlAddDatasetBuffer(out, ob));
      aclrtEvent event = nullptr;
      call(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
      for (int round = 0; calls < total; ++round) {
        aclrtStream a = streams[device][round % streams_per_device],
                    b = streams[device][(round + t) % streams_per_device];
        values[0] = static_cast<float>(t);
        values[1] = static_cast<float>(round % 1000);
        call(aclrtMemcpyAsync(memory, 16, values, 16, ACL_MEMCPY_HOST_TO_DEVICE, a));
        call(aclmdlExecuteAsync(id, in, out, a));
        call(aclrtRecordEvent(event, a));
        call(aclrtStreamWaitEvent(b, event));
        if (round % 5 == 0) call(aclrtSynchronizeEvent(event));
        call(aclrtMemcpyAsync(values + 4, 16, y, 16, ACL_MEMCPY_DEVICE_TO_HOST, b));
        call(round % 3 == 0 ? aclrtSynchronizeStreamWithTimeout(b, 60000) : aclrtSynchronizeStream(b));
        if (values[4] != static_cast<float>(2 * t + 1) || values[5] != static_cast<float>(2 * (round % 1000) + 1))
          ++wrong;
        void* other = nullptr;
        call(aclrtMalloc(&other, static_cast<std::size_t>(64 + round % 5000), ACL_MEM_MALLOC_HUGE_FIRST));
        call(aclrtMemset(other, 64, round % 7, 64));
        call(aclrtFree(other));
        aclrtEventRecordedStatus status = 0;
        call(aclrtQueryEventStatus(event, &status));
        if (status != ACL_EVENT_RECORDED_STATUS_COMPLETE) ++wrong;
        int current = -1;
        call(aclrtGetDevice(&current));
        if (current != device) ++wrong;
        if (round % 16 == 0) {
          aclrtStream own = nullptr;
          call(aclrtCreateStream(&own));
          call(aclrtMemsetAsync(memory, 16, 0, 16, own));
          call(aclrtDestroyStream(own));
        }
        if (aclrtMalloc(nullptr, 1, 0) != 100000) ++wrong;
        ++calls;
        if (recent().find("devPtr") == std::string::npos) ++wrong;
      }
      call(aclrtDestroyEvent(event));
      call(aclmdlDestroyDataset(in));
      call(aclmdlDestroyDataset(out));
      call(aclDestroyDataBuffer(ib));
      call(aclDestroyDataBuffer(ob));
      call(aclmdlUnload(id));
      call(aclrtFree(memory));
      call(aclrtFree(y));
      call(aclrtFreeHost(pinned));
    });
  for (auto& worker : workers) worker.join();
  CHECK(wrong == 0);
  CHECK(calls >= total);
  CHECK(reported("models") == 0 && reported("allocations") == 0 && reported("copies_in_flight") == 0);
  for (int device = 0; device < 2; ++device) {
    OK(aclrtSetDevice(device));
    for (auto& stream : streams[device]) OK(aclrtDestroyStream(stream));
  }
  CHECK(reported("violations") == -1 || report().find("\"violations\":{}") != std::string::npos);
}
