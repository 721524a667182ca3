"""Codes of the ACL layer itself: acl_base_rt.h's 1000xx, 1480xx, 2000xx, 3000xx and 5000xx."""

from __future__ import annotations

__all__ = ["ACL_LAYER"]

#: table.py says how this is written.
ACL_LAYER = """
100000 INVALID_PARAM
  an argument is null, out of range or of the wrong kind
  > compare shapes and sizes with what the model declares (ascend-infer inspect)
100001 UNINITIALIZE
  aclInit was not called, or has failed before
  > look for an earlier error of aclInit in this process
  $ grep -h '\\[ERROR\\]' ~/ascend/log/debug/plog/*.log | tail
100002 REPEAT_INITIALIZE
  another library of this process has initialised ACL already
  > nothing: it counts as success, and whoever was first finalises
100003 INVALID_FILE
  a file cannot be found or read, or ASCEND_HOME_PATH is not set where a version is asked for
  > check the path and its permissions, and source CANN's set_env.sh
100004 WRITE_FILE
  a file cannot be written
  > check the path, its permissions and the free space
100005 INVALID_FILE_SIZE
  a file is empty or larger than allowed
  > check that it was copied whole
100006 PARSE_FILE
  a configuration file is no valid JSON, or nests deeper than ten levels
  > correct the file given to aclInit
100007 FILE_MISSING_ATTR
  a configuration file lacks an entry
  > correct the file given to aclInit
100008 FILE_ATTR_INVALID
  a configuration file has an entry with a wrong value
  > correct the file given to aclInit
100009 INVALID_DUMP_CONFIG
  the dump configuration is wrong
  > correct the dump section of the file given to aclInit
100010 INVALID_PROFILING_CONFIG
  the profiling configuration is wrong
  > correct the profiler section of the file given to aclInit
100011 INVALID_MODEL_ID
  no model is loaded under this id, or it was unloaded
100012 DESERIALIZE_MODEL  model chip
  the .om file is damaged, or made by or for another CANN or chip
100013 PARSE_MODEL  model chip
  the .om file is damaged, or made by or for another CANN or chip
100014 READ_MODEL_FAILURE  model
  the .om file cannot be read, or is cut short
100015 MODEL_SIZE_INVALID  model
  the .om file's size is not what its header says
100016 MODEL_MISSING_ATTR  model
  the .om file lacks an attribute that this CANN needs
100017 MODEL_INPUT_NOT_MATCH
  the number or sizes of the inputs are not the model's
  > compare them with what the model declares (ascend-infer inspect)
100018 MODEL_OUTPUT_NOT_MATCH
  the number or sizes of the outputs are not the model's
  > compare them with what the model declares (ascend-infer inspect)
100019 MODEL_NOT_DYNAMIC
  a size was set on a model that was compiled for fixed shapes
  > compile the model with gears, or feed the shape it was compiled for
100020 OP_TYPE_NOT_MATCH
  no operator of this type was compiled
100021 OP_INPUT_NOT_MATCH
  the inputs are not those the operator was compiled for
100022 OP_OUTPUT_NOT_MATCH
  the outputs are not those the operator was compiled for
100023 OP_ATTR_NOT_MATCH
  the attributes are not those the operator was compiled for
100024 OP_NOT_FOUND
  an operator is not in the installed operator packages
  > install the kernels (opp) package for this chip and check ASCEND_OPP_PATH
100025 OP_LOAD_FAILED
  an operator's kernel cannot be loaded
  > install the kernels (opp) package for this chip and check ASCEND_OPP_PATH
100026 UNSUPPORTED_DATA_TYPE
  the element type is not supported here
100027 FORMAT_NOT_MATCH
  the tensor's format is not what is expected
100028 BIN_SELECTOR_NOT_REGISTERED
  no selector is registered for the operator's binary
100029 KERNEL_NOT_FOUND
  an operator's kernel is not installed
  > install the kernels (opp) package for this chip and check ASCEND_OPP_PATH
100030 BIN_SELECTOR_ALREADY_REGISTERED
  the operator's binary has a selector already
100031 KERNEL_ALREADY_REGISTERED
  the kernel is registered already
100032 INVALID_QUEUE_ID
  there is no queue with this id
100033 REPEAT_SUBSCRIBE
  the stream's callbacks have a thread already
100034 STREAM_NOT_SUBSCRIBE
  no thread was named for the stream's callbacks
100035 THREAD_NOT_SUBSCRIBE
  the thread was not named for callbacks
100036 WAIT_CALLBACK_TIMEOUT  timeout retryable
  no callback came in the time given
  > nothing, where no work was queued
100037 REPEAT_FINALIZE
  ACL was finalised already
  > nothing: it does no harm while a process ends
100038 NOT_STATIC_AIPP
  the model's input has no static preprocessing (AIPP)
100039 COMPILING_STUB_MODE
  a stub library, meant for linking only, was loaded
  > take every folder called devlib or stub out of LD_LIBRARY_PATH, and mount or install the driver
  $ # take every folder called devlib or stub out of LD_LIBRARY_PATH
100040 GROUP_NOT_SET
  no group of cores was set
100041 GROUP_NOT_CREATE
  the group of cores was not created
100042 PROF_ALREADY_RUN
  profiling runs already
100043 PROF_NOT_RUN
  profiling was not started
100044 DUMP_ALREADY_RUN
  a dump runs already
100045 DUMP_NOT_RUN
  no dump was started
148046 PROF_REPEAT_SUBSCRIBE
  the model's profile has a subscriber already
148047 PROF_API_CONFLICT
  two ways of profiling are used at once
148048 INVALID_MAX_OPQUEUE_NUM_CONFIG
  max_opqueue_num has a wrong value
  > correct it in the file given to aclInit
148049 INVALID_OPP_PATH
  ASCEND_OPP_PATH is not set or wrong
  > source CANN's set_env.sh before the program starts
  $ source <CANN>/set_env.sh
148050 OP_UNSUPPORTED_DYNAMIC
  the operator does not take dynamic shapes
148051 RELATIVE_RESOURCE_NOT_CLEARED
  something that depends on this is still there
  > destroy streams, events and models before their context or device
148052 UNSUPPORTED_JPEG
  the JPEG picture has an encoding that the hardware cannot decode
148053 INVALID_BUNDLE_MODEL_ID
  no bundle is loaded under this id
200000 BAD_ALLOC  host-memory retryable
  the host's memory does not suffice
  > free memory of this process or machine
200001 API_NOT_SUPPORT
  this function does not work on this kind of model, chip or CANN
200002 INVALID_DEVICE
  there is no such device
  > compare the id with npu-smi info and ASCEND_RT_VISIBLE_DEVICES
200003 MEMORY_ADDRESS_UNALIGNED
  a memory address is not aligned as needed
200004 RESOURCE_NOT_MATCH
  objects of different contexts or devices were used together
200005 INVALID_RESOURCE_HANDLE
  an object was used after it was destroyed
200006 FEATURE_UNSUPPORTED
  this chip or CANN cannot do it
200007 PROF_MODULES_UNSUPPORTED
  these modules cannot be profiled
300000 STORAGE_OVER_LIMIT
  a stored file would be larger than allowed
  > free space, or raise the limit of the profiling or dump
500000 INTERNAL_ERROR
  ACL failed inside; from aclInit: the chip's name cannot be read, there is no device or no driver
  > run ascend-infer doctor
  $ npu-smi info
500001 FAILURE
  ACL failed inside
500002 GE_FAILURE
  the graph engine failed; the runtime's text and the device log say how
500003 RT_FAILURE
  the runtime failed; the runtime's text and the device log say how
500004 DRV_FAILURE
  the driver failed
  > run ascend-infer doctor: it compares the versions of driver and CANN
500005 PROFILING_FAILURE
  profiling failed
"""
