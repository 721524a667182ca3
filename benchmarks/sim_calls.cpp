// Costs of the simulator, in one process with onnxruntime's C API alone. benchmarks/sim_calls.py builds and runs it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "../_ext/aclsim.h"
#include "../_ext/sim/onnxruntime_api.hpp"
#include "../_ext/sim/prototypes.hpp"

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}
void must(int code, const char* what) {
  if (code == 0) return;
  const char* text = aclGetRecentErrMsg();
  std::fprintf(stderr, "%s: %d %s\n", what, code, text == nullptr ? "" : text);
  std::exit(1);
}
void must(const std::string& reason) {
  if (reason.empty()) return;
  std::fprintf(stderr, "onnxruntime: %s\n", reason.c_str());
  std::exit(1);
}
#define MUST(call) must(call, #call)

void calls() {
  std::vector<double> rounds;
  for (int round = 0; round < 15; ++round) {
    int device = 0;
    const double begin = now();
    for (int i = 0; i < 200000; ++i) aclrtGetDevice(&device);
    rounds.push_back((now() - begin) / 200000 * 1e9);
  }
  std::printf("aclrtGetDevice                     %8.1f ns   (budget 50)\n", median(rounds));
}

void enqueues() {
  aclrtStream stream = nullptr;
  void *device = nullptr, *host = nullptr;
  MUST(aclrtCreateStream(&stream));
  MUST(aclrtMalloc(&device, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  MUST(aclrtMallocHost(&host, 4096));
  std::vector<double> rounds;
  for (int round = 0; round < 200; ++round) {
    const double begin = now();
    for (int i = 0; i < 100; ++i) aclrtMemcpyAsync(device, 1024, host, 1024, ACL_MEMCPY_HOST_TO_DEVICE, stream);
    rounds.push_back((now() - begin) / 100 * 1e9);
    MUST(aclrtSynchronizeStream(stream));
  }
  std::printf("enqueue of aclrtMemcpyAsync, 1 KiB  %8.1f ns   (budget 1000)\n", median(rounds));
  rounds.clear();
  for (int round = 0; round < 3000; ++round) {
    const double begin = now();
    aclrtMemcpyAsync(device, 1024, host, 1024, ACL_MEMCPY_HOST_TO_DEVICE, stream);
    aclrtSynchronizeStream(stream);
    rounds.push_back((now() - begin) * 1e6);
  }
  std::printf("one copy and the wait for it        %8.1f us\n", median(rounds));
  MUST(aclrtFree(device));
  MUST(aclrtFreeHost(host));
  MUST(aclrtDestroyStream(stream));
}

struct Direct {
  const aclsim::OnnxRuntime* ort = nullptr;
  aclsim::OrtSession* session = nullptr;
  std::vector<float> in, out;
  const char *in_name = nullptr, *out_name = nullptr;
  std::vector<std::int64_t> in_dims{1, 3, 224, 224}, out_dims{1, 1000};

  Direct(const std::string& library, const std::string& path, int threads, const char* input, const char* output)
      : in(3 * 224 * 224, 0.5f), out(1000), in_name(input), out_name(output) {
    std::string reason;
    ort = aclsim::OnnxRuntime::get(library, reason);
    must(reason);
    aclsim::OrtSessionOptions* settings = nullptr;
    must(ort->take(ort->create_options(&settings)));
    must(ort->take(ort->set_intra_threads(settings, threads)));
    must(ort->take(ort->set_inter_threads(settings, 1)));
    must(ort->take(ort->add_config(settings, "session.intra_op.allow_spinning", "0")));
    must(ort->take(ort->create_session(ort->env, path.c_str(), settings, &session)));
  }
  void run() {
    aclsim::OrtValue *input = nullptr, *output = nullptr;
    must(ort->take(ort->tensor_on(ort->memory, in.data(), in.size() * 4, in_dims.data(), in_dims.size(), 1, &input)));
    must(ort->take(
        ort->tensor_on(ort->memory, out.data(), out.size() * 4, out_dims.data(), out_dims.size(), 1, &output)));
    must(ort->take(ort->run(session, ort->quiet, &in_name, &input, 1, &out_name, 1, &output)));
    ort->release_value(input);
    ort->release_value(output);
  }
};

struct Simulated {
  std::uint32_t id = 0;
  aclmdlDataset *in = aclmdlCreateDataset(), *out = aclmdlCreateDataset();
  void *host_in = nullptr, *host_out = nullptr, *device_in = nullptr, *device_out = nullptr;
  aclrtStream stream = nullptr;
  static constexpr std::size_t in_size = 3 * 224 * 224 * 4, out_size = 4000;

  explicit Simulated(const char* om) {
    MUST(aclmdlLoadFromFile(om, &id));
    MUST(aclrtMallocHost(&host_in, in_size));
    MUST(aclrtMallocHost(&host_out, out_size));
    MUST(aclrtMalloc(&device_in, in_size, ACL_MEM_MALLOC_HUGE_FIRST));
    MUST(aclrtMalloc(&device_out, out_size, ACL_MEM_MALLOC_HUGE_FIRST));
    std::fill_n(static_cast<float*>(host_in), in_size / 4, 0.5f);
    MUST(aclmdlAddDatasetBuffer(in, aclCreateDataBuffer(device_in, in_size)));
    MUST(aclmdlAddDatasetBuffer(out, aclCreateDataBuffer(device_out, out_size)));
    MUST(aclrtCreateStream(&stream));
  }
  // As a card is used: copy in, run, copy out, wait.
  void run() {
    aclrtMemcpyAsync(device_in, in_size, host_in, in_size, ACL_MEMCPY_HOST_TO_DEVICE, stream);
    aclmdlExecuteAsync(id, in, out, stream);
    aclrtMemcpyAsync(host_out, out_size, device_out, out_size, ACL_MEMCPY_DEVICE_TO_HOST, stream);
    MUST(aclrtSynchronizeStream(stream));
  }
};

void model(const std::string& library, const char* onnx, const char* om, int threads, const char* input,
           const char* output) {
  Direct direct(library, onnx, threads, input, output);
  Simulated simulated(om);
  std::vector<double> a, b, ratios;
  const auto timed = [](auto&& body) {
    const double begin = now();
    body();
    return now() - begin;
  };
  for (int round = 0; round < 85; ++round) {
    // In turns, so that what one leaves in the caches helps and hurts both alike.
    double first = 0, second = 0;
    if (round % 2 == 0) first = timed([&] { direct.run(); });
    second = timed([&] { simulated.run(); });
    if (round % 2 != 0) first = timed([&] { direct.run(); });
    if (round < 5) continue;
    a.push_back(first * 1e3);
    b.push_back(second * 1e3);
    ratios.push_back(second / first);
  }
  const float* got = static_cast<const float*>(simulated.host_out);
  if (!std::equal(direct.out.begin(), direct.out.end(), got)) {
    std::fprintf(stderr, "the two give different numbers\n");
    std::exit(1);
  }
  std::printf("onnxruntime's C API, %d thread(s)     %8.2f ms\n", threads, median(a));
  std::printf(
      "the same model through ACL          %8.2f ms   ratio of medians %.3f, median of ratios %.3f (budget 1.02)\n",
      median(b), median(b) / median(a), median(ratios));
}

}  // namespace

int main(int count, char** words) {
  MUST(aclInit(nullptr));
  MUST(aclrtSetDevice(0));
  calls();
  enqueues();
  if (count == 7) model(words[1], words[2], words[3], std::atoi(words[4]), words[5], words[6]);
  MUST(aclrtResetDevice(0));
  return aclFinalize();
}
