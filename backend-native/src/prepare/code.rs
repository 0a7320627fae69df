//! The code of kernels and closed functions: bytecode for the tile executor, and places for machine code, which is compiled when
//! a kernel is first run.

use super::{Launch, Plan, Step};
use crate::kernel::{Body, Finish, Initial, Kernel, Output};
use crate::llvm::Codes;
use crate::lower::{self, Closed, Part, Work};
use crate::tile::compile::compile as bytecode;
use crate::tile::machine::Code;
use crate::tile::tape::Inst;
use acc_core::{Error, RunLimits};

/// The code of a kernel.
pub(crate) struct KernelCode {
    pub element: Code,
    /// The combination of each output that has one.
    pub combine: Vec<Option<Code>>,
    /// What a scatter begins with, if that is computed.
    pub initial: Option<Code>,
    /// The epilogue, if it is computed as elements are scanned or kept.
    pub epilogue: Option<Code>,
    /// The kernel's machine code.
    pub machine: Codes,
    /// That of the kernel whose epilogue has axes in another order.
    pub turned: Codes,
}

/// The code of a closed function, and, where it is trivial, its body, to be evaluated as it is.
pub(crate) struct FunCode {
    pub code: Box<Code>,
    pub body: Option<Box<Body>>,
}

/// Makes the code of a plan, within the limits of a run.
pub(super) fn compile(plan: lower::Plan, limits: &RunLimits) -> Result<Plan, Error> {
    let steps = plan.steps.into_iter().map(|s| step(s, limits)).collect::<Result<_, Error>>()?;
    let lower::Plan { def, types, body, notes, .. } = lower::Plan { steps: Vec::new(), ..plan };
    Ok(Plan { steps, def, types, body, notes })
}

fn step(s: lower::Step, limits: &RunLimits) -> Result<Step, Error> {
    limits.check()?;
    let work = match s.work {
        Work::Array { op, closed, how } => Work::Array { op, closed: closed.into_iter().map(function).collect(), how },
        Work::Kernel { launch: l, parts } => {
            Work::Kernel { launch: Box::new(launch(*l, limits)?), parts: parts.into_iter().map(part).collect() }
        }
        Work::If { cond, then, else_ } => Work::If { cond: function(cond), then, else_ },
        Work::While { init, test, step } => Work::While { init, test, step },
        Work::Foreign { function, xs, fallback } => Work::Foreign { function, xs, fallback },
    };
    Ok(Step { results: s.results, loc: s.loc, op: s.op, needs: s.needs, work })
}

fn part(p: Part) -> super::Part {
    let closed = p.closed.into_iter().map(function).collect();
    Part { result: p.result, name: p.name, loc: p.loc, op: p.op, closed, needs: p.needs }
}

fn function(f: Closed) -> super::Closed {
    match f {
        Closed::Known(bits) => Closed::Known(bits),
        Closed::Code(body) => Closed::Code(FunCode {
            code: Box::new(Code::new(bytecode(&body), 1)),
            body: body.is_trivial().then(|| Box::new(body)),
        }),
    }
}

fn launch(l: lower::Launch, limits: &RunLimits) -> Result<Launch, Error> {
    let boxed = |l: Box<lower::Launch>| launch(*l, limits).map(Box::new);
    Ok(Launch {
        code: kernel_code(&l.kernel, l.at_once, limits)?,
        over: l.over,
        at_once: l.at_once,
        after: l.after.map(boxed).transpose()?,
        turned: l.turned,
        cost: l.cost,
        little: l.little,
        across: l.across,
        combine_partial: l.combine_partial,
        checks: l.checks,
        product: l.product,
        arrays: l.arrays,
        marks: l.marks,
        places: l.places.map(boxed).transpose()?,
        kernel: l.kernel,
    })
}

fn kernel_code(kernel: &Kernel, at_once: bool, limits: &RunLimits) -> Result<KernelCode, Error> {
    let combine = kernel.outputs.iter().map(|o| o.finish.combine().map(code)).collect();
    let initial = kernel.outputs.iter().find_map(|o| match &o.finish {
        Finish::Scatter { initial: Initial::Computed(b), .. } => Some(code(b)),
        Finish::Scatter { .. } | Finish::Compact | Finish::Segments { .. } => None,
        Finish::Store | Finish::Fold { .. } | Finish::Scan { .. } => None,
    });
    limits.check()?;
    let element = elements(kernel);
    limits.check()?;
    let epilogue = kernel.epilogue.as_ref().filter(|_| at_once).map(|e| code(&e.body));
    let (machine, turned) = (Codes::default(), Codes::default());
    Ok(KernelCode { element, combine, initial, epilogue, machine, turned })
}

/// Compiles the element body of a kernel.
fn elements(kernel: &Kernel) -> Code {
    // What is folded leaves nothing behind: larger tiles cost no more, and each costs a call of every operation.
    const FOLDED: usize = 4096;
    let folds = |o: &Output| matches!(o.finish, Finish::Fold { .. }) && o.finish.known().is_some();
    sized(&kernel.element, if kernel.outputs.iter().all(folds) { FOLDED } else { LANES })
}

/// Compiles a body.
fn code(body: &Body) -> Code {
    sized(body, LANES)
}

/// Lanes of a tile at most.
const LANES: usize = 1024;

/// Compiles a body for tiles of so many lanes at most, small enough that all buffers stay in the second-level cache.
fn sized(body: &Body, most: usize) -> Code {
    const BYTES: usize = 192 << 10;
    // Where lanes leave loops one by one, those that are left are to be many still, and soon take less memory.
    const LEAVING: (usize, usize) = (4096, 512 << 10);
    let tape = bytecode(body);
    let bytes: usize = tape.slots.iter().map(|t| t.size()).sum::<usize>().max(1);
    let leave = tape.code.iter().any(|i| matches!(i, Inst::While(l) if !l.together));
    let (mut lanes, all) = if leave { LEAVING } else { (most, BYTES) };
    while lanes > 128 && lanes * bytes > all {
        lanes /= 2;
    }
    Code::new(tape, lanes)
}
