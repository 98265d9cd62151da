# Writes every Lua file under LUA_DIR/perigee, and the files of a new game, into one C table: bundle_files of
# src/script/library.h. Also writes a depfile, so that the build notices changed, new and removed files.
#   cmake -D LUA_DIR=/path/to/lua -D OUTPUT=bundle.c -P scripts/bundle.cmake
file(GLOB_RECURSE names LIST_DIRECTORIES true RELATIVE ${LUA_DIR} ${LUA_DIR}/perigee/*)
list(SORT names)
list(PREPEND names perigee)

set(c "#include \"script/library.h\"\n\nconst BundleFile bundle_files[] = {\n")
set(depfile "${OUTPUT}:")
foreach(name IN LISTS names)
  if(NOT IS_DIRECTORY ${LUA_DIR}/${name} AND name MATCHES "\\.lua$|^perigee/tools/new/")
    # Reads the file as hex digits, because some bytes have a meaning in CMake or in C.
    file(READ ${LUA_DIR}/${name} hex HEX)
    string(REGEX REPLACE "(..)" "\\\\x\\1" text "${hex}")
    string(LENGTH "${hex}" digits)
    math(EXPR size "${digits} / 2")
    string(APPEND c "  {\"${name}\",\n   \"${text}\",\n   ${size}},\n")
  elseif(NOT IS_DIRECTORY ${LUA_DIR}/${name})
    continue()
  endif()
  string(REPLACE " " "\\ " path "${LUA_DIR}/${name}")
  string(APPEND depfile " \\\n  ${path}")
endforeach()
file(WRITE ${OUTPUT} "${c}  {0}};\n")
file(WRITE ${OUTPUT}.d "${depfile}\n")
