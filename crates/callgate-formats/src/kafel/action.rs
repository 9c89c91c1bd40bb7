//! Actions: what follows `DEFAULT`, or stands before a block.

use super::lexer::{Keyword, TokenKind};
use super::parse::{Parser, Syntax};
use callgate_core::{Verdict, errno_number};

/// The largest number that an action takes; the field has 16 bits.
const MAX_DATA: u64 = 0xffff;
/// The largest error number that the kernel returns (`MAX_ERRNO`).
const MAX_ERRNO: u64 = 4095;

impl Parser<'_, '_> {
    /// Whether the next token starts an action.
    pub(super) fn is_action(&mut self) -> bool {
        matches!(self.tokens.peek().kind, TokenKind::Keyword(keyword) if action(keyword).is_some())
    }

    /// An action.
    pub(super) fn action(&mut self) -> Syntax<Verdict> {
        let token = self.tokens.peek();
        let TokenKind::Keyword(keyword) = token.kind else { return Err(self.expected_action()) };
        match action(keyword) {
            Some(Action::Plain(verdict)) => {
                self.tokens.take();
                Ok(verdict)
            }
            Some(Action::WithNumber(make)) => {
                self.tokens.take();
                self.expect("(")?;
                let verdict = make(self.data(keyword)?);
                self.expect(")")?;
                Ok(verdict)
            }
            None => Err(self.expected_action()),
        }
    }

    /// The number of an action.
    fn data(&mut self, keyword: Keyword) -> Syntax<u16> {
        let token = self.tokens.take();
        let word = self.tokens.sources.text(token.span).to_owned();
        let value = match token.kind {
            TokenKind::Number(value) => value,
            TokenKind::Name => match (self.defined_number(&word), errno_number(&word)) {
                (Some(value), _) => value,
                (None, Some(errno)) if keyword == Keyword::Errno => u64::from(errno),
                (None, _) => {
                    let shown = crate::diagnostics::quote::shorten(&word);
                    let help = if keyword == Keyword::Errno {
                        "give a number, the name of an error such as EPERM, or a defined name"
                    } else {
                        "give a number or a defined name"
                    };
                    let message = format!("`{shown}` is not a number");
                    return Err(self.fail(token.span.at, message, help));
                }
            },
            _ => {
                return Err(self.fail(
                    token.span.at,
                    "missing number of the action",
                    "write, for example, ERRNO(1)",
                ));
            }
        };
        if keyword == Keyword::Errno && (MAX_ERRNO + 1..=MAX_DATA).contains(&value) {
            let message = format!(
                "error number {value} is more than {MAX_ERRNO}, so the kernel returns {MAX_ERRNO}"
            );
            self.tokens.reports.warn(token.span.at, message).help =
                format!("use a number up to {MAX_ERRNO}");
        }
        u16::try_from(value).or_else(|_| {
            let message = match value as i64 {
                negative @ ..0 => format!("the number {negative} is negative"),
                _ => format!("the number {value} is more than {MAX_DATA}"),
            };
            self.tokens.reports.error(token.span.at, message).help =
                format!("an action takes a number from 0 to {MAX_DATA}");
            Ok(0)
        })
    }
}

enum Action {
    Plain(Verdict),
    WithNumber(fn(u16) -> Verdict),
}

fn action(keyword: Keyword) -> Option<Action> {
    Some(match keyword {
        Keyword::Allow => Action::Plain(Verdict::ALLOW),
        Keyword::Log => Action::Plain(Verdict::LOG),
        Keyword::UserNotif => Action::Plain(Verdict::user_notif(0)),
        Keyword::KillProcess => Action::Plain(Verdict::KILL_PROCESS),
        Keyword::Kill => Action::Plain(Verdict::KILL_THREAD),
        Keyword::Errno => Action::WithNumber(Verdict::errno),
        Keyword::Trap => Action::WithNumber(Verdict::trap),
        Keyword::Trace => Action::WithNumber(Verdict::trace),
        _ => return None,
    })
}
