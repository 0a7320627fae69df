//! Which states of a loop are kept while its steps are gone through from the last to the first.
//!
//! Steps are gone back through in segments of so many as [histories](super::history) have rows. The last ones are in the histories
//! when the loop is over; the others are computed again. There is room for a few states beside the first one, which is always there.
//! The newest kept state is the last one at or before the segment at hand. From it the loop runs either to that segment, which is
//! then gone back through, or to a state that is worth keeping, which becomes the newest. How far that is follows the binomial
//! schedule, which needs the fewest evaluations of the step: with s states, the newest included, all segments of a loop of at most
//! C(s + r, r) are computed at most r times (Griewank and Walther, Algorithm 799: revolve, 2000), and once more for the history. The
//! schedule is computed as the program runs, so that neither its size nor the time to compile it depends on the number of steps.

use super::super::Reverse;
use super::history::Rows;
use super::{History, Loop, Way, int};
use acc_core::Error;
use acc_core::ad::Code;
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, ArrayOp, Block, Fun, PrimOp, Stmt, Val};

const INT: ScalarType = ScalarType::I64;

/// The state of going back, but for the adjoints: arrays in this order.
struct Going<'a> {
    /// How many steps are left to go back through.
    left: ArrayId,
    /// The number of the newest kept state: the first one has 0.
    newest: ArrayId,
    /// Before which step each kept state was.
    at: ArrayId,
    /// The last steps of those that are left which are in the histories.
    rows: Rows,
    histories: &'a [ArrayId],
    /// The kept states but the first one, component by component.
    kept: &'a [ArrayId],
    adjoints: &'a [ArrayId],
}

impl Going<'_> {
    fn of<'a>(arrays: &'a [ArrayId], histories: usize, kept: usize) -> Going<'a> {
        let (numbers, rest) = arrays.split_at(5);
        let (histories, rest) = rest.split_at(histories);
        let (kept, adjoints) = rest.split_at(kept);
        let rows = Rows { valid: numbers[3], next: numbers[4] };
        Going { left: numbers[0], newest: numbers[1], at: numbers[2], rows, histories, kept, adjoints }
    }

    fn arrays(&self) -> Vec<ArrayId> {
        let numbers = [self.left, self.newest, self.at, self.rows.valid, self.rows.next];
        [&numbers, self.histories, self.kept, self.adjoints].concat()
    }
}

impl Reverse<'_, '_> {
    /// From the adjoints after all steps of a loop to those before them.
    pub(super) fn back_through(&mut self, l: &Loop, way: &Way, adjoints: &[ArrayId]) -> Result<Vec<ArrayId>, Error> {
        let room = self.w.kept_states;
        let again = format!("in segments that are computed again; the states before {room} of these are kept");
        self.w.note(match way.last {
            Some(_) => format!("its last steps, which are in a history, and those before them {again}"),
            None => format!("its steps from the last one, {again} beside the first one"),
        });
        let zero = self.number(|c| c.int(0));
        let at = self.positions(room, |c, _| c.int(0));
        let none = Rows { valid: zero, next: zero };
        let (rows, histories) = match &way.last {
            Some((rows, histories)) => (*rows, histories.clone()),
            None => match l.history {
                History::None => (none, Vec::new()),
                History::Recorded | History::Again { .. } => (none, self.histories(l, &l.init)),
            },
        };
        let kept: Vec<ArrayId> = std::iter::repeat_n(&l.init, room).flatten().copied().collect();
        let first = Going { left: way.steps, newest: zero, at, rows, histories: &histories, kept: &kept, adjoints };
        let all = first.arrays();
        let counts = (histories.len(), kept.len());
        let test =
            self.block(&all, |this, params| Ok(vec![this.any_left(Going::of(params, counts.0, counts.1).left)]))?;
        let step = self.block(&all, |this, params| this.go_back(l, &Going::of(params, counts.0, counts.1)))?;
        let end = self.while_(all, test, step);
        Ok(Going::of(&end, counts.0, counts.1).adjoints.to_vec())
    }

