//! Programs as ONNX models in onnxruntime: an executor beside the others, an independent check of the flattening.
//!
//! A worker process in Python holds onnxruntime (`scripts/onnx_worker.py`); models and tensors go through its pipes. A
//! model tells that there is a fault, not which: then the interpreter says it, if it finds one, too.

use acc_core::data::{ArrayData, Column, Lit, ScalarType as T};
use acc_core::ir::Program;
use acc_core::{Cause, Error, Executor, Interpreter, LimitError, RunLimits};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The name in messages.
const NAME: &str = "onnxruntime";

/// How long a run may take that has no deadline.
const DEFAULT_DEADLINE: Duration = Duration::from_secs(30);

/// Models that a worker keeps.
const MAX_MODELS: usize = 64;

/// The executor.
pub struct OnnxRuntime {
    python: PathBuf,
    script: PathBuf,
    worker: Mutex<Option<Worker>>,
    compiled: AtomicU64,
}

struct Worker {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// The models that it has, by program.
    models: HashMap<Arc<Program>, usize>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn failed(message: impl ToString) -> Error {
    Error::Library { library: "onnxruntime", source: Cause::new(message.to_string()), at: None }
}

/// The bytes of a scalar in a tensor of its own type.
fn bytes_of(ty: T) -> usize {
    if ty == T::Char { 4 } else { ty.size() }
}

fn name_of(ty: T) -> &'static str {
    match ty {
        T::Bool => "bool",
        T::I8 => "int8",
        T::I16 => "int16",
        T::I32 => "int32",
        T::I64 => "int64",
        T::U8 => "uint8",
        T::U16 => "uint16",
        T::U32 | T::Char => "uint32",
        T::U64 => "uint64",
        T::F16 => "float16",
        T::F32 => "float32",
        T::F64 => "float64",
    }
}

impl Worker {
    fn start(python: &Path, script: &Path) -> Result<Worker, Error> {
        let mut child = Command::new(python)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| failed(format!("cannot start {}: {e}", python.display())))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(requests), Some(answers)) => {
                Ok(Worker { child, requests, answers: BufReader::new(answers), models: HashMap::new() })
            }
            _ => Err(failed("the worker has no pipes")),
        }
    }

    /// Sends a head and a body, and receives the same.
    fn ask(&mut self, head: &Value, body: &[u8]) -> Result<(Value, Vec<u8>), Error> {
        let io = |e: std::io::Error| failed(format!("the worker ended: {e}"));
        let head = head.to_string();
        for part in [&(head.len() as u64).to_le_bytes()[..], &(body.len() as u64).to_le_bytes(), head.as_bytes(), body]
        {
            self.requests.write_all(part).map_err(io)?;
        }
        self.requests.flush().map_err(io)?;
        let mut length = || {
            let mut bytes = [0; 8];
            self.answers.read_exact(&mut bytes).map(|()| u64::from_le_bytes(bytes) as usize)
        };
        let (head, body) = (length().map_err(io)?, length().map_err(io)?);
        let mut bytes = vec![0; head + body];
        self.answers.read_exact(&mut bytes).map_err(io)?;
        let body = bytes.split_off(head);
        let head: Value = serde_json::from_slice(&bytes).map_err(failed)?;
        match head.get("error").and_then(Value::as_str) {
            Some(why) => Err(failed(why)),
            None => Ok((head, body)),
        }
    }

    /// The number of a program's model, which is sent if the worker has not got it.
    fn model(&mut self, program: &Arc<Program>, compiled: &AtomicU64) -> Result<usize, Error> {
        if let Some(id) = self.models.get(program) {
            return Ok(*id);
        }
        let bytes = backend_graph::onnx_of(program)?;
        if self.models.len() >= MAX_MODELS {
            self.models.clear();
            self.ask(&json!({ "forget": true }), &[])?;
        }
        let id = self.models.len();
        self.ask(&json!({ "load": id }), &bytes)?;
        compiled.fetch_add(1, Ordering::Relaxed);
        self.models.insert(program.clone(), id);
        Ok(id)
    }

    /// Runs a model; nothing if it reports a fault.
    fn run(
        &mut self,
        id: usize,
        program: &Program,
        args: &[ArrayData],
        limits: &RunLimits,
    ) -> Result<Option<Vec<ArrayData>>, Error> {
        let (mut inputs, mut body) = (Vec::new(), Vec::new());
        for (k, a) in args.iter().enumerate() {
            for (axis, n) in a.shape().iter().enumerate().filter(|_| a.columns().is_empty()) {
                inputs.push(json!({ "name": format!("in{k}_extent{axis}"), "type": "int64", "shape": [] }));
                body.extend((*n as i64).to_le_bytes());
            }
            for (c, column) in a.columns().iter().enumerate() {
                let column = column.slice();
                inputs.push(json!({ "name": format!("in{k}_{c}"), "type": name_of(column.ty()), "shape": a.shape() }));
                let scalars = (0..column.len()).filter_map(|i| column.get(i));
                scalars.for_each(|l| body.extend(&l.bits.to_le_bytes()[..bytes_of(l.ty)]));
            }
        }
        let left = limits.deadline.map(|end| end.saturating_duration_since(Instant::now()));
        let seconds = left.unwrap_or(DEFAULT_DEADLINE).min(DEFAULT_DEADLINE).as_secs_f64();
        let (head, body) = self.ask(&json!({ "run": id, "seconds": seconds, "inputs": inputs }), &body)?;
        if head.get("stopped").is_some() {
            return Err(Error::Limit(LimitError::Deadline));
        }
        let mut tensors = HashMap::new();
        let mut rest = &body[..];
        for t in head["outputs"].as_array().into_iter().flatten() {
            let shape: Vec<usize> =
                t["shape"].as_array().into_iter().flatten().filter_map(Value::as_u64).map(|n| n as usize).collect();
            let length = t["bytes"].as_u64().unwrap_or(0) as usize;
            let (bytes, tail) = rest.split_at_checked(length).ok_or_else(|| failed("an answer that is too short"))?;
            rest = tail;
            tensors.insert(t["name"].as_str().unwrap_or_default().to_string(), (shape, bytes));
        }
        let missing = |name: &str| failed(format!("the model has no output {name}"));
        if tensors.get("fault").ok_or_else(|| missing("fault"))?.1.first() == Some(&1) {
            return Ok(None);
        }
        let mut results = Vec::new();
        for (k, a) in program.body.results.iter().enumerate() {
            let ty = program.ty(*a);
            let mut shape = Vec::new();
            let mut columns: Vec<Column> = Vec::new();
            for (c, leaf) in ty.elt.leaves().into_iter().enumerate() {
                let name = format!("out{k}_{c}");
                let (dims, bytes) = tensors.get(&name).ok_or_else(|| missing(&name))?;
                shape.clone_from(dims);
                let scalars = bytes.chunks_exact(bytes_of(leaf)).map(|b| literal(leaf, b));
                columns.push(Column::from_lits(leaf, scalars));
            }
            if columns.is_empty() {
                for axis in 0..ty.rank {
                    let name = format!("out{k}_extent{axis}");
                    let (_, bytes) = tensors.get(&name).ok_or_else(|| missing(&name))?;
                    shape.push(literal(T::I64, bytes).bits as usize);
                }
            }
            results.push(ArrayData::new(shape, ty.elt.clone(), columns).map_err(failed)?);
        }
        Ok(Some(results))
    }
}

