//! Runs the files in `filetests/`: a filter, and below it what the compiler makes of it. Each file is a test of
//! its own; `cargo test -p callgate --test filetests -- NAME` runs those whose path contains `NAME`.
//! The tests of [`emitted_names`] are in this program because they also report why they cannot run.
//!
//! `callgate_testing::filetest` documents the filters and the settings of how to read them. After the filter come
//! `facts` about the result and its `listing`, or the `error` message if there is no result.
//!
//! `BLESS=1` in the environment rewrites what comes after the filter; read the difference before you accept it.
//! Requirements are settings, which are not rewritten:
//!
//! | setting | meaning |
//! |---|---|
//! | `model`, `aim`, `instructions`, `weights` | compiler options; weights as `name=count`, else uniform |
//! | `require` | `insns`, `expected_insns`, `constant_allow` or a mnemonic, `=`, `<=` or `>=`, a number |
//! | `same-program-as` | another file of this directory that must give the same bytes |
//! | `show` | `facts` omits the listing |

mod emitted_names;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use callgate::compile::{Compiled, Options, compile, recompile};
use callgate::{Arch, Endian};
use callgate_bpf::disasm;
use callgate_codegen::{Aim, Instructions, Model, Weights};
use callgate_core::Program;
use callgate_testing::filetest::{FileTest, Filter};

/// A file.
struct Case {
    path: PathBuf,
    file: FileTest,
}

impl Case {
    fn read(path: &Path) -> Case {
        Case { path: path.to_owned(), file: FileTest::read(path) }
    }

    fn options(&self) -> Options {
        let model = self.file.setting("model").unwrap_or("cached");
        let aim = self.file.setting("aim").unwrap_or("speed");
        let set = self.file.setting("instructions").unwrap_or("all");
        let weights = self.file.setting("weights").map_or(Weights::uniform(), |counts| {
            let pairs = counts.split_whitespace().map(|pair| {
                let (name, count) = pair.split_once('=').unwrap();
                (name.to_owned(), count.parse().unwrap())
            });
            Weights::counts(pairs).unwrap()
        });
        Options {
            model: *Model::ALL.iter().find(|known| known.name() == model).unwrap(),
            aim: *Aim::ALL.iter().find(|known| known.name() == aim).unwrap(),
            instructions: *Instructions::ALL.iter().find(|known| known.name() == set).unwrap(),
            weights,
            ..Options::default()
        }
    }

    /// The result, and what it was made for; or the message.
    fn compile(&self) -> Result<(Compiled, Vec<Arch>, Endian), String> {
        let options = self.options();
        match self.file.filter() {
            Filter::Policy(policy) => {
                let compiled = compile(&policy, &options).map_err(|error| error.to_string())?;
                Ok((compiled, policy.arches().collect(), policy.endian()))
            }
            Filter::Program(insns, endian) => {
                let program = Program::from_raw(&insns).map_err(|error| error.to_string())?;
                let arches = self.file.arches();
                let compiled = recompile(&program, endian, &arches, &options);
                Ok((compiled.map_err(|error| error.to_string())?, arches, endian))
            }
            Filter::Refused(why) => Err(why),
        }
    }

    fn run(&self) -> Result<Option<Program>, String> {
        let (found, program) = match self.compile() {
            Ok((compiled, arches, endian)) => {
                for requirement in self.file.all("require") {
                    check(&compiled, requirement)?;
                }
                let mut found = String::from("--- facts\n");
                for (fact, value) in facts(&compiled) {
                    writeln!(found, "{fact}: {value}").unwrap();
                }
                if self.file.setting("show") != Some("facts") {
                    let options = disasm::ListingOptions { endian, arches, name: None };
                    let dialect = disasm::Dialect::Annotated;
                    let listing = disasm::disassemble(&compiled.program, dialect, &options);
                    write!(found, "--- listing\n{listing}").unwrap();
                }
                (found, Some(compiled.program))
            }
            Err(message) => (format!("--- error\n{message}\n"), None),
        };
        if found != self.file.expected {
            if std::env::var_os("BLESS").is_some() {
                std::fs::write(&self.path, format!("{}{found}", self.file.head)).unwrap();
            } else {
                return Err(format!(
                    "is not what is expected:\n{}",
                    changes(&self.file.expected, &found)
                ));
            }
        }
        Ok(program.map(Program::from))
    }
}

fn facts(compiled: &Compiled) -> [(&'static str, String); 3] {
    let stats = &compiled.stats;
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
    callgate_testing::run(tests.chain(emitted_names::trials()).collect())
}

fn compiles_to_what_is_below(path: &Path) {
    let case = Case::read(path);
    let program = case.run().unwrap_or_else(|message| {
        panic!("{}: {message}\nBLESS=1 accepts what changed", path.display())
    });
    for name in case.file.all("same-program-as") {
        let other = path.with_file_name(name);
        let compiled = Case::read(&other).compile();
        let other = compiled.map(|(compiled, ..)| compiled.program);
        assert!(
            program.is_some() && program == other.ok().map(Program::from),
            "{} and {name} give different programs",
            path.display()
        );
    }
}
