//! One row of the table: a program, and the same by hand.

use acc_core::api::{AccFn, Arrays, Compiled, HostArgs};
use acc_core::data::ArrayData;
use acc_core::prelude::*;
use backend_graph::{Device, HasGraph, Libtorch, Options};
use std::rc::Rc;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tch::Tensor;

/// The group of the rows of papers.
pub(crate) const PAPER: &str = "paper";

/// The device that all rows run on.
static DEVICE: OnceLock<Device> = OnceLock::new();

/// Chooses the device, which is the CPU if nobody does, before any row is made.
pub(crate) fn run_on(device: Device) {
    DEVICE.get_or_init(|| device);
}

pub(crate) fn on_cpu() -> bool {
    *DEVICE.get_or_init(|| Device::Cpu) == Device::Cpu
}

/// The device, for code by hand.
pub(crate) fn device() -> tch::Device {
    match DEVICE.get_or_init(|| Device::Cpu) {
        Device::Cpu => tch::Device::Cpu,
        Device::Cuda(number) => tch::Device::Cuda(*number),
    }
}

/// The graph executor on the device.
pub(crate) fn libtorch(options: Options) -> Libtorch {
    Libtorch::with(options.device(*DEVICE.get_or_init(|| Device::Cpu))).unwrap_or_else(|e| panic!("{e}"))
}

/// Something that is timed.
type Call = Box<dyn Fn()>;

/// A program on every executor, and by hand.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) group: &'static str,
    /// The number of elements it is about.
    pub(crate) size: usize,
    /// The source of what is written by hand.
    pub(crate) source: &'static str,
    /// How many calls that launch work a run makes.
    pub(crate) launches: usize,
    pub(crate) compile: Duration,
    pub(crate) checked: Call,
    pub(crate) unchecked: Call,
    pub(crate) hand: Call,
    /// The interpreter; on a CUDA device, where the host's arrays and the results have to be copied, those copies alone.
    /// None where the interpreter takes minutes.
    pub(crate) reference: Option<Call>,
}

/// The parts of a row beside its program.
pub(crate) struct Facts {
    pub(crate) name: &'static str,
    pub(crate) group: &'static str,
    pub(crate) size: usize,
    pub(crate) source: &'static str,
    /// How far results may differ, as a part of the greatest.
    pub(crate) within: f64,
}

/// Makes a row; the results of the program and of the code by hand must agree.
pub(crate) fn row<Args, Out, F, A, H>(facts: Facts, program: F, args: A, hand: H) -> Row
where
    Args: 'static,
    Out: Arrays + 'static,
    F: AccFn<Args, Out> + Clone + 'static,
    A: HostArgs<Args> + Clone + 'static,
    H: Fn() -> Vec<Tensor> + 'static,
    (Out,): HostArgs<(Out,)>,
{
    fn call<B: Run, Args: 'static, Out: Arrays + 'static, A: HostArgs<Args> + Clone + 'static>(
        compiled: Compiled<B, Args, Out>,
        args: &A,
    ) -> Call {
        let args = args.clone();
        Box::new(move || match compiled.call(args.clone()) {
            Ok(results) => drop(std::hint::black_box(results)),
            Err(e) => panic!("{e}"),
        })
    }
    let Facts { name, group, size, source, within } = facts;
    let start = Instant::now();
    let checked = libtorch(Options::new()).compile(program.clone()).unwrap_or_else(|e| panic!("{name}: {e}"));
    let compile = start.elapsed();
    let unchecked = libtorch(Options::new().checks(false)).compile(program.clone()).unwrap_or_else(|e| panic!("{e}"));
    let ours = checked.call(args.clone()).unwrap_or_else(|e| panic!("{name}: {e}"));
    let ours = (ours,).into_data();
    let bytes = |arrays: &[ArrayData]| arrays.iter().map(ArrayData::bytes).collect::<Vec<_>>();
    let (sent, received) = (bytes(&args.clone().into_data()), bytes(&ours));
    agree(name, &numbers(ours), &tensors(&hand()), within);
    let hand = move || drop(std::hint::black_box(hand().into_iter().map(to_host).collect::<Vec<_>>()));
    let (reference, hand): (Option<Call>, Call) = if on_cpu() {
        let interpreter = |program| Interpreter::new().compile(program).unwrap_or_else(|e| panic!("{name}: {e}"));
        ((group != PAPER).then(|| call(interpreter(program), &args)), Box::new(hand))
    } else {
        let host = |bytes: Vec<usize>| bytes.into_iter().map(|n| zeros(n, tch::Device::Cpu)).collect::<Vec<_>>();
        let sent = Rc::new(host(sent));
        let received: Vec<_> = received.into_iter().map(|n| zeros(n, device())).collect();
        let send = move || drop(std::hint::black_box(sent.iter().map(|t| t.to_device(device())).collect::<Vec<_>>()));
        let also = send.clone();
        let copies = move || {
            send();
            drop(received.iter().map(|t| to_host(t.shallow_clone())).collect::<Vec<_>>());
        };
        let hand = move || {
            also();
            hand();
        };
        (Some(Box::new(copies)), Box::new(hand))
    };
    let launches = checked.prepared().counts().launches;
    if std::env::var_os("SHOW").is_some_and(|s| s == name) {
        for compiled in [&checked, &unchecked] {
            println!("{}", backend_graph::export(compiled.graph(), backend_graph::Format::Text));
        }
    }
    Row {
        name: name.to_string(),
        group,
        size,
        source,
        launches,
        compile,
        checked: call(checked, &args),
        unchecked: call(unchecked, &args),
        reference,
        hand,
    }
}

fn zeros(bytes: usize, device: tch::Device) -> Tensor {
    Tensor::zeros([i64::try_from(bytes).unwrap_or(i64::MAX)], (tch::Kind::Uint8, device))
}

/// The results of a program are arrays of the host, so those of code by hand are, too.
fn to_host(t: Tensor) -> Tensor {
    t.to_device(tch::Device::Cpu)
}

fn numbers(arrays: Vec<ArrayData>) -> Vec<f64> {
    let mut out = Vec::new();
    for a in &arrays {
        for c in a.columns() {
            for i in 0..c.len() {
                out.push(c.slice().get(i).map_or(f64::NAN, number));
            }
        }
    }
    out
}

fn number(l: acc_core::data::Lit) -> f64 {
    use acc_core::data::ScalarType as T;
    match l.ty {
        T::F32 => l.get::<f32>().map_or(f64::NAN, f64::from),
        T::F64 => l.get::<f64>().unwrap_or(f64::NAN),
        T::I32 | T::U32 => f64::from(l.bits as i32),
        T::Bool => f64::from(u8::from(l.bits != 0)),
        _ => l.bits as i64 as f64,
    }
}

fn tensors(ts: &[Tensor]) -> Vec<f64> {
    ts.iter()
        .flat_map(|t| {
            let flat = t.to_device(tch::Device::Cpu).to_kind(tch::Kind::Double).contiguous().view(-1);
            Vec::<f64>::try_from(flat).unwrap_or_else(|e| panic!("{e}"))
        })
        .collect()
}

fn agree(name: &str, ours: &[f64], hand: &[f64], within: f64) {
    assert_eq!(ours.len(), hand.len(), "{name}: lengths of the results");
    let greatest = hand.iter().filter(|x| x.is_finite()).fold(1.0f64, |m, x| m.max(x.abs()));
    for (i, (a, b)) in ours.iter().zip(hand).enumerate() {
        let same = a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= within * greatest;
        assert!(same, "{name}: element {i} is {a}, by hand {b}");
    }
}
