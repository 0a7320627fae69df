//! The array operations: their type, names, parts, mapping and text form, all made from one table (`op_table`).

use super::op_table::with_array_ops;
use super::{Axis, Block, Dir, ForeignFun, Fun, Mode, Schedule};
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

/// Whether a part goes with the name at this position.
macro_rules! part_has_name {
    ($x:ident $at:ident, operands [$($several:literal),*]) => { [$($several),*][$at] == ($x.len() > 1) };
    ($x:ident $at:ident, initial $key:literal [$($there:literal),*]) => { [$($there),*][$at] == $x.is_some() };
    ($x:ident $at:ident, rule $key:literal [$($there:literal),*]) => { [$($there),*][$at] == $x.is_some() };
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
    ($x:ident $out:ident, keyed_arrays $keys:tt) => {
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
    ($x:ident $out:ident, rule $key:literal $there:tt) => {
        $out.extend($x.iter().map(OpPart::Block))
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
    ($x:ident $m:ident, keyed_arrays $keys:tt) => {
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
    ($x:ident $m:ident, rule $key:literal $there:tt) => {
        $x.as_ref().map(|b| crate::grow_stack(|| $m.block(b))).transpose()?
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
