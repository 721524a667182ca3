#include <atomic>
#include <cstring>
#include <thread>

#include "model_run.hpp"

namespace {

using Values = std::vector<float>;

struct Plain : Run {
  void *x, *y;
  explicit Plain(const TestModel& model = plain_model(), void* work = nullptr, void* weight = nullptr)
      : Run(model, work, weight), x(add(in, 16, {1, 2, 3, 4})), y(add(out, 16)) {}
};

void hold(void* data) {
  const auto& open = *static_cast<std::atomic<bool>*>(data);
  while (!open.load()) std::this_thread::yield();
}

}  // namespace

TEST(execute, synchronously) {
  start();
  Plain m;
  OK(aclmdlExecute(m.id, m.in, m.out));
  CHECK(from_device(m.y, 4) == Values({3, 5, 7, 9}));
  FAILS(145003, "no loaded model", aclmdlExecute(99, m.in, m.out));
  FAILS(100000, "input", aclmdlExecute(m.id, nullptr, m.out));
  CODE(100000, aclmdlExecute(m.id, m.in, nullptr));
  CODE(200005, aclmdlExecute(m.id, reinterpret_cast<aclmdlDataset*>(&m), m.out));
  int code = 0;
  std::thread([&] { code = aclmdlExecute(m.id, m.in, m.out); }).join();
  CHECK(code == 107002);
  aclrtContext context = nullptr;
  OK(aclrtCreateContext(&context, 0));
  FAILS(107004, "another context", aclmdlExecute(m.id, m.in, m.out));
}

TEST(execute, asynchronously_and_late) {
  start("{\"lateness_us\": 10000000}");
  Plain m;
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  OK(aclmdlExecuteAsync(m.id, m.in, m.out, stream));
  FAILS(107037, "queued or running", aclmdlUnload(m.id));
  let_workers_run();
  CHECK(from_device(m.y, 1)[0] != 3);  // a copy that is not ordered behind it comes too early
  OK(aclrtSynchronizeStream(stream));
  CHECK(from_device(m.y, 4) == Values({3, 5, 7, 9}));
  CODE(200005, aclmdlExecuteAsync(m.id, m.in, m.out, &m));
  CODE(145003, aclmdlExecuteAsync(99, m.in, m.out, stream));
  CODE(100000, aclmdlExecuteAsync(m.id, nullptr, m.out, stream));
  OK(aclmdlUnload(m.id));
}

TEST(execute, modes_do_not_mix) {
  start();
  Plain a, b;
  OK(aclmdlExecute(a.id, a.in, a.out));
  FAILS(500002, "NnExecute not support mix execute", aclmdlExecuteAsync(a.id, a.in, a.out, nullptr));
  OK(aclmdlExecuteAsync(b.id, b.in, b.out, nullptr));
  OK(aclrtSynchronizeStream(nullptr));
  CODE(500002, aclmdlExecute(b.id, b.in, b.out));
}

TEST(execute, sizes) {
  start();
  Plain m;
  Run::claim(m.in, 0, 0);
  OK(aclmdlExecute(m.id, m.in, m.out));  // 64 bytes of slack hide 16
  TestModel large = plain_model();
  large.inputs[0].size = large.outputs[0].size = 1024;
  large.inputs[0].dims = large.outputs[0].dims = {1, 256};
  Run big(large);
  big.add(big.in, 1024);
  big.add(big.out, 1024);
  Run::claim(big.in, 0, 1024 - 64);
  OK(aclmdlExecute(big.id, big.in, big.out));
  Run::claim(big.in, 0, 1024 - 65);
  FAILS(145000, "E13025", aclmdlExecute(big.id, big.in, big.out));
  Run::claim(big.in, 0, 4096);
  OK(aclmdlExecute(big.id, big.in, big.out));
  Run::claim(big.out, 0, 900);
  FAILS(145000, "the model needs 1024", aclmdlExecute(big.id, big.in, big.out));
}

