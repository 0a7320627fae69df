//! The parser of programs, blocks and array operations.

use super::cursor::Cursor;
use super::lexer::{Tok, Token};
use super::scalar::program::fun;
use super::schedule::schedule;
use super::scopes::Scopes;
use crate::error::Error;
use crate::ir::{
    ArrayId, ArrayOp, ArrayType, Axis, Block, Boundary, Dir, ForeignFun, Fun, Mode, Names, Program, Schedule,
    StencilInput, Stmt, with_array_ops,
};
use crate::memory;
use std::collections::HashMap;
use std::sync::Arc;

/// The arrays of the program that is parsed, and the names that are visible.
#[derive(Default)]
pub struct Arrays {
    types: Vec<ArrayType>,
    names: Vec<Option<Arc<str>>>,
    scopes: Scopes<ArrayId>,
}

impl Arrays {
    pub(super) fn ty(&self, a: ArrayId) -> &ArrayType {
        &self.types[a.index()]
    }

    fn define(&mut self, c: &Cursor<'_>, name: &str, token: &Token, ty: ArrayType) -> Result<ArrayId, Error> {
        let a = ArrayId(self.types.len() as u32);
        memory::push(&mut self.types, ty)?;
        memory::push(&mut self.names, Some(name.into()))?;
        if self.scopes.define(name, a) { Ok(a) } else { c.error_at(token, format!("`{name}` is defined already")) }
    }

    /// The name of an array that is visible.
    pub(super) fn reference(&self, c: &mut Cursor<'_>) -> Result<ArrayId, Error> {
        let (name, token) = c.word("the name of an array")?;
        match self.scopes.get(&name) {
            Some(a) => Ok(a),
            None => c.error_at(&token, format!("there is no array `{name}` here")),
        }
    }
}

/// Parses a program; also gives the names of its parameters.
pub(super) fn program(c: &mut Cursor<'_>) -> Result<(Program, Vec<String>), Error> {
    c.expect_word("program")?;
    let mut arrays = Arrays::default();
    arrays.scopes.open();
    c.expect('(')?;
    let params = params(c, &mut arrays, ')')?;
    // So far there are no other arrays.
    let names = arrays.names.iter().map(|name| name.as_deref().unwrap_or_default().to_string()).collect();
    let body = block(c, &mut arrays, params)?;
    Ok((super::canonical(&Program { types: arrays.types, names: Names::new(arrays.names), body }), names))
}

fn params(c: &mut Cursor<'_>, arrays: &mut Arrays, close: char) -> Result<Vec<ArrayId>, Error> {
    c.list(close, |c| {
        let (name, token) = c.word("the name of an array")?;
        c.expect(':')?;
        let ty = c.array_type()?;
        arrays.define(c, &name, &token, ty)
    })
}

/// `{ statements yield arrays }`
fn block(c: &mut Cursor<'_>, arrays: &mut Arrays, params: Vec<ArrayId>) -> Result<Block, Error> {
    c.expect('{')?;
    c.nested(|c| {
        let mut stmts = Vec::new();
        while !c.eat_word("yield") {
            memory::push(&mut stmts, stmt(c, arrays)?)?;
            c.eat(';');
        }
        let results = c.list('}', |c| arrays.reference(c))?;
        Ok(Block { params, stmts, results })
    })
}

/// A block inside an operation: `|params| { ... }` or `{ ... }`
fn inner_block(c: &mut Cursor<'_>, arrays: &mut Arrays) -> Result<Block, Error> {
    arrays.scopes.open();
    let params = if c.eat('|') { params(c, arrays, '|')? } else { Vec::new() };
    let b = block(c, arrays, params);
    arrays.scopes.close();
    b
}

fn stmt(c: &mut Cursor<'_>, arrays: &mut Arrays) -> Result<Stmt, Error> {
    let mut definitions = Vec::new();
    if c.eat('(') {
        c.expect(')')?;
    } else {
        loop {
            let (name, token) = c.word("a definition, as in `a1: [1]f32 = ...`, or `yield`")?;
            c.expect(':')?;
            definitions.push((name, token, c.array_type()?));
            if !c.eat(',') {
                break;
            }
        }
    }
    c.expect('=')?;
    let here = c.here();
    let op = op(c, arrays)?;
    let loc = c.location()?.unwrap_or(here);
    let results = definitions.into_iter().map(|(name, token, ty)| arrays.define(c, &name, &token, ty));
    Ok(Stmt { results: results.collect::<Result<_, _>>()?, op, loc })
}

/// What stands in the parentheses of an array operation.
struct Args {
    op: Token,
    name: String,
    arrays: Vec<ArrayId>,
    keyed: HashMap<String, Arg>,
}

