//! Runs the files in `filetests/`: a filter, and below it what the compiler makes of it. Each file is a test of
//! its own; `cargo test -p callgate --test filetests -- NAME` runs those whose path contains `NAME`.
//!
//! A file begins with a sentence that says what it shows, and settings (`key: value`). Then come
//! parts, each after a line that begins with `---`:
//! - `profile`, `rules` or `program`: what is compiled, as JSON, as rules whose conditions nest (see
//!   `common/rules.rs`), or in any textual form of a program;
//! - `facts`: what is known of the result;
//! - `listing`: the result itself;
//! - `error`: the message, when there is no result.
//!
//! With `BLESS=1` in the environment, what comes after the first part is written anew; look at the
//! difference before you believe it. What must not change is a setting:
//!
//! | setting | meaning |
//! |---|---|
//! | `arches` | exactly these; without it, x86_64 and what the profile adds |
//! | `model`, `aim`, `weights` | what to compile for; weights as `name=count`, else uniform |
//! | `dialect`, `kernel`, `caps`, `enosys-above` | how to read a profile; kernel 6.18, no capabilities and `off` are the defaults |
//! | `endian` | of a program |
//! | `require` | `insns`, `expected_insns`, `constant_allow` or a mnemonic, `=`, `<=` or `>=`, a number |
//! | `same-program-as` | another file of this directory that must give the same bytes |
//! | `show` | `facts` leaves the listing out |

mod common;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use callgate::bpf::{Program, disasm, text};
use callgate::codegen::{Aim, Model, Weights};
use callgate::compile::{Compiled, Options, compile, recompile};
use callgate::frontend::oci::{self, Dialect};
use callgate::syscalls::KernelVersion;
use callgate::{Arch, Endian};

/// A file, taken apart.
struct Case {
    path: PathBuf,
    settings: Vec<(String, String)>,
    /// Everything up to and including the source.
    head: String,
    form: Form,
    source: String,
    /// What comes after it.
    expected: String,
}

/// What is compiled.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Profile,
    Rules,
    Program,
}

impl Case {
    fn read(path: &Path) -> Case {
        let text = std::fs::read_to_string(path).unwrap();
        let (mut settings, mut head, mut source, mut expected) =
            (Vec::new(), String::new(), String::new(), String::new());
        let (mut parts, mut form) = (0, Form::Profile);
        for line in text.lines() {
            if let Some(part) = line.strip_prefix("--- ") {
                parts += 1;
                if parts == 1 {
                    form = match part {
                        "profile" => Form::Profile,
                        "rules" => Form::Rules,
                        "program" => Form::Program,
                        _ => panic!("{}: {part}", path.display()),
                    };
                    head += &format!("{line}\n");
                    continue;
                }
            }
            let to = match parts {
                0 => {
                    if let Some((key, value)) = line.split_once(": ")
                        && key.chars().all(|c| c.is_ascii_lowercase() || c == '-')
                    {
                        settings.push((key.to_owned(), value.trim().to_owned()));
                    }
                    &mut head
                }
                1 => &mut source,
                _ => &mut expected,
            };
            writeln!(to, "{line}").unwrap();
        }
        assert!(parts > 0, "{}: no part", path.display());
        head += &source;
        Case { path: path.to_owned(), settings, head, form, source, expected }
    }