TEST(execute, counts_and_empty_buffers) {
  start();
  Plain m;
  aclmdlDataset* none = aclmdlCreateDataset();
  FAILS(100000, "more inputs", aclmdlExecute(m.id, none, m.out));
  FAILS(100000, "more outputs", aclmdlExecute(m.id, m.in, none));
  m.add(m.in, 16);
  FAILS(145000, "2 input buffers", aclmdlExecute(m.id, m.in, m.out));
  Plain n;
  n.add(n.out, 16);
  FAILS(145000, "2 output buffers", aclmdlExecute(n.id, n.in, n.out));
  Plain e;
  aclDataBuffer *input = aclmdlGetDatasetBuffer(e.in, 0), *output = aclmdlGetDatasetBuffer(e.out, 0);
  OK(aclUpdateDataBuffer(output, nullptr, 0));
  FAILS(100000, "only a synchronous run", aclmdlExecuteAsync(e.id, e.in, e.out, nullptr));
  OK(aclmdlExecute(e.id, e.in, e.out));
  CHECK(aclGetDataBufferSizeV2(output) == 16);
  CHECK(from_device(aclGetDataBufferAddr(output), 2) == Values({3, 5}));
  OK(aclrtFree(aclGetDataBufferAddr(output)));  // the program's to free
  OK(aclUpdateDataBuffer(input, nullptr, 16));
  FAILS(100000, "no memory", aclmdlExecute(e.id, e.in, e.out));
  OK(aclDestroyDataBuffer(input));
  FAILS(100000, "was destroyed", aclmdlExecute(e.id, e.in, e.out));
  Plain f;
  OK(aclUpdateDataBuffer(aclmdlGetDatasetBuffer(f.out, 0), nullptr, 16));
  CODE(100000, aclmdlExecute(f.id, f.in, f.out));
  OK(aclDestroyDataBuffer(aclmdlGetDatasetBuffer(f.out, 0)));
  CODE(100000, aclmdlExecute(f.id, f.in, f.out));
}

TEST(execute, wrong_memory_is_seen_by_the_card) {
  start("{\"devices\": 2}");
  Plain m;
  static float host[4];
  aclDataBuffer* buffer = aclmdlGetDatasetBuffer(m.in, 0);
  OK(aclUpdateDataBuffer(buffer, host, 16));
  OK(aclmdlExecuteAsync(m.id, m.in, m.out, nullptr));
  FAILS(507015, "is host memory", aclrtSynchronizeStream(nullptr));
  OK(aclrtFree(m.x));
  OK(aclUpdateDataBuffer(buffer, m.x, 16));
  OK(aclmdlExecuteAsync(m.id, m.in, m.out, nullptr));
  FAILS(507015, "which was freed", aclrtSynchronizeStream(nullptr));
  aclrtContext context = nullptr;
  OK(aclrtGetCurrentContext(&context));
  OK(aclrtSetDevice(1));
  void* other = to_device({}, 16);
  OK(aclrtSetCurrentContext(context));
  OK(aclUpdateDataBuffer(buffer, other, 16));
  OK(aclmdlExecuteAsync(m.id, m.in, m.out, nullptr));
  FAILS(507015, "another device", aclrtSynchronizeStream(nullptr));
}

TEST(execute, a_failing_model) {
  start();
  TestModel model = plain_model();
  model.program = "aclsim:fail";
  Plain a(model), b(model);
  FAILS(507011, "the program says fail", aclmdlExecute(a.id, a.in, a.out));
  OK(aclmdlExecuteAsync(b.id, b.in, b.out, nullptr));
  FAILS(507011, "EE1009", aclrtSynchronizeStream(nullptr));
}

TEST(execute, one_id_on_two_streams) {
  start();
  TestModel model = plain_model();
  model.program = "aclsim:scale 1 wait 150";
  Plain m(model);
  aclrtStream a = nullptr, b = nullptr;
  OK(aclrtCreateStream(&a));
  OK(aclrtCreateStream(&b));
  // Both begin as soon as both gates open.
  std::atomic<bool> open{false};
  OK(aclrtLaunchHostFunc(a, hold, &open));
  OK(aclrtLaunchHostFunc(b, hold, &open));
  OK(aclmdlExecuteAsync(m.id, m.in, m.out, a));
  OK(aclmdlExecuteAsync(m.id, m.in, m.out, b));
  open = true;
  const int first = aclrtSynchronizeStream(a), second = aclrtSynchronizeStream(b);
  CHECK(first == 507011 || second == 507011);
  CHECK(violated("one model id ran twice at a time"));
}

