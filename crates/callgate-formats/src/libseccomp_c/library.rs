//! The functions of libseccomp: what they do to contexts, and what they return.

use std::rc::Rc;

use super::answers::Arguments;
use super::context::{Code, Context, NewRule, Site, Target};
use super::header::{ATTRIBUTES, of_token, token};
use callgate_bpf::FilterFlags;
use callgate_bpf::diagnostic::{Diagnostic, Topic};
use callgate_bpf::syscalls::{KnownSyscall, nearest_name};
use callgate_bpf::text::calls::{Answer, Call, Library, Role};
use callgate_core::{Arch, Verdict};

type Result<T> = std::result::Result<T, Diagnostic>;

/// The library, after the calls that a program has made.
#[derive(Clone, Debug)]
pub(crate) struct Calls {
    native: Arch,
    /// Whether the program installs a filter; otherwise, the contexts are the filters.
    installs: bool,
    contexts: Vec<Rc<Context>>,
    loaded: Vec<Rc<Context>>,
    exported: Vec<Rc<Context>>,
    pub(super) sites: Rc<Vec<Site>>,
    pub(crate) warnings: Rc<Vec<Diagnostic>>,
    /// The comparisons of all rules, for each architecture.
    comparisons: usize,
}

/// The limit on comparisons, each of which counts for each architecture. A rule without one counts as one.
const MAX_COMPARISONS: usize = 150_000;
/// The most warnings.
const MAX_WARNINGS: usize = 50;
/// The most contexts.
const MAX_CONTEXTS: usize = 100;

impl Calls {
    /// Before all calls.
    pub(crate) fn new(native: Arch, installs: bool) -> Calls {
        Calls {
            native,
            installs,
            contexts: Vec::new(),
            loaded: Vec::new(),
            exported: Vec::new(),
            sites: Rc::new(Vec::new()),
            warnings: Rc::new(Vec::new()),
            comparisons: 0,
        }
    }

    /// The filters, the oldest first, and whether they were only exported.
    pub(super) fn filters(&self) -> (&[Rc<Context>], bool) {
        match (self.loaded.as_slice(), self.exported.as_slice()) {
            ([], []) if self.installs => (&[], false),
            ([], []) => (&self.contexts, true),
            ([], exported) => (exported, true),
            (loaded, _) => (loaded, false),
        }
    }

    /// Whether there is a filter.
    pub(crate) fn has_filters(&self) -> bool {
        !self.contexts.is_empty()
    }

    fn warn(&mut self, warning: Diagnostic) {
        if self.warnings.len() < MAX_WARNINGS && !self.warnings.contains(&warning) {
            Rc::make_mut(&mut self.warnings).push(warning);
        }
    }

    /// The answer for a call that libseccomp refuses.
    fn refuse(&mut self, call: &Call<'_>, what: &str, code: Code, why: &str) -> Answer {
        let message = format!("libseccomp refuses this {what} with {}: {why}", code.name());
        self.warn(
            Diagnostic::warning(Some(call.position), message)
                .help("the program goes on with the error of the call"),
        );
        Answer::Number(-code.0)
    }

    /// The context of a call, to be changed; otherwise, the answer.
    fn context(&mut self, call: &Call<'_>) -> Result<std::result::Result<&mut Context, Answer>> {
        let index = Arguments { call }.context(0)?;
        let is_valid = index
            .and_then(|index| self.contexts.get(index))
            .is_some_and(|context| context.is_valid());
        if !is_valid {
            let why = match index {
                None => "the filter is a null pointer",
                Some(_) => "the filter has no architecture",
            };
            return Ok(Err(self.refuse(call, "call", Code::INVAL, why)));
        }
        Ok(match index.and_then(|index| self.contexts.get_mut(index)) {
            Some(context) => Ok(Rc::make_mut(context)),
            None => Err(Answer::Number(-Code::INVAL.0)),
        })
    }

