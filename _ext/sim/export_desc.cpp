// Model descriptions: making them, names, types, sizes.
#include "call.hpp"
#include "desc.hpp"
#include "load.hpp"
#include "options.hpp"

namespace aclsim {

ModelDesc* described(const char* function, const void* handle, int& code) {
  ModelDesc* desc = HandleTable::get().peek<ModelDesc>(handle);
  if (desc == nullptr) {
    code = handle == nullptr ? fail_null(function, "modelDesc") : fail_handle(function, "model description", handle);
    return nullptr;
  }
  if (desc->content == nullptr) {
    code = fail_value(function, "an empty description", "modelDesc", "aclmdlGetDesc did not fill it");
    return nullptr;
  }
  code = 0;
  return desc;
}

}  // namespace aclsim

using namespace aclsim;

namespace {

template <typename Value, typename Get>
Value ask_desc(Function function, const void* handle, Value fallback, Get get) {
  return ask(function, fallback, [&]() -> Value {
    const Lock lock(big_lock());
    int code = 0;
    ModelDesc* desc = described(name_of(function), handle, code);
    return desc == nullptr ? fallback : get(*desc);
  });
}

template <typename Value, typename Get>
Value ask_tensor(Function function, const void* handle, bool input, std::size_t index, Value fallback, Get get) {
  return ask_desc(function, handle, fallback, [&](ModelDesc& desc) -> Value {
    const auto& tensors = input ? desc.info().inputs : desc.info().outputs;
    if (index < tensors.size()) return get(tensors[index]);
    fail_value(name_of(function), std::to_string(index), "index", "the model has fewer");
    return fallback;
  });
}

int index_of(Function function, const void* handle, bool input, const char* name, std::size_t* index) {
  return run(function, [&] {
    if (name == nullptr || index == nullptr) return fail_null(name_of(function), name == nullptr ? "name" : "index");
    const Lock lock(big_lock());
    int code = 0;
    const ModelDesc* desc = described(name_of(function), handle, code);
    if (desc == nullptr) return code;
    const auto& tensors = input ? desc->info().inputs : desc->info().outputs;
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i].name == name) {
        *index = i;
        return static_cast<int>(ok);
      }
    return fail_value(name_of(function), name, "name", "the model has no tensor of that name");
  });
}

int describe(const char* function, const void* handle, std::string_view bytes, const std::string& path) {
  {
    const Lock lock(big_lock());
    if (HandleTable::get().peek<ModelDesc>(handle) == nullptr)
      return handle == nullptr ? fail_null(function, "modelDesc") : fail_handle(function, "model description", handle);
  }
  std::string content, text;
  int code = 0;
  if (!path.empty()) {
    if (code = read_file(path, content, text); code != 0)
      return fail(code, "E19999", "%s failed. %s.", function, text.c_str());
    bytes = content;
  }
  std::shared_ptr<ModelContent> model;
  if (code = open_content(bytes, path, true, model, text); code != 0)
    return fail(code, "E10001", "%s failed. %s.", function, text.c_str());
  const Lock lock(big_lock());
  ModelDesc* desc = HandleTable::get().peek<ModelDesc>(handle);
  if (desc == nullptr) return fail_handle(function, "model description", handle);
  desc->content = model;
  desc->model = 0;
  return 0;
}

}  // namespace

extern "C" aclmdlDesc* aclmdlCreateDesc(void) {
  return ask(Function::aclmdlCreateDesc, static_cast<aclmdlDesc*>(nullptr), [] {
    const Lock lock(big_lock());
    return reinterpret_cast<aclmdlDesc*>(HandleTable::get().insert(std::make_shared<ModelDesc>()));
  });
}

