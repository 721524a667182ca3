// aclmdlDesc: what a program asks a model about.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "handles.hpp"
#include "model_table.hpp"

namespace aclsim {

struct ModelDesc {
  static constexpr Kind kind = Kind::model_desc;
  std::shared_ptr<ModelContent> content;  // null until aclmdlGetDesc
  std::uint32_t model = 0;                // 0: described from a file
  std::string answer;                     // the last string that was handed out

  const ModelInfo& info() const { return content->info; }
};

// Asks a description that holds something; the fallback and a recorded error otherwise.
ModelDesc* described(const char* function, const void* handle, int& code);

}  // namespace aclsim
