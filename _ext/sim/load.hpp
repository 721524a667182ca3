// Loading a model, whichever call asks for it.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "../acl_types.h"
#include "handles.hpp"
#include "model_table.hpp"

namespace aclsim {

struct LoadRequest {
  std::string path;        // of a file, or empty
  std::string_view bytes;  // of a model in memory
  void* work = nullptr;
  std::size_t work_size = 0;
  void* weight = nullptr;
  std::size_t weight_size = 0;
  bool with_memory = false;
  bool without_io = false;  // ACL_MDL_WORKSPACE_MEM_OPTIMIZE
  std::int32_t priority = 0;
  std::uint32_t bundle = 0;
};

// 0 with the new model's id, or a recorded code. Called without the lock.
int load_model(const char* function, const LoadRequest& request, std::uint32_t* id);
// 0, or a recorded code: the model is in use, or is of another context.
int unload_model(const char* function, std::uint32_t id, bool of_bundle);

// aclmdlConfigHandle: what aclmdlSetConfigOpt was given.
struct LoadConfig {
  static constexpr Kind kind = Kind::load_config;
  std::size_t type = 0;
  bool has_type = false, has_path = false;
  std::string path;
  void *memory = nullptr, *work = nullptr, *weight = nullptr;
  std::size_t memory_size = 0, work_size = 0, weight_size = 0, optimize = 0;
  std::int32_t priority = 0;
  std::string weight_path;
  std::map<std::string, std::pair<void*, std::size_t>> external_weights;
};

}  // namespace aclsim
