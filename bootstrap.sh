#!/bin/bash
# From a plain Debian to a running desktop (up), or to every test passed (test), in one command.
#
# Each step first looks whether its work is done, so that a second run is quick and changes nothing.
# The steps' whole output goes to a log; a step that fails says why and what mends it.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"

# Names in one entry separated by | are the same thing on different releases: the first that is
# installed or known to apt is taken.
readonly run_packages=(
	ca-certificates dnsmasq-base e2fsprogs iproute2 kmod lxcfs mmdebstrap passwd procps python3
	python3-websocket tar util-linux
)
readonly build_packages=(
	check cmake dpkg-dev file gcc libc6-dev libcap-ng-dev libcyaml-dev libisal-dev
	libjansson-dev libjpeg-dev libnanopb-dev libnftables-dev libpcre2-dev libpng-dev libseccomp-dev
	libsqlite3-dev libssl-dev libsystemd-dev libuv1-dev libwebp-dev libwebsockets-dev libx11-dev
	libx11-xcb-dev libxcb-res0-dev libxcb-shm0-dev libxcb1-dev libxcomposite-dev libxdamage-dev
	libxext-dev libxfixes-dev libxrandr-dev libxtst-dev libyaml-dev "lxc-dev|liblxc-dev" make nanopb
	ninja-build pkg-config x11proto-dev zlib1g-dev
)
readonly test_packages=(
	at-spi2-core bubblewrap chromium clang clang-format clang-tidy curl dbus gir1.2-gtk-3.0 git
	nftables openbox python3-gi python3-pil python3-pyqt5 python3-pyqt6 universal-ctags x11-utils
	x11-xkb-utils x11-xserver-utils xclip xdotool xterm xvfb
)
readonly bench_packages=(
	fonts-dejavu-core imagemagick lxc python3-pil scrot xdotool
)

readonly libexec=/usr/libexec/cuad
readonly state=/var/lib/cuad
readonly socket=/run/cuad/cuad.sock
readonly pidfile=/run/cuad/service.pid
readonly service_log=/var/log/cuad.log
readonly demo=demo
readonly picture=build/demo.png
log=/var/log/cuad-bootstrap.log

usage() {
	cat <<END
usage: ./bootstrap.sh COMMAND

  up         install what is missing, build, install and start cuad, build the templates, launch a
             desktop, let the demonstration agent do a task in it, and print its URL
  test       install what is missing, build, and run every test
  down       stop the service and all sessions; the sessions' disks stay
  bench      build, and measure speed
  uninstall  remove the service, all sessions and templates
  help       print this
END
}

# ---- steps ----

# Copies output to the log and shows it: one changing line on a terminal, else a line now and then.
show() {
	local line shown=-5 width
	width=$(($(tput cols 2>/dev/null || echo 80) - 5))
	while IFS= read -r line; do
		printf '%s\n' "$line" >>"$log"
		if [ -t 1 ]; then
			printf '\r\033[K    %.*s' "$width" "$line"
		elif ((SECONDS - shown >= 5)); then
			printf '    %s\n' "$line"
			shown=$SECONDS
		fi
	done
	[ ! -t 1 ] || printf '\r\033[K'
}

# step TEXT REMEDY COMMAND...: runs a command; when it fails says what, why and what mends it.
step() {
	local text=$1 remedy=$2 start=$SECONDS
	shift 2
	printf '==> %s\n' "$text"
	printf '\n==> %s: %s\n' "$text" "$*" >>"$log"
	if ! "$@" </dev/null 2>&1 | show; then
		{
			printf '\nfailed: %s\nthe last lines of %s:\n' "$text" "$log"
			tail -n 15 "$log" | sed 's/^/    /'
			printf 'to mend it: %s\n' "$remedy"
		} >&2
		exit 1
	fi
	((SECONDS - start < 2)) || printf '    done in %d s\n' $((SECONDS - start))
}

# ---- packages ----

installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Prints the names to install for the entries that nothing installed satisfies.
missing() {
	local entry name names
	for entry in "$@"; do
		IFS='|' read -ra names <<<"$entry"
		for name in "${names[@]}"; do
			installed "$name" && continue 2
		done
		for name in "${names[@]}"; do
			if ((${#names[@]} == 1)) || apt-cache show "$name" >/dev/null 2>&1; then
				printf '%s\n' "$name"
				continue 2
			fi
		done
		printf '%s\n' "${names[0]}"
	done
}

install_packages() {
	local names
	[ -n "$(missing "$@")" ] || return 0
	step "read the archive's package lists" \
		"see that /etc/apt names Debian's archive and that the network works; then: apt-get update" \
		apt-get -o DPkg::Lock::Timeout=300 update
	mapfile -t names < <(missing "$@")
	step "install ${#names[@]} packages" "apt-get install ${names[*]}" \
		env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
		install --yes --no-install-recommends "${names[@]}"
}

# apt's lists are needed to know where templates come from, also when nothing was missing.
know_archive() {
	apt-get indextargets 'Created-By: Packages' | grep -q '^Origin: [A-Z]' ||
		step "read the archive's package lists" "apt-get update" \
			apt-get -o DPkg::Lock::Timeout=300 update
}

# ---- build and install ----

# build PRESET DIRECTORY TARGET...
build() {
	local preset=$1 dir=$2
	shift 2
	[ -f "$dir/build.ninja" ] ||
		step "configure ($preset)" "cmake --preset $preset" cmake --preset "$preset"
	step "build ($preset)" "cmake --build --preset $preset" \
		cmake --build --preset "$preset" --target "$@"
}

# What the package would put on this machine, in one hash.
built_hash() {
	rm -rf build/root
	DESTDIR=$PWD/build/root cmake --install build >/dev/null
	(cd build/root && find . -type f -print0 | sort -z | xargs -0 sha256sum) | sha256sum
}

make_package() {
	rm -f build/cuad_*.deb
	(cd build && cpack -G DEB)
}

install_cuad() {
	local hash
	hash=$(built_hash)
	if installed cuad && [ "$hash" = "$(cat build/installed 2>/dev/null)" ]; then
		return 0
	fi
	step "make the package" "(cd build && cpack -G DEB)" make_package
	step "install cuad" "dpkg -i build/cuad_*.deb" \
		env DEBIAN_FRONTEND=noninteractive dpkg --force-confold --force-confdef -i build/cuad_*.deb
	printf '%s\n' "$hash" >build/installed
	service_stop
}

build_templates() {
	local name
	for name in base desktop; do
		step "template $name" "$1 $name --state $state --data $2" "$1" "$name" \
			--state "$state" --data "$2"
	done
}

# ---- service ----

has_systemd() {
	[ -d /run/systemd/system ]
}

service_pid() {
	local pid
	pid=$(cat "$pidfile" 2>/dev/null) || return 1
	[ "$(readlink "/proc/$pid/exe" 2>/dev/null)" = "$libexec/cuad-supervisor" ] && echo "$pid"
}

answers() {
	[ -S "$socket" ] && cuactl list >/dev/null 2>&1
}

# within SECONDS COMMAND...: repeats a question until the answer is yes.
within() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		((SECONDS < end)) || return 1
		read -rt 0.1 <> <(:) || true
	done
}

stopped() {
	! service_pid >/dev/null
}

start_in_background() {
	mkdir -p "$(dirname "$pidfile")"
	setsid "$libexec/cuad-supervisor" </dev/null >>"$service_log" 2>&1 &
	echo $! >"$pidfile"
}

start_and_wait() {
	if has_systemd; then
		systemctl enable --quiet --now cuad.service
	else
		start_in_background
	fi
	within 30 answers && return 0
	if has_systemd; then
		journalctl -u cuad -n 20 --no-pager
	else
		tail -n 20 "$service_log"
	fi
	return 1
}

service_start() {
	answers && return 0
	step "start the service" "cuactl doctor" start_and_wait
}

service_stop() {
	local pid
	if has_systemd; then
		systemctl stop cuad.service 2>/dev/null || true
	elif pid=$(service_pid); then
		kill "$pid"
		within 20 stopped || kill -KILL "$pid"
		rm -f "$pidfile"
	fi
}

# ---- the demonstration ----

# field NAME: prints a field of the JSON object on standard input.
field() {
	/usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin).get(sys.argv[1], ""))' "$1"
}

# The session's id when it runs.
demo_session() {
	local shown
	shown=$(cuactl show "$demo" --json 2>/dev/null) || return 1
	[ "$(field state <<<"$shown")" = running ] && field id <<<"$shown"
}

demo_token() {
	cuactl token create --role agent --session "$demo" --ttl 600 --json | field token
}

