//! Contexts and their rules.

use std::sync::Arc;

use callgate::{Arch, Verdict};
use callgate_codegen::Instructions;
use callgate_core::policy::Policy;

use super::compile::{ArchFilter, Attribute, Attributes, Exported, policy};
use super::rule::{NewRule, prioritized};
use crate::arch::native;
use crate::error::{Error, Result};
use crate::kernel::support::{Flag, Support};

/// What `scmp_filter_ctx` stands for.
#[derive(Debug)]
pub(crate) struct Context {
    attributes: Attributes,
    /// The instructions that the program may contain.
    instructions: Instructions,
    /// In the order in which the architectures were added.
    filters: Vec<ArchFilter>,
    /// Whether a verdict is NOTIFY, so that loading the filter creates a listener.
    notifies: bool,
    /// The filters when each open transaction began.
    transactions: Vec<Vec<ArchFilter>>,
    program: Option<Arc<Exported>>,
}

impl Context {
    /// A context with this default action, for the native architecture.
    pub(crate) fn new(default: Verdict, support: &Support) -> Result<Context> {
        let mut context = Context {
            attributes: Attributes::new(default),
            instructions: Instructions::default(),
            filters: Vec::new(),
            notifies: false,
            transactions: Vec::new(),
            program: None,
        };
        context.reset(default, support)?;
        Ok(context)
    }

    /// The same context for programs of these instructions.
    pub(crate) fn with_instructions(self, instructions: Instructions) -> Context {
        Context { instructions, program: None, ..self }
    }

    /// Makes it a new context with this default action, for the same instructions.
    pub(crate) fn reset(&mut self, default: Verdict, support: &Support) -> Result<()> {
        if !support.has_action(default) {
            return Err(Error::Invalid);
        }
        let native = native().ok_or(Error::Internal)?;
        *self = Context {
            attributes: Attributes::new(default),
            instructions: self.instructions,
            filters: vec![ArchFilter::new(native)],
            notifies: default == NOTIFY,
            transactions: Vec::new(),
            program: None,
        };
        Ok(())
    }

    /// Whether it has a filter for some architecture. Most functions refuse a context without.
    pub(crate) fn is_valid(&self) -> bool {
        !self.filters.is_empty()
    }

    pub(crate) fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    pub(crate) fn filters(&self) -> &[ArchFilter] {
        &self.filters
    }

    /// Whether loading the filter creates a listener.
    pub(crate) fn notifies(&self) -> bool {
        self.notifies
    }

    /// Sets an attribute.
    pub(crate) fn set(
        &mut self,
        attribute: Attribute,
        value: u32,
        support: &Support,
    ) -> Result<()> {
        let require = |flag| if support.has_flag(flag) { Ok(()) } else { Err(Error::NotSupported) };
        let attributes = &mut self.attributes;
        match attribute {
            Attribute::DefaultAction => return Err(Error::NotPermitted),
            Attribute::BadArchAction => {
                let verdict = Verdict(value);
                check_action(verdict, attributes, support)?;
                attributes.bad_arch = verdict;
            }
            Attribute::NoNewPrivs => attributes.no_new_privs = value != 0,
            Attribute::ThreadSync => {
                require(Flag::ThreadSync)?;
                // Without TSYNC_ESRCH, the result of seccomp(2) is either a thread or a listener.
                if value != 0 && self.notifies && !support.has_flag(Flag::ThreadSyncError) {
                    return Err(Error::Invalid);
                }
                attributes.thread_sync = value != 0;
            }
            Attribute::SkipNumber => attributes.skip_number = value != 0,
            Attribute::Log => {
                require(Flag::Log)?;
                attributes.log = value != 0;
            }
            Attribute::SpeculativeStoreBypass => {
                require(Flag::SpeculativeStoreBypass)?;
                attributes.speculative_store_bypass = value != 0;
            }
            Attribute::Optimize => match value {
                1 | 2 => attributes.optimize = value,
                _ => return Err(Error::NotSupported),
            },
            Attribute::RawErrors => attributes.raw_errors = value != 0,
            Attribute::WaitKillable => attributes.wait_killable = value != 0,
        }
        if matches!(attribute, Attribute::BadArchAction | Attribute::Optimize) {
            self.program = None;
        }
        Ok(())
    }

    /// Whether it has a filter for an architecture.
    pub(crate) fn has_arch(&self, arch: Arch) -> bool {
        self.filters.iter().any(|filter| filter.arch() == arch)
    }

    /// Adds an architecture, without the rules that were added before.
    pub(crate) fn add_arch(&mut self, arch: Arch) -> Result<()> {
        if self.has_arch(arch) {
            return Err(Error::Exists);
        }
        if self.filters.iter().any(|filter| filter.arch().endian() != arch.endian()) {
            return Err(Error::Domain);
        }
        self.filters.push(ArchFilter::new(arch));
        self.program = None;
        Ok(())
    }

