#!/usr/bin/env bash
# Installs the packages of the drop-in in a root directory of Debian 12, uses, upgrades and removes them. check.rs runs it in
# mount and PID namespaces of its own, so that nothing is left behind.
# usage: check.sh BASE SCRATCH PACKAGES VERSION ARCHITECTURE [FOREIGN-ARCHITECTURE...]
set -euo pipefail

base=$1 scratch=$2 packages=$3 version=$4 architecture=$5
shift 5
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../../../.." && pwd)
library=libseccomp2-callgate default=libseccomp2-callgate-default
libdir=/usr/lib/$(uname -m)-linux-gnu
link=$libdir/libseccomp.so.2
ours=$libdir/callgate/libseccomp.so.2
original=$(readlink -f "$base$link")
original=${original#"$base"}

step() { printf '\n-- %s\n' "$*"; }
fail() { printf 'failed: %s\n' "$*" >&2; exit 1; }
same() { [ "$1" = "$2" ] || fail "$3 is $1, must be $2"; }

# The root: what is written goes to the scratch directory.
root=$scratch/root
mkdir -p "$root" "$scratch/upper" "$scratch/work" "$scratch/before" "$scratch/after"
mount -t overlay overlay -o "lowerdir=$base,upperdir=$scratch/upper,workdir=$scratch/work" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t sysfs sysfs "$root/sys"
# crun 1.8 does not start in a hierarchy of version 1.
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mkdir "$root/run/lock" "$root/run/packages"
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
cp "$packages/${library}_${version}"_*.deb "$packages/${default}_${version}"_*.deb "$root/run/packages"
# A package in the root.
package() { echo "/run/packages/${1}_${version}_$2.deb"; }
target() { inside readlink -f "$link"; }

# All files of the system with their hashes, but not the logs and caches of package managers; of a library also the time. dpkg
# takes over sections and priorities of all packages from the archive now and then: of its status, only what is installed counts.
snapshot() {
  local of='/ -xdev ( -path /var/log -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg/status*
    -o -path /var/lib/dpkg/*-old ) -prune -o'
  # shellcheck disable=SC2016
  inside sh -fc 'find $1 -type l -printf "%p -> %l\n" -o -path "/usr/lib/*/libseccomp*" -printf "%p %m %U:%G %t\n" -o -printf "%p %m %U:%G\n"
    find $1 -type f -print0 | xargs -0 sha256sum' sh "$of" | sort
  # shellcheck disable=SC2016
  inside dpkg-query --show --showformat='${Package} ${Architecture} ${Version} ${Status}\n'
}
remember() {
  snapshot >"$scratch/snapshot"
  inside ldconfig -p >"$scratch/ldconfig"
  inside dpkg-divert --list >"$scratch/diversions"
  inside dpkg --verify >"$scratch/verify" || true
}

# The library is Debian's, and nothing of ours is left.
as_before() {
  snapshot >"$scratch/now"
  diff "$scratch/snapshot" "$scratch/now" || fail "the system is not as before"
  same "$(inside ldconfig -p)" "$(cat "$scratch/ldconfig")" "the output of ldconfig -p"
  same "$(inside dpkg-divert --list)" "$(cat "$scratch/diversions")" "the list of diversions"
  same "$(inside dpkg --verify)" "$(cat "$scratch/verify")" "the output of dpkg --verify"
  echo "the system is as before: $(wc -l <"$scratch/now") lines about files, ldconfig -p, diversions, dpkg --verify"
}

# The library is ours, for the dynamic linker and for dpkg.
is_ours() {
  same "$(target)" "$ours" "$link"
  inside ldconfig
  same "$(target)" "$ours" "$link, after ldconfig,"
  # `dpkg --audit` lists packages that are not installed completely.
  same "$(inside dpkg --audit; inside dpkg --verify)" "$(cat "$scratch/verify")" "the output of dpkg --audit and --verify"
  echo "programs use $ours; diverted: $(inside dpkg-divert --list "$libdir/libseccomp*" | cut -d ' ' -f 3)"
}

# Runs a package manager in the root. Its output is in the log.
manage_unwatched() { inside "$@" >"$scratch/log" 2>&1; }
# The same, while another process watches that the library is always there.
manage_watched() {
  local watcher status=0
  rm -f "$scratch/missing"
  (while [ -s "$root$link" ]; do :; done; touch "$scratch/missing") &
  watcher=$!
  manage_unwatched "$@" || status=$?
  kill "$watcher" 2>/dev/null || true
  wait "$watcher" 2>/dev/null || true
  [ ! -e "$scratch/missing" ] || fail "libseccomp.so.2 was missing for a moment: $*"
  return "$status"
}
manage() { manage_watched "$@" || { cat "$scratch/log"; fail "$*"; }; }
refused() {
  if manage_watched "$@"; then cat "$scratch/log"; fail "must be refused: $*"; fi
  grep -m 3 -E '^(dpkg: |libseccomp2|dpkg-divert: |  local diversion| *trying)' "$scratch/log" || cat "$scratch/log"
}
# The same, where a program fails if its arguments contain a word: `refused_without PROGRAM WORD COMMAND…`.
refused_without() {
  local broken=$root/run/broken program=$1 word=$2
  shift 2
  mkdir "$broken"
  # shellcheck disable=SC2016
  printf '#!/bin/sh\ncase "$*" in *%s*) exit 1 ;; *) exec /usr/bin/%s "$@" ;; esac\n' "$word" "$program" >"$broken/$program"
  chmod 755 "$broken/$program"
  refused env PATH=/run/broken:/usr/sbin:/usr/bin "$@"
  rm -r "$broken"
}
# Another version of libseccomp2. Here dpkg itself replaces the link before the file that it names, also without our packages.
debian_version() {
  manage_unwatched "$@" || { cat "$scratch/log"; fail "$*"; }
}

# Runs a program, and writes down the library that it loaded and the instructions of its filters.
use() {
  local name=$1 out=$scratch/$state/$1 libraries filters
  shift
  inside strace --follow-forks --decode-fds=path --trace=openat,prctl,seccomp --signal=none --output=/run/trace "$@" \
    >"$out.out" 2>&1 || { cat "$out.out"; fail "$name: exit status $?"; }
  libraries=$(sed -n 's/.*= [0-9]*<\(.*libseccomp\.so[^>]*\)>.*/\1/p' "$root/run/trace" | sort -u | paste -sd ' ')
  filters=$(sed -n 's/.*SECCOMP_\(SET_\)\?MODE_FILTER, .*{len=\([0-9]*\),.*/\2/p' "$root/run/trace")
  echo "$libraries" >"$out.library"
  echo "$filters" | grep -c . >"$out.filters" || true
  echo "$filters" | awk '{ sum += $1 } END { print sum + 0 }' >"$out.instructions"
  printf '%-42s %5s filters %6s instructions  %s\n' "$name" "$(cat "$out.filters")" "$(cat "$out.instructions")" "$libraries"
}

# The programs that check.rs installed. They write what they do; a container writes what its filter denies.
uses() {
  state=$1
  use man man ls
  use runc runc --root /run/runc run --bundle /run/bundle one
  use crun crun --cgroup-manager=disabled --root /run/crun run --bundle /run/bundle two
  use "systemd-analyze syscall-filter" systemd-analyze syscall-filter
  use "systemd-analyze security" systemd-analyze security --offline=true systemd-journald.service
  use "apt-get update, APT::Sandbox::Seccomp" apt-get -o APT::Sandbox::Seccomp=true -o Dir::Etc::SourceList=/run/sources.list \
    -o Dir::State::Lists=/run/lists -o Dir::Cache=/run/cache update
  use "scmp_sys_resolver" scmp_sys_resolver -a aarch64 openat
  use "test-seccomp" /usr/lib/systemd/tests/test-seccomp
}

# Compares what was written down before and after: the same output and number of filters, and no more instructions.
compare() {
  local name after before
  for after in "$scratch"/after/*.out; do
    name=$(basename "$after" .out)
    before=$scratch/before/$name
    after=$scratch/after/$name
    same "$(cat "$before.library")" "$original" "the library of $name before"
    same "$(cat "$after.library")" "$ours" "the library of $name"
    same "$(cat "$after.filters")" "$(cat "$before.filters")" "the number of filters of $name"
    [ "$(cat "$after.instructions")" -le "$(cat "$before.instructions")" ] || fail "$name has larger filters"
    # It prints process IDs and times.
    [ "$name" = test-seccomp ] || diff "$before.out" "$after.out" || fail "$name writes something else"
  done
  echo "the same output and as many filters as before"
}

# Builds a package of the root again, with another version and another name of its library.
repack() {
  local from=$1 to=$2 expression=$3 tree=$scratch/repack file
  rm -rf "$tree"
  dpkg-deb -R "$from" "$tree"
  sed -i "$expression" "$tree/DEBIAN/control"
  if [ $# -gt 3 ]; then
    file=$tree${original%/*}/libseccomp.so.$4
    mv "$tree$original" "$file"
    ln -sfn "${file##*/}" "$tree$link"
    sed -i "s|${original#/}|${file#"$tree"/}|" "$tree/DEBIAN/md5sums"
  fi
  dpkg-deb --root-owner-group -b "$tree" "$to" >/dev/null
}

