//! `callgate run`: runs a command under a filter.

use std::collections::BTreeSet;
use std::ffi::OsString;

use callgate::{Action, Arch, Endian, SeccompData, Verdict};
use callgate_bpf::{FilterFlags, SyscallTable};
use callgate_core::diagram::{DiagramError, Func, Store};
use callgate_core::{Emulator, Op, Program, Word};
use callgate_linux::{Command, kernel};
use clap::ValueHint;

use crate::help::CHECKING;
use crate::options::{CompileOptions, SourceOptions, native_arch};
use crate::report::{self, Failure, Result};
use crate::source::{BUILT_IN, Compile, KernelProgram, Source, SourceFilter};
use crate::{hints, policy_text, signals, verified};

/// Run a command under a filter
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Compiles and proves the filter, installs it in this process, and then executes
the command in its place. The command and everything that it starts cannot gain
privileges (no_new_privs): sudo and other set-user-ID programs run without
theirs.

Examples:
  callgate run -- sh -c 'echo this runs; unshare -U true'
  callgate run profile.json --caps none -- make -j8
  callgate run -s filter.bpf ls -l
  callgate run profile.json --verify -- make -j8

Exit status: that of the command; 127 if it is not found, 126 if it cannot be
executed, 2 for an error in the filter or on the command line, in which case
nothing is installed.")]
pub(crate) struct RunArgs {
    /// The filter, a SOURCE (see `callgate --help`); before `--` it needs no -s
    #[arg(short, long, default_value = BUILT_IN, value_hint = ValueHint::FilePath)]
    source: OsString,

    #[command(flatten)]
    reading: SourceOptions,

    #[command(flatten)]
    compiling: CompileOptions,

    /// Also give the program with its policy text to callgate-check, the checker that is proved in Coq; install
    /// nothing unless it accepts
    #[arg(long, help_heading = CHECKING)]
    verify: bool,

    /// The command and its arguments
    #[arg(value_name = "CMD", required = true, trailing_var_arg = true)]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &RunArgs) -> Result<u8> {
    let mut policy = None;
    let filter = Source::parse(&args.source)?.read_to_compile_observed(&args.reading, |stack| {
        if args.verify {
            policy = Some(policy_text::text_of(stack, &args.reading.conditions())?);
        }
        Ok(())
    })?;
    let program = filter.kernel_program(&args.compiling)?;
    if let Some(text) = &policy {
        verified::verify(text, &program, filter.endian())?;
    }
    let command = Command::find(&args.command)
        .map_err(|error| {
            let failure = Failure::new(error.to_string()).status(error.exit_status());
            match hints::source_in_place_of_a_program(&args.command) {
                Some(hint) => failure.help(hint),
                None => failure,
            }
        })?
        .with_signals(signals::at_start());
    check_that_a_command_can_run(&filter, &program)?;
    command.restore_signals();
    let flags = flags(&filter);
    let installed = match &program {
        KernelProgram::Compiled(proved) => callgate_linux::install(proved, flags),
        KernelProgram::Given(program) => callgate_linux::install_unproved(program, flags),
    };
    installed.map_err(|error| Failure::new(error.to_string()).help(error.help()))?;
    let error = command.exec();
    Err(Failure::new(error.to_string()).status(error.exit_status()))
}

/// The flags of the source, without those that need a listener; warns about these.
fn flags(filter: &SourceFilter) -> FilterFlags {
    let wanted = filter.flags;
    if wanted.contains(FilterFlags::WAIT_KILLABLE_RECV) {
        report::warn_about(
            &filter.name,
            "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV has no effect: there is no supervisor",
            "a container runtime starts the supervisor of a profile; `callgate run` does not",
        );
    }
    wanted.without(FilterFlags::WAIT_KILLABLE_RECV)
}

