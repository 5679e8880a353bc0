# strata_revision(layer header macro PREFIX text FILES file...): a header for the layer that defines `macro` as the text
# and a hash of the files, so that what they produced earlier and was stored can be told from what they produce now.
if(CMAKE_SCRIPT_MODE_FILE)
  set(all "")
  foreach(file ${FILES})
    file(SHA256 ${file} hash)
    string(APPEND all ${hash})
  endforeach()
  string(SHA256 revision "${all}")
  string(SUBSTRING ${revision} 0 16 revision)
  file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT [[
#pragma once
#define @MACRO@ "@PREFIX@ @revision@"
]])
  return()
endif()

set(STRATA_REVISION_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
function(strata_revision layer header macro)
  cmake_parse_arguments(R "" "PREFIX" "FILES" ${ARGN})
  set(out ${PROJECT_BINARY_DIR}/revision/${layer}/${header})
  add_custom_command(OUTPUT ${out} VERBATIM
    COMMAND ${CMAKE_COMMAND} "-DOUT=${out}" "-DMACRO=${macro}" "-DPREFIX=${R_PREFIX}" "-DFILES=${R_FILES}"
            -P ${STRATA_REVISION_SCRIPT}
    DEPENDS ${R_FILES} ${STRATA_REVISION_SCRIPT})
  add_custom_target(strata_${layer}_revision DEPENDS ${out})
  add_dependencies(strata_${layer} strata_${layer}_revision)
  target_include_directories(strata_${layer} PRIVATE ${PROJECT_BINARY_DIR}/revision/${layer})
endfunction()
