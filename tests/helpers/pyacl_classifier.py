"""A classifier as programs for pyACL are written: one model, one picture a call, everything by hand.

It knows nothing of ascend_infer. Its arguments: the .om file, pictures (.npy, each float32 NCHW), and where to write
the scores (.npy). The numbers it prints are the best class of each picture.
"""

import sys

import acl
import numpy as np

DEVICE_ID = 0
ACL_SUCCESS = 0
ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_HOST_TO_DEVICE = 1
ACL_MEMCPY_DEVICE_TO_HOST = 2
ACL_HOST = 1
NUMPY_TYPES = {0: np.float32, 1: np.float16, 2: np.int8, 3: np.int32, 4: np.uint8, 9: np.int64}


def check_ret(message, ret):
    if ret != ACL_SUCCESS:
        raise RuntimeError(f"{message} failed, ret={ret}, {acl.get_recent_err_msg()}")


class AclResource:
    def __init__(self, device_id=DEVICE_ID):
        self.device_id = device_id
        self.context = None
        self.stream = None
        self.run_mode = None

    def init(self):
        ret = acl.init()
        check_ret("acl.init", ret)
        ret = acl.rt.set_device(self.device_id)
        check_ret("acl.rt.set_device", ret)
        self.context, ret = acl.rt.create_context(self.device_id)
        check_ret("acl.rt.create_context", ret)
        self.stream, ret = acl.rt.create_stream()
        check_ret("acl.rt.create_stream", ret)
        self.run_mode, ret = acl.rt.get_run_mode()
        check_ret("acl.rt.get_run_mode", ret)

    def release(self):
        if self.stream:
            check_ret("acl.rt.destroy_stream", acl.rt.destroy_stream(self.stream))
        if self.context:
            check_ret("acl.rt.destroy_context", acl.rt.destroy_context(self.context))
        check_ret("acl.rt.reset_device", acl.rt.reset_device(self.device_id))
        check_ret("acl.finalize", acl.finalize())


class Model:
    def __init__(self, run_mode, model_path):
        self.run_mode = run_mode
        self.model_path = model_path
        self.model_id = None
        self.model_desc = None
        self.input_dataset = None
        self.output_dataset = None
        self.inputs = []
        self.outputs = []

    def load(self):
        self.model_id, ret = acl.mdl.load_from_file(self.model_path)
        check_ret("acl.mdl.load_from_file", ret)
        self.model_desc = acl.mdl.create_desc()
        ret = acl.mdl.get_desc(self.model_desc, self.model_id)
        check_ret("acl.mdl.get_desc", ret)
        self.inputs = self._describe(
            acl.mdl.get_num_inputs(self.model_desc),
            acl.mdl.get_input_size_by_index,
            acl.mdl.get_input_dims,
            acl.mdl.get_input_data_type,
        )
        self.outputs = self._describe(
            acl.mdl.get_num_outputs(self.model_desc),
            acl.mdl.get_output_size_by_index,
            acl.mdl.get_output_dims,
            acl.mdl.get_output_data_type,
        )
        self.input_dataset = self._dataset(self.inputs)
        self.output_dataset = self._dataset(self.outputs)

    def _describe(self, count, get_size, get_dims, get_type):
        tensors = []
        for i in range(count):
            dims, ret = get_dims(self.model_desc, i)
            check_ret("get dims", ret)
            tensors.append(
                {
                    "size": get_size(self.model_desc, i),
                    "dims": tuple(dims["dims"]),
                    "dtype": NUMPY_TYPES[get_type(self.model_desc, i)],
                }
            )
        return tensors

    def _dataset(self, tensors):
        dataset = acl.mdl.create_dataset()
        for tensor in tensors:
            buffer, ret = acl.rt.malloc(tensor["size"], ACL_MEM_MALLOC_HUGE_FIRST)
            check_ret("acl.rt.malloc", ret)
            data = acl.create_data_buffer(buffer, tensor["size"])
            _, ret = acl.mdl.add_dataset_buffer(dataset, data)
            check_ret("acl.mdl.add_dataset_buffer", ret)
            tensor["buffer"] = buffer
        return dataset

    def _copy_in(self, arrays):
        for tensor, array in zip(self.inputs, arrays, strict=True):
            bytes_data = np.ascontiguousarray(array, dtype=tensor["dtype"]).tobytes()
            if len(bytes_data) != tensor["size"]:
                raise ValueError(f"input of {len(bytes_data)} bytes, model takes {tensor['size']}")
            bytes_ptr = acl.util.bytes_to_ptr(bytes_data)
            ret = acl.rt.memcpy(
                tensor["buffer"], tensor["size"], bytes_ptr, len(bytes_data), ACL_MEMCPY_HOST_TO_DEVICE
            )
            check_ret("acl.rt.memcpy", ret)

    def _copy_out(self):
        results = []
        for i, tensor in enumerate(self.outputs):
            data = acl.mdl.get_dataset_buffer(self.output_dataset, i)
            address = acl.get_data_buffer_addr(data)
            size = acl.get_data_buffer_size(data)
            if self.run_mode == ACL_HOST:
                host, ret = acl.rt.malloc_host(size)
                check_ret("acl.rt.malloc_host", ret)
                ret = acl.rt.memcpy(host, size, address, size, ACL_MEMCPY_DEVICE_TO_HOST)
                check_ret("acl.rt.memcpy", ret)
                content = acl.util.ptr_to_bytes(host, size)
                check_ret("acl.rt.free_host", acl.rt.free_host(host))
            else:
                content = acl.util.ptr_to_bytes(address, size)
            results.append(np.frombuffer(content, dtype=tensor["dtype"]).reshape(tensor["dims"]))
        return results

    def execute(self, arrays):
        self._copy_in(arrays)
        ret = acl.mdl.execute(self.model_id, self.input_dataset, self.output_dataset)
        check_ret("acl.mdl.execute", ret)
        return self._copy_out()

    def _destroy_dataset(self, dataset):
        for i in range(acl.mdl.get_dataset_num_buffers(dataset)):
            data = acl.mdl.get_dataset_buffer(dataset, i)
            check_ret("acl.rt.free", acl.rt.free(acl.get_data_buffer_addr(data)))
            check_ret("acl.destroy_data_buffer", acl.destroy_data_buffer(data))
        check_ret("acl.mdl.destroy_dataset", acl.mdl.destroy_dataset(dataset))

    def release(self):
        self._destroy_dataset(self.input_dataset)
        self._destroy_dataset(self.output_dataset)
        check_ret("acl.mdl.destroy_desc", acl.mdl.destroy_desc(self.model_desc))
        check_ret("acl.mdl.unload", acl.mdl.unload(self.model_id))


def main(model_path, pictures_path, scores_path):
    resource = AclResource()
    resource.init()
    model = Model(resource.run_mode, model_path)
    model.load()
    scores = []
    for picture in np.load(pictures_path):
        (logits,) = model.execute([picture[None]])
        scores.append(logits[0].copy())
        print(int(np.argmax(logits)))
    model.release()
    resource.release()
    np.save(scores_path, np.stack(scores))


if __name__ == "__main__":
    main(*sys.argv[1:])
