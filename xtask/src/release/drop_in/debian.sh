#!/usr/bin/env bash
# Makes a root directory of Debian 12 for check.sh: with programs that use libseccomp, and with its libraries for other
# architectures. check.rs runs it in a mount namespace of its own: debootstrap mounts /proc and /sys in the new root, and if
# they stayed mounted, the next run would delete what is in them.
# usage: debian.sh DIRECTORY MIRROR KEYRING [ARCHITECTURE...]
set -euo pipefail

root=$1 mirror=$2 keyring=$3
shift 3

command -v debootstrap >/dev/null || apt-get install -y --no-install-recommends debootstrap
rm -rf --one-file-system "$root.new"
debootstrap --variant=minbase ${keyring:+--keyring="$keyring"} \
  --include=apt-utils,busybox-static,crun,jq,man-db,runc,seccomp,strace,systemd,systemd-tests \
  bookworm "$root.new" "$mirror"

inside() { chroot "$root.new" env -i PATH=/usr/sbin:/usr/bin DEBIAN_FRONTEND=noninteractive "$@"; }
for architecture; do inside dpkg --add-architecture "$architecture"; done
inside apt-get update -q
# check.sh installs these without the network.
inside apt-get install -q -y --download-only --reinstall libseccomp2
for architecture; do
  inside apt-get install -q -y --no-install-recommends --download-only "libgcc-s1:$architecture" "libseccomp2:$architecture"
done
mv "$root.new" "$root"
