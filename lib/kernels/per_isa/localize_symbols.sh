#!/bin/sh
# Links a static library into one object that exports one symbol: localize_symbols.sh LD OBJCOPY ENTRY ARCHIVE OBJECT
# --force-group-allocation dissolves the COMDAT groups of inline functions and templates, or objcopy could not make them local.
set -eu
"$1" -r --force-group-allocation -o "$5.tmp" --whole-archive "$4"
"$2" --keep-global-symbol="$3" "$5.tmp" "$5"
rm -f "$5.tmp"
