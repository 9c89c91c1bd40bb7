//! Translation of filters to SMT-LIB 2, so that another solver can check that two of them are equivalent.
//!
//! [`script`] writes one script in the logic `QF_BV`. It is unsatisfiable exactly when both filters return
//! the same 32-bit value for every `struct seccomp_data`; otherwise a model is a syscall for which they differ.
//! Nothing is restricted: all 64 bytes are free, whatever the filters are for.
//!
//! The translation is independent of the proof in `callgate-proof`: it does not use the decision diagram, and
//! it has its own table of what instructions do. From that crate it takes the types of policies only.
//!
//! - `policy.rs`: a policy, rule by rule;
//! - `program.rs`: a program, instruction by instruction, in static single assignment form;
//! - `outcome.rs`: from the conditions under which values are returned to one value.
//!
//! The size of a script is linear in the size of the filters. Terms are not nested deeper than the conditions of
//! the policy, because solvers read terms recursively: everything else is a definition of its own.
//!
//! ```
//! use callgate_bpf::{Endian, Insn, LongProgram, Op};
//! use callgate_smt::{Filter, Side, script};
//!
//! let program = |verdict| LongProgram::new(vec![Insn::new(Op::RetK, verdict)]);
//! let (allow, kill) = (program(0x7fff_0000)?, program(0)?);
//! let side = |name, program| Side { name, filters: vec![Filter::Program(program)] };
//! let text = script(Endian::Little, &side("allow", &allow), &side("kill", &kill), &[])?;
//! assert!(text.contains("(define-fun a.at0 () Bool true) ; ret #0x7fff0000"));
//! assert!(text.contains("(assert (not (= verdict_a verdict_b)))\n(check-sat)\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Sources: the SMT-LIB Standard, version 2.6; the SMT-LIB theory `FixedSizeBitVectors`; for what filters mean,
//! `seccomp(2)`, `kernel/seccomp.c` and `net/core/filter.c`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod error;
mod outcome;
mod policy;
mod program;
#[cfg(any(test, feature = "random"))]
pub mod random;
#[cfg(test)]
mod tests;
mod writer;

use callgate_bpf::{Endian, LongProgram};
use callgate_proof::policy::Policy;

use writer::{WORD, Writer};

pub use error::Untranslatable;

/// The last line of each script, a command in a comment: solvers report an error for it after `unsat`.
pub const GET_VALUE: &str = ";(get-value (nr arch instruction_pointer arg0 arg1 arg2 arg3 arg4 arg5 \
    verdict_a verdict_b))";

/// A filter to be translated.
#[derive(Clone, Copy, Debug)]
pub enum Filter<'a> {
    /// The rules of a policy; the first that matches decides.
    Policy(&'a Policy),
    /// The instructions of a program.
    Program(&'a LongProgram),
}

/// One side of the comparison.
#[derive(Clone, Debug)]
pub struct Side<'a> {
    /// What the comment at the beginning of the script calls it.
    pub name: &'a str,
    /// The filters that are installed on top of each other, the oldest first; usually one.
    pub filters: Vec<Filter<'a>>,
}

/// The script that compares two sides on machines of this byte order. The lines of `remarks` become part of
/// the comment at its beginning; what would end a comment is escaped.
///
/// # Errors
/// Never, unless this crate or `callgate-bpf` is defective.
pub fn script(
    endian: Endian,
    a: &Side<'_>,
    b: &Side<'_>,
    remarks: &[String],
) -> Result<String, Untranslatable> {
    let mut writer = Writer::default();
    header(&mut writer, endian, [a, b], remarks);
    input(&mut writer, endian);
    for (name, side) in [("a", a), ("b", b)] {
        writer.blank();
        writer.comment(&format!("Filter {name}: {}", side.name));
        let verdict = stack(&mut writer, name, &side.filters)?;
        writer.line(&format!("(declare-const verdict_{name} {WORD})"));
        writer.line(&format!("(assert (= verdict_{name} {verdict}))"));
    }
    writer.blank();
    writer.comment("Is there a call for which they return different values?");
    writer.line("(assert (not (= verdict_a verdict_b)))");
    writer.line("(check-sat)");
    writer.comment("After sat, this prints the call; remove the semicolon:");
    writer.line(GET_VALUE);
    Ok(writer.finish())
}

fn header(writer: &mut Writer, endian: Endian, sides: [&Side<'_>; 2], remarks: &[String]) {
    let order = match endian {
        Endian::Little => "little-endian",
        Endian::Big => "big-endian",
    };
    writer.comment("Do two seccomp filters return the same 32-bit value for every call?");
    for (name, side) in ["a", "b"].into_iter().zip(sides) {
        writer.comment(&format!("  {name}: {}", side.name));
    }
    remarks.iter().for_each(|remark| writer.comment(remark));
    writer.comment(&format!("All 64 bytes of struct seccomp_data are free; machines are {order}."));
    writer.comment("unsat: the filters are equivalent.");
    writer.comment("sat: they are not, and the model is a call for which they differ.");
    writer.comment("Run: z3 FILE, or cvc5 --bitblast=eager FILE");
    writer.blank();
    writer.line("(set-option :produce-models true)");
    writer.line("(set-logic QF_BV)");
}

/// `struct seccomp_data`: its fields, which the solver chooses, and its words, which programs load.
fn input(writer: &mut Writer, endian: Endian) {
    const FIELDS: [(&str, u32); 9] = [
        ("nr", 32),
        ("arch", 32),
        ("instruction_pointer", 64),
        ("arg0", 64),
        ("arg1", 64),
        ("arg2", 64),
        ("arg3", 64),
        ("arg4", 64),
        ("arg5", 64),
    ];
    writer.blank();
    writer.comment("struct seccomp_data");
    for (field, bits) in FIELDS {
        writer.line(&format!("(declare-const {field} (_ BitVec {bits}))"));
    }
    writer.comment("Its 16 words by byte offset: what `ld [offset]` loads");
    let mut offset = 0;
    for (field, bits) in FIELDS {
        let (low, high) =
            (format!("((_ extract 31 0) {field})"), format!("((_ extract 63 32) {field})"));
        let words = match (bits, endian) {
            (32, _) => vec![field.to_owned()],
            (_, Endian::Little) => vec![low, high],
            (_, Endian::Big) => vec![high, low],
        };
        for word in words {
            writer.define(&format!("word{offset}"), WORD, &word, "");
            offset += 4;
        }
    }
}

/// Defines what the kernel makes of the filters on top of each other; the term for it. One filter alone is
/// taken as it is, so that data of ALLOW, which the kernel ignores, count as well.
fn stack(
    writer: &mut Writer,
    name: &str,
    filters: &[Filter<'_>],
) -> Result<String, Untranslatable> {
    if let [filter] = filters {
        return one(writer, name, filter);
    }
    writer.comment(
        "Installed on top of each other, 0 is the oldest. The kernel asks the newest first and",
    );
    writer.comment("keeps the value whose action, as a signed number, is the smallest.");
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
        Filter::Program(program) => program::translate(writer, name, program)?,
    };
    Ok(outcomes.define(writer, name))
}
