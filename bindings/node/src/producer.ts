import { Readable } from 'node:stream'
import * as check from './check.js'
import * as turns from './turns.js'
import type { NativeProducer } from './addon'
import { batchOf, type Batch } from './batch.js'
import { aborted, invalid, wrongType } from './errors.js'
import { listOf, type Group, type LeaseOrToken } from './group.js'
import { Lease, type Settled } from './lease.js'
import { DUE, memory } from './native.js'
import {
  given, LONGEST_MS, unknownOption,
  type Fetching, type RejectOptions, type RetryOptions,
} from './options.js'
import { Rows } from './rows.js'
import { duration, Runtime } from './runtime.js'
import { WaitQueue, type Source } from './waits.js'

/** Why a wait of a producer ends that gives no more leases. */
const STOPPED = new Error('the producer gives no more leases')
/** What the native half says then. */
const STOPPED_MS = -2
/** How many leases an iteration takes at once. */
const AHEAD = 100

/** How to ask a producer for leases. */
export interface NextOptions {
  /** The most, 1 to 10,000; 1 when missing. */
  most?: number | undefined
  /** How long to wait for the first, in milliseconds; as long as it takes when missing. */
  timeoutMs?: number | undefined
  /** Ends the wait: the promise is rejected with an `AbortError`, and nothing is taken. */
  signal?: AbortSignal | undefined
}

/** How leases are streamed. */
export interface ReadableOptions {
  /** How many leases the stream holds before somebody reads them, 1 to 10,000; 16 when missing. The producer's `maxDemand` bounds them as well. */
  highWaterMark?: number | undefined
  /** Destroys the stream, as of any `Readable`. */
  signal?: AbortSignal | undefined
}

/**
 * Turns demand into leases: fetches when somebody asks, renews what it holds until that is settled, and never holds more than `maxDemand`
 * of them. Renewal runs on a thread of the library, whatever the event loop does.
 *
 * It is an async iterable of leases: leaving the loop closes it, so that what was not settled is available to others at once. A lease
 * of a producer settles through it, however that is called: `producer.ack(lease)`, `lease.ack()` and `db.ack(lease)` are the same, and the slot is
 * free whatever came of it.
 *
 * One that is forgotten is closed when it is collected.
 */
export class Producer<P = any> extends Runtime<P> implements AsyncIterable<Lease<P>> {
  protected readonly patienceMs = 0
  protected readonly endsByItself = false
  protected readonly isIdle = true
  protected readonly isInside = false
  private readonly queue: WaitQueue
  /** For each iteration under way: gives back what it took ahead. */
  private readonly iterations = new Set<() => Promise<unknown>>()

  /** @internal */
  constructor(leases: Group<P>, native: NativeProducer, signal: AbortSignal | undefined) {
    super(leases, native, signal)
    const source: Source = {
      core: this.core,
      fetchNow: (fetching) => this.takeNow(fetching.limit!),
      fetchLater: (fetching) => this.takeLater(fetching.limit!),
      dueMs: () => memory[DUE]!,
      watch: () => {
        const number = native.watch()
        const pollMs = memory[DUE]!
        return [number, pollMs > 0 ? pollMs : undefined]
      },
      none: () => leases.none(),
    }
    this.queue = new WaitQueue(source, undefined, () => undefined)
    if (signal?.aborted) void this.close()
  }

  /** Whether it gives no more leases: it was drained or closed, or met an error that ends it. */
  get isStopped(): boolean {
    return this.isHalted || this.native.isStopped()
  }

  /**
   * Leases, at least one and at most `most`: what is there, or what comes within `timeoutMs`. An empty batch when nothing came; nothing at
   * all once the producer was drained or closed, so that `while ((leases = await producer.next({ most: 100 })))` ends.
   *
   * @throws {RheoError} `ERR_RHEO_CLOSED`, `ERR_RHEO_POISONED`, `ERR_RHEO_STREAM_NOT_FOUND`, `ERR_RHEO_GROUP_NOT_FOUND` once the instance, the stream or the
   * group is gone. A fetch that fails otherwise is told to telemetry (`fetch.error`) and repeated after a back-off.
   */
  async next(options?: NextOptions): Promise<Batch<P> | undefined> {
    const fetching = nextOptions(options)
    try {
      return (await this.taken(fetching)) as Batch<P>
    } catch (error) {
      if (error === STOPPED) return undefined
      throw error
    }
  }

