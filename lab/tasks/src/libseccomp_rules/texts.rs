//! The pseudo filter code of a context beside its program: our reading of the text is the same function.

use callgate::source::{Reading, SourceContent, SourceFormat, SourceText, read};
use callgate::{Arch, SeccompData};
use callgate_core::diagram::Store;
use callgate_profile_fuzz::machine::Machine;
use callgate_tasks::Result;

use super::model::Model;

/// What a comparison found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    Same,
    /// The program does not do what the rules say, and the text does.
    ProgramErrs,
    /// One of the two exceeds the budget of diagrams.
    Undecided,
}

/// Compares the function of a text with that of a program.
///
/// # Errors
/// If the text is not read, or means something that the rules do not.
pub(super) fn compare(
    text: &str,
    program: &[u8],
    machine: Machine,
    model: &Model,
) -> Result<Compared> {
    let arch = Arch::from_name(machine.name()).ok_or("the architecture is not known")?;
    let reading = Reading { endian: Some(arch.endian()), ..Reading::new(arch) };
    let content = SourceContent::Text(text.to_owned());
    let text = SourceText {
        format: SourceFormat::from_name("pfc"),
        ..SourceText::new(content, reading.clone())
    };
    let program = SourceText::new(SourceContent::Bytes(program.to_vec()), reading);
    let mut warnings = Vec::new();
    let of = |messages: callgate::source::Messages| format!("the text: {}", messages[0].diagnostic);
    let text = read(&text, &mut warnings).map_err(of)?;
    if let Some(warning) = warnings.first() {
        return Err(format!("the text: {}", warning.diagnostic));
    }
    let mut store = Store::default();
    let program = read(&program, &mut warnings)
        .and_then(|stack| stack.combined_diagram(&mut store, &mut Vec::new()));
    let text = text.combined_diagram(&mut store, &mut Vec::new());
    let (Ok(text), Ok(program)) = (text, program) else { return Ok(Compared::Undecided) };
    if text == program {
        return Ok(Compared::Same);
    }
    let start = SeccompData { arch: arch.token(), ..SeccompData::default() };
    let witness = store.witness(text, program, start).map_err(|error| error.to_string())?;
    let data = witness.ok_or("two functions without a difference")?;
    let verdict = |func| store.evaluate(func, &data).map_err(|error| error.to_string());
    let (says, does) = (verdict(text)?.0, verdict(program)?.0);
    let expected = model.verdicts(data.arch, data.nr, &data.args);
    match expected.contains(&says) && !expected.contains(&does) {
        true => Ok(Compared::ProgramErrs),
        false => Err(format!(
            "the text says {says:#x} and the program returns {does:#x}, of {expected:x?}, for {data:x?}"
        )),
    }
}
