// A handler that is run for the events of a group, on this event loop. Leases come from the native half many at a time, and what handlers
// said of them goes back many at a time: crossings are what costs.

import * as turns from './turns.js'
import type { NativeProducer, Rows as RawRows } from './addon'
import { batchOf, type Batch } from './batch.js'
import { invalid, shown, type RheoError } from './errors.js'
import { RowEvent, type Event } from './event.js'
import type { Group } from './group.js'
import { Lease } from './lease.js'
import { DUE, memory } from './native.js'
import type { Starting } from './options.js'
import { ACK, FAIL, noOutcome, Said, textOf, type Outcome } from './outcome.js'
import { Rows, TOKEN_WORDS } from './rows.js'
import { Deadline, PATIENCE_MS, Runtime } from './runtime.js'
import { LONGEST_TIMER_MS } from './waits.js'

/** How many leases are taken, and how many outcomes are gathered, for one crossing. */
const TOGETHER = 100
/** After how many quick handlers the time is looked at. */
const QUICK = 8
/** What the native half says when nothing comes any more. */
const STOPPED_MS = -2
const RELEASE = 3

/** What a handler gets besides the event. */
export interface Context<P = any> {
  /**
   * Fires when the lease is lost, so that what the handler says counts for nothing; when the handler has had it for `maxLeaseMs`; and when the
   * consumer is closed before the handler is done. Its reason is a `RheoError` that says which.
   */
  readonly signal: AbortSignal
  /** The lease. The consumer settles it by what the handler says; who settles it by hand makes that count for nothing. */
  readonly lease: Lease<P>
}

/** What a handler of lists gets besides the events. */
export interface BatchContext<P = any> {
  /** As {@link Context.signal}; fires when one of the leases is lost. */
  readonly signal: AbortSignal
  /** The leases of the events, in their order. */
  readonly leases: Batch<P>
}

/** Handles an event. */
export type Handler<P = any> = (event: Event<P>, context: Context<P>) => Outcome | void | PromiseLike<Outcome | void>

/**
 * Handles a list of events: gives nothing, which acks all, or an outcome for each, in order. One that is missing is a failure, and so is an
 * `Error` in its place, of that event alone; what is thrown is one of all of them.
 */
export type BatchHandler<P = any> = (
  events: readonly Event<P>[], context: BatchContext<P>,
) => readonly (Outcome | Error)[] | void | PromiseLike<readonly (Outcome | Error)[] | void>

/** Some leases on their way through a handler. */
abstract class Task {
  /** Since when the handler has it; told only where that is limited. */
  since = 0
  private controller: AbortController | undefined
  private reason: Error | undefined

  constructor(protected readonly leasesOwner: Group) {}

  /** Made when it is asked for, since it costs more than all the rest. */
  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController()
      if (this.reason !== undefined) this.controller.abort(this.reason)
    }
    return this.controller.signal
  }

  get isCancelled(): boolean {
    return this.reason !== undefined
  }

  cancel(reason: Error): void {
    if (this.reason !== undefined) return
    this.reason = reason
    this.controller?.abort(reason)
  }

  abstract readonly count: number
  /** Copies what a settle needs of a lease. */
  abstract copyToken(at: number, into: Int32Array, to: number): void
  /** What its leases are, for an error. */
  abstract held(): readonly Lease[]
}

/** One event. */
class One extends Task implements Context {
  readonly count = 1
  readonly event: Event
  private made: Lease | undefined

  constructor(owner: Group, private readonly rows: Rows, private readonly index: number) {
    super(owner)
    this.event = new RowEvent(owner.stream, rows, index)
  }

  get lease(): Lease {
    return (this.made ??= new Lease(this.leasesOwner, this.rows, this.index, this.leasesOwner.holder(), this.event))
  }

  copyToken(_at: number, into: Int32Array, to: number): void {
    this.rows.copyToken(this.index, into, to)
  }

  held(): readonly Lease[] {
    return [this.lease]
  }
}

/** A list of events. */
class Many extends Task implements BatchContext {
  readonly count: number

  constructor(owner: Group, readonly leases: Batch) {
    super(owner)
    this.count = leases.length
  }

  copyToken(at: number, into: Int32Array, to: number): void {
    const lease = this.leases[at]!
    lease.rows.copyToken(lease.index, into, to)
  }

  held(): readonly Lease[] {
    return this.leases
  }
}

let consumers = 0

