//! The components of the language, its derivatives and its edge cases: what the matrix has rows for.

/// A component of Accelerate, or a part of derivatives.
#[derive(Clone, Copy, Debug)]
pub struct Component {
    /// Its id, as in `FLD-01`.
    pub id: &'static str,
    /// Its name: of components that in Accelerate.
    pub name: &'static str,
    /// How the thesis reports on it.
    pub thesis: Thesis,
    /// Its form in Rust, as a user writes it.
    pub rust: &'static str,
    /// In what it differs.
    pub note: &'static str,
    /// What to use instead, if it has no form in Rust.
    pub instead: Option<&'static str>,
}

/// What the thesis says of a component.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Thesis {
    /// Its tests passed.
    Passed,
    /// One of its tests failed.
    Failed,
    /// It is listed as untested.
    Untested,
    /// The thesis does not mention it.
    Absent,
    /// A type, a class or a host function: the question does not arise.
    NoQuestion,
}

impl std::fmt::Display for Thesis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Thesis::Passed => "passed",
            Thesis::Failed => "FAILED",
            Thesis::Untested => "untested",
            Thesis::Absent => "absent",
            Thesis::NoQuestion => "-",
        })
    }
}

/// The letters that the ids of a category's components begin with, and what the category is.
pub const CATEGORIES: [(&str, &str); 45] = [
    ("TYP", "types of the array language"),
    ("IDX", "element access and shape information"),
    ("CON", "construction"),
    ("CMP", "flow control and execution control"),
    ("ELW", "element-wise operations"),
    ("MOD", "shapes, replication and sub-arrays"),
    ("PRM", "permutations"),
    ("FLT", "filters"),
    ("FLD", "folds"),
    ("SEG", "segmented folds"),
    ("RED", "specialised reductions"),
    ("SCN", "scans"),
    ("SSC", "segmented scans"),
    ("STN", "stencils"),
    ("EQO", "Eq and Ord"),
    ("ENB", "Enum and Bounded"),
    ("NUM", "Num"),
    ("INT", "Integral"),
    ("FRC", "Rational and Fractional"),
    ("FLO", "Floating"),
    ("RFR", "RealFrac"),
    ("RFL", "RealFloat"),
    ("CNV", "numeric conversions"),
    ("LFT", "lifting and unlifting"),
    ("PAT", "pattern synonyms"),
    ("SCA", "constants and tuples"),
    ("FLW", "scalar flow control"),
    ("LOG", "logical operations"),
    ("NOP", "numeric operations"),
    ("SHP", "index and shape manipulation"),
    ("CVT", "conversions of characters, booleans and bits"),
    ("FFI", "foreign functions"),
    ("PLN", "host arrays"),
    ("REX", "names of scalar types and re-exports"),
    ("BIT", "bits"),
    ("CPX", "complex numbers"),
    ("EIT", "Either"),
    ("MAY", "Maybe"),
    ("FUN", "functors"),
    ("FOL", "composable folds"),
    ("MON", "monoids and semigroups"),
    ("RAT", "ratios"),
    ("UNS", "unsafe operations"),
    ("RUN", "running"),
    ("N14", "additions of Accelerate 1.4"),
];

/// The same of derivatives, which Accelerate has not.
pub const DERIVATIVES: [(&str, &str); 6] = [
    ("AD-J", "forward derivatives"),
    ("AD-V", "reverse derivatives"),
    ("AD-H", "second derivatives"),
    ("AD-S", "derivatives of scalar code"),
    ("AD-P", "derivatives of primitives"),
    ("AD-F", "functions of derivatives"),
];

/// All categories, in the order of the matrix.
pub fn categories() -> impl Iterator<Item = (&'static str, &'static str)> {
    CATEGORIES.into_iter().chain(DERIVATIVES)
}

const COMPONENTS: &str = include_str!("../components.tsv");
const OF_DERIVATIVES: &str = include_str!("../derivatives.tsv");
const WITHOUT_FORM: &str = include_str!("../without_form.tsv");
const EDGE_CASES: &str = include_str!("../edge_cases.tsv");

fn rows(table: &'static str) -> impl Iterator<Item = std::str::Split<'static, char>> {
    table.lines().filter(|l| !l.starts_with('#')).map(|l| l.split('\t'))
}

/// The components, in the order of the reference, and the rows of derivatives.
pub fn components() -> Vec<Component> {
    let instead: std::collections::BTreeMap<&str, &str> =
        rows(WITHOUT_FORM).filter_map(|mut cells| Some((cells.next()?, cells.next()?))).collect();
    rows(COMPONENTS)
        .chain(rows(OF_DERIVATIVES))
        .filter_map(|mut cells| {
            let (id, name) = (cells.next()?, cells.next()?);
            let thesis = match cells.next()? {
                "passed" => Thesis::Passed,
                "failed" => Thesis::Failed,
                "untested" => Thesis::Untested,
                "absent" => Thesis::Absent,
                _ => Thesis::NoQuestion,
            };
            let (rust, note) = (cells.next().unwrap_or(""), cells.next().unwrap_or(""));
            Some(Component { id, name, thesis, rust, note, instead: instead.get(id).copied() })
        })
        .collect()
}

/// What an executor owes an edge case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owed {
    /// A given result, an error, or a result within a bound.
    Stated,
    /// What `docs/SEMANTICS.md` decides.
    Decided,
    /// Nothing that can be tested.
    Free,
}

