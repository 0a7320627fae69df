//! The part of the PJRT C API that is used, as its header (`pjrt_c_api.h`) has it, from version 0.54 on.
//!
//! Every call takes one structure, which begins with its size. A plugin wants at least the fields that it knows: ours end with
//! room for more, all zero, which is what a newer field is by default. Functions stand in a table in a fixed order, which only
//! grows at its end.

use acc_core::data::ScalarType;
use std::ffi::{c_char, c_int, c_void};

/// What begins every structure.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub size: usize,
    pub extension: *mut c_void,
}

impl Head {
    pub fn of<T>() -> Head {
        Head { size: size_of::<T>(), extension: std::ptr::null_mut() }
    }
}

/// An object of the plugin.
pub(super) type Object = *mut c_void;

/// Room at the end of structures.
const MAX_LATER_FIELDS: usize = 16;

/// A function that may fail: the error is its caller's to destroy.
pub(super) type Call<T> = unsafe extern "C" fn(*mut T) -> Object;

macro_rules! structures {
    ($($(#[$doc:meta])* $Name:ident { $($field:ident: $T:ty,)* })*) => { $(
        $(#[$doc])*
        #[repr(C)]
        pub(super) struct $Name {
            pub head: Head,
            $(pub $field: $T,)*
            pub later: [usize; MAX_LATER_FIELDS],
        }

        impl $Name {
            /// All fields zero or null but the size.
            pub fn new() -> $Name {
                // SAFETY: integers and pointers, for which zero is a value.
                let zero: $Name = unsafe { std::mem::zeroed() };
                $Name { head: Head::of::<$Name>(), ..zero }
            }
        }
    )* };
}

structures! {
    ErrorDestroy { error: Object, }
    ErrorMessage { error: Object, message: *const c_char, size: usize, }
    PluginInitialize {}
    EventArgs { event: Object, }
    ClientCreate {
        options: *const c_void,
        option_count: usize,
        get: *const c_void,
        get_argument: *const c_void,
        put: *const c_void,
        put_argument: *const c_void,
        client: Object,
    }
    ClientText { client: Object, text: *const c_char, size: usize, }
    ClientDevices { client: Object, devices: *const Object, count: usize, }
    Program { code: *const c_char, code_size: usize, format: *const c_char, format_size: usize, }
    ClientCompile {
        client: Object,
        program: *const Program,
        options: *const u8,
        options_size: usize,
        executable: Object,
    }
    BufferFromHost {
        client: Object,
        data: *const c_void,
        ty: c_int,
        dims: *const i64,
        dim_count: usize,
        strides: *const i64,
        stride_count: usize,
        semantics: c_int,
        device: Object,
        memory: Object,
        layout: *const c_void,
        done: Object,
        buffer: Object,
    }
    ExecuteOptions {
        send: *const c_void,
        receive: *const c_void,
        send_count: usize,
        receive_count: usize,
        launch: c_int,
        kept_inputs: *const i64,
        kept_input_count: usize,
    }
    Execute {
        executable: Object,
        options: *mut ExecuteOptions,
        arguments: *const *const Object,
        device_count: usize,
        argument_count: usize,
        results: *const *mut Object,
        done: *mut Object,
        device: Object,
    }
    ExecutableArgs { executable: Object, }
    BufferArgs { buffer: Object, }
    BufferToHost { buffer: Object, layout: *const c_void, to: *mut c_void, size: usize, event: Object, }
}

/// A function that is not called.
type Unused = *const c_void;

/// The table of functions, up to the last one that is called.
#[repr(C)]
pub(super) struct Api {
    pub head: Head,
    pub version_head: Head,
    pub major: c_int,
    pub minor: c_int,
    pub error_destroy: unsafe extern "C" fn(*mut ErrorDestroy),
    pub error_message: unsafe extern "C" fn(*mut ErrorMessage),
    error_code: Unused,
    pub plugin_initialize: Call<PluginInitialize>,
    plugin_attributes: Unused,
    pub event_destroy: Call<EventArgs>,
    event_is_ready: Unused,
    event_error: Unused,
    pub event_await: Call<EventArgs>,
    event_on_ready: Unused,
    pub client_create: Call<ClientCreate>,
    client_destroy: Unused,
    pub client_platform_name: Call<ClientText>,
    client_process_index: Unused,
    pub client_platform_version: Call<ClientText>,
    client_devices: Unused,
    pub client_addressable_devices: Call<ClientDevices>,
    client_lookup: [Unused; 2],
    client_memories: Unused,
    pub client_compile: Call<ClientCompile>,
    client_assignment: Unused,
    pub buffer_from_host: Call<BufferFromHost>,
    device_description: [Unused; 6],
    device: [Unused; 6],
    memory: [Unused; 5],
    executable: [Unused; 10],
    pub executable_destroy: Call<ExecutableArgs>,
    loaded: [Unused; 4],
    pub execute: Call<Execute>,
    deserialize: Unused,
    fingerprint: Unused,
    pub buffer_destroy: Call<BufferArgs>,
    buffer: [Unused; 11],
    pub buffer_to_host: Call<BufferToHost>,
}

/// The number of a buffer's scalar type.
pub(super) fn buffer_type(ty: ScalarType) -> c_int {
    match ty {
        ScalarType::Bool => 1,
        ScalarType::I8 => 2,
        ScalarType::I16 => 3,
        ScalarType::I32 => 4,
        ScalarType::I64 => 5,
        ScalarType::U8 => 6,
        ScalarType::U16 => 7,
        ScalarType::U32 | ScalarType::Char => 8,
        ScalarType::U64 => 9,
        ScalarType::F16 => 10,
        ScalarType::F32 => 11,
        ScalarType::F64 => 12,
    }
}
