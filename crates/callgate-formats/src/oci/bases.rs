//! Base profiles: the `SeccompProfile` resources that `baseProfileName` names, and their own base profiles.
//!
//! The operator adds the `syscalls` of the base profile to those of the resource; everything else in the base profile
//! (`defaultAction`, `architectures`, `flags`, the listener, `state`) has no effect. A base profile may have a base
//! profile; the operator refuses more than 14 of them ([`MAX_BASES`]).
//!
//! How the operator combines the lists depends on its version:
//!
//! | version | entries |
//! |---|---|
//! | before 0.8 | one entry per action with all names, without `args` and `errnoRet`; a base profile has no base |
//! | 0.8 to 1.0.0 | all entries of both, those of the base first, then sorted by the name of the action |
//! | after 1.0.0 | one entry per syscall, with the laxest action, and the `args` of all entries; none if one has none |
//!
//! The base profile is looked for among the documents of the same text first, as the operator looks in the cluster to which
//! they are applied together.
//!
//! We do what version 1.0.0 does, the newest release, and warn about syscalls for which later versions write another
//! rule. Go's sort keeps the order of entries with the same action only if there are at most 12 entries; we always keep
//! it. The order can decide whether libseccomp rejects the rules of a syscall that has several verdicts.
//!
//! Sources: `resolveSyscallsForProfile` in `internal/pkg/daemon/seccompprofile/seccompprofile.go` and
//! `internal/pkg/util/union_syscalls.go` of kubernetes-sigs/security-profiles-operator.

use std::borrow::Cow;

use super::candidates::{find_resource, resource_name};
use super::locate;
use super::options::ReadOptions;
use super::select;
use crate::diagnostics::quote::shorten;
use crate::included::{Included, Includes};
use crate::syntax::documents::parse_documents;
use crate::syntax::reader::Reader;
use crate::syntax::tree::Node;
use callgate_bpf::diagnostic::{Diagnostic, Position};

/// The maximum number of base profiles: the operator stops at the fifteenth.
const MAX_BASES: usize = 14;

/// The maximum size of all base profiles, in bytes.
const MAX_TEXT: usize = 10 << 20;

/// The prefix of names of artifacts in registries.
const REGISTRY: &str = "oci://";

/// A base profile in its file.
pub(super) struct Base {
    document: Node<'static>,
}

impl Base {
    /// The `spec`. A base profile always has one.
    pub(super) fn profile(&self) -> &Node<'static> {
        self.document.get("spec").unwrap_or(&self.document)
    }
}

/// A resource among those of which a profile consists.
struct Link {
    /// `metadata.name`.
    resource: Option<String>,
    /// What tells its file from others; `None` if that is not known, which is possible for the resource that is read first.
    identity: Option<String>,
    /// The name of its file; `None` for the resource that is read first.
    file: Option<String>,
}