demo_agent() {
	local token id
	id=$(demo_session)
	token=$(demo_token)
	CUAD_TOKEN=$token /usr/bin/python3 tests/demo/agent.py --output "$picture" \
		--url "ws://127.0.0.1:7880/v1/sessions/$id/rpc"
}

demonstrate() {
	if ! demo_session >/dev/null; then
		cuactl rm "$demo" >/dev/null 2>&1 || true
		step "launch a desktop" "cuactl doctor; cuactl launch -t desktop --name $demo" \
			cuactl launch -t desktop --name "$demo"
	fi
	step "let the agent fill in a form in the desktop's browser" \
		"cuactl screenshot $demo -o now.png shows where it stopped" demo_agent
}

# ---- commands ----

do_up() {
	install_packages "${run_packages[@]}" "${build_packages[@]}"
	know_archive
	build default build all
	install_cuad
	build_templates "$libexec/cuad-build" /usr/share/cuad
	service_start
	demonstrate
	printf '\ncuad is running.\n'
	printf '  screenshot of the result  %s\n' "$PWD/$picture"
	printf '  the desktop               %s\n' "$(cuactl open "$demo")"
	printf '  try                       cuactl list; cuactl shell %s; cuactl help\n' "$demo"
}

# Prints the topmost directory above the clone that other users may not enter, as /root is.
closed_parent() {
	local dir=$PWD found=
	while [ "$dir" != / ]; do
		dir=$(dirname "$dir")
		((8#$(stat -c %a "$dir") & 1)) || found=$dir
	done
	printf '%s' "$found"
}

# What is tested runs as several users. Where they cannot reach the clone, a mount namespace shows the
# clone, and nothing else of the closed directory, at the same path.
in_reach() {
	local closed
	closed=$(closed_parent)
	if [ -z "$closed" ]; then
		"$@"
		return
	fi
	# shellcheck disable=SC2016
	unshare --mount bash -euc 'exec {clone}<.
		mount -t tmpfs -o mode=0755 tmpfs "$1"
		mkdir -p "$2"
		mount --no-canonicalize --bind "/proc/self/fd/$clone" "$2"
		exec {clone}<&-
		cd "$2"
		exec "${@:3}"' bash "$closed" "$PWD" "$@"
}

do_test() {
	install_packages "${run_packages[@]}" "${build_packages[@]}" "${test_packages[@]}"
	know_archive
	build default build all build-tests
	build sanitize build-sanitize all build-tests
	step "prepare ids and the user cuad" "server/package/prepare.sh" server/package/prepare.sh
	build_templates build/server/build/cuad-build desktop
	printf '==> tests (sanitize)\n'
	in_reach ctest --preset sanitize
	printf '==> tests (default)\n'
	in_reach ctest --preset default
}

do_down() {
	service_stop
	if [ -x "$libexec/cuad-supervisor" ]; then
		step "stop the sessions" "see $log" "$libexec/cuad-supervisor" --halt
	fi
}

do_bench() {
	install_packages "${run_packages[@]}" "${build_packages[@]}" "${bench_packages[@]}"
	know_archive
	build default build all
	step "prepare ids and the user cuad" "server/package/prepare.sh" server/package/prepare.sh
	build_templates build/server/build/cuad-build desktop
	in_reach cmake --build build --target bench
}

do_uninstall() {
	if answers; then
		step "remove all sessions" "cuactl list" cuactl rm --all
	fi
	service_stop
	if dpkg-query -W cuad >/dev/null 2>&1; then
		step "remove the package" "apt-get purge cuad" \
			env DEBIAN_FRONTEND=noninteractive apt-get purge --yes cuad
	fi
	rm -rf build build-sanitize
	printf 'cuad is gone; the packages that it was built with stay.\n'
}

main() {
	case "${1:-help}" in
	up | test | down | bench | uninstall) ;;
	help | --help | -h)
		usage
		return 0
		;;
	*)
		usage >&2
		return 2
		;;
	esac
	if [ "$(id -u)" -ne 0 ]; then
		echo "this needs root; run: sudo ./bootstrap.sh $1" >&2
		return 1
	fi
	if ! command -v apt-get >/dev/null; then
		echo "this needs Debian or Ubuntu: there is no apt-get here" >&2
		return 1
	fi
	export LC_ALL=C.UTF-8
	: >"$log"
	"do_$1"
}

main "$@"