  private async taken(fetching: Fetching): Promise<Batch> {
    const { signal, limit, waitMs } = fetching
    if (signal?.aborted) throw aborted(signal)
    let batch: Batch
    if (this.core.deliveriesBlock) {
      const got = await this.takeLater(limit!)
      batch = typeof got === 'number' ? this.leases.none() : got
      if (signal?.aborted) {
        if (batch.length > 0) await batch.release().catch(() => undefined)
        throw aborted(signal)
      }
    } else {
      if (turns.isLong()) {
        await turns.next()
        if (signal?.aborted) throw aborted(signal)
      }
      batch = this.takeNow(limit!)
    }
    return batch.length === 0 && waitMs > 0 ? this.queue.add(fetching) : batch
  }

  private takeNow(most: number): Batch {
    const raw = this.native.take(most)
    if (raw !== undefined) return batchOf<P>(this.leases, Rows.taken(raw), this.leases.holder())
    if (memory[DUE] === STOPPED_MS) throw STOPPED
    return this.leases.none()
  }

  private async takeLater(most: number): Promise<Batch | number> {
    const raw = await this.native.takeLater(most)
    if (raw === STOPPED_MS) throw STOPPED
    return typeof raw === 'number' ? raw : batchOf<P>(this.leases, Rows.listed(raw), raw[3])
  }

  /**
   * The leases one by one, until the producer is drained or closed. Leaving the loop closes the producer; so does an error in it.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<Lease<P>> {
    const stop = new AbortController()
    let ahead: Batch<P> | undefined
    let at = 0
    let isDone = false
    let turn: Promise<unknown> | undefined
    const giveBack = async (): Promise<void> => {
      const rest = ahead?.slice(at) ?? []
      ahead = undefined
      if (rest.length > 0) await this.leases.releaseMany(rest).catch(() => undefined)
    }
    const over = (): void => {
      isDone = true
      this.iterations.delete(giveBack)
    }
    this.iterations.add(giveBack)
    const step = async (): Promise<IteratorResult<Lease<P>, undefined>> => {
      while (!isDone) {
        if (ahead !== undefined && at < ahead.length) return { done: false, value: ahead[at++]! }
        try {
          ahead = await this.next({ most: AHEAD, signal: stop.signal })
          at = 0
          if (ahead === undefined) over()
          // It was stopped while they came.
          else if (this.isHalted) await giveBack()
        } catch (error) {
          if (isDone) break
          over()
          throw error
        }
      }
      return { done: true, value: undefined }
    }
    return {
      // One after the other, however many are asked for at once.
      next: () => {
        const mine = turn === undefined ? step() : turn.then(step, step)
        const end = (): void => {
          if (turn === mine) turn = undefined
        }
        turn = mine
        mine.then(end, end)
        return mine
      },
      return: async () => {
        over()
        stop.abort()
        await this.close()
        return { done: true, value: undefined }
      },
      [Symbol.asyncIterator]() {
        return this
      },
    }
  }

  /**
   * The leases as a stream of objects, for `stream.pipeline`: as many are taken as there is room for. It ends when the producer is drained. Ending
   * it otherwise (a pipeline that fails, `destroy`) closes the producer, which gives back whatever is not settled.
   *
   * Settle a lease where its work is done, at the end of the pipeline: only then does its slot come free.
   */
  readable(options?: ReadableOptions): Readable {
    const { highWaterMark, signal } = readableOptions(options)
    const stop = new AbortController()
    let isOver = false
    const stream = new Readable({
      objectMode: true,
      highWaterMark,
      ...(signal && { signal }),
      read: () => {
        const most = Math.max(1, highWaterMark - stream.readableLength)
        this.next({ most, signal: stop.signal }).then(
          (leases) => {
            isOver = leases === undefined
            for (const lease of leases ?? [null]) stream.push(lease)
          },
          (error: Error) => stream.destroy(error),
        )
      },
      destroy: (error, done) => {
        stop.abort()
        // Whoever read to the end still has leases to settle.
        if (isOver && error === null) done(null)
        else this.close().then(() => done(error), done)
      },
    })
    return stream
  }

  /**
   * Acks a lease and frees its slot, whatever came of the ack.
   *
   * @throws {RheoError} as {@link Group.ack}. After an error the lease is not renewed any more.
   */
  ack(lease: LeaseOrToken): Promise<void> {
    return this.leases.ack(lease)
  }

