//! What nodes cost, in classes that drawings colour.

use crate::Counts;
use acc_desugar::graph::{Graph, Node, Value};
use std::collections::HashMap;
use std::fmt;

/// What a node costs, by the [calls](Counts) that it becomes, without those of its bodies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cost {
    /// Arithmetic on the host.
    Host,
    /// A view: no element is touched.
    View,
    /// So many calls that touch elements.
    Calls(usize),
    /// The host waits for the device.
    ReadBack,
}

impl Cost {
    /// The class, a word.
    pub fn class(self) -> &'static str {
        match self {
            Cost::Host => "host",
            Cost::View => "view",
            Cost::Calls(..=1) => "one",
            Cost::Calls(2..=5) => "few",
            Cost::Calls(_) => "many",
            Cost::ReadBack => "wait",
        }
    }

    /// The colour of the class, none for what is done on the host.
    pub fn fill(self) -> Option<&'static str> {
        CLASSES.iter().find(|(class, _)| *class == self.class()).and_then(|(_, fill)| *fill)
    }
}

/// The classes and their colours.
pub(super) const CLASSES: [(&str, Option<&str>); 6] = [
    ("host", None),
    ("view", Some("#eeeeee")),
    ("one", Some("#fdebcf")),
    ("few", Some("#fdc27c")),
    ("many", Some("#f08a4b")),
    ("wait", Some("#f4a6a6")),
];

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cost::Host => f.write_str("on the host"),
            Cost::View => f.write_str("a view"),
            Cost::Calls(1) => f.write_str("1 call"),
            Cost::Calls(n) => write!(f, "{n} calls"),
            Cost::ReadBack => f.write_str("the host waits"),
        }
    }
}

/// The costs of a graph's nodes.
pub struct Costs(HashMap<Value, Counts>);

impl Costs {
    /// Of every node, those of inner bodies included.
    pub fn of(graph: &Graph) -> Costs {
        Costs(Counts::of_nodes(graph))
    }

    /// Of one node.
    pub fn of_node(&self, node: &Node) -> Cost {
        match node.results.first().and_then(|v| self.0.get(v)) {
            Some(c) if c.read_backs > 0 => Cost::ReadBack,
            Some(c) if c.launches + c.checks > 0 => Cost::Calls(c.launches + c.checks),
            Some(c) if c.views > 0 => Cost::View,
            Some(_) | None => Cost::Host,
        }
    }
}
