#!/bin/sh
# Both scripts start with these lines. At no moment libseccomp.so.2 may be missing or half written: without it, systemd and
# apt do not start. So this package has no file at a diverted path, which dpkg would remove before the other one is back;
# rename(2) exchanges the two.
set -e
export LC_ALL=C

package=@package@
libdir=@libdir@
# Of libseccomp2, and of ldconfig: it names the file with the highest version.
link=$libdir/libseccomp.so.2
# Relative to $libdir.
ours=callgate/libseccomp.so.2
# ldconfig does not read this directory. Beside ours, it would find a second library with the same SONAME.
aside=$libdir/callgate/diverted

# The file of libseccomp2, by the name that has its version: libseccomp.so.2.5.4.
of_debian() {
  dpkg -L libseccomp2:@architecture@ | grep -x "$libdir/libseccomp\.so\.2\.[0-9.]*"
}

# Sets $diverted to the paths that this package has diverted. `set -e` does not see a failure in the words of a `for`, or at the
# start of a pipeline.
find_diverted() {
  diverted=$(dpkg-divert --list "$libdir/libseccomp.so.2.*")
  diverted=$(echo "$diverted" | sed -n "s|^diversion of \(.*\) to .* by $package\$|\1|p")
}

is_ours() {
  [ "$(readlink "$1")" = "$ours" ]
}

# Makes or replaces a link by rename(2): `point PATH TARGET`.
point() {
  ln -sf "$2" "$aside/new"
  mv -fT "$aside/new" "$1"
}

# Ends the script where the next step would leave programs without a library.
refuse() {
  echo "$package: $1." >&2
  echo "$package: run 'apt-get install --reinstall libseccomp2:@architecture@', then try again." >&2
  exit 1
}

# Gives a path back to libseccomp2.
give_back() {
  kept=$aside/${1##*/}
  if ! is_ours "$1" && cmp -s "$kept" "$1"; then
    # An interrupted installation has not replaced the path: mv refuses two names of one file.
    rm -f "$kept"
  elif [ -s "$kept" ]; then
    mv -fT "$kept" "$1"
  elif is_ours "$1"; then
    # libseccomp2 has another version by now. ldconfig preferred the old path if that is an older one.
    library=$(of_debian || true)
    if [ -z "$library" ] || [ "$library" = "$1" ] || [ ! -s "$library" ]; then
      refuse "$kept, the library of libseccomp2, is missing"
    fi
    if [ "$(readlink "$link")" = "${1##*/}" ]; then
      point "$link" "${library##*/}"
    fi
    rm -f "$1"
  fi
  dpkg-divert --package "$package" --no-rename --divert "$kept" --remove "$1"
}

give_all_back() {
  find_diverted
  for path in $diverted; do
    give_back "$path"
  done
}
