# shellcheck shell=sh disable=SC2154

# Puts our library at a path of libseccomp2. Each step may be the last one before a power failure: then all are repeated.
take() {
  kept=$aside/${1##*/}
  owner=$(dpkg-divert --listpackage "$1")
  # If the path is diverted already, the file in $aside is dpkg's, and may be newer than the one at the path. It is missing if
  # a removal stopped after it was moved back.
  if ! is_ours "$1" && { [ -z "$owner" ] || [ ! -s "$kept" ]; }; then
    rm -f "$kept"
    ln "$1" "$kept"
  fi
  dpkg-divert --package "$package" --no-rename --divert "$kept" --add "$1"
  is_ours "$1" || point "$1" "$ours"
}

# Also after libseccomp2 was upgraded (triggered), and where a removal or an upgrade stopped (abort-…).
case $1 in
  configure | triggered | abort-upgrade | abort-deconfigure | abort-remove) ;;
  *) exit 0 ;;
esac

if [ ! -s "$libdir/$ours" ]; then
  give_all_back
  echo "$package: $libdir/$ours is missing or empty; programs use Debian's library." >&2
  exit 1
fi
library=$(of_debian || true)
if [ "$(echo "$library" | wc -w)" != 1 ]; then
  echo "$package: libseccomp2:@architecture@ must have one file $link.VERSION; it has: ${library:-none}." >&2
  echo "$package: nothing was changed; programs use Debian's library." >&2
  exit 1
fi
# apt removes this package then, but dpkg -i does not.
if dpkg --compare-versions "${library##*.so.}" ge @next@; then
  echo "$package: programs may need functions of ${library##*/} that this library does not have; they use Debian's." >&2
  give_all_back
  exit 0
fi
take "$library"
find_diverted
for path in $diverted; do
  [ "$path" = "$library" ] || give_back "$path"
done
