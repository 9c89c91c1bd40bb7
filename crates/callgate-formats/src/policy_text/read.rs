//! Reads a text.

use callgate_bpf::diagnostic::{Diagnostic, Position};
use callgate_core::policy::{
    Cmp, Condition, Field, FieldTest, Policy, Rule, Section, Test, VariableRelation, VariableTest,
};
use callgate_core::template::{MAX_VARIABLES, Symbol, Variable};
use callgate_core::{Arch, Endian, SyscallSet, Verdict};

use crate::included::check_text_size;

/// How deep `all` and `any` are nested at most.
pub const MAX_DEPTH: usize = 64;

/// The first line.
pub(super) const FIRST_LINE: &str = "callgate-policy 1";

/// What a text is: one policy, or a stack of policies, the oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyText {
    /// The policies: one, or at least two that are a stack.
    pub policies: Vec<Policy>,
    /// Whether they are a stack.
    pub is_stack: bool,
}

/// A line without its comment.
#[derive(Clone, Copy)]
struct Line<'t> {
    number: u32,
    words: &'t str,
}

type Result<T> = std::result::Result<T, Diagnostic>;

/// Reads a text.
///
/// # Errors
/// The first line that is not one of the grammar here, or states what no policy can: a comparison of some bits of two arguments.
pub fn read(text: &str) -> Result<PolicyText> {
    check_text_size(text)?;
    let lines = text
        .split('\n')
        .zip(1..)
        .map(|(line, number)| Line { number, words: line.split('#').next().unwrap_or_default() });
    let mut lines = lines.filter(|line| line.words().next().is_some());
    let Some(first) = lines.next().filter(|line| line.is(FIRST_LINE)) else {
        let position = Some(Position { line: 1, column: 1 });
        return Err(Diagnostic::error(position, format!("the first line is not `{FIRST_LINE}`"))
            .help(
                "this version of callgate reads version 1 of policy texts (docs/reference/languages/policy-text.md)",
            ));
    };
    let endian = match lines.next() {
        Some(line) if line.is("byte-order little") => Endian::Little,
        Some(line) if line.is("byte-order big") => Endian::Big,
        line => {
            let line = line.unwrap_or(first);
            return Err(line.error("missing `byte-order little` or `byte-order big`"));
        }
    };
    let mut reader =
        Reader { variables: Vec::new(), is_stack: false, filters: Vec::new(), last: first };
    for line in lines {
        reader.last = line;
        reader.line(line)?;
    }
    reader.finish(endian)
}

/// A filter while it is read.
struct OpenFilter {
    line: u32,
    other: Verdict,
    sections: Vec<OpenSection>,
}

struct OpenSection {
    line: u32,
    token: u32,
    arches: Vec<Arch>,
    default: Verdict,
    rules: Vec<OpenRule>,
}

struct OpenRule {
    verdict: Verdict,
    numbers: Vec<(u32, u32)>,
    conditions: Vec<Condition>,
    /// The groups that are not ended, with their conditions.
    groups: Vec<(Group, Vec<Condition>)>,
}

#[derive(Clone, Copy)]
enum Group {
    All,
    Any,
}

struct Reader<'t> {
    variables: Vec<Variable>,
    is_stack: bool,
    filters: Vec<OpenFilter>,
    last: Line<'t>,
}

