#include <unistd.h>

#include <cstring>
#include <fstream>

#include "check.hpp"
#include "container.hpp"

namespace {

struct Described {
  aclmdlDesc* desc = aclmdlCreateDesc();
  uint32_t id = 0;
  explicit Described(const TestModel& model) {
    const std::string bytes = model.bytes();
    OK(aclmdlLoadFromMem(bytes.data(), bytes.size(), &id));
    OK(aclmdlGetDesc(desc, id));
  }
  std::vector<int64_t> dims(int (*ask)(const aclmdlDesc*, size_t, aclmdlIODims*), std::size_t index) const {
    aclmdlIODims out;
    OK(ask(desc, index, &out));
    return {out.dims, out.dims + out.dimCount};
  }
};

using Dims = std::vector<int64_t>;

}  // namespace

TEST(desc, names_types_sizes) {
  start();
  Described d(plain_model());
  CHECK(aclmdlGetNumInputs(d.desc) == 1 && aclmdlGetNumOutputs(d.desc) == 1);
  CHECK(aclmdlGetInputSizeByIndex(d.desc, 0) == 16 && aclmdlGetOutputSizeByIndex(d.desc, 0) == 16);
  CHECK(aclmdlGetInputSizeByIndex(d.desc, 1) == 0 && aclmdlGetOutputSizeByIndex(d.desc, 1) == 0);
  CHECK(std::string(aclmdlGetInputNameByIndex(d.desc, 0)) == "x");
  CHECK(std::string(aclmdlGetOutputNameByIndex(d.desc, 0)) == "node:0:y");
  CHECK(std::string(aclmdlGetOutputNameByIndex(d.desc, 3)).empty() &&
        std::string(aclmdlGetInputNameByIndex(d.desc, 3)).empty());
  CHECK(aclmdlGetInputDataType(d.desc, 0) == ACL_FLOAT && aclmdlGetOutputDataType(d.desc, 0) == ACL_FLOAT);
  CHECK(aclmdlGetInputFormat(d.desc, 0) == ACL_FORMAT_ND && aclmdlGetOutputFormat(d.desc, 0) == ACL_FORMAT_ND);
  CHECK(aclmdlGetInputDataType(d.desc, 9) == ACL_DT_UNDEFINED &&
        aclmdlGetInputFormat(nullptr, 0) == ACL_FORMAT_UNDEFINED);
  CHECK(aclmdlGetOutputDataType(d.desc, 9) == ACL_DT_UNDEFINED &&
        aclmdlGetOutputFormat(d.desc, 9) == ACL_FORMAT_UNDEFINED);
  std::size_t index = 9;
  OK(aclmdlGetInputIndexByName(d.desc, "x", &index));
  CHECK(index == 0);
  CODE(100000, aclmdlGetInputIndexByName(d.desc, "z", &index));
  CODE(100000, aclmdlGetInputIndexByName(d.desc, nullptr, &index));
  OK(aclmdlGetOutputIndexByName(d.desc, "node:0:y", &index));
  CODE(100000, aclmdlGetOutputIndexByName(d.desc, "y", &index));
  CODE(100000, aclmdlGetOutputIndexByName(d.desc, "y", nullptr));
  CHECK(std::string(aclmdlGetTensorRealName(d.desc, "x")) == "x");
  CHECK(aclmdlGetTensorRealName(d.desc, "q") == nullptr && aclmdlGetTensorRealName(d.desc, nullptr) == nullptr);
  CHECK(aclmdlGetOpAttr(d.desc, "conv", "name") == nullptr);
  char name[8];
  CODE(500002, aclmdlCreateAndGetOpDesc(0, 0, 0, name, 8, nullptr, nullptr, nullptr, nullptr));
  CODE(100000, aclmdlCreateAndGetOpDesc(0, 0, 0, nullptr, 8, nullptr, nullptr, nullptr, nullptr));
  CHECK((d.dims(aclmdlGetInputDims, 0) == Dims{1, 4}));
  CHECK((d.dims(aclmdlGetCurOutputDims, 0) == Dims{1, 4}));
  aclmdlIODims dims;
  CODE(100000, aclmdlGetInputDims(d.desc, 7, &dims));
  CODE(100000, aclmdlGetInputDims(d.desc, 0, nullptr));
  CODE(100000, aclmdlGetInputDims(nullptr, 0, &dims));
  CODE(100000, aclmdlGetInputDimsV2(d.desc, 7, &dims));
  CODE(100000, aclmdlGetOutputDims(d.desc, 7, &dims));
  CODE(100000, aclmdlGetCurOutputDims(d.desc, 7, &dims));
  OK(aclmdlUnload(d.id));
  FAILS(145003, "not loaded", aclmdlGetCurOutputDims(d.desc, 0, &dims));
  CHECK((d.dims(aclmdlGetOutputDims, 0) == Dims{1, 4}));  // the description stays
  OK(aclmdlDestroyDesc(d.desc));
  CODE(200005, aclmdlDestroyDesc(d.desc));
  CODE(100000, aclmdlDestroyDesc(nullptr));
  CODE(200005, aclmdlGetDesc(d.desc, 1));
  CHECK(aclmdlGetNumInputs(d.desc) == 0 && aclmdlGetNumOutputs(nullptr) == 0);
}