/// Reads the base profiles of a resource, the nearest one first. A base profile in the same text is preferred to other
/// files. `None` only after an error was reported.
pub(super) fn read_bases(
    reader: &mut Reader<'_>,
    document: &Node<'_>,
    documents: &[Node<'_>],
    options: &ReadOptions,
    find: &mut Includes<'_>,
) -> Option<Vec<Base>> {
    let resource = resource_name(document).map(str::to_owned);
    let mut chain = vec![Link { resource, identity: options.identity.clone(), file: None }];
    let mut siblings = Cow::Borrowed(documents);
    let mut bases = Vec::new();
    let mut bytes = 0usize;
    let mut next = named_base(document);
    while let Some((at, name)) = next {
        let shown = shorten(&name);
        if chain.iter().any(|link| link.resource.as_ref() == Some(&name)) {
            report_cycle(reader, at, &name, &chain);
            return None;
        }
        if bases.len() == MAX_BASES {
            let message = format!(
                "`{shown}` is the base profile number {}; the operator's limit is {MAX_BASES}",
                bases.len() + 1
            );
            return reader.refuse(at, message, "write several of them as one resource");
        }
        let from = chain.last();
        let (document, identity, file) = match find_resource(&siblings, &name) {
            Some(sibling) => (
                sibling.clone().into_owned(),
                from.and_then(|link| link.identity.clone()),
                from.and_then(|link| link.file.clone()),
            ),
            None => {
                let file = match find(&name, from.and_then(|link| link.file.as_deref())) {
                    Ok(file) => file,
                    Err(why) => {
                        let message = format!("cannot read the base profile `{shown}`: {why}");
                        let help = "a base profile may also be another resource in the same text";
                        return reader.refuse(at, message, help);
                    }
                };
                if chain.iter().any(|link| link.identity.as_ref() == Some(&file.identity)) {
                    report_cycle(reader, at, &name, &chain);
                    return None;
                }
                bytes = bytes.saturating_add(file.text.len());
                if bytes > MAX_TEXT {
                    let message = format!(
                        "with `{shown}` the base profiles have {bytes} bytes, the maximum is {MAX_TEXT}"
                    );
                    reader.error(at, message).set_too_large("use smaller base profiles");
                    return None;
                }
                let (identity, file_name) = (Some(file.identity.clone()), file.name.clone());
                siblings = Cow::Owned(parse_file(reader, file, at)?);
                let document = match find_resource(&siblings, &name) {
                    Some(document) => document,
                    None => select::choose_document(reader, &siblings, as_base)?,
                };
                (document.clone().into_owned(), identity, Some(file_name))
            }
        };
        if !locate::locate(reader, &document, options.dialect)?.is_resource {
            let place = reader.place(document.at);
            let message =
                format!("the base profile `{shown}` is not a SeccompProfile resource, see {place}");
            let help = "put the profile into the `spec` of a SeccompProfile resource";
            return reader.refuse(at, message, help);
        }
        let resource = resource_name(&document).map(str::to_owned);
        let other =
            resource.as_ref().filter(|other| **other != name && !name.starts_with(REGISTRY));
        if let (Some(other), Some(file)) = (other, &file) {
            let message = format!(
                "`baseProfileName` is `{shown}`, but the resource in {file} is named `{}`; it is read anyway",
                shorten(other)
            );
            reader.warn(at, message).help =
                "write the `metadata.name` of the base profile, which the operator looks for"
                    .to_owned();
        }
        next = named_base(&document);
        chain.push(Link { resource, identity, file });
        bases.push(Base { document });
    }
    Some(bases)
}

/// How a user chooses one of several resources in the file of a base profile.
fn as_base(name: &str) -> String {
    format!("write the name of one as `baseProfileName`, such as \"{name}\"")
}

/// Parses the file of a base profile that is named at this offset. `None` only after an error was reported.
fn parse_file(reader: &mut Reader<'_>, file: Included, at: usize) -> Option<Vec<Node<'static>>> {
    let parsed = parse_documents(&file.text)
        .map(|documents| documents.into_iter().map(Node::into_owned).collect::<Vec<_>>());
    let start = reader.add_text(file.name.clone(), file.text, at);
    match parsed {
        Ok(mut documents) => {
            documents.iter_mut().for_each(|document| document.shift(start));
            Some(documents)
        }
        Err(error) => {
            let Position { line, column } =
                error.position.unwrap_or(Position { line: 1, column: 1 });
            let message = format!("in {}:{line}:{column}: {}", file.name, error.message);
            reader.add(Diagnostic::error(Some(reader.position(at)), message).help(error.help));
            None
        }
    }
}

/// Reports a resource that is based on itself.
fn report_cycle(reader: &mut Reader<'_>, at: usize, name: &str, chain: &[Link]) {
    let names = chain.iter().map(|link| link.resource.as_deref().or(link.file.as_deref()));
    let mut names: Vec<String> =
        names.map(|name| shorten(name.unwrap_or("this resource"))).collect();
    names.push(shorten(name));
    let message =
        format!("the base profile `{}` is based on itself: {}", shorten(name), names.join(" -> "));
    reader.error(at, message).help = "remove one `baseProfileName`".to_owned();
}

/// `spec.baseProfileName`, after its byte offset; any other type is reported elsewhere.
fn named_base(document: &Node<'_>) -> Option<(usize, String)> {
    let node = document.get("spec")?.get("baseProfileName")?;
    let name = node.text().filter(|name| !name.is_empty())?;
    Some((node.at, name.to_owned()))
}
