//! Evaluation of blocks on demand.

use super::number::{Number, Values};
use super::{Host, Ticker, internal, launch};
use crate::data::{ArrayData, EltType};
use crate::error::Error;
use crate::grow_stack;
use crate::ir::{ArrayId, Block, ForeignFun, Program, Stmt, arrays_needed};
use crate::limits::{Meter, RunLimits};
use std::collections::BTreeMap;

/// One run of a program.
pub(super) struct Machine<'p, N: Number> {
    program: &'p Program,
    /// For each array the statement that defines it, with its position in program order; none for parameters.
    definitions: Vec<Option<(usize, &'p Stmt)>>,
    /// The arrays evaluated so far, in the blocks that are running.
    values: Vec<Option<Values<N>>>,
    /// How many derivatives are being computed, one inside the other.
    pub(super) derivatives: u32,
    limits: &'p RunLimits,
    pub(super) meter: Meter,
    ticker: Ticker<'p>,
}

impl<'p, N: Number> Machine<'p, N> {
    pub(super) fn new(program: &'p Program, limits: &'p RunLimits) -> Self {
        let n = program.types.len();
        let mut definitions = vec![None; n];
        define(&program.body, &mut definitions, &mut 0);
        Machine {
            program,
            definitions,
            values: vec![None; n],
            derivatives: 0,
            limits,
            meter: limits.meter(),
            ticker: Ticker::new(limits),
        }
    }

    pub(super) fn run(mut self, args: &[ArrayData]) -> Result<Vec<ArrayData>, Error> {
        let args: Vec<_> = args.iter().cloned().map(Values::plain).collect();
        let results = self.block(&self.program.body, &args)?;
        Ok(results.into_iter().map(|r| r.data).collect())
    }

    /// Runs a block on its parameters' values.
    pub(super) fn block(&mut self, block: &'p Block, args: &[Values<N>]) -> Result<Vec<Values<N>>, Error> {
        self.block_where(block, args, &[])
    }

    /// The same, where some arrays that its statements define are known already.
    pub(super) fn block_where(
        &mut self,
        block: &'p Block,
        args: &[Values<N>],
        known: &[(ArrayId, Values<N>)],
    ) -> Result<Vec<Values<N>>, Error> {
        for (p, arg) in block.params.iter().zip(args) {
            self.values[p.index()] = Some(arg.clone());
        }
        for (a, value) in known {
            if block.stmts.iter().any(|s| s.results.contains(a)) {
                self.values[a.index()] = Some(value.clone());
            }
        }
        self.force(&block.results)?;
        let results = block.results.iter().map(|&r| self.value(r)).collect();
        // The next run of the block computes them anew.
        for a in block.params.iter().chain(block.stmts.iter().flat_map(|s| &s.results)) {
            self.values[a.index()] = None;
        }
        results
    }

    /// Evaluates what these arrays certainly need, in program order.
    fn force(&mut self, wanted: &[ArrayId]) -> Result<(), Error> {
        let mut stmts: BTreeMap<usize, &'p Stmt> = BTreeMap::new();
        let mut todo = wanted.to_vec();
        while let Some(a) = todo.pop() {
            if self.values[a.index()].is_some() {
                continue;
            }
            let Some((position, stmt)) = self.definitions[a.index()] else {
                return Err(internal(format!("{a} is read outside its block")));
            };
            if stmts.insert(position, stmt).is_none() {
                todo.extend(arrays_needed(stmt));
            }
        }
        for stmt in stmts.into_values() {
            // An earlier statement may have needed it already.
            if stmt.results.iter().any(|r| self.values[r.index()].is_none()) {
                grow_stack(|| self.stmt(stmt)).map_err(|e| e.during(stmt.operation(), &stmt.loc))?;
            }
        }
        Ok(())
    }

    /// An array that is evaluated already.
    pub(super) fn value(&self, a: ArrayId) -> Result<Values<N>, Error> {
        self.values[a.index()].clone().ok_or_else(|| internal(format!("{a} has no value")))
    }

    fn stmt(&mut self, stmt: &'p Stmt) -> Result<(), Error> {
        let results = launch::stmt(self, stmt)?;
        for (r, value) in stmt.results.iter().zip(results) {
            // A component of a conditional has the type that its branches agree on, which is the result's too.
            self.values[r.index()].get_or_insert(value);
        }
        Ok(())
    }

    /// The final state of a loop.
    pub(super) fn repeat(
        &mut self,
        init: &[ArrayId],
        test: &'p Block,
        step: &'p Block,
    ) -> Result<Vec<Values<N>>, Error> {
        let mut state = self.all(init)?;
        loop {
            self.limits.check()?;
            let go_on = self.block(test, &state)?;
            if !launch::is_true(&go_on)? {
                return Ok(state);
            }
            state = self.block(step, &state)?;
        }
    }

    /// The results of a function that is not of the language.
    pub(super) fn foreign(
        &mut self,
        function: &ForeignFun,
        xs: &[ArrayId],
        fallback: &'p Block,
    ) -> Result<Vec<Values<N>>, Error> {
        let args = self.all(xs)?;
        match function {
            // The interpreter runs no host functions: the fallback is what they mean.
            ForeignFun::Host(_) => {}
            ForeignFun::Trace(message) => {
                let shown: Vec<_> = args.iter().map(|a| a.data.clone()).collect();
                crate::foreign::trace::emit(message, &shown, fallback.results.len());
            }
        }
        self.block(fallback, &args)
    }

    /// An array, if it is evaluated.
    pub(super) fn evaluated(&self, a: ArrayId) -> Option<&Values<N>> {
        self.values[a.index()].as_ref()
    }

    pub(super) fn all(&self, xs: &[ArrayId]) -> Result<Vec<Values<N>>, Error> {
        xs.iter().map(|&a| self.value(a)).collect()
    }

    /// The type of an array's elements.
    pub(super) fn elt(&self, a: ArrayId) -> &'p EltType {
        &self.program.types[a.index()].elt
    }

    /// The type of the array that a statement with one result defines.
    pub(super) fn result_elt(&self, stmt: &Stmt) -> Result<&'p EltType, Error> {
        let r = stmt.results.first().ok_or_else(|| internal("an operation without a result"))?;
        Ok(self.elt(*r))
    }

    /// Call for every step of work.
    pub(super) fn step(&mut self) -> Result<(), Error> {
        self.ticker.tick()
    }
}

impl<N: Number> Host<N> for Machine<'_, N> {
    fn array(&mut self, a: ArrayId) -> Result<Values<N>, Error> {
        self.force(&[a])?;
        self.value(a)
    }
    fn tick(&mut self) -> Result<(), Error> {
        self.step()
    }
    fn pause(&mut self) -> Result<(), Error> {
        self.limits.check()
    }
}

fn define<'p>(block: &'p Block, definitions: &mut [Option<(usize, &'p Stmt)>], position: &mut usize) {
    grow_stack(|| {
        for s in &block.stmts {
            for r in &s.results {
                definitions[r.index()] = Some((*position, s));
            }
            *position += 1;
            for b in s.op.blocks() {
                define(b, definitions, position);
            }
        }
    });
}
