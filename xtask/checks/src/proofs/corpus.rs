//! The policies of which programs are made: what is built in, and random ones.

use callgate_bpf::syscalls::KernelVersion;
use callgate_core::Arch;
use callgate_core::policy::Policy;
use callgate_formats::oci::ReadOptions;
use callgate_formats::{PRESETS, abis, container_default, preset};
use callgate_tasks::Result;
use callgate_testing::random::{named_policies, policies, policies_of_one_argument, samples};

/// The kernel that the built-in profile is read for.
const KERNEL: KernelVersion = KernelVersion { major: 6, minor: 12 };

/// The policies that are built in, for each architecture as the native one.
pub(crate) fn built_in() -> Result<Vec<Policy>> {
    let mut all = Vec::new();
    for native in Arch::ALL.iter().copied() {
        let arches = abis(native);
        all.extend(PRESETS.iter().filter_map(|name| preset(name, &arches)));
        let profile = container_default(&ReadOptions::new(native, KERNEL))
            .map_err(|why| format!("container-default for {native}: {why:?}"))?;
        all.push(profile.policy);
    }
    Ok(all)
}

/// Random policies: as people write them, with any conditions, and with many values of one argument.
pub(crate) fn random(seed: u8, count: usize) -> Vec<Policy> {
    let mut all = samples(&named_policies(8), seed, count);
    all.extend(samples(&policies(4), seed, count));
    all.extend(samples(&policies_of_one_argument(), seed, count / 4));
    all
}
