//! Line charts with logarithmic axes, as one self-contained SVG.
//!
//! Colours follow the reader's preference for light or dark. Each line has a colour and a label at its end,
//! moved so that labels do not overlap.

use std::fmt::Write;

use crate::table;

/// What the y axis shows.
#[derive(Clone, Copy)]
pub(super) enum Quantity {
    /// Seconds.
    Time,
    /// Nodes of an MTBDD.
    Nodes,
    /// Bytes.
    Memory,
}

impl Quantity {
    pub(super) const ALL: [Quantity; 3] = [Quantity::Time, Quantity::Nodes, Quantity::Memory];

    pub(super) fn name(self) -> &'static str {
        match self {
            Quantity::Time => "time",
            Quantity::Nodes => "nodes",
            Quantity::Memory => "peak memory",
        }
    }

    /// The decades of the axis, as powers of ten.
    fn decades(self) -> (i32, i32) {
        match self {
            Quantity::Time => (-6, 1),
            Quantity::Nodes => (2, 7),
            Quantity::Memory => (6, 9),
        }
    }

    /// The label of a power of ten.
    fn label(self, power: i32) -> String {
        let ten = |power: i32| table::count(10usize.pow(power as u32));
        match (self, power) {
            (Quantity::Nodes, _) => ten(power),
            (Quantity::Memory, ..9) => format!("{} MB", ten(power - 6)),
            (Quantity::Memory, _) => format!("{} GB", ten(power - 9)),
            (Quantity::Time, ..-3) => format!("{} µs", ten(power + 6)),
            (Quantity::Time, -3..0) => format!("{} ms", ten(power + 3)),
            (Quantity::Time, _) => format!("{} s", ten(power)),
        }
    }

    /// A value per rule and its name: lines parallel to this one show linear growth.
    fn guide(self) -> (f64, &'static str) {
        match self {
            Quantity::Time => (1e-6, "1 µs a rule"),
            Quantity::Nodes => (10.0, "10 a rule"),
            Quantity::Memory => (1e5, "100 kB a rule"),
        }
    }
}

/// A chart of lines.
pub(super) struct Panel<'a> {
    pub(super) title: String,
    pub(super) quantity: Quantity,
    pub(super) lines: Vec<Line<'a>>,
}

/// A line: rules and values, sorted by rules.
pub(super) struct Line<'a> {
    pub(super) name: &'a str,
    pub(super) points: Vec<(f64, f64)>,
}

const PANEL_WIDTH: f64 = 420.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 56.0;
/// Space for the labels at the ends of lines.
const RIGHT: f64 = 132.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 48.0;
/// The minimum distance between two labels.
const NAME_HEIGHT: f64 = 14.0;

/// The decades of the axis of rules, as powers of ten.
const RULES: (i32, i32) = (1, 4);

