//! The array operations: one table, from which their type, names, parts, mapping and text form are made.

use super::{Axis, Block, Dir, ForeignFun, Fun};
use smallvec::SmallVec;
use std::convert::Infallible;
use std::fmt::Debug;
use std::sync::Arc;

/// What operations are over: the handles of arrays, functions and blocks.
///
/// [`Ir`] is that of programs; the builder has its own, over expressions under construction.
pub trait Rep {
    /// An array.
    type Array;
    /// Any number of arrays.
    type Arrays;
    /// A scalar function.
    type Fun;
    /// A function of arrays.
    type Block;
}

/// The operations of a [`Program`](super::Program).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ir {}

impl Rep for Ir {
    type Array = super::ArrayId;
    type Arrays = Vec<super::ArrayId>;
    type Fun = Fun;
    type Block = Block;
}

/// What a stencil reads beyond the edges, each dimension handled on its own.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Boundary<F = Fun> {
    /// The nearest element.
    Clamp,
    /// Reflected about the edge element, which is not repeated; a single reflection.
    Mirror,
    /// From the other side; a single wrap.
    Wrap,
    /// A function of the true, out-of-range index: `rank` parameters of type `i64` to the element's leaves.
    Function(F),
}

/// An array that a stencil reads, and how.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StencilInput<R: Rep = Ir> {
    /// The array.
    pub xs: R::Array,
    /// The extents of its window, all odd, one per dimension.
    pub window: Vec<usize>,
    /// What is read beyond its edges.
    pub boundary: Boundary<R::Fun>,
}

impl<R: Rep> StencilInput<R> {
    /// The number of elements in the window.
    pub fn neighbours(&self) -> usize {
        self.window.iter().product()
    }
}

/// How an operation computes its results: what most passes and executors ask.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// Each element of the result on its own, from elements of the operands.
    Pointwise,
    /// A reduction of each row.
    Fold,
    /// A reduction of each segment of a row.
    Segments,
    /// A prefix sum of each row.
    Scan,
    /// Elements written to computed positions.
    Scatter,
    /// A sort of each row.
    Sort,
    /// The operand's elements, in their order.
    View,
    /// Blocks of statements: branches, loops, foreign functions.
    Control,
}

impl Class {
    /// Whether `f` is an associative function that combines the operand's elements in order.
    pub fn reduces(self) -> bool {
        match self {
            Class::Fold | Class::Segments | Class::Scan => true,
            Class::Pointwise | Class::Scatter | Class::Sort | Class::View | Class::Control => false,
        }
    }
}

