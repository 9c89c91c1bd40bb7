//! `cargo lab libseccomp-program`: the program that a libseccomp makes of rules. Experiments run it as their helper process.

use std::io::Read;
use std::path::{Path, PathBuf};

use callgate_experiments::libseccomp::{Libseccomp, answer};
use callgate_tasks::Result;

pub(crate) const HELP: &str = "\
usage: cargo lab libseccomp-program [--library PATH] < RULES

Prints the version and the file of the libseccomp.so.2 of this machine, or of PATH, and whether it is
Callgate's drop-in. With rules on standard input, also prints the program that it makes of them, in
hexadecimal digits. lab/experiments/src/libseccomp/question.rs describes the rules. Experiments run
this as their helper process.

example: cargo lab libseccomp-program </dev/null
";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let library = match arguments {
        [] => Path::new("libseccomp.so.2"),
        [option, path] if option == "--library" => Path::new(path),
        _ => return Err(format!("unexpected arguments {arguments:?}; try --help")),
    };
    let mut question = String::new();
    let read = std::io::stdin().read_to_string(&mut question);
    read.map_err(|error| format!("standard input: {error}"))?;
    print!("{}", answer(library, &question)?);
    Ok(())
}

/// The libseccomp of this machine, with this program as the helper.
pub(crate) fn of_machine() -> Libseccomp {
    Libseccomp::of_machine(helper())
}

/// This program. Unit tests are in another one beside it, which `cargo test` builds as well.
fn helper() -> PathBuf {
    let this = std::env::current_exe().unwrap_or_default();
    if !cfg!(test) {
        return this;
    }
    let directory = this.parent().and_then(Path::parent).unwrap_or(&this);
    directory.join("callgate-lab")
}

#[cfg(test)]
mod tests {
    use callgate::{Arch, Endian, Program, Verdict};
    use callgate_bpf::SyscallTable;
    use callgate_bpf::text;
    use callgate_core::SyscallSet;
    use callgate_core::policy::{Condition, Field, Policy, Rule, Section, Test};
    use callgate_formats::{container_default, oci};

    use super::*;

    fn options(arches: &[Arch]) -> oci::ReadOptions {
        let options = oci::ReadOptions::new(Arch::X86_64, "6.18".parse().unwrap());
        oci::ReadOptions {
            arches: arches.to_vec(),
            enosys_above: Some(oci::EnosysAbove::Off),
            ..options
        }
    }

    /// The built-in profile for x86-64.
    fn policy() -> Policy {
        container_default(&options(&[Arch::X86_64])).unwrap().policy
    }

    /// Listings of what libseccomp 2.5.4 makes of three rules.
    const LIST: &str = "
        ld arch
        jeq #0xc000003e, next, other
        ld nr
        jge #0x40000000, next, syscalls
        jeq #0xffffffff, next, other
        syscalls: jeq #0, allow, next
        jeq #231, allow, next
        jeq #1, next, deny
        ld args[0].high
        jeq #0, next, deny
        ld args[0].low
        jeq #1, allow, next
        deny: ret ERRNO(1)
        allow: ret ALLOW
        other: ret KILL_PROCESS";
    const TREE: &str = "
        ld arch
        jeq #0xc000003e, next, other
        ld nr
        jge #0x40000000, next, search
        jeq #0xffffffff, next, other
        search: ld nr
        jeq #231, allow, next
        jeq #1, next, read
        ld args[0].high
        jeq #0, next, deny
        ld args[0].low
        jeq #1, allow, deny
        read: jeq #0, allow, next
        deny: ret ERRNO(1)
        allow: ret ALLOW
        other: ret KILL_PROCESS";

    /// Our drop-in generates other programs.
    fn is_original(libseccomp: &Libseccomp) -> bool {
        !libseccomp.identity().unwrap().is_ours
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn small_programs_are_those_of_libseccomp() {
        let bad_arch = Verdict::KILL_PROCESS;
        let rule = |syscalls, when, verdict| Rule { syscalls, when, verdict };
        let stdout = Condition::test(Test::eq(Field::arg(0).unwrap(), 1));
        let rules = vec![
            rule(SyscallSet::one(0), Condition::always(), Verdict::ALLOW),
            rule(SyscallSet::one(1), stdout, Verdict::ALLOW),
            rule(SyscallSet::one(231), Condition::always(), Verdict::ALLOW),
            rule(SyscallSet::range(1 << 30, u32::MAX - 1), Condition::always(), bad_arch),
        ];
        let section = Section::new(Arch::X86_64, rules, Verdict::errno(1));
        let policy = Policy::new(vec![section], bad_arch).unwrap();
        let libseccomp = of_machine();
        let programs = [(LIST, libseccomp.list(&policy)), (TREE, libseccomp.tree(&policy))];
        for (listing, program) in programs {
            let program = program.unwrap();
            if is_original(&libseccomp) {
                let raw = text::parse(listing, Endian::Little).unwrap();
                assert_eq!(program, Program::from_raw(&raw).unwrap());
            }
        }
    }

    #[test]
    fn what_libseccomp_cannot_express_is_refused() {
        let options = oci::ReadOptions::new(Arch::X86_64, "6.18".parse().unwrap());
        let enosys = oci::ReadOptions { enosys_above: Some(oci::EnosysAbove::On), ..options };
        let policy = container_default(&enosys).unwrap().policy;
        let error = of_machine().list(&policy).unwrap_err().to_string();
        assert!(error.contains("all syscall numbers from"), "{error}");
    }

    fn executed(program: &Program, policy: &Policy) -> usize {
        let syscalls = Arch::X86_64.syscalls().map(|(nr, _)| callgate::SeccompData {
            nr,
            arch: Arch::X86_64.token(),
            ..Default::default()
        });
        syscalls.map(|data| program.run(&data, policy.endian()).executed).sum()
    }

    /// The names of the profile for several architectures are those that old versions know.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn both_programs_mean_what_the_policy_means() {
        const PROFILE: &str = r#"{
            "defaultAction": "SCMP_ACT_ERRNO",
            "syscalls": [
                {"names": ["read", "openat", "exit_group"], "action": "SCMP_ACT_ALLOW"},
                {"names": ["personality"], "action": "SCMP_ACT_ALLOW",
                 "args": [{"index": 0, "value": 8, "op": "SCMP_CMP_EQ"}]}
            ]
        }"#;
        let arches = [Arch::X86_64, Arch::X86, Arch::X32];
        let several = oci::read(PROFILE, &options(&arches)).unwrap().policy;
        let libseccomp = of_machine();
        for (policy, least) in [(policy(), 300), (several, 20)] {
            for program in [libseccomp.list(&policy), libseccomp.tree(&policy)] {
                let program = program.unwrap();
                assert!(!is_original(&libseccomp) || program.len() > least, "{}", program.len());
            }
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_tree_executes_less_than_a_list() {
        let libseccomp = of_machine();
        let policy = policy();
        let programs = [libseccomp.list(&policy), libseccomp.tree(&policy)];
        let [list, tree] = programs.map(|program| executed(&program.unwrap(), &policy));
        assert!(!is_original(&libseccomp) || tree * 5 < list, "{tree} {list}");
    }

    #[test]
    fn a_missing_library_is_named_with_what_to_do() {
        let missing = of_machine().with_library("/nonexistent/libseccomp.so.2");
        let error = missing.list(&policy()).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/libseccomp.so.2"), "{error}");
        assert!(error.help().contains("apt-get install libseccomp2"), "{}", error.help());
    }
}
