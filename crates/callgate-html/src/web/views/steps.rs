//! The execution of a program for one syscall, instruction by instruction. The page makes buttons of it; without them, it is a table.

use callgate::{Arch, Endian, SeccompData, Verdict};
use callgate_bpf::SyscallTable;
use callgate_bpf::disasm::{Dialect, ListingOptions, disassemble};
use callgate_bpf::syscalls::facts;
use callgate_core::cfg::Registers;
use callgate_core::{Insn, LongProgram, Op, Operand, SCRATCH_WORDS, Source, Step, Word};
use callgate_formats::statements::Site;
use callgate_formats::why::{Cause, why};
use callgate_requests::source::{FilterContent, SourceFilter};

use crate::web::messages::place;
use crate::{Markup, Section, counted};

/// The maximum number of instructions that are shown.
const MAX_STEPS: usize = 400;

/// The maximum number of rules that are named at an instruction.
const MAX_RULES: usize = 3;

/// The rules of a text about a syscall: what tests of its arguments and the verdict belong to.
#[derive(Default)]
pub(super) struct Rules {
    /// Where conditions on its arguments are stated.
    conditions: Vec<Site>,
    /// Where its verdict is stated.
    verdict: Vec<Site>,
    /// Who decides if no text does.
    built_in: &'static str,
}

impl Rules {
    /// The rules of a policy; none of a program.
    pub(super) fn of(filter: &SourceFilter, data: &SeccompData, arch: Arch) -> Rules {
        let (FilterContent::Policy(policy), Some(statements)) =
            (&filter.content, filter.statements())
        else {
            return Rules::default();
        };
        let found = why(policy, statements, data, arch.syscall_name(data.nr));
        let about = statements.rules.iter().filter(|rule| rule.is_about(data));
        let mut conditions: Vec<Site> = Vec::new();
        for rule in about.filter(|rule| !rule.when.is_always()) {
            if !conditions.contains(&rule.site) {
                conditions.push(rule.site.clone());
            }
        }
        let (verdict, built_in) = match found.cause {
            Cause::Rules(rules) => (rules.iter().map(|rule| rule.site.clone()).collect(), ""),
            Cause::Builtin(rule) => (Vec::new(), rule.reason),
            Cause::Default(Some(site)) => (vec![site.clone()], "default action"),
            Cause::Default(None) => (Vec::new(), "default action"),
            Cause::OtherArch => (Vec::new(), "no rules for this architecture"),
        };
        Rules { conditions, verdict, built_in }
    }
}

/// What the accumulator holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    Word(Word),
    Other,
}

/// A program, and the syscall that it is executed for.
pub(super) struct Executed<'a> {
    /// The identifier of the section, and its heading.
    pub(super) title: (&'static str, String),
    pub(super) program: &'a LongProgram,
    pub(super) endian: Endian,
    pub(super) arch: Arch,
    pub(super) data: &'a SeccompData,
    /// The name of the source, for places.
    pub(super) name: &'a str,
    pub(super) rules: &'a Rules,
}

