//! The comparisons of a syscall.

use callgate_formats::ruleset::{ChainEnd, ChainNode, ChainOp};

use super::lines::{action, line};

/// Writes the comparisons of a level. The depth is that of one rule, three comparisons per argument.
pub(super) fn level(out: &mut String, indent: usize, is_64bit: bool, nodes: &[ChainNode]) {
    for node in nodes {
        let word = match (is_64bit, node.is_high) {
            (false, _) => "",
            (true, false) => ".lo32",
            (true, true) => ".hi32",
        };
        let (arg, datum) = (node.arg, node.datum);
        match node.op {
            ChainOp::MaskedEq => line(
                out,
                indent,
                format_args!("if ($a{arg}{word} & {:#010x} == {datum})", node.mask),
            ),
            ChainOp::Eq => line(out, indent, format_args!("if ($a{arg}{word} == {datum})")),
            ChainOp::Ge => line(out, indent, format_args!("if ($a{arg}{word} >= {datum})")),
            ChainOp::Gt => line(out, indent, format_args!("if ($a{arg}{word} > {datum})")),
        }
        match &node.on_true {
            ChainEnd::Verdict(verdict) => action(out, indent + 1, *verdict),
            ChainEnd::Level(nodes) => level(out, indent + 1, is_64bit, nodes),
            ChainEnd::Nothing => {}
        }
        if node.on_false == ChainEnd::Nothing {
            continue;
        }
        line(out, indent, format_args!("else"));
        match &node.on_false {
            ChainEnd::Verdict(verdict) => action(out, indent + 1, *verdict),
            ChainEnd::Level(nodes) => level(out, indent + 1, is_64bit, nodes),
            ChainEnd::Nothing => {}
        }
    }
}