impl Reader<'_> {
    fn line(&mut self, line: Line<'_>) -> Result<()> {
        let words: Vec<&str> = line.words().collect();
        match words.as_slice() {
            ["variable", name, bits] if self.filters.is_empty() && !self.is_stack => {
                self.variable(line, name, bits)
            }
            ["stack"] if self.filters.is_empty() && !self.is_stack => {
                self.is_stack = true;
                Ok(())
            }
            ["filter", other] => {
                let other = Verdict(line.number32(other)?);
                self.check_ended(line)?;
                self.filters.push(OpenFilter { line: line.number, other, sections: Vec::new() });
                Ok(())
            }
            ["arch", token, default, names @ ..] => {
                self.check_ended(line)?;
                let token = line.number32(token)?;
                let default = Verdict(line.number32(default)?);
                let arches = line.arches(token, names)?;
                let Some(filter) = self.filters.last_mut() else {
                    return Err(line.error("`arch` is before the first `filter`"));
                };
                filter.sections.push(OpenSection {
                    line: line.number,
                    token,
                    arches,
                    default,
                    rules: Vec::new(),
                });
                Ok(())
            }
            ["rule", verdict] => {
                self.check_ended(line)?;
                let verdict = Verdict(line.number32(verdict)?);
                let section = self.filters.last_mut().and_then(|filter| filter.sections.last_mut());
                let Some(section) = section else {
                    return Err(line.error("`rule` is before the first `arch` of the filter"));
                };
                section.rules.push(OpenRule {
                    verdict,
                    numbers: Vec::new(),
                    conditions: Vec::new(),
                    groups: Vec::new(),
                });
                Ok(())
            }
            ["nr", numbers @ ..] => {
                let (first, last) = match numbers {
                    [number] => (line.number32(number)?, line.number32(number)?),
                    [first, "-", last] => (line.number32(first)?, line.number32(last)?),
                    _ => return Err(line.error("numbers are written `nr 1` or `nr 1 - 5`")),
                };
                if first > last {
                    return Err(line.error(format!("no number is in {first} - {last}")));
                }
                let rule = self.rule(line)?;
                if !rule.groups.is_empty() {
                    return Err(line.error("`nr` is inside `all` or `any`"));
                }
                rule.numbers.push((first, last));
                Ok(())
            }
            ["all"] => self.rule(line)?.begin(line, Group::All),
            ["any"] => self.rule(line)?.begin(line, Group::Any),
            ["end"] => self.rule(line)?.end(line),
            words => {
                let condition = line.test(words, &self.variables)?;
                self.rule(line)?.add(condition);
                Ok(())
            }
        }
    }

    fn variable(&mut self, line: Line<'_>, name: &str, bits: &str) -> Result<()> {
        let variable = match bits {
            "32" => Variable::u32(name),
            "64" => Variable::u64(name),
            _ => return Err(line.error("a variable has 32 or 64 bits")),
        };
        let variable = variable.map_err(|error| line.error(error.to_string()))?;
        if self.variables.iter().any(|known| known.name() == name) {
            return Err(line.error(format!("the variable {name} is declared twice")));
        }
        if self.variables.len() == MAX_VARIABLES {
            return Err(line.error(format!("there are more than {MAX_VARIABLES} variables")));
        }
        self.variables.push(variable);
        Ok(())
    }

    /// The last rule.
    fn rule(&mut self, line: Line<'_>) -> Result<&mut OpenRule> {
        let section = self.filters.last_mut().and_then(|filter| filter.sections.last_mut());
        let rule = section.and_then(|section| section.rules.last_mut());
        rule.ok_or_else(|| line.error("this belongs to a rule, but no `rule` precedes it"))
    }

    /// All groups of the last rule are ended.
    fn check_ended(&self, line: Line<'_>) -> Result<()> {
        let section = self.filters.last().and_then(|filter| filter.sections.last());
        match section.and_then(|section| section.rules.last()) {
            Some(rule) if !rule.groups.is_empty() => {
                Err(line.error("`all` or `any` of the rule before is not ended with `end`"))
            }
            _ => Ok(()),
        }
    }

    fn finish(self, endian: Endian) -> Result<PolicyText> {
        self.check_ended(self.last)?;
        let Reader { variables, is_stack, filters, last } = self;
        match filters.as_slice() {
            [] => return Err(last.error("there is no `filter`")),
            [_] if is_stack => {
                return Err(last.error("a stack has at least two filters; omit the line `stack`"));
            }
            [_, second, ..] if !is_stack => {
                let line = Line { number: second.line, ..last };
                return Err(line.error("a second `filter`, but no line `stack` before the first"));
            }
            _ => {}
        }
        let policy = |filter: OpenFilter| {
            let line = Line { number: filter.line, ..last };
            let sections = filter.sections.into_iter().map(OpenSection::finish);
            let sections = sections.collect::<Result<Vec<Section>>>()?;
            let policy = Policy::with_variables(sections, filter.other, variables.clone())
                .map_err(|error| line.error(error.to_string()))?;
            if policy.endian() != endian && !policy.sections().is_empty() {
                return Err(line.error("`byte-order` is not that of the architectures"));
            }
            Ok(policy)
        };
        let policies = filters.into_iter().map(policy).collect::<Result<Vec<Policy>>>()?;
        if endian == Endian::Big && policies.iter().all(|policy| policy.sections().is_empty()) {
            return Err(last.error("`byte-order big` without an architecture is not read"));
        }
        Ok(PolicyText { policies, is_stack })
    }
}

