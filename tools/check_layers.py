#!/usr/bin/env python3
"""Checks the include rules of docs/architecture.md: which module may include which, and where libraries may appear.

Reads `#include` lines of src/ only. A module name is its folder; `http/openai` and `model/kernels` are modules of their
own. Exit status 1 when a rule is broken, with one line per include.
"""
import pathlib
import re
import sys

ALLOWED = {
    "base": set(),
    "tokenizer": {"base"},
    "sampling": {"base"},
    "kvpool": {"base"},
    "tenant": {"base"},
    "metrics": {"base"},
    "speculation": {"base"},
    "grammar": {"base", "tokenizer"},
    "chat": {"base", "tokenizer"},
    "context": {"base", "chat", "tokenizer"},
    "scheduler": {"base", "kvpool", "tenant"},
    "model/kernels": {"base"},
    "model": {"base", "model/kernels"},
    "engine": {"base", "tokenizer", "sampling", "kvpool", "tenant", "metrics", "speculation", "grammar", "chat",
               "context", "scheduler", "model"},
    "http/openai": {"base", "chat", "engine/request.h", "sampling/sampling_params.h"},
    "http": {"base", "http/openai", "engine", "chat", "context", "tenant", "tokenizer", "metrics",
             "sampling/sampling_params.h"},
    "config": {"base", "tenant/tenant.h", "sampling/sampling_params.h"},
    "app": {"*"},
}
# Headers of a module that others may use beyond the table: plain option structs, read by config.
OPTION_HEADER = re.compile(r"_options\.h$")

# Library include prefix -> modules (or single files) that may use it.
LIBRARIES = {
    "boost/asio": {"http", "app"},
    "boost/beast": {"http"},
    "boost/json": {"http", "http/openai", "base/logging.cpp", "app"},
    "simdjson": {"http/openai", "tokenizer/tokenizer_json.cpp", "model/hf_config.cpp", "model/safetensors_file.cpp"},
    "sentencepiece": {"tokenizer/sentencepiece_model.cpp"},
    "pcre2": {"tokenizer/pre_tokenizer.cpp"},
    "utf8proc": {"tokenizer/normalizer.cpp"},
    "prometheus": {"metrics"},
    "toml++": {"config"},
    "CLI": {"app"},
    "spdlog": {"base/logging.cpp"},
    "cblas": {"model/kernels/gemm_blas.cpp"},
    "immintrin": {"model/kernels"},
    "xxhash": {"model/mapped_tensors.cpp", "model/packed_file.cpp", "model/packed_file_writer.cpp"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def module_of(path):
    parts = path.split("/")
    if len(parts) > 2 and "/".join(parts[:2]) in ALLOWED:
        return "/".join(parts[:2])
    return parts[0]


def is_allowed(module, included):
    allowed = ALLOWED[module]
    target = module_of(included)
    return ("*" in allowed or target == module or target in allowed or included in allowed
            or (module == "config" and OPTION_HEADER.search(included) is not None))


def library_fault(module, source, included):
    for prefix, users in LIBRARIES.items():
        if included == prefix or included.startswith((prefix + "/", prefix + ".", prefix + "_")):
            if module not in users and source not in users:
                return f"only {', '.join(sorted(users))} may include <{prefix}…>"
    return None


def main():
    root = pathlib.Path(__file__).resolve().parent.parent / "src"
    faults, edges = [], {}
    for path in sorted(root.rglob("*")):
        if path.suffix not in (".h", ".cpp"):
            continue
        source = path.relative_to(root).as_posix()
        module = module_of(source)
        if module not in ALLOWED:
            faults.append(f"src/{source}: module {module} is not in the table of tools/check_layers.py")
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            quote, included = match.groups()
            where = f"src/{source}:{number}"
            if quote == "<":
                fault = library_fault(module, source, included)
                if fault:
                    faults.append(f"{where}: {fault}")
            elif (root / included).exists() or module_of(included) in ALLOWED:
                edges.setdefault(module, set()).add(module_of(included))
                if not is_allowed(module, included):
                    faults.append(f"{where}: {module} may not include {included}")
            else:
                faults.append(f"{where}: {included} is not a path from src/")
    print("\n".join(faults) or f"layers: {len(edges)} modules keep the rules")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
