#!/usr/bin/env bash
# Prints the path of Mermaid for browsers, one file of JavaScript, for the test that it reads our drawings. Brings it
# from npm, if it is missing, into the user's cache.
set -euo pipefail

readonly VERSION=12.3.0

missing() {
    printf 'mermaid: error: there is no Mermaid %s, and %s\n' "$VERSION" "$1" >&2
    printf '  help: name the file mermaid.min.js of its npm package in ACC_MERMAID\n' >&2
    exit 1
}

if [[ -n ${ACC_MERMAID-} ]]; then
    [[ -f $ACC_MERMAID ]] && printf '%s\n' "$ACC_MERMAID" && exit
    printf 'mermaid: error: ACC_MERMAID is %s, which is no file\n' "$ACC_MERMAID" >&2
    exit 1
fi

folder=${XDG_CACHE_HOME:-$HOME/.cache}/acc/mermaid-$VERSION
script=$folder/mermaid.min.js
if [[ ! -f $script ]]; then
    command -v npm > /dev/null || missing 'no npm to bring it'
    printf 'mermaid: bringing version %s\n' "$VERSION" >&2
    mkdir -p "$folder"
    # What is unpacked halfway is not taken for the whole.
    scratch=$(mktemp -d "$folder/new.XXXXXX")
    trap 'rm -rf "$scratch"' EXIT
    (cd "$scratch" && npm pack --silent "mermaid@$VERSION" > /dev/null && tar -xzf mermaid-*.tgz package/dist/mermaid.min.js) ||
        missing 'npm cannot bring it (see above)'
    mv "$scratch/package/dist/mermaid.min.js" "$script"
fi
printf '%s\n' "$script"