    fn begin(&mut self, call: &Call<'_>) -> Result<Answer> {
        let verdict = Arguments { call }.verdict(0, "the default action")?;
        if !is_action(verdict) {
            let why = format!("{:#x} is not an action", verdict.0);
            self.refuse(call, "filter", Code::INVAL, &why);
            return Ok(Answer::Number(0));
        }
        if self.contexts.len() >= MAX_CONTEXTS {
            let message = format!("the program makes more than {MAX_CONTEXTS} filters, the limit");
            return Err(Diagnostic::error(Some(call.position), message)
                .help("give only the functions that make one filter")
                .topic(Topic::TooLarge));
        }
        self.contexts.push(Rc::new(Context::new(self.native, verdict, call.position)));
        Ok(Answer::Handle(self.contexts.len() - 1))
    }

    fn reset(&mut self, call: &Call<'_>) -> Result<Answer> {
        let Some(index) = (Arguments { call }).context(0)? else { return Ok(Answer::Number(0)) };
        let verdict = Arguments { call }.verdict(1, "the default action")?;
        if !is_action(verdict) {
            let why = format!("{:#x} is not an action", verdict.0);
            return Ok(self.refuse(call, "call", Code::INVAL, &why));
        }
        if let Some(context) = self.contexts.get_mut(index) {
            *context = Rc::new(Context::new(self.native, verdict, call.position));
        }
        Ok(Answer::Number(0))
    }

    fn add_rule(&mut self, call: &Call<'_>, is_exact: bool, in_array: bool) -> Result<Answer> {
        const RULE: &str = "rule";
        let arguments = Arguments { call };
        let verdict = arguments.verdict(1, "the action of this rule")?;
        let target = arguments.target(2)?;
        let comparisons = arguments.comparisons(in_array)?;
        let unused = if in_array { 0 } else { arguments.unused() };
        let native = self.native;
        let context = match self.context(call)? {
            Ok(context) => context,
            Err(answer) => return Ok(answer),
        };
        let refused = |why: String| Err((Code::INVAL, why));
        let accepted = match (target, comparisons) {
            (Target::Number(-1), _) if !context.skip_number => {
                refused("-1 is permitted only with SCMP_FLTATR_API_TSKIP".to_owned())
            }
            (Target::Number(number @ -99..=-2), _) => {
                refused(format!("{number} is not the number of a syscall"))
            }
            _ if !is_action(verdict) => refused(format!("{:#x} is not an action", verdict.0)),
            _ if verdict == context.default => {
                let why = format!("its action is that of syscalls without a rule, {verdict}");
                Err((Code::ACCES, why))
            }
            (_, Err(why)) => refused(why),
            (_, Ok(comparisons)) => Ok(comparisons),
        };
        let comparisons = match accepted {
            Ok(comparisons) => comparisons,
            Err((code, why)) => return Ok(self.refuse(call, RULE, code, &why)),
        };
        let more = comparisons.len().max(1).saturating_mul(context.arches());
        let name = name_of(target, native);
        let rule = NewRule { verdict, target, comparisons, is_exact };
        let index = self.sites.len();
        let context = match self.context(call)? {
            Ok(context) => context,
            Err(answer) => return Ok(answer),
        };
        let result = context.add_rule(rule, index);
        self.spend(more, call)?;
        if unused > 0 {
            let message = format!(
                "the number of comparisons is too small: {unused} more {} given, and libseccomp ignores what is given beyond it",
                if unused == 1 { "is" } else { "are" }
            );
            let help = "write the number of comparisons before them";
            self.warn(Diagnostic::warning(Some(call.position), message).help(help));
        }
        let Err(code) = result else {
            Rc::make_mut(&mut self.sites).push(Site { position: call.position, name });
            return Ok(Answer::Number(0));
        };
        let why = match code {
            Code::EXIST => "it contradicts an earlier rule of this syscall".to_owned(),
            Code::FAULT => format!("{name} has no name, by which other architectures have it"),
            Code::DOM => format!("{native} does not have `{name}`"),
            Code::OPNOTSUPP => "an exact rule is possible only with one architecture".to_owned(),
            _ => format!(
                "programs can also reach `{name}` in another way, which it would not compare"
            ),
        };
        Ok(self.refuse(call, RULE, code, &why))
    }

