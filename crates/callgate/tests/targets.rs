//! Source code with a program for each of several targets.

use callgate::emit::{
    EmitError, SourceLanguage, SourceOptions, TargetCode, TargetProgram, source,
    source_for_targets, template_source,
};
use callgate::{Arch, Filter, Program, Verdict, arg, var};
use callgate_bpf::FilterFlags;
use callgate_core::template::Template;

fn program(arch: Arch) -> Program {
    Filter::builder(arch)
        .allow(["read"])
        .unwrap()
        .build()
        .unwrap()
        .compile()
        .unwrap()
        .into_program()
}

fn template(arch: Arch, name: &str) -> Template {
    let builder = Filter::builder(arch).allow_if("write", arg("fd").eq(var(name))).unwrap();
    builder.build().unwrap().compile_template().unwrap().into_program()
}

fn emitted(
    language: SourceLanguage,
    codes: &[(Arch, TargetCode<'_>)],
    installer: bool,
) -> Result<String, EmitError> {
    let programs: Vec<TargetProgram<'_>> = codes
        .iter()
        .map(|(target, code)| TargetProgram { target: *target, arches: vec![*target], code: *code })
        .collect();
    let options = SourceOptions { installer, ..SourceOptions::new(language) };
    source_for_targets(&programs, &options)
}

/// Each part, in this order.
fn has_in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} is missing:\n{text}"));
        rest = &rest[at + part.len()..];
    }
}

const TARGETS: [Arch; 2] = [Arch::X86_64, Arch::Aarch64];

fn programs(language: SourceLanguage, installer: bool) -> String {
    let programs = TARGETS.map(|arch| (arch, program(arch)));
    let codes = programs.each_ref().map(|(arch, one)| (*arch, TargetCode::Program(one)));
    emitted(language, &codes, installer).unwrap()
}

fn templates(language: SourceLanguage, installer: bool) -> String {
    let templates = TARGETS.map(|arch| (arch, template(arch, "input")));
    let codes = templates.each_ref().map(|(arch, one)| (*arch, TargetCode::Template(one)));
    emitted(language, &codes, installer).unwrap()
}

#[test]
fn c_takes_the_program_by_the_macros_of_the_compiler() {
    let text = templates(SourceLanguage::C, true);
    has_in_order(
        &text,
        &[
            "#if defined(__x86_64__) && !defined(__ILP32__)\n",
            "0xc000003e",
            "filter_set(struct sock_filter insns[",
            "#elif defined(__aarch64__)",
            "0xc00000b7",
            "filter_set(struct sock_filter insns[",
            "#else\n#error \"there is no filter for this architecture\"\n#endif\n",
            "static inline int install_filter_with(unsigned int flags, int no_new_privs, uint32_t input)",
            "insns[sizeof(filter_template) / sizeof(filter_template[0])]",
            "static inline int install_filter(uint32_t input)",
            "return install_filter_with(SECCOMP_FILTER_FLAG_TSYNC, 1, input);",
            "static inline int install_filter_in_thread(uint32_t input)",
            "return install_filter_with(0, 1, input);",
        ],
    );
    assert_eq!(text.matches("static inline int install_filter").count(), 3);
    let text = programs(SourceLanguage::C, true);
    has_in_order(
        &text,
        &["#if", "program = {", "#elif", "program = {", "#endif", "install_filter(void)"],
    );
}

#[test]
fn rust_takes_the_program_by_cfg() {
    let text = templates(SourceLanguage::Rust, true);
    let x86 = "#[cfg(all(target_arch = \"x86_64\", target_pointer_width = \"64\"))]\n";
    let arm = "#[cfg(all(target_arch = \"aarch64\",";
    let parts = [x86, "const FILTER_TEMPLATE", x86, "pub const fn filter(input: u32)", arm];
    has_in_order(&text, &parts);
    has_in_order(
        &text,
        &["#[cfg(not(any(all(", "compile_error!", "pub fn install_filter(input: u32)"],
    );
    assert_eq!(text.matches("pub fn install_filter").count(), 3);
    assert!(!programs(SourceLanguage::Rust, false).contains("install"));
}