step "Debian's libseccomp"
debian=/$(cd "$root" && echo var/cache/apt/archives/libseccomp2_*"_$architecture.deb")
mkdir -p "$root/run/bundle/rootfs/bin" "$root/run/bundle/rootfs/proc" "$root/run/repository" "$root/run/lists/partial" "$root/run/cache/archives/partial"
cp "$root/bin/busybox" "$root/run/bundle/rootfs/bin"
for applet in sh grep unshare true; do ln -s busybox "$root/run/bundle/rootfs/bin/$applet"; done
cp "$tree/crates/callgate-formats/profiles/container-default.json" "$root/run/profile.json"
cp "$here/bundle.jq" "$root/run"
inside runc spec --bundle /run/bundle
inside jq --arg architecture "$architecture" --slurpfile profile /run/profile.json -f /run/bundle.jq /run/bundle/config.json >"$root/run/config.json"
mv "$root/run/config.json" "$root/run/bundle/config.json"
: >"$root/run/repository/Packages"
echo 'deb [trusted=yes] file:/run/repository ./' >"$root/run/sources.list"
# The first time, it makes an index.
inside man ls >/dev/null
uses before
echo "the container writes:"
cat "$scratch/before/runc.out"
inside ldconfig
remember

step "apt-get install ./$library… ./$default…"
manage apt-get -o Dpkg::Use-Pty=0 install -y "$(package $library "$architecture")" "$(package $default "$architecture")"
cat "$scratch/log"
is_ours
uses after
compare
refused dpkg --force-depends --remove $library
is_ours