/// The edge cases: ids, and what is owed.
pub fn edge_cases() -> Vec<(&'static str, Owed)> {
    rows(EDGE_CASES)
        .filter_map(|mut cells| {
            let id = cells.next()?;
            let owed = match cells.next()? {
                "decided" => Owed::Decided,
                "free" => Owed::Free,
                _ => Owed::Stated,
            };
            Some((id, owed))
        })
        .collect()
}

/// For those who come from Accelerate: the table of names, as `docs/ACCELERATE.md` has it.
pub fn to_markdown() -> String {
    let mut out = String::from(
        "# Coming from Accelerate\n\n\
         <!-- Made by `acc list --accelerate` from conformance/components.tsv; a test compares. -->\n\n\
         What each name of Accelerate 1.3, and those that 1.4 adds, is here. `xs`, `ys` are array programs, `x`, `y` scalars.\n",
    );
    // A bar would end the cell.
    let cell = |text: &str| text.replace('|', "\\|");
    for (letters, category) in CATEGORIES {
        let title = category[..1].to_uppercase() + &category[1..];
        out += &format!("\n## {title}\n\n| | Accelerate | here | |\n|---|---|---|---|\n");
        for c in components().iter().filter(|c| c.id.starts_with(letters)) {
            let names: Vec<String> = c.name.split(' ').map(|n| format!("`{}`", cell(n))).collect();
            let (rust, note) = match c.instead {
                Some(instead) => (String::from("no form"), instead),
                None => (cell(c.rust), c.note),
            };
            out += &format!("| {} | {} | {rust} | {} |\n", c.id, names.join(" "), cell(note));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_tables_are_whole() {
        let all = components();
        assert_eq!(all.len(), 462 + 141);
        assert_eq!(all.iter().filter(|c| c.thesis != Thesis::NoQuestion).count(), 372);
        let count = |t| all.iter().filter(|c| c.thesis == t).count();
        assert_eq!([Thesis::Passed, Thesis::Failed, Thesis::Untested, Thesis::Absent].map(count), [132, 53, 34, 153]);
        let ids: BTreeSet<&str> = all.iter().map(|c| c.id).collect();
        assert_eq!(ids.len(), all.len(), "every id once");
        assert!(all.iter().all(|c| categories().any(|(letters, _)| c.id.starts_with(letters))));
        assert_eq!(edge_cases().len(), 302 + 15 + 26);
    }

    #[test]
    fn every_operation_and_every_primitive_has_its_rows_of_derivatives() {
        let names = |letters: &'static str| -> Vec<&'static str> {
            components().iter().filter(|c| c.id.starts_with(letters)).map(|c| c.name).collect()
        };
        // Of names for one operation the table has the first; a trace is a foreign function, and a derivative of a
        // derivative a second one.
        let others = ["zip_with", "imap", "izip_with", "fold1", "fold1_seg", "trace", "jvp", "vjp"];
        let scans = ["scanl1", "scanr", "scanr1"];
        let all = acc_core::ir::ArrayOp::NAMES.iter().filter(|n| !others.contains(n) && !scans.contains(n));
        let all: Vec<&str> = all.map(|name| if *name == "scanl" { "scan" } else { name }).collect();
        for letters in ["AD-J", "AD-V", "AD-H"] {
            assert_eq!(names(letters), all, "{letters}");
        }
        let primitives: Vec<&str> = acc_core::ir::PrimOp::ALL.iter().map(|op| op.name()).collect();
        assert_eq!(names("AD-P"), primitives);
    }

    #[test]
    fn few_components_have_no_form_and_each_of_these_says_what_serves() {
        let all = components();
        let without: Vec<&Component> = all.iter().filter(|c| c.instead.is_some()).collect();
        assert_eq!(without.len(), rows(WITHOUT_FORM).count(), "without_form.tsv names components");
        assert!(without.iter().all(|c| c.instead.is_some_and(|i| !i.is_empty())));
        let operations = without.iter().filter(|c| c.thesis != Thesis::NoQuestion).count();
        assert!(operations <= 15, "{operations} of 372 operations without a form");
    }
}
