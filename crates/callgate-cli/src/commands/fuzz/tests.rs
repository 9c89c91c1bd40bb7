use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use callgate::SeccompData;
use callgate::{Arch, Endian, Verdict};
use callgate_core::{Insn, Op, Program};
use clap::{Args, Parser};

use super::args::FuzzArgs;
use super::forms::forms;
use super::outcome::{FilterForm, FuzzOutcome, Reproduction};
use super::report;
use super::search::{search, source};
use crate::commands::simulate::{self, SimulateArgs};
use crate::options::KernelArg;
use crate::source::{BUILT_IN, FilterContent, Source};

#[derive(Debug, Parser)]
struct ArgsParser<A: Args> {
    #[command(flatten)]
    args: A,
}

fn parse<A: Args, W: AsRef<OsStr>>(words: &[W]) -> A {
    let words = words.iter().map(|word| word.as_ref().to_owned());
    ArgsParser::try_parse_from([OsString::from("callgate")].into_iter().chain(words)).unwrap().args
}

#[test]
fn a_source_may_follow_kernel() {
    let parse = |arguments: &[&str]| parse::<FuzzArgs, _>(arguments);
    let kernel = |arguments: &[&str]| parse(arguments).reading.0.kernel;
    assert_eq!(source(&parse(&["--kernel", "p.json"])).unwrap(), "p.json");
    assert_eq!(source(&parse(&["p.json", "--kernel"])).unwrap(), "p.json");
    assert_eq!(source(&parse(&["--kernel"])).unwrap(), BUILT_IN);
    assert_eq!(kernel(&["p.json", "--kernel"]), Some(KernelArg::Running));
    assert_eq!(kernel(&["p.json", "--kernel", "running"]), Some(KernelArg::Running));
    let version = Some(KernelArg::Version("6.1".parse().unwrap()));
    assert_eq!(kernel(&["--kernel", "6.1", "p.json"]), version);
    assert_eq!(kernel(&["--kernel=6.1", "p.json"]), version);
    assert_eq!(kernel(&["p.json"]), None);
    assert!(source(&parse(&["--kernel", "six", "p.json"])).is_err());
}

/// A directory whose name must be quoted in a shell; removed on drop.
struct OddDirectory(PathBuf);