enum Arg {
    Fun(Fun),
    Block(Block),
    Array(ArrayId),
    Arrays(Vec<ArrayId>),
    Windows(Vec<Vec<usize>>),
    Axes(Vec<Axis>),
    Boundaries(Vec<Boundary>),
    Text(Arc<str>),
    Number(usize),
    Loops(Schedule),
}

/// What stands after a key.
enum Kind {
    Fun,
    Block,
    Text,
    Array,
    Arrays,
    Axes,
    Number,
    Loops,
    /// The windows or boundaries of a stencil.
    Inputs,
}

fn op(c: &mut Cursor<'_>, arrays: &mut Arrays) -> Result<ArrayOp, Error> {
    let (name, token) = c.word("an array operation")?;
    if ArrayOp::known_name(&name).is_none() {
        let names = ArrayOp::NAMES.join(", ");
        return c.error_at(&token, format!("there is no array operation `{name}`; there are: {names}"));
    }
    c.expect('(')?;
    let mut args = Args { op: token, name, arrays: Vec::new(), keyed: HashMap::new() };
    c.list(')', |c| args.one(c, arrays))?;
    let op = args.operation(c)?;
    args.nothing_left(c)?;
    Ok(op)
}

fn axis(c: &mut Cursor<'_>) -> Result<Axis, Error> {
    let axis = match c.peek() {
        Tok::Word(w) if w == "all" => Axis::All,
        Tok::Word(w) if w == "fixed" => Axis::Fixed,
        _ => return c.expected("`all` or `fixed`"),
    };
    c.next();
    Ok(axis)
}

/// `[3, 5]`
fn window(c: &mut Cursor<'_>) -> Result<Vec<usize>, Error> {
    c.expect('[')?;
    c.list(']', |c| c.natural("an extent"))
}

fn boundary(c: &mut Cursor<'_>, arrays: &mut Arrays) -> Result<Boundary, Error> {
    if c.is('|') {
        return Ok(Boundary::Function(fun(c, arrays)?));
    }
    let (name, token) = c.word("a boundary")?;
    match &name[..] {
        "clamp" => Ok(Boundary::Clamp),
        "mirror" => Ok(Boundary::Mirror),
        "wrap" => Ok(Boundary::Wrap),
        _ => c.error_at(&token, "expected `clamp`, `mirror`, `wrap` or a function of the index"),
    }
}

impl Args {
    /// An array, or `key: value`.
    fn one(&mut self, c: &mut Cursor<'_>, arrays: &mut Arrays) -> Result<(), Error> {
        if !c.is_word_before(':') {
            self.arrays.push(arrays.reference(c)?);
            return Ok(());
        }
        let (key, token) = c.word("a name")?;
        c.expect(':')?;
        let arg = match self.kind(&key) {
            Some(Kind::Fun) => Arg::Fun(fun(c, arrays)?),
            Some(Kind::Block) => Arg::Block(inner_block(c, arrays)?),
            Some(Kind::Text) => Arg::Text(c.string("a text")?.into()),
            Some(Kind::Number) => Arg::Number(c.natural("a number")?),
            Some(Kind::Array) => Arg::Array(arrays.reference(c)?),
            Some(Kind::Arrays) => {
                c.expect('[')?;
                Arg::Arrays(c.list(']', |c| arrays.reference(c))?)
            }
            Some(Kind::Axes) => {
                c.expect('[')?;
                Arg::Axes(c.list(']', axis)?)
            }
            Some(Kind::Loops) => Arg::Loops(schedule(c)?),
            Some(Kind::Inputs) => match &key[..] {
                "window" => Arg::Windows(vec![window(c)?]),
                "boundary" => Arg::Boundaries(vec![boundary(c, arrays)?]),
                "windows" => {
                    c.expect('[')?;
                    Arg::Windows(c.list(']', window)?)
                }
                // "boundaries".
                _ => {
                    c.expect('[')?;
                    Arg::Boundaries(c.list(']', |c| boundary(c, arrays))?)
                }
            },
            None => return c.error_at(&token, format!("`{}` takes no `{key}`", self.name)),
        };
        if self.keyed.insert(key.clone(), arg).is_some() {
            return c.error_at(&token, format!("`{key}` is given twice"));
        }
        Ok(())
    }

    fn take(&mut self, c: &Cursor<'_>, key: &str) -> Result<Arg, Error> {
        match self.keyed.remove(key) {
            Some(arg) => Ok(arg),
            None => c.error_at(&self.op, format!("`{}` needs `{key}: ...`", self.name)),
        }
    }