/// The steps of a program.
pub(super) fn steps(executed: &Executed<'_>) -> Section {
    let Executed { program, endian, arch, data, .. } = *executed;
    let mut steps: Vec<Step> = Vec::new();
    let verdict = program.trace(data, endian, |step| steps.push(step)).verdict;
    let options = ListingOptions { endian, arches: vec![arch], name: None };
    let text = disassemble(program, Dialect::Annotated, &options);
    let lines: Vec<&str> = text.lines().skip_while(|line| line.starts_with([';', '.'])).collect();
    let (id, title) = &executed.title;
    // Most programs use neither X nor scratch memory.
    let writes = |word: Registers| steps.iter().any(|step| step.insn.writes().intersects(word));
    let has_x = writes(Registers::X);
    let has_scratch = steps.iter().any(|step| matches!(step.insn.op, Op::St | Op::Stx));
    Section::new(*id, title, |body| {
        let (run, all) = (counted(steps.len(), "instruction"), program.len());
        body.paragraph(&format!("{run} of {all} executed. A row has the registers after its instruction; what changed is bold."));
        let mut titles = vec!["Step", "Instruction", "What it does", "Belongs to", "A"];
        titles.extend(has_x.then_some("X"));
        titles.extend(has_scratch.then_some("Scratch memory"));
        body.table("steps", &titles, |table| {
            let mut scratch = [None; SCRATCH_WORDS];
            let mut held = Held::Other;
            for (number, step) in steps.iter().take(MAX_STEPS).enumerate() {
                let after = steps.get(number + 1);
                held = held_after(held, step, endian);
                if let (Op::St | Op::Stx, Some(word)) =
                    (step.insn.op, scratch.get_mut(step.insn.k as usize))
                {
                    *word = Some(if step.insn.op == Op::St { step.a } else { step.x });
                }
                table.element("tr", &[], |tr| {
                    tr.leaf("td", &[], &(number + 1).to_string());
                    let line = lines.get(step.index).copied().unwrap_or_default();
                    tr.element("td", &[("class", "insn")], |td| insn(td, line));
                    let does = does(step, after.map(|next| next.index), verdict, endian);
                    tr.leaf("td", &[("class", "does")], &does);
                    tr.element("td", &[], |td| belongs(td, executed, step, held));
                    register(tr, "a", step.a, after.map_or(step.a, |next| next.a));
                    if has_x {
                        register(tr, "x", step.x, after.map_or(step.x, |next| next.x));
                    }
                    if has_scratch {
                        memory(tr, &scratch, step.insn);
                    }
                });
            }
        });
        if let Some(more @ 1..) = steps.len().checked_sub(MAX_STEPS) {
            body.paragraph(&format!("{} are left out.", counted(more, "more instruction")));
        }
    })
}

/// What A holds after a step.
fn held_after(held: Held, step: &Step, endian: Endian) -> Held {
    match step.insn.op {
        Op::LdWordAbs => Word::from_offset(step.insn.k, endian).map_or(Held::Other, Held::Word),
        Op::LdMem | Op::LdImm | Op::Txa | Op::LdLen => Held::Other,
        _ => held,
    }
}

/// An instruction of a listing, with its comment.
fn insn(td: &mut Markup, line: &str) {
    let (insn, comment) = line.split_once("; ").unwrap_or((line, ""));
    td.leaf("code", &[], insn.split_whitespace().collect::<Vec<_>>().join(" ").as_str());
    if !comment.is_empty() {
        td.text(" ");
        td.span("quiet", comment);
    }
}

fn number(value: u32) -> String {
    match value {
        0..10 => value.to_string(),
        10..0x10000 => format!("{value:#x} ({value})"),
        _ => format!("{value:#x}"),
    }
}

/// What a step does, in words.
fn does(step: &Step, next: Option<usize>, verdict: Verdict, endian: Endian) -> String {
    let Step { insn, a, x, .. } = *step;
    let goes = next.map_or_else(String::new, |next| format!("; goes on at {next}"));
    if let Some((_, source)) = insn.comparison() {
        let right = match source {
            Source::K(k) => number(k),
            Source::X => format!("X = {}", number(x)),
        };
        let question = match insn.op {
            Op::JeqK | Op::JeqX => format!("Is A = {} equal to {right}?", number(a)),
            Op::JgtK | Op::JgtX => format!("Is A = {} greater than {right}?", number(a)),
            Op::JgeK | Op::JgeX => format!("Is A = {} at least {right}?", number(a)),
            _ => format!("Has A = {} a bit of {right}?", number(a)),
        };
        let answer = if step.holds() == Some(true) { "Yes" } else { "No" };
        return format!("{question} {answer}{goes}");
    }
    match insn.op {
        op if op.is_return() => format!("Returns {verdict}"),
        Op::Ja => format!("Goes on at {}", next.unwrap_or_default()),
        Op::LdWordAbs => match Word::from_offset(insn.k, endian) {
            Some(word) => format!("Loads {}", named(word)),
            None => String::new(),
        },
        _ => other(insn),
    }
}

