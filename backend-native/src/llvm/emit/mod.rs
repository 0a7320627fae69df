//! From kernels to the text of LLVM modules: explicit vectors, masks for control flow.
//!
//! One function per kernel and [`Form`]. It covers a rectangle of the index space: rows, which are positions over the
//! outer axes, by columns along the axis whose points are the *lanes* of vectors. A step of the innermost loop
//! evaluates the body for [`Width::parts`] vectors of [`Width::lanes`] lanes each:
//!
//! * values that are the same in all lanes are scalars ([`levels`]); what depends on no axis is computed before the
//!   loops, what depends on outer axes alone once a row;
//! * a conditional runs each side under a mask of the lanes that take it, if there are any; a loop runs until no lane
//!   is left, and what a lane yields is taken when it leaves;
//! * reads along the lanes are vector loads, others gathers; indices are checked for a whole row at once where they
//!   follow an axis.
//!
//! The code of a kernel computes what the tile executor computes, bit for bit: each operation is written out as the
//! language defines it, and no flag allows LLVM more, unless the body is [`relaxed`](Body::relaxed). A fault is not
//! described: the function *declines* the rectangle, and the tile executor runs it again and finds the fault. So it does
//! with an array that is not evaluated yet.

mod abreast;
mod access;
mod apart;
mod around;
mod cast;
mod channels;
mod chunk;
mod clamped;
mod combine;
mod compact;
mod control;
mod divide;
mod edges;
mod ending;
mod flat;
mod form;
mod halves;
mod lines;
mod longs;
mod narrow;
mod nest;
mod patches;
mod prim;
mod reciprocal;
mod records;
mod relaxed;
mod rows;
mod scale;
mod scan;
mod scatter;
mod scheduled;
mod steps;
mod sums;
mod text;
mod tree;
mod turned;
mod value;
mod width;

use super::Target;
use crate::kernel::{AxisKind, Body, Finish, Kernel, Level, Op, Region};
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, Dir, Val};
pub(crate) use channels::reads_channels;
pub(crate) use flat::reads_element_by_element;
pub(crate) use form::Form;
pub(crate) use lines::has_own_lines;
pub(crate) use patches::leaves_apart;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;
use text::{Label, Operand, Writer};
pub(crate) use turned::{BLOCK, PANEL, axis_turned, between};
use value::{Mask, V};
use width::Width;

/// A word of a function's arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Word {
    /// A host function that tells whether to stop.
    Tick,
    /// Its argument.
    Ticker,
    /// The extent of an axis of the index space.
    Extent(u32),
    /// The extent of an array along an axis; 0 if it is not evaluated.
    ArrayExtent(ArrayId, u32),
    /// Whether an array is evaluated.
    Evaluated(ArrayId),
    /// The position of the first element of an array that is there, and the one after the last: what is read whatever the
    /// index is lies between.
    First(ArrayId),
    End(ArrayId),
    /// The memory of a leaf of an array.
    Column(ArrayId, u32),
    /// A scalar of the launch.
    Scalar(ArrayId, u32),
    /// The memory of a leaf of a result, counted over all outputs.
    Out(u32),
    /// The position, among those of rows and columns, of the first element of `Out`.
    Base,
    /// What a fold or scan begins with: for rows the initial value, for a chunk what comes before it.
    Before(u32),
    /// Where the folding of rows that are lanes begins, along the first axis that is folded. What comes before, if anything
    /// does, is combined in `Out`; a scheduled kernel folds that part alone.
    From,
    /// Where it ends.
    To,
    /// Elements of a row from those of a chunk to those that its thread takes next.
    Ahead,
    /// Whether anything comes before a chunk.
    Preceded(u32),
    /// Where the total of a chunk is to be put, as bits.
    Total(u32),
    /// The extent of the target of a scatter.
    TargetExtent(u32),
    /// Where a scatter notes how far it came: positions, from `Base` on.
    Progress,
}

/// The text of a module, and what its function takes.
pub(crate) struct Emitted {
    pub text: String,
    pub words: Vec<Word>,
}

/// What this module does not compile, and the tile executor runs.
pub(crate) type Unsupported = String;

