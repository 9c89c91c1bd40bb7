//! The program as a listing with its hot path, and its decision tree as a picture that can be enlarged and scrolled.

use callgate::compile::Execution;
use callgate::{Arch, Endian};
use callgate_bpf::disasm::{Dialect, ListingOptions, disassemble};
use callgate_core::LongProgram;

use super::cost::percent;
use crate::describe::{Class, counted};
use crate::markup::Markup;
use crate::page::Section;
use crate::tree::{End, Node, Placed, Tree, hot_path, place};

/// The maximum number of instructions that are listed.
const MAX_INSNS: usize = 1500;

/// The program; with weights, each instruction has the share of syscalls that execute it, and the hot path is marked.
pub fn program(
    program: &LongProgram,
    endian: Endian,
    arches: &[Arch],
    weighted: Option<&Execution>,
) -> Section {
    let options = ListingOptions { endian, arches: arches.to_vec(), name: None };
    let text = disassemble(program, Dialect::Annotated, &options);
    // The lines before the first instruction are a comment and the byte order.
    let is_head = |line: &&str| line.starts_with([';', '.']);
    let lines: Vec<&str> = text.lines().skip_while(is_head).collect();
    let hot = weighted.map(|weighted| hot_path(program, weighted));
    Section::new("program", "Program", |body| {
        body.paragraph(&format!("{}.", counted(program.len(), "instruction")));
        if weighted.is_some() {
            body.quiet(
                "The first column is the share of syscalls that execute the instruction. The hot path has a bar on its \
                 left: at each branch, it follows what more syscalls do.",
            );
        }
        body.element("details", &[("class", "listing")], |details| {
            details.leaf("summary", &[], "The instructions");
            details.region("wide code", "Instructions", |code| {
                for (at, line) in lines.iter().take(MAX_INSNS).enumerate() {
                    let share = weighted.and_then(|weighted| weighted.insns.get(at));
                    let is_hot = hot.as_ref().is_some_and(|hot| hot.contains(&at));
                    row(code, line, share.map(|share| share.executed), is_hot);
                }
            });
            if let Some(more @ 1..) = lines.len().checked_sub(MAX_INSNS) {
                let more = counted(more, "more instruction");
                details.paragraph(&format!("{more} are left out."));
            }
        });
    })
}

fn row(code: &mut Markup, line: &str, share: Option<f64>, is_hot: bool) {
    let style = if is_hot { "line hot" } else { "line" };
    code.element("div", &[("class", style)], |div| {
        if let Some(share) = share {
            div.span("share", &percent(share));
        }
        let (insn, comment) = line.split_once("; ").unwrap_or((line, ""));
        div.leaf("span", &[], insn);
        if !comment.is_empty() {
            div.span("quiet", &format!("; {comment}"));
        }
    });
}

/// The size of a node, and the distances between nodes.
const WIDTH: f64 = 172.0;
const HEIGHT: f64 = 22.0;
const COLUMN: f64 = 214.0;
const ROW: f64 = 27.0;
/// The size of a picture whose texts are readable on a sheet of paper.
const PAPER: (f64, f64) = (1300.0, 1600.0);
/// The maximum number of characters of a node.
const CHARS: usize = 23;

/// The decision tree of a program. With weights, edges are as thick as they are frequent, and the hot path is marked.
pub fn decisions(
    program: &LongProgram,
    endian: Endian,
    arches: &[Arch],
    weighted: Option<&Execution>,
) -> Section {
    let tree = Tree::new(program, endian, arches.first().copied(), weighted);
    let placed = place(&tree);
    let hot = tree.hot_nodes();
    Section::new("decisions", "Decision tree", |body| {
        body.paragraph(
            "The questions that the compiled program asks, from the upper left corner on: to the right for yes, down along \
             the dashed line for no.",
        );
        if weighted.is_some() {
            body.paragraph(
                "More syscalls take thicker lines; the hot path is coloured and has thick frames.",
            );
        }
        if tree.left_out > 0 {
            let left_out = counted(tree.left_out, "instruction");
            body.paragraph(&format!(
                "The tree is large: {left_out} are left out, at nodes with \"…\"."
            ));
        }
        picture(body, &tree, &placed, &hot);
    })
}