TEST(execute, two_models_in_one_workspace) {
  start();
  TestModel model = plain_model();
  model.program = "aclsim:scale 1 wait 150";
  void *work = to_device({}, model.work), *weight = to_device({}, model.weight);
  Plain m(model, work, weight), n(model, work, weight);
  // One after the other is what sharing is for.
  OK(aclmdlExecuteAsync(m.id, m.in, m.out, nullptr));
  OK(aclmdlExecuteAsync(n.id, n.in, n.out, nullptr));
  OK(aclrtSynchronizeStream(nullptr));
  CHECK(from_device(n.y, 4) == Values({1, 2, 3, 4}));
  aclrtStream a = nullptr, b = nullptr;
  OK(aclrtCreateStream(&a));
  OK(aclrtCreateStream(&b));
  std::atomic<bool> open{false};
  OK(aclrtLaunchHostFunc(a, hold, &open));
  OK(aclrtLaunchHostFunc(b, hold, &open));
  OK(aclmdlExecuteAsync(m.id, m.in, m.out, a));
  OK(aclmdlExecuteAsync(n.id, n.in, n.out, b));
  open = true;
  OK(aclrtSynchronizeStream(a));
  OK(aclrtSynchronizeStream(b));
  CHECK(violated("two models ran in one workspace at a time"));
  CHECK(from_device(m.y, 4) != Values({1, 2, 3, 4}));  // nobody says so: the numbers are wrong
  CHECK(from_device(n.y, 4) != Values({1, 2, 3, 4}));
}

TEST(execute, weights_and_workspace_must_live) {
  start();
  const TestModel model = plain_model();
  void *work = to_device({}, model.work), *weight = to_device({}, model.weight);
  Plain m(model, work, weight);
  OK(aclmdlExecute(m.id, m.in, m.out));
  OK(aclrtMemset(weight, 8, 0, 8));
  OK(aclmdlExecute(m.id, m.in, m.out));
  CHECK(violated("weights of a loaded model were freed or overwritten"));
  CHECK(from_device(m.y, 4) != Values({3, 5, 7, 9}));
  OK(aclrtFree(weight));
  FAILS(507015, "weights", aclmdlExecute(m.id, m.in, m.out));
  OK(aclrtFree(work));
  FAILS(507015, "workspace", aclmdlExecute(m.id, m.in, m.out));
}

TEST(execute, memory_freed_while_it_runs) {
  start();
  TestModel model = plain_model();
  model.program = "aclsim:scale 1 wait 150";
  Plain m(model);
  OK(aclmdlExecuteAsync(m.id, m.in, m.out, nullptr));
  while (reported("executions") < 1) std::this_thread::yield();
  OK(aclrtFree(m.x));
  FAILS(507015, "freed while", aclrtSynchronizeStream(nullptr));
  CODE(207002, aclrtFree(m.x));
}

TEST(execute, time_model) {
  start("{\"virtual_time\": true, \"compute_fixed_us\": 100, \"compute_item_us\": 10, \"compute_byte_ns\": 1}");
  Plain m, n;
  aclrtStream a = nullptr, b = nullptr;
  OK(aclrtCreateStream(&a));
  OK(aclrtCreateStream(&b));
  const uint64_t begin = aclsim_now();
  OK(aclmdlExecuteAsync(m.id, m.in, m.out, a));
  OK(aclmdlExecuteAsync(n.id, n.in, n.out, b));
  OK(aclrtSynchronizeDevice());
  CHECK(aclsim_now() - begin == 2 * (100'000 + 10'000 + 16));  // one after the other: they share the cores
  aclrtUtilizationInfo use{};
  OK(aclrtGetDeviceUtilizationRate(0, &use));
  CHECK(use.cubeUtilization > 0);
  CHECK(aclsim_set_faults("device:0@slow:10") == 0);
  const uint64_t again = aclsim_now();
  OK(aclmdlExecuteAsync(m.id, m.in, m.out, a));
  OK(aclrtSynchronizeStream(a));
  CHECK(aclsim_now() - again == 10 * (100'000 + 10'000 + 16));
}

TEST(execute, real_time_model) {
  start("{\"compute_fixed_us\": 3000}");
  Plain m;
  const uint64_t begin = aclsim_now();
  OK(aclmdlExecute(m.id, m.in, m.out));
  CHECK(aclsim_now() - begin >= 3'000'000);
}

