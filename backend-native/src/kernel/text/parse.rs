//! The parser of kernels.

use super::scalar::axis;
use crate::kernel::{
    AxisKind, Body, Epilogue, Initial, Kernel, KernelIr, Loop, Output, SegmentOperator, Sink, Update, row_major,
};
use acc_core::Error;
use acc_core::ir::{ArrayId, ArrayOp, Dir, PrimOp};
use acc_core::text::{Cursor, FunParser, Syntax};
use acc_desugar::analysis::choice::{Choice, Nans, Ties};
use acc_desugar::analysis::operators::ReduceOp;
use acc_desugar::analysis::segmented_operator::SegmentedOperator;

type Result<T> = std::result::Result<T, Error>;

/// Reads kernels up to the end of the text.
pub(super) fn kernels(c: &mut Cursor<'_>) -> Result<Vec<Kernel>> {
    let mut out = Vec::new();
    while c.is_word("kernel") {
        out.push(kernel(c)?);
    }
    Ok(out)
}

fn kernel(c: &mut Cursor<'_>) -> Result<Kernel> {
    c.expect_word("kernel")?;
    c.expect('(')?;
    let axes = c.list(')', axis_kind)?;
    c.expect('{')?;
    let fused = optional(c, "fused", |c| list(c, array))?.unwrap_or_default();
    let schedule = optional(c, "schedule", |c| list(c, one_loop))?;
    let has_schedule = schedule.is_some();
    let loops = schedule.map_or_else(|| optional(c, "loops", |c| list(c, one_loop)), |loops| Ok(Some(loops)))?;
    let loops = loops.unwrap_or_else(|| row_major(axes.len()));
    let collapsed = optional(c, "collapsed", |c| list(c, |c| axis(c).map(|axis| axis as usize)))?.unwrap_or_default();
    let element = keyed(c, "element", body)?;
    let outputs = outputs(c)?;
    let mut kernel = Kernel { axes, loops, has_schedule, collapsed, element, outputs, epilogue: None, fused };
    if let Some(body) = optional(c, "epilogue", body)? {
        let order = optional(c, "order", |c| list(c, |c| axis(c).map(|axis| axis as usize)))?;
        let leaves = body.region.params.len().saturating_sub(kernel.result_rank());
        kernel.epilogue = Some(Epilogue { body, leaves, outputs: self::outputs(c)?, order });
    }
    c.expect('}')?;
    Ok(kernel)
}

fn axis_kind(c: &mut Cursor<'_>) -> Result<AxisKind> {
    if c.eat_word("scan") {
        if c.eat_word("left") {
            return Ok(AxisKind::Scan(Dir::Left));
        }
        return c.expect_word("right").map(|()| AxisKind::Scan(Dir::Right));
    }
    if c.eat_word("reduce") {
        return Ok(AxisKind::Reduction);
    }
    c.expect_word("parallel").map(|()| AxisKind::Parallel)
}

fn one_loop(c: &mut Cursor<'_>) -> Result<Loop> {
    let acc_core::ir::Loop { axis, step, mark } = acc_core::text::one_loop(c)?;
    let at_most = if c.eat_word("of") { Some(c.natural("a number of iterations")?) } else { None };
    let in_pairs = c.eat_word("in") && c.expect_word("pairs").map(|()| true)?;
    let prefetches = c.eat_word("prefetching");
    Ok(Loop { axis, step, mark, at_most, in_pairs, prefetches })
}

fn body(c: &mut Cursor<'_>) -> Result<Body> {
    let relaxed = c.eat_word("relaxed");
    let parsed = FunParser::<KernelIr>::new(c, &()).function(false)?;
    let (types, uniform, consts, region) = (parsed.types, parsed.marked, parsed.literals, parsed.region);
    Ok(Body { types, uniform, consts, relaxed, region }.canonical())
}

fn outputs(c: &mut Cursor<'_>) -> Result<Vec<Output>> {
    let mut out: Vec<Output> = Vec::new();
    while c.is_word_before('=') {
        let from = out.last().map_or(0, |o| o.values.end);
        out.push(output(c, from)?);
    }
    Ok(out)
}

