#!/usr/bin/env bash
# Runs a program of examples/ as its head says. It must end with 0 within a minute.
#
#     scripts/run_example.sh PROGRAM SOURCE
#
# One whose head says "ends by: SIGTERM" gets a new journal. It is sent the signal when it has said its first line; then it
# is run again, on the same journal, and the same once more.
set -euo pipefail

program=${1:?usage: scripts/run_example.sh PROGRAM SOURCE} source=${2:?usage: scripts/run_example.sh PROGRAM SOURCE}
if ! grep -q 'ends by: SIGTERM' "$source"; then
    exec timeout 60 "$program"
fi

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
for _ in first second; do
    exec {said}< <(exec "$program" "$place/journal")
    running=$!
    IFS= read -r -t 30 -u "$said" line || { kill -9 "$running"; printf 'it said nothing for 30 s\n' >&2; exit 1; }
    printf '%s\n' "$line"
    kill -TERM "$running"
    timeout 30 cat <&"$said" || { kill -9 "$running"; printf 'SIGTERM did not end it within 30 s\n' >&2; exit 1; }
    exec {said}<&-
    wait "$running"
done
