//! Timelines in the trace event format of Chrome.

use super::Timeline;
use std::fmt::Write;

/// The key in `otherData` of when a recording began, in nanoseconds since 1970.
pub const BEGAN: &str = "began";

/// The key in `otherData` of how many spans were dropped.
pub const SPANS_LOST: &str = "spans lost";

impl Timeline {
    /// The timeline as JSON in the trace event format of Chrome: complete events, with times in microseconds.
    ///
    /// <https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU>
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// use acc_core::timeline;
    /// let recording = timeline::record();
    /// timeline::pass("lower", || ());
    /// assert!(recording.stop().to_chrome().contains("lower"));
    /// ```
    pub fn to_chrome(&self) -> String {
        let mut out = String::from("{\"displayTimeUnit\":\"ns\",");
        // Writing to a string cannot fail, so the results of `write!` say nothing.
        let _ = write!(
            out,
            "\"otherData\":{{\"{BEGAN}\":\"{}\",\"{SPANS_LOST}\":\"{}\"}},\"traceEvents\":[",
            self.began.as_nanos(),
            self.lost
        );
        let mut first = true;
        let mut event = |out: &mut String, text: std::fmt::Arguments<'_>| {
            let _ = write!(out, "{}\n{text}", if std::mem::take(&mut first) { "" } else { "," });
        };
        for (thread, name) in &self.threads {
            let name = json_text(name);
            event(
                &mut out,
                format_args!(
                    "{{\"ph\":\"M\",\"pid\":1,\"tid\":{thread},\"name\":\"thread_name\",\"args\":{{\"name\":{name}}}}}"
                ),
            );
        }
        for s in &self.spans {
            let notes: Vec<String> =
                s.notes.iter().map(|(key, value)| format!("{}:{}", json_text(key), json_text(value))).collect();
            event(
                &mut out,
                format_args!(
                    "{{\"ph\":\"X\",\"pid\":1,\"tid\":{},\"cat\":\"{}\",\"name\":{},\"ts\":{},\"dur\":{},\"args\":{{{}}}}}",
                    s.thread,
                    s.kind.name(),
                    json_text(&s.name),
                    Micros(s.start),
                    Micros(s.duration),
                    notes.join(",")
                ),
            );
        }
        out.push_str("\n]}\n");
        out
    }
}

/// Nanoseconds as microseconds.
struct Micros(u64);

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// A text as JSON has it (RFC 8259, section 7).
fn json_text(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if u32::from(c) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