/// `a1 = store(op: map, values: [0])`; if it takes no values, `from` is where they would begin.
fn output(c: &mut Cursor<'_>, from: usize) -> Result<Output> {
    let result = array(c)?;
    c.expect('=')?;
    let here = c.here();
    let (sink, token) = c.word("what becomes of the values: `store`, `fold`, ...")?;
    c.expect('(')?;
    let op = keyed(c, "op", operation)?;
    let start = c.token().clone();
    let values: Vec<usize> = keyed(c, "values", |c| list(c, |c| c.natural("the position of a result")))?;
    let first = values.first().copied().unwrap_or(from);
    if values.iter().enumerate().any(|(k, v)| Some(*v) != first.checked_add(k)) {
        return c.error_at(&start, "an output takes results that follow each other");
    }
    let stored = !flag(c, "unstored")?;
    let sink = match &sink[..] {
        "store" => Sink::Store,
        "compact" => Sink::Compact,
        "fold" => {
            let (fused, init) = (flag(c, "fused")?, flag(c, "init")?);
            Sink::Fold { fused, init, builtin: optional(c, "builtin", prims)?, combine: keyed(c, "combine", body)? }
        }
        "scan" => {
            let (init, builtin) = (flag(c, "init")?, optional(c, "builtin", prims)?);
            let segmented = match optional(c, "mark", |c| c.natural("the number of a leaf"))? {
                Some(mark) => Some(SegmentedOperator { mark, ops: keyed(c, "segmented", prims)? }),
                None => None,
            };
            Sink::Scan { init, builtin, segmented, runs: flag(c, "runs")?, combine: keyed(c, "combine", body)? }
        }
        "scatter" => {
            let rank = keyed(c, "rank", |c| c.natural("a rank"))?;
            let initial = match optional(c, "into", array)? {
                Some(array) => Initial::Array(array),
                None => Initial::Computed(keyed(c, "initial", body)?),
            };
            let builtin = optional(c, "updates", |c| list(c, update))?;
            Sink::Scatter { rank, initial, builtin, combine: keyed(c, "combine", body)? }
        }
        "segments" => {
            let (offsets, init) = (keyed(c, "offsets", array)?, flag(c, "init")?);
            let operator = match optional(c, "choice", choice)? {
                Some(choice) => SegmentOperator::Choice(choice),
                None => SegmentOperator::Builtin(keyed(c, "builtin", prims)?),
            };
            Sink::Segments { offsets, init, operator, combine: keyed(c, "combine", body)? }
        }
        _ => {
            let known = "`store`, `fold`, `scan`, `scatter`, `segments`, `compact`";
            return c.error_at(&token, format!("values cannot become `{sink}`; there are: {known}"));
        }
    };
    c.expect(')')?;
    let loc = c.location()?.unwrap_or(here);
    Ok(Output { result, op, loc, values: first..first.saturating_add(values.len()), sink, stored })
}

fn array(c: &mut Cursor<'_>) -> Result<ArrayId> {
    KernelIr::array(c, &())
}

fn operation(c: &mut Cursor<'_>) -> Result<&'static str> {
    let (name, token) = c.word("the name of an array operation")?;
    let known = ArrayOp::<acc_core::ir::Ir>::NAMES.iter().find(|n| **n == name);
    known.map_or_else(|| c.error_at(&token, format!("there is no array operation `{name}`")), |op| Ok(*op))
}

fn prims(c: &mut Cursor<'_>) -> Result<Vec<PrimOp>> {
    list(c, prim)
}

fn prim(c: &mut Cursor<'_>) -> Result<PrimOp> {
    let (name, token) = c.word("a primitive operation")?;
    PrimOp::from_name(&name).map_or_else(|| c.error_at(&token, format!("there is no scalar operation `{name}`")), Ok)
}

/// `first max of 1`, `last min of 0`, `first max of 0 nan wins` or `first max of 0 nan yields`
fn choice(c: &mut Cursor<'_>) -> Result<Choice> {
    let ties = if c.eat_word("last") {
        Ties::Last
    } else {
        c.expect_word("first")?;
        Ties::First
    };
    let (name, token) = c.word("`min`, `max`, `all` or `any`")?;
    let extremes = [ReduceOp::Min, ReduceOp::Max, ReduceOp::All, ReduceOp::Any];
    let Some(best) = extremes.into_iter().find(|op| op.name() == name) else {
        return c.error_at(&token, format!("`{name}` chooses no element"));
    };
    c.expect_word("of")?;
    let leaf = c.natural("the number of a leaf")?;
    let nans = if !c.eat_word("nan") {
        Nans::Lose
    } else if c.eat_word("wins") {
        Nans::Win
    } else {
        c.expect_word("yields")?;
        Nans::Yield
    };
    Ok(Choice { leaf, best, ties, nans })
}

/// `new`, `old`, `add(new, old)` or `sub(old, new)`
fn update(c: &mut Cursor<'_>) -> Result<Update> {
    for (word, update) in [("new", Update::New), ("old", Update::Old)] {
        if c.eat_word(word) {
            return Ok(update);
        }
    }
    let op = prim(c)?;
    c.expect('(')?;
    let old_first = c.is_word("old");
    for (k, word) in [["new", "old"], ["old", "new"]][usize::from(old_first)].into_iter().enumerate() {
        if k > 0 {
            c.expect(',')?;
        }
        c.expect_word(word)?;
    }
    c.expect(')')?;
    Ok(if old_first { Update::PrimOldFirst(op) } else { Update::Prim(op) })
}

/// `[item, item]`
fn list<'a, T>(c: &mut Cursor<'a>, item: impl FnMut(&mut Cursor<'a>) -> Result<T>) -> Result<Vec<T>> {
    c.expect('[')?;
    c.list(']', item)
}

/// `key: value`, and a comma if there is one.
fn keyed<'a, T>(c: &mut Cursor<'a>, key: &str, value: impl FnOnce(&mut Cursor<'a>) -> Result<T>) -> Result<T> {
    c.expect_word(key)?;
    c.expect(':')?;
    let found = value(c)?;
    c.eat(',');
    Ok(found)
}

fn optional<'a, T>(
    c: &mut Cursor<'a>,
    key: &str,
    value: impl FnOnce(&mut Cursor<'a>) -> Result<T>,
) -> Result<Option<T>> {
    if c.is_word(key) { keyed(c, key, value).map(Some) } else { Ok(None) }
}

/// A word that may be missing, and a comma if there is one.
fn flag(c: &mut Cursor<'_>, word: &str) -> Result<bool> {
    let found = c.eat_word(word);
    if found {
        c.eat(',');
    }
    Ok(found)
}