/// Checks before anything is installed that the filter permits an `execve`. Warns if the command cannot end or will not
/// work as usual.
fn check_that_a_command_can_run(filter: &SourceFilter, program: &Program) -> Result<()> {
    let arch = native_arch()?;
    if arch.endian() != filter.endian() {
        return Err(Failure::about(
            &filter.name,
            format!("this filter is for machines with the other byte order, not for {arch}"),
        )
        .help("--arch selects the architecture for which a source is read"));
    }
    if !filter.arches.iter().any(|other| other.token() == arch.token()) {
        let arches: Vec<&str> = filter.arches.iter().map(|arch| arch.name()).collect();
        report::warn_about(
            &filter.name,
            format!("this filter is for {}, not for {arch}", arches.join(", ")),
            "--arch selects the architecture for which a source is read",
        );
    }
    let Looked { execve, exit_group, verdicts } = match looked(program, filter.endian(), arch) {
        Ok(looked) => looked,
        // The program is installed unchanged, so no proof is needed.
        Err(error) => {
            report::warn_about(
                &filter.name,
                format!("cannot check whether a command can run under this filter: {error}"),
                "if execve is denied, the command cannot start",
            );
            return Ok(());
        }
    };
    if let Some(verdict) = execve {
        return Err(Failure::about(
            &filter.name,
            format!("the filter denies execve on {arch} ({verdict}), so no command can start"),
        )
        .help("allow execve, or let the program install the filter itself after it has started"));
    }
    if let Some(verdict) = exit_group {
        report::warn_about(
            &filter.name,
            format!("the filter denies exit_group on {arch} ({verdict}), so commands cannot end"),
            "allow exit_group",
        );
    }
    for verdict in verdicts {
        if matches!(verdict.action(), Action::UserNotif(_)) {
            return Err(Failure::about(
                &filter.name,
                format!(
                    "the filter passes syscalls to a supervisor ({verdict}), but there is none: they \
                     would fail with ENOSYS"
                ),
            )
            .help(
                "a container runtime starts the supervisor of a profile, `callgate run` does not: use another action, \
                 such as ERRNO or LOG",
            ));
        }
        if !is_known_to_the_kernel(verdict) {
            report::warn_about(
                &filter.name,
                format!(
                    "this kernel does not know the verdict {verdict} and kills the process instead"
                ),
                "use another action",
            );
        }
    }
    Ok(())
}

fn is_known_to_the_kernel(verdict: Verdict) -> bool {
    !kernel::knows_action(verdict).is_ok_and(|known| !known)
}

/// What a filter does with the syscalls that every command needs.
struct Looked {
    /// The verdicts of these syscalls if they are denied whatever their arguments are.
    execve: Option<Verdict>,
    exit_group: Option<Verdict>,
    /// The verdicts that may need a warning.
    verdicts: Vec<Verdict>,
}

/// What a filter does; with the MTBDD only if the program is not clear without it.
fn looked(
    program: &Program,
    endian: Endian,
    arch: Arch,
) -> std::result::Result<Looked, DiagramError> {
    if let Some(looked) = at_a_glance(program, arch) {
        return Ok(looked);
    }
    let mut store = Store::default();
    let root = store.program(program, endian)?;
    Ok(Looked {
        execve: forbidden(&mut store, root, arch, "execve")?,
        exit_group: forbidden(&mut store, root, arch, "exit_group")?,
        verdicts: store.verdicts(root),
    })
}

/// The same for a program that decides both syscalls by arch and number, and has only constant verdicts that need no warning.
/// The MTBDD of a program takes longer than to install it.
fn at_a_glance(program: &Program, arch: Arch) -> Option<Looked> {
    let insns = program.insns();
    let mut emulator = Emulator::new(insns);
    let mut denied = |name: &str| {
        let Some(nr) = arch.number(name) else { return Some(None) };
        let end = insns.get(emulator.emulate(arch.token(), nr).end)?;
        (end.op == Op::RetK).then(|| Some(Verdict(end.k)).filter(|verdict| !verdict.permits()))
    };
    let (execve, exit_group) = (denied("execve")?, denied("exit_group")?);
    let returns = || insns.iter().filter(|insn| insn.op.is_return());
    let verdicts: BTreeSet<Verdict> = returns().map(|insn| Verdict(insn.k)).collect();
    let is_usual = |verdict: &Verdict| {
        !matches!(verdict.action(), Action::UserNotif(_)) && is_known_to_the_kernel(*verdict)
    };
    let are_usual = returns().all(|insn| insn.op == Op::RetK) && verdicts.iter().all(is_usual);
    are_usual.then_some(Looked { execve, exit_group, verdicts: Vec::new() })
}

/// The verdict for a syscall that is denied whatever its arguments are; `None` if some arguments are permitted. TRACE
/// without a tracer fails with ENOSYS, like USER_NOTIF without a listener.
fn forbidden(
    store: &mut Store,
    root: Func,
    arch: Arch,
    name: &str,
) -> std::result::Result<Option<Verdict>, DiagramError> {
    let Some(nr) = arch.number(name) else {
        return Ok(None);
    };
    let call = SeccompData { arch: arch.token(), nr, ..Default::default() };
    let numbers = store.follow(root, Word::ARCH, call.arch);
    let rest = store.follow(numbers, Word::NR, call.nr);
    Ok(match callgate_codegen::query::permitted(store, rest, call) {
        Some(_) => None,
        None => Some(store.evaluate(rest, &call)?),
    })
}
