#include "acl_library.hpp"

#include <dlfcn.h>

#include <cstring>
#include <map>
#include <mutex>

namespace ascend_infer {
namespace {

struct Opened {
  std::mutex lock;
  std::map<std::string, AclLibrary *> by_path;
};

// Never destroyed: threads may outlive static destructors.
Opened &opened() {
  static auto *const all = new Opened;
  return *all;
}

void *find(const std::vector<void *> &handles, const char *name) {
  for (void *handle : handles)
    if (void *symbol = dlsym(handle, name)) return symbol;
  return nullptr;
}

}  // namespace

const char *acl_symbol_since(const char *name) noexcept {
#define ASCEND_INFER_SINCE(function, required, release) \
  if (std::strcmp(name, #function) == 0) return release;
  ACL_API_FUNCTIONS(ASCEND_INFER_SINCE)
#undef ASCEND_INFER_SINCE
  return nullptr;
}

AclLibrary *AclLibrary::open(const std::string &path, const std::vector<std::string> &companions, bool global,
                             std::string &reason, std::vector<std::string> &missing) {
  const std::lock_guard lock(opened().lock);
  const auto known = opened().by_path.find(path);
  if (known != opened().by_path.end()) {
    if (global) (void)dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);  // its first user may not have needed it
    return known->second;
  }

  const int flags = RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL);
  std::vector<void *> handles;
  for (std::size_t i = 0; i <= companions.size(); ++i) {
    void *handle = dlopen((i == 0 ? path : companions[i - 1]).c_str(), flags);
    if (handle == nullptr) {
      const char *text = dlerror();
      reason = text == nullptr ? "the dynamic linker gives no reason" : text;
      return nullptr;  // what was opened stays open: it may have started threads
    }
    handles.push_back(handle);
  }
  std::unique_ptr<AclLibrary> library(new AclLibrary);
  library->path_ = path;
  library->simulator_ = find(handles, "aclsim_version") != nullptr;
#define ASCEND_INFER_BIND(name, is_required, release)                                                \
  library->api_.name = reinterpret_cast<decltype(library->api_.name)>(find(handles, #name));         \
  library->symbols_.push_back({#name, (is_required) != 0, release, library->api_.name != nullptr,        \
                               reinterpret_cast<void *>(library->api_.name)});
  ACL_API_FUNCTIONS(ASCEND_INFER_BIND)
#undef ASCEND_INFER_BIND
  for (const AclSymbol &symbol : library->symbols_)
    if (symbol.required && !symbol.found) missing.emplace_back(symbol.name);
  if (!missing.empty()) return nullptr;
  opened().by_path.emplace(path, library.get());
  return library.release();
}

std::string AclLibrary::recent_message() const {
  const char *text = api_.aclGetRecentErrMsg == nullptr ? nullptr : api_.aclGetRecentErrMsg();
  return text == nullptr ? std::string() : std::string(text);
}

AclStatus AclLibrary::failure(const char *function, aclError code) const noexcept {
  return without_throwing([&] { return AclStatus::of_call(function, code, recent_message()); });
}

}  // namespace ascend_infer
