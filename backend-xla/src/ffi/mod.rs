//! A plugin of PJRT as safe values: a client, modules that it compiled, and buffers on its device. All unsafe code of the
//! crate is in this folder.

mod api;

use acc_core::data::{Column, ColumnSlice, ScalarType};
use api::{
    Api, BufferArgs, BufferFromHost, BufferToHost, Call, ClientCompile, ClientCreate, ClientDevices, ClientText,
    ErrorDestroy, ErrorMessage, EventArgs, ExecutableArgs, Execute, ExecuteOptions, Object, PluginInitialize, Program,
    buffer_type,
};
use half::f16;
use std::ffi::{c_char, c_void};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::Arc;

/// What a plugin says of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct About {
    /// Its file.
    pub path: PathBuf,
    /// The version of the interface that it has.
    pub api: (i32, i32),
    /// Its platform, with what it says about its version.
    pub platform: String,
}

/// The earliest version of the interface whose table has all functions that are called.
const MIN_API_MINOR: i32 = 54;

/// Settings of XLA by which floats are computed operation by operation: without fused products and sums, divisions by
/// reciprocals, or constants regrouped, and the least and the greatest of numbers is NaN where one is. They are read from the environment when a plugin is loaded, and nowhere else.
pub(crate) const STRICT_FLAGS: &str = "--xla_cpu_max_isa=AVX --xla_disable_hlo_passes=algsimp --xla_allow_excess_precision=false --xla_cpu_enable_fast_min_max=false";

/// The environment variable of XLA's settings.
pub(crate) const FLAGS_VARIABLE: &str = "XLA_FLAGS";

/// A loaded plugin, and its device. It is never unloaded: it has threads of its own.
pub(crate) struct Client {
    api: &'static Api,
    client: Object,
    device: Object,
    pub about: About,
}

// SAFETY: the interface may be called from every thread, and what the pointers refer to lives for good.
unsafe impl Send for Client {}
// SAFETY: as above.
unsafe impl Sync for Client {}

/// A compiled module.
pub(crate) struct Executable {
    client: Arc<Client>,
    executable: Object,
}

// SAFETY: as for a client; the object is destroyed once, when the value is dropped.
unsafe impl Send for Executable {}
// SAFETY: as above.
unsafe impl Sync for Executable {}

/// A tensor on the device.
pub(crate) struct Buffer {
    client: Arc<Client>,
    buffer: Object,
}

// SAFETY: as for an executable.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Drop for Executable {
    fn drop(&mut self) {
        let mut args = ExecutableArgs { executable: self.executable, ..ExecutableArgs::new() };
        // An object that cannot be destroyed is left to the end of the process.
        let _ = self.client.call(self.client.api.executable_destroy, &mut args);
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut args = BufferArgs { buffer: self.buffer, ..BufferArgs::new() };
        // As above.
        let _ = self.client.call(self.client.api.buffer_destroy, &mut args);
    }
}

#[cfg(unix)]
fn table(path: &Path) -> Result<&'static Api, String> {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
    let kept = std::env::var(FLAGS_VARIABLE).unwrap_or_default();
    // SAFETY: Rust's own functions for the environment lock it. It is done once, before the library that reads it is
    // loaded; a foreign thread that reads the environment in this moment without a lock would be at fault before, too.
    unsafe { std::env::set_var(FLAGS_VARIABLE, format!("{STRICT_FLAGS} {kept}")) };
    // SAFETY: loading runs the library's initialisers. Local symbols keep it apart from others in the process.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(|e| e.to_string())?;
    let library = std::mem::ManuallyDrop::new(library);
    // SAFETY: the type is that of the interface's header.
    let found = unsafe { library.get::<unsafe extern "C" fn() -> *const Api>(b"GetPjrtApi\0") };
    let get = found.map_err(|e| e.to_string())?;
    // SAFETY: the table lives as long as the library, for good.
    let api = unsafe { get().as_ref() }.ok_or("its table of functions is missing")?;
    if api.major != 0 || api.minor < MIN_API_MINOR || api.head.size < size_of::<Api>() {
        return Err(format!("its interface is {}.{}, and 0.{MIN_API_MINOR} or later is needed", api.major, api.minor));
    }
    Ok(api)
}

#[cfg(not(unix))]
fn table(_: &Path) -> Result<&'static Api, String> {
    Err("plugins are loaded on Unix only".to_string())
}

