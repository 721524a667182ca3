// The allocator hook: memory of the program for true dynamic shapes.
#pragma once
#include "../acl_types.h"
#include "handles.hpp"

namespace aclsim {

struct Allocator {
  static constexpr Kind kind = Kind::allocator;
  aclrtAllocator object = nullptr;
  aclrtAllocatorAllocFunc allocate = nullptr;
  aclrtAllocatorFreeFunc free = nullptr;
  aclrtAllocatorAllocAdviseFunc advise = nullptr;
  aclrtAllocatorGetAddrFromBlockFunc address = nullptr;
  void* handle = nullptr;
};

}  // namespace aclsim
