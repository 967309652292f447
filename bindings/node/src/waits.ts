// How a fetch waits for work without a thread: one watch for all waits on the same partitions of a group. When it rings, they
// are served in the order in which they came.

import { aborted } from './errors.js'
import type { Batch } from './batch.js'
import type { Group } from './group.js'
import type { Fetching } from './options.js'
import { onBell, unwatch } from './native.js'

/** How often to look where the backend cannot notify, in milliseconds. */
const POLL_MS = 200
/** The longest that one timer of Node waits. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** One fetch that waits. */
export class Wait {
  isOver = false
  readonly promise: Promise<Batch>
  private readonly deadline: number
  /** Under a manual clock, where that clock ends the wait. */
  readonly manualDeadline: bigint | undefined
  private timer: NodeJS.Timeout | undefined
  private resolve!: (batch: Batch) => void
  private reject!: (error: unknown) => void
  private readonly onAbort: () => void

  constructor(
    private readonly queue: WaitQueue,
    readonly fetching: Fetching,
    manualNow: bigint | undefined,
  ) {
    this.deadline = performance.now() + fetching.waitMs
    this.manualDeadline = manualNow === undefined ? undefined : manualNow + BigInt(fetching.waitMs) * 1000n
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    this.onAbort = () => this.fail(aborted(fetching.signal!))
    fetching.signal?.addEventListener('abort', this.onAbort, { once: true })
    this.arm()
  }

  /** Whether the time of the wait is over. */
  get isLate(): boolean {
    return performance.now() >= this.deadline
  }

  /** Whether the wait keeps the process alive. */
  keepAlive(does: boolean): void {
    if (does) this.timer?.ref()
    else this.timer?.unref()
  }

  succeed(batch: Batch): void {
    if (this.end()) this.resolve(batch)
  }

  fail(error: unknown): void {
    if (this.end()) this.reject(error)
  }

  private arm(): void {
    const left = Math.max(0, Math.ceil(this.deadline - performance.now()))
    this.timer = setTimeout(() => {
      if (this.isLate) this.queue.pump()
      else this.arm()
    }, Math.min(left, LONGEST_TIMER_MS))
    this.keepAlive(this.queue.group.core.keepsAlive)
  }

  private end(): boolean {
    if (this.isOver) return false
    this.isOver = true
    clearTimeout(this.timer)
    this.fetching.signal?.removeEventListener('abort', this.onAbort)
    this.queue.remove(this)
    return true
  }
}

/** The waits for the same partitions of a group. */
export class WaitQueue {
  private readonly waits = new Set<Wait>()
  private watch: number | undefined
  private poll: NodeJS.Timeout | undefined
  private due: NodeJS.Timeout | undefined
  private isPumping = false
  private isRung = false

  constructor(
    readonly group: Group,
    private readonly partitions: string | undefined,
    private readonly onEmpty: () => void,
  ) {}

  /** Waits; the first look is taken now, since something may have come before the watch was there. */
  add(fetching: Fetching): Promise<Batch> {
    const { core } = this.group
    const wait = new Wait(this, fetching, core.isManual ? (core.call('now') as bigint) : undefined)
    this.waits.add(wait)
    core.waits.add(wait)
    try {
      this.listen()
    } catch (error) {
      wait.fail(error)
    }
    this.pump()
    return wait.promise
  }

  remove(wait: Wait): void {
    this.waits.delete(wait)
    this.group.core.waits.delete(wait)
    if (this.waits.size > 0) return
    if (this.watch !== undefined) unwatch(this.watch)
    clearInterval(this.poll)
    clearTimeout(this.due)
    this.watch = this.poll = this.due = undefined
    this.onEmpty()
  }

  /** Serves whom it can. */
  pump(): void {
    if (this.isPumping) {
      this.isRung = true
      return
    }
    if (this.group.core.deliveriesBlock) {
      void this.pumpLater()
      return
    }
    this.isPumping = true
    try {
      do {
        this.isRung = false
        for (const wait of this.waits) {
          try {
            const batch = this.group.fetchNow(wait.fetching)
            if (batch.length > 0 || this.isTimeOver(wait)) wait.succeed(batch)
            else if (!this.hasLate()) break
          } catch (error) {
            wait.fail(error)
          }
        }
      } while (this.isRung)
      if (this.waits.size > 0) this.lookAgain(this.group.dueMs())
    } finally {
      this.isPumping = false
    }
  }

  /** The same where a fetch itself waits, on a thread of the library. */
  private async pumpLater(): Promise<void> {
    this.isPumping = true
    let due = -1
    do {
      this.isRung = false
      for (const wait of [...this.waits]) {
        if (wait.isOver) continue
        try {
          const given = await this.group.fetchLater(wait.fetching)
          if (typeof given !== 'number') {
            // Aborted meanwhile: what came goes back, as if nothing had been leased.
            if (wait.isOver) await given.release().catch(() => undefined)
            else wait.succeed(given)
            continue
          }
          due = given
          if (this.isTimeOver(wait)) wait.succeed(this.group.none())
        } catch (error) {
          wait.fail(error)
        }
      }
    } while (this.isRung)
    this.isPumping = false
    if (this.waits.size > 0) this.lookAgain(due)
  }

  private hasLate(): boolean {
    for (const wait of this.waits) if (this.isTimeOver(wait)) return true
    return false
  }

  private isTimeOver(wait: Wait): boolean {
    if (wait.isLate) return true
    return wait.manualDeadline !== undefined && (this.group.core.call('now') as bigint) >= wait.manualDeadline
  }

  /** Looks again when time alone may have made something claimable. A manual clock rings when it moves. */
  private lookAgain(dueMs: number): void {
    clearTimeout(this.due)
    this.due = undefined
    if (dueMs < 0 || this.group.core.isManual) return
    this.due = setTimeout(() => this.pump(), Math.max(1, dueMs)).unref()
  }

  private listen(): void {
    if (this.watch !== undefined || this.poll !== undefined) return
    try {
      this.watch = this.group.native.watch(this.partitions)
      onBell(this.watch, () => this.pump())
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ERR_RHEO_UNSUPPORTED') throw error
      this.poll = setInterval(() => this.pump(), POLL_MS).unref()
    }
  }
}