    fn wrong<T>(&self, c: &Cursor<'_>, key: &str, what: &str) -> Result<T, Error> {
        c.error_at(&self.op, format!("`{key}` of `{}` must be {what}", self.name))
    }

    fn fun(&mut self, c: &Cursor<'_>, key: &str) -> Result<Fun, Error> {
        match self.take(c, key)? {
            Arg::Fun(f) => Ok(f),
            _ => self.wrong(c, key, "a function"),
        }
    }

    fn block(&mut self, c: &Cursor<'_>, key: &str) -> Result<Block, Error> {
        match self.take(c, key)? {
            Arg::Block(b) => Ok(b),
            _ => self.wrong(c, key, "a block"),
        }
    }

    /// A number, 0 if it is not given.
    fn count(&mut self, c: &Cursor<'_>, key: &str) -> Result<usize, Error> {
        match self.keyed.remove(key) {
            None => Ok(0),
            Some(Arg::Number(n)) => Ok(n),
            Some(_) => self.wrong(c, key, "a number"),
        }
    }

    /// A schedule, if it is given.
    fn loops(&mut self, c: &Cursor<'_>, key: &str) -> Result<Option<Schedule>, Error> {
        match self.keyed.remove(key) {
            None => Ok(None),
            Some(Arg::Loops(loops)) => Ok(Some(loops)),
            Some(_) => self.wrong(c, key, "a list of loops"),
        }
    }

    fn text(&mut self, c: &Cursor<'_>, key: &str) -> Result<Arc<str>, Error> {
        match self.take(c, key)? {
            Arg::Text(text) => Ok(text),
            _ => self.wrong(c, key, "a text"),
        }
    }

    fn foreign(&mut self, c: &Cursor<'_>) -> Result<ForeignFun, Error> {
        Ok(match &self.name[..] {
            "foreign" => ForeignFun::Host(self.text(c, "name")?),
            // "trace".
            _ => ForeignFun::Trace(self.text(c, "message")?),
        })
    }

    fn axes(&mut self, c: &Cursor<'_>, key: &str) -> Result<Vec<Axis>, Error> {
        match self.take(c, key)? {
            Arg::Axes(a) => Ok(a),
            _ => self.wrong(c, key, "a list of `all` and `fixed`"),
        }
    }

    /// The arrays of a stencil: one with `window` and `boundary`, or several with `windows` and `boundaries`.
    fn stencil_inputs(&mut self, c: &Cursor<'_>) -> Result<Vec<StencilInput>, Error> {
        let several = self.keyed.contains_key("windows") || self.keyed.contains_key("boundaries");
        let (window, boundary) = if several { ("windows", "boundaries") } else { ("window", "boundary") };
        let windows = match self.take(c, window)? {
            Arg::Windows(w) => w,
            _ => return self.wrong(c, window, "a list of extents"),
        };
        let boundaries = match self.take(c, boundary)? {
            Arg::Boundaries(b) => b,
            _ => return self.wrong(c, boundary, "a boundary"),
        };
        let arrays = std::mem::take(&mut self.arrays);
        if windows.len() != arrays.len() || boundaries.len() != arrays.len() {
            let counts = format!("{} arrays, {} windows, {} boundaries", arrays.len(), windows.len(), boundaries.len());
            return c.error_at(&self.op, format!("a stencil needs a window and a boundary for each array: {counts}"));
        }
        let inputs = arrays.into_iter().zip(windows).zip(boundaries);
        Ok(inputs.map(|((xs, window), boundary)| StencilInput { xs, window, boundary }).collect())
    }

    fn keyed_array(&mut self, c: &Cursor<'_>, key: &str) -> Result<ArrayId, Error> {
        match self.take(c, key)? {
            Arg::Array(a) => Ok(a),
            _ => self.wrong(c, key, "an array"),
        }
    }

    fn keyed_arrays(&mut self, c: &Cursor<'_>, key: &str) -> Result<Vec<ArrayId>, Error> {
        match self.take(c, key)? {
            Arg::Arrays(all) => Ok(all),
            _ => self.wrong(c, key, "a list of arrays"),
        }
    }

    /// The one array without a key.
    fn array(&mut self, c: &Cursor<'_>) -> Result<ArrayId, Error> {
        match std::mem::take(&mut self.arrays)[..] {
            [a] => Ok(a),
            ref found => {
                c.error_at(&self.op, format!("`{}` takes one array, but {} are given", self.name, found.len()))
            }
        }
    }

    fn nothing_left(&self, c: &Cursor<'_>) -> Result<(), Error> {
        match self.keyed.keys().min() {
            Some(key) => c.error_at(&self.op, format!("`{}` takes no `{key}`", self.name)),
            None if self.arrays.is_empty() => Ok(()),
            None => c.error_at(&self.op, format!("`{}` takes no array", self.name)),
        }
    }
}

