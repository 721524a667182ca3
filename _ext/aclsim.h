/* Side functions of the simulator, libascendcl_sim.so: none of them is part of AscendCL.
 *
 * Functions that return int answer 0, or -1 with the reason in aclsim_error(). Functions that fill a buffer return the
 * bytes that the whole text has, its final NUL included; at most `size` of them are written, with a NUL at the end.
 * All are thread-safe.
 */
#ifndef ASCEND_INFER_ACLSIM_H
#define ASCEND_INFER_ACLSIM_H

#include "acl_types.h"

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* "1.0 onnxruntime 1.22.0"; the second half only after a model was loaded. */
const char* aclsim_version(void);
const char* aclsim_error(void);
/* Options as one JSON object; those that it does not name keep their values. devices and hbm_bytes can be set only
 * while no device is open. */
int aclsim_configure(const char* json);
int aclsim_set_faults(const char* plan);
/* JSON: calls, failures, handles, devices, memory, violations. */
size_t aclsim_report(char* buffer, size_t size);
size_t aclsim_call_log(char* buffer, size_t size);
size_t aclsim_live_handles(char* buffer, size_t size);
/* Ends all streams, frees everything, forgets counters, options and fault plan: as at the process's start. */
int aclsim_reset(void);
/* Nanoseconds of the simulator's clock; advance moves virtual time only. */
uint64_t aclsim_now(void);
void aclsim_advance(uint64_t nanoseconds);
/* The ONNX model that stands for a real .om which is loaded from memory. */
int aclsim_set_twin(const void* om, size_t size, const char* onnx_path);
/* Says that a child process is about to be started. 1 when an asynchronous copy is in flight (and counted), else 0. */
int aclsim_note_spawn(const char* how);
int aclsim_copies_in_flight(void);
/* Where the CPU reaches a byte of device memory; null when it is none. For stand-ins of kernels. */
void* aclsim_shadow(const void* device_address);
/* Queues a stand-in for a kernel: `function` runs on the stream's thread, the task takes `nanoseconds`, and fails with
 * `code` unless that is 0. */
aclError aclsim_launch(aclrtStream stream, void (*function)(void*), void* argument, uint64_t nanoseconds, int code);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
