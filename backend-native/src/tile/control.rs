//! Conditionals and loops: lanes are partitioned, and compacted when they leave.

use super::lanes::{self, Lane};
use super::machine::{Machine, Outcome};
use crate::tile::bytecode::{Branch, Captures, Loop, Slot};

/// The lanes that a loop runs on.
struct Running {
    /// Their numbers.
    ids: Vec<u32>,
    /// Which of them are still in the loop.
    alive: Vec<bool>,
    /// Scratch: those that leave, by index into `ids`, and by number.
    at: Vec<u32>,
    to: Vec<u32>,
}

impl<'a> Machine<'a> {
    /// Lends the buffers of captured values to a region that all lanes enter, or takes them back.
    fn exchange(&mut self, captures: &Captures) {
        for &(outer, inner) in captures {
            self.own.swap(outer as usize, inner as usize);
            self.refs.swap(outer as usize, inner as usize);
        }
    }

    /// Copies the lanes in `list` of one buffer to the start of another.
    fn gather(&mut self, from: Slot, list: &[u32], to: Slot) {
        let (o, others) = self.writing(to);
        lanes::gather(others.get(from, usize::MAX), list, o.out());
    }

    /// Copies the first lanes of one buffer to the lanes in `list` of another.
    fn scatter(&mut self, from: Slot, list: &[u32], to: Slot) {
        let (o, others) = self.writing(to);
        lanes::scatter(others.get(from, list.len()), list, o.out());
    }

    fn copy(&mut self, from: Slot, to: Slot, n: usize) {
        let (o, others) = self.writing(to);
        lanes::copy(others.get(from, n), o.out());
    }

    fn list(&mut self) -> Vec<u32> {
        let mut l = self.lists.pop().unwrap_or_default();
        l.clear();
        l
    }

    pub(super) fn branch(
        &mut self,
        cond: Slot,
        then: &'a Branch,
        else_: &'a Branch,
        outs: &[Slot],
        n: usize,
        contiguous: bool,
    ) -> Outcome {
        let c = self.typed::<bool>(cond, n);
        let yes = lanes::count(c, c);
        if yes == n || yes == 0 {
            let side = if yes == n { then } else { else_ };
            self.exchange(&side.captures);
            let done = self.run(&side.code, n, contiguous);
            if done.is_ok() {
                for (&from, &to) in side.results.iter().zip(outs) {
                    self.copy(from, to, n);
                }
            }
            self.exchange(&side.captures);
            return done;
        }
        for (side, taken) in [(then, true), (else_, false)] {
            let mut list = self.list();
            let c = self.typed::<bool>(cond, n);
            lanes::chosen(c.iter().map(|c| *c == taken), &mut list);
            for &(outer, inner) in &side.captures {
                self.gather(outer, &list, inner);
            }
            let done = self.run(&side.code, list.len(), false);
            if let Err(mut e) = done {
                e.lane = list[e.lane] as usize;
                return Err(e);
            }
            for (&from, &to) in side.results.iter().zip(outs) {
                self.scatter(from, &list, to);
            }
            self.lists.push(list);
        }
        Ok(())
    }

    pub(super) fn while_(&mut self, l: &'a Loop, n: usize, contiguous: bool) -> Outcome {
        for (&from, &to) in l.init.iter().zip(&l.state) {
            self.copy(from, to, n);
        }
        // As long as no lane was dropped, captured values share the outer buffers.
        self.exchange(&l.captures);
        if l.together {
            let done = self.iterate_together(l, n, contiguous);
            self.exchange(&l.captures);
            return done;
        }
        let mut lent = true;
        let mut running = Running { ids: self.list(), alive: vec![true; n], at: self.list(), to: self.list() };
        running.ids.extend(0..n as u32);
        let done = self.iterate(l, contiguous, &mut running, &mut lent);
        if lent {
            self.exchange(&l.captures);
        }
        let done = done.map_err(|mut e| {
            e.lane = running.ids[e.lane] as usize;
            e
        });
        self.lists.extend([running.ids, running.at, running.to]);
        done
    }

