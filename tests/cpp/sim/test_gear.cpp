#include <atomic>
#include <cstring>
#include <thread>

#include "model_run.hpp"

namespace {

using Values = std::vector<float>;

struct Batch : Run {
  void *x, *hidden, *y;
  explicit Batch(const TestModel& model = batch_model())
      : Run(model), x(add(in, 64, Values(16, 1))), hidden(add(in, model.inputs.back().size)), y(add(out, 64)) {}
};

int32_t value_in(const void* hidden) {
  int32_t value = 0;
  OK(aclrtMemcpy(&value, 4, hidden, 4, ACL_MEMCPY_DEVICE_TO_HOST));
  return value;
}

}  // namespace

TEST(gear, batch) {
  start();
  Batch m;
  OK(aclmdlSetDynamicBatchSize(m.id, m.in, 1, 2));
  CHECK(value_in(m.hidden) == 2);
  OK(aclmdlExecute(m.id, m.in, m.out));
  const Values out = from_device(m.y, 16);
  CHECK(out[7] == 3 && out[8] != 3);  // two rows at the front, the rest as it was
  aclmdlDesc* desc = aclmdlCreateDesc();
  OK(aclmdlGetDesc(desc, m.id));
  aclmdlIODims dims;
  OK(aclmdlGetCurOutputDims(desc, 0, &dims));
  CHECK(dims.dims[0] == 2);
  OK(aclmdlSetDynamicBatchSize(m.id, m.in, 1, 4));
  OK(aclmdlGetCurOutputDims(desc, 0, &dims));
  CHECK(dims.dims[0] == 4);
  OK(aclmdlDestroyDesc(desc));
}

TEST(gear, wrong_arguments) {
  start();
  Batch m;
  FAILS(145013, "Its gears are 1; 2; 4", aclmdlSetDynamicBatchSize(m.id, m.in, 1, 3));
  FAILS(100000, "ascend_mbatch_shape_data", aclmdlSetDynamicBatchSize(m.id, m.in, 0, 2));
  CODE(100000, aclmdlSetDynamicBatchSize(m.id, m.in, 9, 2));
  CODE(100000, aclmdlSetDynamicBatchSize(m.id, m.in, 1, 0));
  CODE(100000, aclmdlSetDynamicBatchSize(m.id, nullptr, 1, 2));
  CODE(145003, aclmdlSetDynamicBatchSize(99, m.in, 1, 2));
  CODE(145013, aclmdlSetDynamicHWSize(m.id, m.in, 1, 2, 2));
  CODE(100000, aclmdlSetDynamicHWSize(m.id, m.in, 1, 0, 2));
  CODE(100000, aclmdlSetInputDynamicDims(m.id, m.in, 1, nullptr));
  aclmdlIODims dims{};
  CODE(145013, aclmdlSetInputDynamicDims(m.id, m.in, 1, &dims));
  dims.dimCount = 1000;
  CODE(100000, aclmdlSetInputDynamicDims(m.id, m.in, 1, &dims));
  Run plain(plain_model());
  plain.add(plain.in, 16);
  FAILS(100019, "was not converted with gears", aclmdlSetDynamicBatchSize(plain.id, plain.in, 0, 1));
  aclDataBuffer* hidden = aclmdlGetDatasetBuffer(m.in, 1);
  OK(aclUpdateDataBuffer(hidden, m.hidden, 3));
  FAILS(145012, "3 bytes", aclmdlSetDynamicBatchSize(m.id, m.in, 1, 2));
  OK(aclUpdateDataBuffer(hidden, nullptr, 4));
  FAILS(145011, "no memory", aclmdlSetDynamicBatchSize(m.id, m.in, 1, 2));
  int host = 0;
  OK(aclUpdateDataBuffer(hidden, &host, 4));
  FAILS(145011, "not in device memory", aclmdlSetDynamicBatchSize(m.id, m.in, 1, 2));
  OK(aclDestroyDataBuffer(hidden));
  CODE(100000, aclmdlSetDynamicBatchSize(m.id, m.in, 1, 2));
}

TEST(gear, forgotten) {
  start();
  Batch m;
  const int32_t garbage = 77, two = 2;
  OK(aclrtMemcpy(m.hidden, 4, &garbage, 4, ACL_MEMCPY_HOST_TO_DEVICE));
  FAILS(507015, "no gear of the model", aclmdlExecute(m.id, m.in, m.out));
  // By chance a good value: then the card takes it.
  OK(aclrtMemcpy(m.hidden, 4, &two, 4, ACL_MEMCPY_HOST_TO_DEVICE));
  OK(aclmdlExecute(m.id, m.in, m.out));
}

