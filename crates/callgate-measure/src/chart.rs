//! Charts as SVG: bars of overheads with confidence intervals, and box plots of batches.
//!
//! They contain no scripts and no fonts. Colours are classes of the page's style sheet, which has a light and a dark
//! palette. Every number of a chart is also in a table of the page.

use std::fmt::Write;

use crate::report::Section;
use crate::stats::Interval;

/// The width of a chart, and the start and end of its bars.
const WIDTH: f64 = 720.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 650.0;
/// The height of a row, and of the axis below the rows.
const ROW: f64 = 28.0;
const AXIS: f64 = 44.0;

/// A linear scale with round numbers at its ticks.
struct Scale {
    start: f64,
    end: f64,
    step: f64,
}

impl Scale {
    /// A scale that contains both values, with about five ticks.
    fn of(low: f64, high: f64) -> Scale {
        let rough = ((high - low) / 5.0).max(1e-3);
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|nice| nice * power >= rough);
        let step = step.unwrap_or(10.0) * power;
        let start = (low / step).floor() * step;
        Scale { start, end: ((high / step).ceil() * step).max(start + step), step }
    }

    fn x(&self, value: f64) -> f64 {
        let share = (value - self.start) / (self.end - self.start);
        LEFT + (RIGHT - LEFT) * share.clamp(0.0, 1.0)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let count = ((self.end - self.start) / self.step).round() as usize;
        (0..=count).map(|tick| self.start + tick as f64 * self.step)
    }
}

/// The overheads of a section as bars.
pub fn bars(section: &Section) -> String {
    let rows: Vec<(&str, Interval)> =
        section.rows.iter().skip(1).map(|row| (row.name.as_str(), row.estimate.overhead)).collect();
    let unit = "overhead in nanoseconds, median and its 95 % confidence interval";
    intervals(&format!("Overhead: {}", section.title), unit, &rows, 0.0, 1)
}

/// Values as bars from `base`, with confidence intervals, and this number of decimals.
pub(crate) fn intervals(
    title: &str,
    unit: &str,
    rows: &[(&str, Interval)],
    base: f64,
    digits: usize,
) -> String {
    let longest = rows.iter().map(|(_, value)| value.high).fold(base, f64::max);
    // A denied syscall may take less time than an executed one.
    let lowest = rows.iter().map(|(_, value)| value.low).fold(base, f64::min);
    let scale = Scale::of(lowest, longest);
    let mut svg = open(rows.len(), title);
    axis(&mut svg, &scale, rows.len(), unit);
    for (at, (name, value)) in rows.iter().enumerate() {
        let y = at as f64 * ROW;
        label(&mut svg, y, name);
        let (zero, end) = (scale.x(base), scale.x(value.median));
        let (x, width, top) = (zero.min(end), (end - zero).abs(), y + 5.0);
        let _ = write!(
            svg,
            "<rect class=\"bar\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"18\"/>"
        );
        whisker(&mut svg, scale.x(value.low), scale.x(value.high), y + 14.0);
        let beside = scale.x(value.high).max(zero) + 6.0;
        let _ = writeln!(
            svg,
            "<text class=\"value\" x=\"{beside:.1}\" y=\"{:.1}\">{:.digits$}</text>",
            y + 18.5,
            value.median
        );
    }
    svg + "</svg></div>\n"
}

