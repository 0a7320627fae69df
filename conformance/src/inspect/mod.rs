//! A program as a page: what every stage makes of it, drawn, with times and memory from a run. One file of HTML that
//! needs no network.

mod drawing;
mod layout;
mod measure;
mod page;

use crate::executors::{self, Registered};
use acc_core::ir::{ArrayId, Block, Loc, Program, Stmt};
use acc_core::text::TestFile;
use acc_core::{Backend, Error, RunLimits};
use acc_desugar::graph::{Graph, Node};
use acc_desugar::{Rules, pass, pipeline};
use backend_graph::export::cost::{Cost, Costs};
use backend_graph::{Counts, Format, Plan};
use backend_native::{Explanation, KernelReport, Native};
use drawing::{Card, GraphDrawing, Known, draw};
use measure::{Measured, Part, show_bytes, show_time};
use page::{Files, escape, fill, script_json, short, table};
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A page about a program.
pub struct Inspected {
    /// The page.
    pub html: String,
    /// What stopped its run, if anything did, with the executors that say so.
    pub stopped: Option<String>,
}

/// The page of a program, whose file has this name and text. The run of this name is measured, or the first that is
/// expected to succeed; where there is none, the page has no times, and where it has a fault, that in their place.
pub fn page(file: &TestFile, name: &str, text: &str, run: Option<&str>) -> Result<Inspected, String> {
    let failed = |e: acc_core::Error| e.to_string();
    let program = &file.program;
    let prepared = Native::new().prepare(program, &RunLimits::none()).map_err(failed)?;
    let (simplified, explanation) = (prepared.simplified(), prepared.explain());
    let plan = backend_graph::plan_of(program).map_err(failed)?;
    let graph = backend_graph::graph_of(program).map_err(failed)?;
    let derivatives = derivatives(program).map_err(failed)?;
    let run = measure::choose(file, run)?;
    let mut measured = Vec::new();
    let mut stopped = Vec::new();
    let mut absent = Vec::new();
    for Registered { name, state } in executors::all() {
        match (&state, run) {
            (executors::State::Present(e), Some(run)) if [NATIVE, TILES, GRAPH].contains(&name) => {
                match measure::measure(&**e, name, file, run) {
                    Ok(m) => measured.push(m),
                    Err(e) => note_stop(&mut stopped, name, e),
                }
            }
            (executors::State::Absent { what, why }, _) if [NATIVE, GRAPH].contains(&name) => {
                absent.push(format!("{name} is {what}: {why}"));
            }
            _ => {}
        }
    }
    let mut p = Page {
        program,
        derivatives,
        simplified,
        explanation: &explanation,
        graph: &graph,
        plan: &plan,
        costs: Costs::of(&graph),
        kernels: measured.iter().find(|m| [NATIVE, TILES].contains(&m.executor)),
        steps: measured.iter().find(|m| m.executor == GRAPH),
        measured: &measured,
        stopped: &stopped,
        absent,
        run: run.map(|r| format!("run {} at line {}", r.name.as_deref().unwrap_or("without a name"), r.line)),
        files: Files::new(name, text),
        details: Map::new(),
    };
    for Stopped { error, .. } in &stopped {
        if let Error::Fault { loc, .. } = error {
            p.files.mark(loc);
        }
    }
    let says = stopped.iter().map(|s| format!("on {}: {}", s.executors.join(", "), s.error));
    let says: Vec<String> = says.collect();
    Ok(Inspected { html: p.html(name), stopped: (!says.is_empty()).then(|| says.join("\n")) })
}

/// How each derivative of a program is computed, and the program with its derivatives as ordinary code.
fn derivatives(program: &Program) -> Result<Option<String>, Error> {
    if !program.has_derivatives() {
        return Ok(None);
    }
    let (rules, limits) = (Rules::all(), RunLimits::none());
    let settings = backend_native::pass_settings(&rules, &limits);
    let mut text = String::new();
    for note in acc_desugar::explain_derivatives(program, &settings)? {
        text += &format!("// {note}\n");
    }
    if let Some(stage) = pass::until(pipeline::NATIVE, "differentiate", program, &settings)
        && let Some(expanded) = stage?.into_program()
    {
        text += &expanded.to_string();
    }
    Ok(Some(text))
}

/// What stopped a run, on some of the executors.
struct Stopped {
    executors: Vec<&'static str>,
    error: Error,
}

/// Adds what stopped a run on an executor; the same message of several is kept once.
fn note_stop(all: &mut Vec<Stopped>, executor: &'static str, error: Error) {
    match all.iter_mut().find(|s| s.error == error) {
        Some(same) => same.executors.push(executor),
        None => all.push(Stopped { executors: vec![executor], error }),
    }
}

