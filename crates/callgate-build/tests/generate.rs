//! Source code and errors of policies in all formats.

use callgate_build::{Arch, Configurations, Error, Format, Generated, Policy};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A directory with files, removed at the end.
struct Files(PathBuf);

impl Files {
    fn new(files: &[(&str, &str)]) -> Files {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let unique = format!(
            "callgate-build-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let directory = std::env::temp_dir().join(unique);
        for (name, text) in files {
            let path = directory.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Files(directory)
    }

    fn policy(&self, name: &str) -> Policy {
        Policy::new(name).directory(&self.0)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn generate(name: &str, text: &str) -> Result<Generated, Error> {
    Files::new(&[(name, text)]).policy(name).generate(Arch::X86_64)
}

fn source(name: &str, text: &str) -> String {
    generate(name, text).unwrap_or_else(|error| panic!("{error}")).source().to_owned()
}

fn error(name: &str, text: &str) -> String {
    generate(name, text).unwrap_err().to_string()
}

#[test]
fn the_extension_decides_how_a_policy_is_read() {
    for (name, text) in [
        ("a.kafel", "ALLOW { read } DEFAULT ERRNO(1)"),
        ("a.policy", "read: 1"),
        (
            "a.json",
            r#"{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"names": ["read"], "action": "SCMP_ACT_ALLOW"}]}"#,
        ),
        (
            "a.yaml",
            "defaultAction: SCMP_ACT_ERRNO\nsyscalls:\n- names: [read]\n  action: SCMP_ACT_ALLOW\n",
        ),
        (
            "a.json",
            r#"{"vmm": {"default_action": "trap", "filter_action": "allow", "filter": [{"syscall": "read"}]}}"#,
        ),
    ] {
        let source = source(name, text);
        assert!(source.contains("pub const A: [libc::sock_filter; "), "{source}");
        assert!(!source.contains("install"), "{source}");
    }
    let lxc = Files::new(&[("a.conf", "2\nallowlist errno 1\nread\n")]);
    let policy = lxc.policy("a.conf");
    assert!(
        policy.clone().format(Format::from_name("lxc").unwrap()).generate(Arch::X86_64).is_ok()
    );
    let unknown = policy.generate(Arch::X86_64).unwrap_err().to_string();
    assert!(
        unknown.starts_with(
            "error: a.conf: the extension does not tell the format of the policy\n  = help: "
        ),
        "{unknown}"
    );
}

#[test]
fn variables_are_parameters() {
    let text = "ALLOW { write { fd == $controller_fd } } DEFAULT KILL";
    let files = Files::new(&[("p.kafel", text)]);
    let policy = files.policy("p.kafel").name("Worker").installer(true);
    let generated = policy.generate(Arch::Aarch64).unwrap();
    let source = generated.source();
    for part in [
        "const WORKER_TEMPLATE: [libc::sock_filter; ",
        "pub const fn worker(controller_fd: u32) -> [libc::sock_filter; ",
        "pub fn install_worker(controller_fd: u32) -> std::io::Result<()>",
    ] {
        assert!(source.contains(part), "{part}: {source}");
    }
    // The variable is compared with an argument, so the kernel's cache cannot know the verdict for any value.
    assert!(generated.warnings().is_empty(), "{:?}", generated.warnings());
}

#[test]
fn a_variable_that_keeps_a_syscall_out_of_the_cache_is_a_warning() {
    let generated = generate("p.kafel", "ALLOW { getpid { $debug == 1 }, read } DEFAULT KILL");
    let warnings = generated.unwrap().warnings().to_vec();
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert!(!warning.is_error());
    assert!(
        warning.to_string().contains("the kernel cannot cache that `getpid` is allowed"),
        "{warning}"
    );
}

#[test]
fn errors_show_the_line_of_the_policy() {
    assert_eq!(
        error("p.kafel", "DEFAULT KILL\nALLOW {\n\traed\n}\n")
            .lines()
            .take(4)
            .collect::<Vec<_>>()
            .join("\n"),
        "error: p.kafel:3:2: unknown syscall `raed`\n  |\n3 |  raed\n  |  ^"
    );
    let two = error("p.json", "{\"defaultAction\": \"X\",\n \"syscall\": []}");
    assert_eq!(two.matches("error: p.json:").count(), 2, "{two}");
}

#[test]
fn included_files_are_read_and_listed() {
    let files = Files::new(&[
        ("p/main.kafel", "#include \"sub/a.kafel\"\nUSE a DEFAULT KILL"),
        ("p/sub/a.kafel", "#include \"./b.kafel\"\nPOLICY a { ALLOW { A } }"),
        ("p/sub/b.kafel", "#define A 0"),
    ]);
    let generated = files.policy("p/main.kafel").generate(Arch::X86_64);
    let paths: Vec<PathBuf> = match generated {
        Ok(generated) => generated.files().to_vec(),
        Err(error) => panic!("{error}"),
    };
    assert_eq!(
        paths,
        ["p/main.kafel", "p/sub/a.kafel", "p/sub/b.kafel"].map(|name| files.0.join(name))
    );
    let missing = error("p.kafel", "#include \"none.kafel\"\nDEFAULT KILL");
    assert!(missing.starts_with("error: p.kafel:1:"), "{missing}");
    assert!(missing.contains("none.kafel: No such file"), "{missing}");
    // So that a build script runs again when the missing file appears.
    let files = Files::new(&[
        ("p.kafel", "#include \"a.kafel\"\n#include \"none.kafel\"\nDEFAULT KILL"),
        ("a.kafel", "#define A 0"),
    ]);
    let error = files.policy("p.kafel").generate(Arch::X86_64).unwrap_err();
    assert_eq!(error.files(), ["p.kafel", "a.kafel", "none.kafel"].map(|name| files.0.join(name)));
}

/// A Kubernetes resource that allows a syscall.
fn resource(name: &str, base: &str, allowed: &str) -> String {
    format!(
        "kind: SeccompProfile\nmetadata: {{name: {name}}}\nspec:\n  defaultAction: SCMP_ACT_ERRNO\n  {base}\n  \
         syscalls:\n  - names: [{allowed}]\n    action: SCMP_ACT_ALLOW\n"
    )
}

#[test]
fn base_profiles_are_read_and_listed() {
    let files = Files::new(&[
        ("p/app.yaml", &resource("app", "baseProfileName: web", "read")),
        ("p/web.yml", &resource("web", "baseProfileName: sub/base.json", "uname")),
        ("p/sub/base.json", &resource("base", "", "sysinfo")),
        ("p/both.yaml", &resource("both", "baseProfileName: base", "read")),
        ("p/base.yaml", &resource("base", "", "read")),
        ("p/base.json", &resource("base", "", "read")),
        ("p/none.yaml", &resource("none", "baseProfileName: missing", "read")),
    ]);
    let generated = files.policy("p/app.yaml").generate(Arch::X86_64);
    let generated = generated.unwrap_or_else(|error| panic!("{error}"));
    let paths = ["p/app.yaml", "p/web.yml", "p/sub/base.json"].map(|name| files.0.join(name));
    assert_eq!(generated.files(), paths);
    assert!(generated.source().contains("sysinfo"), "{}", generated.source());
    let error = |name: &str| files.policy(name).generate(Arch::X86_64).unwrap_err().to_string();
    let both = error("p/both.yaml");
    assert!(both.contains("base.yaml and base.json exist; delete all but one"), "{both}");
    let none = error("p/none.yaml");
    assert!(none.contains("there is no missing.yaml or missing.yml or missing.json"), "{none}");
}

#[test]
fn one_of_several_resources_is_chosen() {
    let text = format!("{}---\n{}", resource("web", "", "read"), resource("db", "", "uname"));
    let files = Files::new(&[("p.yaml", &text)]);
    let error = files.policy("p.yaml").generate(Arch::X86_64).unwrap_err().to_string();
    assert!(
        error.ends_with("= help: choose one with the option `part`, such as \"web\""),
        "{error}"
    );
    let of = |part| files.policy("p.yaml").part(part).generate(Arch::X86_64).unwrap();
    assert!(of("db").source().contains("uname") && !of("web").source().contains("uname"));
}

#[test]
fn the_filter_may_be_the_value_of_an_expression() {
    let files = Files::new(&[
        ("p.kafel", "#include \"more.kafel\"\nUSE more DEFAULT KILL"),
        ("more.kafel", "POLICY more { ALLOW { read, mount } }"),
    ]);
    let of = |text: &str| files.policy("p.kafel").expression(text).generate(Arch::X86_64);
    let source = of("policy + ptrace - mount ^ preset:no-io-uring").unwrap().source().to_owned();
    assert!(source.contains("ptrace") && !source.contains("mount"), "{source}");
    let error = of("policy + other.kafel").unwrap_err().to_string();
    assert!(error.contains("\"other.kafel\", which is not one of its sources"), "{error}");
}

#[test]
fn a_profile_that_depends_on_the_kernel_needs_a_version() {
    let entry =
        r#"{"names": ["ptrace"], "action": "SCMP_ACT_ALLOW", "includes": {"minKernel": "4.8"}}"#;
    let text = format!(r#"{{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{entry}]}}"#);
    let files = Files::new(&[("a.json", &text)]);
    let policy = files.policy("a.json").format(Format::from_name("docker").unwrap());
    let error = policy.generate(Arch::X86_64).unwrap_err().to_string();
    assert!(
        error.starts_with("error: a.json: the profile depends on the kernel version"),
        "{error}"
    );
    let with = |version: &str| {
        let policy = policy.clone().kernel(version.parse().unwrap());
        policy.generate(Arch::X86_64).unwrap().source().contains("ptrace")
    };
    assert!(with("6.1") && !with("4.4"));
}

#[test]
fn the_target_must_be_among_the_architectures() {
    let files = Files::new(&[("p.kafel", "ALLOW { read } DEFAULT KILL")]);
    let policy = files.policy("p.kafel").arches([Arch::X86_64, Arch::X86]);
    assert!(policy.generate(Arch::X86_64).unwrap().source().contains("x86"));
    let error = policy.generate(Arch::Aarch64).unwrap_err().to_string();
    assert!(
        error.contains("the filter is for x86_64, x86, but the program for aarch64"),
        "{error}"
    );
}

#[test]
fn weights_are_read_from_a_file() {
    let files = Files::new(&[
        (
            "p.kafel",
            "ALLOW { read, mmap, ioctl, getpid, socket, execve, kill, uname } DEFAULT KILL",
        ),
        ("w", "read 1\nuname 1000000\n"),
        ("bad", "read -1\n"),
    ]);
    let policy = files.policy("p.kafel");
    let generated = policy.clone().weights("w").generate(Arch::X86_64).unwrap();
    assert_eq!(generated.files(), ["p.kafel", "w"].map(|name| files.0.join(name)));
    let without = policy.generate(Arch::X86_64).unwrap();
    assert_ne!(generated.source(), without.source());
    let error = policy.weights("bad").generate(Arch::X86_64).unwrap_err().to_string();
    assert!(error.starts_with("error: bad:1:"), "{error}");
}

#[test]
fn names_and_files_that_cannot_be_used_are_errors() {
    let text = "ALLOW { read } DEFAULT KILL";
    let reserved = error("match.kafel", text);
    assert!(reserved.starts_with("error: match.kafel: `match` cannot be a name"), "{reserved}");
    let files = Files::new(&[("d.kafel/x", ""), ("p.kafel", text)]);
    assert!(files.policy("p.kafel").name("a b").generate(Arch::X86_64).is_err());
    for (name, why) in [("none.kafel", "No such file"), ("d.kafel", "this is not a regular file")] {
        let error = files.policy(name).generate(Arch::X86_64).unwrap_err().to_string();
        assert!(error.starts_with(&format!("error: {name}: {why}")), "{error}");
    }
}

/// Under another name: a caller who would lose the listener does not compile.
#[test]
fn an_installer_for_notifications_returns_the_listener() {
    let files = Files::new(&[("p.kafel", "USER_NOTIF { read } DEFAULT ALLOW")]);
    let generated = files.policy("p.kafel").installer(true).generate(Arch::X86_64).unwrap();
    let source = generated.source();
    assert!(
        source.contains("pub fn install_p_listener() -> std::io::Result<std::os::fd::OwnedFd>")
    );
    assert!(!source.contains("fn install_p(") && !source.contains("fn install_p_in_thread("));
}

/// The configurations of a set have the programs of their policies alone, and those with the same program share its code.
#[test]
fn a_set_has_the_program_of_each_configuration() {
    let files = Files::new(&[
        ("one.kafel", "ALLOW { read, write { fd == $output } } DEFAULT ERRNO(1)"),
        (
            "two.kafel",
            "ALLOW { read, mmap { len <= $limit }, write { fd == $output } } DEFAULT ERRNO(1)",
        ),
        ("three.kafel", "ALLOW { read } DEFAULT ERRNO(1)"),
    ]);
    let set = Configurations::new("sandbox")
        .add("one", files.policy("one.kafel"))
        .add("two, \"quoted\"", files.policy("two.kafel"))
        .add("again", files.policy("one.kafel"))
        .add("three", files.policy("three.kafel"));
    let generated = set.clone().installer(true).generate(Arch::X86_64).unwrap();
    let source = generated.source();
    for part in [
        r#"pub const SANDBOX_CONFIGURATIONS: [&str; 4] = ["one", "two, \"quoted\"", "again", "three"];"#,
        "pub fn sandbox(configuration: &str, output: u32, limit: u64) -> Option<Vec<libc::sock_filter>> {",
        "        \"one\" => Some(configuration_0::sandbox(output).to_vec()),",
        r#"        "two, \"quoted\"" => Some(configuration_1::sandbox(limit, output).to_vec()),"#,
        "        \"again\" => Some(configuration_0::sandbox(output).to_vec()),",
        "        \"three\" => Some(configuration_3::SANDBOX.to_vec()),",
        "pub fn install_sandbox(configuration: &str, output: u32, limit: u64) -> std::io::Result<()> {",
        "        \"one\" => configuration_0::install_sandbox(output),",
        "pub fn install_sandbox_with(configuration: &str, flags: libc::c_ulong, no_new_privs: bool, output: u32, limit: u64)",
        "        \"three\" => configuration_3::install_sandbox_with(flags, no_new_privs),",
    ] {
        assert!(source.contains(part), "{part}: {source}");
    }
    assert!(!source.contains("mod configuration_2 "), "{source}");
    let alone = files.policy("one.kafel").name("sandbox").installer(true);
    let alone = alone.generate(Arch::X86_64).unwrap();
    assert!(source.contains(&format!("mod configuration_0 {{\n{}}}\n", alone.source())));
    let names = ["one.kafel", "two.kafel", "three.kafel"].map(|name| files.0.join(name));
    assert_eq!(generated.files(), names);
    assert!(!set.generate(Arch::X86_64).unwrap().source().contains("install_sandbox"));
}

#[test]
fn mistakes_of_sets_are_errors() {
    let files = Files::new(&[
        ("narrow.kafel", "ALLOW { write { fd == $value } } DEFAULT KILL"),
        ("wide.kafel", "ALLOW { mmap { len <= $value } } DEFAULT KILL"),
        ("notifies.kafel", "USER_NOTIF { read } DEFAULT ALLOW"),
        ("bad.kafel", "ALLOW { raed } DEFAULT KILL"),
    ]);
    let error = |set: Configurations| set.installer(true).generate(Arch::X86_64).unwrap_err();
    let set = |names: &[&str]| {
        let add = |set: Configurations, name: &&str| set.add(*name, files.policy(name));
        names.iter().fold(Configurations::new("sandbox"), add)
    };
    for (names, message) in [
        (&[][..], "error: sandbox: there are no configurations"),
        (&["narrow.kafel", "narrow.kafel"], "two configurations are \"narrow.kafel\""),
        (&["narrow.kafel", "wide.kafel"], "`value` has 32 bits in one policy and 64 in another"),
        (&["narrow.kafel", "notifies.kafel"], "some policies notify a listener"),
        (&["narrow.kafel", "bad.kafel"], "this was the policy of the configuration \"bad.kafel\""),
    ] {
        let error = error(set(names)).to_string();
        assert!(error.contains(message), "{error}");
    }
    let bad = error(set(&["narrow.kafel", "bad.kafel"]));
    assert!(bad.to_string().starts_with("error: bad.kafel:1:9: "), "{bad}");
    assert_eq!(bad.files(), ["narrow.kafel", "bad.kafel"].map(|name| files.0.join(name)));
    let reserved = Configurations::new("match").add("a", files.policy("narrow.kafel"));
    assert!(error(reserved).to_string().contains("`match` cannot be a name"));
    // Without installers, the functions have the same types.
    assert!(set(&["narrow.kafel", "notifies.kafel"]).generate(Arch::X86_64).is_ok());
}
