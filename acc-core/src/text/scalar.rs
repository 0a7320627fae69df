//! The parser of scalar functions.

use super::cursor::Cursor;
use super::lexer::{Tok, Token};
use super::parser::Arrays;
use super::scopes::Scopes;
use crate::data::ScalarType;
use crate::error::Error;
use crate::grow_stack;
use crate::ir::{Foreign, Fun, Node, PrimOp, Read, Region, ScalarOp, Val, Vals};
use smallvec::SmallVec;

/// Parses `|params| body`.
pub(super) fn fun(c: &mut Cursor<'_>, arrays: &Arrays) -> Result<Fun, Error> {
    let mut p = FunParser { c, arrays, types: Vec::new(), scopes: Scopes::default() };
    let body = p.region_with_params(true)?;
    Ok(Fun { types: p.types, body })
}

struct FunParser<'c, 'a> {
    c: &'c mut Cursor<'a>,
    arrays: &'c Arrays,
    types: Vec<ScalarType>,
    scopes: Scopes<Val>,
}

/// A value that a node defines, as written.
struct Definition {
    name: String,
    ty: Option<ScalarType>,
    token: Token,
}

type Nodes = Vec<Node>;

impl FunParser<'_, '_> {
    fn new_val(&mut self, ty: ScalarType) -> Val {
        self.types.push(ty);
        Val(self.types.len() as u32 - 1)
    }

    fn bind(&mut self, name: &str, token: &Token, v: Val) -> Result<(), Error> {
        if self.scopes.define(name, v) {
            Ok(())
        } else {
            self.c.error_at(token, format!("`%{name}` is defined already"))
        }
    }

    /// `|params| region`; where `short` is allowed, the body may be an operand or a list of operands in parentheses.
    fn region_with_params(&mut self, short: bool) -> Result<Region, Error> {
        self.c.expect('|')?;
        self.scopes.open();
        let params = self.c_list('|', |p| {
            let (name, token) = p.scalar_name()?;
            p.c.expect(':')?;
            let ty = p.c.scalar_type()?;
            let v = p.new_val(ty);
            p.bind(&name, &token, v)?;
            Ok(v)
        })?;
        let region = if short && !self.c.is('{') { self.short_body(params) } else { self.region(params) };
        self.scopes.close();
        region
    }

    fn short_body(&mut self, params: Vec<Val>) -> Result<Region, Error> {
        let mut nodes = Nodes::new();
        let results = if self.c.eat('(') {
            self.c_list(')', |p| p.values(&mut nodes))?.concat()
        } else {
            self.values(&mut nodes)?
        };
        Ok(Region { params, nodes, results })
    }

