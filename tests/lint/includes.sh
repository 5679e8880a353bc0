#!/usr/bin/env bash
# Includes point downward only: a file of layer L may include its own layer and the DEPS of strata_layer(L) in
# CMakeLists.txt, nothing else; public headers include public headers only.
set -euo pipefail
cd "$(dirname "$0")/../.."
awk '
  FILENAME == "CMakeLists.txt" {
    if (match($0, /^strata_layer\(/)) {
      line = $0; gsub(/[()]/, " ", line); n = split(line, word, " "); layer = word[2]; known[layer] = 1
      in_deps = 0
      for (i = 3; i <= n; i++) {
        if (word[i] == "DEPS") in_deps = 1
        else if (word[i] == "LIBS") in_deps = 0
        else if (in_deps) allowed[layer, word[i]] = 1
      }
    }
    next
  }
  FNR == 1 { split(FILENAME, part, "/"); public = part[1] == "include"; layer = part[2] }
  match($0, /^#include "[^"]+"/) {
    target = substr($0, RSTART + 10, RLENGTH - 11); split(target, piece, "/"); to = piece[1]
    if (public) { if (to != "strata") bad(target) }
    else if ((to in known) && to != layer && !((layer, to) in allowed)) bad(target)
  }
  function bad(target) { printf "%s:%d: must not include \"%s\"\n", FILENAME, FNR, target; failed = 1 }
  END { exit failed }
' CMakeLists.txt $(find include src -name '*.hpp' -o -name '*.cpp')
echo "includes point downward"
