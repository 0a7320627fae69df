//! Frames: where scalar expressions live while closures run.

use super::nodes::Nodes;
use super::{AccRef, Frozen, ambient, freeze};
use crate::data::{EltType, Lit};
use crate::error::BuildError;
use crate::ir::{Loc, PrimOp};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// A handle to a scalar expression: the serial number of its frame, never used twice on a thread, and its number there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ExpRef {
    pub(super) frame: u64,
    pub(super) index: u64,
}

/// A scalar expression under construction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ExpOp {
    Const(Lit),
    /// A parameter of the closure that the frame belongs to.
    Param(u32),
    Tuple(SmallVec<[ExpRef; 4]>),
    Proj(ExpRef, u32),
    Prim(PrimOp, SmallVec<[ExpRef; 2]>),
    Cast(ExpRef),
    Bitcast(ExpRef),
    Cond(ExpRef, ExpRef, ExpRef),
    /// A loop; `test` and `step` are results of loop frames.
    While {
        init: ExpRef,
        test: ExpRef,
        test_param: ExpRef,
        step: ExpRef,
        step_param: ExpRef,
    },
    /// A foreign function; `fallback` is the result of a loop frame.
    Foreign {
        name: Arc<str>,
        arg: ExpRef,
        param: ExpRef,
        fallback: ExpRef,
        /// Its partial derivatives, if it has its own: their parameter and their result, of a loop frame, too.
        partials: Option<(ExpRef, ExpRef)>,
    },
    /// A function and its derivative by its one float; `result` is that of a loop frame.
    Derivative {
        arg: ExpRef,
        param: ExpRef,
        result: ExpRef,
    },
    Index(AccRef, ExpRef),
    Extent(AccRef, u32),
    Poison(Arc<BuildError>),
}

/// What a frame is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameKind {
    /// The bottom of the stack: expressions made outside every closure.
    Ambient,
    /// The body of an array function, or a `scope`.
    Arrays,
    /// A combinator's closure over elements or indices.
    Kernel,
    /// A closure of a scalar loop, or a fallback.
    Loop,
}

#[derive(Clone)]
pub(super) struct ExpNode {
    pub(super) op: ExpOp,
    pub(super) ty: EltType,
    pub(super) loc: Loc,
}

pub(super) struct Frame {
    pub(super) serial: u64,
    kind: FrameKind,
    loc: Loc,
    pub(super) nodes: Nodes,
    /// Hash-consing: textually repeated expressions are one node.
    pub(super) memo: HashMap<(ExpOp, EltType), u64>,
    /// The nodes of loop frames opened inside this one and closed: still part of its expressions, but out of reach for
    /// new uses.
    pub(super) loops: HashMap<u64, Nodes>,
}

impl Frame {
    fn new(serial: u64, kind: FrameKind, loc: Loc) -> Frame {
        Frame { serial, kind, loc, nodes: Nodes::default(), memo: HashMap::new(), loops: HashMap::new() }
    }
}

pub(super) struct Builder {
    frames: Vec<Frame>,
    next: u64,
    /// Where frames were opened that are closed now, for the message about escaped expressions.
    history: VecDeque<(u64, Loc)>,
    /// Decides how long the expressions of the ambient frame live.
    age: ambient::Age,
}

/// How many closed frames are remembered.
const MAX_CLOSED_REMEMBERED: usize = 1024;

/// Adds to a list of at most `most` entries, the oldest of which go.
pub(super) fn remember<T>(history: &mut VecDeque<T>, entry: T, most: usize) {
    if history.len() >= most {
        history.pop_front();
    }
    history.push_back(entry);
}

thread_local! {
    static BUILDER: RefCell<Builder> = RefCell::new(Builder::new());
}

impl Builder {
    fn new() -> Builder {
        let mut b = Builder { frames: Vec::new(), next: 0, history: VecDeque::new(), age: ambient::Age::default() };
        b.open(FrameKind::Ambient, Loc::unknown());
        b
    }

    fn open(&mut self, kind: FrameKind, loc: Loc) -> u64 {
        let serial = self.next;
        self.next += 1;
        self.frames.push(Frame::new(serial, kind, loc));
        serial
    }