impl OddDirectory {
    fn new(test: &str) -> OddDirectory {
        let name = format!("callgate's $HOME {test} {}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        OddDirectory(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path: &Path = &self.0.join(name);
        fs::write(path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for OddDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Splits a command into words like a shell.
fn words(command: &str) -> Vec<String> {
    let script = format!("printf '%s\\0' {command}");
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert!(output.status.success(), "{command}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_terminator('\0').map(str::to_owned).collect()
}

/// Checks that the commands shown for a mismatch evaluate their form: the verdict and the numbers of instructions are
/// equal. Returns the number of commands.
fn reproduces(arguments: &[&str]) -> usize {
    let args = parse::<FuzzArgs, _>(arguments);
    let outcome = search(&args).unwrap();
    let source = Source::parse(source(&args).unwrap()).unwrap();
    let filter = source.read_to_compile(&args.reading.0).unwrap();
    let (forms, programs) = forms(&filter, &args.compiling.0, &mut Vec::new()).unwrap();
    let mut checked = 0;
    for form in &forms {
        let subject = programs.iter().find(|subject| subject.name == form.name);
        for data in outcome.report.kept.iter().step_by(outcome.report.kept.len() / 20) {
            let shown = report::commands(&outcome, form, data);
            let [reference, own] = shown.each_ref().map(|command| words(command));
            for (command, subject) in
                [(reference, programs.first().filter(|_| !filter.is_profile())), (own, subject)]
            {
                assert_eq!(command[..2], ["callgate", "simulate"]);
                let mut answer = String::new();
                let mut print = |text: &str| {
                    answer.push_str(text);
                    Ok(())
                };
                simulate::answer(&parse::<SimulateArgs, _>(&command[2..]), &mut print).unwrap();
                let expected = match (subject, &filter.content) {
                    (Some(subject), _) => {
                        let run = subject.program.run(data, filter.endian());
                        let (executed, len) = (run.executed, subject.program.len());
                        format!(": {}, {executed} of {len} instructions executed", run.verdict)
                    }
                    (None, FilterContent::Policy(policy)) => {
                        format!(": {}, according to the rules", policy.evaluate(data))
                    }
                    (None, FilterContent::Program(..)) => {
                        panic!("{} is not a program", form.name)
                    }
                };
                assert!(answer.contains(&expected), "{command:?}\n{answer}{expected}");
                checked += 1;
            }
        }
    }
    checked
}

const PROFILE: &[u8] = br#"{
  "defaultAction": "SCMP_ACT_ERRNO",
  "syscalls": [
    { "names": ["read", "write", "openat", "mmap", "futex", "close"], "action": "SCMP_ACT_ALLOW" },
    { "names": ["socket"], "action": "SCMP_ACT_ALLOW",
      "args": [ { "index": 0, "value": 4294967336, "op": "SCMP_CMP_GE" } ] },
    { "names": ["mount"], "action": "SCMP_ACT_ALLOW", "includes": { "caps": ["CAP_SYS_ADMIN"] } },
    { "names": ["personality"], "action": "SCMP_ACT_LOG", "includes": { "minKernel": "4.8" },
      "args": [ { "index": 0, "value": 131080, "valueTwo": 8, "op": "SCMP_CMP_MASKED_EQ" } ] }
  ]
}"#;

#[test]
fn the_commands_for_a_mismatch_evaluate_their_form() {
    let odd = OddDirectory::new("profile");
    let profile = odd.file("p.json", PROFILE);
    let weights = odd.file("w.txt", b"personality 1000\nfutex 300\n");
    let shared = ["--arch", "x86_64", "--arch", "x86", "--runs", "500"];
    let mut all = vec![profile.as_str()];
    all.extend(shared);
    assert!(reproduces(&all) >= 160);
    all.extend(["--kernel", "5.10", "--caps", "all", "--enosys-above", "off", "--strict"]);
    all.extend(["--weights", &weights]);
    assert!(reproduces(&all) >= 160);
    all.extend(["--model", "uncached", "--optimize", "size"]);
    assert!(reproduces(&all) >= 120);
}

#[test]
fn the_commands_for_a_mismatch_select_the_byte_order() {
    let odd = OddDirectory::new("program");
    let insns = vec![
        Insn::new(Op::LdWordAbs, 16),
        Insn::branch(Op::JeqK, 0, 0, 2),
        Insn::new(Op::LdWordAbs, 20),
        Insn::branch(Op::JgtK, 7, 0, 1),
        Insn::new(Op::RetK, Verdict::ALLOW.0),
        Insn::new(Op::RetK, Verdict::errno(1).0),
    ];
    let program = Program::new(insns).unwrap();
    let big = odd.file("big.bpf", &program.to_bytes(Endian::Big));
    assert!(reproduces(&[&big, "--arch", "s390x", "--runs", "500"]) >= 80);
    assert!(reproduces(&[&big, "--endian", "big", "--arch", "s390x", "--runs", "500"]) >= 80);
}

/// The command for a mismatch with the kernel tests the same syscalls and programs again.
#[test]
fn the_command_for_a_mismatch_of_the_kernel_repeats_the_search() {
    let odd = OddDirectory::new("kernel");
    let profile = odd.file("p.json", PROFILE);
    let weights = odd.file("w.txt", b"personality 1000\nfutex 300\n");
    let arguments = ["--arch", "x86_64", "--caps", "all", "--runs", "700", "--seed", "9"];
    let more = ["--weights", weights.as_str(), "--model", "uncached"];
    let first = [&[profile.as_str()][..], &arguments, &more].concat();
    let outcome = search(&parse::<FuzzArgs, _>(&first)).unwrap();
    let form = FilterForm { name: "kernel, plain".to_owned(), by: Reproduction::Fuzz };
    let data = SeccompData { arch: Arch::X86_64.token(), ..SeccompData::default() };
    let command = words(report::commands(&outcome, &form, &data).last().unwrap());
    assert_eq!(command[..2], ["callgate", "fuzz"]);
    let mut again: FuzzArgs = parse(&command[2..]);
    assert_eq!(again.reading.0.kernel, Some(KernelArg::Running));
    // The machine that runs the test may not permit seccomp.
    again.reading.0.kernel = None;
    let repeated = search(&again).unwrap();
    assert_eq!(repeated.report.kept, outcome.report.kept);
    let names = |outcome: &FuzzOutcome| -> Vec<String> {
        outcome.forms.iter().map(|form| form.name.clone()).collect()
    };
    assert_eq!(names(&repeated), names(&outcome));
}
