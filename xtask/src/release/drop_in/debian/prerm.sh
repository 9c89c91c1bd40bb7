# shellcheck shell=sh disable=SC2154

# `deconfigure`: another package is installed that this one breaks, such as a newer libseccomp2.
case $1 in
  remove | deconfigure)
    for path in $(diverted); do
      give_back "$path"
    done
    # From an interrupted installation.
    rm -f "$aside"/*
    ;;
esac