TEST(desc, empty_ones) {
  start();
  aclmdlDesc* desc = aclmdlCreateDesc();
  CODE(145003, aclmdlGetDesc(desc, 77));
  CODE(100000, aclmdlGetDesc(nullptr, 1));
  CHECK(aclmdlGetNumInputs(desc) == 0);
  CHECK(recent().find("did not fill it") != std::string::npos);
  OK(aclmdlDestroyDesc(desc));
}

TEST(desc, without_loading) {
  aclmdlDesc* desc = aclmdlCreateDesc();
  TestModel model = batch_model();
  model.real = true;
  const std::string bytes = model.bytes();
  OK(aclmdlGetDescFromMem(desc, bytes.data(), bytes.size()));
  CHECK(aclmdlGetNumInputs(desc) == 2);
  CODE(100000, aclmdlGetDescFromMem(desc, nullptr, 1));
  CODE(100000, aclmdlGetDescFromMem(desc, bytes.data(), 0));
  CODE(145006, aclmdlGetDescFromMem(desc, "abc", 3));
  const std::string path = "/tmp/aclsim_test_" + std::to_string(getpid()) + "_desc.om";
  std::ofstream(path, std::ios::binary) << bytes;
  OK(aclmdlGetDescFromFile(desc, path.c_str()));
  CHECK(aclmdlGetInputSizeByIndex(desc, 0) == 64);
  unlink(path.c_str());
  CODE(145002, aclmdlGetDescFromFile(desc, "/nowhere"));
  CODE(100000, aclmdlGetDescFromFile(desc, nullptr));
  CODE(100000, aclmdlGetDescFromFile(nullptr, "/nowhere"));
  OK(aclmdlDestroyDesc(desc));
}

TEST(desc, long_names) {
  start();
  TestModel model = plain_model();
  model.inputs[0].name = std::string(200, 'n');
  Described d(model);
  aclmdlIODims dims;
  OK(aclmdlGetInputDims(d.desc, 0, &dims));
  const std::string stand_in = "acl_modelId_" + std::to_string(d.id) + "_input_0";
  CHECK(stand_in == dims.name);
  CHECK(std::string(aclmdlGetTensorRealName(d.desc, dims.name)) == model.inputs[0].name);
}

