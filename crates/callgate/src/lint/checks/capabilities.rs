//! Rules that depend on a capability which is not the one that the kernel requires.

use callgate_bpf::syscalls::known_name;

use crate::error::Result;
use crate::lint::check::Check;
use crate::lint::finding::Finding;
use crate::lint::findings::Findings;
use crate::lint::view::View;

/// Syscalls that always fail without one of these capabilities (capabilities(7)).
const REQUIRED: &[(&[&str], &[&str])] = &[
    (
        &[
            "mount",
            "umount",
            "umount2",
            "pivot_root",
            "move_mount",
            "fsopen",
            "fsmount",
            "fspick",
            "mount_setattr",
            "sethostname",
            "setdomainname",
            "swapon",
            "swapoff",
            "lookup_dcookie",
        ],
        &["CAP_SYS_ADMIN"],
    ),
    (&["chroot"], &["CAP_SYS_CHROOT"]),
    (&["reboot", "kexec_load", "kexec_file_load"], &["CAP_SYS_BOOT"]),
    (&["init_module", "finit_module", "delete_module"], &["CAP_SYS_MODULE"]),
    (&["settimeofday", "stime"], &["CAP_SYS_TIME"]),
    (&["acct"], &["CAP_SYS_PACCT"]),
    (&["vhangup"], &["CAP_SYS_TTY_CONFIG"]),
];

pub(super) fn check(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    for (filter, text) in view.texts() {
        for gate in text.gated.iter().filter(|gate| gate.verdict.permits()) {
            let Some(name) = known_name(&gate.name) else { continue };
            let required = REQUIRED.iter().find(|(names, _)| names.contains(&name));
            let Some((_, required)) = required else { continue };
            if required.iter().any(|wanted| gate.capabilities.contains(wanted)) {
                continue;
            }
            let given: Vec<&str> = gate.capabilities.names().collect();
            let message = format!(
                "`{name}` is allowed with {}, but the kernel requires {}",
                given.join(" and "),
                required.join(" or ")
            );
            let help = format!("write `{}` instead", required.first().copied().unwrap_or_default());
            let finding = Finding::new(Check::Capability, message).help(help).about([name]);
            findings.add(finding.at((filter, Some(gate.site.clone()))));
        }
    }
    Ok(())
}
