#!/bin/sh
# What each program links, with the loader's eyes: root's program knows no network protocol and no X,
# the front door no containers, the worker neither. Usage: check_links.sh BUILD_DIR
set -eu
build=$1
status=0

# forbid PROGRAM LIBRARY…: none of these may be among what it loads.
forbid() {
	program=$1
	shift
	if [ ! -x "$build/$program" ]; then
		echo "$program is not built"
		status=1
		return
	fi
	libraries=$(ldd "$build/$program" 2>&1 || true)
	for library in "$@"; do
		case $libraries in
		*"$library"*)
			echo "$program links $library"
			status=1
			;;
		esac
	done
}

# forbid_own PROGRAM LIBRARY…: for what another library brings along, unasked: libnftables loads jansson.
forbid_own() {
	program=$1
	shift
	for library in "$@"; do
		if readelf -d "$build/$program" | grep NEEDED | grep -q "$library"; then
			echo "$program itself links $library"
			status=1
		fi
	done
}

forbid_own server/supervisor/cuad-supervisor libjansson
forbid server/supervisor/cuad-supervisor libwebsockets libX11 libxcb libssl libcyaml libyaml libsqlite3 libjpeg libpng
forbid server/front/cuad liblxc libX11 libxcb libnftables libjpeg
forbid desktop/cuad-desktop liblxc libwebsockets libjansson libssl libsqlite3 libcyaml libnftables
forbid server/ctl/cuactl liblxc libX11 libxcb libnftables libsqlite3
if ! ldd "$build/server/init/cuad-init" 2>&1 | grep -q 'not a dynamic executable\|statically linked'; then
	echo "cuad-init is not static"
	status=1
fi
exit $status
