//! Graphs and kernels as SVG.

use super::layout::layout;
use super::page::{Place, escape};
use acc_desugar::graph::{Body, Graph, Node, Op, Shapes, Type, Value};
use backend_graph::export::cost::{Cost, Costs};
use backend_graph::export::{attributes, roles};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

/// The width of a letter, the height of a line, and the space around text.
const LETTER_WIDTH: f64 = 6.7;
const LINE_HEIGHT: f64 = 15.0;
const PADDING: f64 = 8.0;

/// What a node shows.
#[derive(Default)]
pub struct Card {
    /// A name that no other node of the page has; none for what cannot be looked at.
    pub key: String,
    /// The classes of its look.
    pub class: String,
    /// Lines of text, the first of which is the title.
    pub lines: Vec<String>,
    /// Where the user wrote it.
    pub place: Place,
    /// Which part of the time of a run it took, if that is known.
    pub share: Option<f64>,
    /// Drawings inside of it, with their titles.
    pub inner: Vec<(String, Drawn)>,
}

/// A drawing and its size.
pub struct Drawn {
    svg: String,
    size: (f64, f64),
}

impl Card {
    fn text_size(&self) -> (f64, f64) {
        let longest = self.lines.iter().map(|l| l.chars().count()).max().unwrap_or(0);
        let bar = if self.share.is_some() { 6.0 } else { 0.0 };
        (longest as f64 * LETTER_WIDTH + 2.0 * PADDING, self.lines.len() as f64 * LINE_HEIGHT + PADDING + 3.0 + bar)
    }

    fn size(&self) -> (f64, f64) {
        let (mut width, mut height) = self.text_size();
        if !self.inner.is_empty() {
            let widths: f64 = self.inner.iter().map(|(_, d)| d.size.0.max(40.0) + 2.0 * PADDING).sum();
            width = width.max(widths + PADDING);
            height += LINE_HEIGHT + self.inner.iter().map(|(_, d)| d.size.1).fold(0.0, f64::max) + 2.0 * PADDING;
        }
        (width, height)
    }

    // Writing to a string cannot fail, so the results of `write!` say nothing.
    fn draw(&self, centre: (f64, f64), out: &mut String) {
        let (width, height) = self.size();
        let (x, y) = (centre.0 - width / 2.0, centre.1 - height / 2.0);
        let focus = match self.key.as_str() {
            "" => String::new(),
            key => format!(
                " tabindex=\"0\" role=\"img\" data-key=\"{}\"{} aria-label=\"{}\"",
                escape(key),
                self.place.attribute(),
                escape(&self.lines.join(", "))
            ),
        };
        let holds = if self.inner.is_empty() { "" } else { " holds" };
        let _ = write!(out, "<g class=\"card {}{holds}\"{focus}>", self.class);
        let _ = write!(out, "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"5\"/>");
        if let Some(share) = self.share {
            let _ = write!(
                out,
                "<rect class=\"share\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"4\"/>",
                y + self.text_size().1 - 5.0,
                width * share.clamp(0.0, 1.0)
            );
        }
        for (k, line) in self.lines.iter().enumerate() {
            let class = if k == 0 { " class=\"title\"" } else { "" };
            let at = y + PADDING + LINE_HEIGHT * (k as f64 + 0.7);
            let _ = write!(out, "<text x=\"{:.1}\" y=\"{at:.1}\"{class}>{}</text>", x + PADDING, escape(line));
        }
        let mut left = x + PADDING;
        let top = y + self.text_size().1;
        for (title, d) in &self.inner {
            let (w, h) = (d.size.0.max(40.0) + PADDING, d.size.1 + PADDING);
            let _ = write!(
                out,
                "<text x=\"{left:.1}\" y=\"{:.1}\" class=\"role\">{}</text>",
                top + LINE_HEIGHT * 0.7,
                escape(title)
            );
            let _ = write!(
                out,
                "<rect class=\"inner\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" rx=\"4\"/>",
                top + LINE_HEIGHT
            );
            let _ = write!(
                out,
                "<g transform=\"translate({:.1} {:.1})\">{}</g>",
                left + PADDING / 2.0,
                top + LINE_HEIGHT + PADDING / 2.0,
                d.svg
            );
            left += d.size.0.max(40.0) + 2.0 * PADDING;
        }
        out.push_str("</g>");
    }
}

/// Draws cards and the edges between them, from earlier ones to later ones.
pub fn draw(cards: &[Card], edges: &BTreeSet<(usize, usize)>) -> Drawn {
    let sizes: Vec<(f64, f64)> = cards.iter().map(Card::size).collect();
    let edges: Vec<(usize, usize)> = edges.iter().copied().collect();
    let drawn = layout(&sizes, &edges);
    let mut svg = String::new();
    for points in &drawn.edges {
        svg.push_str("<path class=\"edge\" d=\"");
        for (k, (x, y)) in points.iter().enumerate() {
            let _ = match k.checked_sub(1).and_then(|before| points.get(before)) {
                None => write!(svg, "M{x:.1} {y:.1}"),
                Some((px, py)) => {
                    let middle = (py + y) / 2.0;
                    write!(svg, "C{px:.1} {middle:.1} {x:.1} {middle:.1} {x:.1} {y:.1}")
                }
            };
        }
        svg.push_str("\"/>");
    }
    for (card, centre) in cards.iter().zip(&drawn.nodes) {
        card.draw(*centre, &mut svg);
    }
    Drawn { svg, size: drawn.size }
}

