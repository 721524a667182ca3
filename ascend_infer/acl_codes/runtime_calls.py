"""Codes of the runtime about calls and resources: rt_error_codes.h's 1070xx and 2070xx."""

from __future__ import annotations

__all__ = ["RUNTIME_CALLS"]

#: table.py says how this is written.
RUNTIME_CALLS = """
107000 RT_PARAM_INVALID
  an argument is out of range: a size, a pointer, a timeout below -1
107001 RT_INVALID_DEVICEID
  the device id is too high, ASCEND_RT_VISIBLE_DEVICES renumbers the cards, or the driver is not loaded
  > compare the id with npu-smi info and ASCEND_RT_VISIBLE_DEVICES
  $ npu-smi info
107002 RT_CONTEXT_NULL
  no device was set on this thread
  > use sessions as they are from any thread; after a fork start the workers with "spawn"
  $ grep -h '\\[ERROR\\]' ~/ascend/log/debug/plog/*.log | tail
107003 RT_STREAM_CONTEXT
  the stream belongs to another context or device
107004 RT_MODEL_CONTEXT
  the model was loaded in another context
107005 RT_STREAM_MODEL
  the stream is not bound to the model
107006 RT_EVENT_TIMESTAMP_INVALID
  the event was not recorded, or does not keep times
107007 RT_EVENT_TIMESTAMP_REVERSAL
  the second event was recorded before the first
107008 RT_ADDR_UNALIGNED
  a memory address is not aligned as needed
107009 RT_FILE_OPEN
  a file cannot be opened
  > check the path and its permissions
107010 RT_FILE_WRITE
  a file cannot be written
  > check the path, its permissions and the free space
107011 RT_STREAM_SUBSCRIBE
  the stream's callbacks have a thread already
107012 RT_THREAD_SUBSCRIBE
  the thread was not named for callbacks
107013 RT_GROUP_NOT_SET
  no group of cores was set
107014 RT_GROUP_NOT_CREATE
  the group of cores was not created
107015 RT_STREAM_NO_CB_REG
  the stream has no thread for callbacks
107016 RT_INVALID_MEMORY_TYPE
  the memory is of the wrong kind, host for device or the reverse
107017 RT_INVALID_HANDLE
  an object was used after it was destroyed
107018 RT_INVALID_MALLOC_TYPE
  there is no such kind of allocation
107019 RT_WAIT_TIMEOUT  timeout retryable
  what was waited for did not come in time
107020 RT_TASK_TIMEOUT  timeout
  a task on the device took longer than allowed
107021 RT_SYSPARAMOPT_NOT_SET
  a system parameter was not set
107022 RT_DEVICE_TASK_ABORT  fault
  the device's tasks are being aborted
107023 RT_STREAM_ABORT  fault
  the stream was aborted
107024 RT_CAPTURE_DEPENDENCY
  capturing a graph failed: a task depends on one outside of it
107025 RT_STREAM_UNJOINED
  capturing a graph failed: a stream did not come back to where it began
107026 RT_MODEL_CAPTURED
  the graph is being captured
107027 RT_STREAM_CAPTURED
  the stream is being captured into a graph by someone else in this process
  > leave that stream alone until its capture ends
107028 RT_EVENT_CAPTURED
  the event is being captured into a graph
107029 RT_STREAM_NOT_CAPTURED
  the stream is not being captured
107030 RT_CAPTURE_MODE_NOT_SUPPORT
  this cannot be done while a stream is captured into a graph by someone else in this process
  > load models before or after the capture
107031 RT_STREAM_CAPTURE_IMPLICIT
  a captured stream would wait for the default stream
107032 STREAM_CAPTURE_CONFLICT
  streams that depend on each other cannot be captured together
107033 STREAM_TASK_GROUP_STATUS
  the group of tasks is in the wrong state
107034 STREAM_TASK_GROUP_INTR
  the group of tasks was interrupted
107035 RT_TASK_ABORT_STOP  fault
  the device's tasks were aborted
107036 RT_STREAM_CAPTURE_UNMATCHED
  the capture was not begun on this stream
107037 RT_MODEL_RUNNING  retryable
  the model is still running
  > wait for its requests, then unload it
107038 RT_STREAM_CAPTURE_WRONG_THREAD
  the capture was begun on another thread
107039 RT_INSUFFICIENT_INPUT_ARRAY
  the array for the answer is too small
107040 RT_MODEL_UPDATE_FAILED
  the captured graph cannot be changed
107041 RT_CAPTURE_MODE_BLOCK_ASYNC
  an asynchronous call that would block is not allowed while a stream is captured
107042 RT_SYMBOL_NOT_FOUND
  the symbol is not in the loaded binary
107043 RT_INVALID_SYMBOL
  the symbol is none of the device's
107044 RT_INVALID_DEVICE_FUNCTION
  the function is none of the device's
107045 RT_SUB_ACLGRAPH_IS_CAPTURING
  a graph inside this one is still being captured
207000 RT_FEATURE_NOT_SUPPORT
  the driver is older than this CANN, or the card cannot do it
  > compare the driver's version with CANN's release notes
  $ npu-smi info   # compare the driver's version with CANN's release notes
207001 RT_MEMORY_ALLOCATION  device-memory retryable
  the card's memory is full
  > lower max_batch_size, instance counts or the memory pool, or see with npu-smi info who else holds memory
  $ npu-smi info   # shows which process holds it
207002 RT_MEMORY_FREE
  memory cannot be freed: it is none of the device's, or was freed before
207003 RT_AICORE_OVER_FLOW
  a number overflowed in an AI core; the results hold infinities or NaN
  > check the inputs' range and the model's precision mode
207004 RT_NO_DEVICE
  no device is visible: none in this container, or ASCEND_RT_VISIBLE_DEVICES names none that is there
  > pass the devices into the container; list ids ascending, without blanks and repeats
  $ ls -l /dev/davinci*; echo $ASCEND_RT_VISIBLE_DEVICES
207005 RT_RESOURCE_ALLOC_FAIL  retryable
  the device has no more of some resource: streams, events, models
  > close sessions, or lower instance counts
207006 RT_NO_PERMISSION
  this user may not use the card
  > add the user to the group HwHiAiUser and log in again
  $ sudo usermod -a -G HwHiAiUser $USER   # then log in again
207007 RT_NO_EVENT_RESOURCE  retryable
  the device has no more events
  > close sessions, or lower instance counts
207008 RT_NO_STREAM_RESOURCE  retryable
  the device has no more streams
  > close sessions, or lower instance counts
207009 RT_NO_NOTIFY_RESOURCE  retryable
  the device has no more notifies
  > close sessions, or lower instance counts
207010 RT_NO_MODEL_RESOURCE  retryable
  the device takes no more models
  > close sessions, or lower instance counts
207011 RT_NO_CDQ_RESOURCE  retryable
  the device has no more queues of that kind
207012 RT_OVER_LIMIT
  a limit of the device would be exceeded
207013 RT_QUEUE_EMPTY  retryable
  the queue is empty
207014 RT_QUEUE_FULL  retryable
  the queue is full
207015 RT_REPEATED_INIT
  it was initialised before
207016 RT_AIVEC_OVER_FLOW
  a number overflowed in a vector core; the results hold infinities or NaN
  > check the inputs' range and the model's precision mode
207017 RT_OVER_FLOW
  a number overflowed; the results hold infinities or NaN
  > check the inputs' range and the model's precision mode
207018 RT_DEVICE_OOM  device-memory retryable
  the device's own software ran out of memory
  > lower max_batch_size, instance counts or the memory pool
207019 RT_FEATURE_NOT_SUPPORT_UPDATE_OP
  this operator cannot be changed in a captured graph
207020 RT_TIMEOUT  timeout
  the driver did not answer in time
  > run ascend-infer doctor
207021 RT_LINK_TYPE_NOT_SUPPORTED
  the cards are not linked in a way that this needs
"""