const NATIVE: &str = "native";
const TILES: &str = "native-tile";
const GRAPH: &str = "graph";

struct Page<'a> {
    program: &'a Program,
    /// How its derivatives are computed, and what they become, if it has some.
    derivatives: Option<String>,
    simplified: &'a Program,
    explanation: &'a Explanation,
    graph: &'a Graph,
    plan: &'a Plan,
    costs: Costs,
    /// What a run took on the native executor.
    kernels: Option<&'a Measured>,
    /// What a run took on the graph executor.
    steps: Option<&'a Measured>,
    measured: &'a [Measured],
    stopped: &'a [Stopped],
    absent: Vec<String>,
    run: Option<String>,
    files: Files,
    /// By the keys of cards: names and values.
    details: Map<String, Json>,
}

/// A tab: its id, title and contents.
type Tab = (&'static str, &'static str, String);

impl Page<'_> {
    fn html(&mut self, name: &str) -> String {
        let kernels = self.kernels();
        let graph = self.tensor_graph();
        let flattened = self.files.listing(&backend_graph::export(self.graph, Format::Text));
        let planned = self.files.listing(&self.plan.to_string());
        let simplified = self.files.listing(&self.simplified.to_string());
        let derivatives = self.derivatives.as_ref().map(|text| self.files.listing(text));
        let mut tabs: Vec<Tab> = vec![("program", "Program", self.files.program())];
        tabs.extend(derivatives.map(|body| ("derivatives", "Derivatives", body)));
        tabs.extend([
            ("simplified", "Simplified", simplified),
            ("fused", "Fused", kernels),
            ("flattened", "Flattened", flattened),
            ("planned", "Planned", planned),
            ("graph", "Graph", graph),
            ("runs", "Times", self.runs()),
        ]);
        let buttons = tabs.iter().map(|(id, title, _)| {
            format!("<button role=\"tab\" id=\"tab-{id}\" aria-controls=\"{id}\" type=\"button\">{title}</button>")
        });
        let panels = tabs.iter().map(|(id, _, body)| {
            format!(
                "<section role=\"tabpanel\" id=\"{id}\" aria-labelledby=\"tab-{id}\" tabindex=\"0\">{body}</section>"
            )
        });
        let short = Path::new(name).file_name().map_or(name.to_string(), |n| n.to_string_lossy().into_owned());
        fill(
            include_str!("page.html"),
            &[
                ("style", include_str!("page.css")),
                ("script", include_str!("page.js")),
                ("title", &escape(&short)),
                ("summary", &escape(&self.summary())),
                ("tabs", &buttons.collect::<String>()),
                ("panels", &panels.collect::<String>()),
                ("data", &script_json(&json!({ "files": self.files.json(), "details": self.details }))),
            ],
        )
    }

    fn summary(&self) -> String {
        let counts = Counts::of(self.graph);
        let mut nodes = 0;
        self.graph.body.visit(&mut |_| nodes += 1);
        format!(
            "Statements: {}, simplified {}. Kernels: {}. Graph: {nodes} nodes, calls {}, views {}, checks {}, waits {}.",
            statements(&self.program.body).len(),
            statements(&self.simplified.body).len(),
            self.explanation.kernels.len(),
            counts.launches,
            counts.views,
            counts.checks,
            counts.read_backs,
        )
    }

    /// The drawing of the kernels, and what was decided about them.
    fn kernels(&mut self) -> String {
        let stmts: BTreeMap<ArrayId, &Stmt> = statements(&self.simplified.body)
            .into_iter()
            .flat_map(|s| s.results.iter().map(move |r| (*r, s)))
            .collect();
        let reports = &self.explanation.kernels;
        let mut cards = Vec::new();
        let mut of: BTreeMap<ArrayId, usize> = BTreeMap::new();
        for &a in &self.simplified.body.params {
            of.insert(a, cards.len());
            let lines = vec![format!("{a}: {}", self.simplified.ty(a))];
            cards.push(Card { class: "param".to_string(), lines, ..Card::default() });
        }
        let first = cards.len();
        let stored = reports.iter().enumerate();
        of.extend(stored.flat_map(|(k, r)| r.results.iter().map(move |(a, _)| (*a, first + k))));
        let mut edges = BTreeSet::new();
        for (k, r) in reports.iter().enumerate() {
            for a in &r.reads {
                edges.extend(origins(*a, &of, &stmts).into_iter().map(|from| (from, first + k)));
            }
            cards.push(self.kernel(k, r, &stmts));
        }
        let results = cards.len();
        let names: Vec<String> = self.simplified.body.results.iter().map(ArrayId::to_string).collect();
        for a in &self.simplified.body.results {
            edges.extend(origins(*a, &of, &stmts).into_iter().map(|from| (from, results)));
        }
        cards.push(Card {
            class: "param".to_string(),
            lines: vec![format!("yield {}", names.join(", "))],
            ..Card::default()
        });
        let drawing = draw(&cards, &edges).element("The kernels of the native executor");
        let text = format!("{}\n{}", self.explanation, self.explanation.kernel_ir());
        format!(
            "<p class=\"note\">Kernels of the native executor, and the arrays between them.{}</p><div class=\"canvas\">{drawing}</div><pre class=\"listing\">{}</pre>",
            legend_time(self.kernels),
            escape(&text)
        )
    }

    fn kernel(&mut self, number: usize, r: &KernelReport, stmts: &BTreeMap<ArrayId, &Stmt>) -> Card {
        let part = self.kernels.and_then(|m| m.parts.get(&r.title));
        let mut lines = vec![format!("kernel {number}: {}", r.title), format!("over {}", r.axes)];
        if !r.fused.is_empty() {
            let fused: Vec<String> = r.fused.iter().map(ArrayId::to_string).collect();
            lines.push(format!("with {}", fused.join(", ")));
        }
        lines.extend(part.map(Part::shown));
        let loc = r.locs.first().cloned().unwrap_or_else(Loc::unknown);
        let mut details = vec![("kernel", r.title.clone()), ("axes", r.axes.clone())];
        details.push(("for each point", format!("{} bytes read, {} stored", r.bytes_read, r.bytes_stored)));
        let fused =
            r.fused.iter().filter_map(|a| stmts.get(a)).map(|s| format!("{} at {}", s.op.name(), short(&s.loc)));
        details.extend(fused.map(|s| ("fused into it", s)));
        self.details(&format!("k{number}"), details, part, self.kernels);
        Card {
            key: format!("k{number}"),
            class: "one".to_string(),
            lines,
            place: self.files.place(&loc),
            share: part.zip(self.kernels).map(|(p, m)| m.share(p)),
            inner: Vec::new(),
        }
    }

    fn details(&mut self, key: &str, mut rows: Vec<(&str, String)>, part: Option<&Part>, of: Option<&Measured>) {
        if let (Some(p), Some(m)) = (part, of) {
            rows.push(("time", format!("{} of {} on {}", p.shown(), show_time(m.total), m.executor)));
            rows.push(("memory", show_bytes(p.bytes)));
        }
        self.details.insert(key.to_string(), json!(rows));
    }

    fn tensor_graph(&mut self) -> String {
        let (graph, steps) = (self.graph, self.steps);
        let part = |n: &Node| steps.and_then(|m| m.parts.get(&drawing::key(n)));
        let known = |n: &Node| Known {
            share: part(n).zip(steps).map(|(p, m)| m.share(p)),
            line: part(n).map(|p| format!("{}, {}", p.shown(), show_bytes(p.bytes))),
        };
        let files = &mut self.files;
        let mut place = |loc: &Loc| files.place(loc);
        let drawing = GraphDrawing::new(graph, &self.costs, &known, &mut place).draw();
        let mut nodes = Vec::new();
        graph.body.visit(&mut |n| nodes.push(n));
        for n in nodes {
            let mut rows = vec![("operation", n.op.name().to_string())];
            rows.extend(backend_graph::export::attributes(n));
            rows.extend(n.results.iter().map(|r| ("result", format!("{r}: {}", graph.ty(*r)))));
            let operands: Vec<String> = n.op.operands().iter().map(ToString::to_string).collect();
            rows.push(("operands", operands.join(", ")));
            rows.push(("cost", self.costs.of_node(n).to_string()));
            let source = graph.sources.get(n.source as usize);
            if let Some(s) = source {
                rows.push(("from", format!("{} at {}", s.name, short(&s.loc))));
                if let Some(k) = self.kernel_of(&s.loc) {
                    let time = self
                        .kernels
                        .and_then(|m| m.parts.get(&k.title))
                        .map_or(String::new(), |p| format!(", {}", p.shown()));
                    rows.push(("native kernel", format!("{}{time}", k.title)));
                }
            }
            self.details(&drawing::key(n), rows, part(n), steps);
        }
        let legend: String = [Cost::Host, Cost::View, Cost::Calls(1), Cost::Calls(2), Cost::Calls(6), Cost::ReadBack]
            .map(|c| format!("<span class=\"key {}\">{}</span>", c.class(), legend_name(c)))
            .concat();
        format!(
            "<p class=\"note\">Tensor operations; arithmetic on the host is left out.{} {legend}</p><div class=\"canvas\">{}</div>",
            legend_time(steps),
            drawing.element("The graph of tensor operations")
        )
    }

    /// The kernel that computes the statement at a location.
    fn kernel_of(&self, loc: &Loc) -> Option<&KernelReport> {
        let stmts = statements(&self.simplified.body);
        let at = stmts.into_iter().find(|s| s.loc.is_at(loc))?;
        self.explanation
            .kernels
            .iter()
            .find(|k| at.results.iter().any(|a| k.fused.contains(a) || k.results.iter().any(|(stored, _)| stored == a)))
    }

    fn runs(&mut self) -> String {
        let note = match &self.run {
            Some(run) if self.measured.is_empty() && !self.stopped.is_empty() => {
                format!("The {run} of the file does not succeed.")
            }
            Some(run) => format!("The {run} of the file, the second time: the first one compiles."),
            None => "The file has no run that is expected to succeed, so nothing was measured.".to_string(),
        };
        let mut out = format!("<p class=\"note\">{}</p>", escape(&note));
        for s in self.stopped {
            out += &format!(
                "<h2>{}</h2><pre class=\"stopped\">{}</pre>",
                s.executors.join(", "),
                escape(&s.error.to_string())
            );
            if let Error::Fault { loc, .. } = &s.error {
                out += &self.files.excerpt(loc);
            }
        }
        for m in self.measured {
            out += &format!("<h2>{}: {}</h2>", escape(m.executor), show_time(m.total));
            let mut parts: Vec<(&String, &Part)> = m.parts.iter().collect();
            parts.sort_by_key(|(_, p)| std::cmp::Reverse(p.time));
            let rows: Vec<Vec<String>> = parts.iter().map(|(key, p)| self.row(m, key, p)).collect();
            out += &table(&["what", "times", "time", "share", "memory", "from"], &rows);
        }
        for why in &self.absent {
            out += &format!("<p class=\"note\">{}</p>", escape(why));
        }
        out
    }

    fn row(&self, m: &Measured, key: &str, p: &Part) -> Vec<String> {
        let name = if m.executor == GRAPH { format!("{key} = {}", p.name) } else { p.name.clone() };
        let share = m.share(p);
        vec![
            escape(&name),
            p.times.to_string(),
            show_time(p.time),
            format!(
                "<span class=\"bar\" style=\"--share:{:.1}%\"></span>{:.1} %",
                (share * 100.0).min(100.0),
                share * 100.0
            ),
            show_bytes(p.bytes),
            escape(&self.source(m, key, p)),
        ]
    }

    /// Where a part of a run comes from.
    fn source(&self, m: &Measured, key: &str, p: &Part) -> String {
        if m.executor == GRAPH {
            return p.source.clone();
        }
        let report = self.explanation.kernels.iter().find(|k| k.title == key);
        let locs = report.into_iter().flat_map(|k| &k.locs).map(short);
        locs.collect::<Vec<_>>().join(", ")
    }
}

