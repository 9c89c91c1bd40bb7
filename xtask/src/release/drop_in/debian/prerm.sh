# shellcheck shell=sh disable=SC2154

# `deconfigure`: another package is installed that this one breaks, such as a newer libseccomp2. `upgrade`: dpkg removes a
# package that is unpacked but not configured without calling this script, so an unpacked one must not divert anything.
case $1 in
  remove | deconfigure | upgrade | failed-upgrade)
    give_all_back
    # What is still in $aside comes from an interrupted installation, unless programs need it.
    [ -s "$link" ] || refuse "$link is missing"
    for path in "$link"*; do
      [ "$(readlink -f "$path")" != "$libdir/$ours" ] || refuse "$path is a link to $libdir/$ours, and is not diverted"
    done
    rm -f "$aside"/*
    ;;
esac
