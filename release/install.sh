#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs snug from a release: the program, its man pages and shell completions.
#
#   SNUG_FROM=dist sh install.sh                    from a folder with the release's files
#   SNUG_FROM=https://... sh install.sh             from a URL
#   SNUG_PREFIX=/usr/local sh install.sh            to a folder other than ~/.local
#   SNUG_VERSION=0.5.0 sh install.sh                a version, if there are several
#
# The archive's checksum must match SHA256SUMS.
set -eu

fail() { echo "install.sh: $1" >&2; exit 2; }

from=${SNUG_FROM:-}
[ -n "$from" ] || from=$(cd "$(dirname "$0")" 2>/dev/null && pwd)
prefix=${SNUG_PREFIX:-${HOME:?install.sh: neither SNUG_PREFIX nor HOME is set}/.local}

case $(uname -s) in
  Linux) system=linux ;;
  Darwin) system=darwin ;;
  *) fail "there is no release for $(uname -s); build it with Go: go build ./cmd/snug" ;;
esac
case $(uname -m) in
  x86_64 | amd64) machine=amd64 ;;
  aarch64 | arm64) machine=arm64 ;;
  *) fail "there is no release for $(uname -m); build it with Go: go build ./cmd/snug" ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

get() { # NAME: copies a release file into $work
  case $from in
    *://*)
      if command -v curl >/dev/null; then curl -fsSL -o "$work/$1" "$from/$1"
      elif command -v wget >/dev/null; then wget -q -O "$work/$1" "$from/$1"
      else fail "neither curl nor wget is installed; download the release and set SNUG_FROM to its folder"; fi ;;
    *) [ -f "$from/$1" ] && cp "$from/$1" "$work/$1" ;;
  esac || fail "$from has no $1; set SNUG_FROM to the folder or address of a release"
}

get SHA256SUMS
archive=$(awk -v want="^snug-${SNUG_VERSION:-[^ ]*}-$system-$machine\\.tar\\.gz\$" '$2 ~ want {print $2}' "$work/SHA256SUMS" | tail -1)
[ -n "$archive" ] || fail "$from has no ${SNUG_VERSION:-version} for $system-$machine"
get "$archive"
want=$(awk -v name="$archive" '$2 == name {print $1}' "$work/SHA256SUMS")
if command -v sha256sum >/dev/null; then is=$(sha256sum < "$work/$archive"); else is=$(shasum -a 256 < "$work/$archive"); fi
[ "${is%% *}" = "$want" ] || fail "$archive is damaged: its checksum is not the one in SHA256SUMS; download it again"

tar -xzf "$work/$archive" -C "$work"
top=$work/${archive%.tar.gz}
mkdir -p "$prefix/bin" "$prefix/share/man/man1" "$prefix/share/bash-completion/completions" "$prefix/share/zsh/site-functions" "$prefix/share/fish/vendor_completions.d"
cp "$top/bin/snug" "$prefix/bin/.snug.new"
chmod 755 "$prefix/bin/.snug.new"
mv -f "$prefix/bin/.snug.new" "$prefix/bin/snug" # atomic, even if snug is running
cp "$top"/man/man1/*.1 "$prefix/share/man/man1/"
cp "$top/completions/snug.bash" "$prefix/share/bash-completion/completions/snug"
cp "$top/completions/_snug" "$prefix/share/zsh/site-functions/_snug"
cp "$top/completions/snug.fish" "$prefix/share/fish/vendor_completions.d/snug.fish"

"$prefix/bin/snug" version
case ":$PATH:" in
  *":$prefix/bin:"*) ;;
  *) echo "$prefix/bin is not in PATH; add it: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
