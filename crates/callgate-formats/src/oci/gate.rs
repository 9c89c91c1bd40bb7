//! `includes` and `excludes`: when an entry applies.

use super::{Dialect, Options};
use crate::capabilities::CapSet;
use crate::syntax::reader::{Known, Reader, key};
use crate::syntax::tree::{Node, shorten};
use callgate_bpf::diagnostic::Severity;
use callgate_bpf::syscalls::{Arch, KernelVersion};

/// One of `includes` and `excludes`; empty when it says nothing.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// Known ones only: an unknown capability is never there, which `unknown_cap` says.
    caps: CapSet,
    unknown_cap: bool,
    arches: Option<Vec<Arch>>,
    min_kernel: Option<KernelVersion>,
}

impl Gate {
    /// Whether an entry with this as `includes` applies: everything it says must hold.
    pub(super) fn includes(&self, options: &Options) -> bool {
        let caps = !self.unknown_cap && options.caps.includes(self.caps);
        caps && self.on_arch(options) != Some(false) && self.on_kernel(options) != Some(false)
    }

    /// Whether an entry with this as `excludes` is out: one thing that holds is enough.
    pub(super) fn excludes(&self, options: &Options) -> bool {
        options.caps.overlaps(self.caps)
            || self.on_arch(options) == Some(true)
            || self.on_kernel(options) == Some(true)
    }

    fn on_arch(&self, options: &Options) -> Option<bool> {
        self.arches.as_ref().map(|arches| arches.contains(&options.judged_against()))
    }

    fn on_kernel(&self, options: &Options) -> Option<bool> {
        self.min_kernel.map(|min| options.kernel >= min)
    }
}

/// Reads `includes` or `excludes`.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node, what: &str, dialect: Dialect) -> Gate {
    let min_kernel = match dialect {
        Dialect::Podman => Known { key: "minKernel", foreign: Some("Docker's profiles") },
        _ => key("minKernel"),
    };
    let known = [key("caps"), key("arches"), min_kernel];
    let mut gate = Gate::default();
    let Some(fields) = reader.fields(node, what, &known) else { return gate };
    if let Some(caps) = fields.get("caps").and_then(|node| reader.texts(node, "`caps`")) {
        for (at, name) in caps {
            if let Some(cap) = CapSet::one(name) {
                gate.caps = gate.caps.with(cap);
                continue;
            }
            gate.unknown_cap = true;
            if reader.is_full(Severity::Warning) {
                reader.warn(at, "");
                continue;
            }
            let message =
                format!("there is no capability `{}`; no container has it", shorten(name));
            let near = reader.nearest(&name.to_ascii_uppercase(), CapSet::all().names());
            reader.warn(at, message).help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "see capabilities(7) for the names".to_owned(),
            };
        }
    }
    if let Some(arches) = fields.get("arches").and_then(|node| reader.texts(node, "`arches`")) {
        let known: Vec<Arch> =
            arches.iter().filter_map(|(at, name)| arch(reader, *at, name, dialect)).collect();
        // An empty list says nothing, as in Go; a list of unknown names matches nowhere.
        gate.arches = (!arches.is_empty()).then_some(known);
    }
    if let Some(node) = fields.get("minKernel")
        && let Some(text) = reader.text(node, "`minKernel`")
    {
        gate.min_kernel = kernel(text);
        if gate.min_kernel.is_none() {
            let message = format!("`minKernel` is \"{}\", but must be X.Y", shorten(text));
            reader.error(node.at, message).help = "write a version such as \"4.8\"".to_owned();
        }
    }
    gate
}

/// The architecture of a name in `arches`; these are Go's names, more or less.
fn arch(reader: &mut Reader<'_>, at: usize, name: &str, dialect: Dialect) -> Option<Arch> {
    let is = |arch: &Arch| name_in(dialect, *arch) == Some(name);
    let found = Arch::ALL.iter().copied().find(is);
    if found.is_none() {
        let message =
            format!("`{}` in `arches` is no architecture; it matches nothing", shorten(name));
        reader.warn(at, message).help =
            match Arch::from_name(name).and_then(|arch| name_in(dialect, arch)) {
                Some(other) => format!("write `{other}`"),
                None => "the names are amd64, x86, x32, arm64, arm, riscv64, s390x, ppc64le, …"
                    .to_owned(),
            };
    }
    found
}

/// How `arches` spells an architecture; `None` where it never matches. Docker has a table from Go's names
/// to its own (`goToNative` in moby's `profiles/seccomp`), Podman asks libseccomp's Go binding.
fn name_in(dialect: Dialect, arch: Arch) -> Option<&'static str> {
    match (arch, dialect) {
        (Arch::X86_64, _) => Some("amd64"),
        (Arch::Aarch64, _) => Some("arm64"),
        (Arch::Loongarch64, Dialect::Podman) => Some("loong64"),
        (Arch::Mips, Dialect::Docker) => None,
        (Arch::Mipsel64n32, Dialect::Docker) => Some("mips3l64n32"),
        (other, _) => Some(other.name()),
    }
}

/// Whether the entry of `archMap` for the native architecture counts: both programs look the architecture up
/// in a table first (`nativeToSeccomp`), which does not have all; Docker's spells LoongArch in another
/// way than the table above.
pub(super) fn maps(native: Arch, dialect: Dialect) -> bool {
    match dialect {
        Dialect::Podman => matches!(
            native,
            Arch::X86_64
                | Arch::Aarch64
                | Arch::Mips64
                | Arch::Mips64n32
                | Arch::Mipsel64
                | Arch::Mipsel64n32
                | Arch::S390x
        ),
        _ => !matches!(native, Arch::Loongarch64 | Arch::Mips),
    }
}

/// `X.Y`, both decimal; nothing else.
fn kernel(text: &str) -> Option<KernelVersion> {
    let (major, minor) = text.split_once('.')?;
    let decimal = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if decimal(major) && decimal(minor) { text.parse().ok() } else { None }
}
