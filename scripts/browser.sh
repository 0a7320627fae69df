#!/usr/bin/env bash
# Prints the path of a Chromium or Chrome, for the tests of pages. As root on a Debian or Ubuntu that has none, installs
# the package chromium first.
set -euo pipefail

readonly NAMES=(chromium chromium-browser google-chrome google-chrome-stable chrome)

find_browser() {
    local name
    if [[ -n ${ACC_BROWSER-} ]]; then
        [[ -x $ACC_BROWSER ]] && printf '%s\n' "$ACC_BROWSER" && return
        printf 'browser: error: ACC_BROWSER is %s, which cannot be run\n' "$ACC_BROWSER" >&2
        exit 1
    fi
    for name in "${NAMES[@]}"; do
        command -v "$name" && return
    done
    return 1
}

missing() {
    printf 'browser: error: there is no Chromium or Chrome, and %s\n' "$1" >&2
    printf '  looked for: %s\n' "${NAMES[*]}" >&2
    printf '  help: install one (Debian: apt-get install chromium), or name one in ACC_BROWSER\n' >&2
    exit 1
}

find_browser && exit
command -v apt-get > /dev/null || missing 'no apt-get to install one with'
[[ $(id -u) == 0 ]] || missing 'only root can install one'
printf 'browser: installing the package chromium\n' >&2
{
    # Another run of apt-get may be under way.
    apt-get -o DPkg::Lock::Timeout=300 -qq update &&
        DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qq install -y --no-install-recommends chromium &&
        apt-get clean
} >&2 || missing 'the package chromium cannot be installed (see above)'
find_browser || missing 'the package chromium brought none'
