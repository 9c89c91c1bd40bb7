# shellcheck shell=sh disable=SC2154

# Puts our library at a path of libseccomp2. Each step may be the last one before a power failure: then all are repeated.
take() {
  # If the path is diverted already, the file in its place there is dpkg's, and may be newer than the one here.
  if ! is_ours "$1" && [ -z "$(dpkg-divert --listpackage "$1")" ]; then
    rm -f "$aside/${1##*/}"
    ln "$1" "$aside/${1##*/}"
  fi
  dpkg-divert --package "$package" --no-rename --divert "$aside/${1##*/}" --add "$1"
  is_ours "$1" || point "$1" "$ours"
}

# Also after libseccomp2 was upgraded (triggered), and where a removal stopped (abort-…).
case $1 in
  configure | triggered | abort-upgrade | abort-deconfigure | abort-remove) ;;
  *) exit 0 ;;
esac

library=$(of_debian || true)
if [ "$(echo "$library" | wc -w)" != 1 ]; then
  echo "$package: libseccomp2:@architecture@ must have one file $link.VERSION; it has: ${library:-none}." >&2
  echo "$package: nothing was changed; programs use Debian's library." >&2
  exit 1
fi
# apt removes this package then, but dpkg -i does not.
if dpkg --compare-versions "${library##*.so.}" ge @next@; then
  echo "$package: programs may need functions of ${library##*/} that this library does not have; they use Debian's." >&2
  for path in $(diverted); do
    give_back "$path"
  done
  exit 0
fi
take "$library"
for path in $(diverted); do
  [ "$path" = "$library" ] || give_back "$path"
done