    /// Goes back through some steps, or keeps one more state.
    fn go_back(&mut self, l: &Loop, g: &Going<'_>) -> Result<Vec<ArrayId>, Error> {
        if matches!(l.history, History::None) {
            return self.computed(l, g);
        }
        let is_there = self.compared(g.rows.valid, PrimOp::GtP, 0);
        let there = self.yields(&g.arrays())?;
        let computed = self.block(&[], |this, _| this.computed(l, g))?;
        let found = self.either(is_there, there, computed);
        let found = Going::of(&found, g.histories.len(), g.kept.len());
        let left = self.number(|c| {
            let [left, valid] = [found.left, found.rows.valid].map(|a| int(c, a));
            c.two(PrimOp::SubP, left, valid)
        });
        let adjoints = self.back_through_rows(l, (left, found.rows), found.histories, found.adjoints)?;
        let valid = self.number(|c| c.int(0));
        let rows = Rows { valid, ..found.rows };
        Ok(Going { left, rows, adjoints: &adjoints, ..found }.arrays())
    }

    /// Computes some steps again, from the newest kept state on: the last ones of those that are left, into the histories, or those up to
    /// a state that is kept. Without histories, goes back through the last one.
    fn computed(&mut self, l: &Loop, g: &Going<'_>) -> Result<Vec<ArrayId>, Error> {
        let room = self.w.kept_states;
        let begin = self.number(|c| {
            let newest = int(c, g.newest);
            c.read(g.at, &[INT], &[newest])[0]
        });
        let state = self.kept_state(l, g, 0..room + 1)?;
        let segment = self.segment(l, &state);
        let goal = self.number(|c| {
            let [begin, left, segment, newest] = [begin, g.left, segment, g.newest].map(|a| int(c, a));
            next_goal(c, [begin, left, segment], newest, room)
        });
        let steps = self.number(|c| {
            let (goal, begin) = (int(c, goal), int(c, begin));
            c.two(PrimOp::SubP, goal, begin)
        });
        let state = self.later(&l.step, &state, steps)?;
        let steps = self.number(|c| {
            let (left, goal) = (int(c, g.left), int(c, goal));
            c.two(PrimOp::SubP, left, goal)
        });
        let mut is_last = self.w.code([]);
        let [left, most] = [steps, segment].map(|a| int(&mut is_last, a));
        let last = is_last.two(PrimOp::LeP, left, most);
        let last = is_last.done([last]);
        let back = self.block(&[], |this, _| {
            // The newest state is of no use once its own step is done.
            let newest = this.number(|c| {
                let (newest, begin, goal, zero, one) =
                    (int(c, g.newest), int(c, begin), int(c, goal), c.int(0), c.int(1));
                let (own, other) = (c.two(PrimOp::EqP, begin, goal), c.two(PrimOp::GtP, newest, zero));
                let done = c.two(PrimOp::AndP, own, other);
                let before = c.two(PrimOp::SubP, newest, one);
                c.choose(done, before, newest)
            });
            if let History::None = l.history {
                let all = this.once_more(&l.step, &state);
                let adjoints = this.once_more(&l.of_step.back, &[&[goal], &all[state.len()..], g.adjoints].concat());
                return Ok(Going { left: goal, newest, adjoints: &adjoints, ..*g }.arrays());
            }
            let (rows, histories) = this.computed_again(l, &state, steps, g.histories)?;
            Ok(Going { newest, rows, histories: &histories, ..*g }.arrays())
        })?;
        let keep = self.block(&[], |this, _| {
            let newest = this.next(g.newest);
            let at = this.positions(room, |c, k| {
                let (newest, goal) = (int(c, newest), int(c, goal));
                let (own, old) = (c.two(PrimOp::EqP, k, newest), c.read(g.at, &[INT], &[k])[0]);
                c.choose(own, goal, old)
            });
            let mut kept = Vec::new();
            for (k, old) in g.kept.chunks(l.init.len().max(1)).enumerate() {
                let is_new = this.compared(newest, PrimOp::EqP, k + 1);
                let (new, old) = (this.yields(&state)?, this.yields(old)?);
                kept.extend(this.either(is_new, new, old));
            }
            Ok(Going { newest, at, kept: &kept, ..*g }.arrays())
        })?;
        Ok(self.either(last, back, keep))
    }