extern "C" aclError aclmdlDestroyDesc(aclmdlDesc* handle) {
  return run(Function::aclmdlDestroyDesc, [&] {
    const Lock lock(big_lock());
    if (handle == nullptr) return fail_null("aclmdlDestroyDesc", "modelDesc");
    if (HandleTable::get().peek<ModelDesc>(handle) == nullptr)
      return fail_handle("aclmdlDestroyDesc", "model description", handle);
    HandleTable::get().erase(handle);
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclmdlGetDesc(aclmdlDesc* handle, uint32_t id) {
  return run(Function::aclmdlGetDesc, [&] {
    const Lock lock(big_lock());
    if (handle == nullptr) return fail_null("aclmdlGetDesc", "modelDesc");
    ModelDesc* desc = HandleTable::get().peek<ModelDesc>(handle);
    if (desc == nullptr) return fail_handle("aclmdlGetDesc", "model description", handle);
    const auto model = ModelTable::get().find(id);
    if (model == nullptr)
      return fail(ge_model_id_invalid, "E13014", "aclmdlGetDesc failed: there is no loaded model %u.", id);
    desc->content = model->content;
    desc->model = id;
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclmdlGetDescFromFile(aclmdlDesc* handle, const char* path) {
  return run(Function::aclmdlGetDescFromFile, [&] {
    return path == nullptr ? fail_null("aclmdlGetDescFromFile", "modelPath")
                           : describe("aclmdlGetDescFromFile", handle, {}, path);
  });
}

extern "C" aclError aclmdlGetDescFromMem(aclmdlDesc* handle, const void* bytes, size_t size) {
  return run(Function::aclmdlGetDescFromMem, [&] {
    if (bytes == nullptr) return fail_null("aclmdlGetDescFromMem", "model");
    if (size == 0) return fail_value("aclmdlGetDescFromMem", "0", "modelSize", "it must be greater than 0");
    return describe("aclmdlGetDescFromMem", handle, {static_cast<const char*>(bytes), size}, {});
  });
}

extern "C" size_t aclmdlGetNumInputs(aclmdlDesc* handle) {
  return ask_desc(Function::aclmdlGetNumInputs, handle, std::size_t{0},
                  [](ModelDesc& d) { return d.info().inputs.size(); });
}
extern "C" size_t aclmdlGetNumOutputs(aclmdlDesc* handle) {
  return ask_desc(Function::aclmdlGetNumOutputs, handle, std::size_t{0},
                  [](ModelDesc& d) { return d.info().outputs.size(); });
}
extern "C" size_t aclmdlGetInputSizeByIndex(aclmdlDesc* handle, size_t index) {
  return ask_tensor(Function::aclmdlGetInputSizeByIndex, handle, true, index, std::size_t{0},
                    [](const TensorInfo& t) { return static_cast<std::size_t>(t.size); });
}
extern "C" size_t aclmdlGetOutputSizeByIndex(aclmdlDesc* handle, size_t index) {
  return ask_tensor(Function::aclmdlGetOutputSizeByIndex, handle, false, index, std::size_t{0},
                    [](const TensorInfo& t) { return static_cast<std::size_t>(t.size); });
}
extern "C" const char* aclmdlGetInputNameByIndex(const aclmdlDesc* handle, size_t index) {
  return ask_tensor(Function::aclmdlGetInputNameByIndex, handle, true, index, "",
                    [](const TensorInfo& t) { return t.name.c_str(); });
}
extern "C" const char* aclmdlGetOutputNameByIndex(const aclmdlDesc* handle, size_t index) {
  return ask_tensor(Function::aclmdlGetOutputNameByIndex, handle, false, index, "",
                    [](const TensorInfo& t) { return t.name.c_str(); });
}
extern "C" aclFormat aclmdlGetInputFormat(const aclmdlDesc* handle, size_t index) {
  return ask_tensor(Function::aclmdlGetInputFormat, handle, true, index, static_cast<int>(ACL_FORMAT_UNDEFINED),
                    [](const TensorInfo& t) { return t.format; });
}
extern "C" aclFormat aclmdlGetOutputFormat(const aclmdlDesc* handle, size_t index) {
  return ask_tensor(Function::aclmdlGetOutputFormat, handle, false, index, static_cast<int>(ACL_FORMAT_UNDEFINED),
                    [](const TensorInfo& t) { return t.format; });
}
extern "C" aclDataType aclmdlGetInputDataType(const aclmdlDesc* handle, size_t index) {
  return ask_tensor(Function::aclmdlGetInputDataType, handle, true, index, static_cast<int>(ACL_DT_UNDEFINED),
                    [](const TensorInfo& t) { return t.type; });
}
extern "C" aclDataType aclmdlGetOutputDataType(const aclmdlDesc* handle, size_t index) {
  return ask_tensor(Function::aclmdlGetOutputDataType, handle, false, index, static_cast<int>(ACL_DT_UNDEFINED),
                    [](const TensorInfo& t) { return t.type; });
}
extern "C" aclError aclmdlGetInputIndexByName(const aclmdlDesc* handle, const char* name, size_t* index) {
  return index_of(Function::aclmdlGetInputIndexByName, handle, true, name, index);
}
extern "C" aclError aclmdlGetOutputIndexByName(const aclmdlDesc* handle, const char* name, size_t* index) {
  return index_of(Function::aclmdlGetOutputIndexByName, handle, false, name, index);
}

extern "C" const char* aclmdlGetTensorRealName(const aclmdlDesc* handle, const char* name) {
  return ask_desc(Function::aclmdlGetTensorRealName, handle, static_cast<const char*>(nullptr),
                  [&](ModelDesc& desc) -> const char* {
                    if (name == nullptr) {
                      fail_null("aclmdlGetTensorRealName", "name");
                      return nullptr;
                    }
                    for (const bool input : {true, false}) {
                      const auto& tensors = input ? desc.info().inputs : desc.info().outputs;
                      for (std::size_t i = 0; i < tensors.size(); ++i) {
                        const std::string stand_in = "acl_modelId_" + std::to_string(desc.model) +
                                                     (input ? "_input_" : "_output_") + std::to_string(i);
                        if (tensors[i].name == name || stand_in == name) return tensors[i].name.c_str();
                      }
                    }
                    fail_value("aclmdlGetTensorRealName", name, "name", "the model has no tensor of that name");
                    return nullptr;
                  });
}

// Operators are not kept: there is none of any name.
extern "C" const char* aclmdlGetOpAttr(aclmdlDesc* handle, const char* op, const char* attribute) {
  return ask_desc(Function::aclmdlGetOpAttr, handle, static_cast<const char*>(nullptr), [&](ModelDesc&) -> const char* {
    if (op == nullptr || attribute == nullptr)
      fail_null("aclmdlGetOpAttr", "opName");
    else
      fail_value("aclmdlGetOpAttr", op, "opName", "the simulator keeps no operators");
    return nullptr;
  });
}

extern "C" aclError aclmdlCreateAndGetOpDesc(uint32_t, uint32_t, uint32_t, char* name, size_t, aclTensorDesc**, size_t*,
                                             aclTensorDesc**, size_t*) {
  return run(Function::aclmdlCreateAndGetOpDesc, [&] {
    if (name == nullptr) return fail_null("aclmdlCreateAndGetOpDesc", "opName");
    return fail(ge_failure, "E19999", "aclmdlCreateAndGetOpDesc failed: the simulator keeps no operators.");
  });
}
