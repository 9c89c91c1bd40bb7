//! A report as an HTML page: a single file without scripts, fonts or links, with a light and a dark palette.

use std::fmt::Write;

use crate::chart::{bars, boxes, escape};
use crate::report::{Known, Report, Section};

/// Both palettes have a contrast of 4.5 or more for text, and of 3 or more for bars.
const STYLE: &str = "\
:root { color-scheme: light dark; --ink: #1b1f24; --quiet: #57606a; --paper: #ffffff; --line: #d0d7de;
  --bar: #2f6fb3; --box: #9cc2e8; --mark: #7a1f1f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --quiet: #a3adb8; --paper: #14181d;
  --line: #3a424b; --bar: #5a9fe0; --box: #2f5c8a; --mark: #ffb4a2; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
  max-width: 760px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; }
/* What is wider than the window is scrolled by itself. */
.wide { overflow-x: auto; margin: .5em 0; }
svg { width: 100%; min-width: 34em; height: auto; display: block; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .9em; }
th, td { text-align: right; padding: .2em .5em; border-bottom: 1px solid var(--line); }
td { white-space: nowrap; }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; white-space: normal;
  min-width: 9em; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1em; } dt { color: var(--quiet); }
dd { margin: 0; } .warning { border-left: 4px solid var(--mark); padding-left: 1em; }
text { font: 12px system-ui, sans-serif; fill: var(--ink); }
.name { text-anchor: end; } .tick, .unit { text-anchor: middle; fill: var(--quiet); }
.bar { fill: var(--bar); } .box { fill: var(--box); stroke: var(--bar); }
.median { stroke: var(--mark); stroke-width: 2; }
.whisker { stroke: var(--ink); stroke-width: 1.2; fill: none; } .grid { stroke: var(--line); }
";

/// The page.
pub fn page(report: &Report) -> String {
    let noisy = report.noisy.as_deref();
    let mut page = start(&report.title, &report.setting, noisy, report.interrupted);
    if !report.findings.is_empty() {
        page.push_str("<h2>Findings</h2>\n<div class=\"wide\"><table>\n");
        for finding in &report.findings {
            let (text, unit) = (escape(finding.text), escape(finding.unit));
            let known = finding.known.map_or(String::new(), |Known { interval, is_resolved }| {
                let resolved = if is_resolved { "resolved" } else { "not resolved" };
                format!("{:.1} … {:.1}, {resolved}", interval.low, interval.high)
            });
            let value = finding.value;
            let _ = writeln!(
                page,
                "<tr><td>{text}</td><td>{value:.2} {unit}</td><td>{known}</td></tr>"
            );
        }
        page.push_str("</table></div>\n");
    }
    for section in &report.sections {
        let _ = writeln!(page, "<h2>{}</h2>", escape(&section.title));
        page.push_str(&bars(section));
        page.push_str(&boxes(section));
        table(&mut page, section);
    }
    page + END
}

/// The end of a page.
pub(crate) const END: &str = "</body>\n</html>\n";

/// The start of a page: title, warnings, and facts about the measurement.
pub(crate) fn start(
    title: &str,
    setting: &[(&'static str, String)],
    noisy: Option<&str>,
    interrupted: bool,
) -> String {
    let title = escape(title);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width\"/>\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    if let Some(why) = noisy {
        let _ = writeln!(page, "<p class=\"warning\">Too noisy: {}.</p>", escape(why));
    }
    if interrupted {
        page.push_str(
            "<p class=\"warning\">Stopped early: the figures are from fewer rounds.</p>\n",
        );
    }
    page.push_str("<dl>\n");
    for (label, text) in setting {
        let _ = writeln!(page, "<dt>{}</dt><dd>{}</dd>", escape(label), escape(text));
    }
    page + "</dl>\n"
}

fn table(page: &mut String, section: &Section) {
    page.push_str(
        "<div class=\"wide\"><table>\n<tr><th>subject</th><th>filters</th><th>instructions</th><th>call</th>\
         <th>minimum ns</th><th>median ns</th><th>overhead ns</th><th>95 %</th></tr>\n",
    );
    for (at, row) in section.rows.iter().enumerate() {
        let estimate = &row.estimate;
        let over = estimate.overhead;
        let (overhead, interval) = match at {
            0 => (String::new(), String::new()),
            _ => (format!("{:.1}", over.median), format!("{:.1} … {:.1}", over.low, over.high)),
        };
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.1}</td><td>{:.1}</td>\
             <td>{overhead}</td><td>{interval}</td></tr>",
            escape(&row.name),
            row.filters,
            row.insns,
            row.treatment.map_or("", |treatment| treatment.name()),
            estimate.minimum,
            estimate.median
        );
    }
    let noise = section.noise;
    let _ = writeln!(
        page,
        "</table></div>\n<p>Noise: two identical children without filter differ by {:.2} ns \
         ({:.2} … {:.2}).</p>",
        noise.median, noise.low, noise.high
    );
}
