# Compiles files into a .cpp that defines paceline::embedded_files().
#
# paceline_embed_files(OUTPUT_VARIABLE FILE…): sets the variable to the path of the generated source,
# which is made again whenever one of the files changes. A file is known by its name without folder.
#
# The same file is the script that generates the source:
#   cmake -DFILES="a;b" -DOUTPUT=… -P embed_files.cmake

function(paceline_embed_files output_variable)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded_files.cpp)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${ARGN}" -DOUTPUT=${output} -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    DEPENDS ${ARGN} ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    COMMENT "Embedding the chat page"
    VERBATIM)
  set(${output_variable} ${output} PARENT_SCOPE)
endfunction()

function(paceline_content_type output_variable path)
  set(types
    "html=text/html\\; charset=utf-8" "css=text/css\\; charset=utf-8" "js=text/javascript\\; charset=utf-8"
    "svg=image/svg+xml" "png=image/png" "ico=image/x-icon" "woff2=font/woff2" "json=application/json"
    "txt=text/plain\\; charset=utf-8" "webmanifest=application/manifest+json")
  set(found "application/octet-stream")
  foreach(entry IN LISTS types)
    string(REGEX MATCH "^([a-z0-9]+)=(.*)$" matched "${entry}")
    if(path MATCHES "\\.${CMAKE_MATCH_1}$")
      string(REGEX MATCH "^([a-z0-9]+)=(.*)$" matched "${entry}")
      set(found "${CMAKE_MATCH_2}")
    endif()
  endforeach()
  set(${output_variable} "${found}" PARENT_SCOPE)
endfunction()

function(paceline_write_embedded_files)
  set(arrays "")
  set(entries "")
  set(index 0)
  foreach(file IN LISTS FILES)
    get_filename_component(path ${file} NAME)
    file(READ ${file} hex HEX)
    file(SIZE ${file} size)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
    string(REGEX REPLACE "((0x..,){24})" "\\1\n" bytes "${bytes}")
    paceline_content_type(type ${path})
    # A zero is appended so that an empty file has an array as well.
    string(APPEND arrays "constexpr unsigned char kFile${index}[] = {\n${bytes}0x00};\n")
    string(APPEND entries "    EmbeddedFile{\"${path}\", \"${type}\", text_of(kFile${index}, ${size})},\n")
    math(EXPR index "${index} + 1")
  endforeach()
  file(WRITE ${OUTPUT} "#include \"http/embedded_files.h\"

#include <array>
#include <cstddef>

namespace paceline {
namespace {

std::string_view text_of(const unsigned char* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

${arrays}
}  // namespace

std::span<const EmbeddedFile> embedded_files() {
  static const std::array<EmbeddedFile, ${index}> kFiles{
${entries}  };
  return kFiles;
}

}  // namespace paceline
")
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  paceline_write_embedded_files()
endif()
