//! The filter in another language, or as source code.

use callgate::convert::{ConvertError, ConvertOptions, Example, Loss, convert_diagram};
use callgate::emit::{self, SourceOptions};
use callgate_bpf::diagnostic::Diagnostic;
use callgate_bpf::disasm::{Dialect, ListingOptions, disassemble};
use callgate_formats::languages::LanguageId;
use callgate_formats::systemd::SystemdVersion;
use callgate_requests::source::{Message, Messages};
use callgate_requests::syscall;

use super::filter::Shown;
use crate::web::analysis::Analysis;
use crate::web::messages::code;
use crate::web::request::Target;
use crate::{Markup, Section, counted};

/// Writes the filter.
///
/// # Errors
/// If there is no program, or the filter is too complex.
pub(crate) fn convert(
    analysis: &mut Analysis<'_>,
    to: Target,
    closest: bool,
) -> Result<Shown, Messages> {
    match to {
        Target::Policy(target) => policy(analysis, target, closest),
        Target::Code(_) | Target::Assembly => program(analysis, to),
    }
}

fn failed(analysis: &Analysis<'_>, message: String, help: &str) -> Messages {
    vec![Message::about(&analysis.stack.name, Diagnostic::error(None, message).help(help))]
}

fn policy(
    analysis: &mut Analysis<'_>,
    target: LanguageId,
    closest: bool,
) -> Result<Shown, Messages> {
    let reading = &analysis.source.reading;
    let mut options = ConvertOptions::new(target);
    options.kernel = reading.kernel.unwrap_or(options.kernel);
    options.enosys_above = reading.enosys_above;
    options.systemd = reading.systemd.unwrap_or(SystemdVersion::LATEST);
    options.arches.clone_from(&analysis.arches);
    options.closest = closest;
    options.flags = analysis.stack.flags();
    options.listener = analysis.stack.listener().cloned();
    let converting = analysis.stack.to_convert(&mut analysis.store, &mut Vec::new())?;
    let converted = match convert_diagram(&mut analysis.store, converting, &options) {
        Ok(converted) => converted,
        Err(error) if error.losses().is_empty() => {
            return Err(failed(analysis, error.to_string(), &error.help()));
        }
        Err(error) => return Ok(refused(target, &error)),
    };
    let is_exact = converted.losses.is_empty();
    let status = match is_exact {
        true => format!("The policy for {target} has exactly the meaning of the filter."),
        false => format!("The policy for {target} is stricter than the filter."),
    };
    let section = Section::new("converted", format!("Policy for {target}"), |body| {
        body.headline(&status);
        body.quiet(match is_exact {
            true => "It was read back and is the same canonical form, for all architectures, syscalls and arguments.",
            false => "It was read back, and proved to permit nothing that the filter does not.",
        });
        if !is_exact {
            losses(body, &converted.losses);
        }
        losses(body, &converted.notes);
        code(body, "Text of the policy", &converted.text);
    });
    let name = target.writer().map_or("filter", |writer| writer.file);
    let file = Some((name.to_owned(), converted.text));
    Ok(Shown { status, file, ..Shown::of(vec![section]) })
}

fn refused(target: LanguageId, error: &ConvertError) -> Shown {
    let status = format!("{target} cannot express this filter.");
    let section = Section::new("converted", format!("Policy for {target}"), |body| {
        body.headline(&status);
        losses(body, error.losses());
        body.paragraph("Select the option above to get the closest stricter policy.");
    });
    Shown { status, ..Shown::of(vec![section]) }
}

/// What a language cannot express, or what to know about the policy.
fn losses(body: &mut Markup, losses: &[Loss]) {
    if losses.is_empty() {
        return;
    }
    body.element("ul", &[], |list| {
        for loss in losses {
            list.element("li", &[], |item| {
                item.text(&loss.why);
                let names = loss.names();
                if names.len() > 1 {
                    item.text(&format!(" ({}): ", counted(names.len(), "syscall")));
                    item.span("names", &names.join(", "));
                }
                if let Some(Example { data, source, written }) = &loss.example {
                    let arch = syscall::arch_of(data);
                    let name = syscall::arch_name(arch, data.arch);
                    let call = syscall::show(arch, data);
                    let text = format!("{name} {call}: {source} → {written}");
                    item.element("div", &[], |line| line.leaf("code", &[], &text));
                }
            });
        }
    });
}

fn program(analysis: &Analysis<'_>, to: Target) -> Result<Shown, Messages> {
    let compiled = analysis.compiled.as_ref().map_err(Clone::clone)?;
    let (name, text) = match to {
        Target::Code(language) => {
            let options = SourceOptions {
                flags: analysis.stack.flags(),
                endian: analysis.endian,
                arches: analysis.arches.clone(),
                ..SourceOptions::new(language)
            };
            let text = emit::source(&compiled.program, &options);
            let name = match language {
                emit::SourceLanguage::C => "filter.c",
                emit::SourceLanguage::Rust => "filter.rs",
                emit::SourceLanguage::Go => "filter.go",
            };
            (name, text.map_err(|error| failed(analysis, error.to_string(), ""))?)
        }
        _ => {
            let arches = analysis.arches.clone();
            let options = ListingOptions { endian: analysis.endian, arches, name: None };
            ("filter.asm", disassemble(&compiled.program, Dialect::Annotated, &options))
        }
    };
    let status = format!("{}, proved.", counted(compiled.stats.insns, "instruction"));
    let section = Section::new("converted", "Program", |body| {
        body.headline(&status);
        code(body, "Text of the program", &text);
    });
    Ok(Shown { status, file: Some((name.to_owned(), text)), ..Shown::of(vec![section]) })
}
