//! The operations and their fields, from the table that defines them.

use super::field::{Field, Fields, Place, Read, Reader};
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{ArrayType, PrimOp};
use acc_desugar::graph::{Body, FaultKind, Flags, Numbers, Op, PadMode, ReduceOp, ScatterMode, SizeOp, Value, Values};
use acc_desugar::with_graph_ops;
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// What a node's objects hold, to be taken out by name.
pub(super) struct Given<'a> {
    pub(super) fields: [Map<String, Json>; 3],
    pub(super) reader: &'a mut Reader,
}

impl Given<'_> {
    fn take<T: Field>(&mut self, name: &str) -> Read<T> {
        let place = T::PLACE;
        let found = self.fields.get_mut(place as usize).and_then(|fields| fields.shift_remove(name));
        let json = found.ok_or_else(|| format!("`{name}` is missing among the {}", place.name()))?;
        T::read(&json, self.reader).map_err(|e| format!("`{name}`: {e}"))
    }
}

/// A field of an operation, for the schema.
pub(super) struct FieldSchema {
    pub(super) name: &'static str,
    pub(super) place: Place,
    pub(super) schema: Json,
}

/// The name of a field in JSON: that in Rust, but for keywords.
fn plain(name: &'static str) -> &'static str {
    name.trim_end_matches('_')
}

macro_rules! operations {
    ($(
        $(#[$doc:meta])*
        $name:literal $Variant:ident
        $(($($t:ident: $T:ty),*))? $({$($(#[$about:meta])* $f:ident: $F:ty,)*})?;
    )*) => {
        /// Writes the fields of an operation; its name.
        pub(super) fn write<'a>(op: &'a Op, out: &mut Fields<'a>) -> &'static str {
            match op {
                $(Op::$Variant $(($($t),*))? $({$($f),*})? => {
                    $($($t.write(plain(stringify!($t)), out);)*)?
                    $($($f.write(plain(stringify!($f)), out);)*)?
                    $name
                })*
            }
        }

        /// Reads the operation of this name.
        pub(super) fn read(name: &str, given: &mut Given<'_>) -> Read<Op> {
            Ok(match name {
                $($name => Op::$Variant
                    $(($(given.take::<$T>(plain(stringify!($t)))?),*))?
                    $({$($f: given.take::<$F>(plain(stringify!($f)))?),*})?,)*
                _ => return Err(format!("there is no operation `{name}`")),
            })
        }

        /// Every operation and its fields.
        pub(super) fn fields() -> Vec<(&'static str, Vec<FieldSchema>)> {
            vec![$(($name, vec![
                $($(FieldSchema { name: plain(stringify!($t)), place: <$T>::PLACE, schema: <$T>::schema() },)*)?
                $($(FieldSchema { name: plain(stringify!($f)), place: <$F>::PLACE, schema: <$F>::schema() },)*)?
            ])),*]
        }
    };
}

with_graph_ops!(operations);