    /// Counts comparisons.
    fn spend(&mut self, more: usize, call: &Call<'_>) -> Result<()> {
        self.comparisons = self.comparisons.saturating_add(more);
        if self.comparisons <= MAX_COMPARISONS {
            return Ok(());
        }
        let message = format!(
            "the rules up to this one have more than {MAX_COMPARISONS} comparisons, the limit; each counts on each architecture"
        );
        Err(Diagnostic::error(Some(call.position), message)
            .help("compare with ranges or bits instead of single values")
            .topic(Topic::TooLarge))
    }

    /// The architecture of an argument; `None` for a constant that is none.
    fn arch(&self, call: &Call<'_>, index: usize) -> Result<Option<Arch>> {
        let given = Arguments { call }.word(index, "the architecture")?;
        Ok(if given == 0 { Some(self.native) } else { of_token(given) })
    }

    fn change_arch(&mut self, call: &Call<'_>) -> Result<Answer> {
        let Some(arch) = self.arch(call, 1)? else {
            let why = "the constant is that of no architecture";
            return Ok(self.refuse(call, "architecture", Code::INVAL, why));
        };
        let Some(index) = (Arguments { call }).context(0)? else {
            return Ok(self.refuse(call, "call", Code::INVAL, "the filter is a null pointer"));
        };
        let Some(context) = self.contexts.get_mut(index) else { return Ok(Answer::Unknown) };
        let context = Rc::make_mut(context);
        let result = match call.function {
            "seccomp_arch_add" => context.add_arch(arch),
            _ => context.remove_arch(arch),
        };
        Ok(match result {
            Ok(()) => Answer::Number(0),
            // An architecture that is there already, or is not there: many programs do not care.
            Err(Code::EXIST) => Answer::Number(-Code::EXIST.0),
            Err(code) => {
                let why = format!("{arch} has another byte order than {}", self.native);
                self.refuse(call, "architecture", code, &why)
            }
        })
    }

    fn set_attribute(&mut self, call: &Call<'_>) -> Result<Answer> {
        let arguments = Arguments { call };
        let attribute = arguments.number(1, "the attribute")?;
        let name = usize::try_from(attribute - 1).ok().and_then(|at| ATTRIBUTES.get(at)).copied();
        let value = arguments.word(2, "the value of the attribute");
        let context = match self.context(call)? {
            Ok(context) => context,
            Err(answer) => return Ok(answer),
        };
        let mut set = |flag: FilterFlags| {
            let is_set = value.as_ref().is_ok_and(|value| *value != 0);
            context.flags = if is_set { context.flags | flag } else { context.flags.without(flag) };
        };
        match name {
            Some("ACT_DEFAULT") => {
                let why = "the default action cannot be changed";
                return Ok(self.refuse(call, "attribute", Code::ACCES, why));
            }
            Some("ACT_BADARCH") => {
                let verdict = Verdict(value?);
                if !is_action(verdict) {
                    let why = format!("{:#x} is not an action", verdict.0);
                    return Ok(self.refuse(call, "attribute", Code::INVAL, &why));
                }
                context.set_bad_arch(verdict);
            }
            Some("API_TSKIP") => context.skip_number = value? != 0,
            Some("CTL_TSYNC") => set(FilterFlags::TSYNC),
            Some("CTL_LOG") => set(FilterFlags::LOG),
            Some("CTL_SSB") => set(FilterFlags::SPEC_ALLOW),
            Some("CTL_WAITKILL") => set(FilterFlags::WAIT_KILLABLE_RECV),
            Some("CTL_OPTIMIZE") => match value {
                Ok(1 | 2) | Err(_) => {}
                Ok(_) => {
                    let why = "1 and 2 are the levels of optimization";
                    return Ok(self.refuse(call, "attribute", Code::OPNOTSUPP, why));
                }
            },
            // These do not change the filter.
            Some(_) => {}
            None => {
                let why = format!("{attribute} is not an attribute");
                return Ok(self.refuse(call, "attribute", Code::INVAL, &why));
            }
        }
        Ok(Answer::Number(0))
    }

