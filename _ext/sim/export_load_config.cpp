// aclmdlConfigHandle: loading with options.
#include <cstring>

#include "call.hpp"
#include "load.hpp"

using namespace aclsim;

namespace {

LoadConfig* peek(const char* function, const void* handle, int& code) {
  LoadConfig* config = HandleTable::get().peek<LoadConfig>(handle);
  if (config == nullptr)
    code = handle == nullptr ? fail_null(function, "handle") : fail_handle(function, "config handle", handle);
  return config;
}

// Copies a value of exactly the attribute's size.
template <typename T>
int take(T& to, const void* value, std::size_t size) {
  if (size != sizeof(T))
    return fail_value("aclmdlSetConfigOpt", std::to_string(size), "valueSize",
                      "it is not the size of the attribute's type");
  std::memcpy(&to, value, sizeof(T));
  return 0;
}

int take_text(std::string& to, const void* value, std::size_t size) {
  const char* text = nullptr;  // the value is a variable that holds the pointer
  if (const int code = take(text, value, size); code != 0) return code;
  if (text == nullptr) return fail_null("aclmdlSetConfigOpt", "the path");
  to = text;
  return 0;
}

int set(LoadConfig& config, aclmdlConfigAttr attribute, const void* value, std::size_t size) {
  switch (attribute) {
    case ACL_MDL_PRIORITY_INT32: {
      std::int32_t priority = 0;
      const int code = take(priority, value, size);
      if (code != 0) return code;
      if (priority < 0 || priority > 7)
        return fail_value("aclmdlSetConfigOpt", std::to_string(priority), "priority", "it is not within 0 to 7");
      config.priority = priority;
      return 0;
    }
    case ACL_MDL_LOAD_TYPE_SIZET: {
      std::size_t type = 0;
      const int code = take(type, value, size);
      if (code != 0) return code;
      if (type < ACL_MDL_LOAD_FROM_FILE || type > ACL_MDL_LOAD_FROM_MEM_WITH_Q)
        return fail_value("aclmdlSetConfigOpt", std::to_string(type), "load type", "it is not within 1 to 6");
      config.type = type;
      config.has_type = true;
      return 0;
    }
    case ACL_MDL_PATH_PTR:
      config.has_path = true;
      return take_text(config.path, value, size);
    case ACL_MDL_MEM_ADDR_PTR:
      return take(config.memory, value, size);
    case ACL_MDL_MEM_SIZET:
      return take(config.memory_size, value, size);
    case ACL_MDL_WEIGHT_ADDR_PTR:
      return take(config.weight, value, size);
    case ACL_MDL_WEIGHT_SIZET:
      return take(config.weight_size, value, size);
    case ACL_MDL_WORKSPACE_ADDR_PTR:
      return take(config.work, value, size);
    case ACL_MDL_WORKSPACE_SIZET:
      return take(config.work_size, value, size);
    case ACL_MDL_INPUTQ_NUM_SIZET:
    case ACL_MDL_OUTPUTQ_NUM_SIZET:
    case ACL_MDL_INPUTQ_ADDR_PTR:
    case ACL_MDL_OUTPUTQ_ADDR_PTR:
      return fail(feature_unsupported, "EE1005", "aclmdlSetConfigOpt failed. The simulator has no queues.");
    case ACL_MDL_WORKSPACE_MEM_OPTIMIZE:
      return take(config.optimize, value, size);
    case ACL_MDL_WEIGHT_PATH_PTR:
      return take_text(config.weight_path, value, size);
    case ACL_MDL_WITHOUT_GRAPH_INT32: {
      std::int32_t without = 0;
      return take(without, value, size);
    }
    default:
      return fail_value("aclmdlSetConfigOpt", std::to_string(attribute), "attr",
                        "it is no attribute of a server's models");
  }
}

int load(const LoadConfig& config, std::uint32_t* id) {
  const char* function = "aclmdlLoadWithConfig";
  if (!config.has_type) return fail_value(function, "nothing", "load type", "ACL_MDL_LOAD_TYPE_SIZET must be set");
  const bool from_file = config.type == ACL_MDL_LOAD_FROM_FILE || config.type == ACL_MDL_LOAD_FROM_FILE_WITH_MEM;
  const bool with_memory =
      config.type == ACL_MDL_LOAD_FROM_FILE_WITH_MEM || config.type == ACL_MDL_LOAD_FROM_MEM_WITH_MEM;
  if (config.type == ACL_MDL_LOAD_FROM_FILE_WITH_Q || config.type == ACL_MDL_LOAD_FROM_MEM_WITH_Q)
    return fail(feature_unsupported, "EE1005", "%s failed. The simulator has no queues.", function);
  if (from_file && !config.has_path) return fail_value(function, "nothing", "path", "ACL_MDL_PATH_PTR must be set");
  if (from_file && !config.weight_path.empty())
    return fail_value(function, config.weight_path, "weight path", "it cannot be combined with a load from a file");
  if (!from_file && (config.memory == nullptr || config.memory_size == 0))
    return fail_value(function, "nothing", "memory", "ACL_MDL_MEM_ADDR_PTR and ACL_MDL_MEM_SIZET must be set");
  LoadRequest request;
  if (from_file)
    request.path = config.path;
  else
    request.bytes = {static_cast<const char*>(config.memory), config.memory_size};
  request.with_memory = with_memory;
  request.priority = config.priority;
  request.without_io = config.optimize == 1;
  if (with_memory) {
    request.work = config.work, request.work_size = config.work_size;
    request.weight = config.weight, request.weight_size = config.weight_size;
  }
  return load_model(function, request, id);
}

}  // namespace

