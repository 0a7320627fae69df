//! Writing nodes: names, constants, and the bodies that nodes have.

use super::proto::{Attribute, DataType, Graph, Node, Tensor, ValueInfo, kind};
use std::collections::{HashMap, HashSet};

/// The name of a tensor.
pub(super) type Name = String;

/// Versions of ONNX that go together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Versions {
    /// Of the operators.
    pub opset: i64,
    /// Of the format.
    pub ir: i64,
}

impl Versions {
    /// Those of every model.
    const OF_EVERY_MODEL: Versions = Versions { opset: 21, ir: 10 };
    /// Those that have `BitCast`.
    const BIT_CAST: Versions = Versions { opset: 26, ir: 13 };
}

/// Nodes under construction: a stack of bodies, the innermost of which gets them.
pub(super) struct Writer {
    bodies: Vec<Vec<Node>>,
    constants: HashMap<(DataType, Vec<u8>, Vec<i64>), Name>,
    initializers: Vec<Tensor>,
    /// Where among the initializers each constant is.
    positions: HashMap<Name, usize>,
    names: usize,
    /// The versions that a runtime has to know.
    pub versions: Versions,
    /// What the nodes that follow are for: the combinator, and where the user wrote it.
    pub doc: String,
}

impl Writer {
    pub(super) fn new() -> Writer {
        Writer {
            bodies: vec![Vec::new()],
            constants: HashMap::new(),
            initializers: Vec::new(),
            positions: HashMap::new(),
            names: 0,
            versions: Versions::OF_EVERY_MODEL,
            doc: String::new(),
        }
    }

    /// A name that nothing has yet.
    pub(super) fn fresh(&mut self) -> Name {
        self.names += 1;
        format!("v{}", self.names)
    }

    /// Adds a node with one output.
    pub(super) fn node(&mut self, op: &str, inputs: &[&Name], attributes: Vec<Attribute>) -> Name {
        let out = self.fresh();
        self.node_into(op, inputs, attributes, vec![out.clone()]);
        out
    }

    /// Adds a node whose outputs have these names.
    pub(super) fn node_into(&mut self, op: &str, inputs: &[&Name], attributes: Vec<Attribute>, outputs: Vec<Name>) {
        let node = Node {
            input: inputs.iter().map(|n| (*n).clone()).collect(),
            name: format!("{op}_{}", outputs.first().map_or("", String::as_str)),
            output: outputs,
            op_type: op.to_string(),
            attribute: attributes,
            doc_string: self.doc.clone(),
        };
        if let Some(body) = self.bodies.last_mut() {
            body.push(node);
        }
    }

    /// A constant: an initializer of the model, the same one for the same contents.
    pub(super) fn constant(&mut self, ty: DataType, dims: &[i64], bytes: Vec<u8>) -> Name {
        let key = (ty, bytes, dims.to_vec());
        if let Some(name) = self.constants.get(&key) {
            return name.clone();
        }
        let name = self.fresh();
        let (ty, bytes, dims) = key.clone();
        self.positions.insert(name.clone(), self.initializers.len());
        self.initializers.push(Tensor { dims, data_type: ty as i32, name: name.clone(), raw_data: bytes });
        self.constants.insert(key, name.clone());
        name
    }

    /// The float that a name is, if it is a rank-0 constant of this type.
    pub(super) fn constant_float(&self, name: &Name, ty: DataType) -> Option<f64> {
        let t = self.positions.get(name).and_then(|at| self.initializers.get(*at))?;
        match ty {
            _ if !t.dims.is_empty() || t.data_type != ty as i32 => None,
            DataType::Float => Some(f64::from(f32::from_le_bytes(t.raw_data[..].try_into().ok()?))),
            DataType::Double => Some(f64::from_le_bytes(t.raw_data[..].try_into().ok()?)),
            _ => None,
        }
    }

    /// A rank-0 constant of `int64`.
    pub(super) fn int(&mut self, n: i64) -> Name {
        self.constant(DataType::Int64, &[], n.to_le_bytes().to_vec())
    }