/// A scalar from its bytes.
fn literal(ty: T, bytes: &[u8]) -> Lit {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(wide);
    let bits = match ty {
        T::I8 => bits as i8 as u64,
        T::I16 => bits as i16 as u64,
        T::I32 => bits as i32 as u64,
        T::I64 | T::U8 | T::U16 | T::U32 | T::U64 | T::F16 | T::F32 | T::F64 | T::Bool | T::Char => bits,
    };
    Lit { ty, bits }
}

impl OnnxRuntime {
    /// With a Python that has onnxruntime, and the worker's script.
    pub fn new(python: impl Into<PathBuf>, script: impl Into<PathBuf>) -> OnnxRuntime {
        OnnxRuntime {
            python: python.into(),
            script: script.into(),
            worker: Mutex::new(None),
            compiled: AtomicU64::new(0),
        }
    }

    /// With the worker, which is started if there is none. One that fails is of no more use.
    fn with<R>(&self, f: impl FnOnce(&mut Worker) -> Result<R, Error>) -> Result<R, Error> {
        let mut slot = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let mut worker = match slot.take() {
            Some(w) => w,
            None => Worker::start(&self.python, &self.script)?,
        };
        let result = f(&mut worker);
        if matches!(worker.child.try_wait(), Ok(None)) {
            *slot = Some(worker);
        }
        result
    }
}

impl Executor for OnnxRuntime {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare(&self, program: &Arc<Program>) -> Result<(), Error> {
        self.with(|w| w.model(program, &self.compiled).map(drop))
    }

    fn run_untyped(
        &self,
        program: &Arc<Program>,
        args: &[ArrayData],
        limits: &RunLimits,
    ) -> Result<Vec<ArrayData>, Error> {
        acc_core::exec::check_args(program, args)?;
        limits.check()?;
        let results = self.with(|w| {
            let id = w.model(program, &self.compiled)?;
            w.run(id, program, args, limits)
        })?;
        match results {
            Some(results) => Ok(results),
            None => match Interpreter::new().run_untyped(program, args, limits) {
                Ok(_) => Err(failed("the model reports a fault, where the interpreter has a result")),
                Err(fault) => Err(fault),
            },
        }
    }

    fn compiled(&self) -> u64 {
        self.compiled.load(Ordering::Relaxed)
    }
}
