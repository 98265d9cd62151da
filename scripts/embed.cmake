# Writes a file as a C table of bytes; the table is empty if the file does not exist.
#   cmake -D INPUT=clients/js/perigee.js -D NAME=web_script -D OUTPUT=web_script.c -P scripts/embed.cmake
set(hex "")
set(size 0)
if(EXISTS ${INPUT})
  file(READ ${INPUT} hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR size "${digits} / 2")
  string(REGEX REPLACE "(..)" "\\\\x\\1" hex "${hex}")
endif()
file(WRITE ${OUTPUT} "#include \"server/web_script.h\"

const char ${NAME}[] = \"${hex}\";
const size_t ${NAME}_size = ${size};
")