/**
 * Runs a handler for the events of a group: `concurrency` at a time, on the event loop of the thread that started it. Leases are renewed on a
 * thread of the library, whatever the loop does.
 *
 * It keeps the process alive while it runs, as a server does, unless {@link unref} was called, of it or of the instance.
 */
export class Consumer<P = any> extends Runtime<P> {
  protected readonly patienceMs = PATIENCE_MS
  protected readonly endsByItself = true
  private readonly handler: (event: never, context: never) => unknown
  private readonly settings: Starting
  private readonly size: number
  /** Whether a list waits to fill: then its handler has its leases from when it begins. */
  private readonly fills: boolean
  /** Taken, and no handler has begun with it: rows, the place in the first of them, how many. */
  private readonly chunks: Rows[] = []
  private at = 0
  private waiting = 0
  /** Lost while they waited. */
  private readonly lost = new Map<Rows, Set<number>>()
  /** Whose handlers have given a promise. */
  private readonly running = new Set<Task>()
  /** What handlers said, on its way. */
  private readonly words = new Int32Array(TOGETHER * TOKEN_WORDS)
  private gathered = 0
  private others: unknown[] = []
  private flushes = 0
  private flushing: NodeJS.Immediate | undefined
  private isTaking = false
  /** Something may be there to be taken. */
  private mayTake = true
  private isPumping = false
  private isCalling = false
  /** The loop gets a turn. */
  private isYielding = false
  private quick = 0
  private due: NodeJS.Timeout | undefined
  private filling: Deadline | undefined
  private isFilled = false
  private readonly alive: NodeJS.Timeout
  private keepsAlive = true
  /** The name of the function that waits for what handlers promise, see `isInside`. */
  private readonly mark = `rheo consumer ${++consumers}`
  private readonly finishLater: (task: Task, promise: PromiseLike<unknown>) => Promise<void>

  /** @internal */
  constructor(leases: Group<P>, native: NativeProducer, handler: (event: never, context: never) => unknown, settings: Starting) {
    super(leases, native, settings.signal)
    this.handler = handler
    this.settings = settings
    this.size = settings.batchSize ?? 1
    this.fills = this.size > 1 && settings.batchTimeoutMs > 0
    const { mark } = this
    this.finishLater = {
      [mark]: async (task: Task, promise: PromiseLike<unknown>): Promise<void> => {
        let said: unknown
        try {
          said = await promise
        } catch (error) {
          this.failed(task, error)
          return
        } finally {
          this.running.delete(task)
        }
        this.say(task, said)
      },
    }[mark]!
    this.alive = setInterval(() => undefined, LONGEST_TIMER_MS)
    this.keepAlive(this.core.keepsAlive)
    this.core.waits.add(this)
    this.listen()
    if (settings.signal?.aborted) void this.close()
    else this.soon()
  }

  /** Whether it takes leases: it was neither drained nor closed, and met no error that ends it. */
  get isRunning(): boolean {
    return !this.isHalted && !this.native.isStopped()
  }

  /** What ended it by itself, which {@link wait} is rejected with; nothing while it runs, and after a drain or a close. */
  get failure(): RheoError | undefined {
    return this.endedBy as RheoError | undefined
  }

  /**
   * Resolves once the consumer has ended: it was closed, or drained and everything settled. Handlers that a close gave up are not waited for.
   *
   * @throws {RheoError} what ended it by itself: `ERR_RHEO_CLOSED`, `ERR_RHEO_POISONED`, `ERR_RHEO_STREAM_NOT_FOUND`, `ERR_RHEO_GROUP_NOT_FOUND`. Only who calls this
   * hears of it here: there is no rejection that nobody handles.
   */
  async wait(): Promise<void> {
    await this.ended()
  }

  /** Lets the consumer keep the process alive while it runs, as it does unless `unref` is called. */
  ref(): this {
    this.keepsAlive = true
    this.keepAlive(this.core.keepsAlive)
    return this
  }

  /** Lets the consumer keep no process alive. (What its handlers wait for may.) */
  unref(): this {
    this.keepsAlive = false
    this.keepAlive(false)
    return this
  }

  /** @internal */
  keepAlive(does: boolean): void {
    if (this.isEnded) clearInterval(this.alive)
    else if (does && this.keepsAlive) this.alive.ref()
    else this.alive.unref()
  }

  protected get isIdle(): boolean {
    return this.running.size === 0 && !this.isCalling && this.gathered === 0 && this.flushes === 0 && !this.isTaking
  }