TEST(execute, with_configuration) {
  start("{\"virtual_time\": true, \"compute_fixed_us\": 5000}");
  Plain m, n;
  aclmdlExecConfigHandle* config = aclmdlCreateExecConfigHandle();
  int32_t timeout = 10;
  OK(aclmdlSetExecConfigOpt(config, ACL_MDL_STREAM_SYNC_TIMEOUT, &timeout, 4));
  OK(aclmdlSetExecConfigOpt(config, ACL_MDL_EVENT_SYNC_TIMEOUT, &timeout, 4));
  OK(aclmdlExecuteV2(m.id, m.in, m.out, nullptr, config));
  timeout = 4;
  OK(aclmdlSetExecConfigOpt(config, ACL_MDL_STREAM_SYNC_TIMEOUT, &timeout, 4));
  FAILS(545601, "time-out", aclmdlExecuteV2(m.id, m.in, m.out, nullptr, config));
  OK(aclmdlExecuteAsyncV2(n.id, n.in, n.out, nullptr, config));
  OK(aclrtSynchronizeStream(nullptr));
  timeout = -2;
  CODE(100000, aclmdlSetExecConfigOpt(config, ACL_MDL_STREAM_SYNC_TIMEOUT, &timeout, 4));
  CODE(100000, aclmdlSetExecConfigOpt(config, ACL_MDL_STREAM_SYNC_TIMEOUT, &timeout, 8));
  CODE(100000, aclmdlSetExecConfigOpt(config, 2, &timeout, 4));
  CODE(100000, aclmdlSetExecConfigOpt(config, 0, nullptr, 4));
  CODE(100000, aclmdlSetExecConfigOpt(nullptr, 0, &timeout, 4));
  CODE(100000, aclmdlExecuteV2(m.id, m.in, m.out, nullptr, nullptr));
  CODE(100000, aclmdlExecuteAsyncV2(m.id, m.in, m.out, nullptr, nullptr));
  OK(aclmdlDestroyExecConfigHandle(config));
  CODE(200005, aclmdlDestroyExecConfigHandle(config));
  CODE(100000, aclmdlDestroyExecConfigHandle(nullptr));
}

TEST(execute, half_precision) {
  start("{\"fp16\": true}");
  TestModel model = plain_model();
  model.program = "aclsim:scale 1";
  Plain m(model);
  const float value = 1.0f + 1.0f / 4096;
  OK(aclrtMemcpy(m.x, 16, &value, 4, ACL_MEMCPY_HOST_TO_DEVICE));
  OK(aclmdlExecute(m.id, m.in, m.out));
  CHECK(from_device(m.y, 1)[0] == 1.0f);
  CHECK(from_device(m.x, 1)[0] == value);  // the input stays
}

TEST(execute, dynamic_shapes) {
  start();
  TestModel model = plain_model();
  model.inputs[0] = {"x", 0, 2, 0, {-1, 4}, {}, {1, 8, 4, 4}};
  model.outputs[0] = {"node:0:y", 0, 2, 0, {-1, 4}, {}, {}};
  model.dynamic = true;
  Run m(model);
  m.add(m.in, 64, {1, 2, 3, 4, 5, 6, 7, 8});
  void* y = m.add(m.out, 64);
  FAILS(100000, "aclmdlSetDatasetTensorDesc", aclmdlExecute(m.id, m.in, m.out));
  const auto shape = [&](int64_t rows) {
    const int64_t dims[] = {rows, 4};
    aclTensorDesc* desc = aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND);
    OK(aclmdlSetDatasetTensorDesc(m.in, desc, 0));
    aclDestroyTensorDesc(desc);
  };
  shape(9);
  FAILS(100000, "outside the model's range", aclmdlExecute(m.id, m.in, m.out));
  shape(2);
  OK(aclmdlExecute(m.id, m.in, m.out));
  CHECK(from_device(y, 8) == Values({3, 5, 7, 9, 11, 13, 15, 17}));
  aclTensorDesc* desc = aclmdlGetDatasetTensorDesc(m.out, 0);
  int64_t rows = 0;
  OK(aclGetTensorDescDimV2(desc, 0, &rows));
  CHECK(rows == 2);
  OK(aclmdlExecuteAsync(m.id, m.in, m.out, nullptr));  // may be mixed here
  desc = aclmdlGetDatasetTensorDesc(m.out, 0);
  CHECK(aclGetTensorDescSize(desc) == 32);
  shape(8);
  Run::claim(m.in, 0, 128);
  FAILS(507015, "no live memory", aclmdlExecute(m.id, m.in, m.out));  // it was claimed only
  Run::claim(m.in, 0, 32);
  FAILS(145000, "the model needs 128", aclmdlExecute(m.id, m.in, m.out));
  shape(4);
  Run::claim(m.in, 0, 64);
  Run::claim(m.out, 0, 40);
  FAILS(145000, "the result 64", aclmdlExecute(m.id, m.in, m.out));
  aclDataBuffer* output = aclmdlGetDatasetBuffer(m.out, 0);
  OK(aclUpdateDataBuffer(output, nullptr, 0));
  OK(aclmdlExecute(m.id, m.in, m.out));
  CHECK(aclGetDataBufferSizeV2(output) == 64);
  OK(aclrtFree(aclGetDataBufferAddr(output)));
}
