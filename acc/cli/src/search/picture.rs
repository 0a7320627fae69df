//! Expected against measured times, as SVG.

use backend_native::search::SearchReport;
use std::fmt::Write as _;

const SIZE: f64 = 520.0;
const MARGIN: f64 = 64.0;

/// A dot for each nest that was measured, on logarithmic axes; on the line what is expected is measured.
pub fn svg(report: &SearchReport) -> String {
    let dots: Vec<(f64, f64, String)> = report
        .nests
        .iter()
        .filter_map(|found| {
            let median = found.measured.as_ref()?.median;
            Some((found.predicted.max(1.0).log10(), median.max(1.0).log10(), found.schedule.to_string()))
        })
        .collect();
    let all = || dots.iter().flat_map(|(x, y, _)| [*x, *y]).chain([report.default.median.max(1.0).log10()]);
    let least = all().fold(f64::INFINITY, f64::min).floor();
    let greatest = all().fold(least + 1.0, f64::max).ceil();
    let across = |x: f64| MARGIN + (SIZE - 2.0 * MARGIN) * (x - least) / (greatest - least);
    let up = |y: f64| SIZE - across(y);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {SIZE} {SIZE}\" width=\"{SIZE}\" height=\"{SIZE}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{SIZE}\" height=\"{SIZE}\" fill=\"white\"/>\n"
    );
    let mut line = |[x0, y0, x1, y1]: [f64; 4], colour: &str| {
        let _ =
            writeln!(out, "<line x1=\"{x0:.1}\" y1=\"{y0:.1}\" x2=\"{x1:.1}\" y2=\"{y1:.1}\" stroke=\"{colour}\"/>");
    };
    let (low, high) = (across(least), across(greatest));
    let decades = (greatest - least).round() as i32;
    for k in 0..=decades {
        let at = least + f64::from(k);
        line([across(at), up(least), across(at), up(greatest)], "#ddd");
        line([low, up(at), high, up(at)], "#ddd");
    }
    line([low, up(least), high, up(greatest)], "#888");
    let own = up(report.default.median.max(1.0).log10());
    line([low, own, high, own], "#2a7");
    let mut text = |[x, y]: [f64; 2], anchor: &str, words: &str| {
        let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>");
    };
    for k in 0..=decades {
        let at = least + f64::from(k);
        let label = format!("{} ms", 10f64.powf(at - 6.0));
        text([across(at), up(least) + 18.0], "middle", &label);
        text([low - 6.0, up(at) + 4.0], "end", &label);
    }
    text([SIZE / 2.0, SIZE - 16.0], "middle", "expected");
    text([low, MARGIN - 22.0], "start", "measured; the green line is the program as it is");
    for (x, y, loops) in &dots {
        let _ = writeln!(
            out,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\" fill=\"#36c\" fill-opacity=\"0.7\"><title>{loops}</title></circle>",
            across(*x),
            up(*y)
        );
    }
    out + "</svg>\n"
}
