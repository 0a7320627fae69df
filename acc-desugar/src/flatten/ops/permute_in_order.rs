//! Permutations with an operator that tensor libraries do not know.
//!
//! Elements are sorted by target. Each round combines one element of every target with its current value: that is the order of
//! the source.
//!
//! Where a target has many elements, rounds are many and each does little. Then the operator is taken to be associative
//! all the same, and whether that is right is found out:
//!
//! 1. The sorted elements are cut into chunks, of at most [`MAX_CHUNK_ELEMENTS`] elements of one target. Each chunk is folded by itself,
//!    all chunks side by side.
//! 2. A scan of these results guesses the value of the target after each chunk.
//! 3. Each chunk is folded once more, from the guess for the chunk before it, or from what was at the target at first. If
//!    that yields the guess for the chunk itself, bit for bit and for all chunks, the guess is right, by induction over the
//!    chunks of a target. If not, rounds combine all elements.
//!
//! Until the guess is found to be right, operands may be others than in the order of the source. So positions are clamped
//! and divisors mended in these steps, and no fault is looked for. A fourth step does that, if the operator may fault: it
//! folds each chunk from the right value.

use crate::flatten::Flattener;
use crate::graph::builder::Builder;
use crate::graph::{ReduceOp, ScatterMode, SizeOp, Type, Value};
use crate::settings::Faults;
use acc_core::data::{Prim, ScalarType};
use acc_core::ir::{Fun, PrimOp};

/// The most elements of a chunk, a power of two.
const MAX_CHUNK_ELEMENTS: i64 = 64;

/// The most rounds for which no guess is made,
const MAX_ROUNDS_WITHOUT_GUESS: i64 = 256;
/// and one more for so many elements.
const ELEMENTS_PER_ROUND: i64 = 1024;

/// The elements of a permutation, sorted by target.
struct Sorted<'a> {
    /// The targets.
    at: Value,
    values: Vec<Value>,
    /// Whether an element is the first, and the last, of its target.
    starts: Value,
    ends: Value,
    /// How many there are.
    len: Value,
    /// What is at the targets at first.
    base: &'a [Value],
    /// The target of elements that are dropped.
    slots: Value,
}

/// Runs of elements of one target each.
#[derive(Clone)]
struct Runs {
    /// The positions of the first and the last element of each run.
    first: Value,
    last: Value,
    targets: Value,
    /// Whether the elements are not dropped.
    kept: Value,
    /// What is at the targets at first.
    old: Vec<Value>,
    /// How many runs there are, which is known only when the graph runs.
    count: Value,
}

impl Flattener<'_> {
    /// Any operator, by elements sorted by target. `at` are the targets of `n` elements, `slots` that of dropped ones.
    pub(crate) fn permute_in_order(
        &mut self,
        combine: &Fun,
        base: &[Value],
        at: Value,
        values: &[Value],
        [slots, n]: [Value; 2],
    ) -> Vec<Value> {
        let order = self.b.sort_permutation(at);
        let at = self.b.gather(at, order);
        let values = gathered_at(&mut self.b, values, order);
        let (zero, one) = (self.b.size(0), self.b.size(1));
        let fewer = self.b.size_op(SizeOp::Sub, n, one);
        let fewer = self.b.size_op(SizeOp::Max, fewer, zero);
        let first = self.b.size_op(SizeOp::Min, n, one);
        let (head, tail) = (self.b.slice(at, 0, zero, fewer, 1), self.b.slice(at, 0, first, fewer, 1));
        let change = self.b.prim(PrimOp::NeP, &[head, tail]);
        let yes = self.b.bool(true);
        let yes = self.b.full(yes, &[first]);
        let starts = self.b.concat(&[yes, change], 0);
        let ends = self.b.concat(&[change, yes], 0);
        let sorted = Sorted { at, values, starts, ends, len: n, base, slots };
        let all = runs(&mut self.b, &sorted, starts, ends);
        let combined = self.after_all(combine, &sorted, &all);
        base.iter().zip(combined).map(|(b, v)| self.b.scatter(*b, all.targets, v, ScatterMode::Last)).collect()
    }

    /// What each target holds after all its elements.
    fn after_all(&mut self, combine: &Fun, sorted: &Sorted<'_>, all: &Runs) -> Vec<Value> {
        let longest = longest(&mut self.b, all);
        let rounds = |this: &mut Self| this.rounds(combine, &sorted.values, all, &all.old, longest);
        // A report tells of the first fault.
        if self.faults().exact() {
            return rounds(self);
        }
        let per_round = self.b.size(ELEMENTS_PER_ROUND);
        let more = self.b.size_op(SizeOp::Quot, sorted.len, per_round);
        let few = self.b.size(MAX_ROUNDS_WITHOUT_GUESS);
        let few = self.b.size_op(SizeOp::Add, few, more);
        let many = self.b.size_op(SizeOp::Lt, few, longest);
        let none = self.b.bool(false);
        let guessed = self.if_else(
            many,
            &[],
            |this| this.guessed(combine, sorted, all),
            |_| std::iter::once(none).chain(all.old.iter().copied()).collect(),
        );
        self.if_else(guessed[0], &[], |_| guessed[1..].to_vec(), rounds).to_vec()
    }

    /// Combines the elements of each run with the current value one after the other, all runs side by side. `longest` is
    /// one less than the elements of the longest run.
    fn rounds(&mut self, combine: &Fun, values: &[Value], runs: &Runs, from: &[Value], longest: Value) -> Vec<Value> {
        let zero = self.b.size(0);
        let mut state = vec![zero];
        state.extend(from);
        let types: Vec<Type> = state.iter().map(|v| self.b.ty(*v)).collect();
        self.open();
        let params = self.b.params(&types);
        let past = self.b.size_op(SizeOp::Lt, longest, params[0]);
        let more = self.b.not_size(past);
        let test = self.close(vec![more], &[]);
        self.open();
        let params = self.b.params(&types);
        let (round, stored) = (params[0], &params[1..]);
        let round_t = self.b.tensor_of_size(round);
        let at = self.b.prim(PrimOp::AddP, &[runs.first, round_t]);
        let more = self.b.prim(PrimOp::LeP, &[at, runs.last]);
        let on = self.b.and(runs.kept, more);
        let at = self.b.prim(PrimOp::MinP, &[at, runs.last]);
        let new = gathered_at(&mut self.b, values, at);
        let combined = self.map_lanes(combine, false, &[new, stored.to_vec()].concat(), &[runs.count], Some(on));
        let one = self.b.size(1);
        let mut next = vec![self.b.size_op(SizeOp::Add, round, one)];
        next.extend(choose(&mut self.b, on, &combined, stored));
        let step = self.close(next, &[]);
        self.b.while_(&state, test, step)[1..].to_vec()
    }
}

