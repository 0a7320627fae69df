//! What rustc says about typical mistakes: each program in these folders does not compile, and its message, beside
//! it, says what to do. After a change: `TRYBUILD=overwrite cargo test -p acc-core --test compile_errors`, and read
//! the difference.

#[test]
fn messages_are_pinned() {
    trybuild::TestCases::new().compile_fail("tests/compile_errors/*/*.rs");
}
