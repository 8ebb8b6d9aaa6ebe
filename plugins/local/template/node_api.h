// What is used of the interpreter that loads the module: a few functions of Node-API version 1, which every
// version of Node.js keeps as they are (https://nodejs.org/api/n-api.html, "Node-API version matrix"), and
// one of libuv. Declared here because not every package of Node.js brings the headers along.
#ifndef BERTH_PLUGINS_LOCAL_TEMPLATE_NODE_API_H_
#define BERTH_PLUGINS_LOCAL_TEMPLATE_NODE_API_H_

#include <cstddef>
#include <cstdint>

extern "C" {
struct napi_env__;
struct napi_value__;
struct napi_callback_info__;
struct uv_loop_s;
using napi_env = napi_env__*;
using napi_value = napi_value__*;
using napi_callback_info = napi_callback_info__*;
using napi_status = int;  // 0: done
using napi_callback = napi_value (*)(napi_env, napi_callback_info);

napi_status napi_create_function(napi_env, const char* name, std::size_t size, napi_callback, void*, napi_value*);
napi_status napi_set_named_property(napi_env, napi_value object, const char* name, napi_value);
napi_status napi_get_cb_info(napi_env, napi_callback_info, std::size_t* count, napi_value* arguments,
                             napi_value* self, void** data);
napi_status napi_get_value_int32(napi_env, napi_value, std::int32_t*);
napi_status napi_create_int32(napi_env, std::int32_t, napi_value*);
napi_status napi_create_string_utf8(napi_env, const char*, std::size_t size, napi_value*);
napi_status napi_create_array(napi_env, napi_value*);
napi_status napi_set_element(napi_env, napi_value array, std::uint32_t index, napi_value);
napi_status napi_create_object(napi_env, napi_value*);
napi_status napi_throw_error(napi_env, const char* code, const char* message);
napi_status napi_add_env_cleanup_hook(napi_env, void (*)(void*), void*);  // of version 3
napi_status napi_get_uv_event_loop(napi_env, uv_loop_s**);  // of version 2

int uv_loop_fork(uv_loop_s*);
}

#endif  // BERTH_PLUGINS_LOCAL_TEMPLATE_NODE_API_H_
