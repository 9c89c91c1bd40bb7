//! The helper: gives rules to a library.

use std::fmt::Write;
use std::path::Path;

use super::library::{ArgCmp, Context, Library};

/// `SCMP_FLTATR_ACT_BADARCH` and `SCMP_FLTATR_CTL_OPTIMIZE`.
const BAD_ARCH: u32 = 2;
const OPTIMIZE: u32 = 8;

/// Loads a library and answers a question, both as text: lines `version`, `path`, `ours`, and `program` with the
/// instructions in hexadecimal digits.
///
/// # Errors
/// If the library cannot be loaded, or refuses the rules.
pub fn answer(library: &Path, question: &str) -> Result<String, String> {
    let library = Library::load(library)?;
    let mut text = format!(
        "version {}\npath {}\nours {}\n",
        library.version(),
        library.path().display(),
        library.is_ours()?
    );
    if !question.is_empty() {
        text += "program ";
        for byte in program(&library, question)? {
            let _ = write!(text, "{byte:02x}");
        }
        text.push('\n');
    }
    Ok(text)
}

fn program(library: &Library, question: &str) -> Result<Vec<u8>, String> {
    let (mut level, mut bad_arch, mut default) = (1, 0, 0);
    let mut contexts: Vec<(Context<'_>, bool)> = Vec::new();
    for line in question.lines() {
        let wrong = || format!("unexpected line {line:?}");
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["level", value] => level = number(value).ok_or_else(wrong)? as u32,
            ["bad_arch", value] => bad_arch = number(value).ok_or_else(wrong)? as u32,
            ["default", value] => default = number(value).ok_or_else(wrong)? as u32,
            ["arch", name] => contexts.push(context(library, name, default, bad_arch, level)?),
            ["rule", nr, name, action, comparisons @ ..] => {
                let (context, is_native) = contexts.last().ok_or_else(wrong)?;
                let nr = match is_native {
                    true => number(nr).ok_or_else(wrong)? as u32 as i32,
                    // libseccomp takes numbers of this machine, and pseudo numbers.
                    false => match library.number_here(name) {
                        -1 => {
                            return Err(format!(
                                "libseccomp {} does not know {name}",
                                library.version()
                            ));
                        }
                        number => number,
                    },
                };
                let action = number(action).ok_or_else(wrong)? as u32;
                let comparisons: Option<Vec<ArgCmp>> =
                    comparisons.iter().map(|word| comparison(word)).collect();
                let result = context.rule(action, nr, &comparisons.ok_or_else(wrong)?);
                if result != 0 {
                    return Err(format!("libseccomp refuses a rule for {name}: {result}"));
                }
            }
            _ => return Err(wrong()),
        }
    }
    let mut contexts = contexts.into_iter().map(|(context, _)| context);
    let all = contexts.next().ok_or("no architecture")?;
    for other in contexts {
        match all.merge(other) {
            0 => {}
            result => return Err(format!("libseccomp refuses to join architectures: {result}")),
        }
    }
    all.program()
}

/// A context for one architecture, and whether it is that of this machine.
fn context<'l>(
    library: &'l Library,
    arch: &str,
    default: u32,
    bad_arch: u32,
    level: u32,
) -> Result<(Context<'l>, bool), String> {
    let context = library.context(default)?;
    let is_native = library.token(arch) == Some(library.native());
    let mut results =
        vec![context.set_attribute(BAD_ARCH, bad_arch), context.set_attribute(OPTIMIZE, level)];
    if !is_native {
        results.push(context.add_arch(arch));
        results.push(context.remove_native());
    }
    match results.iter().find(|result| **result != 0) {
        None => Ok((context, is_native)),
        Some(result) => Err(format!("libseccomp refuses the architecture {arch}: {result}")),
    }
}

fn comparison(word: &str) -> Option<ArgCmp> {
    let mut parts = word.split(':').map(number);
    let mut next = || parts.next().flatten();
    let (arg, op) = (next()? as u32, next()? as i32);
    Some(ArgCmp { arg, op, datum_a: next()?, datum_b: next()? })
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
