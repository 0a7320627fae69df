//! The parser of scalar functions.

use super::Syntax;
use crate::data::{Lit, ScalarType};
use crate::error::Error;
use crate::grow_stack;
use crate::ir::{Ir, Node, PrimOp, Read, Region, ScalarOp, Val, Vals};
use crate::text::cursor::Cursor;
use crate::text::lexer::{Tok, Token};
use crate::text::scopes::Scopes;
use smallvec::SmallVec;

/// Reads a scalar function.
pub struct FunParser<'c, 'a, D: Syntax = Ir> {
    /// The text.
    pub c: &'c mut Cursor<'a>,
    /// What is known of arrays.
    pub names: &'c D::Names,
    types: Vec<ScalarType>,
    marked: Vec<bool>,
    literals: Vec<(Val, Lit)>,
    scopes: Scopes<Val>,
}

/// A function as it was read.
pub struct Parsed<D: Syntax = Ir> {
    /// The type of each value.
    pub types: Vec<ScalarType>,
    /// Which values are [marked](Syntax::MARK).
    pub marked: Vec<bool>,
    /// The values that are literals and defined by no node.
    pub literals: Vec<(Val, Lit)>,
    /// The code.
    pub region: Region<D>,
}

/// A value that a node defines, as written.
struct Definition {
    name: String,
    marked: bool,
    ty: Option<ScalarType>,
    token: Token,
}

/// What stands on the right of a definition.
enum Operation<D: Syntax> {
    Literal(Lit),
    Node(ScalarOp<D>, Vec<ScalarType>),
}

type Nodes<D> = Vec<Node<D>>;

impl<'c, 'a, D: Syntax> FunParser<'c, 'a, D> {
    /// A function begins here.
    pub fn new(c: &'c mut Cursor<'a>, names: &'c D::Names) -> Self {
        let (types, marked, literals) = (Vec::new(), Vec::new(), Vec::new());
        FunParser { c, names, types, marked, literals, scopes: Scopes::default() }
    }

    /// Reads `|parameters| { nodes yield values }`; where `short` is allowed, the body may be an operand or a list of operands in
    /// parentheses.
    pub fn function(mut self, short: bool) -> Result<Parsed<D>, Error> {
        let region = self.region_with_params(short)?;
        Ok(Parsed { types: self.types, marked: self.marked, literals: self.literals, region })
    }

    /// Reads a region inside a node, with its parameters.
    pub fn inner(&mut self) -> Result<Region<D>, Error> {
        self.region_with_params(false)
    }

    fn new_val(&mut self, ty: ScalarType, marked: bool) -> Val {
        self.types.push(ty);
        self.marked.push(marked);
        Val(self.types.len() as u32 - 1)
    }

    fn bind(&mut self, name: &str, token: &Token, v: Val) -> Result<(), Error> {
        if self.scopes.define(name, v) {
            Ok(())
        } else {
            self.c.error_at(token, format!("`%{name}` is defined already"))
        }
    }

    /// A mark, if there is one.
    fn mark(&mut self) -> bool {
        D::MARK.is_some_and(|mark| self.c.eat_word(mark))
    }

    fn region_with_params(&mut self, short: bool) -> Result<Region<D>, Error> {
        self.c.expect('|')?;
        self.scopes.open();
        let params = self.list('|', |p| {
            let (name, token) = p.scalar_name()?;
            p.c.expect(':')?;
            let marked = p.mark();
            let ty = p.c.scalar_type()?;
            let v = p.new_val(ty, marked);
            p.bind(&name, &token, v)?;
            Ok(v)
        })?;
        let region = if short && !self.c.is('{') { self.short_body(params) } else { self.region(params) };
        self.scopes.close();
        region
    }

    fn short_body(&mut self, params: Vec<Val>) -> Result<Region<D>, Error> {
        let mut nodes = Nodes::new();
        let results =
            if self.c.eat('(') { self.list(')', |p| p.values(&mut nodes))?.concat() } else { self.values(&mut nodes)? };
        Ok(Region { params, nodes, results })
    }

    /// Like [`Cursor::list`], with this parser at hand.
    pub fn list<T>(
        &mut self,
        close: char,
        mut item: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut out = Vec::new();
        while !self.c.eat(close) {
            out.push(item(self)?);
            if !self.c.eat(',') && !self.c.is(close) {
                return self.c.expected(&format!("`,` or `{close}`"));
            }
        }
        Ok(out)
    }

    fn scalar_name(&mut self) -> Result<(String, Token), Error> {
        let t = self.c.token().clone();
        match &t.tok {
            Tok::Scalar(name) => {
                self.c.next();
                Ok((name.clone(), t.clone()))
            }
            _ => self.c.expected("a scalar's name, as in `%x`"),
        }
    }