/// The first line is drawn bold. The colours are those of Okabe and Ito, for all kinds of colour vision.
const STYLE: &str = "\
<style>
  svg { color-scheme: light dark; font: 12px system-ui, sans-serif; }
  .back { fill: #ffffff; } text { fill: #1f2328; } .grid { stroke: #d8dee4; }
  .linear { stroke: #8c959f; stroke-dasharray: 4 4; } .soft { fill: #656d76; }
  polyline { fill: none; stroke-width: 1.6; } .title { font-size: 14px; font-weight: 600; }
  polyline.c0 { stroke: #d55e00; stroke-width: 3.2; } polyline.c1 { stroke: #0072b2; }
  polyline.c2 { stroke: #2f8fc9; } polyline.c3 { stroke: #007d5c; }
  polyline.c4 { stroke: #38b08c; } polyline.c5 { stroke: #b3608f; }
  text.c0 { fill: #c04f00; font-weight: 600; } text.c1 { fill: #0072b2; } text.c2 { fill: #1d75a8; }
  text.c3 { fill: #007d5c; } text.c4 { fill: #22805f; } text.c5 { fill: #a14c7e; }
  polyline.c2, polyline.c4 { stroke-dasharray: 7 3; }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117; } text { fill: #e6edf3; } .grid { stroke: #30363d; }
    .linear { stroke: #6e7681; } .soft { fill: #9198a1; }
    text.c0 { fill: #ff8d3a; } text.c1 { fill: #58a6ff; } text.c2 { fill: #79c0ff; }
    text.c3 { fill: #2fbf94; } text.c4 { fill: #56d4ac; } text.c5 { fill: #e08abb; }
    polyline.c0 { stroke: #ff7b1c; } polyline.c1 { stroke: #58a6ff; }
    polyline.c2 { stroke: #79c0ff; } polyline.c3 { stroke: #2fbf94; }
    polyline.c4 { stroke: #56d4ac; } polyline.c5 { stroke: #e08abb; }
  }
</style>
";

/// The number of line styles.
const STYLES: usize = 6;

/// Draws rows of panels.
pub(super) fn draw(rows: &[Vec<Panel<'_>>]) -> String {
    let width = PANEL_WIDTH * rows.iter().map(Vec::len).max().unwrap_or(0) as f64;
    let height = HEIGHT * rows.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"Time, nodes and memory of a compilation against the number of rules\">\n{STYLE}\
         <rect class=\"back\" width=\"{width}\" height=\"{height}\"/>\n"
    );
    for (row, panels) in rows.iter().enumerate() {
        for (column, panel) in panels.iter().enumerate() {
            let (left, top) = (PANEL_WIDTH * column as f64, HEIGHT * row as f64);
            let _ = writeln!(svg, "<g transform=\"translate({left} {top})\">");
            axes(&mut svg, panel);
            for (style, line) in panel.lines.iter().enumerate() {
                polyline(&mut svg, style % STYLES, panel.quantity, &line.points);
            }
            names(&mut svg, panel);
            svg.push_str("</g>\n");
        }
    }
    svg + "</svg>\n"
}

/// The x coordinate of a number of rules.
fn x(rules: f64) -> f64 {
    let decades = f64::from(RULES.1 - RULES.0);
    LEFT + (rules.log10() - f64::from(RULES.0)) / decades * (PANEL_WIDTH - LEFT - RIGHT)
}

/// The y coordinate of a value, clamped to the axes.
fn y(quantity: Quantity, value: f64) -> f64 {
    let (first, last) = quantity.decades();
    let share = ((value.log10() - f64::from(first)) / f64::from(last - first)).clamp(0.0, 1.0);
    TOP + (1.0 - share) * (HEIGHT - TOP - BOTTOM)
}

fn axes(svg: &mut String, panel: &Panel<'_>) {
    let (left, right) = (LEFT, PANEL_WIDTH - RIGHT);
    let (top, bottom) = (TOP, HEIGHT - BOTTOM);
    let (title, quantity) = (&panel.title, panel.quantity);
    let _ = writeln!(svg, "<text class=\"title\" x=\"{left}\" y=\"24\">{title}</text>");
    let (first, last) = quantity.decades();
    for power in first..=last {
        let (at, name) = (y(quantity, 10f64.powi(power)), quantity.label(power));
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{left}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\"/>\
             <text class=\"soft\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>",
            left - 6.0,
            at + 4.0
        );
    }
    for power in RULES.0..=RULES.1 {
        let at = x(10f64.powi(power));
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{at:.1}\" y1=\"{top}\" x2=\"{at:.1}\" y2=\"{bottom}\"/>\
             <text class=\"soft\" x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 18.0,
            table::count(10usize.pow(power as u32))
        );
    }
    let middle = f64::midpoint(left, right);
    let _ = writeln!(
        svg,
        "<text class=\"soft\" x=\"{middle:.1}\" y=\"{}\" text-anchor=\"middle\">rules</text>",
        bottom + 38.0
    );
    let (from, to) = (10f64.powi(RULES.0), 10f64.powi(RULES.1));
    let (per_rule, _) = quantity.guide();
    let _ = writeln!(
        svg,
        "<line class=\"linear\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
        x(from),
        y(quantity, from * per_rule),
        x(to),
        y(quantity, to * per_rule)
    );
}

fn polyline(svg: &mut String, style: usize, quantity: Quantity, points: &[(f64, f64)]) {
    let place =
        |(rules, value): &(f64, f64)| format!("{:.1},{:.1}", x(*rules), y(quantity, *value));
    let points: Vec<String> = points.iter().map(place).collect();
    let _ = writeln!(svg, "<polyline class=\"c{style}\" points=\"{}\"/>", points.join(" "));
}

/// The labels of lines, from the top down, without overlaps; the guide has one too.
fn names(svg: &mut String, panel: &Panel<'_>) {
    let quantity = panel.quantity;
    let end = |(style, line): (usize, &Line<'_>)| {
        let (_, value) = line.points.last()?;
        Some((y(quantity, *value), format!("c{}", style % STYLES), line.name.to_owned()))
    };
    let mut ends: Vec<_> = panel.lines.iter().enumerate().filter_map(end).collect();
    let (per_rule, name) = quantity.guide();
    let last = y(quantity, 10f64.powi(RULES.1) * per_rule);
    ends.push((last, "soft".to_owned(), name.to_owned()));
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let places = apart(&ends.iter().map(|end| end.0).collect::<Vec<_>>());
    for ((_, class, name), at) in ends.iter().zip(places) {
        let at_x = PANEL_WIDTH - RIGHT + 6.0;
        let _ = writeln!(
            svg,
            "<text class=\"{class}\" x=\"{at_x:.1}\" y=\"{:.1}\">{name}</text>",
            at + 4.0
        );
    }
}

/// Moves sorted heights so that each is at least [`NAME_HEIGHT`] below the one before, by one pass down
/// and one pass up.
fn apart(heights: &[f64]) -> Vec<f64> {
    let mut places = heights.to_vec();
    for index in 1..places.len() {
        places[index] = places[index].max(places[index - 1] + NAME_HEIGHT);
    }
    let mut below = HEIGHT - BOTTOM;
    for place in places.iter_mut().rev() {
        *place = place.min(below);
        below = *place - NAME_HEIGHT;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_overlap_and_stay_inside() {
        let places = apart(&[100.0, 101.0, 102.0, 330.0, 331.0]);
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= NAME_HEIGHT - 1e-9));
        assert!(places.iter().all(|place| *place <= HEIGHT - BOTTOM));
        assert_eq!(apart(&[50.0, 90.0]), [50.0, 90.0]);
    }

    #[test]
    fn points_lie_where_the_axes_say() {
        assert_eq!((x(10.0), x(10_000.0)), (LEFT, PANEL_WIDTH - RIGHT));
        let quantity = Quantity::Time;
        assert_eq!((y(quantity, 10.0), y(quantity, 1e-6)), (TOP, HEIGHT - BOTTOM));
        assert_eq!(y(quantity, 1e-9), HEIGHT - BOTTOM, "on the edge");
        let panel = Panel {
            title: "t".to_owned(),
            quantity,
            lines: vec![Line { name: "n", points: vec![(10.0, 1e-6), (10_000.0, 10.0)] }],
        };
        let svg = draw(&[vec![panel]]);
        assert!(svg.contains("points=\"56.0,332.0 288.0,44.0\""), "{svg}");
    }

    #[test]
    fn axes_have_units() {
        let labels = |quantity: Quantity| {
            let (first, last) = quantity.decades();
            (first..=last).map(|power| quantity.label(power)).collect::<Vec<_>>().join(" ")
        };
        let times = "1 µs 10 µs 100 µs 1 ms 10 ms 100 ms 1 s 10 s";
        assert_eq!(labels(Quantity::Time), times);
        assert_eq!(labels(Quantity::Nodes), "100 1,000 10,000 100,000 1,000,000 10,000,000");
        assert_eq!(labels(Quantity::Memory), "1 MB 10 MB 100 MB 1 GB");
    }
}
