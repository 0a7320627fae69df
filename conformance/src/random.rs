//! Random well-typed programs, as text.
//!
//! Only operations whose results are exact are generated, so that every executor must give the same bits: integers,
//! booleans, and floats without reassociation. Divisions and reads may fault, mostly inside branches; loops end.

use std::fmt::Write;

/// A test program with one run that expects executors to agree; the same seed gives the same program.
pub fn program(seed: u64) -> String {
    let mut g = Generator { state: seed, names: 0, depth: 0 };
    let mut arrays: Vec<(String, Kind)> =
        vec![("xs".into(), Kind::Int), ("ys".into(), Kind::Float), ("bs".into(), Kind::Bool)];
    let mut text = String::from("program(xs: [1]i64, ys: [1]f64, bs: [1]bool, k: [0]i64) {\n");
    let count = 2 + g.below(5);
    for n in 0..count {
        let (stmt, kind) = g.statement(&format!("r{n}"), &arrays);
        let _ = writeln!(text, "  {stmt}");
        arrays.push((format!("r{n}"), kind));
    }
    let results: Vec<&str> = arrays.iter().skip(3).map(|(name, _)| name.as_str()).collect();
    let _ = writeln!(text, "  yield {}\n}}", results.join(", "));
    let n = [0, 1, 2, 3, 7, 33, 130][g.below(7) as usize];
    let _ = writeln!(
        text,
        "run \"seed {seed}\" {{\n  xs = [{n}] i64 lcg({seed}, -9, 10)\n  ys = [{n}] f64 lcg({seed}, -4, 5)\n  \
         bs = [{n}] bool lcg({seed}, 0, 2)\n  k = [] i64 {{ {} }}\n  expect agree\n}}",
        g.below(5)
    );
    text
}

/// The type of an array's elements.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Int,
    Float,
    Bool,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Int => "i64",
            Kind::Float => "f64",
            Kind::Bool => "bool",
        }
    }
}

/// Scalars that are visible: their names and types.
type Scope = Vec<(String, Kind)>;

struct Generator {
    state: u64,
    names: u32,
    /// How deep the expression in the making nests.
    depth: u32,
}

impl Generator {
    /// A number below `n` (splitmix64).
    fn below(&mut self, n: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }

    fn fresh(&mut self) -> String {
        self.names += 1;
        format!("%v{}", self.names)
    }

    fn kind(&mut self) -> Kind {
        *self.pick(&[Kind::Int, Kind::Int, Kind::Float, Kind::Bool])
    }

