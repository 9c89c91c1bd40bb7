//! Line charts with logarithmic axes, as one self-contained SVG.
//!
//! Colours follow the reader's preference for light or dark. Each line has a colour and a label at its end,
//! moved so that labels do not overlap.

use std::fmt::Write;

use crate::table;

/// A chart of lines.
pub(super) struct Panel<'a> {
    pub(super) title: &'a str,
    pub(super) lines: Vec<Line<'a>>,
}

/// A line: rules and seconds, sorted by rules.
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

/// The decades of the axes: rules, and seconds as powers of ten.
const RULES: (i32, i32) = (1, 4);
const SECONDS: (i32, i32) = (-6, 1);

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

/// Draws panels side by side.
pub(super) fn draw(panels: &[Panel<'_>]) -> String {
    let width = PANEL_WIDTH * panels.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {HEIGHT}\" role=\"img\" \
         aria-label=\"Time to compile against the number of rules\">\n{STYLE}\
         <rect class=\"back\" width=\"{width}\" height=\"{HEIGHT}\"/>\n"
    );
    for (index, panel) in panels.iter().enumerate() {
        let _ = writeln!(svg, "<g transform=\"translate({} 0)\">", PANEL_WIDTH * index as f64);
        axes(&mut svg, panel.title);
        for (style, line) in panel.lines.iter().enumerate() {
            polyline(&mut svg, style % STYLES, &line.points);
        }
        names(&mut svg, &panel.lines);
        svg.push_str("</g>\n");
    }
    svg + "</svg>\n"
}

/// The x coordinate of a number of rules.
fn x(rules: f64) -> f64 {
    let decades = f64::from(RULES.1 - RULES.0);
    LEFT + (rules.log10() - f64::from(RULES.0)) / decades * (PANEL_WIDTH - LEFT - RIGHT)
}

/// The y coordinate of a time, clamped to the axes.
fn y(seconds: f64) -> f64 {
    let decades = f64::from(SECONDS.1 - SECONDS.0);
    let share = ((seconds.log10() - f64::from(SECONDS.0)) / decades).clamp(0.0, 1.0);
    TOP + (1.0 - share) * (HEIGHT - TOP - BOTTOM)
}

fn axes(svg: &mut String, title: &str) {
    let (left, right) = (LEFT, PANEL_WIDTH - RIGHT);
    let (top, bottom) = (TOP, HEIGHT - BOTTOM);
    let _ = writeln!(svg, "<text class=\"title\" x=\"{left}\" y=\"24\">{title}</text>");
    for power in SECONDS.0..=SECONDS.1 {
        let at = y(10f64.powi(power));
        let name = match power {
            ..-3 => format!("{} µs", 10u32.pow((power + 6) as u32)),
            -3..0 => format!("{} ms", 10u32.pow((power + 3) as u32)),
            _ => format!("{} s", 10u32.pow(power as u32)),
        };
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
    // One microsecond per rule: lines parallel to it show linear growth.
    let (from, to) = (10f64.powi(RULES.0), 10f64.powi(RULES.1));
    let _ = writeln!(
        svg,
        "<line class=\"linear\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
        x(from),
        y(from * 1e-6),
        x(to),
        y(to * 1e-6)
    );
}

fn polyline(svg: &mut String, style: usize, points: &[(f64, f64)]) {
    let place = |(rules, seconds): &(f64, f64)| format!("{:.1},{:.1}", x(*rules), y(*seconds));
    let points: Vec<String> = points.iter().map(place).collect();
    let _ = writeln!(svg, "<polyline class=\"c{style}\" points=\"{}\"/>", points.join(" "));
}

/// The labels of lines, from the top down, without overlaps; the guide has one too.
fn names(svg: &mut String, lines: &[Line<'_>]) {
    let end = |(style, line): (usize, &Line<'_>)| {
        let (rules, seconds) = line.points.last()?;
        Some((y(*seconds), x(*rules), format!("c{}", style % STYLES), line.name.to_owned()))
    };
    let mut ends: Vec<_> = lines.iter().enumerate().filter_map(end).collect();
    let last = 10f64.powi(RULES.1);
    ends.push((y(last * 1e-6), x(last), "soft".to_owned(), "1 µs a rule".to_owned()));
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let places = apart(&ends.iter().map(|end| end.0).collect::<Vec<_>>());
    for ((_, _, class, name), at) in ends.iter().zip(places) {
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
        assert_eq!((y(10.0), y(1e-6)), (TOP, HEIGHT - BOTTOM));
        assert_eq!(y(1e-9), HEIGHT - BOTTOM, "on the edge");
        let panel = Panel {
            title: "t",
            lines: vec![Line { name: "n", points: vec![(10.0, 1e-6), (10_000.0, 10.0)] }],
        };
        let svg = draw(&[panel]);
        assert!(svg.contains("points=\"56.0,332.0 288.0,44.0\""), "{svg}");
    }
}