    /// The newest kept state, whose number is in this range.
    fn kept_state(&mut self, l: &Loop, g: &Going<'_>, numbers: std::ops::Range<usize>) -> Result<Vec<ArrayId>, Error> {
        if numbers.len() <= 1 {
            let components = l.init.len();
            let from = numbers.start.checked_sub(1);
            return Ok(from.map_or(&l.init[..], |k| &g.kept[k * components..][..components]).to_vec());
        }
        let middle = numbers.start + numbers.len() / 2;
        let is_low = self.compared(g.newest, PrimOp::LtP, middle);
        let low = self.block(&[], |this, _| this.kept_state(l, g, numbers.start..middle))?;
        let high = self.block(&[], |this, _| this.kept_state(l, g, middle..numbers.end))?;
        Ok(self.either(is_low, low, high))
    }

    /// A number for each state that there is room for, the first one included.
    fn positions(&mut self, room: usize, write: impl FnOnce(&mut Code, Val) -> Val) -> ArrayId {
        let mut shape = self.w.code([]);
        let size = shape.int(room as i64 + 1);
        let mut c = Code::of_index(1, &self.w.loc);
        let k = c.params()[0];
        let number = write(&mut c, k);
        let op = ArrayOp::Generate { shape: shape.done([size]), f: c.done([number]) };
        self.w.stmt(1, INT.into(), op)
    }

    /// How a number in an array compares with a literal one, as a closed function.
    fn compared(&mut self, n: ArrayId, how: PrimOp, with: usize) -> Fun {
        let mut c = self.w.code([]);
        let (n, with) = (int(&mut c, n), c.int(with as i64));
        let result = c.two(how, n, with);
        c.done([result])
    }

    /// A block that yields these arrays.
    fn yields(&mut self, arrays: &[ArrayId]) -> Result<Block, Error> {
        self.block(&[], |_, _| Ok(arrays.to_vec()))
    }

    /// The results of one of two blocks.
    fn either(&mut self, cond: Fun, then: Block, else_: Block) -> Vec<ArrayId> {
        let results = self.w.like(&then.results);
        let (op, loc) = (ArrayOp::If { cond, then, else_ }, self.w.loc.clone());
        self.w.stmts.push(Stmt { results: results.iter().copied().collect(), op, loc });
        results
    }
}

/// Before which step the state is to run to: the first one of the last segment that is left, or one whose state is kept, between that
/// one and the newest state, which is the one before step `begin`.
fn next_goal(c: &mut Code, [begin, left, segment]: [Val; 3], newest: Val, room: usize) -> Val {
    let (one, all) = (c.int(1), c.int(room as i64 + 1));
    let (steps, last) = (c.two(PrimOp::SubP, left, begin), c.two(PrimOp::SubP, left, segment));
    let last = c.two(PrimOp::MaxP, last, begin);
    // In segments, of which the last one may be shorter.
    let before_last = c.two(PrimOp::SubP, steps, one);
    let steps = c.two(PrimOp::QuotP, before_last, segment);
    let steps = c.two(PrimOp::AddP, steps, one);
    let states = c.two(PrimOp::SubP, all, newest);
    let (several, room) = (c.two(PrimOp::GtP, steps, one), c.two(PrimOp::GtP, states, one));
    let divided = c.two(PrimOp::AndP, several, room);
    let goal = c.branch(
        divided,
        &[INT],
        |c| {
            // C(s + r, r) of the least r for which it is as many as there are steps, and those of r - 1 and r - 2.
            let zero = c.int(0);
            let found = c.while_(
                &[zero, one, zero, zero],
                |c, state| c.two(PrimOp::LtP, state[1], steps),
                |c, state| {
                    let r = c.two(PrimOp::AddP, state[0], one);
                    let above = c.two(PrimOp::AddP, states, r);
                    let product = c.two(PrimOp::MulP, state[1], above);
                    vec![r, c.two(PrimOp::QuotP, product, r), state[1], state[2]]
                },
            );
            let difference = c.two(PrimOp::SubP, found[2], found[3]);
            let rest = c.two(PrimOp::SubP, steps, difference);
            let ahead = c.two(PrimOp::MinP, found[2], rest);
            let ahead = c.two(PrimOp::MaxP, ahead, one);
            let ahead = c.two(PrimOp::MulP, ahead, segment);
            vec![c.two(PrimOp::AddP, begin, ahead)]
        },
        |_| vec![last],
    );
    goal[0]
}