    /// One statement that defines an array of rank 1, as long as the arrays before it or about as long.
    fn statement(&mut self, name: &str, arrays: &[(String, Kind)]) -> (String, Kind) {
        let (a, ka) = self.pick(arrays).clone();
        let (b, kb) = self.pick(arrays).clone();
        let out = self.kind();
        let (x, y, i) = (self.fresh(), self.fresh(), self.fresh());
        let (tx, ty, to) = (ka.name(), kb.name(), out.name());
        let int = |n: &str| (n.to_string(), Kind::Int);
        match self.below(9) {
            0 => {
                let f = self.function(&[(x.clone(), ka)], out, arrays);
                (format!("{name}: [1]{to} = map({a}, f: |{x}: {tx}| {f})"), out)
            }
            1 => {
                let f = self.function(&[int(&i), (x.clone(), ka), (y.clone(), kb)], out, arrays);
                (format!("{name}: [1]{to} = izip_with({a}, {b}, f: |{i}: i64, {x}: {tx}, {y}: {ty}| {f})"), out)
            }
            2 => {
                let f = self.function(&[int(&i)], out, arrays);
                (format!("{name}: [1]{to} = generate(shape: || extent({a}, 0), f: |{i}: i64| {f})"), out)
            }
            3 | 4 => {
                // Associative and exact.
                let f = match ka {
                    Kind::Int => *self.pick(&["add", "mul", "min", "max", "xor"]),
                    Kind::Float => "max",
                    Kind::Bool => *self.pick(&["and", "or", "xor"]),
                };
                let op = *self.pick(&["scanl1", "scanr1"]);
                (format!("{name}: [1]{tx} = {op}({a}, f: |{x}: {tx}, {y}: {tx}| {f}({x}, {y}))"), ka)
            }
            5 => {
                let from = self.expression(Kind::Int, &vec![int(&i)], arrays);
                let shape = format!("min(extent({b}, 0), extent({a}, 0))");
                let index = format!("mod_floor({from}, max(1i64, extent({a}, 0)))");
                (format!("{name}: [1]{tx} = backpermute({a}, shape: || {shape}, index: |{i}: i64| {index})"), ka)
            }
            6 => {
                let f = match ka {
                    Kind::Int => "add",
                    Kind::Float => "min",
                    Kind::Bool => "or",
                };
                let keep = self.expression(Kind::Bool, &vec![int(&i)], arrays);
                let to = self.expression(Kind::Int, &vec![int(&i)], arrays);
                (
                    format!(
                        "{name}: [1]{tx} = permute({a}, into: {a}, combine: |{x}: {tx}, {y}: {tx}| {f}({x}, {y}),\n    \
                         target: |{i}: i64| (cast({keep}, u8), mod_floor({to}, extent({a}, 0))))"
                    ),
                    ka,
                )
            }
            7 => {
                let z = self.fresh();
                let f = self.function(&[(x.clone(), ka), (y.clone(), ka), (z.clone(), ka)], out, arrays);
                let edge = *self.pick(&["clamp", "clamp", "mirror", "wrap"]);
                (
                    format!(
                        "{name}: [1]{to} = stencil({a}, window: [3], boundary: {edge}, f: |{x}: {tx}, {y}: {tx}, {z}: {tx}| {f})"
                    ),
                    out,
                )
            }
            _ => {
                let cond = self.expression(Kind::Bool, &Vec::new(), arrays);
                let f = self.function(&[(x.clone(), ka)], out, arrays);
                let g = self.function(&[(y.clone(), kb)], out, arrays);
                (
                    format!(
                        "{name}: [1]{to} = acond(cond: || {cond}, then: {{\n    t: [1]{to} = map({a}, f: |{x}: {tx}| {f})\n    yield t\n  }}, \
                         else: {{\n    e: [1]{to} = map({b}, f: |{y}: {ty}| {g})\n    yield e\n  }})"
                    ),
                    out,
                )
            }
        }
    }

    /// A function's body, `{ ... }`.
    fn function(&mut self, params: &[(String, Kind)], out: Kind, arrays: &[(String, Kind)]) -> String {
        format!("{{ yield {} }}", self.expression(out, &params.to_vec(), arrays))
    }

    fn expression(&mut self, kind: Kind, scope: &Scope, arrays: &[(String, Kind)]) -> String {
        self.depth += 1;
        let e = if self.depth > 4 { self.leaf(kind, scope) } else { self.node(kind, scope, arrays) };
        self.depth -= 1;
        e
    }

    fn leaf(&mut self, kind: Kind, scope: &Scope) -> String {
        let fitting: Vec<&String> = scope.iter().filter(|(_, k)| *k == kind).map(|(n, _)| n).collect();
        if !fitting.is_empty() && self.below(4) > 0 {
            return self.pick(&fitting).to_string();
        }
        match kind {
            Kind::Int if self.below(3) == 0 => "k[]".into(),
            Kind::Int => format!("{}i64", self.below(9) as i64 - 3),
            Kind::Float => format!("{:?}f64", self.below(17) as f64 / 4.0 - 2.0),
            Kind::Bool => (*self.pick(&["true", "false"])).into(),
        }
    }

