//! Compiles what is written in C++ (feature `libtorch`): the allocator through which libtorch takes memory (`src/torch/memory.rs`),
//! and calls of functions that the bindings do not have.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "libtorch")]
    compile(&["src/torch/memory.cpp", "src/torch/exec/ops/convolve/gradient.cpp"]);
}

/// With the headers and the settings that the bindings are compiled with.
#[cfg(feature = "libtorch")]
fn compile(files: &[&str]) {
    println!("cargo::rerun-if-env-changed=LIBTORCH_CXX11_ABI");
    let mut build = cc::Build::new();
    // The bindings say where libtorch's libraries are. Its headers are beside them.
    if let Some(lib) = std::env::var_os("DEP_TCH_LIBTORCH_LIB") {
        build.include(std::path::Path::new(&lib).with_file_name("include"));
    }
    let abi = std::env::var("LIBTORCH_CXX11_ABI").unwrap_or_else(|_| "1".to_string());
    build.cpp(true).std("c++17").warnings(false).define("_GLIBCXX_USE_CXX11_ABI", &*abi);
    for file in files {
        println!("cargo::rerun-if-changed={file}");
        build.file(file);
    }
    build.compile("acc_torch");
}