  /**
   * Whether a handler of this consumer asks, and would wait for itself. Within its first part that is known; later on its stack says so: it shows who
   * waits for whom, down to the function that waits for the handler. (`AsyncLocalStorage` would know as well, and makes
   * every `await` of the process several times as slow.)
   */
  protected get isInside(): boolean {
    if (this.isCalling) return true
    if (this.running.size === 0) return false
    const { stackTraceLimit, prepareStackTrace } = Error
    const holder: { stack?: string } = {}
    try {
      Error.stackTraceLimit = Infinity
      Reflect.set(Error, 'prepareStackTrace', undefined)
      Error.captureStackTrace(holder)
      return holder.stack!.includes(` async ${this.mark} `)
    } finally {
      Object.assign(Error, { stackTraceLimit, prepareStackTrace })
    }
  }

  protected rung(): void {
    this.mayTake = true
    if (this.native.wasFired()) this.dropLost()
    if (!this.isHalted && this.native.isStopped()) this.learnWhy()
    this.filling?.look()
    this.pump()
  }

  /** Starts handlers as long as there is something for them, and room. */
  private pump(): void {
    if (this.isPumping || this.isYielding) return
    this.isPumping = true
    try {
      while (!this.isHalted && this.running.size < this.settings.concurrency) {
        if (this.waiting < this.size) this.take()
        if (this.waiting === 0 || (this.waiting < this.size && this.isFilling())) break
        this.filling?.cancel()
        this.filling = undefined
        this.isFilled = false
        const task = this.shift()
        if (task === undefined) continue
        this.run(task)
        if (this.isTurnLong()) {
          this.soon()
          break
        }
      }
    } finally {
      this.isPumping = false
    }
    if (this.isHalted || this.waiting === 0) this.flush()
    else if (this.gathered > 0) this.flushing ??= setImmediate(() => this.flush())
    this.look()
  }

  /** Goes on in the next turn of the loop, after what has come meanwhile. */
  private soon(): void {
    if (this.isYielding) return
    this.isYielding = true
    this.flush()
    setImmediate(() => {
      this.isYielding = false
      this.pump()
    })
  }

  /** Whether the loop should have a turn. Looking costs a tenth of what a quick handler does, so it is not done after each of those. */
  private isTurnLong(): boolean {
    if (--this.quick > 0) return false
    this.quick = QUICK
    return turns.isLong()
  }

  /** Takes what there is. */
  private take(): void {
    // What was said frees slots.
    this.flush()
    if (!this.mayTake || this.isTaking) return
    const { concurrency, maxLeaseMs } = this.settings
    const room = (concurrency - this.running.size) * this.size - this.waiting
    // Where handlers have their leases for a limited time, that begins when they are taken.
    const most = Math.min(maxLeaseMs > 0 ? room : Math.max(room, TOGETHER), 10_000)
    this.mayTake = false
    if (this.core.deliveriesBlock) {
      void this.takeLater(most)
      return
    }
    let raw: RawRows | undefined
    try {
      raw = this.native.take(most)
    } catch (error) {
      this.stopFor(error)
      return
    }
    if (raw !== undefined) this.add(Rows.taken(raw))
    else this.lookAgain(memory[DUE]!)
  }

  private async takeLater(most: number): Promise<void> {
    this.isTaking = true
    try {
      const raw = await this.native.takeLater(most)
      if (typeof raw === 'number') this.lookAgain(raw)
      else this.add(Rows.listed(raw))
    } catch (error) {
      this.stopFor(error)
    }
    this.isTaking = false
    if (this.isHalted) this.giveBack()
    this.pump()
  }

  private add(rows: Rows): void {
    this.mayTake = true
    this.chunks.push(rows)
    this.waiting += rows.length
  }

  /** Looks again when time alone may have brought something. A manual clock rings when it moves. */
  private lookAgain(dueMs: number): void {
    clearTimeout(this.due)
    this.due = undefined
    if (dueMs === STOPPED_MS || dueMs < 0 || this.core.isManual) return
    this.due = setTimeout(() => {
      this.mayTake = true
      this.pump()
    }, Math.min(Math.max(1, dueMs), LONGEST_TIMER_MS)).unref()
  }

  /** Whether a list that is not full yet is waited for. */
  private isFilling(): boolean {
    if (!this.fills || this.isFilled) return false
    this.filling ??= new Deadline(this.core, this.settings.batchTimeoutMs, () => {
      this.isFilled = true
      this.pump()
    }, this.keepsAlive && this.core.keepsAlive)
    return true
  }

