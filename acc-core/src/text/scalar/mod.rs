//! The text form of scalar functions, in any dialect: printer and parser.

mod parser;
mod printer;
pub(super) mod program;

pub use parser::{FunParser, Parsed};
pub use printer::{Printer, Tables};

use super::cursor::Cursor;
use crate::data::{Lit, ScalarType};
use crate::error::Error;
use crate::ir::{Dialect, Node};
use smallvec::SmallVec;
use std::fmt::Display;

/// A dialect that has a text form: what differs from that of other dialects.
///
/// An operation of the dialect alone is a word and what stands behind it.
pub trait Syntax: Dialect<Array: Display, Index: Display> {
    /// A word that may stand before the type of a value where it is defined.
    const MARK: Option<&'static str> = None;
    /// What is known of arrays when code is printed.
    type Known: ?Sized;
    /// What is known of arrays when code is read: the names that are visible.
    type Names: ?Sized;

    /// The number of leaves of an array's elements, if it is known; all that a node defines if not.
    fn leaf_count(known: &Self::Known, array: &Self::Array) -> Option<usize>;

    /// Prints what an index out of bounds reads, behind the read.
    fn print_edge(p: &mut Printer<'_, Self>, edge: Self::Edge);

    /// Prints an operation of the dialect alone.
    fn print_own(p: &mut Printer<'_, Self>, op: &Self::Own, tables: &Tables<'_>);

    /// Reads the name of an array.
    fn array(c: &mut Cursor<'_>, names: &Self::Names) -> Result<Self::Array, Error>;

    /// The types of the leaves of an array's elements, if they are known.
    fn leaves(names: &Self::Names, array: &Self::Array) -> Option<SmallVec<[ScalarType; 4]>>;

    /// A literal as a node; if there are no such nodes, it goes to the table.
    fn literal(literal: Lit) -> Option<Self::Literal>;

    /// Reads a position along one dimension.
    fn index(p: &mut FunParser<'_, '_, Self>, nodes: &mut Vec<Node<Self>>) -> Result<Self::Index, Error>;

    /// Reads what an index out of bounds reads, if that is written.
    fn edge(c: &mut Cursor<'_>) -> Result<Self::Edge, Error>;

    /// Reads what stands behind the name of an operation of the dialect alone, and gives it with the types of its results:
    /// `wanted` are those written in its definition, if it stands in one. None if there is no such operation.
    fn own(
        p: &mut FunParser<'_, '_, Self>,
        name: &str,
        nodes: &mut Vec<Node<Self>>,
        wanted: Option<&[Option<ScalarType>]>,
    ) -> Result<Option<(Self::Own, Vec<ScalarType>)>, Error>;
}
