//! Advice in the words of the page: its options, tabs and choices.

use callgate::source::Wording;
use callgate_bpf::advice::Advice;

/// How sources are read.
pub(super) const PAGE: &Wording = &Wording {
    choose_arch: "give others in the options under Architectures",
    one_arch: "give one architecture in the options",
    byte_order: "leave Architectures in the options empty, or give that of the text",
    give_format: "choose its format in the options",
    choose_format: "choose oci or bpftext in the options under Format",
    give_raw: "open the program as a file",
    give_content: "open the file, or paste what it contains",
    no_parts: [
        "a text in this format has no parts with names",
        "parts are for Kubernetes resources, Firecracker threads and arrays in source code",
    ],
    ..*Wording::REQUEST
};

/// Advice in the words of the page; `None` if those of the library will do.
#[rustfmt::skip]
pub(super) fn words(advice: &Advice) -> Option<String> {
    Some(match advice {
        // Reading programs.
        Advice::ProgramArch => "choose the architecture that this program is for in the options",
        Advice::ArchOrDefinitions => "choose the architecture in the options, or add a `#define` for what the text asks for",
        Advice::Define(name) => return Some(format!("add a line `#define {name}`, with or without a value, or remove the condition")),
        Advice::ValueOf(name) => return Some(format!("write its value instead, or add a line `#define {name} …`")),
        Advice::OneProgram(name) => return Some(format!("keep only one of them, such as {name}")),
        Advice::ReadProcess => "the command reads the filters of a process: `callgate explain pid:N`",
        Advice::ReadProcessOr(what) => {
            return Some(format!("{what}, or catch what the program installs with the command: `callgate dump -o DIR -- CMD`"));
        }
        Advice::GenerateFromBinary =>
            "the command makes a profile for it (`callgate generate --binary FILE`) and catches its filters (`callgate dump -- FILE`)",
        Advice::UseRecording =>
            "the command makes a profile from it (`callgate generate`) and compares a filter with it (`callgate check`)",
        // Reading policies.
        Advice::PolicyArches => "give them in the options under Architectures",
        Advice::ChangeOrKernel { change, since } => return Some(format!("{change}, or give the kernel {since} in the options")),
        Advice::SystemdVersion => "give it in the options under systemd; `systemctl --version` prints it",
        Advice::OlderSystemd => "the kernel 6.2 and systemd 253 in the options show the filter of older systems",
        Advice::NewerSystemd => "for a newer systemd, give its version in the options",
        Advice::MinijailSemantics => "choose how it is read in the options under minijail",
        Advice::IncludeRoot => "paste the rules of that file in its place; the page reads no files by itself",
        Advice::WithoutRuntimeRules => "choose \"default action (crun)\" in the options under Newer syscalls",
        // Conversions.
        Advice::ClosestOrOneArch =>
            "tick \"the closest stricter policy\", which accepts these losses, or give one architecture in the options",
        Advice::AllArchesOfHost =>
            "give all architectures of the host in the options, such as x86_64, x86 and x32 for lxc and x86_64 and x86 for snap; or \
             tick \"the closest stricter policy\"",
        Advice::ClosestOrCompile =>
            "tick \"the closest stricter policy\", or choose a program (C, Rust, Go), which can express any filter",
        Advice::OtherTargetOrArch => "choose another language, or other architectures or an older systemd in the options",
        Advice::FewerValuesOrCompile =>
            "compare fewer single values, or give fewer architectures; or choose a program (C, Rust, Go), which can express any filter",
        Advice::OtherTargetOrCompile => "choose another language, or a program (C, Rust, Go), which can express any filter",
        // Findings.
        Advice::RecognizedFirst => "compare arch and number before anything else, as the program under Optimize does",
        Advice::Optimize => "Optimize shows it",
        _ => return None,
    }.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that the page advises exists there.
    #[test]
    fn the_page_has_the_options_and_tabs_that_its_advice_names() {
        let page = include_str!("../../../../web/index.html");
        for label in ["Architectures", "Format", "Newer syscalls", "minijail", "systemd", "Kernel"]
        {
            assert!(page.contains(&format!(">{label}</label>")), "{label}");
        }
        for part in [
            ">Optimize</button>",
            "default action (crun)",
            "the closest stricter policy",
            "<summary>Options</summary>",
        ] {
            assert!(page.contains(part), "{part}");
        }
    }

    #[test]
    fn advice_with_words_of_its_own_has_no_options_of_the_command() {
        for advice in [
            Advice::ProgramArch,
            Advice::SystemdVersion,
            Advice::ClosestOrOneArch,
            Advice::Define("A".to_owned()),
            Advice::ReadProcessOr("x"),
            Advice::OneProgram("f".to_owned()),
        ] {
            let text = words(&advice).unwrap_or_default();
            let of_command = text.split('`').step_by(2).any(|part| part.contains("--"));
            assert!(!text.is_empty() && !of_command, "{advice:?}: {text}");
        }
    }
}
