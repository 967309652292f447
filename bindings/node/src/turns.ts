// What does its work at once continues on microtasks alone: a loop over it would let no timer, no signal and no I/O have a turn.

/** How long a turn of the event loop may last, in milliseconds, before a fetch ends it. */
const LONGEST = 5

let since = 0
let isNoted = false

/** Whether the loop has had no turn for long. */
export function isLong(): boolean {
  if (!isNoted) {
    // The first look in this turn.
    isNoted = true
    since = performance.now()
    setImmediate(() => {
      isNoted = false
    }).unref()
    return false
  }
  return performance.now() - since > LONGEST
}

/** Lets the loop have a turn. */
export function next(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
