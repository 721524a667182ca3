/* The AscendCL ABI as this project declares it: handles, numbers and struct layouts, no function.
 *
 * Both sides of the C edge include this one file: the code that loads a real libascendcl.so and the simulator. It is
 * our own statement of the public ABI (CANN 20.x to 9.x, LP64 Linux); the assertions at the end hold the layouts.
 * Enumerations are plain C ints here: a caller may hand over any number, and that must stay defined behaviour.
 */
#ifndef ASCEND_INFER_ACL_TYPES_H
#define ASCEND_INFER_ACL_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int aclError;
typedef uint16_t aclFloat16;

/* Handles that are plain pointers. */
typedef void *aclrtStream;
typedef void *aclrtEvent;
typedef void *aclrtContext;
typedef void *aclrtAllocatorDesc;
typedef void *aclrtAllocator;
typedef void *aclrtAllocatorBlock;
typedef void *aclrtAllocatorAddr;
typedef void *aclrtMemPool;
typedef void *aclrtDrvMemHandle;
typedef void *aclmdlModel;
typedef void *aclrtNotify;
typedef void *aclrtFuncHandle;

/* Handles that are pointers to a struct that only the library knows. */
typedef struct aclDataBuffer aclDataBuffer;
typedef struct aclTensorDesc aclTensorDesc;
typedef struct aclmdlDataset aclmdlDataset;
typedef struct aclmdlDesc aclmdlDesc;
typedef struct aclmdlAIPP aclmdlAIPP;
typedef struct aclmdlConfigHandle aclmdlConfigHandle;
typedef struct aclmdlExecConfigHandle aclmdlExecConfigHandle;
typedef struct aclrtExceptionInfo aclrtExceptionInfo;
typedef struct aclrtPhysicalMemProp aclrtPhysicalMemProp;
typedef struct aclrtMemPoolProps aclrtMemPoolProps;
typedef struct aclrtUuid aclrtUuid;
typedef struct aclrtUtilizationExtendInfo aclrtUtilizationExtendInfo;
typedef struct aclAippExtendInfo aclAippExtendInfo;

/* Enumerations: all are C ints in the ABI. */
typedef int aclDataType;
typedef int aclFormat;
typedef int aclrtRunMode;
typedef int aclrtMemMallocPolicy;
typedef int aclrtMemcpyKind;
typedef int aclrtMemAttr;
typedef int aclrtStreamStatus;
typedef int aclrtStreamState;
typedef int aclrtStreamConfigAttr;
typedef int aclrtStreamAttr;
typedef int aclrtEventStatus;
typedef int aclrtEventRecordedStatus;
typedef int aclrtEventWaitStatus;
typedef int aclrtCallbackBlockType;
typedef int aclrtHostRegisterType;
typedef int aclrtMemLocationType;
typedef int aclrtMallocAttrType;
typedef int aclrtLastErrLevel;
typedef int aclrtDeviceStatus;
typedef int aclrtDevAttr;
typedef int aclDeviceInfo;
typedef int aclCANNPackageName;
typedef int aclmdlInputAippType;
typedef int aclAippInputFormat;
typedef int aclmdlConfigAttr;
typedef int aclmdlExecConfigAttr;
typedef int aclmdlAttr;
typedef int aclrtMemPoolAttr;
typedef int aclrtDevResLimitType;
typedef int aclrtDevFeatureType;
typedef int aclCannAttr;

