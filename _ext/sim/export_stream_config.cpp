// Streams made from a configuration, and their attributes.
#include <cstring>
#include <set>

#include "call.hpp"
#include "device.hpp"
#include "stream.hpp"

using namespace aclsim;

namespace {

// The struct is public and programs write to it: it is plain memory, not a slot. Guarded by the big lock.
std::set<const void*>& configs() {
  static auto* live = new std::set<const void*>;
  return *live;
}

int known(const char* function, const void* handle) {
  if (handle == nullptr) return fail_null(function, "handle");
  return configs().count(handle) != 0 ? 0 : fail_handle(function, "stream configuration", handle);
}

template <typename T>
int take(T& to, const void* value, std::size_t size) {
  if (size != sizeof(T))
    return fail_value("aclrtSetStreamConfigOpt", std::to_string(size), "valueSize",
                      "it is not the size of the attribute's type");
  std::memcpy(&to, value, sizeof(T));
  return 0;
}

}  // namespace

extern "C" aclrtStreamConfigHandle* aclrtCreateStreamConfigHandle(void) {
  return ask(Function::aclrtCreateStreamConfigHandle, static_cast<aclrtStreamConfigHandle*>(nullptr), [] {
    const Lock lock(big_lock());
    auto* config = new aclrtStreamConfigHandle{};
    configs().insert(config);
    return config;
  });
}

extern "C" aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle* handle) {
  return run(Function::aclrtDestroyStreamConfigHandle, [&] {
    const Lock lock(big_lock());
    const int code = known("aclrtDestroyStreamConfigHandle", handle);
    if (code != 0) return code;
    configs().erase(handle);
    delete handle;
    return 0;
  });
}

extern "C" aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle* handle, aclrtStreamConfigAttr attribute,
                                            const void* value, size_t size) {
  return run(Function::aclrtSetStreamConfigOpt, [&] {
    if (value == nullptr) return fail_null("aclrtSetStreamConfigOpt", "attrValue");
    const Lock lock(big_lock());
    if (const int code = known("aclrtSetStreamConfigOpt", handle); code != 0) return code;
    switch (attribute) {
      case ACL_RT_STREAM_WORK_ADDR_PTR:
        return take(handle->workptr, value, size);
      case ACL_RT_STREAM_WORK_SIZE:
        return take(handle->workSize, value, size);
      case ACL_RT_STREAM_FLAG: {
        // Documented as a 32-bit number; the struct's member is wider.
        std::uint32_t flags = 0;
        if (size == sizeof handle->flag) return take(handle->flag, value, size);
        const int code = take(flags, value, size);
        if (code == 0) handle->flag = flags;
        return code;
      }
      case ACL_RT_STREAM_PRIORITY:
        return take(handle->priority, value, size);
      default:
        return fail_value("aclrtSetStreamConfigOpt", std::to_string(attribute), "attr", "it is no attribute");
    }
  });
}

extern "C" aclError aclrtCreateStreamV2(aclrtStream* out, const aclrtStreamConfigHandle* handle) {
  return run(Function::aclrtCreateStreamV2, [&] {
    std::uint32_t priority = 0, flags = 0;
    {
      const Lock lock(big_lock());
      if (const int code = known("aclrtCreateStreamV2", handle); code != 0) return code;
      priority = handle->priority;
      flags = static_cast<std::uint32_t>(handle->flag);
    }
    return aclrtCreateStreamWithConfig(out, priority, flags);
  });
}

extern "C" aclError aclrtSetStreamAttribute(aclrtStream handle, aclrtStreamAttr which, aclrtStreamAttrValue* value) {
  return run(Function::aclrtSetStreamAttribute, [&] {
    if (value == nullptr) return fail_null("aclrtSetStreamAttribute", "value");
    if (which == ACL_STREAM_ATTR_FAILURE_MODE) return aclrtSetStreamFailureMode(handle, value->failureMode);
    const Lock lock(big_lock());
    int code = 0;
    const auto stream = stream_of("aclrtSetStreamAttribute", handle, code);
    if (stream == nullptr) return code;
    switch (which) {
      case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
        stream->overflow_switch = value->overflowSwitch;
        return 0;
      case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
        stream->custom_tag = value->userCustomTag;
        return 0;
      case ACL_STREAM_ATTR_CACHE_OP_INFO:
        stream->cache_op_info = value->cacheOpInfoSwitch;
        return 0;
      default:
        return fail_value("aclrtSetStreamAttribute", std::to_string(which), "stmAttrType",
                          "it is no attribute that can be set");
    }
  });
}

extern "C" aclError aclrtGetStreamAttribute(aclrtStream handle, aclrtStreamAttr which, aclrtStreamAttrValue* value) {
  return run(Function::aclrtGetStreamAttribute, [&] {
    if (value == nullptr) return fail_null("aclrtGetStreamAttribute", "value");
    const Lock lock(big_lock());
    int code = 0;
    const auto stream = stream_of("aclrtGetStreamAttribute", handle, code);
    if (stream == nullptr) return code;
    std::memset(value, 0, sizeof *value);
    switch (which) {
      case ACL_STREAM_ATTR_FAILURE_MODE:
        value->failureMode = stream->failure_mode;
        return 0;
      case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
        value->overflowSwitch = stream->overflow_switch;
        return 0;
      case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
        value->userCustomTag = stream->custom_tag;
        return 0;
      case ACL_STREAM_ATTR_CACHE_OP_INFO:
        value->cacheOpInfoSwitch = stream->cache_op_info;
        return 0;
      case ACL_STREAM_ATTR_PRIORITY:
        value->streamPriority = stream->priority;
        return 0;
      default:
        return fail_value("aclrtGetStreamAttribute", std::to_string(which), "stmAttrType", "it is no attribute");
    }
  });
}