    fn install(&mut self, call: &Call<'_>) -> Result<Answer> {
        if let Err(answer) = self.context(call)? {
            return Ok(answer);
        }
        let index = Arguments { call }.context(0)?;
        let Some(context) = index.and_then(|index| self.contexts.get(index)).cloned() else {
            return Ok(Answer::Unknown);
        };
        match call.function {
            "seccomp_load" => self.loaded.push(context),
            // A filter may be written in two forms.
            _ if self.exported.contains(&context) => {}
            _ => self.exported.push(context),
        }
        Ok(Answer::Number(0))
    }

    fn merge(&mut self, call: &Call<'_>) -> Result<Answer> {
        let other = Arguments { call }.context(1)?;
        let Some(other) = other.and_then(|index| self.contexts.get(index)).cloned() else {
            return Ok(self.refuse(call, "call", Code::INVAL, "a filter is a null pointer"));
        };
        let context = match self.context(call)? {
            Ok(context) => context,
            Err(answer) => return Ok(answer),
        };
        match context.merge(&other) {
            Ok(()) => Ok(Answer::Number(0)),
            Err(code) => {
                let why = match code {
                    Code::EXIST => "both filters have an architecture in common",
                    Code::DOM => "the filters are for different byte orders",
                    _ => "the filters differ in their default action or in SCMP_FLTATR_CTL_TSYNC",
                };
                Ok(self.refuse(call, "call", code, why))
            }
        }
    }

    /// The number of a syscall by its name.
    fn resolve(&mut self, call: &Call<'_>) -> Result<Answer> {
        let is_native = match call.function {
            "seccomp_syscall_resolve_name" => true,
            _ => self.arch(call, 0).ok().flatten() == Some(self.native),
        };
        let index = usize::from(call.function != "seccomp_syscall_resolve_name");
        let Some(name) = (Arguments { call }).text(index).filter(|_| is_native) else {
            return Ok(Answer::Unknown);
        };
        let Some(known) = KnownSyscall::named(name) else {
            let message = format!("no architecture has a syscall `{name}`");
            let help = match nearest_name(name) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "check the spelling against syscalls(2)".to_owned(),
            };
            self.warn(Diagnostic::warning(Some(call.position), message).help(help));
            return Ok(Answer::Number(-1));
        };
        let is_rewritten = call.function == "seccomp_syscall_resolve_name_rewrite"
            && known.multiplexed(self.native).is_some();
        Ok(match known.number(self.native).and_then(|number| i32::try_from(number).ok()) {
            _ if is_rewritten => Answer::Unknown,
            Some(number) => Answer::Number(number),
            None => Answer::Absent(known),
        })
    }

    /// A function that changes nothing.
    fn ask(&mut self, call: &Call<'_>) -> Result<Answer> {
        Ok(match call.function {
            "seccomp_arch_native" => Answer::Unsigned(token(self.native)),
            "seccomp_arch_exist" => {
                let index = Arguments { call }.context(0)?;
                let context = index.and_then(|index| self.contexts.get(index));
                match (context, self.arch(call, 1)?) {
                    (Some(context), Some(arch)) if context.has_arch(arch) => Answer::Number(0),
                    (Some(_), Some(_)) => Answer::Number(-Code::EXIST.0),
                    _ => Answer::Number(-Code::INVAL.0),
                }
            }
            "seccomp_arch_resolve_name" => match (Arguments { call }).text(0) {
                Some(name) => {
                    let arch = Arch::ALL.iter().find(|arch| arch.name() == name);
                    Answer::Unsigned(arch.map_or(0, |arch| token(*arch)))
                }
                None => Answer::Unknown,
            },
            "seccomp_syscall_priority"
            | "seccomp_precompute"
            | "seccomp_export_pfc"
            | "seccomp_attr_get"
            | "seccomp_release"
            | "seccomp_api_set" => Answer::Number(0),
            _ => Answer::Unknown,
        })
    }
}