TEST(gear, size_checks_end_with_a_gear) {
  start();
  Batch m;
  const int32_t two = 2;
  OK(aclrtMemcpy(m.hidden, 4, &two, 4, ACL_MEMCPY_HOST_TO_DEVICE));
  TestModel wide = batch_model();
  wide.inputs[0].dims = {-1, 64};
  wide.inputs[0].size = 1024;
  Batch n(wide);
  FAILS(145000, "E13025", aclmdlExecute(n.id, n.in, n.out));  // 64 bytes for 1024
  OK(aclmdlSetDynamicBatchSize(n.id, n.in, 1, 4));
  FAILS(507015, "no live memory", aclmdlExecute(n.id, n.in, n.out));  // unchecked: the card runs past the end
}

TEST(gear, belongs_to_the_dataset_and_the_hidden_input) {
  start();
  Batch m;
  aclmdlDataset* other = aclmdlCreateDataset();
  void *x = m.add(other, 64, Values(16, 1)), *hidden = m.add(other, 4);
  (void)x;
  OK(aclmdlSetDynamicBatchSize(m.id, m.in, 1, 2));
  OK(aclmdlSetDynamicBatchSize(m.id, other, 1, 4));
  CHECK(value_in(m.hidden) == 2 && value_in(hidden) == 4);
  OK(aclmdlExecute(m.id, m.in, m.out));
  CHECK(from_device(m.y, 16)[8] != 3);
  OK(aclmdlExecute(m.id, other, m.out));
  CHECK(from_device(m.y, 16)[15] == 3);
}

TEST(gear, setting_does_not_wait_for_the_stream) {
  start("{\"lateness_us\": 10000000}");
  Batch m;
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  OK(aclmdlSetDynamicBatchSize(m.id, m.in, 1, 4));
  OK(aclmdlExecuteAsync(m.id, m.in, m.out, stream));
  OK(aclmdlSetDynamicBatchSize(m.id, m.in, 1, 1));  // too early: the queued run reads it
  OK(aclrtSynchronizeStream(stream));
  const Values out = from_device(m.y, 16);
  CHECK(out[3] == 3 && out[4] != 3);
}

TEST(gear, image_sizes_and_wide_values) {
  start();
  TestModel model = batch_model();
  model.inputs[0].dims = {1, 1, -1, -1};
  model.inputs[1] = {"ascend_mbatch_shape_data", ACL_INT64, 2, 16, {2}, {}, {}};
  model.gear_block = 3;
  model.gears = {{2, 4}, {4, 4}};
  model.output_shapes = {"0,0,8", "1,0,16"};
  Batch m(model);
  OK(aclmdlSetDynamicHWSize(m.id, m.in, 1, 2, 4));
  OK(aclmdlExecute(m.id, m.in, m.out));
  CHECK(from_device(m.y, 16)[7] == 3 && from_device(m.y, 16)[8] != 3);
  CODE(145013, aclmdlSetDynamicHWSize(m.id, m.in, 1, 4, 2));
  CODE(145013, aclmdlSetDynamicBatchSize(m.id, m.in, 1, 1));
}

TEST(gear, dims) {
  start();
  TestModel model = batch_model();
  model.inputs[0].dims = {-1, -1};
  model.inputs[1] = {"ascend_mbatch_shape_data", ACL_INT32, 2, 8, {2}, {}, {}};
  model.gear_block = 4;
  model.gears = {{2, 3}, {4, 4}};
  model.output_shapes = {"0,0,2,3", "1,0,4,4"};
  Batch m(model);
  aclmdlIODims dims{};
  dims.dimCount = 2;
  dims.dims[0] = 2;
  dims.dims[1] = 3;
  OK(aclmdlSetInputDynamicDims(m.id, m.in, 1, &dims));
  OK(aclmdlExecute(m.id, m.in, m.out));
  CHECK(from_device(m.y, 16)[5] == 3 && from_device(m.y, 16)[6] != 3);
  dims.dims[1] = 2;
  CODE(145013, aclmdlSetInputDynamicDims(m.id, m.in, 1, &dims));
}
