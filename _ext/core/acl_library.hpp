// The ACL C library, opened at run time: every function by name, or a null pointer where it has none.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "../acl_api.h"
#include "acl_status.hpp"

namespace ascend_infer {

struct AclSymbol {
  const char *name;
  bool required;
  const char *since;  // the first CANN release known to have it
  bool found;
  void *address;  // for callers outside the core; null when it was not found
};

// The first CANN release known to have a function; null for one that nobody listed.
const char *acl_symbol_since(const char *name) noexcept;

// One object per path and process, never closed: CANN does not survive dlclose, and the objects of a process that ends
// may still point here.
class AclLibrary {
 public:
  // Opens a library and the others that split its functions with it (CANN 8.5: libacl_mdl.so beside libacl_rt.so).
  // `global` makes their symbols visible to libraries loaded later, as CANN's own plugins expect; the simulator is
  // always opened without. Null, and the dynamic linker's reason or the required functions that are missing, on
  // failure. May run the library's constructors: takes long, and may print.
  static AclLibrary *open(const std::string &path, const std::vector<std::string> &companions, bool global,
                          std::string &reason, std::vector<std::string> &missing);

  const acl_api &api() const noexcept { return api_; }
  const std::string &path() const noexcept { return path_; }
  // aclsim_version is there: no device stands behind it.
  bool is_simulator() const noexcept { return simulator_; }
  const std::vector<AclSymbol> &symbols() const noexcept { return symbols_; }

  // Reads what the library has to say of this thread's last failure. Call it at once, on the thread that failed.
  std::string recent_message() const;
  // A call's result: its function, code and message when it failed.
  AclStatus check(const char *function, aclError code) const noexcept {
    return code == 0 ? AclStatus() : failure(function, code);
  }

 private:
  AclLibrary() = default;
  AclStatus failure(const char *function, aclError code) const noexcept;

  acl_api api_{};
  std::string path_;
  bool simulator_ = false;
  std::vector<AclSymbol> symbols_;
};

}  // namespace ascend_infer

// Calls a function of the library and returns from the caller's function when it failed.
#define ACL_TRY(library, function, ...)                                                              \
  do {                                                                                               \
    const aclError acl_try_code = (library).api().function(__VA_ARGS__);                             \
    if (acl_try_code != 0) return (library).check(#function, acl_try_code);                          \
  } while (false)
