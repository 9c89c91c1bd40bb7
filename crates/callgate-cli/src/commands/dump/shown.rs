//! Programs that are shown and written.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anstyle::Style;
use callgate::{Action, Arch, Verdict};
use callgate_bpf::FilterFlags;
use callgate_bpf::disasm::Dialect;
use callgate_core::{Op, Program};
use callgate_linux::{InstalledFilter, kernel_insns};
use clap::ValueEnum;

use crate::emit::{self, Emit};
use crate::options::NATIVE_ENDIAN;
use crate::output::{self, Directory};
use crate::report::{Failure, Result};
use crate::text::counted;
use callgate_requests::json::Json;
use callgate_requests::source::arches_in;

pub(super) const HEADING: Style = Style::new().bold();

/// A program that is shown.
pub(super) struct ShownProgram {
    /// The index of the filter, `None` for the merged program.
    pub(super) index: Option<usize>,
    pub(super) program: Program,
    pub(super) arches: Vec<Arch>,
    pub(super) flags: Option<FilterFlags>,
}

impl ShownProgram {
    pub(super) fn of((index, filter): (usize, &InstalledFilter)) -> ShownProgram {
        let arches = arches_in(&filter.program, NATIVE_ENDIAN);
        ShownProgram {
            index: Some(index),
            program: filter.program.clone(),
            arches,
            flags: filter.flags,
        }
    }

    /// Its name in tables, and the stem of its file.
    pub(super) fn name(&self) -> String {
        self.index.map_or_else(|| "merged".to_owned(), |index| index.to_string())
    }

    /// Whether it returns USER_NOTIF.
    pub(super) fn notifies(&self) -> bool {
        let mut returned = self.program.iter().filter(|insn| insn.op == Op::RetK);
        returned.any(|insn| matches!(Verdict(insn.k).action(), Action::UserNotif(_)))
    }

    pub(super) fn text(&self, dialect: Dialect) -> String {
        emit::text(&self.program, dialect, NATIVE_ENDIAN, &self.arches)
    }

    pub(super) fn remarks(&self) -> Vec<String> {
        let flags = self.flags.filter(|flags| !flags.is_empty()).map(|flags| flags.to_string());
        let listener = self.notifies().then(|| "notifications".to_owned());
        flags.into_iter().chain(listener).collect()
    }

    pub(super) fn json(&self) -> Json {
        let flags = self.flags.map(|flags| Json::array(flags.each().map(|(_, name, _)| name)));
        let mut fields = vec![];
        fields.extend(self.index.map(|index| ("index", index.into())));
        fields.extend([
            ("insns", self.program.len().into()),
            ("kernel_insns", kernel_insns(&self.program).into()),
            ("flags", flags.into()),
            ("notifies", self.notifies().into()),
            ("arches", Json::array(self.arches.iter().map(|arch| arch.name()))),
            ("program", emit::rows(&self.program)),
        ]);
        Json::Object(fields)
    }
}

/// Writes the programs, and returns the path of the first one: to a file, if the path has the extension of a form, or into a
/// directory. A file is that of the merged program, or of the only one; of several, each has its number before the extension.
pub(super) fn write(path: &Path, emit: Emit, shown: &[ShownProgram]) -> Result<Option<PathBuf>> {
    let extension = path.extension().filter(|extension| is_of_a_form(&extension.to_string_lossy()));
    let Some(extension) = extension.filter(|_| !path.is_dir()) else {
        write_all(path, emit, shown)?;
        return Ok(shown.first().map(|one| path.join(file_name(one, emit))));
    };
    let merged = shown.iter().find(|one| one.index.is_none());
    if let Some(only) = merged.or(if let [only] = shown { Some(only) } else { None }) {
        output::write_file(path, &bytes(only, emit))?;
        return Ok(Some(path.to_owned()));
    }
    let numbered = |one: &ShownProgram| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        path.with_file_name(format!("{stem}-{}.{}", one.name(), extension.to_string_lossy()))
    };
    for one in shown {
        output::write_file(&numbered(one), &bytes(one, emit))?;
    }
    Ok(shown.first().map(numbered))
}

fn file_name(shown: &ShownProgram, emit: Emit) -> String {
    format!("{}.{}", shown.name(), emit.extension())
}

/// A program in a form.
fn bytes(shown: &ShownProgram, emit: Emit) -> Vec<u8> {
    match emit.dialect() {
        Some(dialect) => shown.text(dialect).into_bytes(),
        None if emit == Emit::Json => format!("{}\n", shown.json()).into_bytes(),
        None if emit == Emit::Crun => emit::crun(&shown.program, NATIVE_ENDIAN).into_bytes(),
        None => shown.program.to_bytes(NATIVE_ENDIAN),
    }
}

/// Writes every program into a directory, and creates that if necessary.
fn write_all(directory: &Path, emit: Emit, shown: &[ShownProgram]) -> Result<()> {
    let failed = |what: &str, error: &std::io::Error| {
        let why = callgate_linux::error_text(error);
        Failure::about(
            directory.display().to_string(),
            format!("the directory cannot be {what}: {why}"),
        )
        .help("name a directory that exists and is writable")
    };
    let opened = Directory::create_all(directory).map_err(|error| failed("created", &error))?;
    let names: Vec<String> = shown.iter().map(|shown| file_name(shown, emit)).collect();
    let entries = opened.names().map_err(|error| failed("read", &error))?;
    let mut others: Vec<String> = entries
        .into_iter()
        .filter_map(|name| name.into_string().ok())
        .filter(|name| is_of_a_dump(name) && !names.contains(name))
        .collect();
    others.sort();
    if let Some(first) = others.first() {
        let more = match others.len() - 1 {
            0 => String::new(),
            more => format!(" and {}", counted(more as u64, "other file")),
        };
        let what = format!(
            "the directory contains {first}{more} of another dump, which would mix with the new ones"
        );
        return Err(Failure::about(directory.display().to_string(), what)
            .help("remove these files, or name another directory"));
    }
    for (shown, name) in shown.iter().zip(names) {
        let bytes = bytes(shown, emit);
        output::write_file_in(&opened, OsStr::new(&name), &directory.join(&name), &bytes)?;
    }
    Ok(())
}

/// Whether a file has a name that `write_all` gives.
fn is_of_a_dump(name: &str) -> bool {
    name.split_once('.').is_some_and(|(stem, extension)| {
        let is_number = !stem.is_empty() && stem.bytes().all(|byte| byte.is_ascii_digit());
        (is_number || stem == "merged") && is_of_a_form(extension)
    })
}

fn is_of_a_form(extension: &str) -> bool {
    Emit::value_variants().iter().any(|form| form.extension() == extension)
}

pub(super) fn heading(shown: &ShownProgram) -> String {
    shown.index.map_or_else(|| "merged".to_owned(), |index| format!("filter {index}"))
}

pub(super) fn number_of_filters(count: usize) -> String {
    if count == 0 { "no filter".to_owned() } else { counted(count as u64, "filter") }
}
