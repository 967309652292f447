// What producers and consumers have in common: how they are told of changes, drained and closed.

import * as check from './check.js'
import type { NativeProducer } from './addon'
import type { Core } from './core.js'
import { invalid, wrongType } from './errors.js'
import type { Group } from './group.js'
import { DUE, memory, onBell, unwatch } from './native.js'
import { given, LONGEST_MS, unknownOption } from './options.js'
import { LONGEST_TIMER_MS } from './waits.js'

/** How long to wait for what is under way. */
export interface EndOptions {
  /** In milliseconds. */
  timeoutMs?: number | undefined
}

/** How long a consumer's handlers get by default, and a drain, in milliseconds. */
export const PATIENCE_MS = 30_000

/** A time that ends by the machine's clock or, under a manual one, by that too. @internal */
export class Deadline {
  private timer: NodeJS.Timeout | undefined
  private readonly end: number
  private readonly manualEnd: bigint | undefined

  constructor(
    private readonly core: Core,
    ms: number,
    private readonly onOver: () => void,
    private readonly keepsAlive: boolean,
  ) {
    this.end = performance.now() + ms
    this.manualEnd = core.isManual ? (core.call('now') as bigint) + BigInt(ms) * 1000n : undefined
    this.arm()
  }

  /** Under a manual clock: whether that has moved so far. */
  look(): void {
    if (this.manualEnd === undefined || this.timer === undefined) return
    try {
      if ((this.core.call('now') as bigint) < this.manualEnd) return
    } catch {
      // The instance is closed, and time stands still.
      return
    }
    this.cancel()
    this.onOver()
  }

  cancel(): void {
    clearTimeout(this.timer)
    this.timer = undefined
  }

  private arm(): void {
    const left = Math.max(0, Math.ceil(this.end - performance.now()))
    this.timer = setTimeout(() => {
      this.timer = undefined
      if (performance.now() >= this.end) this.onOver()
      else this.arm()
    }, Math.min(left, LONGEST_TIMER_MS))
    if (!this.keepsAlive) this.timer.unref()
  }
}

/** A producer or a consumer. */
export abstract class Runtime<P> {
  /** The stream's name. */
  readonly stream: string
  /** The group's name. */
  readonly group: string
  /** @internal */
  readonly core: Core
  /** @internal */
  readonly native: NativeProducer
  /** What settles the leases, and frees their slots. @internal */
  readonly leases: Group<P>
  /** It takes no leases any more. */
  protected isHalted = false
  /** Nothing of it is left. */
  protected isEnded = false
  private isEnding = false
  /** What ended it by itself. */
  protected endedBy: unknown
  private watch: number | undefined
  private poll: NodeJS.Timeout | undefined
  private draining: { deadline: Deadline; resolve: (isDone: boolean) => void } | undefined
  private readonly deadlines = new Set<Deadline>()
  private readonly ends: { resolve: () => void; reject: ((error: unknown) => void) | undefined }[] = []
  private readonly signal: AbortSignal | undefined
  private readonly onAbort = (): void => void this.end(this.patienceMs)

  /** @internal */
  constructor(leases: Group<P>, native: NativeProducer, signal: AbortSignal | undefined) {
    this.core = leases.core
    this.stream = leases.stream
    this.group = leases.name
    this.native = native
    this.leases = leases
    this.signal = signal
    signal?.addEventListener('abort', this.onAbort, { once: true })
  }

  /** How long {@link close} waits by default. */
  protected abstract readonly patienceMs: number
  /** Whether nothing of it is under way in JavaScript. */
  protected abstract get isIdle(): boolean
  /** Whether this is called by something that it waits for, which could not end. */
  protected abstract get isInside(): boolean
  /** Gives back at once what was taken and nobody has begun with, and says what is to be said of the rest. */
  protected abstract giveBack(): void
  /** Ends what is still under way. */
  protected abstract abandon(): void
  /** Something may have changed. */
  protected abstract rung(): void
  /** @internal */
  abstract keepAlive(does: boolean): void

  /** How many leases it holds that are not settled. */
  get inflightCount(): number {
    return this.native.inflightCount()
  }

  /**
   * Takes no more leases, gives back at once what nobody has begun with, and waits up to `timeoutMs` milliseconds (30,000 when missing) for the
   * rest to be settled. Gives whether all of it was. Renews meanwhile, and afterwards too.
   *
   * Called by a handler of this consumer it does not wait, since that could not end.
   *
   * @throws {RheoError} `ERR_RHEO_ALREADY_DRAINING` while another drain is pending; `ERR_RHEO_CLOSED`.
   */
  async drain(options?: EndOptions): Promise<boolean> {
    const timeoutMs = endOptions(options) ?? PATIENCE_MS
    const { isInside } = this
    // A drain that is pending refuses this one.
    if (this.core.deliveriesBlock) await this.native.beginDrainLater()
    else this.native.beginDrain()
    if (isInside || this.isEnding) {
      this.native.endDrain()
      this.halt()
      return this.native.inflightCount() === 0
    }
    return new Promise((resolve) => {
      const deadline = new Deadline(this.core, timeoutMs, () => this.drained(false), true)
      this.draining = { deadline, resolve }
      this.listen()
      this.halt(false)
      if (timeoutMs === 0) this.drained(false)
    })
  }

