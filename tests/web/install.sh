#!/bin/sh
# Installs what the page's tests need beside the server: Chromium, Node 18 or newer, and the packages of the lock file.
set -eu
cd "$(dirname "$0")"
missing=""
command -v chromium >/dev/null || [ -n "${CHROMIUM:-}" ] || missing="chromium"
command -v node >/dev/null || missing="$missing nodejs"
command -v npm >/dev/null || missing="$missing npm"
if [ -n "$missing" ]; then
  command -v apt-get >/dev/null || { echo "error: expected apt-get to install$missing; install them by hand" >&2; exit 1; }
  sudo=""
  [ "$(id -u)" = 0 ] || sudo=$(command -v sudo || true)
  $sudo apt-get update -qq
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund --silent