/// A part of an operation.
pub enum OpPart<'a, R: Rep = Ir> {
    /// An operand.
    Array(&'a R::Array),
    /// Any number of operands.
    Arrays(&'a R::Arrays),
    /// A scalar function: its key in the text form, and whether it is closed (without parameters, and evaluated once).
    Fun(&'static str, Closed, &'a R::Fun),
    /// A block.
    Block(&'a R::Block),
}

/// Whether a function of an operation is closed: it has no parameters, and is evaluated once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closed {
    /// It has parameters.
    No,
    /// It has none.
    Yes,
    /// It has none, and yields extents or positions.
    Extents,
}

/// Makes an operation's parts those of another representation.
pub trait Mapper<R: Rep, S: Rep> {
    /// Why there may be no such part.
    type Error;
    /// An operand.
    fn array(&mut self, a: &R::Array) -> Result<S::Array, Self::Error>;
    /// Any number of operands.
    fn arrays(&mut self, a: &R::Arrays) -> Result<S::Arrays, Self::Error>;
    /// A scalar function.
    fn fun(&mut self, closed: Closed, f: &R::Fun) -> Result<S::Fun, Self::Error>;
    /// A block.
    fn block(&mut self, b: &R::Block) -> Result<S::Block, Self::Error>;
}

/// Calls a macro with the table of array operations: for each its class, its names, and its parts. The text form has
/// arrays without a key first. Where there are several names, the parts with a list in brackets tell them apart: an entry for each name.
///
/// | kind of part | what it is | in the text form |
/// |---|---|---|
/// | `operand` | an array | its name |
/// | `operands [..]` | arrays; whether there are several | their names |
/// | `arrays` | any number of arrays | their names |
/// | `array "key"` | an array | `key: name` |
/// | `inputs` | the arrays of a stencil | names, `window: ..`, `boundary: ..` |
/// | `fun "key"` | a function with parameters | `key: function` |
/// | `closed "key"`, `extents "key"` | a function without parameters | `key: function` |
/// | `initial "key" [..]` | the same, or none; whether there is one | `key: function` |
/// | `block "key"` | a block | `key: block` |
/// | `axes "key"`, `message "key"`, `foreign` | values | `key: value` |
/// | `by_name [..]` | the value for each of the names | the name |
macro_rules! with_array_ops {
    ($callback:ident) => {
        $callback! {
            /// An array of a shape, each element from its index.
            Generate Pointwise ["generate"] {
                /// The extents. A negative one is a fault.
                shape: R::Fun = (extents "shape"),
                /// From an index to the element's leaves.
                f: R::Fun = (fun "f"),
            }
            /// Element-wise on the intersection of the shapes of one or more arrays of one rank.
            Map Pointwise ["map", "zip_with", "imap", "izip_with"] {
                /// The arrays.
                xs: Vec<R::Array> = (operands [false, true, false, true]),
                /// From the index, if `indexed`, and the leaves of each array's element, to the result's leaves.
                f: R::Fun = (fun "f"),
                /// Whether `f` takes the index first.
                indexed: bool = (by_name [false, false, true, true]),
            }
            /// Reduces the innermost dimension with an associative function, in order.
            Fold Fold ["fold", "fold1"] {
                /// The array, of rank 1 or more.
                xs: R::Array = (operand),
                /// From the leaves of two elements to those of one.
                f: R::Fun = (fun "f"),
                /// Included once per row, on the left. Without it every row must have an element.
                init: Option<R::Fun> = (initial "init" [true, false]),
            }
            /// Reduces segments of the innermost dimension with an associative function, in order; the segments are the same in
            /// every row: segment `k` are the positions from `offsets[k]` to before `offsets[k + 1]`. Offsets that are none, that
            /// do not ascend, or that are not all in `0..=extent`, are a fault ([`SEGMENTS_WRONG`](super::SEGMENTS_WRONG)).
            FoldSeg Segments ["fold_seg", "fold1_seg"] {
                /// The array, of rank 1 or more.
                xs: R::Array = (operand),
                /// A vector of `i64`, one more than there are segments.
                offsets: R::Array = (array "offsets"),
                /// From the leaves of two elements to those of one.
                f: R::Fun = (fun "f"),
                /// Included once per segment, on the left, and needed if there is one. Without it an empty segment is a fault
                /// ([`SEGMENT_EMPTY`](super::SEGMENT_EMPTY)).
                init: Option<R::Fun> = (initial "init" [true, false]),
            }
            /// Scans along the innermost dimension with an associative function, in order.
            Scan Scan ["scanl", "scanl1", "scanr", "scanr1"] {
                /// The end it starts from.
                dir: Dir = (by_name [Dir::Left, Dir::Left, Dir::Right, Dir::Right]),
                /// The array, of rank 1 or more.
                xs: R::Array = (operand),
                /// From the leaves of two elements to those of one; the left operand is the one of lesser index.
                f: R::Fun = (fun "f"),
                /// With it the result is one longer (it starts, or from the right ends, with the initial value); without it
                /// the scan is inclusive and keeps the extent.
                init: Option<R::Fun> = (initial "init" [true, false, true, false]),
            }
            /// Writes each element to a target position, combining it with the current value.
            Permute Scatter ["permute"] {
                /// The initial values; gives the result's shape.
                defaults: R::Array = (array "into"),
                /// The source.
                xs: R::Array = (operand),
                /// From the leaves of the new element and those of the value present to those stored.
                combine: R::Fun = (fun "combine"),
                /// From a source index to a `u8` (0: drop the element) and a target index. Out of bounds is a fault.
                target: R::Fun = (fun "target"),
            }
            /// Reads each element of the result from a source position.
            Backpermute Pointwise ["backpermute"] {
                /// The source.
                xs: R::Array = (operand),
                /// The extents of the result.
                shape: R::Fun = (extents "shape"),
                /// From an index of the result to one of the source. Out of bounds is a fault.
                index: R::Fun = (fun "index"),
            }
            /// Maps a fixed neighbourhood of each element, on the intersection of the shapes of one or more arrays of one rank.
            Stencil Pointwise ["stencil"] {
                /// From the leaves of each window's elements, in row-major order, window after window, to the result's leaves.
                f: R::Fun = (fun "f"),
                /// The arrays with their windows.
                inputs: Vec<StencilInput<R>> = (inputs),
            }
            /// The positions (`i64`) that sort each row along the innermost dimension: ascending, stable. Elements are compared
            /// leaf by leaf, the first one first; floats by value, NaN (any) after all numbers.
            Argsort Sort ["argsort"] {
                /// The array, of rank 1 or more.
                xs: R::Array = (operand),
            }
            /// The same array, if a condition holds; else a fault.
            Check Pointwise ["check"] {
                /// The array.
                xs: R::Array = (operand),
                /// A `bool`, then integers for the message.
                ok: R::Fun = (closed "ok"),
                /// What is wrong if the condition does not hold; each `{}` stands for the next integer.
                message: Arc<str> = (message "message"),
            }
            /// The same elements in row-major order under another shape of the same size.
            Reshape View ["reshape"] {
                /// The array.
                xs: R::Array = (operand),
                /// The extents.
                shape: R::Fun = (extents "shape"),
            }
            /// Repeats an array along new axes.
            Replicate Pointwise ["replicate"] {
                /// The array.
                xs: R::Array = (operand),
                /// One entry per axis of the result; the `All`s are the source's axes in order.
                axes: Vec<Axis> = (axes "axes"),
                /// The extents of the `Fixed` axes, in order.
                extents: R::Fun = (extents "extents"),
            }
            /// Fixes some axes at a position.
            Slice Pointwise ["slice"] {
                /// The array.
                xs: R::Array = (operand),
                /// One entry per axis of the source; the `All`s are the result's axes in order.
                axes: Vec<Axis> = (axes "axes"),
                /// The positions on the `Fixed` axes, in order. Out of bounds is a fault.
                index: R::Fun = (extents "index"),
            }
            /// The array itself, stored: no operation after it is fused with one before it.
            Compute View ["compute"] {
                /// The array.
                xs: R::Array = (operand),
            }
            /// A function that is not of the language, with one that is and means the same.
            Foreign Control ["foreign", "trace"] {
                /// The arguments; of a trace, the arrays to show, then those that the block yields.
                xs: R::Arrays = (arrays),
                /// Which.
                function: ForeignFun = (foreign),
                /// The same function in the language: from the arguments to the results.
                fallback: R::Block = (block "fallback"),
            }
            /// A conditional: only the block taken is evaluated. The blocks have no parameters.
            If Control ["acond"] {
                /// One `bool`.
                cond: R::Fun = (closed "cond"),
                /// Evaluated if true.
                then: R::Block = (block "then"),
                /// Evaluated if false.
                else_: R::Block = (block "else"),
            }
            /// A loop: while `test` yields true of the state, the state becomes what `step` yields.
            While Control ["awhile"] {
                /// The initial state.
                init: R::Arrays = (arrays),
                /// From the state to one rank-0 array of `bool`.
                test: R::Block = (block "test"),
                /// From the state to the next state.
                step: R::Block = (block "step"),
            }
        }
    };
}
pub(crate) use with_array_ops;

/// Whether a part goes with the name at this position.
macro_rules! part_has_name {
    ($x:ident $at:ident, operands [$($several:literal),*]) => { [$($several),*][$at] == ($x.len() > 1) };
    ($x:ident $at:ident, initial $key:literal [$($there:literal),*]) => { [$($there),*][$at] == $x.is_some() };
    ($x:ident $at:ident, by_name [$($value:expr),*]) => { [$($value),*][$at] == *$x };
    ($x:ident $at:ident, foreign) => { ($at == 0) == matches!($x, ForeignFun::Host(_)) };
    ($x:ident $at:ident, $($kind:tt)*) => { { let _ = ($x, $at); true } };
}

/// The array that a part is, if it has no key.
macro_rules! part_operand {
    ($x:ident, operand) => {
        Some($x)
    };
    ($x:ident, $($kind:tt)*) => {{
        let _ = $x;
        None
    }};
}

/// Appends the arrays, functions and blocks of a part.
macro_rules! part_add {
    ($x:ident $out:ident, operand) => {
        $out.push(OpPart::Array($x))
    };
    ($x:ident $out:ident, array $key:literal) => {
        $out.push(OpPart::Array($x))
    };
    ($x:ident $out:ident, operands $several:tt) => {
        $out.extend($x.iter().map(OpPart::Array))
    };
    ($x:ident $out:ident, arrays) => {
        $out.push(OpPart::Arrays($x))
    };
    ($x:ident $out:ident, inputs) => {
        for i in $x {
            $out.push(OpPart::Array(&i.xs));
        }
        for i in $x {
            if let Boundary::Function(f) = &i.boundary {
                $out.push(OpPart::Fun("boundary", Closed::No, f));
            }
        }
    };
    ($x:ident $out:ident, fun $key:literal) => {
        $out.push(OpPart::Fun($key, Closed::No, $x))
    };
    ($x:ident $out:ident, closed $key:literal) => {
        $out.push(OpPart::Fun($key, Closed::Yes, $x))
    };
    ($x:ident $out:ident, extents $key:literal) => {
        $out.push(OpPart::Fun($key, Closed::Extents, $x))
    };
    ($x:ident $out:ident, initial $key:literal $there:tt) => {
        $out.extend($x.iter().map(|f| OpPart::Fun($key, Closed::Yes, f)))
    };
    ($x:ident $out:ident, block $key:literal) => {
        $out.push(OpPart::Block($x))
    };
    ($x:ident $out:ident, $($kind:tt)*) => {{
        let _ = $x;
    }};
}

/// A part in another representation.
macro_rules! part_map {
    ($x:ident $m:ident, operand) => {
        $m.array($x)?
    };
    ($x:ident $m:ident, array $key:literal) => {
        $m.array($x)?
    };
    ($x:ident $m:ident, operands $several:tt) => {
        $x.iter().map(|a| $m.array(a)).collect::<Result<_, _>>()?
    };
    ($x:ident $m:ident, arrays) => {
        $m.arrays($x)?
    };
    ($x:ident $m:ident, inputs) => {
        $x.iter().map(|i| i.try_map($m)).collect::<Result<_, _>>()?
    };
    ($x:ident $m:ident, fun $key:literal) => {
        $m.fun(Closed::No, $x)?
    };
    ($x:ident $m:ident, closed $key:literal) => {
        $m.fun(Closed::Yes, $x)?
    };
    ($x:ident $m:ident, extents $key:literal) => {
        $m.fun(Closed::Extents, $x)?
    };
    ($x:ident $m:ident, initial $key:literal $there:tt) => {
        $x.as_ref().map(|f| $m.fun(Closed::Yes, f)).transpose()?
    };
    ($x:ident $m:ident, block $key:literal) => {
        crate::grow_stack(|| $m.block($x))?
    };
    ($x:ident $m:ident, $($kind:tt)*) => {
        $x.clone()
    };
}

macro_rules! define_array_ops {
    ($(
        $(#[$doc:meta])*
        $Op:ident $class:ident [$($name:literal),*] { $($(#[$about:meta])* $part:ident: $T:ty = ($($kind:tt)*),)* }
    )*) => {
        /// An array operation. "Leaves" are the scalar leaves of an element type; a function of `rank` indices takes that
        /// many `i64`; an extent function is closed and yields one `i64` per dimension.
        #[derive(Clone, PartialEq, Eq, Hash, Debug)]
        pub enum ArrayOp<R: Rep = Ir> {
            $($(#[$doc])* $Op { $($(#[$about])* $part: $T,)* },)*
        }

        impl ArrayOp {
            /// The names of all operations.
            pub const NAMES: &[&str] = &[$($($name),*),*];
        }

        impl<R: Rep> ArrayOp<R> {
            /// The name in the text form and in messages.
            pub fn name(&self) -> &'static str {
                match self {
                    $(ArrayOp::$Op { $($part),* } => {
                        let names = [$($name),*];
                        let is_it = |at: &usize| { let at = *at; $(part_has_name!($part at, $($kind)*) &&)* at < names.len() };
                        names[(0..names.len()).find(is_it).unwrap_or(0)]
                    })*
                }
            }

            /// How it computes its results.
            pub fn class(&self) -> Class {
                match self {
                    $(ArrayOp::$Op { .. } => Class::$class,)*
                }
            }

            /// The one array that it works on, if there is one: what the text form has without a key.
            pub fn operand(&self) -> Option<&R::Array> {
                match self {
                    $(ArrayOp::$Op { $($part),* } => None$(.or(part_operand!($part, $($kind)*)))*,)*
                }
            }

            /// Its operands, functions and blocks, in the order of the table.
            pub fn parts(&self) -> SmallVec<[OpPart<'_, R>; 4]> {
                let mut out = SmallVec::new();
                match self {
                    $(ArrayOp::$Op { $($part),* } => { $(part_add!($part out, $($kind)*);)* })*
                }
                out
            }

            /// The operation with its parts replaced, in the order of the table.
            pub fn try_map<S: Rep, E>(&self, m: &mut impl Mapper<R, S, Error = E>) -> Result<ArrayOp<S>, E> {
                Ok(match self {
                    $(ArrayOp::$Op { $($part),* } => ArrayOp::$Op { $($part: part_map!($part m, $($kind)*),)* },)*
                })
            }
        }
    };
}
with_array_ops!(define_array_ops);

impl<R: Rep> StencilInput<R> {
    fn try_map<S: Rep, E>(&self, m: &mut impl Mapper<R, S, Error = E>) -> Result<StencilInput<S>, E> {
        let boundary = match &self.boundary {
            Boundary::Clamp => Boundary::Clamp,
            Boundary::Mirror => Boundary::Mirror,
            Boundary::Wrap => Boundary::Wrap,
            Boundary::Function(f) => Boundary::Function(m.fun(Closed::No, f)?),
        };
        Ok(StencilInput { xs: m.array(&self.xs)?, window: self.window.clone(), boundary })
    }
}

impl<R: Rep> ArrayOp<R> {
    /// The operation with its parts replaced by what cannot fail.
    pub fn map<S: Rep>(&self, m: &mut impl Mapper<R, S, Error = Infallible>) -> ArrayOp<S> {
        match self.try_map(m) {
            Ok(op) => op,
        }
    }
}

impl ArrayOp {
    /// The name among those of all operations, if it is one.
    pub fn known_name(name: &str) -> Option<&'static str> {
        ArrayOp::NAMES.iter().copied().find(|n| *n == name)
    }

    /// The arrays it takes as operands, not those that its functions read or its blocks use.
    pub fn arrays(&self) -> SmallVec<[super::ArrayId; 2]> {
        let mut out = SmallVec::new();
        for part in self.parts() {
            match part {
                OpPart::Array(a) => out.push(*a),
                OpPart::Arrays(all) => out.extend_from_slice(all),
                OpPart::Fun(..) | OpPart::Block(_) => {}
            }
        }
        out
    }

    /// The scalar functions inside, each with its key in the text form. Closed ones (no parameters) are evaluated once.
    pub fn funs(&self) -> SmallVec<[(&'static str, &Fun); 2]> {
        let parts = self.parts().into_iter();
        parts.filter_map(|part| if let OpPart::Fun(key, _, f) = part { Some((key, f)) } else { None }).collect()
    }

    /// Whether the function with this key is closed.
    pub fn is_closed(&self, key: &str) -> bool {
        let this = |part: &OpPart<'_>| matches!(part, OpPart::Fun(k, closed, _) if *k == key && *closed != Closed::No);
        self.parts().iter().any(this)
    }

    /// The closed functions inside.
    pub fn closed(&self) -> SmallVec<[&Fun; 2]> {
        let closed = |part| if let OpPart::Fun(_, Closed::Yes | Closed::Extents, f) = part { Some(f) } else { None };
        self.parts().into_iter().filter_map(closed).collect()
    }

    /// The blocks inside.
    pub fn blocks(&self) -> SmallVec<[&Block; 2]> {
        self.parts().into_iter().filter_map(|part| if let OpPart::Block(b) = part { Some(b) } else { None }).collect()
    }
}