/// What stands after a key, if a part has it.
macro_rules! kind_of_part {
    ($key:ident, array $name:literal) => {
        ($key == $name).then_some(Kind::Array)
    };
    ($key:ident, keyed_arrays $names:tt) => {
        $names.contains(&$key).then_some(Kind::Arrays)
    };
    ($key:ident, initial $name:literal $there:tt) => {
        ($key == $name).then_some(Kind::Fun)
    };
    ($key:ident, block $name:literal) => {
        ($key == $name).then_some(Kind::Block)
    };
    ($key:ident, rule $name:literal $there:tt) => {
        ($key == $name).then_some(Kind::Block)
    };
    ($key:ident, count $name:literal) => {
        ($key == $name).then_some(Kind::Number)
    };
    ($key:ident, loops $name:literal) => {
        ($key == $name).then_some(Kind::Loops)
    };
    ($key:ident, axes $name:literal) => {
        ($key == $name).then_some(Kind::Axes)
    };
    ($key:ident, message $name:literal) => {
        ($key == $name).then_some(Kind::Text)
    };
    ($key:ident, foreign) => {
        matches!($key, "name" | "message").then_some(Kind::Text)
    };
    ($key:ident, inputs) => {
        matches!($key, "window" | "boundary" | "windows" | "boundaries").then_some(Kind::Inputs)
    };
    ($key:ident, $fun:ident $name:literal) => {
        ($key == $name).then_some(Kind::Fun)
    };
    // Without a key.
    ($key:ident, $($other:tt)*) => {
        None
    };
}

/// A part of the operation with the name at a position.
macro_rules! parse_part {
    ($args:ident $c:ident $at:ident, operand) => {
        $args.array($c)?
    };
    ($args:ident $c:ident $at:ident, operands $several:tt) => {
        std::mem::take(&mut $args.arrays)
    };
    ($args:ident $c:ident $at:ident, arrays) => {
        std::mem::take(&mut $args.arrays)
    };
    ($args:ident $c:ident $at:ident, inputs) => {
        $args.stencil_inputs($c)?
    };
    ($args:ident $c:ident $at:ident, array $key:literal) => {
        $args.keyed_array($c, $key)?
    };
    ($args:ident $c:ident $at:ident, keyed_arrays $keys:tt) => {
        $args.keyed_arrays($c, $keys[$at])?
    };
    ($args:ident $c:ident $at:ident, initial $key:literal $there:tt) => {
        if $there[$at] { Some($args.fun($c, $key)?) } else { None }
    };
    ($args:ident $c:ident $at:ident, block $key:literal) => {
        $args.block($c, $key)?
    };
    ($args:ident $c:ident $at:ident, rule $key:literal $there:tt) => {
        if $there[$at] { Some($args.block($c, $key)?) } else { None }
    };
    ($args:ident $c:ident $at:ident, count $key:literal) => {
        $args.count($c, $key)?
    };
    ($args:ident $c:ident $at:ident, loops $key:literal) => {
        $args.loops($c, $key)?
    };
    ($args:ident $c:ident $at:ident, axes $key:literal) => {
        $args.axes($c, $key)?
    };
    ($args:ident $c:ident $at:ident, message $key:literal) => {
        $args.text($c, $key)?
    };
    ($args:ident $c:ident $at:ident, foreign) => {
        $args.foreign($c)?
    };
    ($args:ident $c:ident $at:ident, by_name $values:tt) => {
        $values[$at]
    };
    ($args:ident $c:ident $at:ident, $fun:ident $key:literal) => {
        $args.fun($c, $key)?
    };
}

macro_rules! define_parse {
    ($(
        $(#[$doc:meta])*
        $Op:ident $class:ident $names:tt { $($(#[$about:meta])* $part:ident: $T:ty = ($($kind:tt)*),)* }
    )*) => {
        impl Args {
            /// What stands after a key, if the operation has it.
            fn kind(&self, key: &str) -> Option<Kind> {
                $(if $names.contains(&&self.name[..]) {
                    return None$(.or(kind_of_part!(key, $($kind)*)))*;
                })*
                None
            }

            /// The operation of these arguments.
            fn operation(&mut self, c: &Cursor<'_>) -> Result<ArrayOp, Error> {
                $(if let Some(_at) = $names.iter().position(|name| *name == self.name) {
                    return Ok(ArrayOp::$Op { $($part: parse_part!(self c _at, $($kind)*),)* });
                })*
                c.error_at(&self.op, format!("there is no array operation `{}`", self.name))
            }
        }
    };
}
with_array_ops!(define_parse);
