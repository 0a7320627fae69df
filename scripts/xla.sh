#!/usr/bin/env bash
# Brings a plugin of PJRT for the CPU, with XLA in it, into the folder where the executor `xla` looks for one: `xla` in
# ACC_CACHE, or in ~/.cache/acc. It comes in a wheel from the Python registry, once, and is checked by its hash.
#
# scripts/xla.sh                brings it if it is missing, and prints its path
# scripts/xla.sh --processes    brings jaxlib beside it, for runs on several processes, and prints the path of its folder
set -euo pipefail

# The package, and the file in it. Version 0.115 of the interface.
package=lammps-jax-pjrt-cpu
version=0.11.2
file=lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so
sha256=ad1309ac822b1b24d51b7f9947c7c9fa9ef5d67f390584cbc3d1fa2428fed9c2

folder=${ACC_CACHE:-$HOME/.cache/acc}
if [ "$folder" = off ]; then
    echo 'xla.sh: ACC_CACHE is off; name a folder, or a plugin by ACC_XLA' >&2
    exit 1
fi
plugin=$folder/xla/pjrt_plugin.so
jaxlib=$folder/xla/jaxlib-0.10.2

# The wheels of xla_processes.txt for the Python that runs them, in a folder of their own.
processes() {
    if [ -e "$jaxlib/python" ]; then
        echo "$jaxlib"
        return
    fi
    local python=${PYTHON:-python3} list
    list=$(dirname "${BASH_SOURCE[0]}")/xla_processes.txt
    command -v "$python" >/dev/null || {
        echo "xla.sh: $python is not found; name a Python from 3.11 to 3.14 by PYTHON=/path/to/python3" >&2
        return 1
    }
    mkdir -p "$folder/xla"
    work=$(mktemp -d "$folder/xla/new.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    if ! "$python" -m pip install --quiet --disable-pip-version-check --no-warn-script-location --root-user-action ignore \
        --no-cache-dir --no-deps --only-binary :all: --require-hashes --requirement "$list" --target "$work/site"; then
        echo "xla.sh: jaxlib cannot be had: pip needs the Python registry, once, 110 MB, and Python 3.11 to 3.14 on Linux on" >&2
        echo "xla.sh: x86-64. Offline, put the wheels of xla_processes.txt into a folder, and set PIP_NO_INDEX=1" >&2
        echo "xla.sh: PIP_FIND_LINKS=/that/folder" >&2
        return 1
    fi
    # What runs no module is not kept.
    rm -rf "$work"/site/{bin,jaxlib/{mlir,mosaic,triton,include},numpy/tests,numpy/*/tests}
    ln -s "$("$python" -c 'import sys; print(sys.executable)')" "$work/python"
    # In one step, so that no process finds half of it. Another one may have brought it meanwhile.
    if mv --no-target-directory "$work" "$jaxlib" 2>/dev/null || [ -e "$jaxlib/python" ]; then
        echo "$jaxlib"
        return
    fi
    echo "xla.sh: $jaxlib cannot be made" >&2
    return 1
}
if [ "${1:-}" = --processes ]; then
    processes
    exit
fi
if [ -e "$plugin" ]; then
    echo "$plugin"
    exit
fi
if [ "$(uname -sm)" != 'Linux x86_64' ]; then
    echo "xla.sh: there is no known plugin for $(uname -sm); name one by ACC_XLA=/path/to/plugin.so" >&2
    exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$work" "$package==$version"; then
    echo "xla.sh: $package $version cannot be had: pip needs the Python registry, once. Offline, put the plugin of its wheel" >&2
    echo "xla.sh: into $plugin, or name one by ACC_XLA=/path/to/plugin.so" >&2
    exit 1
fi
python3 -m zipfile --extract "$work"/*.whl "$work"
echo "$sha256  $work/$file" | sha256sum --check --quiet
mkdir -p "$folder/xla"
# In one step, so that no process loads half of it.
mv "$work/$file" "$plugin.new"
mv "$plugin.new" "$plugin"
echo "$plugin"
