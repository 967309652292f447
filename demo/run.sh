#!/usr/bin/env bash
# The story that `make demo` tells: a week of earthquakes is put into a journal by one program and consumed by another,
# which is killed in the middle and started again. What comes of it must be what comes of it without a kill. Then a third
# program, in Python, draws the week from the same journal.
#
#     demo/run.sh PROGRAMS [PYTHON]     the folder with the programs `ingest` and `consume`; a Python with rheo and matplotlib
set -euo pipefail

programs=${1:?usage: demo/run.sh PROGRAMS [PYTHON]}
python=${2:-}
file=$(dirname "${BASH_SOURCE[0]}")/earthquakes.ndjson
alerts_before_the_kill=10
consumer=
place=$(mktemp -d)

# The consumer stands still to be killed. If this script ends first, it must not stand there for ever.
leave() {
    [[ -z $consumer ]] || kill -9 "$consumer" 2>/dev/null || true
    rm -rf "$place"
}
trap leave EXIT

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

# The end of what a run says, which is to be the same; before it come times, and what was taken over.
outcome() {
    sed -n '/^What came of it/,$p' "$1"
}

# The alerts that some runs gave, sorted, without the count that stands in front.
alerts() {
    grep -hoE '[0-9]\.[0-9]  [0-9]{4}-.*' "$@" | sort
}

printf 'Without a kill, to compare with:\n  '
"$programs/ingest" "$place/undisturbed" "$file"
"$programs/consume" "$place/undisturbed" >"$place/undisturbed.txt"
printf '  consumed\n\nWith a kill. Appended, and once more: an id that the stream holds is not appended again.\n'
for time in first again; do
    printf '  %s: ' "$time"
    "$programs/ingest" "$place/killed" "$file"
done

exec {words}< <(exec "$programs/consume" "$place/killed" "$alerts_before_the_kill")
consumer=$!
given=0
while ((given < alerts_before_the_kill)) && IFS= read -r -u "$words" line; do
    printf '%s\n' "$line" | tee -a "$place/killed.txt"
    [[ ! $line =~ ^\ +[0-9] ]] || given=$((given + 1))
done
((given < alerts_before_the_kill)) || kill -9 "$consumer"
status=0
wait "$consumer" || status=$?
consumer=
((status == 128 + 9)) || fail "The consumer ended with $status before it was killed, after $given alerts."
cat <&"$words" | tee -a "$place/killed.txt" # what its other threads said meanwhile
exec {words}<&-

printf '\nKilled with -9. Started again, on the same journal:\n'
"$programs/consume" "$place/killed" | tee "$place/finished.txt"

wanted=$place/undisturbed.txt
diff <(outcome "$wanted") <(outcome "$place/finished.txt") ||
    fail 'What came of it is not what came of it without the kill; see above (< without, > with it).'
alerts "$place/killed.txt" "$place/finished.txt" >"$place/given.txt"
diff <(alerts "$wanted") <(uniq "$place/given.txt") ||
    fail 'The alerts are not those without the kill; see above (< without, > with it).'
printf '\nKilled or not, the tables are equal. No alert is missing; given twice, for the kill came in between: %d.\n' \
    "$(uniq -d "$place/given.txt" | wc -l)"

if [[ -n $python ]]; then
    printf '\nThe same journal, in Python, by a group of its own; and once more:\n'
    for time in first again; do
        printf '  %s: ' "$time"
        "$python" "$(dirname "${BASH_SOURCE[0]}")/map.py" "$place/killed" "$programs/week.png"
    done
fi

# What Node makes of it, where the package is built (make node).
if command -v node >/dev/null && [[ -d $(dirname "$file")/../bindings/node/dist ]]; then
    node "$(dirname "$file")/consume.mjs" "$place/killed" "${RHEO_DEMO_PAGE:-$programs/earthquakes.html}"
    printf 'Its page: %s\n' "${RHEO_DEMO_PAGE:-$programs/earthquakes.html}"
else
    printf '\nFor what Node makes of it, with a page to look at: install Node 20 or newer.\n'
fi
