#!/bin/sh
# What the tests need beside Python: Chromium, gettext, zsh, redis-server and PostgreSQL's programs. Debian's packages are
# installed where this runs as root; elsewhere it says what is missing. Nothing is started and no service is left running.
set -eu

missing=""
command -v chromium >/dev/null 2>&1 || missing="$missing chromium"
command -v xgettext >/dev/null 2>&1 || missing="$missing gettext"
command -v redis-server >/dev/null 2>&1 || missing="$missing redis-server"
command -v zsh >/dev/null 2>&1 || missing="$missing zsh"
command -v postgres >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || missing="$missing postgresql"
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "The tests need these programs, and only root on Debian installs them by itself:$missing" >&2
    echo "Install them with your package manager and run make again." >&2
    exit 1
fi

# Packages may start their services when they are installed; the tests start their own servers, so these stay off.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
install="apt-get install --yes --quiet --quiet --no-install-recommends $missing"
$install >/dev/null 2>&1 || { apt-get update --quiet --quiet && $install; }
