// Copies and fills.
#include "call.hpp"
#include "copy.hpp"

using namespace aclsim;

namespace {

int check(const char* function, const void* dst, std::size_t room, const void* src, std::size_t count, int kind) {
  if (dst == nullptr) return fail_null(function, "dst");
  if (src == nullptr) return fail_null(function, "src");
  if (kind < ACL_MEMCPY_HOST_TO_HOST || kind > ACL_MEMCPY_DEFAULT)
    return fail_value(function, std::to_string(kind), "kind", "it is no aclrtMemcpyKind that can be used here");
  if (count > room)
    return fail(rt_param_invalid, "EE1003",
                "%s failed because value %zu for parameter count is invalid. Expected value: at most destMax, %zu.",
                function, count, room);
  return 0;
}

Extent plain(std::size_t count) {
  Extent extent;
  extent.width = extent.dst_pitch = extent.src_pitch = count;
  return extent;
}

int check_2d(const char* function, const void* dst, std::size_t dpitch, const void* src, std::size_t spitch,
             std::size_t width, int kind) {
  if (dst == nullptr) return fail_null(function, "dst");
  if (src == nullptr) return fail_null(function, "src");
  if (width > dpitch || width > spitch)
    return fail_value(function, std::to_string(width), "width", "it must not exceed dpitch and spitch");
  if (kind < ACL_MEMCPY_HOST_TO_DEVICE || kind > ACL_MEMCPY_DEFAULT)
    return fail_value(function, std::to_string(kind), "kind", "it is no aclrtMemcpyKind that can be used here");
  return 0;
}

Extent rows(std::size_t dpitch, std::size_t spitch, std::size_t width, std::size_t height) {
  Extent extent;
  extent.width = width;
  extent.height = height;
  extent.dst_pitch = dpitch;
  extent.src_pitch = spitch;
  return extent;
}

int check_fill(const char* function, const void* dst, std::size_t room, std::size_t count) {
  if (dst == nullptr) return fail_null(function, "devPtr");
  if (count > room)
    return fail(rt_param_invalid, "EE1003",
                "%s failed because value %zu for parameter count is invalid. Expected value: at most maxCount, %zu.",
                function, count, room);
  if (count == 0)
    return fail(rt_param_invalid, "EE1003", "%s failed because value 0 for parameter count is invalid.", function);
  return 0;
}

int batch(const char* function, void** dsts, std::size_t* rooms, void** srcs, std::size_t* sizes, std::size_t number,
          aclrtMemcpyBatchAttr* attributes, std::size_t* indexes, std::size_t attribute_count, std::size_t* failed,
          bool later, void* stream) {
  if (dsts == nullptr || rooms == nullptr || srcs == nullptr || sizes == nullptr || attributes == nullptr ||
      indexes == nullptr || failed == nullptr)
    return fail_null(function, "an array");
  *failed = SIZE_MAX;
  if (number == 0 || attribute_count == 0 || attribute_count > number)
    return fail(rt_param_invalid, "EE1003",
                "%s failed because the numbers of copies (%zu) and attributes (%zu) do not fit.", function, number,
                attribute_count);
  for (std::size_t i = 0; i < attribute_count; ++i)
    if (indexes[i] >= number || (i == 0 ? indexes[i] != 0 : indexes[i] <= indexes[i - 1]))
      return fail(rt_param_invalid, "EE1003", "%s failed because attrsIndexes does not rise from 0.", function);
  Lock lock(big_lock());
  int code = 0;
  if (current_context(function, code) == nullptr) return code;
  for (std::size_t i = 0; i < number; ++i) {
    code = check(function, dsts[i], rooms[i], srcs[i], sizes[i], ACL_MEMCPY_DEFAULT);
    if (code == 0 && later)
      code = copy_later(lock, function, dsts[i], srcs[i], plain(sizes[i]), ACL_MEMCPY_DEFAULT, stream);
    else if (code == 0)
      code = copy_now(lock, function, dsts[i], srcs[i], plain(sizes[i]), ACL_MEMCPY_DEFAULT);
    if (code != 0) {
      *failed = i;
      return code;
    }
  }
  return 0;
}

}  // namespace