    /// Removes an architecture with its rules.
    pub(crate) fn remove_arch(&mut self, arch: Arch) -> Result<()> {
        if !self.has_arch(arch) {
            return Err(Error::Exists);
        }
        self.filters.retain(|filter| filter.arch() != arch);
        self.program = None;
        Ok(())
    }

    /// Takes over the architectures of another context, which is no longer needed afterwards.
    pub(crate) fn merge(&mut self, other: &mut Context) -> Result<()> {
        let key = |context: &Context| {
            let attributes = context.attributes;
            (attributes.default, attributes.no_new_privs, attributes.thread_sync)
        };
        if key(self) != key(other) {
            return Err(Error::Invalid);
        }
        let endian =
            |context: &Context| context.filters.first().map(|filter| filter.arch().endian());
        if endian(self) != endian(other) {
            return Err(Error::Domain);
        }
        if other.filters.iter().any(|filter| self.has_arch(filter.arch())) {
            return Err(Error::Exists);
        }
        self.filters.append(&mut other.filters);
        self.notifies |= other.notifies;
        self.program = None;
        Ok(())
    }

    /// Whether the number of a syscall may be given: not those that the library keeps for itself.
    pub(crate) fn check_number(&self, nr: i32) -> Result<()> {
        match nr {
            -1 if self.attributes.skip_number => Ok(()),
            -99..=-1 => Err(Error::Invalid),
            _ => Ok(()),
        }
    }

    /// Whether a rule may have this verdict.
    pub(crate) fn check_verdict(&self, verdict: Verdict, support: &Support) -> Result<()> {
        check_action(verdict, &self.attributes, support)?;
        if verdict == self.attributes.default { Err(Error::NotPermitted) } else { Ok(()) }
    }

    /// Adds a rule to all architectures, or to none if one of them refuses it.
    pub(crate) fn add_rule(&mut self, rule: &NewRule) -> Result<()> {
        // Each filter has another architecture.
        let mut before = [0; Arch::ALL.len()];
        let mut result = Ok(());
        for (filter, before) in self.filters.iter_mut().zip(&mut before) {
            *before = filter.rules.len();
            result = result.and(rule.add_to(&mut filter.rules));
        }
        if result.is_err() {
            for (filter, len) in self.filters.iter_mut().zip(before) {
                filter.rules.truncate(len);
            }
            return result;
        }
        self.notifies |= rule.verdict == NOTIFY;
        self.program = None;
        Ok(())
    }

    /// Raises the priority of a syscall on all architectures that have it.
    pub(crate) fn prioritize(&mut self, nr: i32, priority: u8) -> Result<()> {
        let mut result = Ok(());
        for filter in &mut self.filters {
            match prioritized(filter.arch(), nr) {
                Ok(Some(nr)) => {
                    let known = filter.priorities.entry(nr).or_default();
                    *known = priority.max(*known);
                }
                Ok(None) => {}
                Err(error) => result = result.and(Err(error)),
            }
        }
        self.program = None;
        result
    }

    /// Starts a transaction; transactions may be nested.
    pub(crate) fn start_transaction(&mut self) {
        self.transactions.push(self.filters.clone());
    }

    /// Restores the rules and architectures of the start of the innermost transaction.
    pub(crate) fn reject_transaction(&mut self) {
        if let Some(before) = self.transactions.pop() {
            self.filters = before;
            self.program = None;
        }
    }

    /// Ends the innermost transaction.
    pub(crate) fn commit_transaction(&mut self) {
        self.transactions.pop();
    }

    /// The rules as a policy.
    pub(crate) fn policy(&self) -> Result<Policy> {
        policy(&self.attributes, &self.filters)
    }

    /// The program, which is compiled and proved unless it is there already.
    pub(crate) fn program(&mut self) -> Result<Arc<Exported>> {
        if let Some(program) = &self.program {
            return Ok(Arc::clone(program));
        }
        let program = Exported::compile(&self.attributes, self.instructions, &self.filters)?;
        let program = Arc::new(program);
        Ok(Arc::clone(self.program.insert(program)))
    }
}

/// `SCMP_ACT_NOTIFY`.
const NOTIFY: Verdict = Verdict::user_notif(0);

/// Whether the kernel and the library support an action.
fn check_action(verdict: Verdict, attributes: &Attributes, support: &Support) -> Result<()> {
    let conflicts = attributes.thread_sync && verdict == NOTIFY;
    if conflicts && !support.has_flag(Flag::ThreadSyncError) || !support.has_action(verdict) {
        return Err(Error::Invalid);
    }
    Ok(())
}
