//! Reader of an entry of `syscalls`: names, action, conditions.

use super::model::{Entry, Gate, ProfileAction, SyscallName};
use super::options::{Dialect, name_in};
use crate::capabilities::CapSet;
use crate::diagnostics::quote::{did_you_mean, shorten};
use crate::ruleset::{Comparison, Op};
use crate::syntax::reader::{Fields, Reader, foreign_key, key};
use crate::syntax::tree::{Node, NodeKind, integer};
use callgate_bpf::diagnostic::{Severity, Topic};
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::{Arch, Verdict, errno_number};

/// Reads the parts of a profile.
pub(super) struct ProfileReader<'r, 't> {
    pub(super) reader: &'r mut Reader<'t>,
    pub(super) dialect: Dialect,
    pub(super) native: Arch,
    /// Whether the profile is the `spec` of a resource.
    pub(super) is_in_resource: bool,
    /// The names of the entry that is read.
    pub(super) about: Vec<String>,
}

impl ProfileReader<'_, '_> {
    /// An entry of `syscalls`. In a resource, an `errnoRet` of 0 means that none is given. `None` only after an error was
    /// reported.
    pub(super) fn entry<'n>(&mut self, node: &'n Node<'n>) -> Option<Entry<'n>> {
        let docker = |name| match self.dialect.has_gates() {
            true => key(name),
            false => foreign_key(name, "Docker's and Podman's profiles"),
        };
        let podman = |name| match self.dialect {
            Dialect::Podman => key(name),
            _ => foreign_key(name, "Podman's profiles"),
        };
        let known = [
            key("names"),
            key("action"),
            key("errnoRet"),
            key("args"),
            // Neither changes what the filter does: a hint about speed, and prose.
            key("priority"),
            key("comment"),
            docker("name"),
            docker("includes"),
            docker("excludes"),
            podman("errno"),
        ];
        let fields = self.reader.fields(node, "an entry of `syscalls`", &known)?;
        let names = self.names(&fields);
        self.about = names.iter().flatten().map(|name| name.name.to_owned()).collect();
        let mut errno = self.errno(&fields, ["action", "errnoRet", "errno"]);
        if let Some((at, 0)) = errno.filter(|_| self.is_in_resource) {
            if matches!(
                fields.get("action").and_then(Node::text),
                Some("SCMP_ACT_ERRNO" | "SCMP_ACT_TRACE")
            ) {
                self.reader
                    .warn(
                        at,
                        "the operator does not write an `errnoRet` of 0, so runtimes use EPERM",
                    )
                    .help = "remove it, or give another number".to_owned();
            }
            errno = None;
        }
        let action = match fields.get("action") {
            Some(node) => self.action(node, "`action`", errno),
            None => {
                let help = "give the action for these syscalls, such as \"SCMP_ACT_ALLOW\"";
                self.reader.refuse(fields.at, "missing `action` in an entry of `syscalls`", help)
            }
        };
        let mut gate_of = |key: &str| match fields.get(key) {
            Some(node) => self.gate(node, &format!("`{key}`")),
            None => Gate::default(),
        };
        let (includes, excludes) = (gate_of("includes"), gate_of("excludes"));
        // Docker and Podman refuse a profile with a comment of another type.
        if let Some(node) = fields.get("comment").filter(|_| self.dialect.has_gates()) {
            self.reader.text(node, "`comment`");
        }
        let alternatives = match fields.get("args") {
            Some(node) => self.alternatives(node)?,
            None => vec![Vec::new()],
        };
        // Runtimes do not read it, so that no value makes them refuse a profile.
        let priority = fields.get("priority").map_or(0, |node| self.priority(node));
        Some(Entry { names: names?, action: action?, alternatives, includes, excludes, priority })
    }

    /// `priority`, as libseccomp has it (`seccomp_syscall_priority(3)`).
    fn priority(&mut self, node: &Node<'_>) -> u8 {
        let number = match &node.kind {
            NodeKind::Number(digits) => integer(digits),
            _ => None,
        };
        number.and_then(|number| u8::try_from(number).ok()).unwrap_or_else(|| {
            let message = "`priority` is not an integer from 0 to 255, and is ignored";
            self.reader.warn(node.at, message).help =
                "give a number: a syscall with 255 counts as much as 256 without".to_owned();
            0
        })
    }