#[test]
fn go_takes_the_program_by_goarch() {
    let text = templates(SourceLanguage::Go, true);
    has_in_order(
        &text,
        &[
            "package main\n\nimport (\n\t\"fmt\"\n\t\"runtime\"\n\t\"unsafe\"\n",
            "var filterAmd64Template = [",
            "func filterAmd64For(input uint32) []unix.SockFilter",
            "var filterArm64Template = [",
            "runtime.GOARCH == \"amd64\" || runtime.GOARCH == \"arm64\": {}}",
            "func filterFor(input uint32) []unix.SockFilter {",
            "case \"amd64\":\n\t\treturn filterAmd64For(input)",
            "func installFilter(input uint32) error {",
        ],
    );
    let text = programs(SourceLanguage::Go, false);
    has_in_order(
        &text,
        &[
            "import (\n\t\"runtime\"\n\n",
            "func filter() []unix.SockFilter {",
            "return filterAmd64\n",
        ],
    );
}

#[test]
fn targets_that_cannot_be_together_are_errors() {
    let (x86, arm) = (program(Arch::X86_64), template(Arch::Aarch64, "input"));
    let other = template(Arch::X86_64, "output");
    let error = |language, codes: &[(Arch, TargetCode<'_>)]| {
        emitted(language, codes, false).unwrap_err().to_string()
    };
    let one = (Arch::X86_64, TargetCode::Program(&x86));
    let arm = (Arch::Aarch64, TargetCode::Template(&arm));
    assert_eq!(error(SourceLanguage::C, &[]), "no target is given");
    assert_eq!(error(SourceLanguage::C, &[one, one]), "the target x86_64 is given twice");
    assert_eq!(error(SourceLanguage::Go, &[(Arch::X32, one.1)]), "Go has no target x32");
    let message = "the filter for aarch64 has other variables than that for x86_64";
    assert_eq!(error(SourceLanguage::C, &[one, arm]), message);
    assert_eq!(
        error(SourceLanguage::C, &[(Arch::X86_64, TargetCode::Template(&other)), arm]),
        message
    );
}

#[test]
fn variables_of_other_widths_are_errors_that_name_them() {
    let template = |arch| {
        let builder = Filter::builder(arch).allow_if("lseek", arg("offset").eq(var("x"))).unwrap();
        builder.build().unwrap().compile_template().unwrap().into_program()
    };
    let (x86, arm) = (template(Arch::X86_64), template(Arch::Arm));
    let codes =
        [(Arch::X86_64, TargetCode::Template(&x86)), (Arch::Arm, TargetCode::Template(&arm))];
    let error = emitted(SourceLanguage::C, &codes, false).unwrap_err();
    assert_eq!(error.to_string(), "the variable `x` has 64 bits for x86_64 and 32 bits for arm");
}

/// The code is that for the program.
#[test]
fn templates_without_variables_are_programs() {
    let program = program(Arch::X86_64);
    let template = Template::new(program.clone(), Vec::new(), Vec::new()).unwrap();
    for language in [SourceLanguage::C, SourceLanguage::Rust, SourceLanguage::Go] {
        let options = SourceOptions { installer: true, ..SourceOptions::new(language) };
        let text = template_source(&template, &options);
        assert_eq!(text, source(&program, &options));
        let of = |code| emitted(language, &[(Arch::X86_64, code)], true).unwrap();
        let text = of(TargetCode::Template(&template));
        assert_eq!(text, of(TargetCode::Program(&program)));
    }
}

/// A caller who would lose the listener does not compile: the functions have other names.
#[test]
fn installers_of_filters_with_notifications_return_the_listener() {
    let builder = |arch| Filter::builder(arch).allow(["read"]).unwrap();
    let compile = |arch, verdict| {
        builder(arch).default(verdict).build().unwrap().compile().unwrap().into_program()
    };
    let notifies = compile(Arch::X86_64, Verdict::user_notif(0));
    let silent = compile(Arch::Aarch64, Verdict::KILL_PROCESS);
    let killable = FilterFlags::WAIT_KILLABLE_RECV;
    for (language, names) in [
        (
            SourceLanguage::C,
            ["int install_filter_listener_with(", "int install_filter_listener(void)"],
        ),
        (
            SourceLanguage::Rust,
            [
                "install_filter_listener_with(mut flags: libc::c_ulong, no_new_privs: bool) -> \
                 std::io::Result<std::os::fd::OwnedFd>",
                "pub fn install_filter_listener_in_thread() -> ",
            ],
        ),
        (
            SourceLanguage::Go,
            [
                "func installFilterListenerWith(flags uintptr, noNewPrivs bool) (int, error)",
                "func installFilterListenerInThread() (int, error)",
            ],
        ),
    ] {
        let options = SourceOptions { installer: true, ..SourceOptions::new(language) };
        let text = source(&notifies, &options).unwrap();
        names.iter().for_each(|name| assert!(text.contains(name), "{name}: {text}"));
        assert!(!text.contains("WAIT_KILLABLE_RECV"), "{text}");
        // A file for several targets has one interface, that of the target that notifies.
        let codes = [(Arch::X86_64, &notifies), (Arch::Aarch64, &silent)];
        let codes = codes.map(|(arch, program)| (arch, TargetCode::Program(program)));
        let text = emitted(language, &codes, true).unwrap();
        names.iter().for_each(|name| assert!(text.contains(name), "{name}: {text}"));

        let options = SourceOptions { flags: killable, ..options };
        let text = source(&notifies, &options).unwrap();
        assert!(text.contains("WAIT_KILLABLE_RECV"), "{text}");
        let error = source(&silent, &options).unwrap_err();
        assert!(error.to_string().contains("needs a listener"), "{error}");
        assert_eq!(error.help(), "remove the flag from the filter, or let a rule notify");
        let code = TargetCode::Program(&silent);
        let target = TargetProgram { target: Arch::Aarch64, arches: Vec::new(), code };
        assert_eq!(source_for_targets(&[target], &options), Err(error));
        let options = SourceOptions { installer: false, ..options };
        assert!(source(&silent, &options).is_ok());
    }
}

#[test]
fn names_are_checked_as_they_are_written() {
    let program = program(Arch::X86_64);
    let error = |language, name: &str, package: Option<&str>| {
        let (name, package) = (Some(name.to_owned()), package.map(str::to_owned));
        let options = SourceOptions { name, package, ..SourceOptions::new(language) };
        source(&program, &options).err().map(|error| format!("{error}; {}", error.help()))
    };
    let of = |language, word| {
        Some(format!(
            "`{word}` cannot be a name in the source code: {language} or its libraries use it; give another name"
        ))
    };
    assert_eq!(error(SourceLanguage::Rust, "TYPE", None), of(SourceLanguage::Rust, "type"));
    assert_eq!(error(SourceLanguage::Go, "len", None), of(SourceLanguage::Go, "len"));
    assert_eq!(error(SourceLanguage::C, "BPF", None), of(SourceLanguage::C, "BPF_set"));
    assert_eq!(error(SourceLanguage::Go, "worker", Some("func")), of(SourceLanguage::Go, "func"));
    assert_eq!(error(SourceLanguage::Go, "worker", Some("main")), None);
    let words = "names have letters, digits and _, and do not begin with a digit";
    for name in ["1web", "web;", "", "a\nb"] {
        assert!(
            error(SourceLanguage::C, name, None).is_some_and(|text| text.ends_with(words)),
            "{name}"
        );
    }
}
