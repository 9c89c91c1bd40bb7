//! The program as a listing, with its hot path.

use callgate::compile::Execution;
use callgate::{Arch, Endian};
use callgate_bpf::disasm::{Dialect, ListingOptions, disassemble};
use callgate_core::LongProgram;

use super::cost::percent;
use crate::describe::counted;
use crate::markup::Markup;
use crate::page::Section;
use crate::tree::hot_path;

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
        body.leaf("p", &[], &format!("{}.", counted(program.len(), "instruction")));
        if weighted.is_some() {
            body.leaf(
                "p",
                &[("class", "quiet")],
                "The first column is the share of syscalls that execute the instruction. The hot path has a bar on its \
                 left: at each branch, it follows what more syscalls do.",
            );
        }
        body.element("details", &[("class", "listing")], |details| {
            details.leaf("summary", &[], "The instructions");
            let attributes = [
                ("class", "wide code"),
                ("tabindex", "0"),
                ("role", "region"),
                ("aria-label", "Instructions"),
            ];
            details.element("div", &attributes, |code| {
                for (at, line) in lines.iter().take(MAX_INSNS).enumerate() {
                    let share = weighted.and_then(|weighted| weighted.insns.get(at));
                    let is_hot = hot.as_ref().is_some_and(|hot| hot.contains(&at));
                    row(code, line, share.map(|share| share.executed), is_hot);
                }
            });
            if let Some(more @ 1..) = lines.len().checked_sub(MAX_INSNS) {
                let more = counted(more, "more instruction");
                details.leaf(
                    "p",
                    &[],
                    &format!("{more} are left out; `callgate disasm` prints all."),
                );
            }
        });
    })
}

fn row(code: &mut Markup, line: &str, share: Option<f64>, is_hot: bool) {
    let style = if is_hot { "line hot" } else { "line" };
    code.element("div", &[("class", style)], |div| {
        if let Some(share) = share {
            div.leaf("span", &[("class", "share")], &percent(share));
        }
        let (insn, comment) = line.split_once("; ").unwrap_or((line, ""));
        div.leaf("span", &[], insn);
        if !comment.is_empty() {
            div.leaf("span", &[("class", "quiet")], &format!("; {comment}"));
        }
    });
}