    /// `names`, or the older `name`.
    fn names<'n>(&mut self, fields: &Fields<'n>) -> Option<Vec<SyscallName<'n>>> {
        let names = fields.get("names").map(|node| (node, self.reader.texts(node, "`names`")));
        let name = fields.get("name").map(|node| (node, self.reader.text(node, "`name`")));
        let names = match (names, name) {
            (Some((node, names)), None) => names.filter(|names| {
                if names.is_empty() {
                    self.reader
                        .error(node.at, "`names` is empty, but must name at least one syscall")
                        .help = "name a syscall, or remove the entry".to_owned();
                }
                !names.is_empty()
            }),
            (None, Some((node, name))) => name.map(|name| vec![(node.at, name)]),
            (Some((_, names)), Some((_, name)))
                if names.as_ref().is_some_and(Vec::is_empty) || name == Some("") =>
            {
                // Go writes the unused one of the two as an empty value.
                match (names, name) {
                    (Some(names), Some("")) if !names.is_empty() => Some(names),
                    (_, Some(name)) if !name.is_empty() => {
                        fields.get("name").map(|node| vec![(node.at, name)])
                    }
                    _ => {
                        self.reader.error(fields.at, "this entry does not name a syscall");
                        None
                    }
                }
            }
            (Some(_), Some((node, _))) => {
                let help = "move the syscall into `names`";
                self.reader.refuse(
                    node.at,
                    "an entry must have either `name` or `names`, not both",
                    help,
                )
            }
            (None, None) => {
                let help = "name at least one syscall";
                self.reader.refuse(fields.at, "missing `names` in an entry of `syscalls`", help)
            }
        }?;
        for (at, name) in &names {
            if name.is_empty() {
                self.reader.error(*at, "the name of a syscall is empty");
            }
        }
        Some(names.into_iter().map(SyscallName::new).collect())
    }

    /// The conditions of an entry in disjunctive normal form: all comparisons of at least one of the lists must hold.
    /// `None` only after an error was reported.
    pub(super) fn alternatives(&mut self, node: &Node<'_>) -> Option<Vec<Vec<Comparison>>> {
        let nodes = self.reader.list(node, "`args`")?;
        let args: Vec<Arg> = nodes.iter().filter_map(|node| self.arg(node)).collect();
        if args.len() != nodes.len() {
            return None;
        }
        let args = self.used(args);
        let same = |a: &Arg, b: &Arg| a.comparison.arg() == b.comparison.arg();
        let repeated = args
            .iter()
            .enumerate()
            .find(|(i, arg)| args.iter().take(*i).any(|earlier| same(earlier, arg)))
            .map(|(_, arg)| arg);
        if let Some(arg) = repeated {
            let index = arg.comparison.arg();
            let message = match self.dialect {
                Dialect::Oci => format!(
                    "argument {index} is compared more than once in this entry: by the specification all \
                 conditions must hold, but runc and crun turn each condition of the entry into a \
                 separate rule"
                ),
                _ => format!(
                    "argument {index} is compared more than once in this entry, so each condition of the \
                 entry becomes a separate rule: one condition that holds is enough"
                ),
            };
            let warning = self.reader.warn(arg.at, message);
            warning.topic = Some(Topic::OrConditions);
            warning.help =
            "to match any of several conditions, write one entry for each; no runtime can require \
             several conditions on one argument"
                .to_owned();
        }
        if repeated.is_some() && self.dialect != Dialect::Oci {
            let held = args.iter().filter(|arg| !arg.never);
            return Some(held.map(|arg| vec![arg.comparison]).collect());
        }
        if args.iter().any(|arg| arg.never) {
            return Some(Vec::new());
        }
        Some(vec![args.iter().map(|arg| arg.comparison).collect()])
    }

    /// The conditions that the dialect uses.
    fn used(&mut self, mut args: Vec<Arg>) -> Vec<Arg> {
        let is_crun = matches!(self.dialect, Dialect::Crun | Dialect::Podman);
        if let (Some(arg), true) = (args.get(CRUN_ARGS), is_crun) {
            let message = format!(
                "this entry has {} conditions, but crun uses only the first {CRUN_ARGS}",
                args.len()
            );
            self.reader.warn(arg.at, message).help =
                format!("write at most {CRUN_ARGS} conditions per entry");
            args.truncate(CRUN_ARGS);
        }
        args
    }

    fn arg(&mut self, node: &Node<'_>) -> Option<Arg> {
        let known = [key("index"), key("value"), key("valueTwo"), key("op")];
        let fields = self.reader.fields(node, "an item of `args`", &known)?;
        let mut required = |key: &str| {
            if fields.get(key).is_none() {
                self.reader
                    .error(fields.at, format!("missing `{key}` in an item of `args`"))
                    .help = "give `index`, `op` and `value`".to_owned();
            }
            fields.get(key)
        };
        let (index, op) = (required("index"), required("op"));
        // In a resource, `value` is optional.
        let value = match self.is_in_resource {
            true => fields.get("value").ok_or(0),
            false => Ok(required("value")?),
        };
        let index = index.and_then(|node| self.reader.integer(node, "`index`", 5));
        let max = if self.is_in_resource { MAX_IN_RESOURCE } else { u64::MAX };
        let value = match value {
            Ok(node) => self.reader.integer(node, "`value`", max),
            Err(default) => Some(default),
        };
        let value_two = match fields.get("valueTwo") {
            Some(node) => (node.at, self.reader.integer(node, "`valueTwo`", max)?),
            None => (fields.at, 0),
        };
        let op = op?;
        let name = self.reader.text(op, "`op`")?;
        let Some(found) = Op::named(|known, _| known == name, 0) else {
            let message =
                format!("`op` is \"{}\", which is not a comparison operator", shorten(name));
            let near = self.reader.nearest(name, Op::ALL.map(|op| op.words().0));
            let help = similar(
                near,
                "the operators are SCMP_CMP_NE, _LT, _LE, _EQ, _GE, _GT and _MASKED_EQ",
            );
            return self.reader.refuse(op.at, message, help);
        };
        let (index, value) = (u8::try_from(index?).ok()?, value?);
        let mut never = false;
        let (op, value) = match found {
            Op::MaskedEq(_) => {
                never = self.outside_mask(&fields, value, value_two);
                (Op::MaskedEq(value), value_two.1)
            }
            op => (op, value),
        };
        if !matches!(op, Op::MaskedEq(_)) && value_two.1 != 0 {
            let message = format!("`valueTwo` is {}, but {name} does not use it", value_two.1);
            self.reader.warn(value_two.0, message).help =
                "remove it, or use SCMP_CMP_MASKED_EQ, where `value` is the mask".to_owned();
        }
        Some(Arg { at: fields.at, comparison: Comparison::new(index, op, value)?, never })
    }

    /// Warns about a masked comparison that is always or never true as written. Returns whether it never holds.
    fn outside_mask(&mut self, fields: &Fields<'_>, mask: u64, (at, datum): (usize, u64)) -> bool {
        let (outside, about) = (datum & !mask, self.about.clone());
        // Of many, the first names.
        let which = match about.as_slice() {
            [] => String::new(),
            [only] => format!(", in a rule for `{only}`"),
            [first, others @ ..] => format!(", in a rule for `{first}` and {} more", others.len()),
        };
        if outside != 0 {
            let message = format!(
                "`valueTwo` {datum:#x} has bits outside the mask {mask:#x}: {outside:#x}{which}"
            );
            let (message, help) = match self.dialect {
                Dialect::Oci => (
                    format!("{message}; the comparison never holds"),
                    "`value` is the mask, `valueTwo` the value to compare with; libseccomp ignores these bits",
                ),
                _ => (
                    format!("{message}; libseccomp ignores them"),
                    "`value` is the mask, `valueTwo` the value to compare with; by the specification the \
                 comparison never holds",
                ),
            };
            let warning = self.reader.warn(at, message);
            warning.topic = Some(Topic::NeverMatches);
            warning.syscalls = about.into();
            warning.help = help.to_owned();
        } else if mask == 0 {
            self.reader
                .warn(fields.at, "the mask is 0: the comparison holds for every value")
                .help = "`value` is the mask, `valueTwo` the value to compare with".to_owned();
        }
        outside != 0 && self.dialect == Dialect::Oci
    }

    /// `errnoRet`, or Podman's `errno`, which takes precedence, after its byte offset. The maximum depends on the action.
    pub(super) fn errno(
        &mut self,
        fields: &Fields<'_>,
        [action_key, number_key, name_key]: [&str; 3],
    ) -> Option<(usize, u16)> {
        let native = self.native;
        let action = fields.get(action_key).and_then(Node::text);
        let max = if action == Some("SCMP_ACT_ERRNO") { MAX_ERRNO } else { u16::MAX };
        let number = fields.get(number_key).and_then(|node| {
            let value = self.reader.integer(node, &format!("`{number_key}`"), max.into())?;
            Some((node.at, u16::try_from(value).ok()?))
        });
        let named = fields.get(name_key).and_then(|node| {
            let text = self.reader.text(node, &format!("`{name_key}`"))?;
            if text.is_empty() {
                return None;
            }
            let number = text.parse().ok().filter(|number| *number <= max);
            let errno = number.or_else(|| match errno_number(text) {
                Some(_) if text == "ENOSYS" => Some(native.enosys()),
                errno => errno,
            });
            // MIPS and PA-RISC number all but the oldest names differently.
            let own_numbers = native.enosys() != Arch::X86_64.enosys();
            if number.is_none() && own_numbers && text != "ENOSYS" && errno > Some(MAX_COMMON_ERRNO)
            {
                let message = format!(
                    "`{text}` has a different number on {native} than on most architectures"
                );
                return self.reader.refuse(node.at, message, "write the number in quotes");
            }
            if errno.is_none() {
                let message = format!(
                    "`{name_key}` is \"{}\", which is not an errno from 0 to {max}",
                    shorten(text)
                );
                self.reader.error(node.at, message).help =
                    "write a name such as \"EPERM\", or a number in quotes".to_owned();
            }
            Some((node.at, errno?))
        });
        match (named, number) {
            (Some((_, named)), Some((at, number))) if named != number => {
                let message =
                    format!("`{number_key}` is ignored because `{name_key}` is given and differs");
                self.reader.warn(at, message).help = "remove one of them".to_owned();
            }
            _ => {}
        }
        named.or(number)
    }

    /// An action with its verdict. `None` only after an error was reported.
    pub(super) fn action(
        &mut self,
        node: &Node<'_>,
        what: &str,
        errno: Option<(usize, u16)>,
    ) -> Option<ProfileAction> {
        let given = self.reader.text(node, what)?;
        let Some(name) = ACTIONS.into_iter().find(|name| *name == given) else {
            let message = format!("{what} is \"{}\", which is not an action", shorten(given));
            let near = self.reader.nearest(given, ACTIONS);
            let help = similar(
                near,
                "the actions are SCMP_ACT_ALLOW, _ERRNO, _KILL, _KILL_THREAD, \
                     _KILL_PROCESS, _TRAP, _TRACE, _LOG and _NOTIFY",
            );
            return self.reader.refuse(node.at, message, help);
        };
        let data = errno.map_or(EPERM, |(_, errno)| errno);
        let (verdict, takes_data) = match name {
            "SCMP_ACT_ALLOW" => (Verdict::ALLOW, false),
            "SCMP_ACT_ERRNO" => (Verdict::errno(data), true),
            "SCMP_ACT_KILL_PROCESS" => (Verdict::KILL_PROCESS, false),
            "SCMP_ACT_TRAP" => (Verdict::trap(0), false),
            "SCMP_ACT_TRACE" => (Verdict::trace(data), true),
            "SCMP_ACT_LOG" => (Verdict::LOG, false),
            "SCMP_ACT_NOTIFY" => (Verdict::user_notif(0), false),
            _ => (Verdict::KILL_THREAD, false),
        };
        if let Some((at, _)) = errno.filter(|_| !takes_data) {
            let message = format!("{name} does not take an errno");
            match self.dialect {
                Dialect::Oci | Dialect::Crun | Dialect::Podman => {
                    self.reader.error(at, message).help =
                    "remove it: the specification requires an error, and crun and Podman report one"
                        .to_owned();
                }
                Dialect::Docker | Dialect::Runc => {
                    self.reader.warn(at, format!("{message}; it is ignored")).help =
                        "remove it: crun rejects the profile".to_owned();
                }
            }
        }
        Some(ProfileAction { at: node.at, name, verdict })
    }

    /// Reads the value of `includes` or `excludes`.
    fn gate(&mut self, node: &Node<'_>, what: &str) -> Gate {
        let version_key = match self.dialect {
            Dialect::Podman => foreign_key("minKernel", "Docker's profiles"),
            _ => key("minKernel"),
        };
        let known = [key("caps"), key("arches"), version_key];
        let mut gate = Gate::default();
        let Some(fields) = self.reader.fields(node, what, &known) else { return gate };
        if let Some(caps) = fields.get("caps").and_then(|node| self.reader.texts(node, "`caps`")) {
            for (at, name) in caps {
                if let Some(cap) = CapSet::one(name) {
                    gate.caps = gate.caps.with(cap);
                    continue;
                }
                gate.has_unknown_cap = true;
                if self.reader.is_full(Severity::Warning) {
                    self.reader.warn(at, "");
                    continue;
                }
                let message =
                    format!("unknown capability `{}`; no container has it", shorten(name));
                let near = self.reader.nearest(&name.to_ascii_uppercase(), CapSet::all().names());
                self.reader.warn(at, message).help =
                    did_you_mean(near, "see capabilities(7) for the names");
            }
        }
        if let Some(arches) =
            fields.get("arches").and_then(|node| self.reader.texts(node, "`arches`"))
        {
            let known: Vec<Arch> =
                arches.iter().filter_map(|(at, name)| self.arch(*at, name)).collect();
            // An empty list matches every architecture, as in Go; a list of unknown names matches none.
            gate.arches = (!arches.is_empty()).then_some(known);
        }
        if let Some(node) = fields.get("minKernel") {
            gate.min_kernel = self.min_kernel(node);
        }
        gate
    }

    /// The architecture with this name in `arches`.
    fn arch(&mut self, at: usize, name: &str) -> Option<Arch> {
        let is = |arch: &Arch| name_in(self.dialect, *arch) == Some(name);
        let found = Arch::ALL.iter().copied().find(is);
        if found.is_none() {
            let message = format!(
                "`{}` in `arches` is not an architecture; it matches nothing",
                shorten(name)
            );
            self.reader.warn(at, message).help =
                match Arch::from_name(name).and_then(|arch| name_in(self.dialect, arch)) {
                    Some(other) => format!("write `{other}`"),
                    None => "the names are amd64, x86, x32, arm64, arm, riscv64, s390x, ppc64le, …"
                        .to_owned(),
                };
        }
        found
    }

    /// The value of `minKernel`: `X.Y`, both decimal and at most [`MAX_VERSION`], and not both 0. Docker refuses a profile with
    /// another one.
    fn min_kernel(&mut self, node: &Node<'_>) -> Option<KernelVersion> {
        let text = self.reader.text(node, "`minKernel`")?;
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
            self.reader.error(node.at, message).help = "write a version such as \"4.8\"".to_owned();
        }
        version
    }
}

