// What happened so far, as JSON.
#pragma once
#include <string>

namespace aclsim {

std::string report_json();

}  // namespace aclsim