    fn node(&mut self, kind: Kind, scope: &Scope, arrays: &[(String, Kind)]) -> String {
        macro_rules! sub {
            ($k:expr) => {
                self.expression($k, scope, arrays)
            };
        }
        match self.below(12) {
            0 | 1 => self.leaf(kind, scope),
            2 | 3 => {
                let cond = sub!(Kind::Bool);
                let (t, e) = (sub!(kind), sub!(kind));
                format!("if {cond} {{ yield {t} }} else {{ yield {e} }}")
            }
            4 => format!("select({}, {}, {})", sub!(Kind::Bool), self.leaf(kind, scope), self.leaf(kind, scope)),
            5 => {
                let fitting: Vec<&String> = arrays.iter().filter(|(_, k)| *k == kind).map(|(n, _)| n).collect();
                if fitting.is_empty() {
                    return self.leaf(kind, scope);
                }
                let array = self.pick(&fitting).to_string();
                let index = sub!(Kind::Int);
                let other = self.leaf(kind, scope);
                // Mostly guarded, on both sides.
                if self.below(10) == 0 {
                    return format!("{array}[{index}]");
                }
                let j = self.fresh();
                format!(
                    "if true {{ {j}: i64 = add({index}, 0i64) yield if ge({j}, 0i64) {{ yield if lt({j}, extent({array}, 0)) {{ yield {array}[{j}] }} \
                     else {{ yield {other} }} }} else {{ yield {other} }} }} else {{ yield {other} }}"
                )
            }
            6 => {
                // A loop of a few steps.
                let (i, s) = (self.fresh(), self.fresh());
                let (start, count) = (sub!(kind), self.below(5));
                let mut inner = scope.clone();
                inner.extend([(i.clone(), Kind::Int), (s.clone(), kind)]);
                let step = self.expression(kind, &inner, arrays);
                let limit = if self.below(2) == 0 { format!("{count}i64") } else { "k[]".into() };
                let (r, t) = (self.fresh(), kind.name());
                format!(
                    "if true {{ {r}a: i64, {r}: {t} = while (0i64, {start}) test |{i}: i64, {s}: {t}| {{ yield lt({i}, {limit}) }} \
                     step |{i}: i64, {s}: {t}| {{ yield add({i}, 1i64), {step} }} yield {r} }} else {{ yield {start} }}"
                )
            }
            _ => match kind {
                Kind::Int => match self.below(8) {
                    0 => format!("cast({}, i64)", sub!(Kind::Float)),
                    1 => format!("cast({}, i64)", sub!(Kind::Bool)),
                    2 => {
                        // A division that a test guards, or does not.
                        let (op, x, y, d) = (
                            *self.pick(&["quot", "rem", "div_floor", "mod_floor"]),
                            sub!(Kind::Int),
                            sub!(Kind::Int),
                            self.fresh(),
                        );
                        if self.below(10) == 0 {
                            return format!("{op}({x}, {y})");
                        }
                        format!(
                            "if true {{ {d}: i64 = add({y}, 0i64) yield if ne({d}, 0i64) {{ yield {op}({x}, {d}) }} else {{ yield 0i64 }} }} else {{ yield 1i64 }}"
                        )
                    }
                    3 => format!("{}({})", self.pick(&["neg", "abs", "signum", "not"]), sub!(Kind::Int)),
                    _ => {
                        let op = *self.pick(&["add", "sub", "mul", "min", "max", "and", "or", "xor", "shl", "shr"]);
                        format!("{op}({}, {})", sub!(Kind::Int), sub!(Kind::Int))
                    }
                },
                Kind::Float => match self.below(5) {
                    0 => format!("cast({}, f64)", sub!(Kind::Int)),
                    1 => format!(
                        "{}({})",
                        self.pick(&["neg", "abs", "floor", "ceil", "round", "trunc", "sqrt"]),
                        sub!(Kind::Float)
                    ),
                    _ => {
                        let op = *self.pick(&["add", "sub", "mul", "div"]);
                        format!("{op}({}, {})", sub!(Kind::Float), sub!(Kind::Float))
                    }
                },
                Kind::Bool => match self.below(4) {
                    0 => format!("not({})", sub!(Kind::Bool)),
                    1 => format!("{}({}, {})", self.pick(&["and", "or", "xor"]), sub!(Kind::Bool), sub!(Kind::Bool)),
                    _ => {
                        let k = if self.below(3) == 0 { Kind::Float } else { Kind::Int };
                        let op = *self.pick(&["eq", "ne", "lt", "le", "gt", "ge"]);
                        format!("{op}({}, {})", sub!(k), sub!(k))
                    }
                },
            },
        }
    }
}
