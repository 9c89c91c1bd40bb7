//! Reader of `includes` and `excludes`.

use crate::capabilities::CapSet;
use crate::diagnostics::quote::shorten;
use crate::oci::arch_names::name_in;
use crate::oci::dialect::Dialect;
use crate::oci::gate::Gate;
use crate::syntax::reader::{Reader, foreign_key, key};
use crate::syntax::tree::Node;
use callgate_bpf::diagnostic::Severity;
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::Arch;

/// The largest number in `minKernel`: Docker reads each into 8 bits.
const MAX_VERSION: u16 = 255;

/// Reads the value of `includes` or `excludes`.
pub(super) fn gate(reader: &mut Reader<'_>, node: &Node<'_>, what: &str, dialect: Dialect) -> Gate {
    let version_key = match dialect {
        Dialect::Podman => foreign_key("minKernel", "Docker's profiles"),
        _ => key("minKernel"),
    };
    let known = [key("caps"), key("arches"), version_key];
    let mut gate = Gate::default();
    let Some(fields) = reader.fields(node, what, &known) else { return gate };
    if let Some(caps) = fields.get("caps").and_then(|node| reader.texts(node, "`caps`")) {
        for (at, name) in caps {
            if let Some(cap) = CapSet::one(name) {
                gate.caps = gate.caps.with(cap);
                continue;
            }
            gate.has_unknown_cap = true;
            if reader.is_full(Severity::Warning) {
                reader.warn(at, "");
                continue;
            }
            let message = format!("unknown capability `{}`; no container has it", shorten(name));
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
        // An empty list is no condition, as in Go; a list of unknown names matches no architecture.
        gate.arches = (!arches.is_empty()).then_some(known);
    }
    if let Some(node) = fields.get("minKernel") {
        gate.min_kernel = min_kernel(reader, node);
    }
    gate
}

/// The architecture with this name in `arches`.
fn arch(reader: &mut Reader<'_>, at: usize, name: &str, dialect: Dialect) -> Option<Arch> {
    let is = |arch: &Arch| name_in(dialect, *arch) == Some(name);
    let found = Arch::ALL.iter().copied().find(is);
    if found.is_none() {
        let message =
            format!("`{}` in `arches` is not an architecture; it matches nothing", shorten(name));
        reader.warn(at, message).help =
            match Arch::from_name(name).and_then(|arch| name_in(dialect, arch)) {
                Some(other) => format!("write `{other}`"),
                None => "the names are amd64, x86, x32, arm64, arm, riscv64, s390x, ppc64le, …"
                    .to_owned(),
            };
    }
    found
}

/// The value of `minKernel`: `X.Y`, both decimal and at most [`MAX_VERSION`], and not both 0. Docker refuses a profile with
/// another one.
fn min_kernel(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<KernelVersion> {
    let text = reader.text(node, "`minKernel`")?;
    let number = |part: &str| {
        let is_decimal = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse().ok().filter(|number| is_decimal && *number <= MAX_VERSION)
    };
    let numbers = text.split_once('.');
    let numbers = numbers.and_then(|(major, minor)| Some((number(major)?, number(minor)?)));
    let version = numbers
        .filter(|numbers| *numbers != (0, 0))
        .map(|(major, minor)| KernelVersion { major, minor });
    if version.is_none() {
        let message = format!(
            "`minKernel` is \"{}\", but must have the form X.Y, with numbers from 0 to {MAX_VERSION}",
            shorten(text)
        );
        reader.error(node.at, message).help = "write a version such as \"4.8\"".to_owned();
    }
    version
}