/// The largest integer of a resource. Kubernetes reads a larger one as a floating-point number, which loses digits.
const MAX_IN_RESOURCE: u64 = i64::MAX as u64;

/// One condition of `args`.
struct Arg {
    at: usize,
    comparison: Comparison,
    /// Whether it never holds, because the datum has bits outside the mask.
    never: bool,
}

/// Number of conditions of an entry that crun uses.
const CRUN_ARGS: usize = 6;

#[rustfmt::skip]
const ACTIONS: [&str; 9] = [
    "SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO", "SCMP_ACT_KILL", "SCMP_ACT_KILL_THREAD",
    "SCMP_ACT_KILL_PROCESS", "SCMP_ACT_TRAP", "SCMP_ACT_TRACE", "SCMP_ACT_LOG", "SCMP_ACT_NOTIFY",
];

/// The help for an unknown value: the known one that is most similar to it, if there is one.
pub(super) fn similar(near: Option<&str>, otherwise: &str) -> String {
    near.map_or_else(|| otherwise.to_owned(), |near| format!("did you mean \"{near}\"?"))
}

/// The largest errno that the kernel returns (`MAX_ERRNO`).
const MAX_ERRNO: u16 = 4095;

/// The largest errno up to which the numbers are the same on all architectures (`asm-generic/errno-base.h`).
const MAX_COMMON_ERRNO: u16 = 34;

/// EPERM, the default data of ERRNO and TRACE.
const EPERM: u16 = 1;

/// The largest number in `minKernel`: Docker reads each into 8 bits.
const MAX_VERSION: u16 = 255;