TEST(desc, batch_gears) {
  start();
  Described d(batch_model());
  aclmdlBatch batch;
  OK(aclmdlGetDynamicBatch(d.desc, &batch));
  CHECK(batch.batchCount == 3 && batch.batch[2] == 4);
  CODE(100000, aclmdlGetDynamicBatch(d.desc, nullptr));
  aclmdlHW hw;
  OK(aclmdlGetDynamicHW(d.desc, static_cast<std::size_t>(-1), &hw));
  CHECK(hw.hwCount == 0);
  CODE(100000, aclmdlGetDynamicHW(d.desc, 0, nullptr));
  std::size_t count = 9, index = 0;
  OK(aclmdlGetInputDynamicGearCount(d.desc, static_cast<std::size_t>(-1), &count));
  CHECK(count == 0);
  CODE(100000, aclmdlGetInputDynamicGearCount(d.desc, 0, &count));
  CODE(100000, aclmdlGetInputDynamicGearCount(d.desc, static_cast<std::size_t>(-1), nullptr));
  OK(aclmdlGetInputIndexByName(d.desc, ACL_DYNAMIC_TENSOR_NAME, &index));
  CHECK(index == 1);
  CHECK((d.dims(aclmdlGetInputDims, 0) == Dims{-1, 4}));
  CHECK((d.dims(aclmdlGetOutputDims, 0) == Dims{4, 4}));
}

TEST(desc, image_gears) {
  start();
  TestModel model = batch_model();
  model.inputs[0] = {"x", 0, 2, 3072, {1, 3, -1, -1}, {}, {}};
  model.inputs[1] = {"ascend_mbatch_shape_data", 3, 2, 8, {2}, {}, {}};
  model.gear_block = 3;
  model.gears = {{8, 4}, {16, 16}};
  model.output_shapes = {"-1,0,1,4"};
  Described d(model);
  aclmdlHW hw;
  OK(aclmdlGetDynamicHW(d.desc, static_cast<std::size_t>(-1), &hw));
  CHECK(hw.hwCount == 2 && hw.hw[0][0] == 8 && hw.hw[0][1] == 4);
}

TEST(desc, dims_gears) {
  start();
  TestModel model = batch_model();
  model.inputs = {{"a", 0, 2, 64, {-1, 4}, {}, {}},
                  {"b", 0, 2, 64, {2, -1}, {}, {}},
                  {"ascend_mbatch_shape_data", 3, 2, 8, {2}, {}, {}}};
  model.gear_block = 4;
  model.gears = {{1, 2}, {3, 4}};
  model.order = {"b", "a"};
  model.output_shapes = {"0,0,1,4", "1,0,4,4"};
  Described d(model);
  std::size_t count = 0;
  OK(aclmdlGetInputDynamicGearCount(d.desc, static_cast<std::size_t>(-1), &count));
  CHECK(count == 2);
  std::vector<aclmdlIODims> gears(count);
  OK(aclmdlGetInputDynamicDims(d.desc, static_cast<std::size_t>(-1), gears.data(), count));
  CHECK(gears[0].dimCount == 4);
  CHECK(gears[0].dims[0] == 2 && gears[0].dims[1] == 4 && gears[0].dims[2] == 2 && gears[0].dims[3] == 1);
  CODE(100000, aclmdlGetInputDynamicDims(d.desc, 0, gears.data(), count));
  CODE(100000, aclmdlGetInputDynamicDims(d.desc, static_cast<std::size_t>(-1), gears.data(), 1));
  CODE(100000, aclmdlGetInputDynamicDims(d.desc, static_cast<std::size_t>(-1), nullptr, 1));
}

TEST(desc, dynamic_shapes) {
  start();
  TestModel model = plain_model();
  model.inputs[0] = {"x", 0, 2, 0, {-1, 4}, {}, {1, 8, 4, 4}};
  model.outputs[0] = {"node:0:y", 0, 2, 0, {-1, 4}, {}, {}};
  model.dynamic = true;
  Described d(model);
  CHECK(aclmdlGetInputSizeByIndex(d.desc, 0) == 0);
  aclmdlIODimsRange range;
  OK(aclmdlGetInputDimsRange(d.desc, 0, &range));
  CHECK(range.rangeCount == 2 && range.range[0][0] == 1 && range.range[0][1] == 8);
  CODE(100000, aclmdlGetInputDimsRange(d.desc, 1, &range));
  CODE(100000, aclmdlGetInputDimsRange(d.desc, 0, nullptr));
  aclmdlIODims dims;
  FAILS(200001, "dynamic", aclmdlGetCurOutputDims(d.desc, 0, &dims));
}
