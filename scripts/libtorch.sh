#!/usr/bin/env bash
# Brings libtorch, which the graph executor links to, and makes it findable at build time and at run time.
# docs/GRAPHS.md explains the layout of the cache and why the link stubs exist.
set -euo pipefail

readonly VERSION=2.11.0
readonly NEEDED_MIB=1300 # the largest wheel beside its unpacked files

usage() {
    cat <<USAGE
usage: scripts/libtorch.sh [--env | --config | --help]

Without an option: bring libtorch $VERSION if it is missing, write the untracked file
.cargo/config.toml so that plain cargo finds it in this workspace, and say what was done.

  --env      bring it if missing; print the exports for a shell:
             eval "\$(scripts/libtorch.sh --env)"
  --config   bring it if missing; print the section for the .cargo/config.toml of
             another crate: scripts/libtorch.sh --config >> .cargo/config.toml

ACC_LIBTORCH_CACHE    where to keep it (default: \${XDG_CACHE_HOME:-~/.cache}/acc/libtorch-$VERSION)
LIBTORCH              use the libtorch in this folder (include/ and lib/) and download nothing
LIBTORCH_USE_PYTORCH  set to 1: use the PyTorch of the active Python and download nothing
PYTHON, CXX           the Python and the C++ compiler to use (default: python3 and c++)
USAGE
}

say() { printf 'libtorch: %s\n' "$*" >&2; }
die() {
    printf 'libtorch: error: %s\n' "$1" >&2
    shift
    local line
    for line in "$@"; do printf '  %s\n' "$line" >&2; done
    exit 1
}

mode=setup
case "${1-}" in
    '') ;;
    --env) mode='env' ;;
    --config) mode=config ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; die "unknown option '$1'" ;;
