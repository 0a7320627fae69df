#!/usr/bin/env bash
# Brings a plugin of PJRT for the CPU, with XLA in it, into the folder where the executor `xla` looks for one: `xla` in
# ACC_CACHE, or in ~/.cache/acc. It comes in a wheel from the Python registry, once, and is checked by its hash.
#
# scripts/xla.sh          brings it if it is missing, and prints its path
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