  /** The next of those that wait; nothing when it was lost. */
  private shift(): Task | undefined {
    const { leases } = this
    if (this.settings.batchSize === undefined) {
      const rows = this.chunks[0]!
      const index = this.next(rows)
      return this.lost.size > 0 && this.wasLost(rows, index) ? undefined : new One(leases, rows, index)
    }
    const holder = leases.holder()
    const batch = batchOf<P>(leases, undefined)
    while (batch.length < this.size && this.waiting > 0) {
      const rows = this.chunks[0]!
      const index = this.next(rows)
      if (this.lost.size === 0 || !this.wasLost(rows, index)) batch.push(new Lease<P>(leases, rows, index, holder))
    }
    const begun = this.fills ? this.begin(batch) : batch
    return begun.length === 0 ? undefined : new Many(leases, begun)
  }

  /** Those of a list that waited to fill which were not lost meanwhile. The handler's time with them counts from now on. */
  private begin(batch: Batch<P>): Batch<P> {
    const words = new Int32Array(batch.length * TOKEN_WORDS)
    batch.forEach(({ rows, index }, at) => rows.copyToken(index, words, at * TOKEN_WORDS))
    const lost = this.native.begin(words, batch.length)
    // All handlers share one signal in the native half, which has forgotten what it said.
    if (this.running.size > 0) this.dropLost()
    if (!lost.includes(true)) return batch
    const kept = batchOf<P>(this.leases, undefined)
    batch.forEach((lease, at) => lost[at] || kept.push(lease))
    return kept
  }

  private next(rows: Rows): number {
    const index = this.at++
    this.waiting--
    if (this.at === rows.length) {
      this.chunks.shift()
      this.at = 0
    }
    return index
  }

  private wasLost(rows: Rows, index: number): boolean {
    const places = this.lost.get(rows)
    if (index === rows.length - 1) this.lost.delete(rows)
    return places?.has(index) ?? false
  }

  /** Has a handler handle it. */
  private run(task: Task): void {
    if (this.settings.maxLeaseMs > 0) task.since = this.now()
    let said: unknown
    this.isCalling = true
    try {
      said = task instanceof One ? this.handler(task.event as never, task as never) : this.handler(eventsOf(task as Many) as never, task as never)
    } catch (error) {
      this.isCalling = false
      this.failed(task, error)
      return
    }
    this.isCalling = false
    if (said === undefined || said === ACK) {
      for (let at = 0; at < task.count; at++) this.gather(task, at)
    } else if (isPromise(said)) {
      this.running.add(task)
      void this.finishLater(task, said)
    } else {
      this.say(task, said)
    }
  }

  /** Takes note of what a handler said in the end. */
  private say(task: Task, said: unknown): void {
    if (said === undefined || said === null) {
      for (let at = 0; at < task.count; at++) this.gather(task, at)
    } else if (task instanceof One) {
      if (said instanceof Said) this.gather(task, 0, said)
      else this.failed(task, said instanceof Error ? said : noOutcome(said))
    } else if (Array.isArray(said)) {
      this.sayEach(task, said)
    } else {
      this.failed(task, noOutcome(said, ' for a list of events'))
    }
    this.pump()
  }

  private sayEach(task: Task, said: unknown[]): void {
    const { count } = task
    for (let at = 0; at < count; at++) {
      const one = said[at]
      if (one instanceof Said) {
        this.gather(task, at, one)
        continue
      }
      let error: Error
      if (one instanceof Error) error = one
      else if (at < said.length) error = noOutcome(one, ` for event ${at + 1} of ${count}`)
      else error = new TypeError(`the handler gave ${said.length} outcomes for ${count} events`)
      this.gather(task, at, textOf(error))
      this.tell(error, [task.held()[at]!])
    }
  }

  private failed(task: Task, error: unknown): void {
    const reason = textOf(error)
    for (let at = 0; at < task.count; at++) this.gather(task, at, reason)
    this.tell(error, task.held())
    this.pump()
  }

  /** Gathers what is to be settled: by an outcome, a failure with its reason, or an ack. */
  private gather(task: Task, at: number, said?: Said | string): void {
    // What it says counts for nothing.
    if (this.isEnded) return
    if (typeof said === 'string') this.others.push(this.gathered, FAIL, said, undefined)
    else if (said !== undefined && said !== (ACK as unknown)) this.others.push(this.gathered, said.kind, said.reason, said.delayMs)
    task.copyToken(at, this.words, this.gathered * TOKEN_WORDS)
    if (++this.gathered === TOGETHER) this.flush()
  }