impl OpenSection {
    fn finish(self) -> Result<Section> {
        let OpenSection { line, token, arches, default, rules } = self;
        let at = Some(Position { line, column: 1 });
        let rules = rules.into_iter().map(|rule| Rule {
            syscalls: SyscallSet::from_ranges(rule.numbers),
            when: Condition::all(rule.conditions),
            verdict: rule.verdict,
        });
        let mut arches = arches.into_iter();
        let Some(first) = arches.next() else {
            let message = format!("{token:#010x} is not the token of a known architecture");
            return Err(Diagnostic::error(at, message));
        };
        let mut section = Section::new(first, rules.collect(), default);
        for arch in arches {
            section =
                section.and_arch(arch).map_err(|error| Diagnostic::error(at, error.to_string()))?;
        }
        Ok(section)
    }
}

impl OpenRule {
    fn begin(&mut self, line: Line<'_>, group: Group) -> Result<()> {
        if self.groups.len() == MAX_DEPTH {
            return Err(line.error(format!("conditions are nested deeper than {MAX_DEPTH}")));
        }
        self.groups.push((group, Vec::new()));
        Ok(())
    }

    fn end(&mut self, line: Line<'_>) -> Result<()> {
        let condition = match self.groups.pop() {
            Some((Group::All, parts)) => Condition::all(parts),
            Some((Group::Any, parts)) => Condition::any(parts),
            None => return Err(line.error("`end` without `all` or `any`")),
        };
        self.add(condition);
        Ok(())
    }

    fn add(&mut self, condition: Condition) {
        match self.groups.last_mut() {
            Some((_, parts)) => parts.push(condition),
            None => self.conditions.push(condition),
        }
    }
}

/// An operand of a test.
enum Operand {
    Number(u64),
    Field(Field),
    Variable(Symbol),
}