/// The picture with a choice of sizes, which needs no script: the style sheet knows what is checked.
fn picture(body: &mut Markup, tree: &Tree, placed: &Placed, hot: &[usize]) {
    body.element("div", &[("class", "zoom")], |zoom| {
        for (id, label, is_checked) in [
            ("zoom-fit", "fit", false),
            ("zoom-half", "50 %", false),
            ("zoom-one", "100 %", true),
            ("zoom-two", "200 %", false),
        ] {
            let mut attributes = vec![("type", "radio"), ("name", "zoom"), ("id", id)];
            if is_checked {
                attributes.push(("checked", "checked"));
            }
            zoom.empty("input", &attributes);
            zoom.leaf("label", &[("for", id)], label);
        }
        let (rows, columns) = placed.size;
        let width = (columns.saturating_sub(1)) as f64 * COLUMN + WIDTH + 2.0;
        let height = rows as f64 * ROW;
        let view = format!("0 0 {width} {height}");
        let style = format!("--width: {width}px");
        let title = format!("Decision tree with {}", counted(tree.nodes.len(), "node"));
        let is_large = width > PAPER.0 || height > PAPER.1;
        if is_large {
            let text = "The tree is too large for paper; the instructions of the program, which follow, are the same.";
            zoom.leaf("p", &[("class", "paper")], text);
        }
        let class = if is_large { "canvas large" } else { "canvas" };
        zoom.region(class, "Picture of the decision tree", |canvas| {
            let attributes = [
                ("xmlns", "http://www.w3.org/2000/svg"),
                ("viewBox", view.as_str()),
                ("style", style.as_str()),
                // Not a picture, whose links would be hidden.
                ("role", "group"),
                ("aria-label", title.as_str()),
            ];
            canvas.element("svg", &attributes, |svg| {
                tree.nodes
                    .iter()
                    .enumerate()
                    .for_each(|(at, node)| edges(svg, (at, node), tree, placed, hot));
                for (at, node) in tree.nodes.iter().enumerate() {
                    draw(svg, at, node, corner(placed, at, node), hot);
                }
            });
        });
    });
}

/// The upper left corner of a node.
fn corner(placed: &Placed, at: usize, node: &Node) -> (f64, f64) {
    let row = placed.rows.get(at).copied().unwrap_or_default();
    (node.column as f64 * COLUMN + 2.0, row as f64 * ROW + 2.0)
}

/// The lines from a node to its sides.
fn edges(
    svg: &mut Markup,
    (at, node): (usize, &Node),
    tree: &Tree,
    placed: &Placed,
    hot: &[usize],
) {
    let End::Branch { yes, no, .. } = node.end else { return };
    let (x, y) = corner(placed, at, node);
    for (side, style) in [(yes, "yes"), (no, "no")] {
        let Some(child) = tree.nodes.get(side) else { continue };
        let (to_x, to_y) = corner(placed, side, child);
        let line = match style {
            "yes" => format!("M{:.0} {:.0}H{to_x:.0}", x + WIDTH, y + HEIGHT / 2.0),
            _ => format!("M{:.0} {:.0}V{to_y:.0}", x + 12.0, y + HEIGHT),
        };
        let is_hot = hot.contains(&at) && hot.contains(&side);
        let style = if is_hot { format!("edge {style} hot") } else { format!("edge {style}") };
        let width = format!("{:.1}", 1.0 + 5.0 * child.share.unwrap_or(0.0));
        svg.empty("path", &[("class", &style), ("d", &line), ("stroke-width", &width)]);
    }
}

fn draw(svg: &mut Markup, at: usize, node: &Node, (x, y): (f64, f64), hot: &[usize]) {
    let (style, text) = match &node.end {
        End::Branch { question, .. } => ("question", question.clone()),
        End::Return(Some(verdict)) => (Class::of_verdict(*verdict).style(), verdict.to_string()),
        End::Return(None) => ("question", "a computed verdict".to_owned()),
        End::Shared(_) => ("shared", format!("as at {}", node.at)),
        End::LeftOut => ("shared", "…".to_owned()),
    };
    let is_hot = hot.contains(&at);
    let style = format!("node {style}{}", if is_hot { " hot" } else { "" });
    let mut tip = format!("{}: {text}", node.at);
    if let Some(share) = node.share {
        tip += &format!(" ({} of the syscalls)", percent(share));
    }
    let place = format!("translate({x:.0} {y:.1})");
    let draw = |g: &mut Markup| {
        g.leaf("title", &[], &tip);
        let (width, height) = (WIDTH.to_string(), HEIGHT.to_string());
        g.empty("rect", &[("width", &width), ("height", &height), ("rx", "4")]);
        g.leaf("text", &[("x", "8"), ("y", "15")], &shortened(&text));
    };
    let id = format!("node-{at}");
    svg.element("g", &[("class", &style), ("transform", &place), ("id", &id)], |g| {
        match node.end {
            End::Shared(other) => g.element("a", &[("href", &format!("#node-{other}"))], draw),
            _ => draw(g),
        }
    });
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= CHARS {
        return text.to_owned();
    }
    let kept: String = text.chars().take(CHARS - 1).collect();
    kept + "…"
}