step "libseccomp2 is installed again"
manage apt-get -o Dpkg::Use-Pty=0 install -y --reinstall libseccomp2
is_ours

step "libseccomp2 is upgraded to 2.6.0, and back"
repack "$root$debian" "$root/run/packages/libseccomp2_2.6.0.deb" 's/^Version: .*/Version: 2.6.0-1/' 2.6.0
debian_version dpkg -i /run/packages/libseccomp2_2.6.0.deb
is_ours
[ ! -e "$root$original" ] || fail "$original is left"
debian_version dpkg -i "$debian"
is_ours

step "a newer version of this library, and back"
for package in $library $default; do
  repack "$root$(package "$package" "$architecture")" "$root/run/packages/new-$package.deb" "s/$version/$version.1/"
done
manage dpkg -i /run/packages/new-$library.deb /run/packages/new-$default.deb
is_ours
manage dpkg -i "$(package $library "$architecture")" "$(package $default "$architecture")"
is_ours

step "an upgrade that fails"
refused_without mv "" dpkg -i /run/packages/new-$default.deb
is_ours

step "an upgrade that stops before the packages are configured, and is purged"
# dpkg does not run the prerm of a package that is only unpacked.
unpack_and_purge() {
  local order=$1
  shift
  for unpacked; do manage dpkg --unpack "/run/packages/new-$unpacked.deb"; done
  echo "unpacked: $*; $link: $(target); purged: $order"
  # shellcheck disable=SC2086
  manage dpkg --purge $order
  as_before
  manage dpkg -i "$(package $library "$architecture")" "$(package $default "$architecture")"
  is_ours
}
for order in "$default $library" "$library $default"; do
  unpack_and_purge "$order" $library $default
  unpack_and_purge "$order" $default
  unpack_and_purge "$order" $library
done

step "Debian's file is missing: the removal is refused until libseccomp2 is installed again"
rm "$root${ours%/*}/diverted/${original##*/}"
refused dpkg --purge $default $library
same "$(target)" "$ours" "$link"
manage apt-get -o Dpkg::Use-Pty=0 install -y --reinstall libseccomp2
is_ours

step "libseccomp2 2.7.0, which may have functions that this library lacks, takes its place"
repack "$root$debian" "$root/run/packages/libseccomp2_2.7.0.deb" 's/^Version: .*/Version: 2.7.0-1/' 2.7.0
! manage_unwatched dpkg -i /run/packages/libseccomp2_2.7.0.deb || fail "dpkg must refuse libseccomp2 2.7.0"
manage_unwatched dpkg --configure -a || grep -A 2 problems "$scratch/log"
same "$(target)" "$libdir/libseccomp.so.2.7.0" "$link"
debian_version dpkg -i "$debian"
is_ours
debian_version apt-get install -y /run/packages/libseccomp2_2.7.0.deb
grep -A 1 REMOVED "$scratch/log"
same "$(target)" "$libdir/libseccomp.so.2.7.0" "$link"
debian_version dpkg -i "$debian"
manage dpkg --purge $library
as_before