enum {
  ACL_DT_UNDEFINED = -1, ACL_FLOAT = 0, ACL_FLOAT16 = 1, ACL_INT8 = 2, ACL_INT32 = 3, ACL_UINT8 = 4, ACL_INT16 = 6,
  ACL_UINT16 = 7, ACL_UINT32 = 8, ACL_INT64 = 9, ACL_UINT64 = 10, ACL_DOUBLE = 11, ACL_BOOL = 12, ACL_STRING = 13,
  ACL_COMPLEX64 = 16, ACL_COMPLEX128 = 17, ACL_BF16 = 27, ACL_INT4 = 29, ACL_UINT1 = 30, ACL_COMPLEX32 = 33,
  ACL_HIFLOAT8 = 34, ACL_FLOAT8_E5M2 = 35, ACL_FLOAT8_E4M3FN = 36, ACL_FLOAT8_E8M0 = 37
};
enum {
  ACL_FORMAT_UNDEFINED = -1, ACL_FORMAT_NCHW = 0, ACL_FORMAT_NHWC = 1, ACL_FORMAT_ND = 2, ACL_FORMAT_NC1HWC0 = 3
};
enum { ACL_DEVICE = 0, ACL_HOST = 1 };
enum {
  ACL_MEM_MALLOC_HUGE_FIRST = 0, ACL_MEM_MALLOC_HUGE_ONLY = 1, ACL_MEM_MALLOC_NORMAL_ONLY = 2,
  ACL_MEM_MALLOC_HUGE_FIRST_P2P = 3, ACL_MEM_MALLOC_HUGE_ONLY_P2P = 4, ACL_MEM_MALLOC_NORMAL_ONLY_P2P = 5,
  ACL_MEM_MALLOC_HUGE1G_ONLY = 6, ACL_MEM_MALLOC_HUGE1G_ONLY_P2P = 7, ACL_MEM_TYPE_LOW_BAND_WIDTH = 0x100,
  ACL_MEM_TYPE_HIGH_BAND_WIDTH = 0x1000, ACL_MEM_ACCESS_USER_SPACE_READONLY = 0x100000
};
enum {
  ACL_MEMCPY_HOST_TO_HOST = 0, ACL_MEMCPY_HOST_TO_DEVICE = 1, ACL_MEMCPY_DEVICE_TO_HOST = 2,
  ACL_MEMCPY_DEVICE_TO_DEVICE = 3, ACL_MEMCPY_DEFAULT = 4
};
enum {
  ACL_DDR_MEM = 0, ACL_HBM_MEM = 1, ACL_DDR_MEM_HUGE = 2, ACL_DDR_MEM_NORMAL = 3, ACL_HBM_MEM_HUGE = 4,
  ACL_HBM_MEM_NORMAL = 5, ACL_MEM_P2P_HUGE1G = 17
};
enum { ACL_STREAM_STATUS_COMPLETE = 0, ACL_STREAM_STATUS_NOT_READY = 1 };
enum { ACL_RT_STREAM_STATE_CREATE_POST = 1, ACL_RT_STREAM_STATE_DESTROY_PRE = 2 };
enum { ACL_EVENT_STATUS_COMPLETE = 0, ACL_EVENT_STATUS_NOT_READY = 1 };
enum { ACL_EVENT_RECORDED_STATUS_NOT_READY = 0, ACL_EVENT_RECORDED_STATUS_COMPLETE = 1 };
enum { ACL_EVENT_WAIT_STATUS_COMPLETE = 0, ACL_EVENT_WAIT_STATUS_NOT_READY = 1 };
enum {
  ACL_EVENT_SYNC = 0x1, ACL_EVENT_CAPTURE_STREAM_PROGRESS = 0x2, ACL_EVENT_TIME_LINE = 0x8,
  ACL_EVENT_DEVICE_USE_ONLY = 0x10, ACL_EVENT_EXTERNAL = 0x20, ACL_EVENT_IPC = 0x40
};
enum {
  ACL_STREAM_FAST_LAUNCH = 0x1, ACL_STREAM_FAST_SYNC = 0x2, ACL_STREAM_PERSISTENT = 0x4, ACL_STREAM_HUGE = 0x8,
  ACL_STREAM_CPU_SCHEDULE = 0x10, ACL_STREAM_DEVICE_USE_ONLY = 0x20
};
enum { ACL_CONTINUE_ON_FAILURE = 0, ACL_STOP_ON_FAILURE = 1 };
enum { ACL_CALLBACK_NO_BLOCK = 0, ACL_CALLBACK_BLOCK = 1 };
enum {
  ACL_MEM_LOCATION_TYPE_HOST = 0, ACL_MEM_LOCATION_TYPE_DEVICE = 1, ACL_MEM_LOCATION_TYPE_UNREGISTERED = 2
};
enum { ACL_RT_MEM_ATTR_RSV = 0, ACL_RT_MEM_ATTR_MODULE_ID = 1, ACL_RT_MEM_ATTR_DEVICE_ID = 2, ACL_RT_MEM_ATTR_VA_FLAG = 3 };
enum { ACL_RT_THREAD_LEVEL = 0 };
enum {
  ACL_STREAM_ATTR_FAILURE_MODE = 1, ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK = 2, ACL_STREAM_ATTR_USER_CUSTOM_TAG = 3,
  ACL_STREAM_ATTR_CACHE_OP_INFO = 4, ACL_STREAM_ATTR_PRIORITY = 5
};
enum {
  ACL_RT_STREAM_WORK_ADDR_PTR = 0, ACL_RT_STREAM_WORK_SIZE = 1, ACL_RT_STREAM_FLAG = 2, ACL_RT_STREAM_PRIORITY = 3
};
enum {
  ACL_STREAM_WAIT_VALUE_GEQ = 0, ACL_STREAM_WAIT_VALUE_EQ = 1, ACL_STREAM_WAIT_VALUE_AND = 2,
  ACL_STREAM_WAIT_VALUE_NOR = 3
};
enum { ACL_RT_NO_ERROR = 0, ACL_RT_ERROR_MEMORY = 1, ACL_RT_ERROR_AICORE = 3, ACL_RT_ERROR_OTHERS = 0xFFFF };
enum { ACL_RT_DEV_RES_CUBE_CORE = 0, ACL_RT_DEV_RES_VECTOR_CORE = 1 };
enum { ACL_CANN_ATTR_INF_NAN = 0, ACL_CANN_ATTR_BF16 = 1, ACL_CANN_ATTR_JIT_COMPILE = 2 };
enum { ACL_RT_DEVICE_STATUS_NORMAL = 0, ACL_RT_DEVICE_STATUS_ABNORMAL = 1, ACL_RT_DEVICE_STATUS_END = 0xFFFF };
enum {
  ACL_DEV_ATTR_AICPU_CORE_NUM = 1, ACL_DEV_ATTR_AICORE_CORE_NUM = 101, ACL_DEV_ATTR_CUBE_CORE_NUM = 102,
  ACL_DEV_ATTR_VECTOR_CORE_NUM = 201, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE = 301, ACL_DEV_ATTR_L2_CACHE_SIZE = 302
};
enum { ACL_DEVICE_INFO_AI_CORE_NUM = 0, ACL_DEVICE_INFO_VECTOR_CORE_NUM = 1, ACL_DEVICE_INFO_L2_SIZE = 2 };
enum {
  ACL_DATA_WITHOUT_AIPP = 0, ACL_DATA_WITH_STATIC_AIPP = 1, ACL_DATA_WITH_DYNAMIC_AIPP = 2, ACL_DYNAMIC_AIPP_NODE = 3
};
enum {
  ACL_YUV420SP_U8 = 1, ACL_XRGB8888_U8 = 2, ACL_RGB888_U8 = 3, ACL_YUV400_U8 = 4, ACL_ARGB8888_U8 = 7, ACL_YUYV_U8 = 8,
  ACL_YUV422SP_U8 = 9, ACL_AYUV444_U8 = 10
};
enum {
  ACL_MDL_PRIORITY_INT32 = 0, ACL_MDL_LOAD_TYPE_SIZET = 1, ACL_MDL_PATH_PTR = 2, ACL_MDL_MEM_ADDR_PTR = 3,
  ACL_MDL_MEM_SIZET = 4, ACL_MDL_WEIGHT_ADDR_PTR = 5, ACL_MDL_WEIGHT_SIZET = 6, ACL_MDL_WORKSPACE_ADDR_PTR = 7,
  ACL_MDL_WORKSPACE_SIZET = 8, ACL_MDL_INPUTQ_NUM_SIZET = 9, ACL_MDL_INPUTQ_ADDR_PTR = 10,
  ACL_MDL_OUTPUTQ_NUM_SIZET = 11, ACL_MDL_OUTPUTQ_ADDR_PTR = 12, ACL_MDL_WORKSPACE_MEM_OPTIMIZE = 13,
  ACL_MDL_WEIGHT_PATH_PTR = 14, ACL_MDL_WITHOUT_GRAPH_INT32 = 28
};
enum {
  ACL_MDL_LOAD_FROM_FILE = 1, ACL_MDL_LOAD_FROM_FILE_WITH_MEM = 2, ACL_MDL_LOAD_FROM_MEM = 3,
  ACL_MDL_LOAD_FROM_MEM_WITH_MEM = 4, ACL_MDL_LOAD_FROM_FILE_WITH_Q = 5, ACL_MDL_LOAD_FROM_MEM_WITH_Q = 6
};
enum { ACL_MDL_STREAM_SYNC_TIMEOUT = 0, ACL_MDL_EVENT_SYNC_TIMEOUT = 1 };
enum { ACL_MDL_ATTR_PRIORITY_INT32 = 0 };

