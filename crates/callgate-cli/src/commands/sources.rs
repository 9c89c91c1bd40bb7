//! `callgate sources`: the built-in profiles with their versions, and the forms of other sources.

use std::fmt::Write;

use callgate::source::{Reading, SourceContent, SourceText, read};
use callgate::{explain, explain::Permission};
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::Arch;
use callgate_core::diagram::Store;
use callgate_formats::{BUILT_INS, BuiltIn, BuiltInText, PRESETS};
use callgate_requests::json::Json;

use crate::help::forms_of_sources;
use crate::options::Format;
use crate::output;
use crate::report::{Failure, Result};
use crate::text::did_you_mean;

/// List the built-in profiles with their versions, and the forms of sources
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A built-in profile is a SOURCE as NAME, which is its newest version, or as
NAME@VERSION, where VERSION is any release: it need not be one that changed the
profile. The beginning of a number, such as 29 or 20.10, is the last release
that begins with it. docker-default also takes versions of moby/profiles, and
podman-default those of containers-common.

Syscalls are counted for x86_64, with Docker's default capabilities and Linux
6.18; those that are allowed with some arguments only count, too. `dangerous`
are the allowed ones that `callgate explain` calls dangerous.

Examples:
  callgate sources
  callgate sources docker-default
  callgate diff docker-default@24.0 docker-default

Exit status: 0 success, 2 error.")]
pub(crate) struct SourcesArgs {
    /// List all versions of these built-in profiles, or one as NAME@VERSION, and no other sources
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// The format of the list
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

/// The machine for which syscalls are counted.
const ARCH: Arch = Arch::X86_64;
const KERNEL: KernelVersion = KernelVersion { major: 6, minor: 18 };

pub(crate) fn run(args: &SourcesArgs) -> Result<u8> {
    let names = BUILT_INS.map(|one| one.name);
    let mut rows = Vec::new();
    for name in &args.names {
        let (base, version) = match name.split_once('@') {
            Some((base, version)) => (base, Some(version)),
            None => (name.as_str(), None),
        };
        let Some(one) = BuiltIn::named(base) else {
            let help = format!("the names are {}{}", names.join(", "), did_you_mean(base, &names));
            let message = format!("\"{name}\" is not a built-in profile");
            return Err(Failure::new(message).help(help));
        };
        if let Some(version) = version {
            rows.push(Row::new(one, Some(version))?);
            continue;
        }
        let versions = one.versions();
        if versions.is_empty() {
            rows.push(Row::new(one, None)?);
        }
        for version in versions.iter().rev() {
            rows.push(Row::new(one, Some(version))?);
        }
    }
    if args.names.is_empty() {
        for one in &BUILT_INS {
            rows.push(Row::new(one, None)?);
        }
    }
    output::print(&match (args.format, args.names.is_empty()) {
        (Format::Json, is_all) => format!("{}\n", json(&rows, is_all)),
        (Format::Text, true) => format!(
            "Built-in profiles. `callgate sources NAME` lists all versions of one.\n\n{}\n\
             A SOURCE is one of these, or has one of these forms:\n\n{}",
            table(&rows, true),
            forms_of_sources()
        ),
        (Format::Text, false) => table(&rows, false),
    })?;
    Ok(0)
}

/// A built-in profile in one version.
struct Row {
    built_in: &'static BuiltIn,
    text: BuiltInText,
    allowed: usize,
    some: usize,
    dangerous: Vec<&'static str>,
}

impl Row {
    fn new(built_in: &'static BuiltIn, version: Option<&str>) -> Result<Row> {
        let text = built_in.text(version)?;
        let reading = Reading { arches: vec![ARCH], kernel: Some(KERNEL), ..Reading::new(ARCH) };
        let source = SourceText::new(SourceContent::Preset(text.name.clone()), reading);
        let stack = read(&source, &mut Vec::new()).map_err(Failure::from)?;
        let mut store = Store::default();
        let root = stack.combined_diagram(&mut store, &mut Vec::new()).map_err(Failure::from)?;
        let explained = explain::explain(&store, root, &[ARCH]).arches;
        let count = |permission| explained.iter().map(|arch| arch.count(permission)).sum();
        Ok(Row {
            built_in,
            text,
            allowed: count(Permission::Always),
            some: count(Permission::Sometimes),
            dangerous: explained.iter().flat_map(|arch| arch.dangers.iter().copied()).collect(),
        })
    }
}

/// A table of at most 80 columns.
fn table(rows: &[Row], is_newest: bool) -> String {
    let name = |row: &Row| match is_newest {
        true => row.built_in.name.to_owned(),
        false => row.text.name.clone(),
    };
    // The first of several ranges is that of the main line.
    let releases = |row: &Row| {
        let all = row.text.releases.first().map_or("", String::as_str);
        all.split_once(" and ").map_or(all.to_owned(), |(first, _)| format!("{first} and more"))
    };
    let title = if is_newest { "newest version" } else { "releases" };
    let names = rows.iter().map(|row| name(row).len()).max().unwrap_or(0).max("source".len());
    let versions = rows.iter().map(|row| releases(row).len()).max().unwrap_or(0).max(title.len());
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:names$}  {title:versions$}  {:>7}  {:>9}",
        "source", "allowed", "dangerous"
    );
    for row in rows {
        let _ = writeln!(
            text,
            "{:names$}  {:versions$}  {:>7}  {:>9}",
            name(row),
            releases(row),
            row.allowed + row.some,
            row.dangerous.len()
        );
    }
    text
}

fn json(rows: &[Row], is_all: bool) -> Json {
    let of_row = |row: &Row| {
        let version = row.text.name.split_once('@').map(|(_, version)| version);
        let mut members = vec![
            ("name", row.built_in.name.into()),
            ("what", row.built_in.what.into()),
            ("version", version.map_or(Json::Null, Json::from)),
            ("releases", Json::array(row.text.releases.iter().map(String::as_str))),
            ("arch", ARCH.name().into()),
            ("kernel", KERNEL.to_string().into()),
            ("allowed", (row.allowed as u64).into()),
            ("conditional", (row.some as u64).into()),
            ("dangerous", Json::array(row.dangerous.iter().copied())),
        ];
        if is_all {
            members.push(("versions", Json::array(row.built_in.versions())));
        }
        Json::Object(members)
    };
    let mut members = vec![("profiles", Json::array(rows.iter().map(of_row)))];
    if is_all {
        members.push(("presets", Json::array(PRESETS.map(|name| format!("preset:{name}")))));
    }
    Json::Object(members)
}
