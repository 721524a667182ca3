# OrtSession: an ONNX model in onnxruntime, run from arrays to arrays.
cimport numpy
from core_ort cimport (
    OrtDimRule,
    OrtInput,
    OrtModel,
    OrtOutput,
    OrtPace,
    OrtRequest,
    OrtRunOptions,
    OrtShapeRule,
    most_dims,
    pace_key,
)
from libc.stdint cimport uint64_t
from libcpp.utility cimport move

cdef object refused_array(str kind, str name, object array, object dtype):
    got = f"{array.dtype} array" if isinstance(array, numpy.ndarray) else type(array).__name__
    return InvalidInputError(
        f"{kind} {name!r}: got {got}, expected a C-contiguous, aligned ndarray of {dtype}",
        input=name, expected=f"a C-contiguous ndarray of {dtype}", got=got,
    )


cdef object missing_input(str name):
    return InvalidInputError(f"input {name!r} is missing", input=name, expected="an array", got="nothing")


@cython.final
@cython.no_gc
cdef class OrtSession:
    cdef shared_ptr[OrtModel] _model
    cdef vector[OrtShapeRule] _rules
    cdef OrtPace _pace
    cdef bint _timed_by_shapes
    cdef Py_ssize_t _required  # inputs that have to be fed; they come first
    cdef tuple _inputs
    cdef tuple _outputs
    cdef tuple _input_dtypes
    cdef tuple _output_dtypes

    def __init__(self):
        raise TypeError("sessions come from open_ort_session")

    @property
    def inputs(self):
        return self._inputs

    @property
    def outputs(self):
        return self._outputs

    @property
    def version(self):
        return (<bytes>dereference(self._model).runtime().version()).decode()

    def expect(self, shapes, *, bint timed_by_shapes=False):
        cdef vector[OrtShapeRule] rules
        cdef vector[OrtDimRule] dims
        cdef OrtDimRule dim
        cdef OrtShapeRule rule
        if len(shapes) != len(self._outputs):
            raise InvalidOptionError(
                f"shapes: got {len(shapes)}, expected one for each of {len(self._outputs)} outputs", option="shapes"
            )
        for shape in shapes:
            rule = OrtShapeRule()
            if shape is not None:
                dims.clear()
                for size in shape:
                    dim = OrtDimRule()
                    if isinstance(size, int):
                        dim.size = size
                    else:
                        dim.size = -1
                        dim.input, dim.axis = size
                    dims.push_back(dim)
                rule.set(dims)
            rules.push_back(rule)
        self._rules = rules
        self._timed_by_shapes = timed_by_shapes

    def new_stop(self):
        cdef OrtStop stop = OrtStop.__new__(OrtStop)
        cdef OrtFailure failure = dereference(self._model).run_options(stop._options)
        if not failure.ok():
            raise ort_exception(failure, "onnxruntime")
        return stop

    cdef int _feed(self, tuple arrays, OrtRequest &request) except -1:
        cdef Py_ssize_t i
        cdef OrtInput piece
        cdef numpy.ndarray array
        if len(arrays) > len(self._inputs):
            raise InvalidInputError(
                f"got {len(arrays)} inputs, expected at most {len(self._inputs)}", got=str(len(arrays))
            )
        if len(arrays) < self._required:
            raise missing_input(self._inputs[len(arrays)][0])
        request.inputs.reserve(len(arrays))
        for i in range(len(arrays)):
            item = arrays[i]
            if item is None:
                if i < self._required:
                    raise missing_input(self._inputs[i][0])
                continue
            if not isinstance(item, numpy.ndarray):
                raise refused_array("input", self._inputs[i][0], item, self._input_dtypes[i])
            array = item
            if not self._fits(array, self._input_dtypes[i]) or not numpy.PyArray_ISCARRAY_RO(array):
                raise refused_array("input", self._inputs[i][0], item, self._input_dtypes[i])
            piece.index = <size_t>i
            piece.data = numpy.PyArray_DATA(array)
            piece.bytes = <size_t>numpy.PyArray_NBYTES(array)
            piece.dims = <const int64_t *>numpy.PyArray_DIMS(array)
            piece.rank = <size_t>numpy.PyArray_NDIM(array)
            request.inputs.push_back(piece)
        return 0

    cdef bint _fits(self, numpy.ndarray array, object dtype) except -1:
        return dtype is not None and (<object>numpy.PyArray_DESCR(array) is dtype or array.dtype == dtype)

    cdef list _place(self, tuple outputs, list out, OrtRequest &request):
        """Arrays for outputs whose shape is known; None where onnxruntime is to allocate."""
        cdef int64_t[most_dims] dims
        cdef size_t nbytes = 0
        cdef Py_ssize_t i, j, count = len(outputs)
        cdef size_t index
        cdef OrtOutput *output
        cdef list results = []
        if out is not None and len(out) != count:
            raise InvalidInputError(f"out: got {len(out)} arrays, expected {count}", got=str(len(out)))
        request.outputs.resize(count)
        for i in range(count):
            index = outputs[i]
            if index >= self._rules.size():
                raise IndexError(index)
            dtype = self._output_dtypes[index]
            if dtype is None:
                raise InvalidInputError(f"output {self._outputs[index][0]!r} holds no numbers that an array can have")
            for j in range(i):
                if request.outputs[j].index == index:
                    raise InvalidInputError(f"output {self._outputs[index][0]!r} is asked for twice")
            output = &request.outputs[i]
            output.index = index
            given = None if out is None else out[i]
            if not self._rules[index].predict(request, <size_t>(<numpy.dtype>dtype).itemsize, dims, nbytes):
                results.append(None)
                continue
            if given is None:
                array = fresh_array(dtype, <int>self._rules[index].rank(), dims, NULL)
            elif self._takes(given, dtype, <int>self._rules[index].rank(), dims):
                array = given
            else:
                results.append(None)
                continue
            output.data = numpy.PyArray_DATA(<numpy.ndarray>array)
            output.bytes = nbytes
            output.dims = <const int64_t *>numpy.PyArray_DIMS(<numpy.ndarray>array)
            output.rank = self._rules[index].rank()
            results.append(array)
        return results

    cdef bint _takes(self, object given, object dtype, int rank, const int64_t *dims) except -1:
        """Whether an output of this shape can be written into the caller's array."""
        cdef int i
        if not isinstance(given, numpy.ndarray):
            return False
        cdef numpy.ndarray array = given
        if not self._fits(array, dtype) or not numpy.PyArray_ISCARRAY(array) or numpy.PyArray_NDIM(array) != rank:
            return False
        for i in range(rank):
            if numpy.PyArray_DIMS(array)[i] != dims[i]:
                return False
        return True

    cdef int _collect(self, OrtRequest &request, list results) except -1:
        """Arrays for what onnxruntime allocated."""
        cdef size_t i
        cdef int kind = 0
        cdef void *data = NULL
        cdef vector[int64_t] dims
        cdef OrtFailure failure
        cdef OrtOutput *output
        for i in range(request.outputs.size()):
            output = &request.outputs[i]
            if not output.made.held():
                continue
            failure = output.made.look(data, kind, dims)
            if not failure.ok():
                raise ort_exception(failure, "onnxruntime")
            if kind != self._outputs[output.index][1]:
                raise OrtError(0, f"output {self._outputs[output.index][0]!r} has ONNX type {kind}, and not its own")
            results[i] = array_of(output.made, self._output_dtypes[output.index], data, dims)
        return 0

    cdef list _again(self, OrtRequest &failed, list results, tuple outputs, const OrtRunOptions *options):
        """Results of a run that failed, from another where nothing is written in place; raises what that comes to.

        A model may give another shape than it declares, and onnxruntime finds out when it has to write it.
        """
        cdef OrtRequest request
        cdef OrtModel *model = self._model.get()
        cdef size_t i
        cdef bint placed = False
        for i in range(failed.outputs.size()):
            placed = placed or failed.outputs[i].data != NULL
        if not placed or not failed.failure.of_shape():
            raise ort_exception(failed.failure, "onnxruntime")
        request.inputs = failed.inputs
        request.outputs.resize(failed.outputs.size())
        for i in range(failed.outputs.size()):
            request.outputs[i].index = failed.outputs[i].index
        with nogil:
            model.run(request, options)
        if not request.failure.ok():
            raise ort_exception(request.failure, "onnxruntime")
        fresh = [None] * len(results)
        self._collect(request, fresh)
        for i in range(failed.outputs.size()):
            if results[i] is not None and fresh[i].shape != results[i].shape:
                self._rules[failed.outputs[i].index].forget()
        return fresh

    def run(self, list arrays not None, tuple outputs not None, list out=None, OrtStop stop=None):
        cdef OrtRequest request
        cdef OrtModel *model = self._model.get()
        cdef OrtRunOptions *options = NULL
        if stop is not None:
            options = stop._options.get()
        cdef tuple held = tuple(arrays)
        cdef uint64_t key = 0
        self._feed(held, request)
        cdef list results = self._place(outputs, out, request)
        if not self._timed_by_shapes or stop is not None:
            with nogil:
                model.run(request, options)
        else:
            key = pace_key(request)
            if self._pace.quick(key):
                # Letting the interpreter go and getting it back would take longer than the run.
                model.run(request, options)
            else:
                with nogil:
                    model.run(request, options)
            self._pace.note(key, request.nanoseconds)
        if not request.failure.ok():
            return self._again(request, results, outputs, options)
        self._collect(request, results)
        return results

    def run_many(self, list requests not None, tuple outputs not None, OrtStop stop=None):
        cdef vector[OrtRequest] batch
        cdef OrtModel *model = self._model.get()
        cdef OrtRunOptions *options = NULL
        if stop is not None:
            options = stop._options.get()
        cdef size_t i, count = len(requests)
        cdef list held = []
        cdef list answers = []
        cdef list results
        batch.resize(count)
        for i in range(count):
            try:
                arrays = tuple(requests[i])
                held.append(arrays)
                self._feed(arrays, batch[i])
                answers.append(self._place(outputs, None, batch[i]))
            except Exception as error:
                batch[i].outputs.clear()
                answers.append(error)
        with nogil:
            for i in range(count):
                if batch[i].outputs.size() != 0:
                    model.run(batch[i], options)
        for i in range(count):
            if batch[i].outputs.size() == 0:
                continue
            try:
                results = answers[i]
                if batch[i].failure.ok():
                    self._collect(batch[i], results)
                else:
                    answers[i] = self._again(batch[i], results, outputs, options)
            except Exception as error:
                answers[i] = error
        return answers

    def __dealloc__(self):
        # Ending a session joins its threads.
        cdef shared_ptr[OrtModel] model = move(self._model)
        with nogil:
            model.reset()

    def __reduce__(self):
        raise CopyError("a loaded model cannot be copied or pickled")

    def __repr__(self):
        inputs = ", ".join(item[0] for item in self._inputs)
        outputs = ", ".join(item[0] for item in self._outputs)
        return f"<OrtSession {inputs} -> {outputs}>"