#define ACL_DIM_ENDPOINTS 2
#define ACL_MAX_DIM_CNT 128
#define ACL_MAX_TENSOR_NAME_LEN 128
#define ACL_MAX_BATCH_NUM 128
#define ACL_MAX_HW_NUM 128
#define ACL_MAX_SHAPE_COUNT 128
#define ACL_DYNAMIC_TENSOR_NAME "ascend_mbatch_shape_data"
#define ACL_DYNAMIC_AIPP_NAME "ascend_dynamic_aipp_data"

typedef struct { char name[ACL_MAX_TENSOR_NAME_LEN]; size_t dimCount; int64_t dims[ACL_MAX_DIM_CNT]; } aclmdlIODims;
typedef struct { size_t rangeCount; int64_t range[ACL_MAX_DIM_CNT][ACL_DIM_ENDPOINTS]; } aclmdlIODimsRange;
typedef struct { size_t batchCount; uint64_t batch[ACL_MAX_BATCH_NUM]; } aclmdlBatch;
typedef struct { size_t hwCount; uint64_t hw[ACL_MAX_HW_NUM][2]; } aclmdlHW;

typedef struct {
  int32_t cubeUtilization, vectorUtilization, aicpuUtilization, memoryUtilization;
  aclrtUtilizationExtendInfo *utilizationExtend;
} aclrtUtilizationInfo;