    fn close(&mut self, serial: u64) {
        while self.frames.len() > 1
            && let Some(f) = self.frames.pop_if(|f| f.serial >= serial)
        {
            remember(&mut self.history, (f.serial, f.loc), MAX_CLOSED_REMEMBERED);
            if f.kind == FrameKind::Loop
                && let Some(parent) = self.frames.last_mut()
            {
                parent.loops.extend(f.loops);
                parent.loops.insert(f.serial, f.nodes);
            }
        }
    }

    fn top(&mut self) -> &mut Frame {
        if self.frames.is_empty() {
            self.open(FrameKind::Ambient, Loc::unknown());
        }
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    /// The open frame with this serial number.
    fn frame(&self, serial: u64) -> Option<&Frame> {
        self.frames.iter().rev().find(|f| f.serial == serial)
    }

    /// A node that new expressions may use: its frame is open.
    pub(super) fn usable(&self, r: ExpRef) -> Option<&ExpNode> {
        self.frame(r.frame)?.nodes.get(r.index, self.age.programs())
    }

    /// A node of an open frame, or of a loop inside one.
    pub(super) fn node(&self, r: ExpRef) -> Option<&ExpNode> {
        let of_loop = || self.frames.iter().rev().find_map(|f| f.loops.get(&r.frame));
        self.frame(r.frame).map(|f| &f.nodes).or_else(of_loop)?.get(r.index, self.age.programs())
    }

    /// The open frames, the innermost first.
    pub(super) fn frames_mut(&mut self) -> impl Iterator<Item = &mut Frame> {
        self.frames.iter_mut().rev()
    }

    /// How many programs this thread has built.
    pub(super) fn programs(&self) -> u64 {
        self.age.programs()
    }

    /// Where the closure was opened that a parameter belongs to.
    pub(super) fn closure_of(&self, r: ExpRef) -> Loc {
        self.frame(r.frame).map_or_else(Loc::unknown, |f| f.loc.clone())
    }

    fn freeze(&self, params: &[ExpRef], result: ExpRef, loc: &Loc) -> Frozen {
        if self.usable(result).is_none() {
            return Err(self.escaped(result, loc));
        }
        freeze::fun(self, params, result, loc)
    }

    pub(super) fn escaped(&self, r: ExpRef, used: &Loc) -> Arc<BuildError> {
        if self.frames.first().is_some_and(|ambient| ambient.serial == r.frame) {
            return Arc::new(BuildError::StaleExp { created: self.age.created(r), used: used.clone() });
        }
        let created = self.history.iter().rev().find(|h| h.0 == r.frame).map_or_else(Loc::unknown, |h| h.1.clone());
        Arc::new(BuildError::EscapedExp { created, used: used.clone() })
    }

    pub(super) fn push(&mut self, op: ExpOp, ty: EltType, loc: &Loc) -> ExpRef {
        let mut bad = None;
        op.operands(&mut |r| {
            if bad.is_none() && self.usable(r).is_none() {
                bad = Some(r);
            }
        });
        if let Some(r) = bad {
            let e = self.escaped(r, loc);
            return self.insert(ExpOp::Poison(e), ty, loc);
        }
        self.insert(op, ty, loc)
    }

    fn insert(&mut self, op: ExpOp, ty: EltType, loc: &Loc) -> ExpRef {
        let now = self.age.programs();
        let f = self.top();
        let (key, frame) = ((op, ty), f.serial);
        if let Some(&index) = f.memo.get(&key)
            && f.nodes.get(index, now).is_some()
        {
            return ExpRef { frame, index };
        }
        let index = f.nodes.push(ExpNode { op: key.0.clone(), ty: key.1.clone(), loc: loc.clone() }, now);
        f.memo.insert(key, index);
        if self.frames.len() == 1 {
            self.age.note_new();
        }
        ExpRef { frame, index }
    }
}

impl ExpOp {
    /// Calls `f` on every handle that must be usable where the expression is made. The results of a loop's closures
    /// are of frames closed by then, and were checked when these closed.
    pub(super) fn operands(&self, f: &mut dyn FnMut(ExpRef)) {
        match self {
            ExpOp::Const(_) | ExpOp::Param(_) | ExpOp::Extent(..) | ExpOp::Poison(_) => {}
            ExpOp::Tuple(v) => v.iter().for_each(|r| f(*r)),
            ExpOp::Prim(_, v) => v.iter().for_each(|r| f(*r)),
            ExpOp::Proj(a, _) | ExpOp::Cast(a) | ExpOp::Bitcast(a) | ExpOp::Index(_, a) => f(*a),
            ExpOp::Cond(c, t, e) => [c, t, e].into_iter().for_each(|r| f(*r)),
            ExpOp::While { init, .. } => f(*init),
            ExpOp::Foreign { arg, .. } | ExpOp::Derivative { arg, .. } => f(*arg),
        }
    }

