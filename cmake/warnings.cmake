# Warning flags of every target (paceline_warnings) and the relaxed set for kernels.
add_library(paceline_warnings INTERFACE)
target_compile_options(paceline_warnings INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)  # g++ 12 warns falsely inside std::string
if(PACELINE_SANITIZE)
  # With sanitisers g++ 12 takes members of a std::variant for uninitialised.
  target_compile_options(paceline_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()

# For src/model/kernels only: intrinsics need old-style casts in vendor headers and narrowing in index arithmetic.
set(PACELINE_KERNEL_WARNINGS -Wno-conversion -Wno-sign-conversion -Wno-old-style-cast)
