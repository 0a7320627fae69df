//! Pieces of a page: escaping, places in sources, tables.

use acc_core::ir::Loc;
use std::fs;
use std::sync::Arc;

/// A text inside of HTML, also in an attribute.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// A text as JSON inside of a script, where `</` would end it.
pub fn script_json(json: &serde_json::Value) -> String {
    json.to_string().replace("</", "<\\/").replace("<!--", "<\\u0021--")
}

/// A text with values at the places `{{name}}`.
pub fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut parts = template.split("{{");
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (name, rest) = part.split_once("}}").unwrap_or((part, ""));
        out.extend(values.iter().find(|(n, _)| *n == name).map(|(_, value)| *value));
        out += rest;
    }
    out
}

/// A location without the folders of its file.
pub fn short(loc: &Loc) -> String {
    let text = loc.to_string();
    text.rsplit(['/', '\\']).next().unwrap_or_default().to_string()
}

/// A position in one of a page's files, if it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Place(Option<(usize, u32, u32)>);

impl Place {
    /// The attribute of what comes from there.
    pub fn attribute(self) -> String {
        self.0.map_or(String::new(), |(file, line, column)| format!(" data-at=\"{file}:{line}:{column}\""))
    }
}

/// The files that locations name, with their lines where they can be read.
pub struct Files {
    names: Vec<String>,
    lines: Vec<Vec<String>>,
    /// Files and lines that a run stopped at.
    marked: Vec<(usize, u32)>,
}

/// Files up to this length are shown.
const MAX_SOURCE_BYTES: u64 = 1 << 20;

impl Files {
    /// With the program's own file as the first.
    pub fn new(name: &str, text: &str) -> Files {
        Files {
            names: vec![name.to_string()],
            lines: vec![text.lines().map(str::to_string).collect()],
            marked: Vec::new(),
        }
    }

    /// Marks the line of a location, in all that is written from now on.
    pub fn mark(&mut self, loc: &Loc) {
        if let Place(Some((file, line, _))) = self.place(loc) {
            self.marked.push((file, line));
        }
    }

    /// The place of a location.
    pub fn place(&mut self, loc: &Loc) -> Place {
        let Some(name) = loc.file() else { return Place(None) };
        let file = match self.names.iter().position(|n| n == name) {
            Some(file) => file,
            None => {
                // A file of Rust, named from where it was compiled, may be elsewhere now: then its lines are not shown.
                let is_small = fs::metadata(name).is_ok_and(|m| m.is_file() && m.len() <= MAX_SOURCE_BYTES);
                let text = if is_small { fs::read_to_string(name).unwrap_or_default() } else { String::new() };
                self.names.push(name.to_string());
                self.lines.push(text.lines().map(str::to_string).collect());
                self.names.len() - 1
            }
        };
        Place(Some((file, loc.line(), loc.col())))
    }

    /// Names and lines, for the page's script.
    pub fn json(&self) -> serde_json::Value {
        self.names
            .iter()
            .zip(&self.lines)
            .map(|(name, lines)| serde_json::json!({ "name": name, "lines": lines }))
            .collect()
    }

    /// The classes and the place of a line that comes from there.
    fn line(&self, place: Place) -> String {
        let marked = place.0.is_some_and(|(file, line, _)| self.marked.contains(&(file, line)));
        format!("class=\"line{}\"{}", if marked { " fault" } else { "" }, place.attribute())
    }

    /// The line of a location with its number, and below it a caret at the column; nothing where it cannot be read.
    pub fn excerpt(&mut self, loc: &Loc) -> String {
        let place = self.place(loc);
        let Place(Some((file, line, column))) = place else { return String::new() };
        let text = self.lines.get(file).and_then(|lines| lines.get((line as usize).checked_sub(1)?));
        let Some(text) = text else { return String::new() };
        let number = format!("{line}  ");
        let before = number.chars().count() + (column as usize).saturating_sub(1);
        format!(
            "<pre class=\"listing\"><span {} tabindex=\"0\">{number}{}\n</span><span class=\"line\">{}^\n</span></pre>",
            self.line(place),
            escape(text),
            " ".repeat(before)
        )
    }

