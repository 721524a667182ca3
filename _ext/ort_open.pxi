# Opening onnxruntime's library, and models in it.
from core_ort cimport OrtRuntime, OrtSettings, OrtTensorDescription, load_bytes, load_path, open_runtime

from ascend_infer.types import DataType


cdef object described(const vector[OrtTensorDescription] &tensors):
    cdef size_t i
    return tuple([
        (
            tensors[i].name.decode("utf-8", "surrogateescape"),
            tensors[i].type,
            dims_tuple(tensors[i].dims),
            tensors[i].optional,
        )
        for i in range(tensors.size())
    ])


cdef object element_dtype(int code):
    """The numpy dtype of an ONNX element type whose elements are numbers of whole bytes; None for others."""
    try:
        dtype = DataType.from_onnx(code).numpy
    except (KeyError, ImportError):
        return None
    return None if dtype.hasobject or DataType.from_onnx(code) is DataType.INT4 else dtype


cdef const OrtRuntime *runtime_of(object library) except NULL:
    cdef const OrtRuntime *runtime = NULL
    cdef string place = os.fsencode(library)
    # Under the interpreter's lock: a fork cannot come between, and it is once a process.
    cdef OrtFailure failure = open_runtime(place, runtime)
    if not failure.ok():
        raise ort_exception(failure, os.fsdecode(library))
    return runtime


def ort_version(library):
    return (<bytes>dereference(runtime_of(library)).version()).decode()


def open_ort_session(
    library,
    source,
    *,
    int intra_threads=0,
    int inter_threads=0,
    bint parallel=False,
    int graph_level=99,
    int log_severity=4,
    mem_arena=None,
    mem_pattern=None,
    session_entries=(),
    run_entries=(),
):
    cdef OrtSettings settings
    settings.intra_threads = intra_threads
    settings.inter_threads = inter_threads
    settings.parallel = parallel
    settings.graph_level = graph_level
    settings.log_severity = log_severity
    settings.mem_arena = -1 if mem_arena is None else bool(mem_arena)
    settings.mem_pattern = -1 if mem_pattern is None else bool(mem_pattern)
    for key, value in session_entries:
        settings.session_entries.push_back((<string>os.fsencode(key), <string>os.fsencode(value)))
    for key, value in run_entries:
        settings.run_entries.push_back((<string>os.fsencode(key), <string>os.fsencode(value)))
    cdef const OrtRuntime *runtime = runtime_of(library)
    cdef OrtFailure failure
    cdef OrtSession session = OrtSession.__new__(OrtSession)
    cdef bytes content
    cdef const char *data
    cdef size_t size
    if isinstance(source, bytes):
        content = source
        data = content
        size = len(content)
        with nogil:
            failure = load_bytes(dereference(runtime), data, size, settings, session._model)
    else:
        content = os.fsencode(source)
        data = content
        with nogil:
            failure = load_path(dereference(runtime), data, settings, session._model)
    if not failure.ok():
        raise ort_exception(failure, os.fsdecode(library))
    session._inputs = described(dereference(session._model).inputs())
    session._outputs = described(dereference(session._model).outputs())
    session._required = len([item for item in session._inputs if not item[3]])
    session._input_dtypes = tuple([element_dtype(item[1]) for item in session._inputs])
    session._output_dtypes = tuple([element_dtype(item[1]) for item in session._outputs])
    session._rules.resize(len(session._outputs))
    return session
