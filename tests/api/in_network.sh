#!/bin/sh
# Runs a command in this folder, for tests that have a network namespace of their own.
set -eu
cd "$(dirname "$0")"
ip link set lo up
exec "$@"
