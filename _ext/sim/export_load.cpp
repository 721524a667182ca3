// Loading, unloading, sizes, bundles.
#include <cstring>

#include "call.hpp"
#include "load.hpp"

using namespace aclsim;

namespace {

int check_path(const char* function, const char* path) {
  if (path == nullptr) return fail_null(function, "modelPath");
  return *path == '\0' ? fail(ge_path_invalid, "E19999", "%s failed. The path is empty.", function) : 0;
}
int check_bytes(const char* function, const void* bytes, std::size_t size) {
  if (bytes == nullptr) return fail_null(function, "model");
  return size == 0 ? fail_value(function, "0", "modelSize", "it must be greater than 0") : 0;
}
std::string_view view(const void* bytes, std::size_t size) { return {static_cast<const char*>(bytes), size}; }

int sizes(const char* function, std::string_view bytes, const std::string& path, std::size_t* work,
          std::size_t* weight) {
  if (work == nullptr || weight == nullptr) return fail_null(function, work == nullptr ? "workSize" : "weightSize");
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
  *work = model->info.shapes == Shapes::dynamic ? 0 : model->info.work_size;
  *weight = model->info.weight_size;
  return 0;
}

int load_bundle(const char* function, std::string_view bytes, std::uint32_t* id) {
  if (id == nullptr) return fail_null(function, "bundleId");
  std::vector<std::string_view> parts;
  std::string text;
  if (const int code = read_bundle(bytes, parts, text); code != 0)
    return fail(code, "E10001", "%s failed. %s.", function, text.c_str());
  std::uint32_t bundle = 0;
  {
    const Lock lock(big_lock());
    bundle = ModelTable::get().next_bundle++;
  }
  std::vector<std::uint32_t> ids;
  int code = 0;
  for (const std::string_view part : parts) {
    LoadRequest request;
    request.bytes = part;
    request.bundle = bundle;
    std::uint32_t model = 0;
    if (code = load_model(function, request, &model); code != 0) break;
    ids.push_back(model);
  }
  if (code != 0) {
    for (const std::uint32_t model : ids) unload_model(function, model, true);
    return code;
  }
  const Lock lock(big_lock());
  ModelTable::get().bundles[bundle] = ids;
  *id = bundle;
  return 0;
}

// The models of a bundle; null and a recorded code when there is none. Under the lock.
std::vector<std::uint32_t>* bundle_of(const char* function, std::uint32_t id, int& code) {
  auto& bundles = ModelTable::get().bundles;
  const auto at = bundles.find(id);
  if (at != bundles.end()) return &at->second;
  code = fail(invalid_bundle, "E13014", "%s failed: there is no loaded bundle %u.", function, id);
  return nullptr;
}

}  // namespace

extern "C" aclError aclmdlLoadFromFile(const char* path, uint32_t* id) {
  return run(Function::aclmdlLoadFromFile, [&] {
    if (const int code = check_path("aclmdlLoadFromFile", path); code != 0) return code;
    LoadRequest request;
    request.path = path;
    return load_model("aclmdlLoadFromFile", request, id);
  });
}

extern "C" aclError aclmdlLoadFromMem(const void* bytes, size_t size, uint32_t* id) {
  return run(Function::aclmdlLoadFromMem, [&] {
    if (const int code = check_bytes("aclmdlLoadFromMem", bytes, size); code != 0) return code;
    LoadRequest request;
    request.bytes = view(bytes, size);
    return load_model("aclmdlLoadFromMem", request, id);
  });
}

extern "C" aclError aclmdlLoadFromFileWithMem(const char* path, uint32_t* id, void* work, size_t work_size,
                                              void* weight, size_t weight_size) {
  return run(Function::aclmdlLoadFromFileWithMem, [&] {
    if (const int code = check_path("aclmdlLoadFromFileWithMem", path); code != 0) return code;
    LoadRequest request;
    request.path = path;
    request.work = work, request.work_size = work_size, request.weight = weight, request.weight_size = weight_size;
    request.with_memory = true;
    return load_model("aclmdlLoadFromFileWithMem", request, id);
  });
}

