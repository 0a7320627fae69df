#!/usr/bin/env bash
# Brings Fashion-MNIST, 70,000 images in the format of MNIST, from Debian's package dataset-fashion-mnist, and prints the
# folder. It needs apt-get and dpkg-deb, and no root: the package is unpacked, not installed.
set -euo pipefail

readonly PACKAGE=dataset-fashion-mnist
readonly INSTALLED=/usr/share/datasets/fashion-mnist

usage() {
    cat <<USAGE
usage: scripts/fashion_mnist.sh

Print the folder of Fashion-MNIST's files; bring them first if they are missing (31 MB).

ACC_CACHE    keep them in a folder fashion-mnist there (default: \${XDG_CACHE_HOME:-~/.cache}/acc)
USAGE
}

say() { printf 'fashion-mnist: %s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }
complete() { [ -e "$1/train-images-idx3-ubyte.gz" ] && [ -e "$1/t10k-labels-idx1-ubyte.gz" ]; }

case "${1-}" in
    '') ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; die "unknown option '$1'" ;;
esac

cache=${ACC_CACHE-}
[ -n "$cache" ] && [ "$cache" != off ] || cache=${XDG_CACHE_HOME:-${HOME:?}/.cache}/acc
folder=$cache/fashion-mnist

if complete "$INSTALLED"; then printf '%s\n' "$INSTALLED"; exit 0; fi
if complete "$folder"; then printf '%s\n' "$folder"; exit 0; fi

for tool in apt-get dpkg-deb; do
    command -v "$tool" > /dev/null || die "there is no $tool here; the files are in Debian's package $PACKAGE"
done
mkdir -p "$cache"
new=$(mktemp -d "$cache/fashion-mnist.XXXXXX")
trap 'rm -rf "$new"' EXIT
say "getting Debian's package $PACKAGE, 31 MB"
(cd "$new" && apt-get download "$PACKAGE" > log 2>&1) ||
    die "apt-get cannot download $PACKAGE: $(tail -n 1 "$new/log"); maybe its lists are old: apt-get update"
dpkg-deb --extract "$new"/*.deb "$new/root"
files=$(find "$new/root" -name train-images-idx3-ubyte.gz -print -quit)
[ -n "$files" ] && complete "$(dirname "$files")" || die "the package $PACKAGE has other files than expected"
mv "$(dirname "$files")" "$folder"
printf '%s\n' "$folder"
