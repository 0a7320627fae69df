//! The scalar code of kernels as text: what it has that programs have not.

use crate::kernel::{Edge, Ix, KernelIr, KernelOp, Node};
use acc_core::Error;
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{ArrayId, Val};
use acc_core::text::{Cursor, FunParser, Printer, Syntax, Tables};
use smallvec::SmallVec;
use std::convert::Infallible;
use std::fmt::{self, Display, Formatter};

const EDGES: [(Edge, &str); 4] =
    [(Edge::Clamp, "clamp"), (Edge::Mirror, "mirror"), (Edge::Wrap, "wrap"), (Edge::Any, "any")];

impl Syntax for KernelIr {
    const MARK: Option<&'static str> = Some("uniform");
    type Known = ();
    type Names = ();

    fn leaf_count((): &(), _: &ArrayId) -> Option<usize> {
        None
    }

    fn print_edge(p: &mut Printer<'_, Self>, edge: Option<Edge>) {
        if let Some((_, name)) = EDGES.iter().find(|(e, _)| Some(*e) == edge) {
            p.put(format_args!(" {name}"));
        }
    }

    fn print_own(p: &mut Printer<'_, Self>, op: &KernelOp, _: &Tables<'_>) {
        match op {
            KernelOp::Fma(x, y, z) => p.put(format_args!("fma({x}, {y}, {z})")),
            KernelOp::Scale(x, n) => p.put(format_args!("scale({x}, {n})")),
            KernelOp::Unlikely(x) => p.put(format_args!("unlikely({x})")),
            KernelOp::Table { words, index } => {
                p.put(format_args!("table({index}, ["));
                p.list(words.iter(), |p, word| p.put(format_args!("{word}")));
                p.out.push_str("])");
            }
            KernelOp::Call { name, args } => {
                p.put(format_args!("foreign {name:?} ("));
                p.vals(args);
                p.out.push(')');
            }
            KernelOp::Scalar { array, position } => p.put(format_args!("scalar({array}, {position})")),
            KernelOp::Inside { array, index } => {
                p.out.push_str("inside ");
                p.place(array, index);
            }
            KernelOp::Check { array, index } => {
                p.out.push_str("check ");
                p.place(array, index);
            }
        }
    }

    fn array(c: &mut Cursor<'_>, (): &()) -> Result<ArrayId, Error> {
        numbered(c, 'a', "an array, as in `a0`").map(ArrayId)
    }

    fn leaves((): &(), _: &ArrayId) -> Option<SmallVec<[ScalarType; 4]>> {
        None
    }

    fn literal(_: Lit) -> Option<Infallible> {
        None
    }

    fn index(p: &mut FunParser<'_, '_, Self>, nodes: &mut Vec<Node>) -> Result<Ix, Error> {
        let scaled = p.c.is_number_before('*');
        if !scaled && !is_axis(p.c) {
            return p.operand(nodes).map(Ix::At);
        }
        let mut scale = 1;
        if scaled {
            scale = p.c.natural("a factor")?;
            p.c.expect('*')?;
        }
        let (axis, mut offset, mut base) = (axis(p.c)?, 0, None);
        while p.c.eat('+') {
            match p.c.is_number() {
                true => offset = p.c.natural("a constant")?,
                false => base = Some(p.operand(nodes)?),
            }
        }
        Ok(Ix::Affine { axis, scale, offset, base })
    }

    fn edge(c: &mut Cursor<'_>) -> Result<Option<Edge>, Error> {
        Ok(EDGES.into_iter().find(|(_, name)| c.eat_word(name)).map(|(edge, _)| edge))
    }

    fn own(
        p: &mut FunParser<'_, '_, Self>,
        name: &str,
        nodes: &mut Vec<Node>,
        wanted: Option<&[Option<ScalarType>]>,
    ) -> Result<Option<(KernelOp, Vec<ScalarType>)>, Error> {
        let start = p.c.token().clone();
        let of = |p: &FunParser<'_, '_, Self>, v: Val| p.types_of(&[v]);
        Ok(Some(match name {
            "fma" => match p.operands(nodes)?[..] {
                [x, y, z] => (KernelOp::Fma(x, y, z), of(p, x)),
                _ => return p.c.error_at(&start, "`fma` takes 3 operands"),
            },
            "scale" => match p.operands(nodes)?[..] {
                [x, n] => (KernelOp::Scale(x, n), of(p, x)),
                _ => return p.c.error_at(&start, "`scale` takes 2 operands"),
            },
            "unlikely" => match p.operands(nodes)?[..] {
                [x] => (KernelOp::Unlikely(x), of(p, x)),
                _ => return p.c.error_at(&start, "`unlikely` takes 1 operand"),
            },
            "table" => {
                p.c.expect('(')?;
                let index = p.operand(nodes)?;
                p.c.expect(',')?;
                p.c.expect('[')?;
                let words = p.c.list(']', |c| c.natural::<u64>("a word of the table"))?.into();
                p.c.expect(')')?;
                (KernelOp::Table { words, index }, vec![ScalarType::U64])
            }
            "foreign" => {
                let name = p.c.string("the name of a function")?.into();
                let args = p.operands(nodes)?.into();
                match wanted.and_then(|types| types.iter().copied().collect()) {
                    Some(types) => (KernelOp::Call { name, args }, types),
                    None => return p.c.error_at(&start, "say the types of the results: `%x: f32 = ...`"),
                }
            }
            "scalar" => {
                p.c.expect('(')?;
                let array = Self::array(p.c, &())?;
                p.c.expect(',')?;
                let position = p.c.natural("which of the scalars")?;
                p.c.expect(')')?;
                (KernelOp::Scalar { array, position }, vec![ScalarType::I64])
            }
            "inside" => {
                let (array, index) = p.place(nodes)?;
                (KernelOp::Inside { array, index: index.into() }, vec![ScalarType::Bool])
            }
            "check" => {
                let (array, index) = p.place(nodes)?;
                (KernelOp::Check { array, index: index.into() }, Vec::new())
            }
            _ => return Ok(None),
        }))
    }
}

/// `2 * i0 + -1 + %3`, or a value.
impl Display for Ix {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Ix::At(v) => write!(f, "{v}"),
            Ix::Affine { axis, scale, offset, base } => {
                if *scale != 1 {
                    write!(f, "{scale} * ")?;
                }
                write!(f, "i{axis}")?;
                if *offset != 0 {
                    write!(f, " + {offset}")?;
                }
                base.map_or(Ok(()), |v| write!(f, " + {v}"))
            }
        }
    }
}

/// Reads the number of an axis: `i0`.
pub(super) fn axis(c: &mut Cursor<'_>) -> Result<u32, Error> {
    numbered(c, 'i', "an axis, as in `i0`")
}

fn is_axis(c: &Cursor<'_>) -> bool {
    c.peek_word().is_some_and(|w| number(w, 'i').is_some()) && !c.is_word_before('(')
}

/// Reads a name that is a letter and a number.
fn numbered(c: &mut Cursor<'_>, letter: char, what: &str) -> Result<u32, Error> {
    match c.peek_word().and_then(|w| number(w, letter)) {
        Some(n) => {
            c.word(what)?;
            Ok(n)
        }
        None => c.expected(what),
    }
}

fn number(word: &str, letter: char) -> Option<u32> {
    word.strip_prefix(letter)?.parse().ok()
}
