// Whether what a model file says of itself fits together.
#pragma once
#include <string>

#include "model_info.hpp"

namespace aclsim {

// 0, or a code with the reason in `text`. A run indexes inputs, gears and shapes by each other without looking again,
// and reads as many bytes as the shapes say: a file that contradicts itself is refused here.
int check_model(const ModelInfo& info, std::string& text);

}  // namespace aclsim
