//! Compiles the allocator through which libtorch takes memory (feature `libtorch`; see `src/torch/memory.rs`).

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "libtorch")]
    allocator();
}

/// With the headers and the settings that the bindings are compiled with.
#[cfg(feature = "libtorch")]
fn allocator() {
    println!("cargo::rerun-if-changed=src/torch/memory.cpp");
    println!("cargo::rerun-if-env-changed=LIBTORCH_CXX11_ABI");
    let mut build = cc::Build::new();
    // The bindings say where libtorch's libraries are. Its headers are beside them.
    if let Some(lib) = std::env::var_os("DEP_TCH_LIBTORCH_LIB") {
        build.include(std::path::Path::new(&lib).with_file_name("include"));
    }
    let abi = std::env::var("LIBTORCH_CXX11_ABI").unwrap_or_else(|_| "1".to_string());
    build.cpp(true).std("c++17").warnings(false).define("_GLIBCXX_USE_CXX11_ABI", &*abi);
    build.file("src/torch/memory.cpp").compile("acc_torch_memory");
}
