// Limits on cores, features, and what went wrong last on a device.
#include <cstring>

#include "call.hpp"
#include "cores.hpp"
#include "device.hpp"

using namespace aclsim;

namespace {

// Limits on cores are kept and read back; nothing here runs on cores. Under the lock.
std::uint32_t* core_limit(const char* function, Device& device, aclrtDevResLimitType type, int& code) {
  if (type == ACL_RT_DEV_RES_CUBE_CORE || type == ACL_RT_DEV_RES_VECTOR_CORE) return &device.core_limit[type];
  code = fail_value(function, std::to_string(type), "type", "it is no resource");
  return nullptr;
}
std::uint32_t all_cores(aclrtDevResLimitType type) {
  return static_cast<std::uint32_t>(type == ACL_RT_DEV_RES_CUBE_CORE ? cores().aicore : cores().vector);
}
int read_limit(const char* function, Device& device, aclrtDevResLimitType type, std::uint32_t* value) {
  int code = 0;
  const std::uint32_t* limit = core_limit(function, device, type, code);
  if (limit != nullptr) *value = *limit != 0 ? *limit : all_cores(type);
  return code;
}

}  // namespace

extern "C" aclError aclrtGetDeviceResLimit(int32_t id, aclrtDevResLimitType type, uint32_t* value) {
  return run(Function::aclrtGetDeviceResLimit, [&] {
    if (value == nullptr) return fail_null("aclrtGetDeviceResLimit", "value");
    const Lock lock(big_lock());
    int code = 0;
    Device* device = Machine::get().device("aclrtGetDeviceResLimit", id, code);
    return device == nullptr ? code : read_limit("aclrtGetDeviceResLimit", *device, type, value);
  });
}

extern "C" aclError aclrtSetDeviceResLimit(int32_t id, aclrtDevResLimitType type, uint32_t value) {
  return run(Function::aclrtSetDeviceResLimit, [&] {
    const Lock lock(big_lock());
    int code = 0;
    Device* device = Machine::get().device("aclrtSetDeviceResLimit", id, code);
    if (device == nullptr) return code;
    std::uint32_t* limit = core_limit("aclrtSetDeviceResLimit", *device, type, code);
    if (limit == nullptr) return code;
    if (value == 0 || value > all_cores(type))
      return fail(
          rt_param_invalid, "EE1003",
          "aclrtSetDeviceResLimit failed because value %u for parameter value is invalid. Expected value: [1, %u].",
          value, all_cores(type));
    *limit = value;
    return code;
  });
}

extern "C" aclError aclrtResetDeviceResLimit(int32_t id) {
  return run(Function::aclrtResetDeviceResLimit, [&] {
    const Lock lock(big_lock());
    int code = 0;
    Device* device = Machine::get().device("aclrtResetDeviceResLimit", id, code);
    if (device != nullptr) device->core_limit[0] = device->core_limit[1] = 0;
    return code;
  });
}

extern "C" aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value) {
  return run(Function::aclrtGetResInCurrentThread, [&] {
    if (value == nullptr) return fail_null("aclrtGetResInCurrentThread", "value");
    const Lock lock(big_lock());
    int code = 0;
    const auto context = current_context("aclrtGetResInCurrentThread", code);
    return context == nullptr ? code : read_limit("aclrtGetResInCurrentThread", *context->device, type, value);
  });
}

extern "C" aclError aclrtGetDeviceCapability(int32_t id, aclrtDevFeatureType, int32_t* value) {
  return run(Function::aclrtGetDeviceCapability, [&] {
    if (value == nullptr) return fail_null("aclrtGetDeviceCapability", "value");
    const Lock lock(big_lock());
    int code = 0;
    if (Machine::get().device("aclrtGetDeviceCapability", id, code) != nullptr) *value = 0;  // none of the features
    return code;
  });
}

extern "C" aclError aclGetCannAttributeList(const aclCannAttr** list, size_t* number) {
  return run(Function::aclGetCannAttributeList, [&] {
    if (list == nullptr || number == nullptr) return fail_null("aclGetCannAttributeList", "cannAttrList");
    static const aclCannAttr known[] = {ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_JIT_COMPILE};
    *list = known;
    *number = 2;
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclGetCannAttribute(aclCannAttr attribute, int32_t* value) {
  return run(Function::aclGetCannAttribute, [&] {
    if (value == nullptr) return fail_null("aclGetCannAttribute", "value");
    if (attribute < ACL_CANN_ATTR_INF_NAN || attribute > ACL_CANN_ATTR_JIT_COMPILE)
      return fail_value("aclGetCannAttribute", std::to_string(attribute), "cannAttr", "it is no attribute");
    *value = attribute != ACL_CANN_ATTR_BF16 ? 1 : 0;
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclrtGetErrorVerbose(int32_t id, aclrtErrorInfo* out) {
  return run(Function::aclrtGetErrorVerbose, [&] {
    if (out == nullptr) return fail_null("aclrtGetErrorVerbose", "errorInfo");
    const Lock lock(big_lock());
    int code = 0;
    const Device* device = Machine::get().device("aclrtGetErrorVerbose", id, code);
    if (device == nullptr) return code;
    std::memset(out, 0, sizeof *out);
    const int fault = device->last_fault;
    if (fault != 0) out->errorType = fault >= 507014 && fault <= 507016 ? ACL_RT_ERROR_AICORE : ACL_RT_ERROR_OTHERS;
    return code;
  });
}
