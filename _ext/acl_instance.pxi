# AclInstance: one loaded copy of a model; a batch's way from arrays to arrays.
from core_acl cimport (
    AclResource,
    Batch,
    BatchOutput,
    CoreInstance,
    InputPiece,
    ModelDescription,
    ShapeKind,
    TensorDescription,
    no_gear,
    no_input,
)
from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE
from libc.stdint cimport int64_t
from libc.string cimport memcpy
from libcpp.memory cimport static_pointer_cast

cdef extern from "pythread.h" nogil:
    unsigned long PyThread_get_thread_ident() noexcept

import threading

import numpy

from ascend_infer.device_pointer import DevicePointer
from ascend_infer.errors import InvalidInputError

cdef unsigned long main_thread = threading.main_thread().ident
cdef object new_array = numpy.empty
cdef object array_over = numpy.ndarray
cdef object SHAPE_KINDS = ("fixed", "batch", "hw", "dims", "dynamic")
# Results with rows up to this size are copied out of pinned memory: a view would hold a whole block for so little.
cdef size_t SMALL_ROW = 4096


cdef object dims_tuple(const vector[int64_t] &dims):
    cdef size_t i
    return tuple([dims[i] for i in range(dims.size())])


cdef object tensor_tuple(const TensorDescription &tensor):
    return (
        tensor.name.decode("utf-8", "surrogateescape"),
        tensor.dtype,
        tensor.format,
        dims_tuple(tensor.dims),
        tensor.bytes,
        tensor.aipp,
    )


def _invalid_input(text):
    return InvalidInputError(text)


