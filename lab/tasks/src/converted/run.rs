//! Converts, compiles, compares and counts.

use callgate::convert::{ConvertOptions, convert};
use callgate::{Endian, ErrorKind};
use callgate_core::LongProgram;
use callgate_core::diagram::{DiagramError, Func, Store};
use callgate_testing::languages;

use super::compilers::{self, Compiler};
use super::options::Options;
use super::sources::{self, Source};
use crate::agreement::{Counts, Outcome};
use callgate_tasks::Result;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let mut failed = Vec::new();
    for compiler in compilers::all(&options)? {
        let (mut exact, mut unwritten, mut counts) = (0, 0, Counts::default());
        for source in sources::all(&options, compiler.arches())? {
            match compare(&source, &compiler)? {
                None => unwritten += 1,
                Some(Compared { outcome, is_exact, text }) => {
                    exact += u64::from(is_exact && outcome == Outcome::Equal);
                    counts.add(outcome, &format!("# {}\n{text}", source.name));
                }
            }
        }
        println!("\n{}", compiler.target());
        println!("no conversion          {unwritten:6}");
        println!("the same as the source {exact:6}");
        failed.extend(counts.report().err().map(|why| format!("{}: {why}", compiler.target())));
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
}

/// What was written, and what the program makes of it.
struct Compared {
    outcome: Outcome,
    /// Whether nothing was lost.
    is_exact: bool,
    text: String,
}

/// Compares one filter; `None` if there is no conversion. A defect of the conversion is an error.
fn compare(source: &Source, compiler: &Compiler) -> Result<Option<Compared>> {
    let mut options = ConvertOptions::new(compiler.target());
    options.arches = compiler.arches().to_vec();
    options.closest = true;
    let converted = match convert(source.description(), &options) {
        Ok(converted) => converted,
        Err(error) => match error.kind() {
            ErrorKind::Convert(why) if why.is_defect() => {
                return Err(format!("{}: {error}", source.name));
            }
            _ => return Ok(None),
        },
    };
    let (text, is_exact) = (converted.text, converted.losses.is_empty());
    let mut store = Store::default();
    let fail = |error: DiagramError| format!("{}: an MTBDD is too large: {error}", source.name);
    let ours = match is_exact {
        true => source.diagram(&mut store).map_err(fail)?,
        false => {
            let read = languages::read(compiler.target().name(), &text, &converted.arches)?;
            read.diagram(&mut store).map_err(fail)?
        }
    };
    // The program knows only its own architectures.
    if !converted.arches.iter().all(|arch| compiler.arches().contains(arch)) {
        return Ok(None);
    }
    let outcome = match compiler.compile(&text)? {
        Err(why) if why.contains("too many BPF instructions") => Outcome::TooLong,
        Err(why) => Outcome::OneRefuses { who: "the other compiler", why },
        Ok(programs) => match stacked(&mut store, &programs).map_err(fail)? == ours {
            true => Outcome::Equal,
            false => Outcome::Different,
        },
    };
    Ok(Some(Compared { outcome, is_exact, text }))
}

/// The meaning of programs that are installed one after the other.
fn stacked(store: &mut Store, programs: &[LongProgram]) -> Result<Func, DiagramError> {
    store.stacked(programs, |store, program| store.program(program, Endian::Little))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The crate seccompiler needs no other program.
    #[test]
    fn converted_filters_mean_the_same_to_seccompiler() {
        let options = Options { random: 20, seed: 3, ..Options::default() };
        let (mut exact, mut equal) = (0, 0);
        for source in sources::all(&options, Compiler::Firecracker.arches()).unwrap() {
            let Some(one) = compare(&source, &Compiler::Firecracker).unwrap() else { continue };
            match one.outcome {
                Outcome::Equal => equal += 1,
                // seccompiler 0.5.0 knows the names of Linux 6.12, and no user_notif.
                Outcome::OneRefuses { why, .. }
                    if why.contains("Invalid syscall name")
                        || why.contains("unknown variant `user_notif`") =>
                {
                    continue;
                }
                Outcome::TooLong => continue,
                outcome => panic!("{}: {outcome:?}\n{}", source.name, one.text),
            }
            exact += usize::from(one.is_exact);
        }
        assert!(equal > 20 && exact > 1, "{equal} equal, {exact} of them exact");
    }
}
