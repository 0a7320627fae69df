//! What rules recognise, as programs write it: random code hardly ever happens to be a softmax.

use super::Choices;
use super::generate::{ArrayVar, Generator};
use acc_core::data::ScalarType as T;
use std::fmt::Write;

impl Generator {
    /// Statements that a rule makes something simpler of, over a small matrix.
    pub(super) fn idiom(&mut self, text: &mut String) -> Vec<ArrayVar> {
        let ty = if self.mode.is_of_doubles() { T::F64 } else { *self.choices.pick(&[T::F32, T::F64]) };
        let t = ty.name();
        let (rows, columns) = (*self.choices.pick(&[1, 2, 3, 5]), *self.choices.pick(&[3, 4, 7]));
        // Sums of quarters are exact, whatever their order; sums of others have room for each executor's own.
        let (exact, unit) = if self.mode.is_exact() { (true, "0.25") } else { (false, "0.3") };
        let numbers = format!("mul(cast(add(rem(add(mul(%i, 5i64), mul(%j, 3i64)), 7i64), 1i64), {t}), {unit}{t})");
        let x = self.array_name();
        let _ = writeln!(
            text,
            "  {x}: [2]{t} = generate(shape: || ({rows}i64, {columns}i64), f: |%i: i64, %j: i64| {numbers})"
        );
        let sum = format!("f: |%a: {t}, %b: {t}| add(%a, %b), init: || 0.0{t}");
        let indexed = format!("f: |%i: i64, %j: i64, %x: {t}|");
        let [a, b, c, out] = std::array::from_fn(|_| self.array_name());
        let mut dims = vec![Some(rows), Some(columns)];
        let statements = match *self.choices.pick(if exact {
            &[0, 3, 4, 5, 7, 7, 8, 9, 10, 11, 12]
        } else {
            &[0, 1, 1, 2, 2, 3, 4, 5, 6, 7, 7, 8, 9, 10, 11, 12]
        }) {
            0 => format!("{out}: [2]{t} = map({x}, f: |%x: {t}| min(max(%x, 0.25{t}), 1.25{t}))\n"),
            1 => format!(
                "{a}: [1]{t} = fold1({x}, f: |%a: {t}, %b: {t}| max(%a, %b))\n  \
                 {b}: [2]{t} = imap({x}, {indexed} exp(sub(%x, {a}[%i])))\n  \
                 {c}: [1]{t} = fold({b}, {sum})\n  \
                 {out}: [2]{t} = imap({b}, {indexed} div(%x, {c}[%i]))\n"
            ),
            2 => {
                let mean = |of: &str| format!("map({of}, f: |%s: {t}| div(%s, cast(extent({x}, 1), {t})))");
                let [sums, squares, variance] = std::array::from_fn(|_| self.array_name());
                format!(
                    "{sums}: [1]{t} = fold({x}, {sum})\n  {a}: [1]{t} = {}\n  \
                     {b}: [2]{t} = imap({x}, {indexed} {{ %d: {t} = sub(%x, {a}[%i]) yield mul(%d, %d) }})\n  \
                     {squares}: [1]{t} = fold({b}, {sum})\n  {variance}: [1]{t} = {}\n  \
                     {out}: [2]{t} = imap({x}, {indexed} div(sub(%x, {a}[%i]), sqrt(add({variance}[%i], 0.5{t}))))\n",
                    mean(&sums),
                    mean(&squares)
                )
            }
            3 => {
                let others = *self.choices.pick(&[1, 2, 3]);
                dims = vec![Some(rows), Some(others)];
                format!(
                    "{a}: [2]{t} = generate(shape: || ({columns}i64, {others}i64), f: |%i: i64, %j: i64| {numbers})\n  \
                     {b}: [3]{t} = generate(shape: || ({rows}i64, {others}i64, {columns}i64), \
                     f: |%i: i64, %j: i64, %k: i64| mul({x}[%i, %k], {a}[%k, %j]))\n  \
                     {out}: [2]{t} = fold({b}, {sum})\n"
                )
            }
            4 => {
                let (members, bags) = (*self.choices.pick(&[1, 4, 9]), *self.choices.pick(&[1, 2, 3]));
                dims = vec![Some(columns), Some(bags)];
                format!(
                    "{a}: [1]i64 = generate(shape: || {members}i64, f: |%i: i64| rem(mul(%i, 3i64), {rows}i64))\n  \
                     {b}: [2]{t} = generate(shape: || ({columns}i64, {members}i64), \
                     f: |%i: i64, %j: i64| {x}[{a}[%j], %i])\n  \
                     {c}: [1]i64 = generate(shape: || {}i64, f: |%k: i64| quot(mul(%k, {members}i64), {bags}i64))\n  \
                     {out}: [2]{t} = fold_seg({b}, offsets: {c}, {sum})\n",
                    bags + 1
                )
            }
            6 => {
                let f = match self.choices.below(2) {
                    0 => format!("f: |%a: {t}, %b: {t}| ln(add(exp(%a), exp(%b)))"),
                    _ => format!("f: |%a: {t}, %b: {t}| sqrt(add(mul(%a, %a), mul(%b, %b)))"),
                };
                let init = format!(", init: || 0.5{t}");
                let scan = *self.choices.pick(&["scanl", "scanr", "fold"]);
                let (name, init) =
                    if self.choices.chance(50) { (format!("{scan}1"), "") } else { (scan.into(), &init[..]) };
                let rank = if scan == "fold" { 1 } else { 2 };
                dims = if rank == 1 { vec![Some(rows)] } else { vec![Some(rows), None] };
                format!("{out}: [{rank}]{t} = {name}({x}, {f}{init})\n")
            }
            7 => {
                let windows = Windows::of(&mut self.choices, columns);
                dims = vec![Some(windows.filters), Some(windows.places)];
                windows.text([&x, &a, &b, &c, &out], t, &sum, rows)
            }
            8 => {
                let (high, wide) = (rows.min(2), *self.choices.pick(&[2, 3]));
                dims = vec![Some(rows - high + 1), Some(columns - wide + 1)];
                let f = match self.choices.below(2) {
                    0 => format!("f: |%a: {t}, %b: {t}| max(%a, %b)"),
                    _ => format!("f: |%a: {t}, %b: {t}| add(%a, %b)"),
                };
                format!(
                    "{a}: [4]{t} = generate(shape: || ({}i64, {}i64, {high}i64, {wide}i64), \
                     f: |%i: i64, %j: i64, %k: i64, %l: i64| {x}[add(%i, %k), add(%j, %l)])\n  \
                     {b}: [3]{t} = fold1({a}, {f})\n  {out}: [2]{t} = fold1({b}, {f})\n",
                    rows - high + 1,
                    columns - wide + 1
                )
            }
            9 => {
                let (inner, others) = (*self.choices.pick(&[2, 3]), *self.choices.pick(&[1, 2, 3]));
                dims = vec![Some(rows), Some(others)];
                let [terms, sums] = std::array::from_fn(|_| self.array_name());
                format!(
                    "{a}: [2]{t} = generate(shape: || ({columns}i64, {inner}i64), f: |%i: i64, %j: i64| {numbers})\n  \
                     {b}: [2]{t} = generate(shape: || ({inner}i64, {others}i64), f: |%i: i64, %j: i64| {numbers})\n  \
                     {terms}: [4]{t} = generate(shape: || ({rows}i64, {others}i64, {columns}i64, {inner}i64), \
                     f: |%i: i64, %j: i64, %k: i64, %l: i64| mul(mul({x}[%i, %k], {a}[%k, %l]), {b}[%l, %j]))\n  \
                     {sums}: [3]{t} = fold({terms}, {sum})\n  {out}: [2]{t} = fold({sums}, {sum})\n"
                )
            }
            // A window in two passes: the second one reads rows around its own.
            10 => {
                let boundary = *self.choices.pick(&["clamp", "mirror"]);
                let f = format!("f: |%a: {t}, %b: {t}, %c: {t}| add(%a, sub(%b, %c))");
                let below = match *self.choices.pick(&[0, 1]) {
                    0 => format!("{b}[max(sub(%i, 2i64), 0i64), %j]"),
                    _ => format!("if lt(%i, {}i64) {{ yield {b}[add(%i, 1i64), %j] }} else {{ yield %x }}", rows - 1),
                };
                format!(
                    "{a}: [2]{t} = stencil({x}, window: [1, 3], boundary: {boundary}, {f})\n  \
                     {b}: [2]{t} = stencil({a}, window: [3, 1], boundary: clamp, {f})\n  \
                     {out}: [2]{t} = imap({b}, {indexed} sub(%x, {below}))\n"
                )
            }
            // The windows of neighbours, written out, with a number around the matrix.
            11 => {
                let mut text =
                    format!("{out}: [2]{t} = generate(shape: || ({rows}i64, {columns}i64), f: |%i: i64, %j: i64| {{\n");
                let mut all = format!("0.5{t}");
                for (k, (i, j)) in (-1..=1).flat_map(|i| (-1..=1).map(move |j| (i, j))).enumerate() {
                    let [i, j] = [format!("add(%i, {i}i64)"), format!("add(%j, {j}i64)")];
                    let within = |at: &str, axis: u8| format!("and(ge({at}, 0i64), lt({at}, extent({x}, {axis})))");
                    let inside = format!("and({}, {})", within(&i, 0), within(&j, 1));
                    let _ = writeln!(
                        text,
                        "    %v{k}: {t} = if {inside} {{ yield {x}[{i}, {j}] }} else {{ yield -0.5{t} }}"
                    );
                    all = if self.choices.chance(20) {
                        format!("sub(%v{k}, {all})")
                    } else {
                        format!("max({all}, %v{k})")
                    };
                }
                let _ = writeln!(text, "    yield {all}\n  }})");
                text
            }
            // A few elements at one end of each sorted row.
            12 => {
                let (few, long) = (*self.choices.pick(&[1, 2, 3]), *self.choices.pick(&[6, 17, 40]));
                dims = vec![Some(rows), Some(few)];
                let place = if self.choices.chance(50) { "%j".into() } else { format!("sub({}i64, %j)", long - 1) };
                format!(
                    "{a}: [2]{t} = generate(shape: || ({rows}i64, {long}i64), f: |%i: i64, %j: i64| {numbers})\n  \
                     {b}: [2]i64 = argsort({a})\n  \
                     {out}: [2]{t} = generate(shape: || ({rows}i64, {few}i64), f: |%i: i64, %j: i64| {a}[%i, {b}[%i, {place}]])\n"
                )
            }
            _ => format!(
                "{out}: [2]{t} = generate(shape: || (extent({x}, 0), {columns}i64), f: |%i: i64, %j: i64| \
                 if and(lt(%i, extent({x}, 0)), ge(%j, 0i64)) {{ yield {x}[%i, %j] }} else {{ yield 0.5{t} }})\n"
            ),
        };
        let _ = write!(text, "  {statements}");
        vec![ArrayVar { name: out, leaves: vec![ty], dims }]
    }
}

