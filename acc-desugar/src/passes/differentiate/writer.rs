//! Writing statements.

use super::extents::KnownExtents;
use super::notes::Note;
use crate::analysis::extents::Extents;
use crate::settings::Settings;
use acc_core::ad::Code;
use acc_core::data::EltType;
use acc_core::ir::{ArrayId, ArrayOp, ArrayType, Fun, Loc, PrimOp, Stmt, TANGENT_EXTENTS, Val};
use acc_core::{Error, RunLimits};
use smallvec::smallvec;

/// Statements in the making.
pub(super) struct Writer<'a> {
    pub(super) types: Vec<ArrayType>,
    /// Those of the block at hand.
    pub(super) stmts: Vec<Stmt>,
    /// Where the user wrote what they come from.
    pub(super) loc: Loc,
    /// What the statement there does.
    operation: &'static str,
    pub(super) limits: &'a RunLimits,
    /// How many states of a loop are kept for its reverse derivative, beside the first one.
    pub(super) kept_states: usize,
    /// Whether those that are computed again are put in a history.
    pub(super) histories: bool,
    /// Whether nothing is evaluated for adjoints that are all 0, where the function may not evaluate it.
    pub(super) exact: bool,
    /// Whether adjoints may assume, with a check that fails otherwise, that arrays have equal extents; else the program is exact.
    pub(super) assumes: bool,
    /// Which arrays have the same extents.
    pub(super) extents: Extents,
    known: KnownExtents,
    notes: Vec<Note>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(types: Vec<ArrayType>, settings: &Settings<'a>, assumes: bool) -> Writer<'a> {
        let &Settings { limits, kept_states, histories, .. } = settings;
        Writer {
            extents: Extents::of_types(&types),
            types,
            stmts: Vec::new(),
            loc: Loc::unknown(),
            operation: "",
            limits,
            kept_states,
            histories,
            exact: false,
            assumes,
            known: KnownExtents::default(),
            notes: Vec::new(),
        }
    }

    pub(super) fn ty(&self, a: ArrayId) -> &ArrayType {
        &self.types[a.index()]
    }

    pub(super) fn rank(&self, a: ArrayId) -> usize {
        self.ty(a).rank
    }

    pub(super) fn elt(&self, a: ArrayId) -> &EltType {
        &self.ty(a).elt
    }

    /// The type of an array's tangents and adjoints.
    pub(super) fn tangent_elt(&self, a: ArrayId) -> EltType {
        self.elt(a).tangent()
    }

    /// A new array, which no statement defines yet.
    pub(super) fn array(&mut self, ty: ArrayType) -> ArrayId {
        self.types.push(ty);
        self.extents.declare(&self.types);
        ArrayId(self.types.len() as u32 - 1)
    }

    /// New arrays of the types of these.
    pub(super) fn like(&mut self, arrays: &[ArrayId]) -> Vec<ArrayId> {
        arrays.iter().map(|a| self.array(self.ty(*a).clone())).collect()
    }

    /// The statement of the block at hand that defines an array, if one is written so far.
    pub(super) fn definition(&self, a: ArrayId) -> Option<&Stmt> {
        self.stmts.iter().rev().find(|s| s.results.contains(&a))
    }

    /// A statement with one result.
    pub(super) fn add(&mut self, ty: ArrayType, op: ArrayOp) -> ArrayId {
        let result = self.array(ty);
        let s = Stmt { results: smallvec![result], op, loc: self.loc.clone() };
        self.extents.note(&s);
        self.stmts.push(s);
        result
    }

    /// A statement of results that are there already. What it checks is known of them.
    pub(super) fn push(&mut self, s: Stmt) {
        self.extents.note(&s);
        self.extents.learn(&s);
        self.stmts.push(s);
    }

    /// The same, by rank and element type.
    pub(super) fn stmt(&mut self, rank: usize, elt: EltType, op: ArrayOp) -> ArrayId {
        self.add(ArrayType { rank, elt }, op)
    }

    /// A new function in the place at hand.
    pub(super) fn code(&self, params: impl IntoIterator<Item = acc_core::data::ScalarType>) -> Code {
        Code::new(params, &self.loc)
    }

    /// The extents of an array, as a closed function.
    pub(super) fn extents_of(&self, a: ArrayId) -> Fun {
        let mut c = self.code([]);
        let extents = self.known.extents(&mut c, a, self.rank(a));
        c.done(extents)
    }

    /// Whether two arrays have the same extents for certain.
    pub(super) fn same_extents(&self, a: ArrayId, b: ArrayId) -> bool {
        self.extents.of(a) == self.extents.of(b)
    }

    /// Notes the extents of a statement's results, which are not evaluated for these in an exact run.
    pub(super) fn note_extents(&mut self, s: &Stmt) {
        self.extents.declare(&self.types);
        self.extents.note(s);
        if !self.assumes {
            let types = &self.types;
            self.known.note(s, &|a| types[a.index()].rank, &s.loc);
        }
    }

    /// Whether an exact run evaluates a conditional, a loop or a foreign function to find the extents of an array. An adjoint to which
    /// nothing has contributed has no points then.
    pub(super) fn has_costly_extents(&self, a: ArrayId) -> bool {
        self.known.is_costly(a)
    }

    /// The adjoint of an array to which nothing has contributed.
    pub(super) fn no_adjoint(&mut self, of: ArrayId) -> ArrayId {
        if !self.has_costly_extents(of) {
            return self.zeros(of);
        }
        let mut shape = self.code([]);
        let none: Vec<Val> = (0..self.rank(of)).map(|_| shape.int(0)).collect();
        self.zeros_of(shape.done(none), self.tangent_elt(of))
    }

    /// Tangents or adjoints of an array that are all 0.
    pub(super) fn zeros(&mut self, of: ArrayId) -> ArrayId {
        self.zeros_of(self.extents_of(of), self.tangent_elt(of))
    }

    /// An array of these extents that is all 0.
    pub(super) fn zeros_of(&mut self, shape: Fun, elt: EltType) -> ArrayId {
        let rank = shape.body.results.len();
        let mut c = Code::of_index(rank, &self.loc);
        let zeros = c.zeros(&elt.leaves());
        self.stmt(rank, elt, ArrayOp::Generate { shape, f: c.done(zeros) })
    }

    /// Those of these arrays with a float in their elements.
    pub(super) fn with_float(&self, arrays: &[ArrayId]) -> Vec<ArrayId> {
        arrays.iter().copied().filter(|a| self.elt(*a).has_float()).collect()
    }

    /// Tangents or adjoints of arrays that have one, with a check of their extents.
    pub(super) fn given(&mut self, of: &[ArrayId], tangents: &[ArrayId]) -> Vec<ArrayId> {
        let floats = self.with_float(of);
        let checked = |(a, t): (ArrayId, &ArrayId)| {
            let ty = self.ty(*t).clone();
            if ty.rank == 0 {
                return *t;
            }
            let mut c = Code::new([], &self.loc);
            let mut ok = c.truth(true);
            for axis in 0..ty.rank {
                let (n, m) = (c.extent(a, axis), c.extent(*t, axis));
                ok = and_equal(&mut c, ok, [n, m]);
            }
            let op = ArrayOp::Check { xs: *t, ok: c.done([ok]), message: TANGENT_EXTENTS.into() };
            self.add(ty, op)
        };
        floats.into_iter().zip(tangents).map(checked).collect()
    }

    /// The sum of two arrays of the same extents, of floats alone.
    pub(super) fn sum(&mut self, a: ArrayId, b: ArrayId) -> ArrayId {
        let ty = self.ty(a).clone();
        let op = ArrayOp::Map { xs: vec![a, b], f: adder(&ty.elt, &self.loc), indexed: false };
        self.add(ty, op)
    }

    /// Goes on at a statement of the user.
    pub(super) fn at(&mut self, s: &Stmt) {
        self.loc = s.loc.clone();
        self.operation = s.op.name();
    }

    /// Says how the tangents or adjoints of the statement at hand are computed, once.
    pub(super) fn note(&mut self, how: impl Into<String>) {
        self.note_of(self.operation, how);
    }

    /// The same of a scalar operation inside of its functions.
    pub(super) fn note_of(&mut self, operation: &'static str, how: impl Into<String>) {
        let note = Note { loc: self.loc.clone(), operation, how: how.into() };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// What was said.
    pub(super) fn into_notes(self) -> Vec<Note> {
        self.notes
    }

    /// An error for what there is no rule for.
    pub(super) fn no_rule<T>(&self, what: &str, loc: &Loc) -> Result<T, Error> {
        Err(Error::defect("differentiate", format!("no rule yet for {what}")).during("derivative", loc))
    }
}

/// Whether something holds, and two integers are equal.
pub(super) fn and_equal(c: &mut Code, holds: Val, [n, m]: [Val; 2]) -> Val {
    let same = c.two(PrimOp::EqP, n, m);
    c.two(PrimOp::AndP, holds, same)
}

/// The sum of two elements, of floats alone.
pub(super) fn adder(elt: &EltType, loc: &Loc) -> Fun {
    let leaves = elt.leaves();
    let mut c = Code::new([leaves.as_slice(), leaves.as_slice()].concat(), loc);
    let params = c.params();
    let (a, b) = params.split_at(leaves.len());
    let sums: Vec<_> = a.iter().zip(b).map(|(a, b)| c.two(PrimOp::AddP, *a, *b)).collect();
    c.done(sums)
}

/// The positions of the floats among the leaves of a type.
pub(super) fn float_leaves(elt: &EltType) -> Vec<usize> {
    elt.leaves().iter().enumerate().filter(|(_, ty)| ty.is_float()).map(|(k, _)| k).collect()
}
