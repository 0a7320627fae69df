//! What reads inputs from outside is given some thousands that are nearly right: a value or an error, no panic, bounded memory
//! and time. The same inputs each time; `fuzz/` gives the readers others, for as long as one likes. `HOSTILE_CASES` says how
//! many for each reader.

#[path = "../../acc-core/tests/allocator/mod.rs"]
mod allocator;

use conformance::fuzz::Choices;
use conformance::fuzz::hostile::{READERS, changed};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: allocator::Watched = allocator::Watched;

const CASES: u64 = 2000;

/// The largest piece of memory that an input of a few kilobytes may take: beyond it, the allocator says no, which ends
/// the process if the reader does not expect it.
const MAX_ALLOCATION_BYTES: usize = 16 << 20;

/// How long one input may take: far more than any takes, on a machine under load.
const MAX_TIME_PER_INPUT: Duration = Duration::from_secs(5);

#[test]
fn inputs_of_strangers() {
    let cases = std::env::var("HOSTILE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES);
    for reader in READERS {
        let seeds = (reader.seeds)();
        assert!(seeds.len() > 2, "{}", reader.name);
        let (mut slowest, mut large) = (Duration::ZERO, 0);
        for seed in 0..cases {
            let bytes = changed(&seeds, &mut Choices::seeded(seed));
            let start = Instant::now();
            let (outcome, refused) = allocator::refusing(MAX_ALLOCATION_BYTES, 0, || {
                catch_unwind(AssertUnwindSafe(|| (reader.read)(&bytes)))
            });
            slowest = slowest.max(start.elapsed());
            large += refused;
            let shown = || String::from_utf8_lossy(&bytes).into_owned();
            assert!(outcome.is_ok(), "{}, case {seed}: a panic for\n{}", reader.name, shown());
            assert!(
                start.elapsed() < MAX_TIME_PER_INPUT,
                "{}, case {seed}: {:?} for\n{}",
                reader.name,
                start.elapsed(),
                shown()
            );
        }
        println!("{}: {cases} inputs, the slowest {slowest:?}, {large} pieces of memory refused", reader.name);
    }
}