/// Nodes from which on a body is compiled once, for any mask, and not for full vectors too.
const LARGE: usize = 200;
/// Nodes up to which a body leaves registers for many vectors.
const SMALL: usize = 12;
/// Bytes of a row that a step takes where rows are walked across.
const STRIP: usize = 256;
/// Nodes of the largest body compiled.
const MOST: usize = 4000;
/// Bytes of a function's memory at most that folds keep elements in.
const KEPT: usize = 128 << 10;
/// Regions within one another.
const DEEPEST: usize = 12;

/// The module of a kernel.
pub(crate) fn emit(kernel: &Kernel, form: Form, target: &Target) -> Result<Emitted, Unsupported> {
    let (flat, derived);
    let kernel = match form {
        Form::Store { .. } if kernel.axes.is_empty() => {
            derived = flat::one_row(kernel);
            &derived
        }
        Form::Store { flat: true, .. } => {
            flat = flat::flattened(kernel).ok_or("a kernel that is not element by element")?;
            &flat
        }
        Form::Count => {
            derived = compact::counted(kernel);
            &derived
        }
        Form::Located => {
            derived = scatter::located(kernel);
            return emit(&derived, Form::Store { flat: false, stream: false, turned: false }, target);
        }
        Form::Store { .. }
        | Form::OwnLines
        | Form::Patches
        | Form::Rows
        | Form::Scheduled
        | Form::Scatter
        | Form::Records => kernel,
        Form::Compact | Form::Chunk { .. } | Form::Totals | Form::Whole => kernel,
    };
    let (width, size) = plan(kernel, form, target)?;
    let patches = || Width::of(&kernel.element, &patches::axes(&kernel.element), size, target);
    if form == Form::Patches && (width.parts == 1 || patches() != width) {
        // One row, or what differs from row to row would take the registers of a vector.
        return emit(kernel, Form::Store { flat: false, stream: false, turned: false }, target);
    }
    let mut e = Emitter::new(&kernel.element, width, target);
    e.stream = matches!(form, Form::Store { stream: true, .. } | Form::OwnLines | Form::Chunk { stream: true });
    e.ahead = form == Form::Chunk { stream: true };
    if form.is_along() && kernel.axes.last() == Some(&AxisKind::Scan(Dir::Right)) {
        e.lane_step = -1;
    }
    match form {
        Form::Scheduled => e.scheduled(kernel, size >= LARGE),
        Form::Patches => e.patches(kernel),
        _ => e.nest(kernel, form, size >= LARGE),
    }
    Ok(e.finish())
}

/// The vectors of a kernel's function, and the nodes of its element body; an error if it is not compiled.
fn plan(kernel: &Kernel, form: Form, target: &Target) -> Result<(Width, usize), Unsupported> {
    let size = supported(&kernel.element)?;
    for o in &kernel.outputs {
        if let Some(combine) = o.finish.combine() {
            supported(combine)?;
        }
        if let Finish::Scatter { combine, known: None, .. } = &o.finish
            && combine.is_partial()
        {
            return Err("a permutation whose combination may fault".into());
        }
    }
    let scans = matches!(kernel.axes.last(), Some(AxisKind::Scan(_)));
    if let Some(e) = kernel.epilogue.as_ref().filter(|_| scans || form == Form::Compact) {
        supported(&e.body)?;
        if !scans && !e.is_placeless() {
            return Err("a compaction whose places are used on".into());
        }
    }
    if kernel.axes.len() < if form == Form::Rows { 2 } else { 1 } {
        return Err("too few axes for lanes".into());
    }
    let (lane, _) = form.axes(kernel.axes.len());
    let axes: Vec<Level> =
        (0..kernel.axes.len()).map(|axis| if axis == lane { Level::Linear(1) } else { Level::One }).collect();
    let mut width = Width::of(&kernel.element, &axes, size, target);
    if form.is_along() {
        // Groups of a scan do not straddle vectors.
        width.lanes = width.lanes.max(crate::kernel::grouping::GROUP);
        width.parts = crate::kernel::grouping::WIDTH / width.lanes;
        let bytes = tree::kept(kernel, width.parts);
        if bytes > KEPT {
            return Err(format!("folds that keep {bytes} bytes of a row"));
        }
    }
    if form == Form::Scheduled {
        width = scheduled::width(kernel, width)?;
    }
    if form.is_scatter() {
        width = scatter::width(kernel, size, width);
    }
    if form == Form::Rows && size <= SMALL && kernel.lies_across() {
        // Several cache lines of each row, so that few pages are met again and again.
        width.parts = (STRIP / (width.lanes * 4)).max(width.parts);
    }
    if matches!(form, Form::Store { .. } | Form::OwnLines) && kernel.strides_along(kernel.axes.len() - 1) {
        // Panels of few columns are computed, whose lines stay in the cache.
        width.parts = 1;
    }
    Ok((width, size))
}