impl Drawn {
    /// The drawing as an element of a page.
    pub fn element(&self, title: &str) -> String {
        let (w, h) = (self.size.0 + 4.0 * PADDING, self.size.1 + 4.0 * PADDING);
        format!(
            "<svg class=\"drawing\" width=\"{w:.0}\" height=\"{h:.0}\" viewBox=\"{0:.0} {0:.0} {w:.0} {h:.0}\" role=\"group\" aria-label=\"{1}\">{2}</svg>",
            -2.0 * PADDING,
            escape(title),
            self.svg
        )
    }
}

/// What is known about a node from a run, and what is shown of it.
pub struct Known {
    /// Which part of the run's time it took.
    pub share: Option<f64>,
    /// A line of text, such as its time.
    pub line: Option<String>,
}

/// Draws tensor graphs.
pub struct GraphDrawing<'a> {
    graph: &'a Graph,
    shapes: Shapes,
    costs: &'a Costs,
    known: &'a dyn Fn(&Node) -> Known,
    place: &'a mut dyn FnMut(&acc_core::ir::Loc) -> Place,
    constants: HashMap<Value, String>,
}

impl<'a> GraphDrawing<'a> {
    /// Of this graph.
    pub fn new(
        graph: &'a Graph,
        costs: &'a Costs,
        known: &'a dyn Fn(&Node) -> Known,
        place: &'a mut dyn FnMut(&acc_core::ir::Loc) -> Place,
    ) -> GraphDrawing<'a> {
        let mut constants = HashMap::new();
        graph.body.visit(&mut |n| {
            if let ([v], Op::Const(l)) = (&n.results[..], &n.op) {
                constants.insert(*v, acc_core::text::show_literal(*l));
            }
        });
        GraphDrawing { graph, shapes: Shapes::of(graph), costs, known, place, constants }
    }

    /// The whole.
    pub fn draw(&mut self) -> Drawn {
        self.body(&self.graph.body)
    }

    fn body(&mut self, b: &Body) -> Drawn {
        let mut cards: Vec<Card> = Vec::new();
        let mut edges = BTreeSet::new();
        let mut of: HashMap<Value, usize> = HashMap::new();
        for p in b.params.iter().filter(|p| matches!(self.graph.ty(**p), Type::Tensor { .. })) {
            of.insert(*p, cards.len());
            let lines = vec![format!("{p}: {}", self.shapes.show(*p))];
            cards.push(Card { class: "param".to_string(), lines, ..Card::default() });
        }
        for n in &b.nodes {
            let mut used: BTreeSet<Value> = n.op.operands().into_iter().collect();
            for inner in n.op.bodies() {
                used.extend(&inner.results);
                inner.visit(&mut |m| used.extend(m.op.operands()));
            }
            let from: Vec<usize> = used.iter().filter_map(|v| of.get(v)).copied().collect();
            // Arithmetic on the host would hide the rest.
            let cost = self.costs.of_node(n);
            if cost == Cost::Host && n.op.bodies().is_empty() && from.is_empty() {
                continue;
            }
            edges.extend(from.into_iter().map(|f| (f, cards.len())));
            of.extend(n.results.iter().map(|r| (*r, cards.len())));
            let card = acc_core::grow_stack(|| self.card(n, cost));
            cards.push(card);
        }
        let results: Vec<&Value> = b.results.iter().filter(|r| of.contains_key(r)).collect();
        if !results.is_empty() {
            edges.extend(results.iter().map(|r| (of[r], cards.len())));
            let names: Vec<String> = results.iter().map(|r| r.to_string()).collect();
            let lines = vec![format!("yield {}", names.join(", "))];
            cards.push(Card { class: "param".to_string(), lines, ..Card::default() });
        }
        draw(&cards, &edges)
    }

    fn card(&mut self, n: &Node, cost: Cost) -> Card {
        let known = (self.known)(n);
        let constants: Vec<&str> =
            n.op.operands().iter().filter_map(|v| self.constants.get(v)).map(String::as_str).collect();
        let mut lines = vec![format!("{} {}", n.op.name(), constants.join(", ")).trim_end().to_string()];
        let attributes: Vec<String> = attributes(n).iter().map(|(k, v)| format!("{k} = {v}")).collect();
        if !attributes.is_empty() {
            lines.push(short(&attributes.join(", ")));
        }
        lines.extend(n.results.iter().map(|r| format!("{r}: {}", self.shapes.show(*r))));
        lines.extend(known.line);
        let inner = roles(&n.op).iter().zip(n.op.bodies()).map(|(r, b)| ((*r).to_string(), self.body(b))).collect();
        Card {
            key: key(n),
            class: cost.class().to_string(),
            lines,
            place: (self.place)(&n.loc),
            share: known.share,
            inner,
        }
    }
}

/// The key of a node's card.
pub fn key(n: &Node) -> String {
    n.results.first().map_or(String::new(), Value::to_string)
}

/// A text that a card can show.
fn short(text: &str) -> String {
    const MAX_CHARS: usize = 44;
    if text.chars().count() <= MAX_CHARS {
        text.to_string()
    } else {
        text.chars().take(MAX_CHARS).chain(['…']).collect()
    }
}