    /// A text in which each line may end in a location, as an element whose lines have their places.
    pub fn listing(&mut self, text: &str) -> String {
        let mut out = String::from("<pre class=\"listing\">");
        for line in text.lines() {
            let (shown, rest, loc) = located(line);
            let place = self.place(&loc);
            let focus = if place == Place(None) { "" } else { " tabindex=\"0\"" };
            let rest = match rest.split_once(" at ") {
                Some((what, _)) => format!("<i>{}</i>", escape(&format!("{what} at {}", short(&loc)))),
                None => String::new(),
            };
            out += &format!("<span {}{focus}>{}{rest}\n</span>", self.line(place), escape(shown));
        }
        out + "</pre>"
    }

    /// The program's own text.
    pub fn program(&self) -> String {
        let mut out = String::from("<pre class=\"listing numbered\">");
        for (k, line) in self.lines.first().into_iter().flatten().enumerate() {
            let line_of = self.line(Place(Some((0, k as u32 + 1, 1))));
            out += &format!("<span {line_of} tabindex=\"0\">{}\n</span>", escape(line));
        }
        out + "</pre>"
    }
}

/// A line of a listing, what of it is about the location, and the location: of programs `.. @"file":3:4`, of graphs
/// `..  // map at file:3:4`.
fn located(line: &str) -> (&str, &str, Loc) {
    let unknown = (line, "", Loc::unknown());
    if let Some((shown, loc)) = line.rsplit_once(" @\"") {
        let end = loc.trim_end_matches(['{', '(', ' ', '}', ')', ',']);
        return match position(&end.replacen("\":", ":", 1)) {
            Some(found) => (shown, "", found),
            None => unknown,
        };
    }
    match line.rsplit_once("  // ").and_then(|(shown, rest)| Some((shown, rest, position(rest.split_once(" at ")?.1)?)))
    {
        Some((shown, _, loc)) => (shown, &line[shown.len()..], loc),
        None => unknown,
    }
}

/// `file:3:4`.
fn position(text: &str) -> Option<Loc> {
    let mut parts = text.rsplitn(3, ':');
    let (column, line) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some(Loc::new(Arc::from(parts.next()?), line, column))
}

/// A table with these headings; cells are HTML.
pub fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let cells = |tag: &str, cells: &mut dyn Iterator<Item = String>| -> String {
        cells.map(|c| format!("<{tag}>{c}</{tag}>")).collect()
    };
    let head = cells("th", &mut headings.iter().map(|h| escape(h)));
    let rows: String = rows.iter().map(|r| format!("<tr>{}</tr>", cells("td", &mut r.iter().cloned()))).collect();
    format!("<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_in_locations() {
        let (shown, rest, loc) = located("  a1: [1]i64 = map(a0) @\"x y.acc\":3:14");
        assert_eq!(
            (shown, rest, loc.file(), loc.line(), loc.col()),
            ("  a1: [1]i64 = map(a0)", "", Some("x y.acc"), 3, 14)
        );
        let (shown, rest, loc) = located("  t1: size = size() [value = 1]  // map at p.acc:4:5");
        assert_eq!((shown, rest), ("  t1: size = size() [value = 1]", "  // map at p.acc:4:5"));
        assert_eq!((loc.file(), loc.line()), (Some("p.acc"), 4));
        assert!(!located("  yield t1").2.is_known());
    }

    #[test]
    fn what_is_filled_in_is_not_filled_in_again() {
        assert_eq!(fill("a {{x}} {{y}}.", &[("x", "{{y}}"), ("y", "2")]), "a {{y}} 2.");
    }

    #[test]
    fn scripts_are_not_ended_by_data() {
        let json = serde_json::json!("</script><!--");
        assert!(!script_json(&json).contains("</") && !script_json(&json).contains("<!--"));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&script_json(&json)).expect("JSON"), json);
    }
}
