//! Arguments of the macro.

use super::literal::string;
use super::tokens::{Kind, Token};
use crate::{Aim, Arch, Format, Policy};

/// An error in the arguments, and where it is; `None` for the end of the input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong<S> {
    pub(crate) at: Option<S>,
    pub(crate) message: String,
}

/// The parsed arguments.
#[derive(Debug)]
pub(crate) struct Arguments<S> {
    pub(crate) policy: Policy,
    /// The place of the path.
    pub(crate) path: S,
}

const OPTIONS: &str = "name, installer, arches, format, part, expression, aim, weights, kernel";

/// Parses `"FILE", option = value, …`.
pub(crate) fn parse<S: Copy>(tokens: &[Token<S>]) -> Result<Arguments<S>, Wrong<S>> {
    let mut parts = tokens.split(|token| token.kind == Kind::Punct(','));
    let path = match parts.next() {
        Some([one]) => text(one)?,
        Some([one, ..]) => {
            return Err(wrong(one, "expected the path of a policy and then a comma"));
        }
        _ => return Err(missing("expected the path of a policy: filter!(\"policy.kafel\")")),
    };
    let mut policy = Policy::new(path);
    let mut seen: Vec<&str> = Vec::new();
    let mut rest = parts.peekable();
    while let Some(part) = rest.next() {
        let (name, value) = match part {
            [] if rest.peek().is_none() => break,
            [] => return Err(missing("expected an option between the commas")),
            [name] => (name, None),
            [name, equals, value] if equals.kind == Kind::Punct('=') => (name, Some(value)),
            [name, ..] => return Err(wrong(name, "expected `option` or `option = value`")),
        };
        let Kind::Word(word) = &name.kind else {
            return Err(wrong(name, &format!("expected an option: {OPTIONS}")));
        };
        if seen.contains(&word.as_str()) {
            return Err(wrong(name, &format!("the option `{word}` is given twice")));
        }
        seen.push(word);
        policy = set(policy, name, word, value)?;
    }
    let path = tokens.first().ok_or_else(|| missing("expected the path of a policy"))?.at;
    Ok(Arguments { policy, path })
}

/// The policy with an option.
fn set<S: Copy>(
    policy: Policy,
    name: &Token<S>,
    word: &str,
    value: Option<&Token<S>>,
) -> Result<Policy, Wrong<S>> {
    let Some(value) = value else {
        return match word {
            "installer" => Ok(policy.installer(true)),
            _ => Err(wrong(
                name,
                &format!("the option `{word}` needs a value; the options are {OPTIONS}"),
            )),
        };
    };
    match word {
        "installer" => match &value.kind {
            Kind::Word(given) if given == "true" || given == "false" => {
                Ok(policy.installer(given == "true"))
            }
            _ => Err(wrong(value, "expected `true` or `false`")),
        },
        "name" => Ok(policy.name(text(value)?)),
        "part" => Ok(policy.part(text(value)?)),
        "expression" => Ok(policy.expression(text(value)?)),
        "weights" => Ok(policy.weights(text(value)?)),
        "arches" => Ok(policy.arches(arches(value)?)),
        "format" => {
            let given = text(value)?;
            let known = Format::from_name(&given);
            let names: Vec<&str> = Format::names().collect();
            let message =
                || format!("unknown format \"{given}\"; the formats are {}", names.join(", "));
            known.map(|format| policy.format(format)).ok_or_else(|| wrong(value, &message()))
        }
        "aim" => match text(value)?.as_str() {
            "speed" => Ok(policy.aim(Aim::Speed)),
            "size" => Ok(policy.aim(Aim::Size)),
            "quick" => Ok(policy.aim(Aim::Quick)),
            other => {
                let known = "\"speed\", \"size\" or \"quick\"";
                Err(wrong(value, &format!("unknown aim \"{other}\"; write {known}")))
            }
        },
        "kernel" => match text(value)?.parse() {
            Ok(version) => Ok(policy.kernel(version)),
            Err(error) => Err(wrong(value, &format!("{error}"))),
        },
        _ => Err(wrong(name, &format!("unknown option `{word}`; the options are {OPTIONS}"))),
    }
}