/// The elements in chunks, and what is at the targets after each chunk if the operator is associative.
struct Scanned {
    chunks: Runs,
    /// Whether a chunk is the first of its target.
    starts: Value,
    /// The positions of the last chunk of each target.
    last: Value,
    after: Vec<Value>,
}

impl Flattener<'_> {
    /// Whether the operator is associative on these elements, and what each target holds after all of them
    /// then.
    fn guessed(&mut self, combine: &Fun, sorted: &Sorted<'_>, all: &Runs) -> Vec<Value> {
        let longest = self.b.size(MAX_CHUNK_ELEMENTS - 1);
        let faults = std::mem::replace(&mut self.checks.faults, Faults::Mend);
        let Scanned { chunks, starts, last, after } = self.scanned(combine, sorted);
        let before = before(&mut self.b, &chunks, starts, &after);
        let found = self.rounds(combine, &sorted.values, &chunks, &before, longest);
        self.checks.faults = faults;
        let mut wrong = self.b.bool(false);
        for (guess, found) in after.iter().zip(&found) {
            let differ = differ(&mut self.b, *guess, *found);
            wrong = self.b.prim(PrimOp::OrP, &[wrong, differ]);
        }
        let wrong = self.b.and(chunks.kept, wrong);
        let wrong = self.b.any(wrong);
        let right = self.b.not(wrong);
        let results = if faults.checked() && combine.body.is_partial() {
            let with_faults = |this: &mut Self| {
                let found = this.rounds(combine, &sorted.values, &chunks, &before, longest);
                gathered_at(&mut this.b, &found, last)
            };
            self.if_else(right, &[], with_faults, |_| all.old.clone()).to_vec()
        } else {
            gathered_at(&mut self.b, &found, last)
        };
        std::iter::once(right).chain(results).collect()
    }

    /// Folds the elements in chunks, and scans the results.
    fn scanned(&mut self, combine: &Fun, sorted: &Sorted<'_>) -> Scanned {
        // Chunks begin at multiples of their length, and end before them.
        let starts = or_multiples(&mut self.b, sorted.starts, 0, sorted.len);
        let ends = or_multiples(&mut self.b, sorted.ends, 1, sorted.len);
        let chunks = runs(&mut self.b, sorted, starts, ends);
        let starts = self.b.gather(sorted.starts, chunks.first);
        let ends = self.b.gather(sorted.ends, chunks.last);
        let last = self.b.nonzero(ends);
        // The first chunk of a target begins with the current value, any other one with its first element.
        let one = self.b.constant(1i64.lit());
        let second = self.b.prim(PrimOp::AddP, &[chunks.first, one]);
        let first = self.b.where_(starts, chunks.first, second);
        let own = gathered_at(&mut self.b, &sorted.values, chunks.first);
        let from = choose(&mut self.b, starts, &chunks.old, &own);
        let longest = self.b.size(MAX_CHUNK_ELEMENTS - 1);
        let folded = self.rounds(combine, &sorted.values, &Runs { first, ..chunks.clone() }, &from, longest);
        let after = self.segmented(combine, starts, &folded);
        Scanned { chunks, starts, last, after }
    }

    /// An inclusive scan that restarts where `starts` is true; `combine` takes the later element first.
    fn segmented(&mut self, combine: &Fun, starts: Value, values: &[Value]) -> Vec<Value> {
        let mut state = vec![starts];
        state.extend(values);
        let types: Vec<Type> = state.iter().map(|v| self.b.ty(*v)).collect();
        self.open();
        let len = self.b.param(Type::Size);
        let (before, after) = (self.b.params(&types), self.b.params(&types));
        for c in before.iter().chain(&after) {
            self.b.set_full(*c);
        }
        let starts_after = after[0];
        let on = self.b.not(starts_after);
        let args = [&after[1..], &before[1..]].concat();
        let combined = self.map_lanes(combine, false, &args, &[len], Some(on));
        let mut next = vec![self.b.prim(PrimOp::OrP, &[before[0], starts_after])];
        next.extend(choose(&mut self.b, starts_after, &after[1..], &combined));
        let body = self.close(next, &[]);
        self.b.scan(&state, body)[1..].to_vec()
    }
}