/// Calls a function of the table.
fn call<T>(api: &Api, function: Call<T>, args: &mut T) -> Result<(), String> {
    // SAFETY: the structure is the one that the function takes, and its pointers are valid for the call.
    let error = unsafe { function(args) };
    if error.is_null() {
        return Ok(());
    }
    let mut message = ErrorMessage { error, ..ErrorMessage::new() };
    // SAFETY: an error that this call yielded.
    unsafe { (api.error_message)(&raw mut message) };
    // SAFETY: the text lives as long as the error.
    let text = unsafe { text_of(message.message, message.size) };
    let mut destroy = ErrorDestroy { error, ..ErrorDestroy::new() };
    // SAFETY: the error is not used after this.
    unsafe { (api.error_destroy)(&raw mut destroy) };
    Err(text)
}

/// # Safety
///
/// The text has so many bytes.
unsafe fn text_of(text: *const c_char, size: usize) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: as the caller says.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), size) };
    String::from_utf8_lossy(bytes).into_owned()
}

impl Client {
    /// Loads a plugin; the error says why it is of no use.
    pub fn open(path: &Path) -> Result<Client, String> {
        let api = table(path)?;
        call(api, api.plugin_initialize, &mut PluginInitialize::new())?;
        let mut created = ClientCreate::new();
        call(api, api.client_create, &mut created)?;
        let client = created.client;
        let mut devices = ClientDevices { client, ..ClientDevices::new() };
        call(api, api.client_addressable_devices, &mut devices)?;
        if devices.count == 0 || devices.devices.is_null() {
            return Err("it has no device".to_string());
        }
        // SAFETY: the list has at least one entry.
        let device = unsafe { *devices.devices };
        let text = |function: Call<ClientText>| {
            let mut args = ClientText { client, ..ClientText::new() };
            call(api, function, &mut args)?;
            // SAFETY: the client owns the text, and lives for good.
            Ok::<String, String>(unsafe { text_of(args.text, args.size) })
        };
        let platform = format!("{} ({})", text(api.client_platform_name)?, text(api.client_platform_version)?);
        let platform = platform.replace('\n', " ");
        let about = About { path: path.to_path_buf(), api: (api.major, api.minor), platform };
        Ok(Client { api, client, device, about })
    }

    fn call<T>(&self, function: Call<T>, args: &mut T) -> Result<(), String> {
        call(self.api, function, args)
    }

    /// Waits for an event, and destroys it.
    fn wait(&self, event: Object) -> Result<(), String> {
        if event.is_null() {
            return Ok(());
        }
        let mut args = EventArgs { event, ..EventArgs::new() };
        let happened = self.call(self.api.event_await, &mut args);
        self.call(self.api.event_destroy, &mut args)?;
        happened
    }

    /// Compiles a module for the device.
    pub fn compile(self: &Arc<Client>, text: &str) -> Result<Executable, String> {
        // `CompileOptionsProto`: in its field 3 the numbers of replicas (4) and of partitions (5), each 1.
        const ONE_DEVICE: [u8; 6] = [0x1a, 4, 0x20, 1, 0x28, 1];
        const FORMAT: &str = "mlir";
        let program = Program {
            code: text.as_ptr().cast(),
            code_size: text.len(),
            format: FORMAT.as_ptr().cast(),
            format_size: FORMAT.len(),
            ..Program::new()
        };
        let mut args = ClientCompile {
            client: self.client,
            program: &raw const program,
            options: ONE_DEVICE.as_ptr(),
            options_size: ONE_DEVICE.len(),
            ..ClientCompile::new()
        };
        self.call(self.api.client_compile, &mut args)?;
        Ok(Executable { client: self.clone(), executable: args.executable })
    }

    /// A copy of elements on the device, as a tensor of these extents.
    pub fn upload(self: &Arc<Client>, elements: ColumnSlice<'_>, extents: &[i64]) -> Result<Buffer, String> {
        // The elements are copied while the call lasts.
        const DURING_CALL: i32 = 0;
        let mut args = BufferFromHost {
            client: self.client,
            data: address(elements),
            ty: buffer_type(elements.ty()),
            dims: extents.as_ptr(),
            dim_count: extents.len(),
            semantics: DURING_CALL,
            device: self.device,
            ..BufferFromHost::new()
        };
        let expected = extents.iter().try_fold(1usize, |n, e| n.checked_mul(usize::try_from(*e).ok()?));
        if expected != Some(elements.len()) {
            return Err(format!("{} elements are no tensor of extents {extents:?}", elements.len()));
        }
        self.call(self.api.buffer_from_host, &mut args)?;
        let buffer = Buffer { client: self.clone(), buffer: args.buffer };
        self.wait(args.done)?;
        Ok(buffer)
    }
}

