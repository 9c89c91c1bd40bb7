//! Long lists whose other form is short.

use callgate_bpf::advice::Advice;
use rustc_hash::FxHashSet as HashSet;

use callgate_formats::statements::Site;

use crate::convert::ListForm;
use crate::error::Result;
use crate::explain::explain;
use crate::lint::check::Check;
use crate::lint::finding::Finding;
use crate::lint::findings::Findings;
use crate::lint::view::View;

pub(super) fn check(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    let Some(arch) = view.arches.first().copied() else { return Ok(()) };
    for (filter, text) in view.texts() {
        let Some(own) = view.own.get(filter).copied() else { continue };
        let explained = explain(&view.store, own, &[arch]);
        let Some((form, [long, short])) = explained.arches.first().and_then(ListForm::much_longer)
        else {
            continue;
        };
        // One word of a text may stand for many syscalls.
        let written: HashSet<_> = text.rules.iter().map(|rule| place(&rule.site)).collect();
        if 2 * written.len() < long || short == 0 {
            continue;
        }
        // A list has a comparison for each syscall; a denylist is compared to its end where it does not apply.
        let [now, then] = match form {
            ListForm::Allowed => [long / 2, short],
            ListForm::Denied => [long, short / 2],
        };
        let message = format!(
            "this list of {} syscalls has {long} entries; one of {} syscalls would have {short}, with the same effect on all \
             syscalls that have a name. A program that tests one number after the other compares {now} on average until a \
             syscall is allowed, and {then} with the other list",
            form.name(),
            form.other().name()
        );
        let help = match form {
            ListForm::Allowed => Advice::DenyList,
            ListForm::Denied => Advice::AllowList,
        };
        let at = (filter, text.default.clone());
        findings.add(Finding::new(Check::LongList, message).help(help).at(at).on(arch));
    }
    Ok(())
}

fn place(site: &Site) -> (Option<&str>, u32, u32) {
    (site.file.as_deref(), site.position.line, site.position.column)
}
