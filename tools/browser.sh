#!/usr/bin/env bash
# What `make test-web` needs where it is not there: Node.js with npm, and Chromium, as packages of the distribution.
set -euo pipefail

have() { command -v "$1" >/dev/null; }
missing=()
have node || missing+=(nodejs)
have npm || missing+=(npm)
have "${CHROMIUM:-chromium}" || have chromium-browser || have google-chrome || missing+=(chromium)
[ ${#missing[@]} -eq 0 ] && exit 0

root=()
if [ "$(id -u)" -ne 0 ]; then
	if ! have sudo || ! sudo -n true 2>/dev/null; then
		echo "browser.sh: ${missing[*]} not found, and not root: apt-get install ${missing[*]}" >&2
		exit 1
	fi
	root=(sudo -n)
fi
if ! have apt-get; then
	echo "browser.sh: ${missing[*]} not found, and no apt-get: install them as this system does" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
"${root[@]}" apt-get update -q
"${root[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}"