/// A list of architectures in brackets.
fn arches<S: Copy>(value: &Token<S>) -> Result<Vec<Arch>, Wrong<S>> {
    let expected = || wrong(value, "expected a list such as [\"x86_64\", \"x86\"]");
    let Kind::Brackets(inside) = &value.kind else { return Err(expected()) };
    let mut found = Vec::new();
    let mut parts = inside.split(|token| token.kind == Kind::Punct(',')).peekable();
    while let Some(part) = parts.next() {
        match part {
            [] if parts.peek().is_none() && !found.is_empty() => {}
            [one] => {
                let name = text(one).map_err(|_| expected())?;
                let unknown = || wrong(value, &format!("unknown architecture \"{name}\""));
                found.push(Arch::from_name(&name).ok_or_else(unknown)?);
            }
            _ => return Err(expected()),
        }
    }
    Ok(found)
}

/// The value of a string literal.
pub(crate) fn text<S: Copy>(token: &Token<S>) -> Result<String, Wrong<S>> {
    let value = match &token.kind {
        Kind::Literal(written) => string(written),
        _ => None,
    };
    value.ok_or_else(|| wrong(token, "expected a string literal"))
}

fn wrong<S: Copy>(token: &Token<S>, message: &str) -> Wrong<S> {
    Wrong { at: Some(token.at), message: message.to_owned() }
}

fn missing<S>(message: &str) -> Wrong<S> {
    Wrong { at: None, message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> Kind {
        Kind::Literal(format!("{text:?}"))
    }

    fn word(text: &str) -> Kind {
        Kind::Word(text.to_owned())
    }

    fn list(names: &[&str]) -> Kind {
        let mut inside = Vec::new();
        for name in names {
            inside.push(Token { kind: literal(name), at: () });
            inside.push(Token { kind: Kind::Punct(','), at: () });
        }
        Kind::Brackets(inside)
    }

    fn parsed(kinds: Vec<Kind>) -> Result<Arguments<usize>, Wrong<usize>> {
        let tokens: Vec<Token<usize>> =
            kinds.into_iter().enumerate().map(|(at, kind)| Token { kind, at }).collect();
        parse(&tokens)
    }

    const COMMA: Kind = Kind::Punct(',');
    const EQUALS: Kind = Kind::Punct('=');

    fn error(option: Vec<Kind>) -> (Option<usize>, String) {
        let all = [literal("a.kafel"), COMMA].into_iter().chain(option).collect();
        let wrong = parsed(all).unwrap_err();
        (wrong.at, wrong.message)
    }

    #[test]
    fn options_set_the_policy() {
        let all = vec![
            literal("a.kafel"),
            COMMA,
            word("installer"),
            COMMA,
            word("name"),
            EQUALS,
            literal("worker"),
            COMMA,
            word("arches"),
            EQUALS,
            list(&["x86_64", "i386"]),
            COMMA,
        ];
        let arguments = parsed(all).unwrap();
        assert_eq!(arguments.path, 0);
        let policy = Policy::new("a.kafel").installer(true).name("worker");
        let policy = policy.arches([Arch::X86_64, Arch::X86]);
        assert_eq!(format!("{:?}", arguments.policy), format!("{policy:?}"));
    }

    #[test]
    fn each_error_is_at_its_token() {
        assert!(parsed(vec![]).unwrap_err().at.is_none());
        assert_eq!(parsed(vec![word("a")]).unwrap_err().at, Some(0));
        let unknown = error(vec![word("nmae"), EQUALS, literal("x")]);
        assert_eq!(unknown.0, Some(2));
        assert!(unknown.1.starts_with("unknown option `nmae`; the options are name,"));
        assert_eq!(error(vec![word("aim"), EQUALS, literal("x")]).0, Some(4));
        assert_eq!(
            error(vec![word("arches"), EQUALS, list(&["x86_65"])]).1,
            "unknown architecture \"x86_65\""
        );
        assert_eq!(error(vec![word("arches"), EQUALS, list(&[])]).0, Some(4));
        assert_eq!(error(vec![word("kernel"), EQUALS, literal("six")]).0, Some(4));
        let twice = vec![word("installer"), COMMA, word("installer")];
        assert_eq!(error(twice), (Some(4), "the option `installer` is given twice".to_owned()));
        assert_eq!(error(vec![COMMA]).1, "expected an option between the commas");
    }
}
