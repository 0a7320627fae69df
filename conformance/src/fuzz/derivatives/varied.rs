//! The same derivative on other threads, and with other memory for the states of loops: the same bits.

use crate::compare::{Near, compare};
use crate::executors::Registered;
use crate::fuzz::oracle::THREADS;
use acc_core::data::ArrayData;
use acc_core::ir::Program;
use acc_core::{Error, Executor, RunLimits};
use backend_native::{Compile, Native, Options};
use std::sync::Arc;

/// How many states of a loop a reverse derivative keeps.
const KEPT_STATES: [usize; 4] = [0, 1, 3, 64];

/// The native executors that are present, each in all variations.
pub(super) struct Varied(Vec<Executors>);

struct Executors {
    /// As in the list of executors.
    name: &'static str,
    variations: Vec<(String, Native)>,
}

impl Varied {
    pub(super) fn of(executors: &[Registered]) -> Result<Varied, Error> {
        let present = |(name, compile)| {
            let is_there = executors.iter().any(|e| e.name == name && e.present().is_some());
            is_there.then_some((name, compile))
        };
        let native = [("native", Compile::Now), ("native-tile", Compile::Never)];
        let all = native.into_iter().filter_map(present).map(|(name, compile)| {
            let variations = THREADS.into_iter().flat_map(|threads| KEPT_STATES.map(|kept| (threads, kept)));
            let of = |(threads, kept)| {
                let options = Options::new().threads(threads).kept_states(kept).compile(compile);
                Ok((format!("on {threads} threads, with {kept} states of loops"), Native::with(options)?))
            };
            Ok(Executors { name, variations: variations.map(of).collect::<Result<_, Error>>()? })
        });
        Ok(Varied(all.collect::<Result<_, Error>>()?))
    }

    /// Drops the programs that they keep.
    pub(super) fn clear_caches(&self) {
        self.0.iter().flat_map(|e| &e.variations).for_each(|(_, native)| native.clear_cache());
    }

    /// What one of an executor's variations, drawn by the seed, has other bits of than `got`.
    pub(super) fn difference(
        &self,
        executor: &str,
        seed: u64,
        (derivative, args): (&Arc<Program>, &[ArrayData]),
        got: &[ArrayData],
        limits: &RunLimits,
    ) -> Option<String> {
        let variations = &self.0.iter().find(|e| e.name == executor)?.variations;
        let (how, native) = &variations[(seed % variations.len() as u64) as usize];
        match native.run_untyped(derivative, args, limits) {
            Err(Error::Limit(_)) => None,
            Err(error) => Some(format!("{how}: {error}")),
            Ok(varied) => varied
                .iter()
                .zip(got)
                .find_map(|(v, g)| compare(v, g, Near::Exact).err())
                .map(|why| format!("other bits {how}: {why}")),
        }
    }
}
