//! Launches that store each element at its point.

use super::launch::{Cut, Job, finish, first_event, pieces, task_len};
use crate::tile::machine::{Space, Stop};
use crate::tile::{lanes, memory};
use acc_core::data::Column;
use smallvec::SmallVec;

/// Bytes of a result from which on it is written past the caches.
const STREAM: usize = 16 << 20;

pub(crate) fn store(job: &Job<'_>) -> Result<SmallVec<[Column; 2]>, Stop> {
    let n: usize = job.extents.iter().product();
    let mut out = job.cx.columns(&job.types, n).map_err(Stop::Error)?;
    let space = Space { extents: job.extents.clone(), lo: 0, hi: job.extents.len() };
    let parallel = job.cx.parallel(n, job.launch.cost);
    let len = if parallel { task_len(n, job.lanes(), job.cx.threads.count()) } else { n.max(1) };
    let bytes: usize = job.types.iter().map(|t| t.size()).sum();
    let stream = n.saturating_mul(bytes) >= STREAM;
    let cut = Cut::new(&job.extents, job.lanes());
    job.cx.tasks(
        parallel,
        pieces(&mut out, n, len),
        || job.machine(&space),
        |m, mut piece| {
            let mut done = 0;
            while done < piece.len {
                let start = piece.start + done;
                let n = cut.len(start, piece.len - done);
                first_event(m, n, |m, n| m.tile(start, n))?;
                for k in 0..piece.outs.len() {
                    let (from, to) = (m.get(m.tape.results[k], n), piece.from(k, done));
                    if stream { memory::stream(from, to) } else { lanes::copy(from, to) }
                }
                done += n;
            }
            if stream {
                memory::finish();
            }
            Ok(())
        },
    )?;
    Ok(finish(out))
}