/// Why not all ways of computing a kernel are compiled, if that is so and it has more than one point.
pub(crate) fn unsupported(kernel: &Kernel, target: &Target) -> Option<Unsupported> {
    if kernel.axes.is_empty() {
        return None;
    }
    Form::of(kernel).into_iter().find_map(|form| plan(kernel, form, target).err())
}

/// The number of nodes of a body; an error if it has something that is not compiled.
fn supported(body: &Body) -> Result<usize, Unsupported> {
    let (mut size, mut deepest) = (0, 0);
    let mut problem = None;
    body.region.visit(0, &mut |n, depth| {
        size += 1;
        deepest = deepest.max(depth);
        match &n.op {
            Op::Call { name, .. } => problem = Some(format!("a call of the host function `{name}`")),
            Op::Prim(p, _) if !prim::is_written(*p) => problem = Some(p.name().to_string()),
            _ => {}
        }
    });
    match problem {
        Some(p) => Err(p),
        None if size > MOST => Err(format!("a body of {size} nodes")),
        None if deepest > DEEPEST => Err(format!("regions {deepest} deep")),
        None => Ok(size),
    }
}

/// Writes the function of a kernel.
struct Emitter<'a> {
    w: Writer,
    target: &'a Target,
    width: Width,
    /// The body being written: the element or the combination.
    body: &'a Body,
    levels: Vec<Level>,
    values: Vec<Option<V>>,
    /// Whether anything takes a value.
    used: Vec<bool>,
    mask: Mask,
    /// Lanes that met a fault since this was last looked at.
    faults: Option<Operand>,
    /// Where a rectangle is declined.
    decline: Label,
    stop: Label,
    words: Vec<Word>,
    word_of: HashMap<Word, Operand>,
    /// Text before the first block: arguments, constants that are long to write.
    entry: String,
    constants: HashMap<(i64, usize), Operand>,
    tables: Vec<Arc<[u64]>>,
    /// Registers of which a vector with the same value in every lane is carried beside them.
    splats: HashMap<Operand, Operand>,
    /// What is carried in half of its bits.
    halved: halves::Halved,
    /// Memory of the function itself.
    buffers: usize,
    strides: HashMap<(ArrayId, usize, usize), Operand>,
    /// How axes are bound where code is written.
    axes: Vec<nest::Axis>,
    /// Integers of the body that are sums over axes.
    sums: HashMap<Val, sums::Sum>,
    /// Indices known to be in bounds: everywhere, or in steps of full vectors.
    proven: nest::Proven,
    /// Whether the step being written is one of full vectors away from edges.
    inner: bool,
    /// Whether full vectors of results are written past the caches.
    stream: bool,
    /// A column at which a line of the caches begins in the results' row; the first, if there is none.
    line: Option<Operand>,
    /// Whether what the thread reads next is brought near while results are written.
    ahead: bool,
    /// By how much the index along the axis of lanes grows from lane to lane: 1, or -1 where rows are scanned from the
    /// right, the first lane being the rightmost.
    lane_step: i64,
    /// Indices that start again where they reach a divisor.
    around: HashMap<Val, around::Around>,
    /// Positions between bounds.
    clamped: HashMap<Val, clamped::Clamped>,
    /// What is read from memory of the function, where it was turned.
    turned: Vec<turned::Turned>,
}