step "an installation that fails: an administrator diverted the same file"
inside dpkg-divert --local --no-rename --divert "$original.local" --add "$original"
refused apt-get -o Dpkg::Use-Pty=0 install -y "$(package $library "$architecture")" "$(package $default "$architecture")"
same "$(target)" "$original" "$link"
inside dpkg-divert --local --no-rename --remove "$original"
manage dpkg --configure -a
is_ours

step "a removal that stops at each step, and its repetition"
# Before Debian's file is back, and before the diversion is removed.
refused_without mv "" dpkg --remove $default
is_ours
refused_without dpkg-divert --remove dpkg --remove $default
is_ours
manage dpkg --purge $default $library
as_before

step "an installation that stops at each step, and is undone"
# Before the diversion is recorded, and before the path is replaced.
refused_without dpkg-divert --add dpkg -i "$(package $library "$architecture")" "$(package $default "$architecture")"
same "$(target)" "$original" "$link"
refused_without mv "" dpkg --configure -a
same "$(target)" "$original" "$link"
manage dpkg --purge $default $library
as_before

step "the library in its own directory, for one program"
manage apt-get -o Dpkg::Use-Pty=0 install -y "$(package $library "$architecture")"
same "$(target)" "$original" "$link"
state=after
use man env "LD_LIBRARY_PATH=$libdir/callgate" man ls
same "$(cat "$scratch/after/man.library")" "$ours" "the library of man"
# The path that is opened is that of the library below the mount.
use "runc in a mount namespace" unshare --mount sh -c \
  "mount --bind $ours $link && exec runc --root /run/runc run --bundle /run/bundle three"
same "$(cat "$scratch/after/runc in a mount namespace.instructions")" "$(cat "$scratch/after/runc.instructions")" "the filter of runc"
manage apt-get -o Dpkg::Use-Pty=0 purge -y $library
as_before

# Compiles export.c for an architecture and links it with the library of the root.
compile() {
  "$1-linux-gnu-gcc" -Wall -Werror -I "$tree/crates/callgate-seccomp/include" "$here/export.c" \
    "$root/usr/lib/$1-linux-gnu/libseccomp.so.2" -o "$root/run/export-$1"
}
# Runs it. Prints the library that it uses, and the number of instructions of its filter.
export_for() {
  local machine=$1 state=$2
  if [ "$machine" = "$(uname -m)" ]; then set -- inside /run/export-"$machine"; else set -- "qemu-$machine" -L "$root" "$root/run/export-$machine"; fi
  "$@" >"$scratch/$state/$machine.bpf" 2>"$scratch/$state/$machine.maps"
  sed -i "s|^$root||" "$scratch/$state/$machine.maps"
  echo "$machine: $(cat "$scratch/$state/$machine.maps"), $(($(stat -c %s "$scratch/$state/$machine.bpf") / 8)) instructions"
}

for foreign; do
  step "$foreign beside $architecture, in an emulator"
  case $foreign in arm64) machine=aarch64 ;; amd64) machine=x86_64 ;; *) fail "$foreign: unknown architecture" ;; esac
  native=$(uname -m)
  manage apt-get -o Dpkg::Use-Pty=0 install -y --no-install-recommends "libseccomp2:$foreign"
  compile "$machine"
  compile "$native"
  export_for "$machine" before
  export_for "$native" before
  remember
  all=()
  for each in "$architecture" "$foreign"; do all+=("$(package $library "$each")" "$(package $default "$each")"); done
  manage dpkg -i "${all[@]}"
  is_ours
  export_for "$machine" after
  export_for "$native" after
  same "$(cat "$scratch/after/$machine.maps")" "/usr/lib/$machine-linux-gnu/callgate/libseccomp.so.2" "the library for $machine"
  same "$(cat "$scratch/after/$native.maps")" "$ours" "the library for $native"
  cmp "$scratch/after/$machine.bpf" "$scratch/after/$native.bpf"
  echo "both write the same filter"
  manage dpkg --purge "$default:$architecture" "$default:$foreign" "$library:$architecture" "$library:$foreign"
  as_before
done