/// The batches of a section as box plots.
pub fn boxes(section: &Section) -> String {
    let highest = section.rows.iter().map(|row| row.estimate.spread.high).fold(0.0, f64::max);
    let lowest = section.rows.iter().map(|row| row.estimate.spread.minimum).fold(highest, f64::min);
    let scale = Scale::of(lowest, highest);
    let mut svg = open(section.rows.len(), &format!("Spread: {}", section.title));
    let what = "nanoseconds: minimum, quartiles, median and 95th percentile";
    axis(&mut svg, &scale, section.rows.len(), what);
    for (at, row) in section.rows.iter().enumerate() {
        let (spread, y) = (row.estimate.spread, at as f64 * ROW);
        label(&mut svg, y, &row.name);
        whisker(&mut svg, scale.x(spread.minimum), scale.x(spread.high), y + 14.0);
        let (lower, upper, median) =
            (scale.x(spread.lower), scale.x(spread.upper), scale.x(spread.median));
        let (width, top) = ((upper - lower).max(1.0), y + 6.0);
        let _ = writeln!(
            svg,
            "<rect class=\"box\" x=\"{lower:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" \
             height=\"16\"/><line class=\"median\" x1=\"{median:.1}\" x2=\"{median:.1}\" \
             y1=\"{top:.1}\" y2=\"{:.1}\"/>",
            top + 16.0
        );
    }
    svg + "</svg></div>\n"
}

fn open(rows: usize, title: &str) -> String {
    let height = rows as f64 * ROW + AXIS;
    let title = escape(title);
    format!(
        "<div class=\"wide\"><svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{title}\" \
         viewBox=\"0 0 {WIDTH} {height}\">\n<title>{title}</title>\n"
    )
}

fn axis(svg: &mut String, scale: &Scale, rows: usize, unit: &str) {
    let bottom = rows as f64 * ROW + 4.0;
    for tick in scale.ticks() {
        let x = scale.x(tick);
        let digits = (-scale.step.log10()).ceil().max(0.0) as usize;
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{bottom:.1}\"/>\
             <text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\">{tick:.digits$}</text>",
            bottom + 15.0
        );
    }
    let middle = (LEFT + RIGHT) / 2.0;
    let _ = writeln!(
        svg,
        "<text class=\"unit\" x=\"{middle:.1}\" y=\"{:.1}\">{}</text>",
        bottom + 34.0,
        escape(unit)
    );
}

fn label(svg: &mut String, y: f64, name: &str) {
    /// A label, shortened to the space before a bar.
    const CHARS: usize = 26;
    let shown: String = match name.chars().count() {
        count if count > CHARS => {
            format!("…{}", name.chars().skip(count - CHARS + 1).collect::<String>())
        }
        _ => name.to_owned(),
    };
    let (x, y) = (LEFT - 8.0, y + 18.5);
    let _ = write!(svg, "<text class=\"name\" x=\"{x}\" y=\"{y:.1}\">{}</text>", escape(&shown));
}

fn whisker(svg: &mut String, low: f64, high: f64, y: f64) {
    let (top, bottom) = (y - 4.0, y + 4.0);
    let _ = write!(
        svg,
        "<path class=\"whisker\" d=\"M{low:.1} {top:.1}V{bottom:.1}M{low:.1} {y:.1}H{high:.1}M{high:.1} \
         {top:.1}V{bottom:.1}\"/>"
    );
}

/// Escapes text for HTML and XML.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() && c != '\n' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_that_hold_the_values() {
        for (low, high, start, end, step) in [
            (0.0, 26.2, 0.0, 30.0, 10.0),
            (0.0, 609.0, 0.0, 800.0, 200.0),
            (0.0, 0.7, 0.0, 0.8, 0.2),
            (-119.7, 33.0, -150.0, 50.0, 50.0),
            (123.0, 131.0, 122.0, 132.0, 2.0),
        ] {
            let scale = Scale::of(low, high);
            let given = [scale.start - start, scale.end - end, scale.step - step];
            assert!(given.iter().all(|off| off.abs() < 1e-9), "{low} {high}: {given:?}");
            assert!(scale.ticks().count() <= 11);
        }
        assert!(Scale::of(0.0, 0.0).ticks().count() > 1);
    }

    #[test]
    fn names_cannot_leave_their_place() {
        assert_eq!(escape("a<b>&\"\u{1b}"), "a&lt;b&gt;&amp;&quot;\u{fffd}");
    }
}
