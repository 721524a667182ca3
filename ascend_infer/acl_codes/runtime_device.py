"""Codes of the runtime about the device: rt_error_codes.h's 507xxx."""

from __future__ import annotations

__all__ = ["RUNTIME_DEVICE"]

#: table.py says how this is written.
RUNTIME_DEVICE = """
507000 RT_INTERNAL_ERROR
  the runtime failed inside
507001 RT_TS_ERROR
  the device's task scheduler failed
507002 RT_STREAM_TASK_FULL  retryable
  too many tasks are queued on the stream
507003 RT_STREAM_TASK_EMPTY
  no task is queued on the stream
507004 RT_STREAM_NOT_COMPLETE  retryable
  the stream still has work to do
507005 RT_END_OF_SEQUENCE
  the model's input sequence has ended
507006 RT_EVENT_NOT_COMPLETE  retryable
  the event has not happened yet
507007 RT_CONTEXT_RELEASE_ERROR
  a device was reset that was not opened
507008 RT_SOC_VERSION
  the driver or its devices cannot be seen, as in containers without /dev nodes
  > pass /dev/davinci*, davinci_manager, devmm_svm and hisi_hdc into the container, and mount the driver
  $ ls -l /dev/davinci*; npu-smi info
507009 RT_TASK_TYPE_NOT_SUPPORT
  the device does not know this kind of task
507010 RT_LOST_HEARTBEAT  lost
  the device is lost: its task scheduler does not answer
  > restart the process; if that does not do, an administrator has to reset the card
  $ npu-smi info
507011 RT_MODEL_EXECUTE  fault
  the model failed on the device; the runtime's text and the device log have the cause
507012 RT_REPORT_TIMEOUT  timeout retryable
  no callback came in the time given
  > nothing, where no work was queued
507013 RT_SYS_DMA  fault
  a copy failed: a host or device address in it is wrong
507014 RT_AICORE_TIMEOUT  fault timeout
  an operator did not finish on the AI cores in time
507015 RT_AICORE_EXCEPTION  fault
  an operator failed on the AI cores: an address out of range, a faulty operator, or the memory's ECC
507016 RT_AICORE_TRAP_EXCEPTION  fault
  an operator stopped on the AI cores by a trap
507017 RT_AICPU_TIMEOUT  fault timeout
  an operator did not finish on the device's CPUs in time
507018 RT_AICPU_EXCEPTION  fault
  an operator failed on the device's CPUs
507019 RT_AICPU_DATADUMP_RSP_ERR
  dumping data failed on the device's CPUs
507020 RT_AICPU_MODEL_RSP_ERR
  the device's CPUs refused an operation on the model
507021 RT_PROFILING_ERROR
  profiling failed
507022 RT_IPC_ERROR
  sharing between processes failed
507023 RT_MODEL_ABORT_NORMAL
  the model ended by itself
507024 RT_KERNEL_UNREGISTERING
  the kernel is being removed
507025 RT_RINGBUFFER_NOT_INIT
  the device's ring buffer was not set up
507026 RT_RINGBUFFER_NO_DATA
  the device's ring buffer is empty
507027 RT_KERNEL_LOOKUP
  a kernel is not registered
507028 RT_KERNEL_DUPLICATE
  a kernel is registered twice
507029 RT_DEBUG_REGISTER_FAIL
  debugging cannot be switched on
507030 RT_DEBUG_UNREGISTER_FAIL
  debugging cannot be switched off
507031 RT_LABEL_CONTEXT
  the label belongs to another context
507032 RT_PROGRAM_USE_OUT
  too many programs are registered
507033 RT_DEV_SETUP_ERROR
  the device would not start: driver and CANN do not match, its memory is full, or another container holds it
  > run ascend-infer doctor: it compares the versions and shows who holds the card
  $ npu-smi info   # who holds the card; compare the driver's version with CANN's release notes
507034 RT_VECTOR_CORE_TIMEOUT  fault timeout
  an operator did not finish on the vector cores in time
507035 RT_VECTOR_CORE_EXCEPTION  fault
  an operator failed on the vector cores: an address out of range, a faulty operator, or the memory's ECC
507036 RT_VECTOR_CORE_TRAP_EXCEPTION  fault
  an operator stopped on the vector cores by a trap
507037 RT_CDQ_BATCH_ABNORMAL
  a batch of the device's queue is in the wrong state
507038 RT_DIE_MODE_CHANGE_ERROR
  the mode of the card's dies cannot be changed
507039 RT_DIE_SET_ERROR
  a die cannot be chosen in this mode
507040 RT_INVALID_DIEID
  there is no such die
507041 RT_DIE_MODE_NOT_SET
  the mode of the card's dies was not set
507042 RT_AICORE_TRAP_READ_OVERFLOW  fault
  an operator read outside its memory on the AI cores
507043 RT_AICORE_TRAP_WRITE_OVERFLOW  fault
  an operator wrote outside its memory on the AI cores
507044 RT_VECTOR_CORE_TRAP_READ_OVERFLOW  fault
  an operator read outside its memory on the vector cores
507045 RT_VECTOR_CORE_TRAP_WRITE_OVERFLOW  fault
  an operator wrote outside its memory on the vector cores
507046 RT_STREAM_SYNC_TIMEOUT  timeout retryable
  the stream's work did not finish in the time given; it goes on
507047 RT_EVENT_SYNC_TIMEOUT  timeout retryable
  the event did not happen in the time given; the work before it goes on
507048 RT_FFTS_PLUS_TIMEOUT  fault timeout
  a fused task did not finish in time
507049 RT_FFTS_PLUS_EXCEPTION  fault
  a fused task failed
507050 RT_FFTS_PLUS_TRAP_EXCEPTION  fault
  a fused task stopped by a trap
507051 RT_SEND_MSG
  a message to the device cannot be sent
507052 RT_COPY_DATA
  data cannot be copied to or from the device
507053 RT_DEVICE_MEM_ERROR  fault
  the device's memory has a hardware error
  > have the card looked at (npu-smi info shows its health)
507054 RT_HBM_MULTI_BIT_ECC_ERROR  fault
  the device's memory has an error that ECC cannot mend
  > have the card looked at (npu-smi info shows its health)
507055 RT_SUSPECT_DEVICE_MEM_ERROR  fault
  the device's memory is suspected of a hardware error
  > have the card looked at (npu-smi info shows its health)
507056 RT_LINK_ERROR  fault
  the link to the device or between devices failed
  > have the card and its links looked at
507057 RT_SUSPECT_REMOTE_ERROR
  another card is suspected of an error
507899 RT_DRV_INTERNAL_ERROR
  the driver failed: its version does not match CANN's, or permissions
  > run ascend-infer doctor: it compares the versions of driver and CANN
  $ npu-smi info
507900 RT_AICPU_INTERNAL_ERROR
  the device's CPUs failed inside
507901 RT_SOCKET_CLOSE  lost
  the device is lost: the connection to it was closed
  > restart the process; if that does not do, an administrator has to reset the card
  $ npu-smi info
507902 RT_AICPU_INFO_LOAD_RSP_ERR
  the device's CPUs refused a model's description
507903 RT_STREAM_CAPTURE_INVALIDATED
  the capture into a graph was broken off
507904 RT_COMM_OP_RETRY_FAIL
  a collective operation failed again
507905 SNAPSHOT_LOCK_TIMEOUT  timeout
  a snapshot of the process could not get its lock in time
507906 SNAPSHOT_LOCK_FAILED
  a snapshot of the process could not get its lock
507907 SNAPSHOT_UNLOCK_FAILED
  a snapshot of the process could not release its lock
507908 SNAPSHOT_BACKUP_FAILED
  a snapshot of the process could not be taken
507909 SNAPSHOT_RESTORE_FAILED
  a snapshot of the process could not be restored
507910 HOST_MEMORY_ALREADY_REGISTERED
  the host memory is registered already
507911 HOST_MEMORY_NOT_REGISTERED
  the host memory was not registered
507912 SNAPSHOT_CALLBACK_FAILED
  a callback of a snapshot failed
507913 SNAPSHOT_REGISTER_CALLBACK_FAILED
  a snapshot's callback cannot be registered
507914 RT_L3_PORT_ERROR
  a network port of the device failed
507915 RT_CCU_TIMEOUT  timeout
  the collective communication unit did not finish in time
507916 RT_CCU_EXCEPTION
  the collective communication unit failed
"""
