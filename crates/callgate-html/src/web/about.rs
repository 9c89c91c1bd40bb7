//! What the page offers to choose.

use callgate_bpf::SyscallTable;
use callgate_core::Arch;
use callgate_formats::CONTAINER_DEFAULT;
use callgate_formats::languages::LanguageId;
use callgate_requests::json::Json;
use callgate_requests::source::SourceFormat;

use crate::web::request::Written;

/// The fields of the answer: `version`; `arches`, `formats` and `targets`, lists of names; `code`, a list of objects with
/// `name` and `title`; `syscalls`, the names of all syscalls of x86-64; `example`, the text of the built-in profile.
pub(crate) fn about() -> Vec<(&'static str, Json)> {
    let is_text = |name: &&str| !matches!(*name, "bpf" | "socket");
    let formats = SourceFormat::all().map(SourceFormat::name).filter(is_text);
    let code = Written::CODE.iter().map(|(name, title, _)| {
        Json::Object(vec![("name", (*name).into()), ("title", (*title).into())])
    });
    let mut syscalls: Vec<&str> = Arch::X86_64.syscalls().map(|(_, name)| name).collect();
    syscalls.sort_unstable();
    vec![
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("arches", Json::array(Arch::ALL.iter().map(|arch| arch.name()))),
        ("formats", Json::array(formats)),
        ("targets", Json::array(LanguageId::written().map(LanguageId::name))),
        ("code", Json::array(code)),
        ("syscalls", Json::array(syscalls)),
        ("example", CONTAINER_DEFAULT.into()),
    ]
}
