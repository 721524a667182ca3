"""Codes of the graph engine, which loads and runs models: ge_error_codes.h's x45xxx."""

from __future__ import annotations

__all__ = ["GRAPH_ENGINE"]

#: table.py says how this is written.
GRAPH_ENGINE = """
145000 GE_PARAM_INVALID
  a buffer, the weights or the work memory is of the wrong size (the text's E13025 gives the sizes)
  > compare shapes and element types with what the model declares (ascend-infer inspect)
145001 GE_EXEC_NOT_INIT
  the graph engine was not initialised: aclInit is missing, or the model library failed at it
145002 GE_EXEC_MODEL_PATH_INVALID
  the model file is not there or cannot be read
  > check the path and its permissions
145003 GE_EXEC_MODEL_ID_INVALID
  no model is loaded under this id, or it was unloaded
145006 GE_EXEC_MODEL_DATA_SIZE_INVALID  model
  the file is no .om, or is cut short
145007 GE_EXEC_MODEL_ADDR_INVALID  model
  the model's bytes are none, or no .om
145008 GE_EXEC_MODEL_QUEUE_ID_INVALID
  there is no queue with this id
145009 GE_EXEC_LOAD_MODEL_REPEATED
  the model is loaded already
145011 GE_DYNAMIC_INPUT_ADDR_INVALID
  the buffer that takes the gear is missing
145012 GE_DYNAMIC_INPUT_LENGTH_INVALID
  the buffer that takes the gear is too small
145013 GE_DYNAMIC_BATCH_SIZE_INVALID
  the size is none of the gears that the model was compiled for
  > use one of its gears (ascend-infer inspect lists them), or compile the model with this one
145014 GE_AIPP_BATCH_EMPTY
  the preprocessing (AIPP) has a batch of 0
145015 GE_AIPP_NOT_EXIST
  the model has no preprocessing (AIPP) at this input
145016 GE_AIPP_MODE_INVALID
  the model's preprocessing (AIPP) is static and cannot be set, or the reverse
145017 GE_OP_TASK_TYPE_INVALID
  an operator's task is of a kind that cannot be run
145018 GE_OP_KERNEL_TYPE_INVALID
  an operator's kernel is of a kind that cannot be run
145019 GE_PLGMGR_PATH_INVALID
  LD_LIBRARY_PATH lacks CANN's lib64 and plugin folders
  > source CANN's set_env.sh before the program starts
  $ source <CANN>/set_env.sh
145020 GE_FORMAT_INVALID
  a tensor's format is not what is expected
145021 GE_SHAPE_INVALID
  a tensor's shape is not what is expected
  > compare it with what the model declares (ascend-infer inspect)
145022 GE_DATATYPE_INVALID
  a tensor's element type is not what is expected
  > compare it with what the model declares (ascend-infer inspect)
245000 GE_MEMORY_ALLOCATION  device-memory retryable
  the card's memory is full
  > lower max_batch_size, instance counts or the memory pool, or see with npu-smi info who else holds memory
245001 GE_MEMORY_OPERATE_FAILED
  an operation on memory failed
245002 GE_DEVICE_MEMORY_OPERATE_FAILED
  an operation on the device's memory failed
345102 GE_SUBHEALTHY
  some of the devices do not work as they should
345103 GE_USER_RAISE_EXCEPTION
  a function of the user's raised an exception
345104 GE_DATA_NOT_ALIGNED
  the data of several sources do not belong together
545000 GE_INTERNAL_ERROR
  the graph engine failed inside
545001 GE_LOAD_MODEL
  the graph engine cannot load the model
  > compare the chip and the CANN it was compiled for with this machine's (ascend-infer doctor MODEL)
545002 GE_EXEC_LOAD_MODEL_PARTITION_FAILED  model chip
  the .om file's graph cannot be read: damaged, or for another CANN or chip
545003 GE_EXEC_LOAD_WEIGHT_PARTITION_FAILED  model chip
  the .om file's weights cannot be read: damaged, or for another CANN or chip
545004 GE_EXEC_LOAD_TASK_PARTITION_FAILED  model chip
  the .om file's tasks cannot be read: damaged, or for another CANN or chip
545005 GE_EXEC_LOAD_KERNEL_PARTITION_FAILED  model chip
  the .om file's kernels cannot be read: damaged, or for another CANN or chip
545006 GE_EXEC_RELEASE_MODEL_DATA
  the model's data cannot be released
545007 GE_COMMAND_HANDLE
  a command to the model failed
545008 GE_GET_TENSOR_INFO
  the model's tensors cannot be described
545009 GE_UNLOAD_MODEL
  the model cannot be unloaded
545601 GE_MODEL_EXECUTE_TIMEOUT  timeout
  the model did not finish in time and was aborted
545602 GE_REDEPLOYING  retryable
  the model is being moved to other devices
"""
