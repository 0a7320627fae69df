//! Prints the code of a program's kernels. `cargo run -p backend-native --example listing FILE`
use acc_core::Backend;
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let file = acc_core::text::parse_test_file(&path, &text).unwrap();
    let p = backend_native::Native::new().prepare(&file.program).unwrap();
    println!("{}", p.listing());
    println!("{:?}", backend_native::llvm::counts());
}