    /// Runs a loop that all `n` lanes leave at the same iteration.
    fn iterate_together(&mut self, l: &'a Loop, n: usize, contiguous: bool) -> Outcome {
        loop {
            self.run(&l.test, n, contiguous)?;
            if self.typed::<bool>(l.cond, 1).first() != Some(&true) {
                self.leave_together(l, n);
                return Ok(());
            }
            self.next_state(l, n, contiguous)?;
        }
    }

    /// The results of such a loop.
    fn leave_together(&mut self, l: &Loop, n: usize) {
        for ((&state, &result), &same) in l.state.iter().zip(&l.results).zip(&l.same) {
            if same {
                let (o, others) = self.writing(result);
                lanes::fill_from(others.get(state, 1), 0, n, o);
            } else {
                // Nothing reads the state again.
                self.own.swap(state as usize, result as usize);
                self.refs.swap(state as usize, result as usize);
            }
        }
    }

    /// Computes the next state of a loop.
    fn next_state(&mut self, l: &'a Loop, n: usize, contiguous: bool) -> Outcome {
        self.run(&l.step, n, contiguous)?;
        for (&from, &to) in l.next.iter().zip(&l.shadow) {
            if let Some(to) = to {
                self.copy(from, to, n);
            }
        }
        for ((&next, &shadow), &state) in l.next.iter().zip(&l.shadow).zip(&l.state) {
            let from = shadow.unwrap_or(next) as usize;
            self.own.swap(from, state as usize);
            self.refs.swap(from, state as usize);
        }
        Ok(())
    }

    /// Runs a loop until no lane is left.
    fn iterate(&mut self, l: &'a Loop, mut contiguous: bool, lanes: &mut Running, lent: &mut bool) -> Outcome {
        let mut alive = lanes.ids.len();
        loop {
            let m = lanes.ids.len();
            self.run(&l.test, m, contiguous)?;
            let Running { ids, alive: flags, at, to } = &mut *lanes;
            let cond = match self.refs[l.cond as usize] {
                Some(r) => bool::of_slice_or_empty(r),
                None => bool::of(&self.own[l.cond as usize]),
            };
            lanes::leave(flags, cond, at);
            if at.len() == m && *lent {
                // All leave together, and none did before.
                self.leave_together(l, m);
                return Ok(());
            }
            let some_leave = !at.is_empty();
            if some_leave {
                // Results of the lanes that leave now, before the next step overwrites their state.
                to.clear();
                to.extend(at.iter().map(|&k| ids[k as usize]));
                for ((&state, &result), &same) in l.state.iter().zip(&l.results).zip(&l.same) {
                    let (o, others) = self.writing(result);
                    match same {
                        true => lanes::spread(others.get(state, 1), to, o.out()),
                        false => lanes::move_lanes(others.get(state, m), at, to, o.out()),
                    }
                }
                alive -= at.len();
                if alive == 0 {
                    return Ok(());
                }
            }
            if l.ahead {
                self.next_state(l, m, contiguous)?;
            }
            // Lanes that have left run on as long as that can do no harm and at most a quarter is idle.
            if some_leave && (!l.total || alive <= m - m / 4) {
                lanes::chosen(flags.iter().copied(), at);
                self.compact(l, at, lent);
                for (k, &j) in at.iter().enumerate() {
                    ids[k] = ids[j as usize];
                }
                ids.truncate(alive);
                flags.clear();
                flags.resize(alive, true);
                contiguous = false;
            }
            if !l.ahead {
                self.next_state(l, lanes.ids.len(), contiguous)?;
            }
        }
    }

    /// Compacts a loop's state and captures to the lanes in `list`.
    fn compact(&mut self, l: &Loop, list: &[u32], lent: &mut bool) {
        if *lent {
            self.exchange(&l.captures);
            *lent = false;
            for &(outer, inner) in &l.captures {
                self.gather(outer, list, inner);
            }
        } else {
            for &(_, inner) in &l.captures {
                self.squeeze(inner, list);
            }
        }
        for (&s, _) in l.state.iter().zip(&l.same).filter(|(_, same)| !**same) {
            self.squeeze(s, list);
        }
    }

    fn squeeze(&mut self, s: Slot, list: &[u32]) {
        match self.refs[s as usize].take() {
            Some(r) => lanes::gather(r, list, self.own[s as usize].out()),
            None => lanes::squeeze(self.own[s as usize].out(), list),
        }
    }
}
