//! The syscalls that the code of programs can make, beside those that were recorded.

use callgate_bpf::SyscallTable;
use std::collections::BTreeMap;
use std::fmt::Write;

use callgate::Arch;
use callgate_elf::{Remark, Site};
use callgate_requests::json::Json;
use callgate_trace::generate::{CodeSyscall, Draft};

use crate::binary::{Code, CodeCall};
use crate::output::wrap;
use crate::text::{counted, printable};

/// The column of the names.
const COLUMN: usize = 16;

/// What was recorded, beside what code can do.
pub(super) struct Classes {
    code: Code,
    /// Recorded, and how often; whether the code can make it.
    recorded: BTreeMap<(Arch, u32), (u64, bool)>,
}

/// Syscalls that the kernel makes programs call, or that the program makes to start; no code has them.
const NOT_IN_CODE: &[&str] = &["restart_syscall", "rt_sigreturn", "execve"];

impl Code {
    /// What a profile grants because of the code.
    pub(super) fn granted(&self) -> Vec<CodeSyscall> {
        let call = |call: &CodeCall| CodeSyscall {
            arch: call.arch,
            nr: call.nr,
            place: printable(&call.place()).to_string(),
        };
        self.calls.iter().map(call).collect()
    }
}

impl Classes {
    pub(super) fn of(code: Code, draft: &Draft) -> Classes {
        let arches: Vec<Arch> = code.calls.iter().map(|call| call.arch).collect();
        let in_code = |arch: Arch, nr: u32| {
            code.calls.iter().any(|call| (call.arch, call.nr) == (arch, nr))
                || arch.syscall_name(nr).is_some_and(|name| NOT_IN_CODE.contains(&name))
        };
        let recorded = draft.recorded().syscalls().filter(|(id, _)| arches.contains(&id.arch));
        let recorded = recorded
            .map(|(id, stats)| ((id.arch, id.nr), (stats.count(), in_code(id.arch, id.nr))));
        let recorded = recorded.collect();
        Classes { code, recorded }
    }

    /// The calls that were not recorded.
    fn only_static(&self) -> impl Iterator<Item = &CodeCall> {
        self.code.calls.iter().filter(|call| !self.recorded.contains_key(&(call.arch, call.nr)))
    }

    /// The recorded syscalls that the code can make, or cannot.
    fn recorded(&self, in_code: bool) -> Vec<String> {
        let of = self.recorded.iter().filter(|(_, (_, known))| *known == in_code);
        of.map(|((arch, nr), _)| {
            arch.syscall_name(*nr).map_or_else(|| format!("number {nr}"), str::to_owned)
        })
        .collect()
    }

    /// The table of the three classes.
    pub(super) fn write(&self, text: &mut String, explains: bool) {
        let mut line = |label: &str, value: &str| {
            let _ = write!(text, "{label:<COLUMN$}");
            wrap(text, value, COLUMN, COLUMN);
        };
        let code = &self.code;
        let calls = code.calls.len();
        line(
            "static",
            &format!(
                "{} in {} of the {} functions of {}",
                counted(calls as u64, "syscall"),
                code.reachable,
                code.functions,
                counted(code.files as u64, "file"),
            ),
        );
        let list = |names: &[String]| match names {
            [] => "none".to_owned(),
            names => format!("{}: {}", names.len(), names.join(", ")),
        };
        if !self.recorded.is_empty() {
            line("  recorded", &list(&self.recorded(true)));
        }
        let mut names: Vec<String> = self.only_static().map(CodeCall::name).collect();
        names.sort_unstable();
        let label = if self.recorded.is_empty() { "  syscalls" } else { "  static only" };
        line(label, &list(&names));
        let missing = self.recorded(false);
        if !missing.is_empty() {
            line(
                "  not static",
                &format!(
                    "{} (recorded; made by other programs, by libraries that are loaded at run time, or by generated code)",
                    list(&missing)
                ),
            );
        }
        if explains {
            text.push('\n');
            for call in self.only_static() {
                let _ = write!(text, "{:<20} ", call.name());
                wrap(text, &origin(call), 21, 21);
            }
        }
    }

    pub(super) fn json(&self) -> Json {
        let code = &self.code;
        let calls = code.calls.iter().map(|call| {
            let recorded = self.recorded.get(&(call.arch, call.nr)).map(|(count, _)| *count);
            Json::Object(vec![
                ("arch", call.arch.name().into()),
                ("call", call.arch.syscall_name(call.nr).into()),
                ("nr", u64::from(call.nr).into()),
                ("class", if recorded.is_some() { "recorded" } else { "static" }.into()),
                ("count", recorded.into()),
                ("sites", Json::array(call.sites.iter().map(site_json))),
            ])
        });
        let missing = self.recorded.iter().filter(|(_, (_, in_code))| !in_code);
        let missing = missing.map(|((arch, nr), (count, _))| {
            Json::Object(vec![
                ("arch", arch.name().into()),
                ("call", arch.syscall_name(*nr).into()),
                ("nr", u64::from(*nr).into()),
                ("count", (*count).into()),
            ])
        });
        let unresolved = code.unresolved.iter().map(|(site, why)| {
            Json::Object(vec![("site", site_json(site)), ("why", (*why).into())])
        });
        let libraries = code.missing.iter().map(|(name, by)| {
            Json::Object(vec![("name", name.as_str().into()), ("needed_by", by.as_str().into())])
        });
        Json::Object(vec![
            ("programs", Json::array(code.programs.iter().map(String::as_str))),
            ("files", code.files.into()),
            ("functions", code.functions.into()),
            ("reachable", code.reachable.into()),
            ("calls", Json::array(calls)),
            ("not_static", Json::array(missing)),
            ("unresolved", Json::array(unresolved)),
            ("missing_libraries", Json::array(libraries)),
            ("incomplete", Json::array(code.remarks.iter().map(remark_json))),
        ])
    }
}

/// `libc.so.6: openat64, reached from main, fopen`.
fn origin(call: &CodeCall) -> String {
    let Some(site) = call.sites.first() else {
        return "the program is started by it".to_owned();
    };
    let mut text = format!("{} in {}", printable(&site.function), printable(&site.file));
    let mut file = site.file.as_str();
    for (number, (in_file, function)) in site.via.iter().rev().enumerate() {
        text += if number == 0 { ", reached from " } else { " < " };
        text += &printable(function).to_string();
        if in_file != file {
            text += &format!(" in {}", printable(in_file));
            file = in_file;
        }
    }
    text
}

fn site_json(site: &Site) -> Json {
    let via = site.via.iter().map(|(file, function)| {
        Json::Object(vec![("file", file.as_str().into()), ("function", function.as_str().into())])
    });
    Json::Object(vec![
        ("file", site.file.as_str().into()),
        ("function", site.function.as_str().into()),
        ("offset", site.offset.into()),
        ("via", Json::array(via)),
    ])
}

fn remark_json(remark: &Remark) -> Json {
    let (why, place) = match remark {
        Remark::LoadsLibraries { file, .. } => ("loads-libraries", file),
        Remark::LooksUpNames { file } => ("looks-up-names", file),
        Remark::NameServices { file, .. } => ("name-services", file),
        Remark::CharacterSets { file } => ("character-sets", file),
        Remark::ExecutableMemory { place } => ("executable-memory", place),
        Remark::OtherArchitecture { place } => ("other-architecture", place),
        Remark::AllOfGo { file } => ("all-of-go", file),
        Remark::Undefined { file, .. } => ("undefined-symbols", file),
    };
    Json::Object(vec![("why", why.into()), ("place", place.as_str().into())])
}
