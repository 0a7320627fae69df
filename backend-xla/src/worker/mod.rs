//! The process in Python that holds jaxlib, one for each process of a mesh: requests and answers through its pipes
//! (`worker.py`). What cannot be done ends it: then the others, which would wait for it, get an error, too.

mod place;
mod trace;

pub use place::{DEFAULT_PORT, Place, is_launched, variables};
pub(crate) use trace::Trace;
pub use trace::{trace_file, trace_name};

use crate::ffi::{self, FLAGS_VARIABLE, STRICT_FLAGS};
use crate::find::{HOW_TO_GET_JAXLIB, JAXLIB_VERSION, jaxlib};
use crate::layout::{Layout, failed};
use acc_core::data::{Column, ColumnSlice, ScalarType as T};
use acc_core::{Error, RunLimits, timeline};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What runs in the process.
const SCRIPT: &str = include_str!("worker.py");

/// After how long without a word of its own a process counts as dead.
const HEARTBEAT_SECONDS: u64 = 10;

/// How long a process that failed is waited for, to hear what it says last.
const MAX_LAST_WORDS_TIME: Duration = Duration::from_secs(5);

/// How often limits are looked at while an answer is waited for.
const TIME_BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// The last lines of its errors that are kept.
const MAX_LINES_KEPT: usize = 200;

/// How many other processes an error tells about.
const MAX_OTHERS_TOLD: usize = 3;

/// The process, and what it holds.
pub(crate) struct Worker {
    pub(crate) place: Place,
    link: Mutex<Link>,
    ids: AtomicU64,
    /// What it may forget.
    dropped: Mutex<Vec<u64>>,
    /// Of a mesh: what this process does while the mesh lives.
    pub(crate) trace: Option<Trace>,
}

struct Link {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<io::Result<Message>>,
    errors: Arc<Mutex<VecDeque<String>>>,
    /// Why it is of no more use.
    ended: Option<Error>,
}

struct Message {
    head: Value,
    body: Vec<u8>,
}

/// A collective operation of a module: each process takes part in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collective {
    /// XLA's name of it: `all-reduce`, `all-gather`, `all-to-all`, `collective-permute`, `reduce-scatter`.
    pub name: String,
    /// The bytes of its result on a process.
    pub bytes: u64,
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} B", self.name, self.bytes)
    }
}

/// A tensor or module that a worker holds until this is dropped.
pub(crate) struct Remote {
    worker: Arc<Worker>,
    pub(crate) id: u64,
    /// Of a module the collectives in it.
    pub(crate) collectives: Vec<Collective>,
}

impl Drop for Remote {
    fn drop(&mut self) {
        lock(&self.worker.dropped).push(self.id);
    }
}

fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    // A panic under a lock can at worst lose a request, which its answer tells.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An error of the mesh itself.
pub(crate) fn refused(message: impl Into<String>) -> Error {
    Error::Device { executor: "xla", message: message.into() }
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

fn read_message(stream: &mut impl Read) -> io::Result<Message> {
    let mut length = || {
        let mut bytes = [0; 8];
        stream.read_exact(&mut bytes)?;
        usize::try_from(u64::from_le_bytes(bytes)).map_err(io::Error::other)
    };
    let (head, body) = (length()?, length()?);
    let mut read = |n: usize| {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(n).map_err(io::Error::other)?;
        bytes.resize(n, 0);
        stream.read_exact(&mut bytes)?;
        Ok::<Vec<u8>, io::Error>(bytes)
    };
    let head = serde_json::from_slice(&read(head)?)?;
    Ok(Message { head, body: read(body)? })
}

fn write_message(stream: &mut impl Write, head: &Value, body: &[u8]) -> io::Result<()> {
    let head = head.to_string();
    stream.write_all(&(head.len() as u64).to_le_bytes())?;
    stream.write_all(&(body.len() as u64).to_le_bytes())?;
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    stream.flush()
}

fn spawned(name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    let thread = std::thread::Builder::new().name(name.to_string()).spawn(run);
    thread.map(drop).map_err(|e| Error::Threads { source: acc_core::Cause::new(e) })
}

impl Worker {
    /// Starts the process, and waits until it is connected to the others.
    pub(crate) fn start(place: Place) -> Result<Worker, Error> {
        let _span = timeline::span(timeline::Kind::Wait, || "connect");
        Worker::with_devices(place, 1)
    }

    /// The same with so many devices, for which it compiles.
    pub(crate) fn with_devices(place: Place, devices: u32) -> Result<Worker, Error> {
        let folder = jaxlib()
            .ok_or_else(|| refused(format!("jaxlib {JAXLIB_VERSION} is not found\n  help: {HOW_TO_GET_JAXLIB}")))?;
        let Place { process, processes, coordinator, processors, connect_seconds } = &place;
        let mesh = json!({
            "process": process,
            "processes": processes,
            "coordinator": coordinator,
            "connect_seconds": connect_seconds,
            "heartbeat_seconds": HEARTBEAT_SECONDS,
            "processors": processors,
            "devices": devices,
        });
        let flags = std::env::var(FLAGS_VARIABLE).unwrap_or_default();
        let python = folder.join("python");
        let mut child = Command::new(&python)
            .args(["-I", "-c", SCRIPT])
            .arg(folder.join("site"))
            .arg(mesh.to_string())
            .env(FLAGS_VARIABLE, format!("{STRICT_FLAGS} {flags}"))
            // Warnings and errors alone.
            .env("TF_CPP_MIN_LOG_LEVEL", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| refused(format!("cannot start {}: {e}\n  help: {HOW_TO_GET_JAXLIB}", python.display())))?;
        let (Some(requests), Some(answers), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(refused("the worker has no pipes"));
        };
        let (lines, answers) = (listened(errors)?, received(answers)?);
        let link = Link { child, requests, answers, errors: lines, ended: None };
        let (link, ids) = (Mutex::new(link), AtomicU64::new(1));
        let worker = Worker { place, link, ids, dropped: Mutex::default(), trace: None };
        let greeting = lock(&worker.link).answer(&worker.place, &RunLimits::none())?;
        let version = greeting.head.get("version").and_then(Value::as_str).unwrap_or("of no known version");
        let ours = format!("acc {}, jaxlib {version}", env!("CARGO_PKG_VERSION"));
        worker.agree(&ours, &RunLimits::none())?;
        Ok(worker)
    }

    /// Sends a request, and waits for its answer.
    fn ask(&self, mut head: Value, body: &[u8], limits: &RunLimits) -> Result<Message, Error> {
        let dropped = std::mem::take(&mut *lock(&self.dropped));
        if let (Some(head), false) = (head.as_object_mut(), dropped.is_empty()) {
            head.insert("drop".to_string(), json!(dropped));
        }
        let mut link = lock(&self.link);
        if let Some(why) = &link.ended {
            return Err(why.clone());
        }
        // What stands in the way of writing is told by the missing answer.
        let _ = write_message(&mut link.requests, &head, body);
        link.answer(&self.place, limits)
    }

    fn fresh(self: &Arc<Worker>) -> Remote {
        Remote { worker: self.clone(), id: self.ids.fetch_add(1, Ordering::Relaxed), collectives: Vec::new() }
    }

    /// An error on every process unless all say the same.
    pub(crate) fn agree(&self, ours: &str, limits: &RunLimits) -> Result<(), Error> {
        let _span = timeline::span(timeline::Kind::Wait, || "agree");
        let answer = self.ask(json!({ "agree": ours }), &[], limits)?;
        let Some(said) = answer.head.get("differ").and_then(Value::as_array) else { return Ok(()) };
        let said = said.iter().map(|s| s.as_str().unwrap_or("nothing, and has left"));
        let others = said.enumerate().filter(|(_, s)| *s != ours).take(MAX_OTHERS_TOLD);
        let others: String = others.map(|(process, s)| format!("\n  process {process} has: {s}")).collect();
        Err(refused(format!("the processes do not do the same: process {} has: {ours}{others}", self.place.process)))
    }

    /// An error of this process, which the others are told where they wait for it to agree.
    pub(crate) fn refuse(&self, why: Error, limits: &RunLimits) -> Error {
        match self.agree(&format!("an error: {why}"), limits) {
            Ok(()) | Err(Error::Device { .. }) => why,
            Err(ended) => ended,
        }
    }

    pub(crate) fn compile(self: &Arc<Worker>, text: &str, limits: &RunLimits) -> Result<Remote, Error> {
        let mut module = self.fresh();
        let answer = self.ask(json!({ "compile": module.id }), text.as_bytes(), limits)?;
        let bytes = answer.head.get("bytes").and_then(Value::as_u64).unwrap_or(0);
        if let Some(allowed) = limits.max_bytes.filter(|allowed| bytes > *allowed) {
            return Err(Error::Limit(acc_core::LimitError::Memory { asked: bytes, allowed }));
        }
        for found in answer.head.get("collectives").and_then(Value::as_array).into_iter().flatten() {
            if let (Some(name), Some(bytes)) = (found[0].as_str(), found[1].as_u64()) {
                module.collectives.push(Collective { name: name.to_string(), bytes });
            }
        }
        Ok(module)
    }

    /// A tensor of its elements, or, if they are not the whole, of this process's part.
    pub(crate) fn put(
        self: &Arc<Worker>,
        elements: ColumnSlice<'_>,
        layout: &Layout,
        is_whole: bool,
        limits: &RunLimits,
    ) -> Result<Remote, Error> {
        let Place { process, processes, .. } = self.place;
        let tensor = self.fresh();
        let part = layout.part(process, processes).cut_from(ffi::bytes(elements), is_whole);
        self.ask(self.described("put", tensor.id, layout), &part, limits)?;
        Ok(tensor)
    }

    fn described(&self, what: &str, id: u64, layout: &Layout) -> Value {
        json!({
            what: id, "type": name_of(layout.ty), "shape": layout.padded(self.place.processes), "cut": layout.cut,
        })
    }

    pub(crate) fn run(
        self: &Arc<Worker>,
        module: &Remote,
        arguments: &[u64],
        results: &[Layout],
        limits: &RunLimits,
    ) -> Result<Vec<Remote>, Error> {
        let made: Vec<Remote> = results.iter().map(|_| self.fresh()).collect();
        let of = |(made, layout): (&Remote, &Layout)| {
            json!([made.id, name_of(layout.ty), layout.padded(self.place.processes), layout.cut])
        };
        let results: Vec<Value> = made.iter().zip(results).map(of).collect();
        self.ask(json!({ "run": module.id, "arguments": arguments, "results": results }), &[], limits)?;
        Ok(made)
    }

    /// Ends the process after an error that the others may not have: they would wait for it.
    pub(crate) fn give_up(&self, why: &Error) {
        let mut link = lock(&self.link);
        if link.ended.is_none() && self.place.processes > 1 {
            link.end(why.clone());
        }
    }
}

impl Remote {
    /// The elements of this process's part.
    pub(crate) fn own(&self, layout: &Layout) -> Result<Column, Error> {
        let Place { process, processes, .. } = self.worker.place;
        let part = layout.part(process, processes);
        let mut span = timeline::span(timeline::Kind::Transfer, || "part");
        span.note("bytes", || part.outer * part.own * part.bytes);
        let answer = self.worker.ask(json!({ "get": self.id }), &[], &RunLimits::none())?;
        let count = part.outer * part.own * part.bytes / layout.ty.size();
        ffi::column(layout.ty, count, |bytes| part.copy_own(&answer.body, bytes)).map_err(failed)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let link = self.link.get_mut().unwrap_or_else(PoisonError::into_inner);
        // It leaves when the others do, which this process need not wait for.
        if link.ended.is_none() && write_message(&mut link.requests, &json!({ "leave": true }), &[]).is_err() {
            // It may have ended by itself.
            let _ = link.child.kill();
        }
        if self.place.processes == 1 {
            let _ = link.child.wait();
        }
    }
}

impl Link {
    /// The next answer. A process that fails, or that a limit stops, is of no more use.
    fn answer(&mut self, place: &Place, limits: &RunLimits) -> Result<Message, Error> {
        loop {
            let why = match self.answers.recv_timeout(TIME_BETWEEN_LOOKS) {
                Ok(Ok(message)) => match message.head.get("error").and_then(Value::as_str) {
                    None => return Ok(message),
                    Some(why) => explained(place, why),
                },
                Err(RecvTimeoutError::Timeout) => match limits.check() {
                    Ok(()) => continue,
                    Err(stopped) => stopped,
                },
                Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => self.last_words(place),
            };
            self.end(why.clone());
            return Err(why);
        }
    }

    fn end(&mut self, why: Error) {
        self.ended = Some(why);
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// What a process that ended without an answer left behind.
    fn last_words(&mut self, place: &Place) -> Error {
        let start = Instant::now();
        let status = loop {
            match self.child.try_wait() {
                Ok(None) if start.elapsed() < MAX_LAST_WORDS_TIME => std::thread::sleep(TIME_BETWEEN_LOOKS),
                Ok(status) => break status.map_or("it does not answer".to_string(), |s| s.to_string()),
                Err(e) => break e.to_string(),
            }
        };
        let lines = lock(&self.errors);
        let fatal = lines.iter().find(|l| l.contains("Check failed") || l.starts_with('F'));
        let said = fatal.or(lines.back()).map_or("", String::as_str);
        explained(place, &format!("its worker ended ({status}): {said}"))
    }
}

/// An error of a process, in terms of the mesh.
fn explained(place: &Place, why: &str) -> Error {
    let others = [
        ("distributed service detected fatal errors", "another process has ended, or cannot be reached"),
        ("Connection closed by peer", "another process has ended"),
        ("Connection reset by peer", "another process has ended"),
        ("Connection refused", "another process has ended, or cannot be reached"),
        ("DEADLINE_EXCEEDED", "another process cannot be reached in time"),
    ];
    let told = others.iter().find(|(text, _)| why.contains(text)).map(|(_, told)| format!("{told}: "));
    failed(format!("process {} of {}: {}{why}", place.process, place.processes, told.unwrap_or_default()))
}

/// The answers of a process, read as they come.
fn received(answers: ChildStdout) -> Result<Receiver<io::Result<Message>>, Error> {
    let (sender, receiver) = channel();
    spawned("answers of XLA", move || {
        let mut stream = BufReader::new(answers);
        loop {
            let message = read_message(&mut stream);
            let ended = message.is_err();
            // Nobody waits for it any more.
            if sender.send(message).is_err() || ended {
                return;
            }
        }
    })?;
    Ok(receiver)
}

/// The last lines of a process's errors.
fn listened(errors: impl Read + Send + 'static) -> Result<Arc<Mutex<VecDeque<String>>>, Error> {
    let lines = Arc::new(Mutex::new(VecDeque::new()));
    let into = lines.clone();
    spawned("errors of XLA", move || {
        for line in BufReader::new(errors).split(b'\n').map_while(Result::ok) {
            let mut kept = lock(&into);
            if kept.len() >= MAX_LINES_KEPT {
                kept.pop_front();
            }
            kept.push_back(String::from_utf8_lossy(&line).into_owned());
        }
    })?;
    Ok(lines)
}
