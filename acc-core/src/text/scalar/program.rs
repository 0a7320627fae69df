//! The scalar functions of programs.

use super::{FunParser, Printer, Syntax, Tables};
use crate::data::{Lit, ScalarType};
use crate::error::Error;
use crate::ir::{ArrayId, Foreign, Fun, Ir, Node, Program, Val};
use crate::text::cursor::Cursor;
use crate::text::parser::Arrays;
use smallvec::SmallVec;

impl Syntax for Ir {
    type Known = Program;
    type Names = Arrays;

    fn leaf_count(program: &Program, array: &ArrayId) -> Option<usize> {
        program.types.get(array.index()).map(|t| t.elt.leaf_count())
    }

    fn print_edge(_: &mut Printer<'_>, (): ()) {}

    fn print_own(p: &mut Printer<'_>, Foreign { name, args, fallback, partials }: &Foreign, tables: &Tables<'_>) {
        p.put(format_args!("foreign {name:?} ("));
        p.vals(args);
        p.out.push_str(") ");
        p.inner(fallback, tables);
        if let Some(partials) = partials {
            p.out.push_str(" partials ");
            p.inner(partials, tables);
        }
    }

    fn array(c: &mut Cursor<'_>, arrays: &Arrays) -> Result<ArrayId, Error> {
        arrays.reference(c)
    }

    fn leaves(arrays: &Arrays, array: &ArrayId) -> Option<SmallVec<[ScalarType; 4]>> {
        Some(arrays.ty(*array).elt.leaves())
    }

    fn literal(literal: Lit) -> Option<Lit> {
        Some(literal)
    }

    fn index(p: &mut FunParser<'_, '_, Ir>, nodes: &mut Vec<Node>) -> Result<Val, Error> {
        p.operand(nodes)
    }

    fn edge(_: &mut Cursor<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn own(
        p: &mut FunParser<'_, '_, Ir>,
        name: &str,
        nodes: &mut Vec<Node>,
        _: Option<&[Option<ScalarType>]>,
    ) -> Result<Option<(Foreign, Vec<ScalarType>)>, Error> {
        if name != "foreign" {
            return Ok(None);
        }
        let name = p.c.string("the name of a function")?.into();
        let args = p.operands(nodes)?.into();
        let fallback = p.inner()?;
        let types = p.types_of(&fallback.results);
        let partials = if p.c.eat_word("partials") { Some(p.inner()?) } else { None };
        Ok(Some((Foreign { name, args, fallback, partials }, types)))
    }
}

/// Parses `|params| body`.
pub(in crate::text) fn fun(c: &mut Cursor<'_>, arrays: &Arrays) -> Result<Fun, Error> {
    let parsed = FunParser::new(c, arrays).function(true)?;
    Ok(Fun { types: parsed.types, body: parsed.region })
}