    fn all(&self, key: &str) -> impl Iterator<Item = &str> {
        self.settings.iter().filter(move |(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    fn setting(&self, key: &str) -> Option<&str> {
        self.all(key).last()
    }

    fn arches(&self) -> Vec<Arch> {
        let names = self.setting("arches").unwrap_or("x86_64").split_whitespace();
        names.map(|name| Arch::from_name(name).unwrap()).collect()
    }

    fn options(&self) -> Options {
        let model = self.setting("model").unwrap_or("cached");
        let aim = self.setting("aim").unwrap_or("speed");
        let weights = self.setting("weights").map_or(Weights::uniform(), |counts| {
            let pairs = counts.split_whitespace().map(|pair| {
                let (name, count) = pair.split_once('=').unwrap();
                (name.to_owned(), count.parse().unwrap())
            });
            Weights::counts(pairs).unwrap()
        });
        Options {
            model: *Model::ALL.iter().find(|known| known.name() == model).unwrap(),
            aim: *Aim::ALL.iter().find(|known| known.name() == aim).unwrap(),
            weights,
            ..Options::default()
        }
    }

    /// The result, and what it was made for; or the message.
    fn compile(&self) -> Result<(Compiled, Vec<Arch>, Endian), String> {
        let options = self.options();
        if self.form == Form::Rules {
            let policy = common::rules::policy(&self.source, &self.arches());
            let compiled = compile(&policy, &options).map_err(|error| error.to_string())?;
            return Ok((compiled, policy.arches().collect(), policy.endian()));
        }
        if self.form == Form::Program {
            let arches = self.arches();
            let endian = match self.setting("endian") {
                Some("big") => Endian::Big,
                _ => Endian::Little,
            };
            let raw = text::parse(&self.source, endian).map_err(|error| error.to_string())?;
            let program = Program::from_raw(&raw).map_err(|error| error.to_string())?;
            let compiled = recompile(&program, endian, &arches, &options);
            return Ok((compiled.map_err(|error| error.to_string())?, arches, endian));
        }
        let kernel: KernelVersion = self.setting("kernel").unwrap_or("6.18").parse().unwrap();
        let mut reading = oci::ReadOptions::new(Arch::X86_64, kernel);
        if self.setting("arches").is_some() {
            reading.arches = self.arches();
        }
        reading.dialect = self.setting("dialect").map(|name| Dialect::from_name(name).unwrap());
        reading.caps = self.setting("caps").unwrap_or("none").parse().unwrap();
        let enosys_above = self.setting("enosys-above") == Some("on");
        reading.enosys_above =
            Some(if enosys_above { oci::EnosysAbove::On } else { oci::EnosysAbove::Off });
        let profile = oci::read(&self.source, &reading).map_err(|messages| {
            messages.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        })?;
        let policy = profile.policy;
        let compiled = compile(&policy, &options).map_err(|error| error.to_string())?;
        Ok((compiled, policy.arches().collect(), policy.endian()))
    }

    fn run(&self) -> Result<Option<Program>, String> {
        let (found, program) = match self.compile() {
            Ok((compiled, arches, endian)) => {
                for requirement in self.all("require") {
                    check(&compiled, requirement)?;
                }
                let mut found = String::from("--- facts\n");
                for (fact, value) in facts(&compiled) {
                    writeln!(found, "{fact}: {value}").unwrap();
                }
                if self.setting("show") != Some("facts") {
                    let options = disasm::ListingOptions { endian, arches };
                    let dialect = disasm::Dialect::Annotated;
                    let listing = disasm::disassemble(&compiled.program, dialect, &options);
                    write!(found, "--- listing\n{listing}").unwrap();
                }
                (found, Some(compiled.program))
            }
            Err(message) => (format!("--- error\n{message}\n"), None),
        };
        if found != self.expected {
            if std::env::var_os("BLESS").is_some() {
                std::fs::write(&self.path, format!("{}{found}", self.head)).unwrap();
            } else {
                return Err(format!(
                    "is not what is expected:\n{}",
                    changes(&self.expected, &found)
                ));
            }
        }
        Ok(program)
    }
}

fn facts(compiled: &Compiled) -> [(&'static str, String); 3] {
    let stats = &compiled.stats;
    assert!(stats.proved);
    let mean = stats.expected_insns;
    [
        ("insns", stats.insns.to_string()),
        ("expected_insns", mean.map_or("none".to_owned(), |mean| format!("{mean:.2}"))),
        ("constant_allow", stats.constant_allow.to_string()),
    ]
}

/// A requirement such as `jset = 1`.
fn check(compiled: &Compiled, requirement: &str) -> Result<(), String> {
    let [what, relation, number] = *requirement.split_whitespace().collect::<Vec<_>>() else {
        return Err(format!("`require: {requirement}` is not `what = number`"));
    };
    let wanted: f64 = number.parse().map_err(|error| format!("{number}: {error}"))?;
    let given: f64 = match facts(compiled).iter().find(|(name, _)| *name == what) {
        Some((_, value)) => value.parse().unwrap(),
        None => compiled.program.iter().filter(|insn| insn.op.mnemonic() == what).count() as f64,
    };
    let holds = match relation {
        "=" => given == wanted,
        "<=" => given <= wanted,
        ">=" => given >= wanted,
        _ => return Err(format!("`{relation}` is not one of =, <=, >=")),
    };
    if holds { Ok(()) } else { Err(format!("requires {requirement}, has {given}")) }
}

/// The lines that are only in one of two texts.
fn changes(expected: &str, found: &str) -> String {
    let mut lines: BTreeMap<&str, i32> = BTreeMap::new();
    expected.lines().for_each(|line| *lines.entry(line).or_default() -= 1);
    found.lines().for_each(|line| *lines.entry(line).or_default() += 1);
    let only = |sign: char, text: &str, of: i32| {
        let lines = text.lines().filter(|line| lines[line].signum() == of);
        lines.map(|line| format!("  {sign} {line}\n")).collect::<String>()
    };
    only('-', expected, -1) + &only('+', found, 1)
}

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "txt") {
            found.push(path);
        }
    }
}

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let mut paths = Vec::new();
    files(&root, &mut paths);
    paths.sort();
    assert!(paths.len() > 20, "{} files", paths.len());
    let tests = paths.into_iter().map(|path| {
        let name = path.strip_prefix(&root).unwrap().with_extension("");
        let name = name.to_string_lossy().into_owned();
        callgate_testing::test(name, move || {
            compiles_to_what_is_below(&path);
            Ok(())
        })
    });
    callgate_testing::run(tests.collect())
}

fn compiles_to_what_is_below(path: &Path) {
    let case = Case::read(path);
    let program = case.run().unwrap_or_else(|message| {
        panic!("{}: {message}\nBLESS=1 accepts what changed", path.display())
    });
    for name in case.all("same-program-as") {
        let other = path.with_file_name(name);
        let compiled = Case::read(&other).compile();
        let other = compiled.map(|(compiled, ..)| compiled.program);
        assert!(
            program.is_some() && program == other.ok(),
            "{} and {name} give different programs",
            path.display()
        );
    }
}