/// A word in words.
fn named(word: Word) -> String {
    match (word, word.argument()) {
        (Word::ARCH, _) => "the architecture".to_owned(),
        (Word::NR, _) => "the number of the syscall".to_owned(),
        (_, Some((index, is_high))) => {
            format!("the {} half of args[{index}]", if is_high { "high" } else { "low" })
        }
        _ => "a half of the instruction pointer".to_owned(),
    }
}

/// An instruction that neither loads from the input nor branches.
fn other(insn: Insn) -> String {
    match (insn.op, insn.op.operand()) {
        (Op::St, _) => format!("Stores A in M[{}]", insn.k),
        (Op::Stx, _) => format!("Stores X in M[{}]", insn.k),
        (Op::Tax, _) => "Copies A to X".to_owned(),
        (Op::Txa, _) => "Copies X to A".to_owned(),
        (Op::LdMem | Op::LdxMem, Operand::Scratch) => format!("Loads M[{}]", insn.k),
        _ if insn.arithmetic().is_some() || insn.op == Op::Neg => "Computes A".to_owned(),
        _ => "Loads a constant".to_owned(),
    }
}

/// A register after a step; bold if the step changed it.
fn register(tr: &mut Markup, name: &str, before: u32, after: u32) {
    let text = format!("{after:#x}");
    tr.element("td", &[("class", name)], |td| match before == after {
        true => td.leaf("code", &[], &text),
        false => td.element("b", &[], |bold| bold.leaf("code", &[], &text)),
    });
}

/// The words of scratch memory that were stored.
fn memory(tr: &mut Markup, scratch: &[Option<u32>; SCRATCH_WORDS], insn: Insn) {
    let is_new = |index: usize| matches!(insn.op, Op::St | Op::Stx) && index == insn.k as usize;
    tr.element("td", &[], |td| {
        let stored = scratch.iter().enumerate().filter_map(|(at, word)| Some((at, (*word)?)));
        for (place, (at, word)) in stored.enumerate() {
            if place > 0 {
                td.text(", ");
            }
            let text = format!("M[{at}] = {word:#x}");
            match is_new(at) {
                true => td.leaf("b", &[], &text),
                false => td.text(&text),
            }
        }
    });
}

/// The part of the policy that a step belongs to.
fn belongs(td: &mut Markup, executed: &Executed<'_>, step: &Step, held: Held) {
    let Executed { rules, name, arch, data, .. } = executed;
    let sites = |td: &mut Markup, sites: &[Site]| {
        sites.iter().take(MAX_RULES).for_each(|site| place(td, name, site));
        if let Some(more @ 1..) = sites.len().checked_sub(MAX_RULES) {
            td.text(&format!(" and {more} more"));
        }
    };
    if step.insn.op.is_return() {
        td.text(if rules.built_in.is_empty() { "verdict" } else { rules.built_in });
        return sites(td, &rules.verdict);
    }
    // What only moves X and scratch memory belongs to nothing.
    let a = Registers::A;
    if !step.insn.reads().intersects(a) && !step.insn.writes().intersects(a) {
        return;
    }
    match held {
        Held::Word(Word::ARCH) => td.text("test of the architecture"),
        Held::Word(Word::NR) => td.text("search for the number"),
        Held::Word(word) => {
            let argument = word.argument().and_then(|(index, _)| {
                let known = facts(arch.syscall_name(data.nr)?)?;
                known.args.get(usize::from(index)).map(|known| known.name)
            });
            td.text(&format!("condition on {}", argument.unwrap_or("arguments")));
            sites(td, &rules.conditions);
        }
        Held::Other => {}
    }
}
