//! The list of scalar types, for macros that make one item per type.

/// Calls `$mac!` with (variant, Rust type) pairs of all scalar types.
#[macro_export]
macro_rules! all_types {
    ($mac:ident) => {
        $mac! { (I8, i8), (I16, i16), (I32, i32), (I64, i64), (U8, u8), (U16, u16), (U32, u32), (U64, u64),
        (F16, f16), (F32, f32), (F64, f64), (Bool, bool), (Char, char) }
    };
}
