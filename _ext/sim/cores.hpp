// Core counts of the SoCs.
#pragma once
#include "options.hpp"

namespace aclsim {

// Of the order of the vendor's data sheets: programs divide work by them, nothing here runs on them.
struct Cores {
  int aicore, vector, aicpu;
};
inline Cores cores() {
  const std::string& soc = options().soc;
  if (soc.rfind("Ascend310P", 0) == 0) return {8, 7, 7};
  if (soc.rfind("Ascend310B", 0) == 0) return {1, 1, 3};
  if (soc.rfind("Ascend910B", 0) == 0) return {20, 40, 6};
  return {32, 32, 14};
}

}  // namespace aclsim
