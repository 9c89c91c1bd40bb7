//! The script: header, input, the two sides, and the query.

use callgate_core::policy::Policy;
use callgate_core::template::{Template, Variable};
use callgate_core::{Endian, LongProgram};

use crate::variables::{Untranslatable, declare};
use crate::writer::{WORD, Writer};
use crate::{policy, program};

/// The last line of each script: a command in a comment, because solvers report an error for it after `unsat`.
pub const GET_VALUE: &str = ";(get-value (nr arch instruction_pointer arg0 arg1 arg2 arg3 arg4 arg5 \
    verdict_a verdict_b))";

/// A filter to be translated.
#[derive(Clone, Copy, Debug)]
pub enum Filter<'a> {
    /// A policy; the first rule that matches decides.
    Policy(&'a Policy),
    /// The instructions of a program.
    Program(&'a LongProgram),
    /// A program with variables. Variables of both sides with the same name are the same, and must have the same width.
    Template(&'a Template),
}

impl Filter<'_> {
    fn variables(&self) -> &[Variable] {
        match self {
            Filter::Policy(policy) => policy.variables(),
            Filter::Program(_) => &[],
            Filter::Template(template) => template.variables(),
        }
    }
}

/// One side of the comparison.
#[derive(Clone, Debug)]
pub struct Side<'a> {
    /// The name in the comment at the beginning of the script.
    pub name: &'a str,
    /// A stack of filters, the oldest first; usually a single one.
    pub filters: Vec<Filter<'a>>,
}

/// The script that compares two sides on machines of this byte order. The lines of `remarks` become part of
/// the comment at its beginning; line breaks in them are escaped.
///
/// # Errors
/// If two filters have a variable of the same name with different widths; otherwise, only because of a defect in this crate or
/// `callgate-bpf`.
pub fn script(
    endian: Endian,
    a: &Side<'_>,
    b: &Side<'_>,
    remarks: &[String],
) -> Result<String, Untranslatable> {
    let mut writer = Writer::default();
    header(&mut writer, endian, [a, b], remarks);
    input(&mut writer, endian);
    let filters = a.filters.iter().chain(&b.filters);
    declare(&mut writer, filters.flat_map(Filter::variables))?;
    for (name, side) in [("a", a), ("b", b)] {
        writer.line("");
        writer.comment(&format!("Filter {name}: {}", side.name));
        let verdict = stack(&mut writer, name, &side.filters)?;
        writer.line(&format!("(declare-const verdict_{name} {WORD})"));
        writer.line(&format!("(assert (= verdict_{name} {verdict}))"));
    }
    writer.line("");
    writer.comment("Is there a syscall for which they return different values?");
    writer.line("(assert (not (= verdict_a verdict_b)))");
    writer.line("(check-sat)");
    writer.comment("After sat, this prints the syscall; remove the semicolon:");
    writer.line(GET_VALUE);
    Ok(writer.finish())
}

fn header(writer: &mut Writer, endian: Endian, sides: [&Side<'_>; 2], remarks: &[String]) {
    let order = match endian {
        Endian::Little => "little-endian",
        Endian::Big => "big-endian",
    };
    writer.comment("Do two seccomp filters return the same 32-bit value for every syscall?");
    for (name, side) in ["a", "b"].into_iter().zip(sides) {
        writer.comment(&format!("  {name}: {}", side.name));
    }
    remarks.iter().for_each(|remark| writer.comment(remark));
    writer.comment(&format!("All 64 bytes of struct seccomp_data are free; machines are {order}."));
    writer.comment("unsat: the filters are equivalent.");
    writer.comment("sat: they are not, and the model is a syscall for which they differ.");
    writer.comment("Run: z3 FILE, or cvc5 --bitblast=eager FILE");
    writer.line("");
    writer.line("(set-option :produce-models true)");
    writer.line("(set-logic QF_BV)");
}

/// Declares the fields of `struct seccomp_data`, which the solver chooses, and defines its words, which programs load.
fn input(writer: &mut Writer, endian: Endian) {
    let wide = ["instruction_pointer", "arg0", "arg1", "arg2", "arg3", "arg4", "arg5"];
    let fields: Vec<(&str, u32)> = ["nr", "arch"]
        .map(|field| (field, 32))
        .into_iter()
        .chain(wide.map(|field| (field, 64)))
        .collect();
    writer.line("");
    writer.comment("struct seccomp_data");
    for (field, bits) in &fields {
        writer.line(&format!("(declare-const {field} (_ BitVec {bits}))"));
    }
    writer.comment("Its 16 words by byte offset: what `ld [offset]` loads");
    let mut offset = 0;
    for (field, bits) in &fields {
        let (low, high) =
            (format!("((_ extract 31 0) {field})"), format!("((_ extract 63 32) {field})"));
        let words = match (*bits, endian) {
            (32, _) => vec![(*field).to_owned()],
            (_, Endian::Little) => vec![low, high],
            (_, Endian::Big) => vec![high, low],
        };
        for word in words {
            writer.define(&format!("word{offset}"), WORD, &word, "");
            offset += 4;
        }
    }
}

/// Defines the kernel's verdict for a stack, and returns its term. A single filter is not changed, so that data of ALLOW,
/// which the kernel ignores, are also compared.
fn stack(
    writer: &mut Writer,
    name: &str,
    filters: &[Filter<'_>],
) -> Result<String, Untranslatable> {
    if let [filter] = filters {
        return one(writer, name, filter);
    }
    writer.comment("A stack of filters, 0 is the oldest. The kernel runs the newest first and");
    writer.comment("keeps the value with the smallest action as a signed number.");
    let mut kept = "#x7fff0000".to_owned();
    for (number, filter) in filters.iter().enumerate().rev() {
        let part = format!("{name}.{number}");
        writer.comment(&format!("Filter {part}"));
        let next = one(writer, &part, filter)?;
        let action = |verdict: &str| format!("(bvand {verdict} #xffff0000)");
        let is_smaller = format!("(bvslt {} {})", action(&next), action(&kept));
        let kept_now = format!("{part}.kept");
        writer.define(&kept_now, WORD, &format!("(ite {is_smaller} {next} {kept})"), "");
        kept = kept_now;
    }
    Ok(kept)
}

fn one(writer: &mut Writer, name: &str, filter: &Filter<'_>) -> Result<String, Untranslatable> {
    let outcomes = match filter {
        Filter::Policy(policy) => policy::translate(writer, name, policy),
        Filter::Program(program) => program::translate(writer, name, program, &[], &[])?,
        Filter::Template(template) => {
            let (patches, variables) = (template.patches(), template.variables());
            program::translate(writer, name, template.program(), patches, variables)?
        }
    };
    Ok(outcomes.define(writer, name))
}