    /// The array that the expression itself reads or measures.
    pub(super) fn array(&self) -> Option<&AccRef> {
        match self {
            ExpOp::Index(array, _) | ExpOp::Extent(array, _) => Some(array),
            ExpOp::Const(_)
            | ExpOp::Param(_)
            | ExpOp::Tuple(_)
            | ExpOp::Proj(..)
            | ExpOp::Prim(..)
            | ExpOp::Cast(_)
            | ExpOp::Bitcast(_)
            | ExpOp::Cond(..)
            | ExpOp::While { .. }
            | ExpOp::Foreign { .. }
            | ExpOp::Derivative { .. }
            | ExpOp::Poison(_) => None,
        }
    }
}

pub(super) fn with<R>(f: impl FnOnce(&mut Builder) -> R) -> R {
    BUILDER.with(|b| f(&mut b.borrow_mut()))
}

/// The folder of this crate's sources, as the compiler names it.
fn own_sources() -> &'static str {
    file!().strip_suffix("builder/frame.rs").unwrap_or_default()
}

/// Adds an expression to the innermost frame.
///
/// Expressions that a combinator adds itself, such as conversions of a result, get the location of the user's call.
pub fn push(op: ExpOp, ty: EltType, loc: &Loc) -> ExpRef {
    with(|b| {
        let ours = loc.file().is_some_and(|f| !own_sources().is_empty() && f.starts_with(own_sources()));
        match b.frames.last().map(|f| f.loc.clone()).filter(|l| ours && l.is_known()) {
            Some(call) => b.push(op, ty, &call),
            None => b.push(op, ty, loc),
        }
    })
}

/// Closes its frame, also when the closure panics.
struct Guard(u64);

impl Drop for Guard {
    fn drop(&mut self) {
        // While the thread ends there is no builder left, and no frame to close.
        let _ = BUILDER.try_with(|b| b.borrow_mut().close(self.0));
    }
}

fn open(kind: FrameKind, loc: &Loc) -> Guard {
    Guard(with(|b| b.open(kind, loc.clone())))
}

fn params(types: &[EltType], loc: &Loc) -> Vec<ExpRef> {
    types.iter().enumerate().map(|(i, t)| push(ExpOp::Param(i as u32), t.clone(), loc)).collect()
}

/// Runs a combinator's closure on parameters of these types and freezes what it returns.
pub fn lambda(types: Vec<EltType>, loc: Loc, f: impl FnOnce(&[ExpRef]) -> ExpRef) -> Frozen {
    // The generic shell is thin: everything else is compiled once.
    fn run(types: &[EltType], loc: &Loc, f: Box<dyn FnOnce(&[ExpRef]) -> ExpRef + '_>) -> Frozen {
        let _guard = open(FrameKind::Kernel, loc);
        let params = params(types, loc);
        // User code: no borrow is held; it may open frames of its own, and panic.
        let result = crate::grow_stack(|| f(&params));
        with(|b| b.freeze(&params, result, loc))
    }
    run(&types, &loc, Box::new(f))
}

/// Evaluates `f` in a frame of its own and freezes its result as a function without parameters.
pub fn closed(loc: Loc, f: impl FnOnce() -> ExpRef) -> Frozen {
    let _guard = open(FrameKind::Arrays, &loc);
    let r = f();
    with(|b| b.freeze(&[], r, &loc))
}

/// Runs a closure of a scalar loop, or a fallback; returns its parameter and its result.
pub fn loop_body(ty: EltType, loc: &Loc, f: impl FnOnce(ExpRef) -> ExpRef) -> (ExpRef, ExpRef) {
    let _guard = open(FrameKind::Loop, loc);
    let param = params(std::slice::from_ref(&ty), loc)[0];
    let result = crate::grow_stack(|| f(param));
    let result = with(|b| {
        if b.usable(result).is_some() {
            return result;
        }
        let e = b.escaped(result, loc);
        b.insert(ExpOp::Poison(e), ty, loc)
    });
    (param, result)
}