impl Executable {
    /// Runs the module on its arguments; it has so many results.
    pub fn run(&self, arguments: &[&Buffer], results: usize) -> Result<Vec<Buffer>, String> {
        let arguments: Vec<Object> = arguments.iter().map(|b| b.buffer).collect();
        let mut made: Vec<Object> = vec![null_mut(); results];
        let (lists, outs) = ([arguments.as_ptr()], [made.as_mut_ptr()]);
        let mut done: Object = null_mut();
        let mut options = ExecuteOptions::new();
        let mut args = Execute {
            executable: self.executable,
            options: &raw mut options,
            arguments: lists.as_ptr(),
            device_count: 1,
            argument_count: arguments.len(),
            results: outs.as_ptr(),
            done: &raw mut done,
            ..Execute::new()
        };
        self.client.call(self.client.api.execute, &mut args)?;
        let buffers = made.into_iter().map(|buffer| Buffer { client: self.client.clone(), buffer }).collect();
        self.client.wait(done)?;
        Ok(buffers)
    }
}

/// So many elements of a type, whose bytes `fill` writes.
pub(crate) fn column(
    ty: ScalarType,
    count: usize,
    fill: impl FnOnce(&mut [u8]) -> Result<(), String>,
) -> Result<Column, String> {
    macro_rules! column {
        ($t:ty) => {{
            let mut elements: Vec<$t> = Vec::new();
            elements.try_reserve_exact(count).map_err(|e| e.to_string())?;
            elements.resize(count, <$t>::default());
            // SAFETY: the elements' own memory; every pattern of bits is a number.
            fill(unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), count * size_of::<$t>()) })?;
            elements
        }};
    }
    Ok(match ty {
        // Bytes, of which XLA writes 0 and 1.
        ScalarType::Bool => Column::from_vec(column!(u8).into_iter().map(|b| b != 0).collect::<Vec<bool>>()),
        ScalarType::Char => {
            let chars = column!(u32).into_iter().map(|c| char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER));
            Column::from_vec(chars.collect::<Vec<char>>())
        }
        ScalarType::I8 => Column::from_vec(column!(i8)),
        ScalarType::I16 => Column::from_vec(column!(i16)),
        ScalarType::I32 => Column::from_vec(column!(i32)),
        ScalarType::I64 => Column::from_vec(column!(i64)),
        ScalarType::U8 => Column::from_vec(column!(u8)),
        ScalarType::U16 => Column::from_vec(column!(u16)),
        ScalarType::U32 => Column::from_vec(column!(u32)),
        ScalarType::U64 => Column::from_vec(column!(u64)),
        ScalarType::F16 => Column::from_vec(column!(f16)),
        ScalarType::F32 => Column::from_vec(column!(f32)),
        ScalarType::F64 => Column::from_vec(column!(f64)),
    })
}

/// The bytes of elements, as they are in memory.
pub(crate) fn bytes(elements: ColumnSlice<'_>) -> &[u8] {
    let size = elements.len() * elements.ty().size();
    // SAFETY: so many bytes belong to the elements, which have no gaps.
    unsafe { std::slice::from_raw_parts(address(elements).cast(), size) }
}

impl Buffer {
    /// Its elements, so many of this type.
    pub fn download(&self, ty: ScalarType, count: usize) -> Result<Column, String> {
        column(ty, count, |bytes| self.copy_to(bytes.as_mut_ptr().cast(), bytes.len()))
    }

    /// Copies all bytes to a place that has room for so many.
    fn copy_to(&self, to: *mut c_void, size: usize) -> Result<(), String> {
        let needed = {
            let mut args = BufferToHost { buffer: self.buffer, ..BufferToHost::new() };
            self.client.call(self.client.api.buffer_to_host, &mut args)?;
            args.size
        };
        if needed > size {
            return Err(format!("a result has {needed} bytes, and not {size}"));
        }
        if needed == 0 {
            return Ok(());
        }
        let mut args = BufferToHost { buffer: self.buffer, to, size, ..BufferToHost::new() };
        self.client.call(self.client.api.buffer_to_host, &mut args)?;
        self.client.wait(args.event)
    }
}

/// Where elements are in memory.
fn address(elements: ColumnSlice<'_>) -> *const c_void {
    match elements {
        ColumnSlice::Bool(s) => s.as_ptr().cast(),
        ColumnSlice::Char(s) => s.as_ptr().cast(),
        ColumnSlice::I8(s) => s.as_ptr().cast(),
        ColumnSlice::I16(s) => s.as_ptr().cast(),
        ColumnSlice::I32(s) => s.as_ptr().cast(),
        ColumnSlice::I64(s) => s.as_ptr().cast(),
        ColumnSlice::U8(s) => s.as_ptr().cast(),
        ColumnSlice::U16(s) => s.as_ptr().cast(),
        ColumnSlice::U32(s) => s.as_ptr().cast(),
        ColumnSlice::U64(s) => s.as_ptr().cast(),
        ColumnSlice::F16(s) => s.as_ptr().cast(),
        ColumnSlice::F32(s) => s.as_ptr().cast(),
        ColumnSlice::F64(s) => s.as_ptr().cast(),
    }
}
