//! Bytes of the engine for the reader `npz` (`conformance::fuzz::hostile`).
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| conformance::fuzz::hostile::npz(bytes));