  /** {@link ack}, at once. */
  ackSync(lease: LeaseOrToken): void {
    this.leases.ackSync(lease)
  }

  /** Gives a delivery back for another attempt and frees its slot; the producer's `retryDelay` holds where `delayMs` is missing. */
  retry(lease: LeaseOrToken, options?: RetryOptions): Promise<void> {
    return this.leases.retry(lease, options)
  }

  /** {@link retry}, at once. */
  retrySync(lease: LeaseOrToken, options?: RetryOptions): void {
    this.leases.retrySync(lease, options)
  }

  /** Makes a delivery a dead letter and frees its slot. */
  reject(lease: LeaseOrToken, options?: RejectOptions): Promise<void> {
    return this.leases.reject(lease, options)
  }

  /** {@link reject}, at once. */
  rejectSync(lease: LeaseOrToken, options?: RejectOptions): void {
    this.leases.rejectSync(lease, options)
  }

  /** Makes a delivery available to others at once and frees its slot; the attempt does not count. */
  release(lease: LeaseOrToken): Promise<void> {
    return this.leases.release(lease)
  }

  /** {@link release}, at once. */
  releaseSync(lease: LeaseOrToken): void {
    this.leases.releaseSync(lease)
  }

  /** The work on a delivery failed: does what the producer's `onFailure` says, and frees the slot. */
  fail(lease: LeaseOrToken, options?: RejectOptions): Promise<void> {
    return this.leases.fail(lease, options)
  }

  /** {@link fail}, at once. */
  failSync(lease: LeaseOrToken, options?: RejectOptions): void {
    this.leases.failSync(lease, options)
  }

  /** Acks many and frees their slots. Gives what became of each, in order: nothing, or its error. */
  ackMany(leases: Iterable<LeaseOrToken>): Promise<Settled[]> {
    return this.leases.ackMany(leases)
  }

  /** {@link ackMany}, at once. */
  ackManySync(leases: Iterable<LeaseOrToken>): Settled[] {
    return this.leases.ackManySync(leases)
  }

  /** Frees the slots of leases that were settled elsewhere: leases, their ids or their tokens. Gives how many it held. */
  confirm(leases: Iterable<LeaseOrToken>): number {
    const ids = listOf(leases).map((lease, at) => (lease instanceof Lease ? lease.leaseId : check.text(`leases[${at}]`, lease)))
    return this.native.confirm(ids)
  }

  protected giveBack(): void {
    for (const giveBack of this.iterations) void giveBack()
  }

  protected abandon(): void {}

  protected rung(): void {}

  /** @internal */
  keepAlive(): void {}
}

function nextOptions(options: NextOptions | undefined): Fetching {
  const fetching = { limit: 1, leaseMs: undefined, consumerId: undefined, partitions: undefined, waitMs: LONGEST_MS, signal: undefined }
  if (!given(options)) return fetching
  if (typeof options !== 'object') throw wrongType('options', 'an object', options)
  const names = ['most', 'timeoutMs', 'signal']
  for (const name in options) if (!names.includes(name)) throw unknownOption(name, names)
  const { most, timeoutMs, signal } = options
  if (given(signal) && !(signal instanceof AbortSignal)) throw wrongType('signal', 'an AbortSignal', signal)
  return {
    ...fetching,
    limit: given(most) ? check.whole('most', most) : 1,
    waitMs: given(timeoutMs) ? duration('timeoutMs', timeoutMs) : LONGEST_MS,
    signal: signal ?? undefined,
  }
}

function readableOptions(options: ReadableOptions | undefined): { highWaterMark: number; signal: AbortSignal | undefined } {
  if (given(options) && typeof options !== 'object') throw wrongType('options', 'an object', options)
  const names = ['highWaterMark', 'signal']
  for (const name in options) if (!names.includes(name)) throw unknownOption(name, names)
  const { highWaterMark, signal } = options ?? {}
  if (given(signal) && !(signal instanceof AbortSignal)) throw wrongType('signal', 'an AbortSignal', signal)
  const most = given(highWaterMark) ? check.whole('highWaterMark', highWaterMark) : 16
  if (most < 1 || most > 10_000) throw invalid(`highWaterMark is ${most}; it takes 1 to 10,000 leases`)
  return { highWaterMark: most, signal: signal ?? undefined }
}
