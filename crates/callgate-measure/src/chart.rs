//! Charts as SVG: bars of overheads with confidence intervals, and box plots of batches.
//!
//! They contain no scripts and no fonts. Colours are classes of the shared style sheet, which has a light and a dark
//! palette. Every number of a chart is also in a table of the page.

use callgate_html::Markup;

use crate::report::Section;
use crate::stats::{Interval, Summary};

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

/// The overheads of a section as bars, without those of denied syscalls.
pub fn bars(section: &Section) -> Markup {
    let rows = section.rows.iter().skip(1).filter(|row| !row.is_denied());
    let rows: Vec<(&str, Interval)> =
        rows.map(|row| (row.name.as_str(), row.estimate.overhead)).collect();
    let unit = "overhead in nanoseconds, median and its 95 % confidence interval";
    intervals(&format!("Overhead: {}", section.title), unit, &rows, 0.0, 1)
}

/// Values as bars from `base`, with confidence intervals, and this number of decimals.
pub fn intervals(
    title: &str,
    unit: &str,
    rows: &[(&str, Interval)],
    base: f64,
    digits: usize,
) -> Markup {
    // Without the unbounded intervals of one round.
    let bounds = |value: &Interval| match value.is_known() {
        true => (value.low, value.high),
        false => (value.median, value.median),
    };
    let longest = rows.iter().map(|(_, value)| bounds(value).1).fold(base, f64::max);
    // Noise may be more than the overhead.
    let lowest = rows.iter().map(|(_, value)| bounds(value).0).fold(base, f64::min);
    let scale = Scale::of(lowest, longest);
    chart(rows.len(), title, |svg| {
        axis(svg, &scale, rows.len(), unit);
        for (at, (name, value)) in rows.iter().enumerate() {
            let y = at as f64 * ROW;
            label(svg, y, name);
            let (zero, end) = (scale.x(base), scale.x(value.median));
            rectangle(svg, "bar", (zero.min(end), y + 5.0), ((end - zero).abs(), 18.0));
            let (low, high) = bounds(value);
            whisker(svg, scale.x(low), scale.x(high), y + 14.0);
            let beside = scale.x(high).max(zero) + 6.0;
            text(svg, "value", (beside, y + 18.5), &format!("{:.digits$}", value.median));
        }
    })
}

/// The batches of a section as box plots.
pub fn boxes(section: &Section) -> Markup {
    let rows = section.rows.iter().map(|row| (row.name.as_str(), row.estimate.spread));
    let what = "nanoseconds: minimum, quartiles, median and 95th percentile";
    box_rows(&format!("Spread: {}", section.title), what, &rows.collect::<Vec<_>>())
}

/// Boxes with their names, on a common scale.
pub fn box_rows(title: &str, unit: &str, rows: &[(&str, Summary)]) -> Markup {
    let highest = rows.iter().map(|(_, five)| five.high).fold(0.0, f64::max);
    let lowest = rows.iter().map(|(_, five)| five.minimum).fold(highest, f64::min);
    let scale = Scale::of(lowest, highest);
    chart(rows.len(), title, |svg| {
        axis(svg, &scale, rows.len(), unit);
        for (at, (name, five)) in rows.iter().enumerate() {
            let y = at as f64 * ROW;
            label(svg, y, name);
            whisker(svg, scale.x(five.minimum), scale.x(five.high), y + 14.0);
            let (lower, upper, median) =
                (scale.x(five.lower), scale.x(five.upper), scale.x(five.median));
            rectangle(svg, "box", (lower, y + 6.0), ((upper - lower).max(1.0), 16.0));
            line(svg, "median", (median, y + 6.0), (median, y + 22.0));
        }
    })
}

/// A chart of this number of rows, which is scrolled if it is wider than the window.
fn chart(rows: usize, title: &str, content: impl FnOnce(&mut Markup)) -> Markup {
    let height = rows as f64 * ROW + AXIS;
    let view = format!("0 0 {WIDTH} {height}");
    let attributes = [
        ("xmlns", "http://www.w3.org/2000/svg"),
        ("class", "chart"),
        ("role", "img"),
        ("aria-label", title),
        ("viewBox", &view),
    ];
    Markup::of(|markup| {
        markup.element("div", &[("class", "wide")], |wide| {
            wide.element("svg", &attributes, |svg| {
                svg.leaf("title", &[], title);
                content(svg);
            });
        });
    })
}

fn axis(svg: &mut Markup, scale: &Scale, rows: usize, unit: &str) {
    let bottom = rows as f64 * ROW + 4.0;
    for tick in scale.ticks() {
        let x = scale.x(tick);
        let digits = (-scale.step.log10()).ceil().max(0.0) as usize;
        line(svg, "grid", (x, 0.0), (x, bottom));
        text(svg, "tick", (x, bottom + 15.0), &format!("{tick:.digits$}"));
    }
    text(svg, "unit", (f64::midpoint(LEFT, RIGHT), bottom + 34.0), unit);
}

fn label(svg: &mut Markup, y: f64, name: &str) {
    /// A label, shortened to the space before a bar.
    const CHARS: usize = 26;
    let shown: String = match name.chars().count() {
        count if count > CHARS => {
            format!("…{}", name.chars().skip(count - CHARS + 1).collect::<String>())
        }
        _ => name.to_owned(),
    };
    text(svg, "name", (LEFT - 8.0, y + 18.5), &shown);
}

fn whisker(svg: &mut Markup, low: f64, high: f64, y: f64) {
    let (top, bottom) = (y - 4.0, y + 4.0);
    let path = format!(
        "M{low:.1} {top:.1}V{bottom:.1}M{low:.1} {y:.1}H{high:.1}M{high:.1} {top:.1}V{bottom:.1}"
    );
    svg.empty("path", &[("class", "whisker"), ("d", &path)]);
}

fn text(svg: &mut Markup, class: &str, (x, y): (f64, f64), text: &str) {
    let (x, y) = (format!("{x:.1}"), format!("{y:.1}"));
    svg.leaf("text", &[("class", class), ("x", &x), ("y", &y)], text);
}

fn rectangle(svg: &mut Markup, class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
    let [x, y, width, height] = [x, y, width, height].map(|number| format!("{number:.1}"));
    let attributes =
        [("class", class), ("x", &x), ("y", &y), ("width", &width), ("height", &height)];
    svg.empty("rect", &attributes);
}

fn line(svg: &mut Markup, class: &str, (x, y): (f64, f64), (to_x, to_y): (f64, f64)) {
    let [x, y, to_x, to_y] = [x, y, to_x, to_y].map(|number| format!("{number:.1}"));
    svg.empty("line", &[("class", class), ("x1", &x), ("x2", &to_x), ("y1", &y), ("y2", &to_y)]);
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
}
