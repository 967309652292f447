// How a fetch waits for work without a thread: one watch for all waits on the same partitions of a group. When it rings, they
// are served in the order in which they came.

import { aborted } from './errors.js'
import type { Batch } from './batch.js'
import type { Core } from './core.js'
import type { Fetching } from './options.js'
import { onBell, unwatch } from './native.js'

/** How often to look where the backend cannot notify, in milliseconds. */
export const POLL_MS = 200
/** The longest that one timer of Node waits. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1

/** What leases come from. */
export interface Source {
  readonly core: Core
  /** Claims without waiting. */
  fetchNow(fetching: Fetching): Batch
  /** The same on a thread of the library: leases, or in how many milliseconds to look again. */
  fetchLater(fetching: Fetching): Promise<Batch | number>
  /** In how many milliseconds to look again after a fetch that gave nothing; negative for never. */
  dueMs(): number
  /** Watches: the number of the watch, or nothing where there is none, and how often to look besides, in milliseconds. */
  watch(partitions: string | undefined): [number: number | undefined, pollMs: number | undefined]
  /** An empty batch. */
  none(): Batch
}

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
    this.keepAlive(this.queue.source.core.keepsAlive)
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
    readonly source: Source,
    private readonly partitions: string | undefined,
    private readonly onEmpty: () => void,
  ) {}

  /** Waits; the first look is taken now, since something may have come before the watch was there. */
  add(fetching: Fetching): Promise<Batch> {
    const { core } = this.source
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
    this.source.core.waits.delete(wait)
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
    if (this.source.core.deliveriesBlock) {
      void this.pumpLater()
      return
    }
    this.isPumping = true
    try {
      do {
        this.isRung = false
        for (const wait of this.waits) {
          try {
            const batch = this.source.fetchNow(wait.fetching)
            if (batch.length > 0 || this.isTimeOver(wait)) wait.succeed(batch)
            else if (!this.hasLate()) break
          } catch (error) {
            wait.fail(error)
          }
        }
      } while (this.isRung)
      if (this.waits.size > 0) this.lookAgain(this.source.dueMs())
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
          const given = await this.source.fetchLater(wait.fetching)
          if (typeof given !== 'number') {
            // Aborted meanwhile: what came goes back, as if nothing had been leased.
            if (wait.isOver) await given.release().catch(() => undefined)
            else wait.succeed(given)
            continue
          }
          due = given
          if (this.isTimeOver(wait)) wait.succeed(this.source.none())
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
    return wait.manualDeadline !== undefined && (this.source.core.call('now') as bigint) >= wait.manualDeadline
  }

  /** Looks again when time alone may have made something claimable. A manual clock rings when it moves. */
  private lookAgain(dueMs: number): void {
    clearTimeout(this.due)
    this.due = undefined
    if (dueMs < 0 || this.source.core.isManual) return
    this.due = setTimeout(() => this.pump(), Math.max(1, dueMs)).unref()
  }

  private listen(): void {
    if (this.watch !== undefined || this.poll !== undefined) return
    const [watch, pollMs] = this.source.watch(this.partitions)
    this.watch = watch
    if (watch !== undefined) onBell(watch, () => this.pump())
    if (pollMs !== undefined) this.poll = setInterval(() => this.pump(), pollMs).unref()
  }
}
