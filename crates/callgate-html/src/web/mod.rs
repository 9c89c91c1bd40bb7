//! What the web page of Callgate asks: one pure function from JSON to JSON, whose answers are fragments of HTML.
//!
//! [`answer`] takes a request and returns an answer. It does no I/O and reads no clock. The example
//! `page_module` of `callgate-requests` exports it as a WebAssembly module; the files of the page are in `web` at the top of the repository.
//!
//! # Requests
//!
//! | key | in | value |
//! |---|---|---|
//! | `view` | all | `about`, `constants`, `explanation`, `findings`, `program`, `compare`, `convert`, `simulate` or `denied` |
//! | `source` | all but `about` and `constants`; optional in `denied` | a source |
//! | `before` | `compare` | the source that it is compared with |
//! | `to`, `closest` | `convert` | a policy language, or `c`, `rust`, `go`, `asm`; whether to write the nearest stricter policy |
//! | `call`, `arch` | `simulate` | a syscall with its arguments, as the command takes it; the ABI, unless the call names one |
//! | `tests` | all with a `source` | [expectations](callgate_requests::expectations), a line each |
//! | `log` | `denied` | a log with denials; without a source, `arch` is the ABI of reports that do not name one |
//!
//! A source is an object with `text` or `preset`, and with settings, whose values are strings: `name`, `format`, `machine`,
//! `arches`, `kernel`, `caps` and the others of [`SourceText::set`](callgate_requests::source::SourceText::set); `set` has
//! the values of variables, such as `log=2, fd=0x10`.
//!
//! # Answers
//!
//! | key | value |
//! |---|---|
//! | `ok` | whether there is an answer; otherwise, `messages` has the reasons |
//! | `status` | the answer in a sentence, for screen readers |
//! | `head` | the figures of the filter, as HTML |
//! | `messages` | errors and warnings, as HTML |
//! | `body` | the view, as HTML |
//! | `file` | what was written: `name` and `text` |
//! | `changes` | texts that may replace that of the filter: an element of the body with `data-change` proposes one by its index |
//! | `marks` | places that the answer cites: `place` (`NAME:LINE:COLUMN`), `severity` and `text` |
//! | `tests` | the results of the tests: `status` (a sentence), `failed` (a number), `body` (HTML) and `lines`, each with `line`, `passes` and `text` |
//! | `paths` | of views with a listing: which syscalls may execute which of its instructions: objects with `arch`, `nrs`, `names` and `insns` |
//! | `rules` | of views with a map: the places of rules in the text: lists of line, column, architecture and numbers of syscalls |
//! | `lines` | the lines of the instructions of a program as text, if each has its own |
//! | `log` | of an error: whether the text is a log with denials and not a filter |
//!
//! The answer to `about` has lists of names instead, and what all syscalls are for; that to `constants` what names of constants mean.
//!
//! All HTML is written by [`crate::Markup`], which escapes every text. It has no scripts and no inline styles.

mod about;
mod analysis;
mod answer;
mod messages;
mod paths;
mod request;
mod tested;
mod views;
mod wording;

pub use answer::{MAX_REQUEST, answer};
