#include "model_run.hpp"

namespace {

struct Pool {
  int allocated = 0, freed = 0;
  bool empty = false;
};
void* allocate(aclrtAllocator pool, size_t size) {
  ++static_cast<Pool*>(pool)->allocated;
  void* memory = nullptr;
  if (!static_cast<Pool*>(pool)->empty) aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST);
  return memory;
}
void release(aclrtAllocator pool, aclrtAllocatorBlock block) {
  ++static_cast<Pool*>(pool)->freed;
  aclrtFree(block);
}
void* advise(aclrtAllocator pool, size_t size, aclrtAllocatorAddr) { return allocate(pool, size); }
void* address(aclrtAllocatorBlock block) { return block; }

}  // namespace

TEST(allocator, serves_dynamic_shapes) {
  start();
  Pool pool;
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  aclrtAllocatorDesc desc = aclrtAllocatorCreateDesc();
  FAILS(100000, "must be set", aclrtAllocatorRegister(stream, desc));
  OK(aclrtAllocatorSetObjToDesc(desc, &pool));
  OK(aclrtAllocatorSetAllocFuncToDesc(desc, allocate));
  OK(aclrtAllocatorSetFreeFuncToDesc(desc, release));
  OK(aclrtAllocatorSetAllocAdviseFuncToDesc(desc, advise));
  OK(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, address));
  CODE(100000, aclrtAllocatorSetObjToDesc(desc, nullptr));
  CODE(100000, aclrtAllocatorSetAllocFuncToDesc(nullptr, allocate));
  CODE(100000, aclrtAllocatorSetFreeFuncToDesc(desc, nullptr));
  CODE(100000, aclrtAllocatorSetAllocAdviseFuncToDesc(desc, nullptr));
  CODE(100000, aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, nullptr));
  CODE(100000, aclrtAllocatorRegister(nullptr, desc));
  CODE(100000, aclrtAllocatorRegister(stream, nullptr));
  aclrtAllocatorDesc found = nullptr;
  aclrtAllocator object = nullptr;
  aclrtAllocatorAllocFunc a = nullptr;
  aclrtAllocatorFreeFunc f = nullptr;
  aclrtAllocatorAllocAdviseFunc v = nullptr;
  aclrtAllocatorGetAddrFromBlockFunc g = nullptr;
  CODE(100000, aclrtAllocatorGetByStream(stream, &found, &object, &a, &f, &v, &g));
  OK(aclrtAllocatorRegister(stream, desc));
  OK(aclrtAllocatorGetByStream(stream, &found, &object, &a, &f, &v, &g));
  CHECK(found == desc && object == &pool && a == allocate && f == release && v == advise && g == address);
  CODE(100000, aclrtAllocatorGetByStream(nullptr, &found, &object, &a, &f, &v, &g));

  TestModel model = plain_model();
  model.inputs[0] = {"x", 0, 2, 0, {-1, 4}, {}, {1, 8, 4, 4}};
  model.outputs[0] = {"node:0:y", 0, 2, 0, {-1, 4}, {}, {}};
  model.dynamic = true;
  Run m(model);
  m.add(m.in, 32, {1, 2, 3, 4, 5, 6, 7, 8});
  void* y = m.add(m.out, 32);
  const int64_t dims[] = {2, 4};
  aclTensorDesc* shape = aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND);
  OK(aclmdlSetDatasetTensorDesc(m.in, shape, 0));
  aclDestroyTensorDesc(shape);
  OK(aclmdlExecuteAsync(m.id, m.in, m.out, stream));
  CHECK(pool.allocated == 1 && pool.freed == 1);
  CHECK(from_device(y, 8)[7] == 17);
  pool.empty = true;
  FAILS(245000, "registered allocator", aclmdlExecuteAsync(m.id, m.in, m.out, stream));
  OK(aclrtAllocatorUnregister(stream));
  CODE(100000, aclrtAllocatorUnregister(nullptr));
  OK(aclmdlExecuteAsync(m.id, m.in, m.out, stream));
  CHECK(pool.allocated == 2);
  OK(aclrtAllocatorDestroyDesc(desc));
  CODE(200005, aclrtAllocatorDestroyDesc(desc));
  CODE(100000, aclrtAllocatorDestroyDesc(nullptr));
}
