// The least that a program can do to run a static model through ACL: the calls of one batch in a loop, nothing around
// them. What acl_overhead.py compares with.
#include <cstdlib>
#include <cstring>

#include "../_ext/acl_types.h"

extern "C" {
aclError aclInit(const char *);
aclError aclrtSetDevice(int32_t);
aclError aclrtCreateStream(aclrtStream *);
aclError aclrtCreateEventWithFlag(aclrtEvent *, uint32_t);
aclError aclrtMalloc(void **, size_t, aclrtMemMallocPolicy);
aclError aclrtMallocHost(void **, size_t);
aclError aclrtMemcpyAsync(void *, size_t, const void *, size_t, aclrtMemcpyKind, aclrtStream);
aclError aclrtRecordEvent(aclrtEvent, aclrtStream);
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream, int32_t);
aclError aclmdlLoadFromFile(const char *, uint32_t *);
aclmdlDataset *aclmdlCreateDataset(void);
aclDataBuffer *aclCreateDataBuffer(void *, size_t);
aclError aclmdlAddDatasetBuffer(aclmdlDataset *, aclDataBuffer *);
aclError aclmdlExecuteAsync(uint32_t, const aclmdlDataset *, aclmdlDataset *, aclrtStream);

static uint32_t model;
static aclrtStream stream;
static aclrtEvent event;
static aclmdlDataset *in, *out;
static void *device_in, *device_out, *host_in, *host_out;
static size_t in_bytes, out_bytes;

static void ok(aclError code) {
  if (code != 0 && code != 100002) abort();
}

void loop_open(const char *path, size_t in_size, size_t out_size) {
  in_bytes = in_size;
  out_bytes = out_size;
  ok(aclInit(nullptr));
  ok(aclrtSetDevice(0));
  ok(aclrtCreateStream(&stream));
  ok(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
  ok(aclmdlLoadFromFile(path, &model));
  ok(aclrtMalloc(&device_in, in_bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  ok(aclrtMalloc(&device_out, out_bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  ok(aclrtMallocHost(&host_in, in_bytes));
  ok(aclrtMallocHost(&host_out, out_bytes));
  in = aclmdlCreateDataset();
  out = aclmdlCreateDataset();
  ok(aclmdlAddDatasetBuffer(in, aclCreateDataBuffer(device_in, in_bytes)));
  ok(aclmdlAddDatasetBuffer(out, aclCreateDataBuffer(device_out, out_bytes)));
}

void loop_run(const void *input, void *output, long calls) {
  aclError code = 0;
  for (long i = 0; i < calls; ++i) {
    memcpy(host_in, input, in_bytes);
    ok(aclrtMemcpyAsync(device_in, in_bytes, host_in, in_bytes, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    ok(aclmdlExecuteAsync(model, in, out, stream));
    ok(aclrtRecordEvent(event, stream));
    ok(aclrtMemcpyAsync(host_out, out_bytes, device_out, out_bytes, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    while ((code = aclrtSynchronizeStreamWithTimeout(stream, 50)) == 507046) {
    }
    ok(code);
    memcpy(output, host_out, out_bytes);
  }
}
}