impl<'t> Line<'t> {
    /// The words: only spaces separate them.
    fn words(self) -> impl Iterator<Item = &'t str> {
        self.words.split(' ').filter(|word| !word.is_empty())
    }

    fn is(self, words: &str) -> bool {
        self.words().eq(words.split(' '))
    }

    fn error(self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(Some(Position { line: self.number, column: 1 }), message)
            .help("docs/reference/languages/policy-text.md has the grammar")
    }

    fn number32(self, word: &str) -> Result<u32> {
        let number = self.number(word)?;
        u32::try_from(number)
            .map_err(|_| self.error(format!("{word} is too large; the maximum is {:#x}", u32::MAX)))
    }

    /// Decimal, or hexadecimal in lowercase.
    fn number(self, word: &str) -> Result<u64> {
        let (digits, radix) = match word.strip_prefix("0x") {
            Some(digits) => (digits, 16),
            None => (word, 10),
        };
        let is_digit = |c: char| c.is_ascii_digit() || (radix == 16 && matches!(c, 'a'..='f'));
        let number = u64::from_str_radix(digits, radix).ok();
        number.filter(|_| digits.chars().all(is_digit)).ok_or_else(|| {
            let word: String = word.chars().take(40).collect();
            self.error(format!("`{}` is not a number below 2^64", word.escape_debug()))
        })
    }

    fn arches(self, token: u32, names: &[&str]) -> Result<Vec<Arch>> {
        if names.is_empty() {
            return Ok(Arch::with_token(token).take(1).collect());
        }
        let arch = |name: &&str| {
            let arch = Arch::with_token(token).find(|arch| arch.name() == *name);
            arch.ok_or_else(|| {
                let name: String = name.chars().take(40).collect();
                let name = name.escape_debug();
                self.error(format!("{name} is not an architecture with the token {token:#010x}"))
            })
        };
        names.iter().map(arch).collect()
    }

    fn operand(self, word: &str, variables: &[Variable]) -> Result<Operand> {
        if let Some(name) = word.strip_prefix('$') {
            let index = variables.iter().position(|variable| variable.name() == name);
            let index = index.and_then(|index| u8::try_from(index).ok());
            return index.map(|index| Operand::Variable(Symbol::new(index))).ok_or_else(|| {
                let name: String = name.chars().take(40).collect();
                self.error(format!("the variable `{}` is not declared", name.escape_debug()))
            });
        }
        let (name, is_low) = match word.strip_suffix(".low") {
            Some(name) => (name, true),
            None => (word, false),
        };
        let field = match name {
            "ip" => Some(Field::instruction_pointer()),
            _ => match name.strip_prefix("arg").map(str::as_bytes) {
                Some([digit @ b'0'..=b'5']) => Field::arg(digit - b'0'),
                _ => None,
            },
        };
        match field {
            Some(field) if is_low => Ok(Operand::Field(field.low32())),
            Some(field) => Ok(Operand::Field(field)),
            None if word.starts_with(|c: char| c.is_ascii_digit()) => {
                self.number(word).map(Operand::Number)
            }
            None => {
                let word: String = word.chars().take(40).collect();
                let word = word.escape_debug();
                Err(self.error(format!("`{word}` is not a word that is expected here")))
            }
        }
    }

    /// `field {& operand} relation operand`.
    fn test(self, words: &[&str], variables: &[Variable]) -> Result<Condition> {
        let unsaid = || {
            self.error(
                "a test has the form `arg0 & MASK == NUMBER`, with a number or a variable on the right, `arg0 == arg1` or \
                 `arg0 & arg1 == 0`; other comparisons are only for the checker in verified/",
            )
        };
        let [left, masks @ .., relation, right] = words else { return Err(unsaid()) };
        let Operand::Field(field) = self.operand(left, variables)? else { return Err(unsaid()) };
        let (mut mask, mut shared, mut other) = (None, None, None);
        for pair in masks.chunks(2) {
            let ["&", word] = pair else { return Err(unsaid()) };
            match (self.operand(word, variables)?, shared) {
                (Operand::Number(number), _) => {
                    mask = Some(mask.unwrap_or(u64::MAX) & number);
                }
                (Operand::Variable(symbol), None) => shared = Some(symbol),
                (Operand::Field(field), None) if other.is_none() => other = Some(field),
                _ => return Err(unsaid()),
            }
        }
        let cmp = match *relation {
            "==" => Cmp::Eq,
            "!=" => Cmp::Ne,
            "<" => Cmp::Lt,
            "<=" => Cmp::Le,
            ">" => Cmp::Gt,
            ">=" => Cmp::Ge,
            _ => return Err(unsaid()),
        };
        let right = self.operand(right, variables)?;
        if matches!(right, Operand::Field(_)) || other.is_some() {
            let (relation, right) = match (right, other, cmp) {
                (Operand::Field(right), None, cmp) => (VariableRelation::Cmp(cmp), right),
                (Operand::Number(0), Some(other), Cmp::Eq) => (VariableRelation::NoBit, other),
                (Operand::Number(0), Some(other), Cmp::Ne) => (VariableRelation::AnyBit, other),
                _ => return Err(unsaid()),
            };
            let is_plain = mask.is_none() && shared.is_none();
            let test = FieldTest { left: field, relation, right };
            return if is_plain { Ok(Condition::fields(test)) } else { Err(unsaid()) };
        }
        let mask = mask.unwrap_or(field.full_mask());
        let variable = |relation, symbol| VariableTest { field, mask, relation, symbol };
        Ok(match (right, shared, cmp) {
            (Operand::Number(value), None, cmp) => {
                Condition::test(Test { field, mask, cmp, value })
            }
            (Operand::Variable(symbol), None, cmp) => {
                Condition::variable(variable(VariableRelation::Cmp(cmp), symbol))
            }
            (Operand::Number(0), Some(symbol), Cmp::Eq) => {
                Condition::variable(variable(VariableRelation::NoBit, symbol))
            }
            (Operand::Number(0), Some(symbol), Cmp::Ne) => {
                Condition::variable(variable(VariableRelation::AnyBit, symbol))
            }
            _ => return Err(unsaid()),
        })
    }
}