  /** Settles what was gathered. */
  private flush(): void {
    if (this.flushing !== undefined) clearImmediate(this.flushing)
    this.flushing = undefined
    if (this.gathered === 0) return
    const { gathered, others } = this
    this.gathered = 0
    this.others = []
    this.complete(this.words, gathered, others)
  }

  private complete(words: Int32Array, count: number, others: unknown[]): void {
    this.mayTake = true
    const said = others.length > 0 ? others : undefined
    if (!this.core.deliveriesBlock) {
      try {
        this.native.complete(words, count, said)
      } catch {
        // The process was forked: nothing here is its own.
      }
      return
    }
    this.flushes++
    const done = (): void => {
      this.flushes--
      this.mayTake = true
      this.pump()
    }
    this.native.completeLater(words, count, said).then(done, done)
  }

  protected giveBack(): void {
    clearTimeout(this.due)
    this.filling?.cancel()
    const count = this.waiting
    if (count > 0) {
      const words = new Int32Array(count * TOKEN_WORDS)
      const others: unknown[] = []
      for (let to = 0; to < count; to++) {
        const rows = this.chunks[0]!
        rows.copyToken(this.next(rows), words, to * TOKEN_WORDS)
        others.push(to, RELEASE, undefined, undefined)
      }
      this.complete(words, count, others)
    }
    this.flush()
  }

  protected abandon(): void {
    for (const task of this.running) task.cancel(invalid(`the consumer was closed before the handler of ${which(task)} was done`, undefined, 'closed'))
  }

  /** Tells the handlers whose leases are lost, and forgets those that wait. (Of lists that fill, `begin` does.) */
  private dropLost(): void {
    const running = [...this.running].filter((task) => !task.isCancelled)
    const waiting: [Rows, number][] = []
    for (const rows of this.fills ? [] : this.chunks) {
      for (let index = rows === this.chunks[0] ? this.at : 0; index < rows.length; index++) waiting.push([rows, index])
    }
    const count = running.reduce((sum, task) => sum + task.count, waiting.length)
    const words = new Int32Array(count * TOKEN_WORDS)
    let to = 0
    for (const task of running) for (let at = 0; at < task.count; at++) task.copyToken(at, words, to++ * TOKEN_WORDS)
    for (const [rows, index] of waiting) rows.copyToken(index, words, to++ * TOKEN_WORDS)
    const cancelled = this.native.cancelled(words, count)
    let from = 0
    for (const task of running) {
      if (cancelled.slice(from, (from += task.count)).includes(true)) task.cancel(this.whyLost(task))
    }
    for (const [rows, index] of waiting) {
      if (!cancelled[from++]) continue
      let places = this.lost.get(rows)
      if (places === undefined) this.lost.set(rows, (places = new Set()))
      places.add(index)
    }
  }

  private whyLost(task: Task): Error {
    const { maxLeaseMs } = this.settings
    if (this.core.native.isClosed()) return invalid(`the instance was closed before the handler of ${which(task)} was done`, undefined, 'closed')
    if (maxLeaseMs > 0 && this.now() - task.since >= maxLeaseMs) {
      return invalid(`the handler has had ${which(task)} for maxLeaseMs, ${maxLeaseMs} ms`, undefined, 'timeout')
    }
    return invalid(`the lease of ${which(task)} is lost: what the handler says counts for nothing`, undefined, 'stale_lease')
  }

  /** The runtime's time in milliseconds. */
  private now(): number {
    return this.core.isManual ? Number((this.core.call('now') as bigint) / 1000n) : performance.now()
  }

  /** It has ended while all handlers are busy: taking says why, and takes nothing. */
  private learnWhy(): void {
    try {
      this.native.take(1)
    } catch (error) {
      this.stopFor(error)
    }
  }

  private stopFor(error: unknown): void {
    if (this.isHalted) return
    // What its handlers wait for may keep the process alive; it does not.
    this.unref()
    this.endBy(error)
    this.tell(error, [])
  }

  private tell(error: unknown, leases: readonly Lease[]): void {
    const { onError } = this.settings
    if (onError === undefined) return
    try {
      onError(error, leases)
    } catch (thrown) {
      // Nobody here could handle it.
      queueMicrotask(() => {
        throw thrown
      })
    }
  }
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

function eventsOf(task: Many): Event[] {
  const events: Event[] = []
  for (const lease of task.leases) events.push(lease.event)
  return events
}

function which(task: Task): string {
  const [first] = task.held()
  const text = `event ${shown(first!.event.id)}`
  return task.count === 1 ? text : `${text} and ${task.count - 1} more`
}