extern "C" aclmdlConfigHandle* aclmdlCreateConfigHandle(void) {
  return ask(Function::aclmdlCreateConfigHandle, static_cast<aclmdlConfigHandle*>(nullptr), [] {
    const Lock lock(big_lock());
    return reinterpret_cast<aclmdlConfigHandle*>(HandleTable::get().insert(std::make_shared<LoadConfig>()));
  });
}

extern "C" aclError aclmdlDestroyConfigHandle(aclmdlConfigHandle* handle) {
  return run(Function::aclmdlDestroyConfigHandle, [&] {
    const Lock lock(big_lock());
    int code = 0;
    if (peek("aclmdlDestroyConfigHandle", handle, code) != nullptr) HandleTable::get().erase(handle);
    return code;
  });
}

extern "C" aclError aclmdlSetConfigOpt(aclmdlConfigHandle* handle, aclmdlConfigAttr attribute, const void* value,
                                       size_t size) {
  return run(Function::aclmdlSetConfigOpt, [&] {
    if (value == nullptr) return fail_null("aclmdlSetConfigOpt", "attrValue");
    const Lock lock(big_lock());
    int code = 0;
    LoadConfig* config = peek("aclmdlSetConfigOpt", handle, code);
    return config == nullptr ? code : set(*config, attribute, value, size);
  });
}

extern "C" aclError aclmdlLoadWithConfig(const aclmdlConfigHandle* handle, uint32_t* id) {
  return run(Function::aclmdlLoadWithConfig, [&] {
    LoadConfig copy;
    {
      const Lock lock(big_lock());
      int code = 0;
      const LoadConfig* config = peek("aclmdlLoadWithConfig", handle, code);
      if (config == nullptr) return code;
      copy = *config;
    }
    return load(copy, id);
  });
}

extern "C" aclError aclmdlSetExternalWeightAddress(aclmdlConfigHandle* handle, const char* file, void* address,
                                                   size_t size) {
  return run(Function::aclmdlSetExternalWeightAddress, [&] {
    if (file == nullptr || address == nullptr)
      return fail_null("aclmdlSetExternalWeightAddress", file == nullptr ? "weightFileName" : "devPtr");
    if (size == 0 || size % 32 != 0)
      return fail_value("aclmdlSetExternalWeightAddress", std::to_string(size), "size",
                        "it must be a multiple of 32 and not 0");
    const Lock lock(big_lock());
    int code = 0;
    LoadConfig* config = peek("aclmdlSetExternalWeightAddress", handle, code);
    if (config == nullptr) return code;
    const auto at = reinterpret_cast<Address>(address);
    Device* device = Machine::get().device_at(at);
    if (device == nullptr || device->memory.block_of(at, size) == nullptr)
      return fail_value("aclmdlSetExternalWeightAddress", "the address", "devPtr",
                        "it is no live device memory of that size");
    config->external_weights[file] = {address, size};
    return code;
  });
}