esac
[ $# -le 1 ] || { usage >&2; die "one option at most"; }

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
python=${PYTHON:-python3}
# A virtual environment brings 'python' for certain, and is what torch's users activate.
[ -n "${PYTHON-}" ] || [ -z "${VIRTUAL_ENV-}" ] || python=python
cxx=${CXX:-c++}

[ "$(uname -s)" = Linux ] || die "this script knows Linux only, and this is $(uname -s)." \
    "Everything but the graph executor builds and runs without libtorch: cargo test"
if [ -n "${LIBTORCH_INCLUDE-}${LIBTORCH_LIB-}" ]; then
    die "LIBTORCH_INCLUDE and LIBTORCH_LIB are not supported." \
        "Unset them, and set LIBTORCH to a folder that has both include/ and lib/."
fi

if [ -n "${ACC_LIBTORCH_CACHE-}" ]; then
    cache=$ACC_LIBTORCH_CACHE
elif [ -n "${XDG_CACHE_HOME-}" ]; then
    cache=$XDG_CACHE_HOME/acc/libtorch-$VERSION
else
    [ -n "${HOME-}" ] || die "HOME is not set: name a cache folder in ACC_LIBTORCH_CACHE."
    cache=$HOME/.cache/acc/libtorch-$VERSION
fi
mkdir -p "$cache" || die "cannot make the cache folder $cache" \
    "Set ACC_LIBTORCH_CACHE to a folder that can be written to."
cache=$(cd "$cache" && pwd -P)
case "$cache" in
    *["'"\"\\\ ]* | *$'\n'*)
        die "the cache folder must not have a space, a quote or a backslash in its path: $cache" \
            "Set ACC_LIBTORCH_CACHE to another folder." ;;
esac

# Nothing partial is ever seen under its final name: all work happens in a folder beside it, renamed at the end.
partial=
cleanup() { [ -z "$partial" ] || rm -rf "$partial"; }
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# One at a time: a second run waits here and then finds everything in place.
lock() {
    command -v flock >/dev/null || die "flock (of util-linux) is missing: install it."
    exec 9>"$cache/lock"
    if ! flock -n 9; then
        say "waiting for another run to finish"
        flock 9
    fi
    # Under the lock, what is still there was left by a run that was killed.
    rm -rf "$cache"/partial.*
}

need_compiler() {
    command -v "$cxx" >/dev/null || die "no C++ compiler: '$cxx' was not found." \
        "Install one (Debian, Ubuntu: apt-get install g++; Fedora: dnf install gcc-c++), or name it in CXX."
    command -v readelf >/dev/null || die "readelf was not found: install binutils."
}

# The version of a libtorch folder; nothing where it does not say.
version_of() {
    if [ -f "$1/build-version" ]; then
        sed 's/+.*//; s/[[:space:]]//g' "$1/build-version"
    elif [ -f "$1/version.py" ]; then
        sed -n "s/^__version__ *= *['\"]\([0-9.]*\).*/\1/p" "$1/version.py"
    fi
}

check_libtorch() { # folder, how the user named it
    local found
    [ -f "$1/lib/libtorch_cpu.so" ] && [ -d "$1/include/torch" ] ||
        die "$2 names $1, where there is no libtorch (include/torch and lib/libtorch_cpu.so)." \
            "Correct or unset it: without it this script brings libtorch $VERSION by itself."
    found=$(version_of "$1")
    [ "$found" = "$VERSION" ] ||
        die "$2 names libtorch ${found:-of unknown version} in $1, but $VERSION is needed." \
            "Install $VERSION there (pip install torch==$VERSION), or unset $2."
}

# Downloads with pip and unpacks the few files that are needed without a GPU.
bring() {
    [ "$(uname -m)" = x86_64 ] || die "libtorch is brought on x86-64 only, and this is $(uname -m)." \
        "Install libtorch or PyTorch $VERSION yourself and set LIBTORCH or LIBTORCH_USE_PYTORCH=1."
    command -v "$python" >/dev/null || die "Python is needed to bring libtorch, and '$python' was not found." \
        "Install it (Debian, Ubuntu: apt-get install python3 python3-pip), or name it in PYTHON."
    "$python" -m pip --version >/dev/null 2>&1 || die "pip is needed to bring libtorch, and '$python -m pip' does not run." \
        "Install it (Debian, Ubuntu: apt-get install python3-pip), or name a Python that has it in PYTHON."
    local free
    free=$(df -Pm "$cache" | awk 'NR == 2 { print $4 }')
    [ "$free" -ge "$NEEDED_MIB" ] || die "$NEEDED_MIB MiB are needed in $cache, and $free MiB are free." \
        "Make room, or set ACC_LIBTORCH_CACHE to a folder on another disk."

    partial=$(mktemp -d "$cache/partial.XXXXXX")
    mkdir "$partial/wheels" "$partial/libtorch" "$partial/libtorch/lib"
    # libtorch_cpu.so of the wheel is linked to two libraries of CUDA, which it needs even where there is no GPU.
    cat >"$partial/requirements.txt" <<'REQUIREMENTS'
torch==2.11.0 --hash=sha256:7aa2f9bbc6d4595ba72138026b2074be1233186150e9292865e04b7a63b8c67a
nvidia-cuda-runtime==13.0.96 --hash=sha256:7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548
nvidia-cuda-cupti==13.0.85 --hash=sha256:4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8
REQUIREMENTS
    say "downloading libtorch $VERSION with pip (544 MB, once) into $cache"
    # The Python version only picks the wheel; no file that depends on it is kept.
    # No pip cache: it would keep the wheels a second time.
    "$python" -m pip download --quiet --disable-pip-version-check --no-cache-dir --no-deps --only-binary=:all: \
        --require-hashes --python-version 3.11 --implementation cp \
        --platform manylinux_2_28_x86_64 --platform manylinux_2_25_x86_64 --platform manylinux2014_x86_64 \
        --requirement "$partial/requirements.txt" --dest "$partial/wheels" >&2 ||
        die "pip could not download libtorch (its own message is above)." \
            "Is there a network, and does pip reach its index? Behind a proxy set HTTPS_PROXY, for a mirror PIP_INDEX_URL." \
            "Or install libtorch $VERSION another way and set LIBTORCH to its folder."

    say "unpacking"
    "$python" - "$partial/wheels" "$partial/libtorch" <<'PYTHON' || die "could not unpack the wheels (see above)."
import pathlib, shutil, sys, zipfile

wheels, target = map(pathlib.Path, sys.argv[1:])
keep = {
    "torch": ["libtorch_cpu.so", "libc10.so", "libgomp.so.1"],
    "nvidia_cuda_runtime": ["libcudart.so.13"],
    "nvidia_cuda_cupti": ["libcupti.so.13"],
}
for prefix, libraries in keep.items():
    (wheel,) = wheels.glob(prefix + "-*.whl")
    found = set()
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            path = pathlib.PurePosixPath(entry.filename)
            if entry.is_dir():
                continue
            if prefix == "torch" and path.parts[:2] == ("torch", "include"):
                to = target.joinpath(*path.parts[1:])
            elif path.name in libraries and path.parent.name == "lib":
                to = target / "lib" / path.name
                found.add(path.name)
            else:
                continue
            to.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as source, open(to, "wb") as sink:
                shutil.copyfileobj(source, sink, 1 << 20)
    missing = set(libraries) - found
    if missing:
        sys.exit(f"{wheel.name} has no {', '.join(sorted(missing))}")
    wheel.unlink()
PYTHON
    printf '%s\n' "$VERSION" >"$partial/libtorch/build-version"
    mv -T "$partial/libtorch" "$cache/libtorch"
    rm -rf "$partial"
    partial=
    say "libtorch $VERSION is in $cache/libtorch"
}

# A stub has the symbols of a library and none of its code. A program linked to it names, as the library that it
# needs, the absolute path of the real one, and so finds it without LD_LIBRARY_PATH or an rpath: the loader takes a
# needed entry with a slash for a path. (The linker copies that entry from the library's SONAME.)
stub() { # library to imitate or '', absolute path to name, stub to write, symbols (TYPE:NAME) to claim besides
    local library=$1 real=$2 out=$3 claim
    shift 3
    {
        if [ -n "$library" ]; then readelf --wide --dyn-syms "$library"; fi
        for claim in "$@"; do echo "- - - ${claim%%:*} GLOBAL DEFAULT 1 ${claim#*:}"; done
    } | awk '
        function define(section, kind, name) {
            if (section != current) { print section; current = section }
            print ".globl " name "\n.type " name ",%" kind "\n" name ": .byte 0"
        }
        ($5 != "GLOBAL" && $5 != "WEAK" && $5 != "UNIQUE") || $7 == "UND" || $8 == "" { next }
        { sub(/@.*/, "", $8) }
        # The linker provides these itself in every library.
        $8 ~ /^(_init|_fini|_edata|_end|__bss_start|_start)$/ || seen[$8]++ { next }
        $4 == "FUNC" || $4 == "IFUNC" { define(".text", "function", $8) }
        $4 == "OBJECT" || $4 == "NOTYPE" { define(".data", "object", $8) }
        $4 == "TLS" { define(".section .tdata,\"awT\",%progbits", "tls_object", $8) }
        END { print ".section .note.GNU-stack,\"\",%progbits" }
    ' >"$out.s"
    "$cxx" -shared -nostdlib -x assembler "$out.s" -Wl,-soname,"$real" -o "$out" ||
        die "'$cxx' could not make the link stub of $real (its own message is above)."
    rm "$out.s"
}

# A folder that torch-sys takes for a libtorch: the real headers, and a stub of each library.
link_folder() { # real libtorch, folder to make
    local real=$1 link=$2 lib=$1/lib
    need_compiler
    [ -n "$partial" ] || partial=$(mktemp -d "$cache/partial.XXXXXX")
    mkdir "$partial/link" "$partial/link/lib"
    ln -s "$real/include" "$partial/link/include"
    printf '%s\n' "$VERSION" >"$partial/link/build-version"
    printf '%s\n' "$real" >"$partial/link/stubs-of"
    stub "$lib/libtorch_cpu.so" "$lib/libtorch_cpu.so" "$partial/link/lib/libtorch_cpu.so"
    stub "$lib/libc10.so" "$lib/libc10.so" "$partial/link/lib/libc10.so"
    # torch-sys also links to libtorch.so, which has no symbols of its own.
    stub '' "$lib/libtorch_cpu.so" "$partial/link/lib/libtorch.so"
    if [ -f "$lib/libtorch_cuda.so" ]; then
        # Nobody calls the CUDA library by name: it registers its kernels when it is loaded. The linker drops a library
        # that resolves nothing, so its stub, which comes first, claims symbols: what every handle of a tensor refers
        # to, and the question whether there is CUDA. The loader then finds both in their own libraries.
        stub '' "$lib/libtorch_cuda.so" "$partial/link/lib/libtorch_cuda.so" \
            OBJECT:_ZN3c1019UndefinedTensorImpl10_singletonE FUNC:_ZN5torch4cuda12is_availableEv
    fi
    rm -rf "$link"
    mv -T "$partial/link" "$link"
    rm -rf "$partial"
    partial=
    say "link stubs for $real are in $link"
}

lock
real=$cache/libtorch
link=$cache/link
named=
if [ -n "${LIBTORCH_USE_PYTORCH-}" ] && [ "$LIBTORCH_USE_PYTORCH" != 0 ]; then
    named=LIBTORCH_USE_PYTORCH
    # Found without importing it, which takes seconds.
    real=$("$python" -c '
import importlib.util, pathlib, sys
spec = importlib.util.find_spec("torch")
if spec is None or spec.origin is None:
    sys.exit(1)
print(pathlib.Path(spec.origin).resolve().parent)') ||
        die "LIBTORCH_USE_PYTORCH is set, but '$python' has no module torch." \
            "Install it (pip install torch==$VERSION), name the right Python in PYTHON, or unset LIBTORCH_USE_PYTORCH."
elif [ -n "${LIBTORCH-}" ] && [ "$LIBTORCH" != "$link" ]; then
    named=LIBTORCH
    real=$LIBTORCH
    # A shell that already has our exports: the stubs stand for another folder.
    if [ -f "$real/stubs-of" ]; then real=$(cat "$real/stubs-of"); fi
fi
if [ -n "$named" ]; then
    check_libtorch "$real" "$named"
    real=$(cd "$real" && pwd -P)
    # Named by what the library is, so that stubs are made anew when it was replaced.
    key=$(stat -L -c '%n %s %Y' "$real"/lib/libtorch_c*.so | cksum | cut -d' ' -f1)
    [ "$real" = "$cache/libtorch" ] || link=$cache/link-$key
    say "using libtorch $VERSION in $real ($named)"
elif [ ! -d "$real" ]; then
    # Before the download rather than after it.
    need_compiler
    bring
fi
if [ ! -d "$link" ] || [ "$(cat "$link/stubs-of")" != "$real" ]; then link_folder "$real" "$link"; fi
exec 9>&-

print_config() {
    cat <<CONFIG
# libtorch for the graph executor, written by scripts/libtorch.sh
[env]
LIBTORCH = { value = "$link", force = true }
CONFIG
}

case $mode in
    env)
        printf 'export LIBTORCH=%s\n' "$link"
        # torch-sys would look past LIBTORCH, and past the stubs.
        printf 'unset LIBTORCH_USE_PYTORCH\n' ;;
    config) print_config ;;
    setup)
        config=$root/.cargo/config.toml
        if [ -f "$config" ] && ! head -n 1 "$config" | grep -q 'written by scripts/libtorch.sh'; then
            say "left $config as it is: it was not written by this script. To let plain cargo find libtorch, add:"
            print_config >&2
        else
            mkdir -p "$root/.cargo"
            print_config >"$config.new"
            if cmp -s "$config.new" "$config"; then rm "$config.new"; else mv "$config.new" "$config"; fi
            say "plain cargo finds it through $config"
        fi
        say "ready. For other tools: eval \"\$(scripts/libtorch.sh --env)\"" ;;
esac
