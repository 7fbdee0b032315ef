#!/bin/sh
# Installs what the build needs beside Rust: cmake and a C compiler. Arguments: further Debian packages, for the tests.
set -eu
sudo=""
[ "$(id -u)" = 0 ] || sudo=$(command -v sudo || true)
if command -v apt-get >/dev/null; then
  $sudo apt-get update -qq
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq cmake gcc libc6-dev make "$@" >/dev/null
elif command -v dnf >/dev/null; then
  $sudo dnf install -y -q cmake gcc make
elif command -v apk >/dev/null; then
  $sudo apk add --quiet cmake gcc musl-dev make
elif command -v brew >/dev/null; then
  brew install --quiet cmake
else
  echo "error: expected apt-get, dnf, apk or brew; install cmake and a C compiler by hand" >&2
  exit 1
fi