extern "C" aclError aclmdlLoadFromMemWithMem(const void* bytes, size_t size, uint32_t* id, void* work, size_t work_size,
                                             void* weight, size_t weight_size) {
  return run(Function::aclmdlLoadFromMemWithMem, [&] {
    if (const int code = check_bytes("aclmdlLoadFromMemWithMem", bytes, size); code != 0) return code;
    LoadRequest request;
    request.bytes = view(bytes, size);
    request.work = work, request.work_size = work_size, request.weight = weight, request.weight_size = weight_size;
    request.with_memory = true;
    return load_model("aclmdlLoadFromMemWithMem", request, id);
  });
}

extern "C" aclError aclmdlUnload(uint32_t id) {
  return run(Function::aclmdlUnload, [&] { return unload_model("aclmdlUnload", id, false); });
}

extern "C" aclError aclmdlQuerySize(const char* path, size_t* work, size_t* weight) {
  return run(Function::aclmdlQuerySize, [&] {
    const int code = check_path("aclmdlQuerySize", path);
    return code != 0 ? code : sizes("aclmdlQuerySize", {}, path, work, weight);
  });
}

extern "C" aclError aclmdlQuerySizeFromMem(const void* bytes, size_t size, size_t* work, size_t* weight) {
  return run(Function::aclmdlQuerySizeFromMem, [&] {
    const int code = check_bytes("aclmdlQuerySizeFromMem", bytes, size);
    return code != 0 ? code : sizes("aclmdlQuerySizeFromMem", view(bytes, size), {}, work, weight);
  });
}

extern "C" aclError aclmdlBundleLoadFromFile(const char* path, uint32_t* id) {
  return run(Function::aclmdlBundleLoadFromFile, [&] {
    int code = check_path("aclmdlBundleLoadFromFile", path);
    if (code != 0) return code;
    std::string bytes, text;
    if (code = read_file(path, bytes, text); code != 0)
      return fail(code, "E19999", "aclmdlBundleLoadFromFile failed. %s.", text.c_str());
    return load_bundle("aclmdlBundleLoadFromFile", bytes, id);
  });
}

extern "C" aclError aclmdlBundleLoadFromMem(const void* bytes, size_t size, uint32_t* id) {
  return run(Function::aclmdlBundleLoadFromMem, [&] {
    const int code = check_bytes("aclmdlBundleLoadFromMem", bytes, size);
    return code != 0 ? code : load_bundle("aclmdlBundleLoadFromMem", view(bytes, size), id);
  });
}

extern "C" aclError aclmdlBundleGetModelNum(uint32_t bundle, size_t* number) {
  return run(Function::aclmdlBundleGetModelNum, [&] {
    if (number == nullptr) return fail_null("aclmdlBundleGetModelNum", "modelNum");
    const Lock lock(big_lock());
    int code = 0;
    const auto* ids = bundle_of("aclmdlBundleGetModelNum", bundle, code);
    if (ids != nullptr) *number = ids->size();
    return code;
  });
}

extern "C" aclError aclmdlBundleGetModelId(uint32_t bundle, size_t index, uint32_t* id) {
  return run(Function::aclmdlBundleGetModelId, [&] {
    if (id == nullptr) return fail_null("aclmdlBundleGetModelId", "modelId");
    const Lock lock(big_lock());
    int code = 0;
    const auto* ids = bundle_of("aclmdlBundleGetModelId", bundle, code);
    if (ids == nullptr) return code;
    if (index >= ids->size())
      return fail_value("aclmdlBundleGetModelId", std::to_string(index), "index", "the bundle has fewer models");
    *id = (*ids)[index];
    return code;
  });
}

extern "C" aclError aclmdlBundleUnload(uint32_t bundle) {
  return run(Function::aclmdlBundleUnload, [&] {
    std::vector<std::uint32_t> ids;
    {
      const Lock lock(big_lock());
      int code = 0;
      const auto* found = bundle_of("aclmdlBundleUnload", bundle, code);
      if (found == nullptr) return code;
      ids = *found;
    }
    for (const std::uint32_t id : ids)
      if (const int code = unload_model("aclmdlBundleUnload", id, true); code != 0 && code != ge_model_id_invalid)
        return code;
    const Lock lock(big_lock());
    ModelTable::get().bundles.erase(bundle);
    return static_cast<int>(ok);
  });
}