@cython.final
@cython.no_gc
cdef class AclInstance:
    cdef shared_ptr[CoreInstance] _core
    cdef AclDevice _device
    cdef vector[size_t] _visible  # input indices that callers feed
    cdef str _name
    cdef bint _closed

    def __init__(self):
        raise TypeError("instances come from open_acl_instance")

    @property
    def name(self):
        return self._name

    @property
    def slots(self):
        return dereference(self._core).slots()

    @property
    def model_id(self):
        return dereference(self._core).model_id()

    @property
    def retired(self):
        return dereference(self._core).retired()

    @property
    def left(self):
        return dereference(self._core).left()

    def reclaim(self):
        cdef CoreInstance *core = self._core.get()
        cdef int64_t oldest
        with nogil:
            oldest = core.reclaim()
        return oldest

    @property
    def batches(self):
        return dereference(self._core).batches()

    @property
    def closed(self):
        return self._closed

    def description(self):
        cdef const ModelDescription *model = &dereference(self._core).description()
        cdef size_t i, j
        gear_inputs = []
        for j in range(model.gears.size()):
            gear_inputs.append(tuple([dims_tuple(model.input_dims(i, j)) for i in self._visible]))
        return {
            "shapes": SHAPE_KINDS[<int>model.shapes],
            "inputs": tuple([tensor_tuple(model.inputs[i]) for i in self._visible]),
            "outputs": tuple([tensor_tuple(model.outputs[i]) for i in range(model.outputs.size())]),
            "gears": tuple([dims_tuple(model.gears[i]) for i in range(model.gears.size())]),
            "gear_inputs": tuple(gear_inputs),
            "gear_outputs": tuple(
                [
                    tuple([dims_tuple(model.gear_outputs[i][j]) for j in range(model.gear_outputs[i].size())])
                    for i in range(model.gear_outputs.size())
                ]
            ),
        }

    def input_bytes(self, Py_ssize_t gear, size_t position):
        self._check_gear(gear)
        if position >= self._visible.size():
            raise IndexError(position)
        return dereference(self._core).input_bytes(no_gear if gear < 0 else <size_t>gear, self._visible[position])

    def output_bytes(self, Py_ssize_t gear, size_t index):
        self._check_gear(gear)
        if index >= dereference(self._core).description().outputs.size():
            raise IndexError(index)
        return dereference(self._core).output_bytes(no_gear if gear < 0 else <size_t>gear, index)

    cdef int _check_gear(self, Py_ssize_t gear) except -1:
        if gear >= 0 and <size_t>gear >= dereference(self._core).description().gears.size():
            raise IndexError(gear)
        return 0

    cdef int _gather(self, object inputs, _Views views, Batch &batch) except -1:
        cdef size_t position
        cdef size_t index
        cdef Py_buffer *view
        cdef InputPiece piece
        if <size_t>len(inputs) != self._visible.size():
            raise InvalidInputError(
                f"got {len(inputs)} inputs, expected {self._visible.size()}", got=str(len(inputs))
            )
        batch.inputs.resize(dereference(self._core).description().inputs.size())
        for position in range(self._visible.size()):
            index = self._visible[position]
            given = inputs[position]
            for part in given if type(given) is list else (given,):
                if type(part) is DevicePointer:
                    piece.data = <const void *><uintptr_t>part.ptr
                    piece.bytes = part.nbytes
                    piece.on_device = True
                else:
                    view = views.take(part, PyBUF_SIMPLE)
                    piece.data = view.buf
                    piece.bytes = <size_t>view.len
                    piece.on_device = False
                batch.inputs[index].push_back(piece)
        return 0

    cdef _Poll _poll(self, object go_on, Batch &batch):
        cdef bint main = PyThread_get_thread_ident() == main_thread
        if not main and go_on is None:
            return None
        cdef _Poll poll = _Poll.__new__(_Poll)
        poll.question = go_on
        poll.signals = main
        batch.wait.go_on = ask_poll
        batch.wait.argument = <void *>poll
        return poll

    cdef object _failure(self, const AclStatus &status, _Poll poll):
        if poll is not None and poll.error is not None:
            return poll.error
        if not status.input().empty():
            name = status.input().decode("utf-8", "surrogateescape")
            return InvalidInputError(status.text().decode("utf-8", "replace"), input=name)
        return acl_exception(status, self._device._library, self._device._index, _invalid_input)

    def run(self, inputs, Py_ssize_t gear, wanted, go_on=None, RunReport report=None):
        cdef Batch batch
        cdef BatchOutput output
        cdef _Views views = _Views.__new__(_Views)
        cdef CoreInstance *core = self._core.get()
        cdef AclStatus status
        cdef size_t nbytes
        batch.gear = no_gear if gear < 0 else <size_t>gear
        self._gather(inputs, views, batch)
        results = []
        for index, shape, dtype, size, leased, out in wanted:
            nbytes = size
            output = BatchOutput()
            output.index = index
            output.bytes = nbytes
            if out is None and leased:
                with nogil:
                    output.lease = core.lease(nbytes)
                if output.lease:
                    results.append(array_over(shape, dtype, leased_output(output.lease, nbytes)))
            if not output.lease:
                array = new_array(shape, dtype) if out is None else out
                view = views.take(array, PyBUF_WRITABLE)
                if <size_t>view.len < nbytes:
                    raise InvalidInputError(f"an output of {nbytes} bytes does not fit in {view.len}")
                output.target = view.buf
                results.append(array)
            batch.outputs.push_back(output)
        cdef _Poll poll = self._poll(go_on, batch)
        with nogil:
            status = core.run(batch)
        if not status.ok():
            raise self._failure(status, poll)
        if report is not None:
            self._report(report, batch)
        return results

    def run_known(
        self, dict launches not None, tuple names not None, inputs not None, tuple outputs not None,
        RunReport report=None, go_on=None,
    ):
        cdef Batch batch
        cdef BatchOutput output
        cdef InputPiece piece
        cdef CoreInstance *core = self._core.get()
        cdef AclStatus status
        cdef AclLaunch launch
        cdef _LaunchOutput wanted
        cdef cnp.ndarray array
        cdef size_t i, missing = 0
        cdef list given, results
        if core.retired() or len(names) != <Py_ssize_t>self._visible.size():
            return None
        given, key = [], [outputs]
        for name in names:
            part = inputs.get(name)
            shape = joined_shape(part)
            if shape is None:
                return None
            given.append(part)
            key.append(shape)
        launch = launches.get(tuple(key))
        if launch is None:
            return None
        piece.on_device = False
        batch.gear = launch.gear
        batch.inputs.resize(core.description().inputs.size())
        for i in range(self._visible.size()):
            part = given[i]
            if type(part) is list:
                for array in <list>part:
                    piece.data = cnp.PyArray_DATA(array)
                    piece.bytes = cnp.PyArray_NBYTES(array)
                    batch.inputs[self._visible[i]].push_back(piece)
            else:
                array = part
                piece.data = cnp.PyArray_DATA(array)
                piece.bytes = cnp.PyArray_NBYTES(array)
                batch.inputs[self._visible[i]].push_back(piece)
        results = []
        batch.outputs.reserve(len(launch.outputs))
        for wanted in launch.outputs:
            output.index = wanted.index
            output.bytes = wanted.nbytes
            if wanted.leased:
                output.target = NULL
                missing += 1
                results.append(None)
            else:
                array = wanted.array(NULL)
                output.target = cnp.PyArray_DATA(array)
                results.append(array)
            batch.outputs.push_back(output)
        cdef _Poll poll = self._poll(go_on, batch)
        with nogil:
            if missing:
                missing = 0
                for i in range(batch.outputs.size()):
                    if batch.outputs[i].target == NULL:
                        batch.outputs[i].lease = core.lease(batch.outputs[i].bytes)
                        if not batch.outputs[i].lease:
                            missing += 1
            if missing == 0:
                status = core.run(batch)
        if missing:
            # Many are out already: these outputs are copied into arrays of their own.
            for i in range(batch.outputs.size()):
                if batch.outputs[i].target == NULL and not batch.outputs[i].lease:
                    array = (<_LaunchOutput>launch.outputs[i]).array(NULL)
                    batch.outputs[i].target = cnp.PyArray_DATA(array)
                    results[i] = array
            with nogil:
                status = core.run(batch)
        if not status.ok():
            raise self._failure(status, poll)
        for i in range(batch.outputs.size()):
            if batch.outputs[i].lease:
                leased = leased_output(batch.outputs[i].lease, batch.outputs[i].bytes)
                array = (<_LaunchOutput>launch.outputs[i]).array(dereference(batch.outputs[i].lease).data())
                cnp.set_array_base(array, leased)
                results[i] = array
        if report is not None:
            report.padded_rows = launch.padded_rows
            report.gear = launch.label
            self._report(report, batch)
        if launch.observe is not None:
            launch.observe(batch.device_ns)
        return results

    cdef void _report(self, RunReport report, const Batch &batch) noexcept:
        # Of several runs the first one's beginning and the last one's end.
        if report.gathered == 0:
            report.gathered = batch.gathered_ns
        report.computed = batch.computed_ns
        report.device_ns += batch.device_ns

    def run_dynamic(self, inputs, shapes, wanted, dtypes, go_on=None, RunReport report=None):
        cdef Batch batch
        cdef _Views views = _Views.__new__(_Views)
        cdef CoreInstance *core = self._core.get()
        cdef AclStatus status
        cdef size_t position, i, nbytes
        batch.gear = no_gear
        self._gather(inputs, views, batch)
        if <size_t>len(shapes) != self._visible.size():
            raise InvalidInputError("each input needs a shape")
        batch.input_dims.resize(batch.inputs.size())
        for position in range(self._visible.size()):
            for dim in shapes[position]:
                batch.input_dims[self._visible[position]].push_back(<int64_t>dim)
        for index in wanted:
            batch.wanted.push_back(index)
        cdef _Poll poll = self._poll(go_on, batch)
        with nogil:
            status = core.run(batch)
        if not status.ok():
            raise self._failure(status, poll)
        if report is not None:
            self._report(report, batch)
        results = []
        for i in range(batch.results.size()):
            shape = dims_tuple(batch.results[i].dims)
            nbytes = batch.results[i].bytes
            if nbytes > SMALL_ROW * max(1, shape[0] if shape else 1):
                results.append(array_over(shape, dtypes[i], leased_output(batch.results[i].lease, nbytes)))
                continue
            array = new_array(shape, dtypes[i])
            if nbytes:
                memcpy(
                    views.take(array, PyBUF_WRITABLE).buf, dereference(batch.results[i].lease).data(), nbytes
                )
            results.append(array)
        return results

    def close(self, int timeout_ms=-1):
        cdef CoreInstance *core = self._core.get()
        cdef AclStatus status
        with nogil:
            status = core.close(timeout_ms)
        if status.outcome() != AclOutcome.busy:
            self._closed = True
        if not status.ok():
            raise acl_exception(status, self._device._library, self._device._index, _usage_error)

    def __dealloc__(self):
        # Nothing here may block: what was not closed is given back by the device's next reap.
        if self._closed or self._device is None or not self._core:
            return
        dereference(self._device._core).adopt(static_pointer_cast[AclResource, CoreInstance](self._core))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __reduce__(self):
        raise CopyError("a model instance cannot be copied or pickled")

    def __repr__(self):
        return f"<AclInstance {self._name} on device {self._device._index}{', closed' if self._closed else ''}>"
