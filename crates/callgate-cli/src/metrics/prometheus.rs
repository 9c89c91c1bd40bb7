//! The text format of Prometheus, version 0.0.4 (`text/plain; version=0.0.4`), for the textfile collector of the node exporter
//! and the Pushgateway.
//!
//! Labels have unprintable characters escaped before the format escapes backslashes, so that the text does not control a
//! terminal; the format itself would permit any UTF-8.

use std::fmt::Write;

use super::metric::Metric;
use crate::text::printable;

pub(super) fn text(metrics: &[Metric]) -> String {
    let mut text = String::new();
    for metric in metrics {
        let Metric { name, help, labels, series, .. } = metric;
        let _ = writeln!(text, "# HELP {name} {}", escaped_help(help));
        let _ = writeln!(text, "# TYPE {name} counter");
        for (values, count) in series {
            text.push_str(name);
            for (index, (label, value)) in labels.iter().zip(values).enumerate() {
                text.push(if index > 0 { ',' } else { '{' });
                let _ = write!(text, "{label}=\"{}\"", escaped(&printable(value).to_string()));
            }
            text.push_str(if labels.is_empty() { "" } else { "}" });
            let _ = writeln!(text, " {count}");
        }
    }
    text
}

/// The value of a label: backslash, quotation mark and line feed are escaped.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n")
}

/// The help of a metric: backslash and line feed are escaped.
fn escaped_help(help: &str) -> String {
    help.replace('\\', r"\\").replace('\n', r"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        for (value, expected) in [
            ("nginx", "nginx"),
            (r"a\b", r"a\\b"),
            (r#"a"} 1"#, r#"a\"} 1"#),
            // Escaped as elsewhere, then the backslash of that.
            ("a\nb\u{1b}[2J", r"a\\nb\\u{1b}[2J"),
            ("\u{202e}\u{fffd}é", "\\\\u{202e}\u{fffd}é"),
        ] {
            let mut metric = Metric::new("x_total", "a\nb\\", "{x}", &["program"]);
            metric.add(vec![value.to_owned()], u64::MAX);
            let all = format!(
                "# HELP x_total a\\nb\\\\\n# TYPE x_total counter\nx_total{{program=\"{expected}\"}} {}\n",
                u64::MAX
            );
            assert_eq!(text(&[metric]), all);
        }
        assert_eq!(escaped("a\nb"), r"a\nb");
    }

    #[test]
    fn metrics_without_labels_have_no_braces() {
        let metric = Metric::total("x_total", "x", "{x}", 3);
        assert!(text(&[metric]).ends_with("\nx_total 3\n"));
    }
}
