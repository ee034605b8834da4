#!/bin/sh
# Gives this host what the service needs before it starts: the user cuad, ranges of ids for the
# containers, and directories. Harmless when run again; also run when the package is installed.
set -eu

# Ids for 10000 sessions of 65536 each; fewer where the ids of this host do not suffice.
readonly wanted=655360000
readonly least=131072
readonly last=4294900000

make_user() {
	getent group cuad >/dev/null || groupadd --system cuad
	getent passwd cuad >/dev/null ||
		useradd --system --gid cuad --home-dir /nonexistent --no-create-home \
			--shell /usr/sbin/nologin --comment "cuad front end" cuad
}

# The largest range of root in a file, as "FIRST COUNT", or nothing.
root_range() {
	awk -F: '($1 == "root" || $1 == "0") && $3 + 0 > n { n = $3 + 0; f = $2 + 0 }
		END { if (n) printf "%.0f %.0f\n", f, n }' "$1"
}

# The first id above all ranges that somebody has in either file.
first_free() {
	cat /etc/subuid /etc/subgid |
		awk -F: 'BEGIN { m = 1000000 } $2 + $3 > m { m = $2 + $3 } END { printf "%.0f\n", m }'
}

make_ranges() {
	touch /etc/subuid /etc/subgid
	users=$(root_range /etc/subuid)
	groups=$(root_range /etc/subgid)
	if [ -n "$users" ] && [ "$users" = "$groups" ] && [ "${users#* }" -ge "$least" ]; then
		return
	fi
	first=$(first_free)
	count=$wanted
	[ $((first + count)) -le "$last" ] || count=$(((last - first) / 65536 * 65536))
	if [ "$count" -lt "$least" ]; then
		echo "no room for root's range of ids in /etc/subuid and /etc/subgid;" \
			"remove ranges that nobody uses" >&2
		exit 1
	fi
	for file in /etc/subuid /etc/subgid; do
		echo "root:$first:$count" >>"$file"
	done
}

make_directories() {
	install -d -m 0755 /etc/cuad /etc/cuad/templates
	install -d -m 0711 /var/lib/cuad
}

make_user
make_ranges
make_directories
