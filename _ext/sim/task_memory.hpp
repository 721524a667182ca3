// How much memory a model of ATC works in.
#pragma once
#include <cstdint>
#include <string_view>

namespace aclsim {

// memory_size, field 11 of domi.ModelTaskDef, without decoding the rest; 0 when it is not there.
std::uint64_t task_memory(std::string_view bytes);

}  // namespace aclsim