typedef struct { uint32_t id; aclrtMemLocationType type; } aclrtMemLocation;
typedef struct { aclrtMemLocation location; uint32_t pageSize; uint32_t rsv[4]; } aclrtPtrAttributes;
typedef union { uint16_t moduleId; uint32_t deviceId; uint32_t vaFlag; uint8_t rsv[8]; } aclrtMallocAttrValue;
typedef struct { aclrtMallocAttrType attr; aclrtMallocAttrValue value; } aclrtMallocAttribute;
typedef struct { aclrtMallocAttribute *attrs; size_t numAttrs; } aclrtMallocConfig;
typedef struct { char name[32]; uint64_t curMemSize; uint64_t memPeakSize; size_t reserved[8]; } aclrtMemUsageInfo;
typedef struct aclrtStreamConfigHandle { void *workptr; size_t workSize; size_t flag; uint32_t priority; } aclrtStreamConfigHandle;
typedef union {
  uint64_t failureMode;
  uint32_t overflowSwitch, userCustomTag, cacheOpInfoSwitch, streamPriority;
  uint32_t reserve[4];
} aclrtStreamAttrValue;
typedef struct { aclrtMemLocation dstLoc; aclrtMemLocation srcLoc; uint8_t rsv[16]; } aclrtMemcpyBatchAttr;

typedef struct { void *addr; size_t len; size_t reserved[14]; } aclrtMemUceInfo;
typedef struct {
  uint8_t tryRepair, hasDetail, reserved[2];
  int errorType;
  union {
    struct { size_t arraySize; aclrtMemUceInfo memUceInfoArray[20]; } uceInfo;
    int aicoreErrType;
  } detail;
} aclrtErrorInfo;

typedef struct {
  char version[128], majorVersion[64], minorVersion[64], releaseVersion[64], patchVersion[64], reserved[128];
} aclCANNPackageVersion;

typedef struct {
  size_t workSize, weightSize, modelDescSize, kernelSize, kernelArgsSize, staticTaskSize, dynamicTaskSize, fifoTaskSize;
  size_t reserved[8];
} aclmdlExeOMDesc;

typedef union { int32_t priority; uint32_t rsv[8]; } aclmdlAttrValue_t;

