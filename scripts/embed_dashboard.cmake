# Compresses the files of the dashboard, and writes them into one C table: dashboard_files of
# src/server/dashboard_files.h. Also writes a depfile, so that the build notices changed, new and removed
# files.
#   cmake -D FOLDER=web/dashboard -D CHART=/usr/share/javascript/chart.js/chart.min.js
#         -D OUTPUT=dashboard_files.c -P scripts/embed_dashboard.cmake
set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")
file(GLOB paths ${FOLDER}/*.html ${FOLDER}/*.css ${FOLDER}/*.js ${FOLDER}/*.svg)
list(SORT paths)

set(c "#include \"server/dashboard_files.h\"\n\nconst AdminFile dashboard_files[] = {\n")
set(depfile "${OUTPUT}: \\\n  ${FOLDER}")
foreach(path IN LISTS paths CHART)
  cmake_path(GET path FILENAME name)
  cmake_path(GET path EXTENSION LAST_ONLY end)
  string(SUBSTRING ${end} 1 -1 end)
  if(path STREQUAL CHART)
    set(name chart.js)
  elseif(name STREQUAL index.html)
    set(name "")
  endif()
  # -n: without name and time, so that two builds have the same bytes
  execute_process(COMMAND gzip -9nc ${path} OUTPUT_FILE ${OUTPUT}.gz COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${OUTPUT}.gz hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR size "${digits} / 2")
  string(REGEX REPLACE "(..)" "\\\\x\\1" hex "${hex}")
  string(APPEND c "  {\"${name}\", \"${type_${end}}\",\n   \"${hex}\",\n   ${size}},\n")
  string(APPEND depfile " \\\n  ${path}")
endforeach()
file(REMOVE ${OUTPUT}.gz)
file(WRITE ${OUTPUT} "${c}  {0}};\n")
file(WRITE ${OUTPUT}.d "${depfile}\n")