fn legend_name(c: Cost) -> &'static str {
    match c {
        Cost::Host => "host",
        Cost::View => "view",
        Cost::Calls(..=1) => "one call",
        Cost::Calls(2..=5) => "a few calls",
        Cost::Calls(_) => "many calls",
        Cost::ReadBack => "the host waits",
    }
}

fn legend_time(measured: Option<&Measured>) -> String {
    measured.map_or(String::new(), |m| format!(" Bars show the share of a run's {}.", show_time(m.total)))
}

/// All statements, those of inner blocks included.
fn statements(block: &Block) -> Vec<&Stmt> {
    let mut out = Vec::new();
    let mut open = vec![block];
    while let Some(b) = open.pop() {
        for s in &b.stmts {
            out.push(s);
            open.extend(s.op.blocks());
        }
    }
    out
}

/// The cards that compute an array: its own, or, through views and control flow, those of its operands.
fn origins(a: ArrayId, of: &BTreeMap<ArrayId, usize>, stmts: &BTreeMap<ArrayId, &Stmt>) -> BTreeSet<usize> {
    let mut out = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![a];
    while let Some(a) = open.pop() {
        if !seen.insert(a) {
            continue;
        }
        match (of.get(&a), stmts.get(&a)) {
            (Some(card), _) => {
                out.insert(*card);
            }
            (None, Some(s)) => {
                open.extend(s.op.arrays());
                open.extend(s.op.blocks().iter().flat_map(|b| b.results.iter().copied()));
            }
            (None, None) => {}
        }
    }
    out
}