  /**
   * Drains for up to `timeoutMs` milliseconds, then makes available to others what was not settled. Idempotent; of several the one that is over first
   * counts. What is under way when the time is over is told so: its signal fires, and what it says counts for nothing.
   *
   * Called by a handler of this consumer it waits for nobody and takes nothing away: handlers that run finish. `timeoutMs` is 30,000
   * for a consumer and 0 for a producer when missing.
   */
  async close(options?: EndOptions): Promise<void> {
    const timeoutMs = endOptions(options) ?? this.patienceMs
    if (this.isInside) this.halt()
    else await this.end(timeoutMs)
  }

  /** Closes it when an `await using` block ends. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** @internal */
  instanceCloses(): void {
    if (!this.isEnded) this.giveBack()
  }

  private async end(timeoutMs: number): Promise<void> {
    if (this.isEnded) return
    const ended = new Promise<void>((resolve) => this.ends.push({ resolve, reject: undefined }))
    this.halt()
    this.listen()
    if (timeoutMs === 0) this.finish()
    else if (!this.isEnding) this.deadlines.add(new Deadline(this.core, timeoutMs, () => this.finish(), true))
    await ended
  }

  /** Resolves when it has ended; is rejected with what ended it by itself. */
  protected ended(): Promise<void> {
    if (this.isEnded) return this.endedBy === undefined ? Promise.resolve() : Promise.reject(this.endedBy as Error)
    return new Promise((resolve, reject) => this.ends.push({ resolve, reject }))
  }

  /** Takes no more, and gives back what nobody has begun with. */
  private halt(isByItself = true): void {
    if (!this.isHalted) {
      this.isHalted = true
      this.giveBack()
      if (isByItself) void this.stopNative()
    }
    this.look()
  }

  private async stopNative(): Promise<void> {
    try {
      if (!this.core.deliveriesBlock) {
        this.native.beginDrain()
        this.native.endDrain()
        return
      }
      await this.native.beginDrainLater()
      this.native.endDrain()
    } catch {
      // It is stopped, by a drain.
    }
  }

  /** It has ended by itself. */
  protected endBy(error: unknown): void {
    if (this.isHalted || this.endedBy !== undefined) return
    this.endedBy = error
    this.isHalted = true
    this.giveBack()
    this.look()
  }

  /** Looks whether what somebody waits for has come. */
  protected look(): void {
    if (this.isDone) {
      this.drained(this.endedBy === undefined)
      if (this.ends.length > 0 || this.endsByItself) this.finish()
    }
    for (const deadline of this.deadlines) deadline.look()
    this.draining?.deadline.look()
  }

  /** Whether there is nothing left to wait for. What is left of a group, or an instance, that is gone nobody can settle. */
  private get isDone(): boolean {
    if (!this.isHalted || this.isEnding || !this.isIdle) return false
    return this.endedBy !== undefined || this.core.native.isClosed() || this.native.inflightCount() === 0
  }

  /** Whether it ends as soon as everything is settled, or only when it is closed. */
  protected abstract readonly endsByItself: boolean

  private drained(isDone: boolean): void {
    const { draining } = this
    if (draining === undefined) return
    this.draining = undefined
    this.native.endDrain()
    draining.deadline.cancel()
    draining.resolve(isDone)
    if (this.ends.length === 0 && !this.endsByItself) this.hush()
  }

  private finish(): void {
    if (this.isEnding) return
    this.isEnding = true
    for (const deadline of this.deadlines) deadline.cancel()
    this.signal?.removeEventListener('abort', this.onAbort)
    this.drained(false)
    this.hush()
    void this.closeNative().then(() => {
      this.isEnded = true
      this.core.waits.delete(this)
      this.keepAlive(false)
      for (const { resolve, reject } of this.ends.splice(0)) {
        if (this.endedBy === undefined || reject === undefined) resolve()
        else reject(this.endedBy)
      }
    })
  }

  private async closeNative(): Promise<void> {
    try {
      if (this.core.deliveriesBlock) await this.native.closeLater()
      else this.native.close()
    } catch {
      // What could not be given back expires.
    }
    this.abandon()
  }

  /** Has itself told of changes. */
  protected listen(): void {
    if (this.watch !== undefined || this.isEnding) return
    try {
      this.watch = this.native.watch()
    } catch (error) {
      this.endBy(error)
      return
    }
    const ring = (): void => {
      this.rung()
      this.look()
    }
    onBell(this.watch, ring)
    if (memory[DUE]! > 0) this.poll = setInterval(ring, memory[DUE]!).unref()
  }

  private hush(): void {
    if (this.watch !== undefined) unwatch(this.watch)
    clearInterval(this.poll)
    this.watch = this.poll = undefined
  }
}

/** Checks the options of a drain or a close. */
function endOptions(options: EndOptions | undefined): number | undefined {
  if (!given(options)) return undefined
  if (typeof options !== 'object') throw wrongType('options', 'an object', options)
  for (const name in options) if (name !== 'timeoutMs') throw unknownOption(name, ['timeoutMs'])
  return given(options.timeoutMs) ? duration('timeoutMs', options.timeoutMs) : undefined
}

/** A duration in milliseconds. @internal */
export function duration(what: string, value: unknown): number {
  const ms = check.whole(what, value)
  if (ms < 0 || ms > LONGEST_MS) throw invalid(`${what} is ${ms} ms; it takes 0 to ${LONGEST_MS} ms (ten years)`)
  return ms
}