impl Library for Calls {
    fn role(function: &str) -> Option<Role> {
        Some(match function {
            "seccomp_init" => Role::Begins,
            "seccomp_rule_add"
            | "seccomp_rule_add_exact"
            | "seccomp_rule_add_array"
            | "seccomp_rule_add_exact_array"
            | "seccomp_arch_add"
            | "seccomp_arch_remove"
            | "seccomp_attr_set"
            | "seccomp_reset"
            | "seccomp_merge"
            | "seccomp_transaction_start"
            | "seccomp_transaction_reject"
            | "seccomp_transaction_commit" => Role::Changes,
            "seccomp_load" | "seccomp_export_bpf" | "seccomp_export_bpf_mem" => Role::Installs,
            "seccomp_release"
            | "seccomp_syscall_priority"
            | "seccomp_precompute"
            | "seccomp_export_pfc"
            | "seccomp_attr_get"
            | "seccomp_api_get"
            | "seccomp_api_set"
            | "seccomp_version"
            | "seccomp_arch_native"
            | "seccomp_arch_exist"
            | "seccomp_arch_resolve_name"
            | "seccomp_syscall_resolve_name"
            | "seccomp_syscall_resolve_name_arch"
            | "seccomp_syscall_resolve_name_rewrite"
            | "seccomp_syscall_resolve_num_arch"
            | "seccomp_notify_addfd"
            | "seccomp_notify_alloc"
            | "seccomp_notify_free"
            | "seccomp_notify_receive"
            | "seccomp_notify_respond"
            | "seccomp_notify_id_valid"
            | "seccomp_notify_fd" => Role::Neutral,
            _ => return None,
        })
    }

    fn writes(function: &str) -> bool {
        matches!(
            function,
            "seccomp_attr_get"
                | "seccomp_export_bpf_mem"
                | "seccomp_notify_alloc"
                | "seccomp_notify_receive"
        )
    }

    fn call(&mut self, call: &Call<'_>) -> Result<Answer> {
        let transaction = |context: &mut Context| match call.function {
            "seccomp_transaction_start" => context.start_transaction(),
            "seccomp_transaction_reject" => context.reject_transaction(),
            _ => context.commit_transaction(),
        };
        match call.function {
            "seccomp_init" => self.begin(call),
            "seccomp_rule_add" => self.add_rule(call, false, false),
            "seccomp_rule_add_exact" => self.add_rule(call, true, false),
            "seccomp_rule_add_array" => self.add_rule(call, false, true),
            "seccomp_rule_add_exact_array" => self.add_rule(call, true, true),
            "seccomp_arch_add" | "seccomp_arch_remove" => self.change_arch(call),
            "seccomp_attr_set" => self.set_attribute(call),
            "seccomp_reset" => self.reset(call),
            "seccomp_merge" => self.merge(call),
            "seccomp_load" | "seccomp_export_bpf" | "seccomp_export_bpf_mem" => self.install(call),
            "seccomp_transaction_start"
            | "seccomp_transaction_reject"
            | "seccomp_transaction_commit" => Ok(match self.context(call)? {
                Ok(context) => {
                    transaction(context);
                    Answer::Number(0)
                }
                Err(answer) => answer,
            }),
            "seccomp_syscall_resolve_name"
            | "seccomp_syscall_resolve_name_arch"
            | "seccomp_syscall_resolve_name_rewrite" => self.resolve(call),
            _ => self.ask(call),
        }
    }

    fn has_result(&self) -> bool {
        !self.filters().0.is_empty()
    }

    fn is_same(&self, other: &Calls) -> bool {
        self.filters().0 == other.filters().0
    }
}

/// Whether a verdict may be the result of a filter: libseccomp takes error numbers below 4095.
fn is_action(verdict: Verdict) -> bool {
    const MAX_ERRNO: u16 = 4095;
    const PLAIN: [Verdict; 6] = [
        Verdict::KILL_PROCESS,
        Verdict::KILL_THREAD,
        Verdict::trap(0),
        Verdict::LOG,
        Verdict::ALLOW,
        Verdict::user_notif(0),
    ];
    let data = verdict.data();
    PLAIN.contains(&verdict)
        || (verdict == Verdict::errno(data) && data < MAX_ERRNO)
        || verdict == Verdict::trace(data)
}

/// The name of a syscall for messages.
fn name_of(target: Target, native: Arch) -> String {
    match target.known(native) {
        Ok(known) => known.name().to_owned(),
        Err(number) => number.to_string(),
    }
}