/// A scalar loop whose closures were run by [`loop_body`].
pub fn while_loop(
    init: ExpRef,
    (test_param, test): (ExpRef, ExpRef),
    (step_param, step): (ExpRef, ExpRef),
    ty: EltType,
    loc: &Loc,
) -> ExpRef {
    push(ExpOp::While { init, test, test_param, step, step_param }, ty, loc)
}

/// A foreign function of `arg`, of result type `ty`, whose fallback was run by [`loop_body`].
pub fn foreign(name: &str, arg: ExpRef, (param, fallback): (ExpRef, ExpRef), ty: EltType, loc: &Loc) -> ExpRef {
    push(ExpOp::Foreign { name: name.into(), arg, param, fallback, partials: None }, ty, loc)
}

/// A function of `arg` that was run by [`loop_body`], and its partial derivatives, run by it, too.
pub fn with_partials(
    arg: ExpRef,
    (param, fallback): (ExpRef, ExpRef),
    partials: (ExpRef, ExpRef),
    ty: EltType,
    loc: &Loc,
) -> ExpRef {
    push(ExpOp::Foreign { name: "".into(), arg, param, fallback, partials: Some(partials) }, ty, loc)
}

/// A function that was run by [`loop_body`] at `arg`, and its derivative there: a pair of this type.
pub fn derivative(arg: ExpRef, (param, result): (ExpRef, ExpRef), ty: EltType, loc: &Loc) -> ExpRef {
    push(ExpOp::Derivative { arg, param, result }, ty, loc)
}

/// A scope for array-level code: scalar expressions built inside are freed at its end.
#[track_caller]
pub fn scope<R>(f: impl FnOnce() -> R) -> R {
    let _guard = open(FrameKind::Arrays, &Loc::caller());
    f()
}

/// Runs the code of a combinator that is made of others: what it builds has the caller's position, messages call it by this
/// name, and its scalar expressions are freed at its end.
#[track_caller]
pub(crate) fn compose<R>(name: &'static &'static str, f: impl FnOnce() -> R) -> R {
    Loc::composed(name, || scope(f))
}

/// Whether the innermost open closure is scalar code: over elements or indices, or of a scalar loop.
pub(crate) fn in_scalar_code() -> bool {
    with(|b| b.frames.last().is_some_and(|f| matches!(f.kind, FrameKind::Kernel | FrameKind::Loop)))
}

/// An expression of scalar code stands where an array is needed.
pub(super) fn not_an_array(r: ExpRef, used: &Loc) -> Arc<BuildError> {
    let lambda = with(|b| b.closure_of(r));
    Arc::new(BuildError::NestedParallelism { lambda, used: used.clone() })
}

/// The number of scalar expressions that this thread holds; for tests of what is retained.
pub fn live_nodes() -> usize {
    with(|b| b.frames.iter().map(|f| f.nodes.len() + f.loops.values().map(Nodes::len).sum::<usize>()).sum())
}

/// Frees the scalar expressions made outside every closure and [`scope`] on this thread, with the arrays they read.
/// Handles to them become stale: using one is an error. Inside a closure nothing happens.
pub fn reset_ambient() {
    let dropped = with(|b| {
        let [ambient] = &mut b.frames[..] else { return None };
        let old = std::mem::replace(ambient, Frame::new(b.next, FrameKind::Ambient, Loc::unknown()));
        b.next += 1;
        remember(&mut b.history, (old.serial, Loc::unknown()), MAX_CLOSED_REMEMBERED);
        Some(old)
    });
    // With no borrow of the builder held: the owner of an array's memory may build expressions as it is dropped.
    drop(dropped);
}

/// Call after building a program: frees the expressions of the ambient frame that [`ambient`] says have lived long enough.
/// Does nothing inside a closure or a [`scope`].
pub(crate) fn program_built(purpose: ambient::Purpose) {
    let dropped = with(|b| match &mut b.frames[..] {
        [frame] => b.age.program(frame, purpose),
        _ => Vec::new(),
    });
    // With no borrow of the builder held, as above.
    drop(dropped);
}
