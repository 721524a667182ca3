"""pyACL's functions by their names there, and which C function stands behind each.

Only what runs models is here: memory, streams, events, models, AIPP, callbacks. Names are those of the method tables in
pyACL's sources (hicann/runtime, python/pyACL, CANN 9).
"""

from __future__ import annotations

from ascend_infer.compat.acl.prototypes import PROTOTYPES

__all__ = ["C_NAMES", "RELEASES_GIL", "TABLES"]

_ACL = """
init finalize finalize_reference get_version get_soc_name get_recent_err_msg float16_to_float float_to_float16
create_data_buffer destroy_data_buffer get_data_buffer_addr get_data_buffer_size get_data_buffer_size_v2
update_data_buffer data_type_size create_tensor_desc destroy_tensor_desc get_tensor_desc_type get_tensor_desc_format
get_tensor_desc_size get_tensor_desc_element_count get_tensor_desc_num_dims get_tensor_desc_dim get_tensor_desc_dim_v2
get_tensor_desc_name set_tensor_desc_name get_tensor_desc_address get_tensor_desc_by_index get_tensor_desc_dim_range
set_tensor_shape_range get_cann_attribute_list get_cann_attribute get_device_capability get_cann_version
get_version_str
"""

_RT = """
set_device reset_device reset_device_force get_device get_run_mode get_device_count query_device_status
get_device_utilization_rate get_device_info get_device_capability get_device_res_limit set_device_res_limit
reset_device_res_limit device_get_stream_priority_range device_can_access_peer device_enable_peer_access
device_disable_peer_access set_op_wait_timeout set_op_execute_time_out peek_at_last_error get_last_error
create_context destroy_context set_context get_context ctx_get_current_default_stream
malloc malloc_align32 malloc_cached free get_mem_info mem_flush mem_invalidate malloc_host free_host memcpy memcpy_async
memcpy2d memcpy2d_async memset memset_async host_register host_unregister
create_stream create_stream_with_config destroy_stream destroy_stream_force set_stream_failure_mode stream_query
stream_get_id get_stream_available_num stream_abort synchronize_stream synchronize_stream_with_timeout
synchronize_device synchronize_device_with_timeout stream_wait_event
create_event create_event_with_flag create_event_ex_with_flag destroy_event record_event reset_event query_event
query_event_status query_event_wait_status synchronize_event synchronize_event_with_timeout event_elapsed_time
event_get_timestamp get_event_id get_event_avail_num get_thread_last_task_id value_write value_wait
process_report subscribe_report unsubscribe_report launch_callback set_exception_info_callback
get_error_code_from_exception_info get_task_id_from_exception_info get_stream_id_from_exception_info
get_thread_id_from_exception_info get_device_id_from_exception_info
"""

_MDL = """
load_from_file load_from_mem load_from_file_with_mem load_from_mem_with_mem load_with_config unload query_size
query_size_from_mem create_config_handle destroy_config_handle set_config_opt bundle_load_from_file bundle_load_from_mem
bundle_unload bundle_get_model_id bundle_get_model_num
create_desc destroy_desc get_desc get_desc_from_file get_desc_from_mem get_num_inputs get_num_outputs
get_input_size_by_index get_output_size_by_index get_input_dims get_input_dims_v2 get_output_dims get_cur_output_dims
get_input_dims_range get_input_name_by_index get_output_name_by_index get_input_format get_output_format
get_input_data_type get_output_data_type get_input_index_by_name get_output_index_by_name get_tensor_real_name
get_op_attr get_dynamic_batch get_dynamic_hw get_input_dynamic_gear_count get_input_dynamic_dims
create_dataset destroy_dataset add_dataset_buffer get_dataset_buffer get_dataset_num_buffers set_dataset_tensor_desc
get_dataset_tensor_desc
execute execute_async execute_v2 create_exec_config_handle destroy_exec_config_handle set_exec_config_opt
set_dynamic_batch_size set_dynamic_hw_size set_input_dynamic_dims
create_aipp destroy_aipp set_aipp_input_format set_aipp_csc_params set_aipp_rbuv_swap_switch set_aipp_ax_swap_switch
set_aipp_src_image_size set_aipp_scf_params set_aipp_crop_params set_aipp_padding_params set_aipp_dtc_pixel_mean
set_aipp_dtc_pixel_min set_aipp_pixel_var_reci set_input_aipp set_aipp_by_input_index get_aipp_type get_aipp_data_size
"""

#: Names of each module, with the beginning of its C functions' names.
TABLES = {
    "acl": ("acl", tuple(_ACL.split())),
    "acl.rt": ("aclrt", tuple(_RT.split())),
    "acl.mdl": ("aclmdl", tuple(_MDL.split())),
}

#: Those that pyACL gives other names.
_RENAMED = {
    "acl.get_version": "aclrtGetVersion",
    "acl.get_soc_name": "aclrtGetSocName",
    "acl.get_cann_version": "aclsysGetCANNVersion",
    "acl.get_version_str": "aclsysGetVersionStr",
    "acl.rt.set_context": "aclrtSetCurrentContext",
    "acl.rt.get_context": "aclrtGetCurrentContext",
}


def _c_names() -> dict[str, str]:
    listed = {name.lower(): name for name in PROTOTYPES}
    found = {}
    for module, (prefix, names) in TABLES.items():
        for name in names:
            full = f"{module}.{name}"
            found[full] = _RENAMED.get(full) or listed[prefix + name.replace("_", "")]
    return found


#: ``"acl.rt.malloc"`` to ``"aclrtMalloc"``.
C_NAMES = _c_names()

#: pyACL holds the GIL in all other calls, executing a model and copying included (its rt_synchronize.cpp).
RELEASES_GIL = frozenset(
    f"acl.rt.{name}"
    for name in (
        *("synchronize_stream", "synchronize_stream_with_timeout", "synchronize_device", "synchronize_event"),
        *(
            "synchronize_event_with_timeout",
            "synchronize_device_with_timeout",
            "process_report",
            "stream_wait_event",
        ),
    )
)