extern "C" aclError aclrtMemcpy(void* dst, size_t room, const void* src, size_t count, aclrtMemcpyKind kind) {
  return run(Function::aclrtMemcpy, [&] {
    int code = check("aclrtMemcpy", dst, room, src, count, kind);
    if (code != 0) return code;
    Lock lock(big_lock());
    if (current_context("aclrtMemcpy", code) == nullptr) return code;
    if (count == 0 || dst == src) return static_cast<int>(ok);
    return copy_now(lock, "aclrtMemcpy", dst, src, plain(count), kind);
  });
}

extern "C" aclError aclrtMemcpyAsync(void* dst, size_t room, const void* src, size_t count, aclrtMemcpyKind kind,
                                     aclrtStream stream) {
  return run(Function::aclrtMemcpyAsync, [&] {
    const int code = check("aclrtMemcpyAsync", dst, room, src, count, kind);
    if (code != 0) return code;
    if (count == 0)
      return fail(rt_param_invalid, "EE1003",
                  "aclrtMemcpyAsync failed because value 0 for parameter count is invalid.");
    Lock lock(big_lock());
    return copy_later(lock, "aclrtMemcpyAsync", dst, src, plain(count), kind, stream);
  });
}

extern "C" aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                                  aclrtMemcpyKind kind) {
  return run(Function::aclrtMemcpy2d, [&] {
    int code = check_2d("aclrtMemcpy2d", dst, dpitch, src, spitch, width, kind);
    if (code != 0) return code;
    Lock lock(big_lock());
    if (current_context("aclrtMemcpy2d", code) == nullptr) return code;
    return copy_now(lock, "aclrtMemcpy2d", dst, src, rows(dpitch, spitch, width, height), kind);
  });
}

extern "C" aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                                       size_t height, aclrtMemcpyKind kind, aclrtStream stream) {
  return run(Function::aclrtMemcpy2dAsync, [&] {
    const int code = check_2d("aclrtMemcpy2dAsync", dst, dpitch, src, spitch, width, kind);
    if (code != 0) return code;
    Lock lock(big_lock());
    return copy_later(lock, "aclrtMemcpy2dAsync", dst, src, rows(dpitch, spitch, width, height), kind, stream);
  });
}

extern "C" aclError aclrtMemcpyBatch(void** dsts, size_t* rooms, void** srcs, size_t* sizes, size_t number,
                                     aclrtMemcpyBatchAttr* attributes, size_t* indexes, size_t attribute_count,
                                     size_t* failed) {
  return run(Function::aclrtMemcpyBatch, [&] {
    return batch("aclrtMemcpyBatch", dsts, rooms, srcs, sizes, number, attributes, indexes, attribute_count, failed,
                 false, nullptr);
  });
}

extern "C" aclError aclrtMemcpyBatchAsync(void** dsts, size_t* rooms, void** srcs, size_t* sizes, size_t number,
                                          aclrtMemcpyBatchAttr* attributes, size_t* indexes, size_t attribute_count,
                                          size_t* failed, aclrtStream stream) {
  return run(Function::aclrtMemcpyBatchAsync, [&] {
    return batch("aclrtMemcpyBatchAsync", dsts, rooms, srcs, sizes, number, attributes, indexes, attribute_count,
                 failed, true, stream);
  });
}

extern "C" aclError aclrtMemset(void* dst, size_t room, int32_t value, size_t count) {
  return run(Function::aclrtMemset, [&] {
    int code = check_fill("aclrtMemset", dst, room, count);
    if (code != 0) return code;
    Lock lock(big_lock());
    if (current_context("aclrtMemset", code) == nullptr) return code;
    return fill_now(lock, "aclrtMemset", dst, value, count);
  });
}

extern "C" aclError aclrtMemsetAsync(void* dst, size_t room, int32_t value, size_t count, aclrtStream stream) {
  return run(Function::aclrtMemsetAsync, [&] {
    const int code = check_fill("aclrtMemsetAsync", dst, room, count);
    if (code != 0) return code;
    Lock lock(big_lock());
    return fill_later(lock, "aclrtMemsetAsync", dst, value, count, stream);
  });
}
