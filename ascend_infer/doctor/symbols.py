"""Functions of the ACL C API that an examination asks for, and which half of the API each belongs to."""

from __future__ import annotations

__all__ = ["OPTIONAL", "REQUIRED", "library_half"]

_REQUIRED = """
    aclInit aclFinalize aclrtGetVersion aclrtSetExceptionInfoCallback
    aclrtGetTaskIdFromExceptionInfo aclrtGetStreamIdFromExceptionInfo aclrtGetThreadIdFromExceptionInfo
    aclrtGetDeviceIdFromExceptionInfo aclrtGetErrorCodeFromExceptionInfo
    aclrtSetDevice aclrtResetDevice aclrtGetDevice aclrtGetDeviceCount aclrtGetRunMode aclrtSynchronizeDevice
    aclrtCreateContext aclrtDestroyContext aclrtSetCurrentContext aclrtGetCurrentContext
    aclrtCreateStream aclrtDestroyStream aclrtSynchronizeStream aclrtStreamWaitEvent
    aclrtCreateEvent aclrtDestroyEvent aclrtRecordEvent aclrtResetEvent aclrtQueryEvent aclrtSynchronizeEvent
    aclrtEventElapsedTime
    aclrtMalloc aclrtFree aclrtMallocHost aclrtFreeHost aclrtMemcpy aclrtMemcpyAsync aclrtMemset
    aclrtMemsetAsync aclrtGetMemInfo
    aclrtSubscribeReport aclrtUnSubscribeReport aclrtProcessReport aclrtLaunchCallback
    aclCreateDataBuffer aclDestroyDataBuffer aclGetDataBufferAddr aclGetDataBufferSize aclGetDataBufferSizeV2
    aclDataTypeSize aclFloat16ToFloat aclFloatToFloat16
    aclCreateTensorDesc aclDestroyTensorDesc aclGetTensorDescType aclGetTensorDescFormat aclGetTensorDescSize
    aclGetTensorDescElementCount aclGetTensorDescNumDims aclGetTensorDescDimV2
    aclmdlLoadFromFile aclmdlLoadFromMem aclmdlLoadFromFileWithMem aclmdlLoadFromMemWithMem
    aclmdlLoadFromFileWithQ aclmdlLoadFromMemWithQ aclmdlUnload aclmdlQuerySize aclmdlQuerySizeFromMem
    aclmdlCreateDesc aclmdlDestroyDesc aclmdlGetDesc aclmdlGetNumInputs aclmdlGetNumOutputs
    aclmdlGetInputSizeByIndex aclmdlGetOutputSizeByIndex aclmdlGetInputDims aclmdlGetInputDimsV2
    aclmdlGetOutputDims aclmdlGetCurOutputDims aclmdlGetInputNameByIndex aclmdlGetOutputNameByIndex
    aclmdlGetInputFormat aclmdlGetOutputFormat aclmdlGetInputDataType aclmdlGetOutputDataType
    aclmdlGetInputIndexByName aclmdlGetOutputIndexByName aclmdlGetDynamicBatch aclmdlGetDynamicHW
    aclmdlGetInputDynamicGearCount aclmdlGetInputDynamicDims
    aclmdlCreateDataset aclmdlDestroyDataset aclmdlAddDatasetBuffer aclmdlGetDatasetNumBuffers
    aclmdlGetDatasetBuffer aclmdlExecute aclmdlExecuteAsync aclmdlSetDynamicBatchSize aclmdlSetDynamicHWSize
    aclmdlSetInputDynamicDims
    aclmdlCreateAIPP aclmdlDestroyAIPP aclmdlSetAIPPInputFormat aclmdlSetAIPPSrcImageSize
    aclmdlSetAIPPByInputIndex aclmdlGetAippType
    """

#: In the oldest public headers (CANN 20.x): every libascendcl exports them.
REQUIRED: tuple[str, ...] = tuple(_REQUIRED.split())

#: Release of CANN whose public headers are known to have it -> functions; an upper bound.
OPTIONAL: dict[str, tuple[str, ...]] = {
    release: tuple(names.split())
    for release, names in {
        "5.0": "aclGetRecentErrMsg aclrtGetSocName aclUpdateDataBuffer aclrtCreateEventWithFlag"
        " aclmdlCreateConfigHandle aclmdlSetConfigOpt aclmdlLoadWithConfig aclmdlSetDatasetTensorDesc"
        " aclmdlGetDatasetTensorDesc aclmdlGetTensorRealName",
        "5.1": "aclrtQueryEventStatus",
        "6.0": "aclrtCreateStreamWithConfig aclrtSynchronizeStreamWithTimeout",
        "6.3": "aclrtSetStreamFailureMode",
        "7.0": "aclrtMallocAlign32 aclrtStreamQuery aclrtQueryDeviceStatus aclrtGetDeviceUtilizationRate",
        "8.0": "aclmdlExecuteV2 aclmdlExecuteAsyncV2 aclmdlGetDescFromFile aclrtPeekAtLastError",
        "8.2": "aclrtMallocWithCfg aclrtMallocHostWithCfg aclrtPointerGetAttributes aclrtHostRegister"
        " aclrtGetStreamAvailableNum aclsysGetCANNVersion",
        "8.5": "aclFinalizeReference aclsysGetVersionStr aclsysGetVersionNum aclrtLaunchHostFunc"
        " aclrtGetMemUsageInfo",
    }.items()
}


def library_half(function: str) -> str:
    """Return the file that has a function since CANN 8.5 split the API: libacl_rt.so or libacl_mdl.so."""
    is_model = function.startswith("aclmdl") or "TensorDesc" in function
    return "libacl_mdl.so" if is_model else "libacl_rt.so"
