# Writes a header with the version of LLVM and a hash of the code generator's sources.
set(all "")
foreach(file ${FILES})
  file(SHA256 ${file} hash)
  string(APPEND all ${hash})
endforeach()
string(SHA256 revision "${all}")
string(SUBSTRING ${revision} 0 16 revision)
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT [[
#pragma once
#define STRATA_CODEGEN_LLVM "@LLVM@"
#define STRATA_CODEGEN_REVISION "llvm @LLVM@ codegen @revision@"
]])