/// A convolution along the rows of a matrix, whose columns are channels.
struct Windows {
    filters: usize,
    places: usize,
    window: usize,
    stride: i64,
    /// Between neighbours in the window, which may run backwards.
    dilation: i64,
    /// The position of the first element of the first window.
    start: i64,
    guard: Guard,
}

/// What a program computes only where positions are inside.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Guard {
    Nothing,
    Reads,
    Products,
}

impl Windows {
    fn of(choices: &mut Choices, columns: usize) -> Windows {
        let (window, stride) = (*choices.pick(&[1, 2, 3]), *choices.pick(&[1, 1, 2]));
        let dilation: i64 = *choices.pick(&[1, 1, 2, -1]);
        let guards = [Guard::Nothing, Guard::Reads, Guard::Reads, Guard::Products];
        let (filters, guard) = (*choices.pick(&[1, 2]), *choices.pick(&guards));
        let reach = (window as i64 - 1) * dilation.abs();
        let fit = (columns as i64 - 1 - reach).div_euclid(stride) + 1;
        let (places, start) = match guard {
            Guard::Nothing => (fit.max(0) as usize, if dilation < 0 { reach } else { 0 }),
            Guard::Reads | Guard::Products => (*choices.pick(&[1, columns, columns + 2]), *choices.pick(&[-1, 0, 1])),
        };
        Windows { filters, places, window, stride, dilation, start, guard }
    }