    /// `{ nodes yield operands }`
    fn region(&mut self, params: Vec<Val>) -> Result<Region<D>, Error> {
        self.c.expect('{')?;
        self.scopes.open();
        let region = self.nested(|p| {
            let mut nodes = Nodes::new();
            while !p.c.eat_word("yield") {
                p.definition(&mut nodes)?;
                p.c.eat(';');
            }
            let results = p.list('}', |p| p.values(&mut nodes))?.concat();
            Ok(Region { params, nodes, results })
        });
        self.scopes.close();
        region
    }

    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        self.c.enter()?;
        let result = grow_stack(|| f(self));
        self.c.leave();
        result
    }

    /// `%x: f32, %y = op @location`, or `() = op`
    fn definition(&mut self, nodes: &mut Nodes<D>) -> Result<(), Error> {
        let start = self.c.token().clone();
        let mut definitions = Vec::new();
        if self.c.eat('(') {
            self.c.expect(')')?;
        } else {
            loop {
                if !matches!(self.c.peek(), Tok::Scalar(_)) {
                    return self.c.expected("a definition, as in `%x: f32 = ...`, or `yield`");
                }
                let (name, token) = self.scalar_name()?;
                let typed = self.c.eat(':');
                let marked = typed && self.mark();
                let ty = if typed { Some(self.c.scalar_type()?) } else { None };
                definitions.push(Definition { name, marked, ty, token });
                if !self.c.eat(',') {
                    break;
                }
            }
        }
        self.c.expect('=')?;
        let wanted: SmallVec<[Option<ScalarType>; 2]> = definitions.iter().map(|d| d.ty).collect();
        let here = self.c.here();
        let found = self.op(nodes, Some(&wanted))?;
        let loc = self.c.location()?.unwrap_or(here);
        let (op, types) = match found {
            Operation::Literal(l) => (Err(l), vec![l.ty]),
            Operation::Node(op, types) => (Ok(op), types),
        };
        if types.len() != definitions.len() {
            let (n, want) = (types.len(), definitions.len());
            return self.c.error_at(&start, format!("the operation yields {n} values, but {want} are defined"));
        }
        let mut results = Vals::new();
        for (d, ty) in definitions.iter().zip(types) {
            let v = self.new_val(d.ty.unwrap_or(ty), d.marked);
            self.bind(&d.name, &d.token, v)?;
            results.push(v);
        }
        match op {
            Ok(op) => nodes.push(Node { results, op, loc }),
            Err(literal) => self.literals.extend(results.first().map(|v| (*v, literal))),
        }
        Ok(())
    }

    /// Reads operands up to and including `)`, after `(`.
    pub fn operands(&mut self, nodes: &mut Nodes<D>) -> Result<Vec<Val>, Error> {
        self.c.expect('(')?;
        self.list(')', |p| p.operand(nodes))
    }

    /// Reads a scalar's name, or an operation with one result in its place.
    pub fn operand(&mut self, nodes: &mut Nodes<D>) -> Result<Val, Error> {
        let start = self.c.token().clone();
        match self.values(nodes)?[..] {
            [v] => Ok(v),
            ref vs => {
                let message = format!("an operand is one value, but this operation yields {}", vs.len());
                self.c.error_at(&start, message)
            }
        }
    }

    /// What a region yields, one item of it: a scalar's name, or an operation with any number of results.
    fn values(&mut self, nodes: &mut Nodes<D>) -> Result<Vec<Val>, Error> {
        if let Tok::Scalar(_) = self.c.peek() {
            let (name, token) = self.scalar_name()?;
            return match self.scopes.get(&name) {
                Some(v) => Ok(vec![v]),
                None => self.c.error_at(&token, format!("`%{name}` is not defined here")),
            };
        }
        let here = self.c.here();
        let found = self.nested(|p| p.op(nodes, None))?;
        let loc = self.c.location()?.unwrap_or(here);
        match found {
            Operation::Literal(l) => {
                let v = self.new_val(l.ty, true);
                self.literals.push((v, l));
                Ok(vec![v])
            }
            Operation::Node(op, types) => {
                let results: Vec<Val> = types.into_iter().map(|ty| self.new_val(ty, false)).collect();
                nodes.push(Node { results: results.iter().copied().collect(), op, loc });
                Ok(results)
            }
        }
    }

    /// The types of values.
    pub fn types_of(&self, vals: &[Val]) -> Vec<ScalarType> {
        vals.iter().map(|v| self.types[v.index()]).collect()
    }

    /// A literal as what it is in the dialect.
    fn literal(l: Lit) -> Operation<D> {
        D::literal(l).map_or(Operation::Literal(l), |literal| Operation::Node(ScalarOp::Const(literal), vec![l.ty]))
    }

    /// An operation, with the types of what it yields. `wanted` are the types written in its definition, if it stands in
    /// one: that of a literal that does not say its own.
    fn op(&mut self, nodes: &mut Nodes<D>, wanted: Option<&[Option<ScalarType>]>) -> Result<Operation<D>, Error> {
        let start = self.c.token().clone();
        let first = wanted.and_then(|types| *types.first()?);
        let literal = match &start.tok {
            Tok::Number(_, None) => first,
            Tok::Word(w) if matches!(&w[..], "nan" | "inf" | "-inf") => first,
            _ => None,
        };
        if let Some(ty) = literal {
            return Ok(Self::literal(self.c.literal(ty)?));
        }
        if self.c.is_typed_literal() {
            return Ok(Self::literal(self.c.typed_literal()?));
        }
        if self.c.is_word_before('[') {
            return self.read(nodes, wanted);
        }
        let (name, token) = self.c.word("an operation")?;
        let (op, types) = match &name[..] {
            "if" => {
                let cond = self.operand(nodes)?;
                let then = self.region(Vec::new())?;
                self.c.expect_word("else")?;
                let else_ = self.region(Vec::new())?;
                let types = self.types_of(&then.results);
                (ScalarOp::If { cond, then, else_ }, types)
            }
            "while" => {
                let init = self.operands(nodes)?;
                self.c.expect_word("test")?;
                let test = self.inner()?;
                self.c.expect_word("step")?;
                let step = self.inner()?;
                let types = self.types_of(&init);
                (ScalarOp::While { init: init.into(), test, step }, types)
            }
            "cast" | "bitcast" => {
                self.c.expect('(')?;
                let x = self.operand(nodes)?;
                self.c.expect(',')?;
                let to = self.c.scalar_type()?;
                self.c.expect(')')?;
                (if name == "cast" { ScalarOp::Cast(x) } else { ScalarOp::Bitcast(x) }, vec![to])
            }
            "select" => match self.operands(nodes)?[..] {
                [cond, then, else_] => (ScalarOp::Select { cond, then, else_ }, self.types_of(&[then])),
                _ => return self.c.error_at(&token, "`select` takes a condition and two values"),
            },
            "extent" => {
                self.c.expect('(')?;
                let array = D::array(self.c, self.names)?;
                self.c.expect(',')?;
                let axis = self.c.natural("an axis")?;
                self.c.expect(')')?;
                (ScalarOp::Extent { array, axis }, vec![ScalarType::I64])
            }
            _ => match D::own(self, &name, nodes, wanted)? {
                Some((op, types)) => (ScalarOp::Own(op), types),
                None => self.prim(&name, &token, nodes)?,
            },
        };
        Ok(Operation::Node(op, types))
    }

    fn prim(
        &mut self,
        name: &str,
        token: &Token,
        nodes: &mut Nodes<D>,
    ) -> Result<(ScalarOp<D>, Vec<ScalarType>), Error> {
        let Some(op) = PrimOp::from_name(name) else {
            let message = match name {
                "inf" | "-inf" | "nan" => {
                    format!("the type of `{name}` is not known here; say it, as in `f32({name})`")
                }
                _ => {
                    let all: Vec<&str> = PrimOp::ALL.iter().map(|op| op.name()).collect();
                    format!("there is no scalar operation `{name}`; there are: {}", all.join(", "))
                }
            };
            return self.c.error_at(token, message);
        };
        let args = self.operands(nodes)?;
        match args.first() {
            Some(&x) if args.len() == op.arity() => {
                let ty = op.result_type(self.types[x.index()]);
                Ok((ScalarOp::Prim(op, args.into()), vec![ty]))
            }
            _ => self.c.error_at(token, format!("`{name}` takes {} operands", op.arity())),
        }
    }

    /// Reads an element of an array: `xs[%i, %j]`.
    pub fn place(&mut self, nodes: &mut Nodes<D>) -> Result<(D::Array, Vec<D::Index>), Error> {
        let array = D::array(self.c, self.names)?;
        self.c.expect('[')?;
        Ok((array, self.list(']', |p| D::index(p, nodes))?))
    }

    /// The element of an array, or with a choice of leaves `xs[%i].(0, 2)`
    fn read(&mut self, nodes: &mut Nodes<D>, wanted: Option<&[Option<ScalarType>]>) -> Result<Operation<D>, Error> {
        let start = self.c.token().clone();
        let (array, index) = self.place(nodes)?;
        let all = D::leaves(self.names, &array);
        let mut leaves: Option<Vec<u32>> = None;
        if self.c.eat('.') {
            self.c.expect('(')?;
            leaves = Some(self.c.list(')', |c| {
                let token = c.token().clone();
                let leaf: u32 = c.natural("the number of a leaf")?;
                match &all {
                    Some(all) if leaf as usize >= all.len() => {
                        c.error_at(&token, format!("the array's elements have {} leaves, counted from 0", all.len()))
                    }
                    _ => Ok(leaf),
                }
            })?);
        }
        let types: Option<Vec<ScalarType>> = match (&all, &leaves) {
            (None, _) => wanted.and_then(|types| types.iter().copied().collect()),
            (Some(all), None) => Some(all.to_vec()),
            (Some(all), Some(some)) => some.iter().map(|&leaf| all.get(leaf as usize).copied()).collect(),
        };
        let Some(types) = types else {
            return self.c.error_at(&start, "say the types of what is read: `%x: f32 = ...`");
        };
        let leaves = leaves.unwrap_or_else(|| (0..types.len() as u32).collect());
        let edge = D::edge(self.c)?;
        let read = Read { array, leaves: leaves.into(), index: index.into(), edge };
        Ok(Operation::Node(ScalarOp::Index(read), types))
    }
}
