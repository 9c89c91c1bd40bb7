//! The reasons for verdicts agree with the policies.

use callgate::{Arch, Verdict};
use callgate_bpf::SyscallTable;
use callgate_bpf::random::Rng;
use callgate_bpf::syscalls::KernelVersion;
use callgate_formats::kafel;
use callgate_formats::oci::{self, ReadOptions};
use callgate_formats::why::{Cause, why};
use callgate_formats::{CONTAINER_DEFAULT, CapSet, Profile};
use callgate_testing::reader::numbered;

const KERNEL: KernelVersion = KernelVersion { major: 6, minor: 12 };

fn container_default() -> Profile {
    let options = ReadOptions { statements: true, ..ReadOptions::new(Arch::X86_64, KERNEL) };
    oci::read(CONTAINER_DEFAULT, &options).unwrap()
}

/// Random syscalls: each reason is a rule that applies, or that none does.
#[test]
fn reasons_agree_with_the_policy() {
    let profile = container_default();
    let statements = profile.statements.unwrap();
    let mut rng = Rng::new(1);
    let mut kinds = [0; 4];
    for _ in 0..20_000 {
        let arch = [Arch::X86_64, Arch::X86, Arch::X32, Arch::Aarch64][rng.below(4)];
        let bit = if arch == Arch::X32 { 1 << 30 } else { 0 };
        let nr = bit | rng.below(500) as u32;
        let mut data = numbered(arch, nr, &[]);
        for arg in &mut data.args {
            *arg = [0, 8, 0x20000, 0x1000_0000, u64::MAX, rng.next()][rng.below(6)];
        }
        let found = why(&profile.policy, &statements, &data, arch.syscall_name(nr));
        assert_eq!(found.verdict, profile.policy.evaluate(&data));
        let applies = statements.rules.iter().any(|rule| rule.applies_to(&data));
        let section = profile.policy.sections().iter().find(|one| one.token() == data.arch);
        let kind = match &found.cause {
            Cause::Rules(rules) => {
                assert!(!rules.is_empty() && rules.iter().all(|rule| rule.applies_to(&data)));
                assert!(rules.iter().all(|rule| rule.verdict == found.verdict));
                0
            }
            Cause::Default(site) => {
                assert!(!applies && site.is_some() && found.verdict == section.unwrap().default);
                1
            }
            Cause::Builtin(rule) => {
                assert_eq!(rule.verdict, found.verdict);
                2
            }
            Cause::OtherArch => {
                assert!(section.is_none());
                3
            }
        };
        kinds[kind] += 1;
    }
    assert!(kinds.iter().all(|count| *count > 100), "{kinds:?}");
}

/// Each site is where the text has the name of the rule.
#[test]
fn sites_are_the_places_of_names() {
    let statements = container_default().statements.unwrap();
    let lines: Vec<&str> = CONTAINER_DEFAULT.lines().collect();
    let sites = statements.rules.iter().map(|rule| (&rule.site, &rule.name));
    let inactive = statements.inactive.iter().map(|rule| (&rule.site, &rule.name));
    let mut count = 0;
    for (site, name) in sites.chain(inactive) {
        let line = lines[site.position.line as usize - 1];
        let rest = &line[site.position.column as usize - 1..];
        assert!(rest.starts_with(&format!("\"{name}\"")), "{name}: {rest}");
        count += 1;
    }
    assert!(count > 300, "{count}");
}

/// What is asked of the container decides which rules are in effect, and the reason says so.
#[test]
fn rules_that_are_not_in_effect_have_a_reason() {
    let text = r#"{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [
        {"names": ["ptrace"], "action": "SCMP_ACT_ALLOW", "includes": {"caps": ["CAP_SYS_PTRACE"]}},
        {"names": ["ptrace"], "action": "SCMP_ACT_LOG", "includes": {"minKernel": "9.0"}},
        {"names": ["ptrace"], "action": "SCMP_ACT_LOG", "includes": {"arches": ["arm64"]}},
        {"names": ["ptrace"], "action": "SCMP_ACT_TRAP", "excludes": {"caps": ["CAP_CHOWN"]}},
        {"names": ["ptrace"], "action": "SCMP_ACT_ERRNO"}
    ]}"#;
    let ptrace = numbered(Arch::X86_64, 101, &[]);
    let read = |caps: &str| {
        let mut options = ReadOptions::new(Arch::X86_64, KERNEL);
        options.caps = caps.parse::<CapSet>().unwrap();
        options.dialect = Some(oci::Dialect::Docker);
        options.statements = true;
        oci::read(text, &options).unwrap()
    };
    let profile = read("CAP_CHOWN");
    let statements = profile.statements.unwrap();
    let found = why(&profile.policy, &statements, &ptrace, Some("ptrace"));
    assert!(matches!(found.cause, Cause::Default(Some(_))));
    let reasons: Vec<String> = found.inactive.iter().map(|rule| rule.reason.to_string()).collect();
    assert_eq!(
        reasons,
        [
            "it needs CAP_SYS_PTRACE, which the process does not have",
            "it needs Linux 9.0 or later, and the kernel is 6.12",
            "it is not for x86_64",
            "it is only for processes without CAP_CHOWN",
            "its action is the default action",
        ]
    );
    let profile = read("CAP_SYS_PTRACE,CAP_CHOWN");
    let statements = profile.statements.unwrap();
    let found = why(&profile.policy, &statements, &ptrace, Some("ptrace"));
    let Cause::Rules(rules) = found.cause else { panic!("{found:?}") };
    assert_eq!((rules[0].verdict, rules[0].site.position.line), (Verdict::ALLOW, 2));
}

/// A rule of an included file has its name, line and column.
#[test]
fn a_site_can_be_in_an_included_file() {
    let text = "#include \"base.kafel\"\nUSE base DEFAULT KILL";
    let options = kafel::ReadOptions { statements: true, ..kafel::ReadOptions::new(Arch::X86_64) };
    let mut include = |name: &str, _: Option<&str>| {
        let text = "POLICY base {\n  ALLOW { write { fd == 1 } }\n}".to_owned();
        Ok(kafel::Included {
            name: name.to_owned(),
            identity: name.to_owned(),
            text,
            is_private: false,
        })
    };
    let profile = kafel::read_with_includes(text, &options, &mut include).unwrap();
    let statements = profile.statements.unwrap();
    let mut write = numbered(Arch::X86_64, 1, &[]);
    let found = why(&profile.policy, &statements, &write, Some("write"));
    assert!(matches!(found.cause, Cause::Default(Some(_))));
    assert_eq!(found.unmet.len(), 1);
    write.args[0] = 1;
    let found = why(&profile.policy, &statements, &write, Some("write"));
    let Cause::Rules(rules) = found.cause else { panic!("{found:?}") };
    let site = &rules[0].site;
    assert_eq!(site.file.as_deref(), Some("base.kafel"));
    assert_eq!((site.position.line, site.position.column), (2, 11));
}