    fn text(&self, [x, a, b, c, out]: [&str; 5], t: &str, sum: &str, channels: usize) -> String {
        let Windows { filters, places, window, stride, dilation, start, guard } = self;
        let at = format!("add(add(mul(%p, {stride}i64), mul(%w, {dilation}i64)), {start}i64)");
        let guarded = |of: &str| {
            format!("if and(ge({at}, 0i64), lt({at}, extent({x}, 1))) {{ yield {of} }} else {{ yield 0.0{t} }}")
        };
        let (read, weight_at) = (format!("{x}[%c, {at}]"), format!("{a}[%f, %c, %w]"));
        let term = match guard {
            Guard::Nothing => format!("mul({read}, {weight_at})"),
            Guard::Reads => format!("{{ %v: {t} = {} yield mul(%v, {weight_at}) }}", guarded(&read)),
            Guard::Products => guarded(&format!("mul({read}, {weight_at})")),
        };
        let weight =
            format!("mul(cast(sub(rem(add(mul(%f, 3i64), add(%c, mul(%w, 2i64))), 5i64), 2i64), {t}), 0.5{t})");
        format!(
            "{a}: [3]{t} = generate(shape: || ({filters}i64, {channels}i64, {window}i64), \
             f: |%f: i64, %c: i64, %w: i64| {weight})\n  \
             {b}: [4]{t} = generate(shape: || ({filters}i64, {places}i64, {channels}i64, {window}i64), \
             f: |%f: i64, %p: i64, %c: i64, %w: i64| {term})\n  \
             {c}: [3]{t} = fold({b}, {sum})\n  {out}: [2]{t} = fold({c}, {sum})\n"
        )
    }
}