    /// A rank-1 constant of `int64`.
    pub(super) fn ints(&mut self, all: &[i64]) -> Name {
        self.constant(DataType::Int64, &[all.len() as i64], all.iter().flat_map(|n| n.to_le_bytes()).collect())
    }

    pub(super) fn truth(&mut self, b: bool) -> Name {
        self.constant(DataType::Bool, &[], vec![u8::from(b)])
    }

    pub(super) fn double(&mut self, x: f64) -> Name {
        self.constant(DataType::Double, &[], x.to_le_bytes().to_vec())
    }

    pub(super) fn cast(&mut self, x: &Name, to: DataType) -> Name {
        self.node("Cast", &[x], vec![int_attribute("to", i64::from(to as i32))])
    }

    /// The same bits as another type.
    pub(super) fn bit_cast(&mut self, x: &Name, to: DataType) -> Name {
        self.versions = Versions::BIT_CAST;
        self.node("BitCast", &[x], vec![int_attribute("to", i64::from(to as i32))])
    }

    /// Opens a body: the nodes that follow are its.
    pub(super) fn open(&mut self) {
        self.bodies.push(Vec::new());
    }

    /// Closes the innermost body. Inputs and outputs have types and shapes only where ONNX asks for them.
    pub(super) fn close(&mut self, inputs: Vec<ValueInfo>, outputs: &[Name]) -> Graph {
        let nodes = self.bodies.pop().unwrap_or_default();
        // What a body yields must be defined in it, once each.
        self.bodies.push(nodes);
        let outputs: Vec<Name> = outputs.iter().map(|o| self.node("Identity", &[o], Vec::new())).collect();
        let node = self.bodies.pop().unwrap_or_default();
        let output = outputs.into_iter().map(|name| ValueInfo { name, ty: None }).collect();
        Graph { node, name: "body".to_string(), initializer: Vec::new(), input: inputs, output }
    }

    /// The finished graph. Constants that nothing takes in the end (what takes them is chosen late) are left out.
    pub(super) fn finish(mut self, name: &str, input: Vec<ValueInfo>, output: Vec<ValueInfo>) -> Graph {
        let node = self.bodies.pop().unwrap_or_default();
        let mut taken: HashSet<&str> = output.iter().map(|o| o.name.as_str()).collect();
        names_taken(&node, &mut taken);
        self.initializers.retain(|t| taken.contains(t.name.as_str()));
        Graph { node, name: name.to_string(), initializer: self.initializers, input, output }
    }
}

/// The names that nodes take, those of their bodies included.
fn names_taken<'n>(nodes: &'n [Node], taken: &mut HashSet<&'n str>) {
    for n in nodes {
        taken.extend(n.input.iter().map(String::as_str));
        for body in n.attribute.iter().filter_map(|a| a.g.as_ref()) {
            acc_core::grow_stack(|| names_taken(&body.node, taken));
        }
    }
}

pub(super) fn int_attribute(name: &str, i: i64) -> Attribute {
    Attribute { name: name.to_string(), i: Some(i), kind: kind::INT, ..Attribute::default() }
}

pub(super) fn ints_attribute(name: &str, ints: Vec<i64>) -> Attribute {
    Attribute { name: name.to_string(), ints, kind: kind::INTS, ..Attribute::default() }
}

pub(super) fn text_attribute(name: &str, s: &str) -> Attribute {
    Attribute { name: name.to_string(), s: s.as_bytes().to_vec(), kind: kind::STRING, ..Attribute::default() }
}

pub(super) fn graph_attribute(name: &str, g: Graph) -> Attribute {
    Attribute { name: name.to_string(), g: Some(g), kind: kind::GRAPH, ..Attribute::default() }
}

/// The attribute `axis` alone.
pub(super) fn along(axis: i64) -> Vec<Attribute> {
    vec![int_attribute("axis", axis)]
}