impl<'a> Emitter<'a> {
    fn new(body: &'a Body, width: Width, target: &'a Target) -> Emitter<'a> {
        let mut w = Writer::new();
        let (decline, stop) = (w.label(), w.label());
        Emitter {
            w,
            target,
            width,
            body,
            levels: Vec::new(),
            values: vec![None; body.types.len()],
            used: body.used(),
            mask: Mask::All,
            faults: None,
            decline,
            stop,
            words: Vec::new(),
            word_of: HashMap::new(),
            entry: String::new(),
            constants: HashMap::new(),
            tables: Vec::new(),
            splats: HashMap::new(),
            halved: halves::Halved::default(),
            buffers: 0,
            strides: HashMap::new(),
            axes: Vec::new(),
            sums: sums::sums(body),
            proven: nest::Proven::default(),
            inner: false,
            stream: false,
            line: None,
            ahead: false,
            lane_step: 1,
            around: HashMap::new(),
            clamped: HashMap::new(),
            turned: Vec::new(),
        }
    }

    /// A word of the arguments, read once, before everything else.
    fn word(&mut self, word: Word) -> Operand {
        if let Some(known) = self.word_of.get(&word) {
            return known.clone();
        }
        let k = self.words.len();
        let ty = match word {
            Word::Tick | Word::Ticker | Word::Column(..) | Word::Out(_) | Word::Total(_) | Word::Progress => "ptr",
            Word::Extent(_) | Word::ArrayExtent(..) | Word::Evaluated(_) | Word::Scalar(..) => "i64",
            Word::Base | Word::From | Word::To | Word::Ahead | Word::Before(_) | Word::Preceded(_) => "i64",
            Word::TargetExtent(_) | Word::First(_) | Word::End(_) => "i64",
        };
        // Writing to a string does not fail.
        let _ = writeln!(self.entry, "  %p{k} = getelementptr i64, ptr %args, i64 {k}");
        let _ = writeln!(self.entry, "  %w{k} = load {ty}, ptr %p{k}, align 8");
        self.words.push(word);
        let operand = Operand::text(format!("%w{k}"));
        self.word_of.insert(word, operand.clone());
        operand
    }

    /// The row-major stride of an array along an axis, of `rank` axes.
    fn stride(&mut self, array: ArrayId, axis: usize, rank: usize) -> Operand {
        if axis + 1 >= rank {
            return Operand::int(1);
        }
        if let Some(known) = self.strides.get(&(array, axis, rank)) {
            return known.clone();
        }
        let inner = self.stride(array, axis + 1, rank);
        let extent = self.word(Word::ArrayExtent(array, axis as u32 + 1));
        let k = self.strides.len();
        let _ = writeln!(self.entry, "  %s{k} = mul i64 {inner}, {extent}");
        let operand = Operand::text(format!("%s{k}"));
        self.strides.insert((array, axis, rank), operand.clone());
        operand
    }

    /// The number of a table.
    fn table_of(&mut self, words: &Arc<[u64]>) -> usize {
        self.tables.iter().position(|t| t == words).unwrap_or_else(|| {
            self.tables.push(words.clone());
            self.tables.len() - 1
        })
    }

    /// The type that a value is held in.
    fn ty(&self, v: Val) -> ScalarType {
        if self.halved.has(v) { ScalarType::I32 } else { self.body.ty(v) }
    }

    /// Writes the nodes of a region.
    fn region(&mut self, r: &Region) {
        for n in &r.nodes {
            acc_core::grow_stack(|| self.node(n));
        }
        self.settle();
    }

    fn finish(mut self) -> Emitted {
        let first = "b0";
        self.w.start(self.decline);
        self.w.line(format_args!("ret i64 1"));
        self.w.start(self.stop);
        self.w.line(format_args!("ret i64 2"));
        let mut tables = String::new();
        for (k, words) in self.tables.iter().enumerate() {
            let each: Vec<String> = words.iter().map(|w| format!("i64 {}", *w as i64)).collect();
            let _ = writeln!(tables, "@t{k} = private constant [{} x i64] [{}]", words.len(), each.join(", "));
        }
        let text = format!(
            "{tables}define i64 @{}(ptr noalias %args, i64 %r0, i64 %r1, i64 %c0, i64 %c1) nounwind {{\nentry:\n  %fuel = alloca i64, align 8\n  store i64 {}, ptr %fuel, align 8\n{}  br label %{first}\n{}}}\n{METADATA}",
            super::c::ENTRY,
            control::FUEL,
            self.entry,
            self.w.finish(),
        );
        Emitted { text, words: self.words }
    }
}

/// Reads of arrays, and writes of results, never meet; and what is rare.
const METADATA: &str = "!0 = distinct !{!0}\n!1 = distinct !{!1, !0}\n!2 = !{!1}\n!3 = !{!\"branch_weights\", i32 1, i32 65536}\n!4 = !{i32 1}\n";