/// The runs whose first and last elements are marked.
fn runs(b: &mut Builder, sorted: &Sorted<'_>, starts: Value, ends: Value) -> Runs {
    let (first, last) = (b.nonzero(starts), b.nonzero(ends));
    let targets = b.gather(sorted.at, last);
    let slot = b.tensor_of_size(sorted.slots);
    let kept = b.prim(PrimOp::LtP, &[targets, slot]);
    let old = gathered_at(b, sorted.base, targets);
    let count = b.extent(last, 0);
    Runs { first, last, targets, kept, old, count }
}

/// One less than the elements of the longest run, dropped elements left out.
fn longest(b: &mut Builder, runs: &Runs) -> Value {
    let lengths = b.prim(PrimOp::SubP, &[runs.last, runs.first]);
    let none = b.constant((-1i64).lit());
    let lengths = b.where_(runs.kept, lengths, none);
    let one = b.size(1);
    let none = b.full(none, &[one]);
    let lengths = b.concat(&[lengths, none], 0);
    let longest = b.reduce(ReduceOp::Max, lengths);
    b.read_back(longest)
}

/// The marks, and one at each element whose position, counted from `start`, is a multiple of the length of chunks.
fn or_multiples(b: &mut Builder, marks: Value, start: i64, len: Value) -> Value {
    let (start, step) = (b.size(start), b.size(1));
    let position = b.iota_from(len, start, step);
    let (mask, zero) = (b.constant((MAX_CHUNK_ELEMENTS - 1).lit()), b.constant(0i64.lit()));
    let rest = b.prim(PrimOp::AndP, &[position, mask]);
    let multiple = b.prim(PrimOp::EqP, &[rest, zero]);
    b.prim(PrimOp::OrP, &[marks, multiple])
}

/// The value of each chunk's target before the chunk, from the values after each chunk.
fn before(b: &mut Builder, chunks: &Runs, starts: Value, after: &[Value]) -> Vec<Value> {
    let (start, step) = (b.size(-1), b.size(1));
    let previous = b.iota_from(chunks.count, start, step);
    let zero = b.constant(0i64.lit());
    let previous = b.prim(PrimOp::MaxP, &[previous, zero]);
    let before = gathered_at(b, after, previous);
    choose(b, starts, &chunks.old, &before)
}

/// Whether values have different bits.
fn differ(g: &mut Builder, a: Value, b: Value) -> Value {
    let bits = match g.scalar(a) {
        ScalarType::F16 => Some(ScalarType::U16),
        ScalarType::F32 => Some(ScalarType::U32),
        ScalarType::F64 => Some(ScalarType::U64),
        _ => None,
    };
    let [a, b] = [a, b].map(|v| bits.map_or(v, |ty| g.bitcast(v, ty)));
    g.prim(PrimOp::NeP, &[a, b])
}

/// The elements of columns at positions.
fn gathered_at(b: &mut Builder, columns: &[Value], positions: Value) -> Vec<Value> {
    columns.iter().map(|c| b.gather(*c, positions)).collect()
}

fn choose(b: &mut Builder, cond: Value, then: &[Value], else_: &[Value]) -> Vec<Value> {
    then.iter().zip(else_).map(|(t, e)| b.where_(cond, *t, *e)).collect()
}
