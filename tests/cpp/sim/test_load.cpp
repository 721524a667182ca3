#include <atomic>
#include <cstring>
#include <fstream>
#include <thread>
#include <unistd.h>

#include "check.hpp"
#include "container.hpp"

namespace {

std::string write(const std::string& name, const std::string& bytes) {
  const std::string path = "/tmp/aclsim_test_" + std::to_string(getpid()) + "_" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

int load(const std::string& bytes) {
  uint32_t id = 0;
  return aclmdlLoadFromMem(bytes.data(), bytes.size(), &id);
}

}  // namespace

TEST(load, from_file_and_memory) {
  start();
  const std::string bytes = plain_model().bytes();
  const std::string path = write("plain.om", bytes);
  uint32_t a = 0, b = 0;
  OK(aclmdlLoadFromFile(path.c_str(), &a));
  OK(aclmdlLoadFromMem(bytes.data(), bytes.size(), &b));
  CHECK(a != b && reported("models") == 2);
  CHECK(reported("used_bytes") == 2 * (2 + 1) * 4096);  // each: a workspace of 4096 and 32 bytes, weights of 1024
  OK(aclmdlUnload(a));
  OK(aclmdlUnload(b));
  FAILS(145003, "no loaded model", aclmdlUnload(b));
  CHECK(reported("used_bytes") == 0);
  FAILS(100000, "modelId", aclmdlLoadFromFile(path.c_str(), nullptr));
  FAILS(100000, "modelPath", aclmdlLoadFromFile(nullptr, &a));
  FAILS(145002, "empty", aclmdlLoadFromFile("", &a));
  FAILS(145002, "No such file", aclmdlLoadFromFile("/nowhere.om", &a));
  FAILS(145002, "no file", aclmdlLoadFromFile("/tmp", &a));
  CODE(100000, aclmdlLoadFromMem(nullptr, 1, &a));
  CODE(100000, aclmdlLoadFromMem("x", 0, &a));
  unlink(path.c_str());
}

TEST(load, needs_init_and_context) {
  CHECK(aclsim_configure("{}") == 0);
  FAILS(145001, "aclInit", load(plain_model().bytes()));
  OK(aclInit(nullptr));
  CODE(107002, load(plain_model().bytes()));
}

TEST(load, damaged_files) {
  start();
  const std::string good = plain_model().bytes();
  FAILS(145006, "Invalid om file", load("IMOD"));
  FAILS(145006, "Invalid om file", load(std::string(300, 'x')));
  FAILS(145006, "git lfs pull", load("version https://git-lfs.github.com/spec/v1"));
  FAILS(545001, "OM2", load(std::string("PK\3\4") + std::string(300, 'x')));
  for (std::size_t n = 256; n < good.size(); n += 7) CHECK(load(good.substr(0, n)) != 0);
  TestModel model = plain_model();
  model.program = "aclsim:nonsense";
  FAILS(545001, "nonsense", load(model.bytes()));
  model = plain_model();
  model.parameters = "\"aipp\":[{\"input\":5}]";
  FAILS(545002, "does not have", load(model.bytes()));
  model.parameters = "]";
  FAILS(545002, "parameters are damaged", load(model.bytes()));
  std::string other = good;
  other[0x78 + 17] = '2';
  FAILS(545002, "another version", load(other));
  other = good;
  other[0x52] = 4;
  FAILS(545002, "model type 4", load(other));
  model = plain_model();
  model.inputs.push_back({"ascend_dynamic_aipp_data", 4, 2, 96, {96}, {}, {}});
  FAILS(545002, "dynamic AIPP", load(model.bytes()));
}

// Whatever a damaged file says of itself, what loads also runs, or fails with a code: in every gear that it still has.
void run_damaged(uint32_t id) {
  aclmdlDesc* desc = aclmdlCreateDesc();
  OK(aclmdlGetDesc(desc, id));
  aclmdlDataset *in = aclmdlCreateDataset(), *out = aclmdlCreateDataset();
  std::vector<void*> memory;
  const auto fill = [&](aclmdlDataset* set, std::size_t count, bool input) {
    for (std::size_t t = 0; t < count; ++t) {
      aclmdlIODims dims;
      OK(input ? aclmdlGetInputDims(desc, t, &dims) : aclmdlGetOutputDims(desc, t, &dims));
      const std::size_t size = input ? aclmdlGetInputSizeByIndex(desc, t) : aclmdlGetOutputSizeByIndex(desc, t);
      if (size > 1 << 20) return false;
      memory.push_back(to_device({}, size == 0 ? 1 : size));
      OK(aclmdlAddDatasetBuffer(set, aclCreateDataBuffer(memory.back(), size)));
    }
    return true;
  };
  if (fill(in, aclmdlGetNumInputs(desc), true) && fill(out, aclmdlGetNumOutputs(desc), false)) {
    aclmdlExecute(id, in, out);
    aclmdlBatch batches;
    OK(aclmdlGetDynamicBatch(desc, &batches));
    aclmdlHW sizes;
    OK(aclmdlGetDynamicHW(desc, static_cast<std::size_t>(-1), &sizes));
    std::size_t hidden = 0;
    aclmdlGetInputIndexByName(desc, "ascend_mbatch_shape_data", &hidden);
    for (std::size_t g = 0; g < batches.batchCount; ++g)
      if (aclmdlSetDynamicBatchSize(id, in, hidden, batches.batch[g]) == 0) aclmdlExecute(id, in, out);
    for (std::size_t g = 0; g < sizes.hwCount; ++g)
      if (aclmdlSetDynamicHWSize(id, in, hidden, sizes.hw[g][0], sizes.hw[g][1]) == 0) aclmdlExecute(id, in, out);
  }
  for (aclmdlDataset* set : {in, out}) {
    for (std::size_t t = 0; t < aclmdlGetDatasetNumBuffers(set); ++t)
      OK(aclDestroyDataBuffer(aclmdlGetDatasetBuffer(set, t)));
    OK(aclmdlDestroyDataset(set));
  }
  for (void* address : memory) OK(aclrtFree(address));
  OK(aclmdlDestroyDesc(desc));
}

TEST(load, every_byte_may_be_wrong) {
  start();
  TestModel hw = batch_model();
  hw.gear_block = 3;
  hw.gears = {{1, 4}, {2, 4}, {4, 4}};
  hw.inputs[0].dims = {-1, -1};
  hw.inputs[1].size = 8;
  hw.inputs[1].dims = {2};
  for (const std::string& good : {batch_model().bytes(), hw.bytes()}) {
    unsigned state = 1;
    for (int i = 0; i < 3000; ++i) {
      std::string bad = good;
      for (int k = 0; k < 1 + i % 3; ++k) {
        state = state * 1103515245 + 12345;
        bad[256 + (state >> 8) % (bad.size() - 256)] = static_cast<char>(state >> 24);
      }
      uint32_t id = 0;
      if (aclmdlLoadFromMem(bad.data(), bad.size(), &id) != 0) continue;
      run_damaged(id);
      OK(aclmdlUnload(id));
    }
  }
}

TEST(load, contradictions) {
  start();
  const auto refused = [](const char* words, const TestModel& model) { FAILS(545002, words, load(model.bytes())); };
  TestModel model = batch_model();
  model.inputs.clear();
  refused("3 gears and 0 inputs", model);
  model = batch_model();
  model.inputs.pop_back();
  refused("none of them ascend_mbatch_shape_data", model);
  model = batch_model();
  model.inputs.push_back(model.inputs.back());
  refused("2 inputs ascend_mbatch_shape_data", model);
  model = batch_model();
  model.gears.clear();
  model.output_shapes.clear();
  refused("and no gears", model);
  model = batch_model();
  model.inputs[1].type = ACL_FLOAT16;
  refused("int32 or int64", model);
  model = batch_model();
  model.inputs[1].size = 2;
  refused("2 bytes, a gear has 1 values", model);
  model = batch_model();
  model.gear_block = 4;
  model.gears[1] = {2, 2};
  refused("another number than the rest", model);
  model = batch_model();
  model.gear_block = 3;
  refused("has 1 values", model);
  model = batch_model();
  model.gears[2] = {8};
  refused("\"x\" has 64 bytes, its shape needs 128", model);
  model = batch_model();
  model.output_shapes[2] = "2,0,8,4";
  refused("output \"node:0:y\" has 64 bytes, its shape needs 128", model);
  model.output_shapes[2] = "2,0,-8,4";
  refused("a negative size", model);
  model = batch_model();
  model.parameters = "\"gears\":[{\"onnx_inputs\":[[400,4]]}]";
  refused("not the model's", model);
  model.parameters = "\"gears\":[{\"inputs\":[[1,4],[1]]}]";
  refused("for 2 inputs and 1 outputs", model);
  model = plain_model();
  model.inputs[0].type = model.outputs[0].type = 99;
  refused("99, which no aclDataType is", model);
  for (const auto& [type, words] : {std::pair{ACL_FLOAT8_E4M3FN, "\"x\" is FP8_E4M3FN, which the simulator does not compute"},
                                    std::pair{ACL_STRING, "\"x\" is text (ACL_STRING), which the simulator does not"},
                                    std::pair{ACL_INT4, "\"x\" is INT4, which the simulator does not compute"},
                                    std::pair{ACL_COMPLEX64, "is COMPLEX64, which the simulator does not compute"}}) {
    model = plain_model();
    model.inputs[0].type = type;
    refused(words, model);
    model = plain_model();
    model.outputs[0].type = type;
    refused("output \"node:0:y\" is ", model);
  }
  for (const std::int64_t rows : {std::int64_t{2}, std::int64_t{1} << 62}) {
    model = plain_model();
    model.inputs[0].dims = {rows, 4};
    refused("input \"x\" has 16 bytes, its shape needs", model);
  }
  model = plain_model();
  model.outputs[0].dims = {2, 4};
  refused("output \"node:0:y\" has 16 bytes, its shape needs 32", model);
  model = plain_model();
  model.parameters = "\"aipp\":[{\"input\":0,\"crop\":[0,0,-4,4]}]";
  refused("which no picture has", model);
}

TEST(load, with_memory) {
  start();
  const std::string bytes = plain_model().bytes(), path = write("mem.om", bytes);
  std::size_t work_size = 0, weight_size = 0;
  OK(aclmdlQuerySize(path.c_str(), &work_size, &weight_size));
  CHECK(work_size == 4096 && weight_size == 1024);
  OK(aclmdlQuerySizeFromMem(bytes.data(), bytes.size(), &work_size, &weight_size));
  CHECK(work_size == 4096 && weight_size == 1024);
  CODE(100000, aclmdlQuerySize(nullptr, &work_size, &weight_size));
  CODE(100000, aclmdlQuerySize(path.c_str(), nullptr, &weight_size));
  CODE(145002, aclmdlQuerySize("/nowhere", &work_size, &weight_size));
  CODE(100000, aclmdlQuerySizeFromMem(bytes.data(), bytes.size(), &work_size, nullptr));
  CODE(100000, aclmdlQuerySizeFromMem(nullptr, 1, &work_size, &weight_size));
  CODE(145006, aclmdlQuerySizeFromMem("abc", 3, &work_size, &weight_size));
  void *work = to_device({}, 4096), *weight = to_device({}, 1024);
  uint32_t a = 0, b = 0;
  OK(aclmdlLoadFromFileWithMem(path.c_str(), &a, work, 4096, weight, 1024));
  OK(aclmdlLoadFromMemWithMem(bytes.data(), bytes.size(), &b, work, 4096, weight, 1024));
  FAILS(145000, "4095 bytes", aclmdlLoadFromFileWithMem(path.c_str(), &a, work, 4095, weight, 1024));
  FAILS(145000, "the model needs 1024",
        aclmdlLoadFromMemWithMem(bytes.data(), bytes.size(), &a, work, 4096, weight, 100));
  char host[4096];
  FAILS(145000, "no live memory", aclmdlLoadFromFileWithMem(path.c_str(), &a, host, 4096, weight, 1024));
  CODE(100000, aclmdlLoadFromFileWithMem(nullptr, &a, work, 4096, weight, 1024));
  CODE(100000, aclmdlLoadFromMemWithMem(nullptr, 1, &a, work, 4096, weight, 1024));
  OK(aclmdlUnload(b));
  CHECK(reported("allocations") == 2);  // the program's own stay
  unlink(path.c_str());
}

TEST(load, memory_runs_out) {
  start("{\"hbm_bytes\": 2097152}");
  TestModel model = plain_model();
  model.work = 3 << 20;
  FAILS(245000, "EL0004", load(model.bytes()));
  CHECK(reported("used_bytes") == 0);
}

TEST(load, with_configuration) {
  start();
  const std::string bytes = plain_model().bytes(), path = write("config.om", bytes);
  const char* name = path.c_str();
  aclmdlConfigHandle* config = aclmdlCreateConfigHandle();
  uint32_t id = 0;
  FAILS(100000, "LOAD_TYPE", aclmdlLoadWithConfig(config, &id));
  std::size_t type = ACL_MDL_LOAD_FROM_FILE;
  FAILS(100000, "size", aclmdlSetConfigOpt(config, ACL_MDL_LOAD_TYPE_SIZET, &type, 4));
  OK(aclmdlSetConfigOpt(config, ACL_MDL_LOAD_TYPE_SIZET, &type, sizeof type));
  FAILS(100000, "ACL_MDL_PATH_PTR", aclmdlLoadWithConfig(config, &id));
  OK(aclmdlSetConfigOpt(config, ACL_MDL_PATH_PTR, &name, sizeof name));
  int32_t priority = 8, without = 1;
  CODE(100000, aclmdlSetConfigOpt(config, ACL_MDL_PRIORITY_INT32, &priority, 4));
  priority = 2;
  OK(aclmdlSetConfigOpt(config, ACL_MDL_PRIORITY_INT32, &priority, 4));
  OK(aclmdlSetConfigOpt(config, ACL_MDL_WITHOUT_GRAPH_INT32, &without, 4));
  OK(aclmdlLoadWithConfig(config, &id));
  aclmdlAttrValue_t value{};
  OK(aclmdlGetAttribute(id, 0, &value));
  CHECK(value.priority == 2);
  OK(aclmdlSetAttribute(id, 0, &value));
  value.priority = 9;
  CODE(100000, aclmdlSetAttribute(id, 0, &value));
  CODE(100000, aclmdlSetAttribute(id, 5, &value));
  CODE(100000, aclmdlGetAttribute(id, 0, nullptr));
  CODE(145003, aclmdlSetAttribute(77, 0, &value));
  CODE(145003, aclmdlGetAttribute(77, 0, &value));
  CODE(100000, aclmdlGetAttribute(id, 5, &value));
  OK(aclmdlUnload(id));
  type = ACL_MDL_LOAD_FROM_MEM_WITH_MEM;
  OK(aclmdlSetConfigOpt(config, ACL_MDL_LOAD_TYPE_SIZET, &type, sizeof type));
  FAILS(100000, "ACL_MDL_MEM_ADDR_PTR", aclmdlLoadWithConfig(config, &id));
  const void* address = bytes.data();
  std::size_t size = bytes.size(), work_size = 4096, weight_size = 1024, optimize = 1;
  void *work = to_device({}, 4096), *weight = to_device({}, 1024);
  OK(aclmdlSetConfigOpt(config, ACL_MDL_MEM_ADDR_PTR, &address, 8));
  OK(aclmdlSetConfigOpt(config, ACL_MDL_MEM_SIZET, &size, 8));
  OK(aclmdlSetConfigOpt(config, ACL_MDL_WORKSPACE_ADDR_PTR, &work, 8));
  OK(aclmdlSetConfigOpt(config, ACL_MDL_WORKSPACE_SIZET, &work_size, 8));
  OK(aclmdlSetConfigOpt(config, ACL_MDL_WEIGHT_ADDR_PTR, &weight, 8));
  OK(aclmdlSetConfigOpt(config, ACL_MDL_WEIGHT_SIZET, &weight_size, 8));
  OK(aclmdlSetConfigOpt(config, ACL_MDL_WORKSPACE_MEM_OPTIMIZE, &optimize, 8));
  OK(aclmdlSetConfigOpt(config, ACL_MDL_WEIGHT_PATH_PTR, &name, 8));
  OK(aclmdlLoadWithConfig(config, &id));
  OK(aclmdlUnload(id));
  type = ACL_MDL_LOAD_FROM_FILE;
  OK(aclmdlSetConfigOpt(config, ACL_MDL_LOAD_TYPE_SIZET, &type, sizeof type));
  FAILS(100000, "cannot be combined", aclmdlLoadWithConfig(config, &id));
  CODE(207000, aclmdlSetConfigOpt(config, ACL_MDL_INPUTQ_NUM_SIZET, &size, 8));
  CODE(100000, aclmdlSetConfigOpt(config, 999, &size, 8));
  type = 9;
  CODE(100000, aclmdlSetConfigOpt(config, ACL_MDL_LOAD_TYPE_SIZET, &type, 8));
  type = ACL_MDL_LOAD_FROM_FILE_WITH_Q;
  OK(aclmdlSetConfigOpt(config, ACL_MDL_LOAD_TYPE_SIZET, &type, 8));
  CODE(207000, aclmdlLoadWithConfig(config, &id));
  const char* none = nullptr;
  CODE(100000, aclmdlSetConfigOpt(config, ACL_MDL_PATH_PTR, &none, 8));
  CODE(100000, aclmdlSetConfigOpt(config, ACL_MDL_PATH_PTR, nullptr, 8));
  CODE(100000, aclmdlSetConfigOpt(nullptr, ACL_MDL_PATH_PTR, &name, 8));
  CODE(100000, aclmdlLoadWithConfig(nullptr, &id));
  OK(aclmdlSetExternalWeightAddress(config, "w", work, 64));
  CODE(100000, aclmdlSetExternalWeightAddress(config, nullptr, work, 64));
  CODE(100000, aclmdlSetExternalWeightAddress(config, "w", work, 65));
  CODE(100000, aclmdlSetExternalWeightAddress(config, "w", &work, 64));
  CODE(100000, aclmdlSetExternalWeightAddress(nullptr, "w", work, 64));
  OK(aclmdlDestroyConfigHandle(config));
  CODE(200005, aclmdlDestroyConfigHandle(config));
  CODE(100000, aclmdlDestroyConfigHandle(nullptr));
  unlink(name);
}

TEST(load, bundles) {
  start();
  const std::string bytes = bundle({plain_model().bytes(), batch_model().bytes()}), path = write("bundle.om", bytes);
  uint32_t id = 0, model = 0;
  FAILS(145000, "non-bundle", load(bytes));
  OK(aclmdlBundleLoadFromFile(path.c_str(), &id));
  std::size_t number = 0;
  OK(aclmdlBundleGetModelNum(id, &number));
  CHECK(number == 2);
  OK(aclmdlBundleGetModelId(id, 1, &model));
  CODE(100000, aclmdlBundleGetModelId(id, 2, &model));
  CODE(100000, aclmdlBundleGetModelId(id, 0, nullptr));
  CODE(100000, aclmdlBundleGetModelNum(id, nullptr));
  CODE(148053, aclmdlBundleGetModelNum(99, &number));
  CODE(148053, aclmdlBundleGetModelId(99, 0, &model));
  FAILS(145000, "aclmdlBundleUnload", aclmdlUnload(model));
  OK(aclmdlBundleUnload(id));
  CODE(148053, aclmdlBundleUnload(id));
  OK(aclmdlBundleLoadFromMem(bytes.data(), bytes.size(), &id));
  OK(aclmdlBundleUnload(id));
  const std::string plain = plain_model().bytes();
  FAILS(145000, "no bundle", aclmdlBundleLoadFromMem(plain.data(), plain.size(), &id));
  CODE(100000, aclmdlBundleLoadFromMem(nullptr, 1, &id));
  CODE(100000, aclmdlBundleLoadFromMem(bytes.data(), bytes.size(), nullptr));
  CODE(100000, aclmdlBundleLoadFromFile(nullptr, &id));
  CODE(145002, aclmdlBundleLoadFromFile("/nowhere", &id));
  const std::string bad = bundle({plain, "junk"});
  CODE(145006, aclmdlBundleLoadFromMem(bad.data(), bad.size(), &id));
  CHECK(reported("models") == 0);  // the good half was taken back
  unlink(path.c_str());
}

TEST(load, a_real_model_needs_its_twin) {
  start();
  TestModel model = plain_model();
  model.real = true;
  model.work = 300;
  const std::string bytes = model.bytes();
  FAILS(545002, "no CPU runs", load(bytes));
  std::size_t work = 0, weight = 0;
  OK(aclmdlQuerySizeFromMem(bytes.data(), bytes.size(), &work, &weight));
  CHECK(work == 300 && weight == 1024);
  CHECK(aclsim_set_twin(nullptr, 0, "x") == -1);
  CHECK(aclsim_set_twin(bytes.data(), bytes.size(), "/nowhere.onnx") == 0);
  CODE(545001, load(bytes));
  std::string longer = bytes + "x";
  FAILS(145006, "the header speaks of", load(longer));
}

TEST(load, unload_belongs_to_the_context) {
  start();
  const std::string bytes = plain_model().bytes();
  uint32_t id = 0;
  OK(aclmdlLoadFromMem(bytes.data(), bytes.size(), &id));
  aclrtContext primary = nullptr, context = nullptr;
  OK(aclrtGetCurrentContext(&primary));
  OK(aclrtCreateContext(&context, 0));
  FAILS(107004, "another context", aclmdlUnload(id));
  OK(aclrtSetCurrentContext(primary));
  OK(aclmdlUnload(id));
}

TEST(load, reset_takes_models_along) {
  start();
  const std::string bytes = plain_model().bytes();
  uint32_t id = 0;
  OK(aclmdlLoadFromMem(bytes.data(), bytes.size(), &id));
  OK(aclrtResetDevice(0));
  CHECK(violated("device reset with loaded models"));
  OK(aclrtSetDevice(0));
  CODE(145003, aclmdlUnload(id));
}