typedef struct { aclmdlIODims srcDims; size_t srcSize; aclmdlIODims aippOutdims; size_t aippOutSize; } aclAippDims;
/* About 300 kB: never on a stack. */
typedef struct {
  aclAippInputFormat inputFormat;
  int32_t srcImageSizeW, srcImageSizeH;
  int8_t cropSwitch;
  int32_t loadStartPosW, loadStartPosH, cropSizeW, cropSizeH;
  int8_t resizeSwitch;
  int32_t resizeOutputW, resizeOutputH;
  int8_t paddingSwitch;
  int32_t leftPaddingSize, rightPaddingSize, topPaddingSize, bottomPaddingSize;
  int8_t cscSwitch, rbuvSwapSwitch, axSwapSwitch, singleLineMode;
  int32_t matrixR0C0, matrixR0C1, matrixR0C2, matrixR1C0, matrixR1C1, matrixR1C2, matrixR2C0, matrixR2C1, matrixR2C2;
  int32_t outputBias0, outputBias1, outputBias2, inputBias0, inputBias1, inputBias2;
  int32_t meanChn0, meanChn1, meanChn2, meanChn3;
  float minChn0, minChn1, minChn2, minChn3;
  float varReciChn0, varReciChn1, varReciChn2, varReciChn3;
  aclFormat srcFormat;
  aclDataType srcDatatype;
  size_t srcDimNum;
  size_t shapeCount;
  aclAippDims outDims[ACL_MAX_SHAPE_COUNT];
  aclAippExtendInfo *aippExtend;
} aclAippInfo;

/* Functions that the caller gives to the library. */
typedef void (*aclrtCallback)(void *user_data);
typedef void (*aclrtHostFunc)(void *args);
typedef void (*aclrtExceptionInfoCallback)(aclrtExceptionInfo *info);
typedef void (*aclrtStreamStateCallback)(aclrtStream stream, aclrtStreamState state, void *args);
typedef void *(*aclrtAllocatorAllocFunc)(aclrtAllocator allocator, size_t size);
typedef void (*aclrtAllocatorFreeFunc)(aclrtAllocator allocator, aclrtAllocatorBlock block);
typedef void *(*aclrtAllocatorAllocAdviseFunc)(aclrtAllocator allocator, size_t size, aclrtAllocatorAddr address);
typedef void *(*aclrtAllocatorGetAddrFromBlockFunc)(aclrtAllocatorBlock block);

#ifdef __cplusplus
}
#define ACL_TYPES_ASSERT(condition) static_assert(condition, #condition)
#else
#define ACL_TYPES_ASSERT(condition) _Static_assert(condition, #condition)
#endif

ACL_TYPES_ASSERT(sizeof(void *) == 8 && sizeof(size_t) == 8 && sizeof(int) == 4);
ACL_TYPES_ASSERT(sizeof(aclmdlIODims) == 1160);
ACL_TYPES_ASSERT(offsetof(aclmdlIODims, dimCount) == 128 && offsetof(aclmdlIODims, dims) == 136);
ACL_TYPES_ASSERT(sizeof(aclmdlIODimsRange) == 2056 && sizeof(aclmdlBatch) == 1032 && sizeof(aclmdlHW) == 2056);
ACL_TYPES_ASSERT(sizeof(aclrtUtilizationInfo) == 24 && offsetof(aclrtUtilizationInfo, utilizationExtend) == 16);
ACL_TYPES_ASSERT(sizeof(aclrtPtrAttributes) == 28 && offsetof(aclrtPtrAttributes, pageSize) == 8);
ACL_TYPES_ASSERT(sizeof(aclrtMallocConfig) == 16 && sizeof(aclrtMallocAttribute) == 12);
ACL_TYPES_ASSERT(sizeof(aclrtMemUsageInfo) == 112 && sizeof(aclCANNPackageVersion) == 512);
ACL_TYPES_ASSERT(sizeof(aclrtMemcpyBatchAttr) == 32 && sizeof(aclrtStreamConfigHandle) == 32);
ACL_TYPES_ASSERT(sizeof(aclrtStreamAttrValue) == 16 && sizeof(aclrtErrorInfo) == 2576);
ACL_TYPES_ASSERT(sizeof(aclmdlExeOMDesc) == 128 && sizeof(aclmdlAttrValue_t) == 32);
ACL_TYPES_ASSERT(sizeof(aclAippDims) == 2336 && sizeof(aclAippInfo) == 299216);

#undef ACL_TYPES_ASSERT
#endif