    /// Like [`Cursor::list`], with this parser at hand.
    fn c_list<T>(&mut self, close: char, mut item: impl FnMut(&mut Self) -> Result<T, Error>) -> Result<Vec<T>, Error> {
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
    fn region(&mut self, params: Vec<Val>) -> Result<Region, Error> {
        self.c.expect('{')?;
        self.scopes.open();
        let region = self.nested(|p| {
            let mut nodes = Nodes::new();
            while !p.c.eat_word("yield") {
                p.definition(&mut nodes)?;
                p.c.eat(';');
            }
            let results = p.c_list('}', |p| p.values(&mut nodes))?.concat();
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
    fn definition(&mut self, nodes: &mut Nodes) -> Result<(), Error> {
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
                let ty = if self.c.eat(':') { Some(self.c.scalar_type()?) } else { None };
                definitions.push(Definition { name, ty, token });
                if !self.c.eat(',') {
                    break;
                }
            }
        }
        self.c.expect('=')?;
        let wanted = definitions.first().and_then(|d| d.ty);
        let here = self.c.here();
        let (op, types) = self.op(nodes, wanted)?;
        let loc = self.c.location()?.unwrap_or(here);
        if types.len() != definitions.len() {
            let (n, want) = (types.len(), definitions.len());
            return self.c.error_at(&start, format!("the operation yields {n} values, but {want} are defined"));
        }
        let mut results = Vals::new();
        for (d, ty) in definitions.iter().zip(types) {
            let v = self.new_val(d.ty.unwrap_or(ty));
            self.bind(&d.name, &d.token, v)?;
            results.push(v);
        }
        nodes.push(Node { results, op, loc });
        Ok(())
    }

    fn operands(&mut self, close: char, nodes: &mut Nodes) -> Result<Vec<Val>, Error> {
        self.c_list(close, |p| p.operand(nodes))
    }

    /// A scalar's name, or an operation with one result in its place.
    fn operand(&mut self, nodes: &mut Nodes) -> Result<Val, Error> {
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
    fn values(&mut self, nodes: &mut Nodes) -> Result<Vec<Val>, Error> {
        if let Tok::Scalar(_) = self.c.peek() {
            let (name, token) = self.scalar_name()?;
            return match self.scopes.get(&name) {
                Some(v) => Ok(vec![v]),
                None => self.c.error_at(&token, format!("`%{name}` is not defined here")),
            };
        }
        let here = self.c.here();
        let (op, types) = self.nested(|p| p.op(nodes, None))?;
        let loc = self.c.location()?.unwrap_or(here);
        let results: Vec<Val> = types.into_iter().map(|ty| self.new_val(ty)).collect();
        nodes.push(Node { results: results.iter().copied().collect(), op, loc });
        Ok(results)
    }

    fn types_of(&self, vals: &[Val]) -> Vec<ScalarType> {
        vals.iter().map(|v| self.types[v.index()]).collect()
    }

    /// An operation, with the types of what it yields. `wanted` is the type of a literal that does not say its own.
    fn op(&mut self, nodes: &mut Nodes, wanted: Option<ScalarType>) -> Result<(ScalarOp, Vec<ScalarType>), Error> {
        let start = self.c.token().clone();
        let literal = match (&start.tok, wanted) {
            (Tok::Number(_, None), Some(_)) => wanted,
            (Tok::Word(w), Some(_)) if matches!(&w[..], "nan" | "inf" | "-inf") => wanted,
            _ => None,
        };
        if let Some(ty) = literal {
            return Ok((ScalarOp::Const(self.c.literal(ty)?), vec![ty]));
        }
        if self.c.is_typed_literal() {
            let l = self.c.typed_literal()?;
            return Ok((ScalarOp::Const(l), vec![l.ty]));
        }
        if self.c.is_word_before('[') {
            return self.read(nodes);
        }
        let (name, token) = self.c.word("an operation")?;
        match &name[..] {
            "if" => {
                let cond = self.operand(nodes)?;
                let then = self.region(Vec::new())?;
                self.c.expect_word("else")?;
                let else_ = self.region(Vec::new())?;
                let types = self.types_of(&then.results);
                Ok((ScalarOp::If { cond, then, else_ }, types))
            }
            "while" => {
                self.c.expect('(')?;
                let init = self.operands(')', nodes)?;
                self.c.expect_word("test")?;
                let test = self.region_with_params(false)?;
                self.c.expect_word("step")?;
                let step = self.region_with_params(false)?;
                let types = self.types_of(&init);
                Ok((ScalarOp::While { init: init.into(), test, step }, types))
            }
            "foreign" => {
                let name = self.c.string("the name of a function")?;
                self.c.expect('(')?;
                let args = self.operands(')', nodes)?;
                let fallback = self.region_with_params(false)?;
                let types = self.types_of(&fallback.results);
                Ok((ScalarOp::Own(Foreign { name: name.into(), args: args.into(), fallback }), types))
            }
            "cast" | "bitcast" => {
                self.c.expect('(')?;
                let x = self.operand(nodes)?;
                self.c.expect(',')?;
                let to = self.c.scalar_type()?;
                self.c.expect(')')?;
                Ok((if name == "cast" { ScalarOp::Cast(x) } else { ScalarOp::Bitcast(x) }, vec![to]))
            }
            "select" => {
                self.c.expect('(')?;
                let args = self.operands(')', nodes)?;
                match args[..] {
                    [cond, then, else_] => Ok((ScalarOp::Select { cond, then, else_ }, self.types_of(&[then]))),
                    _ => self.c.error_at(&token, "`select` takes a condition and two values"),
                }
            }
            "extent" => {
                self.c.expect('(')?;
                let array = self.arrays.reference(self.c)?;
                self.c.expect(',')?;
                let axis = self.c.natural("an axis")?;
                self.c.expect(')')?;
                Ok((ScalarOp::Extent { array, axis }, vec![ScalarType::I64]))
            }
            _ => {
                let Some(op) = PrimOp::from_name(&name) else {
                    let message = match &name[..] {
                        "inf" | "-inf" | "nan" => {
                            format!("the type of `{name}` is not known here; say it, as in `f32({name})`")
                        }
                        _ => {
                            let all: Vec<&str> = PrimOp::ALL.iter().map(|op| op.name()).collect();
                            format!("there is no scalar operation `{name}`; there are: {}", all.join(", "))
                        }
                    };
                    return self.c.error_at(&token, message);
                };
                self.c.expect('(')?;
                let args = self.operands(')', nodes)?;
                match args.first() {
                    Some(&x) if args.len() == op.arity() => {
                        let ty = op.result_type(self.types[x.index()]);
                        Ok((ScalarOp::Prim(op, args.into()), vec![ty]))
                    }
                    _ => self.c.error_at(&token, format!("`{name}` takes {} operands", op.arity())),
                }
            }
        }
    }

    /// `xs[%i, %j]`, or with a choice of leaves `xs[%i].(0, 2)`
    fn read(&mut self, nodes: &mut Nodes) -> Result<(ScalarOp, Vec<ScalarType>), Error> {
        let array = self.arrays.reference(self.c)?;
        self.c.expect('[')?;
        let index: SmallVec<[Val; 4]> = self.operands(']', nodes)?.into();
        let all = self.arrays.ty(array).elt.leaves();
        if !self.c.eat('.') {
            let leaves: Vec<u32> = (0..all.len() as u32).collect();
            return Ok((ScalarOp::Index(Read::new(array, leaves, index)), all.to_vec()));
        }
        self.c.expect('(')?;
        let mut types = Vec::new();
        let leaves = self.c.list(')', |c| {
            let token = c.token().clone();
            let leaf: u32 = c.natural("the number of a leaf")?;
            match all.get(leaf as usize) {
                Some(t) => types.push(*t),
                None => {
                    return c
                        .error_at(&token, format!("the array's elements have {} leaves, counted from 0", all.len()));
                }
            }
            Ok(leaf)
        })?;
        Ok((ScalarOp::Index(Read::new(array, leaves, index)), types))
    }
}
