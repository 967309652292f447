import * as turns from './turns.js'
import { batchOf, type Batch } from './batch.js'
import * as check from './check.js'
import type { Core } from './core.js'
import { aborted, invalid, shown, wrongType } from './errors.js'
import { Lease, type Renewed, type Settled } from './lease.js'
import type { NativeGroup, NativeProducer, Rows as RawRows } from './addon'
import { DUE, HEAD, memory } from './native.js'
import { dateOf, Rows, TOKEN_WORDS, WORDS } from './rows.js'
import { deadLettersOf, infoOf, lagOf, type DeadLetter, type GroupInfo, type Lag } from './values.js'
import {
  encodeOptions, fetchOptions, given, runtimeOptions, SCHEMAS, settleOptions,
  type BatchConsumerOptions, type ConsumerOptions, type DeadLetterOptions, type DiscardOptions, type Fetching, type FetchNowOptions, type FetchOptions, type GroupUpdate,
  type PartitionsOptions, type ProducerOptions, type RejectOptions, type RenewOptions, type ReplayOptions, type ResetOptions, type RetryOptions,
} from './options.js'
import { Consumer, type BatchHandler, type Handler } from './consumer.js'
import { Producer } from './producer.js'
import { POLL_MS, WaitQueue } from './waits.js'

/** A lease, or the text of its token. */
export type LeaseOrToken = Lease | string

const ACK = 0
const RETRY = 1
const REJECT = 2
const RELEASE = 3
const RENEW = 4
const FAIL = 5

type Settling = readonly [kind: number, reason: string | undefined, millis: number | undefined]

const ACKING: Settling = [ACK, undefined, undefined]
const RELEASING: Settling = [RELEASE, undefined, undefined]

/**
 * A group, its names resolved once: the operations of the instance without the names. When the group is deleted and created
 * anew, the handle goes on with the new one. Whether it exists shows at the first use.
 *
 * What settles here refuses the leases of another group as stale.
 */
export class Group<P = any> {
  /** The stream's name. */
  readonly stream: string
  /** The group's name. */
  readonly name: string
  /** @internal */
  readonly core: Core
  /** @internal */
  readonly native: NativeGroup
  private readonly queues = new Map<string, WaitQueue>()
  private consumerId: string | undefined

  /** @internal */
  constructor(core: Core, stream: string, name: string, native?: NativeGroup) {
    this.core = core
    this.stream = stream
    this.name = name
    this.native = native ?? core.native.group(check.text('stream', stream), check.text('group', name))
  }

  /**
   * Starts a consumer: runs a handler for the events of the group, `concurrency` at a time, on this event loop. A handler gets the event and
   * `{ signal, lease }` (with `batchSize` a list of events and `{ signal, leases }`) and gives an outcome, nothing for {@link ACK}, or a
   * promise of that. One that throws, is rejected or gives something else has failed: `onFailure` says what becomes of it then.
   *
   * Two consumers on one group compete for its events: do that only on purpose.
   *
   * @throws {RheoError} `ERR_RHEO_STREAM_NOT_FOUND`, `ERR_RHEO_GROUP_NOT_FOUND`, `ERR_RHEO_INVALID_PARTITION`, `ERR_RHEO_INVALID_ARGUMENT`, `ERR_RHEO_CLOSED`: at
   * once, on this thread.
   */
  consumer(handler: BatchHandler<P>, options: BatchConsumerOptions<P>): Consumer<P>
  consumer(handler: Handler<P>, options?: ConsumerOptions<P>): Consumer<P>
  consumer(handler: Handler<P> | BatchHandler<P>, options?: ConsumerOptions<P> | BatchConsumerOptions<P>): Consumer<P> {
    if (typeof handler !== 'function') throw wrongType('handler', 'a function', handler)
    const started = runtimeOptions('consumer', options)
    const native = this.core.native.consumer(this.stream, this.name, started.native)
    return new Consumer<P>(this.producerOf(native), native, handler, started)
  }

  /**
   * Starts a producer: an async iterable of leases that are renewed until they are settled, at most `maxDemand` at once.
   *
   * @throws {RheoError} as {@link consumer}.
   */
  producer(options?: ProducerOptions): Producer<P> {
    const { native: given, signal } = runtimeOptions('producer', options)
    const native = this.core.native.producer(this.stream, this.name, given)
    return new Producer<P>(this.producerOf(native), native, signal)
  }

  /** The same group, as what settles a producer's leases and frees their slots. */
  private producerOf(native: NativeProducer): Group<P> {
    return new Group<P>(this.core, this.stream, this.name, native.leases())
  }

  /**
   * Claims what is claimable: lowest sequence first in a partition, fair across partitions. Nothing claimable is an empty batch,
   * no error; with `waitMs` it waits that long for work, without a thread.
   *
   * @throws {RheoError} `ERR_RHEO_STREAM_NOT_FOUND`, `ERR_RHEO_GROUP_NOT_FOUND`, `ERR_RHEO_INVALID_PARTITION`, `ERR_RHEO_INVALID_ARGUMENT`;
   * `ERR_RHEO_CLOSED` also while it waits.
   */
  async fetch(options?: FetchOptions): Promise<Batch<P>> {
    const fetching = fetchOptions(options)
    const { signal } = fetching
    if (signal?.aborted) throw aborted(signal)
    let batch: Batch<P>
    if (this.core.deliveriesBlock) {
      const given = await this.fetchLater(fetching)
      batch = typeof given === 'number' ? this.none() : given
      if (signal?.aborted) {
        if (batch.length > 0) await batch.release().catch(() => undefined)
        throw aborted(signal)
      }
    } else {
      if (turns.isLong()) {
        await turns.next()
        if (signal?.aborted) throw aborted(signal)
      }
      batch = this.fetchNow(fetching)
    }
    const isWaiting = fetching.waitMs > 0 && fetching.limit !== 0 && fetching.partitions !== '[]'
    return batch.length === 0 && isWaiting ? this.wait(fetching) : batch
  }

  /** {@link fetch}, at once; with `waitMs` it blocks this thread. */
  fetchSync(options?: FetchNowOptions): Batch<P> {
    const fetching = fetchOptions(options)
    if (fetching.signal) throw invalid('signal is given; a wait that blocks the thread cannot be aborted from it')
    if (fetching.waitMs === 0) return this.fetchNow(fetching)
    const { limit, leaseMs, consumerId, partitions, waitMs } = fetching
    const raw = this.native.fetchWaiting(limit, leaseMs, consumerId, partitions, waitMs, nothing)
    return this.taken(raw, consumerId)
  }

  /** @internal */
  fetchNow(fetching: Fetching): Batch<P> {
    const { limit, leaseMs, consumerId, partitions } = fetching
    return this.taken(this.native.fetch(limit, leaseMs, consumerId, partitions), consumerId)
  }

  /** @internal */
  async fetchLater(fetching: Fetching): Promise<Batch<P> | number> {
    const { limit, leaseMs, consumerId, partitions } = fetching
    const raw = await this.native.fetchLater(limit, leaseMs, consumerId, partitions)
    return typeof raw === 'number' ? raw : batchOf<P>(this, Rows.listed(raw), consumerId ?? raw[3])
  }

  /** An empty batch. @internal */
  none(): Batch<P> {
    return batchOf<P>(this, undefined)
  }

  /** In how many milliseconds to look again after a fetch that gave nothing; −1 for never. @internal */
  dueMs(): number {
    return memory[DUE]!
  }

  private taken(raw: RawRows | undefined, consumerId: string | undefined): Batch<P> {
    if (raw === undefined) return this.none()
    return batchOf<P>(this, Rows.taken(raw), consumerId ?? this.holder())
  }

  /** Who leases are of that were fetched without a `consumerId`: asked for once, while the native half still knows it. @internal */
  holder(): string {
    return (this.consumerId ??= this.native.consumerId())
  }

  /** @internal */
  watch(partitions: string | undefined): [number: number | undefined, pollMs: number | undefined] {
    try {
      return [this.native.watch(partitions), undefined]
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ERR_RHEO_UNSUPPORTED') throw error
      return [undefined, POLL_MS]
    }
  }

  private wait(fetching: Fetching): Promise<Batch<P>> {
    const key = fetching.partitions ?? ''
    let queue = this.queues.get(key)
    if (queue === undefined) {
      queue = new WaitQueue(this, fetching.partitions, () => this.queues.delete(key))
      this.queues.set(key, queue)
    }
    return queue.add(fetching)
  }

  /**
   * Ends a claim: the work is done.
   *
   * @throws {RheoError} `ERR_RHEO_STALE_LEASE`, `ERR_RHEO_RECEIPT_MISMATCH`, `ERR_RHEO_STREAM_NOT_FOUND`, `ERR_RHEO_GROUP_NOT_FOUND`; its `settleClass`
   * says what to conclude.
   */
  async ack(lease: LeaseOrToken): Promise<void> {
    if (this.core.deliveriesBlock) await this.settleLater(lease, ACKING)
    else this.settle(lease, ACKING)
  }

  /** {@link ack}, at once. */
  ackSync(lease: LeaseOrToken): void {
    this.settle(lease, ACKING)
  }

  /** Gives a delivery back for another attempt after a delay; it becomes a dead letter at the group's `maxAttempts`. */
  async retry(lease: LeaseOrToken, options?: RetryOptions): Promise<void> {
    const settling = [RETRY, ...settleOptions('retry', options)] as const
    if (this.core.deliveriesBlock) await this.settleLater(lease, settling)
    else this.settle(lease, settling)
  }

  /** {@link retry}, at once. */
  retrySync(lease: LeaseOrToken, options?: RetryOptions): void {
    this.settle(lease, [RETRY, ...settleOptions('retry', options)])
  }

  /** Makes a delivery a dead letter. */
  async reject(lease: LeaseOrToken, options?: RejectOptions): Promise<void> {
    const settling = [REJECT, ...settleOptions('reject', options)] as const
    if (this.core.deliveriesBlock) await this.settleLater(lease, settling)
    else this.settle(lease, settling)
  }

  /** {@link reject}, at once. */
  rejectSync(lease: LeaseOrToken, options?: RejectOptions): void {
    this.settle(lease, [REJECT, ...settleOptions('reject', options)])
  }

  /** What a producer says of failures. @internal */
  async fail(lease: LeaseOrToken, options?: RejectOptions): Promise<void> {
    const settling = [FAIL, ...settleOptions('reject', options)] as const
    if (this.core.deliveriesBlock) await this.settleLater(lease, settling)
    else this.settle(lease, settling)
  }

  /** {@link fail}, at once. @internal */
  failSync(lease: LeaseOrToken, options?: RejectOptions): void {
    this.settle(lease, [FAIL, ...settleOptions('reject', options)])
  }

  /** Gives a delivery back unworked: available at once, and the attempt does not count. */
  async release(lease: LeaseOrToken): Promise<void> {
    if (this.core.deliveriesBlock) await this.settleLater(lease, RELEASING)
    else this.settle(lease, RELEASING)
  }

  /** {@link release}, at once. */
  releaseSync(lease: LeaseOrToken): void {
    this.settle(lease, RELEASING)
  }

  /** Extends a claim, counted from now. Of a lease it gives that lease, of a token when it expires now. */
  async renew<L extends LeaseOrToken>(lease: L, options?: RenewOptions): Promise<L extends string ? Renewed : L> {
    const settling = [RENEW, ...settleOptions('renew', options)] as const
    const until = this.core.deliveriesBlock ? await this.settleLater(lease, settling) : this.settle(lease, settling)
    return renewed(lease, until as bigint)
  }

  /** {@link renew}, at once. */
  renewSync<L extends LeaseOrToken>(lease: L, options?: RenewOptions): L extends string ? Renewed : L {
    return renewed(lease, this.settle(lease, [RENEW, ...settleOptions('renew', options)]) as bigint)
  }

  /**
   * Acks many. Gives what became of each, in order: nothing, or its error; one that fails changes nothing for the others.
   *
   * @throws {RheoError} `ERR_RHEO_INVALID_ARGUMENT` above 10,000 leases, and what keeps all of it from being done.
   */
  async ackMany(leases: Iterable<LeaseOrToken>): Promise<Settled[]> {
    return this.settleMany(leases, ACKING)
  }

  /** {@link ackMany}, at once. */
  ackManySync(leases: Iterable<LeaseOrToken>): Settled[] {
    return this.settleManySync(leases, ACKING)
  }

  /** Retries many, with one reason and one delay. */
  async retryMany(leases: Iterable<LeaseOrToken>, options?: RetryOptions): Promise<Settled[]> {
    return this.settleMany(leases, [RETRY, ...settleOptions('retry', options)])
  }

  /** {@link retryMany}, at once. */
  retryManySync(leases: Iterable<LeaseOrToken>, options?: RetryOptions): Settled[] {
    return this.settleManySync(leases, [RETRY, ...settleOptions('retry', options)])
  }

  /** Rejects many, with one reason. */
  async rejectMany(leases: Iterable<LeaseOrToken>, options?: RejectOptions): Promise<Settled[]> {
    return this.settleMany(leases, [REJECT, ...settleOptions('reject', options)])
  }

  /** {@link rejectMany}, at once. */
  rejectManySync(leases: Iterable<LeaseOrToken>, options?: RejectOptions): Settled[] {
    return this.settleManySync(leases, [REJECT, ...settleOptions('reject', options)])
  }

  /** Releases many. */
  async releaseMany(leases: Iterable<LeaseOrToken>): Promise<Settled[]> {
    return this.settleMany(leases, RELEASING)
  }

  /** {@link releaseMany}, at once. */
  releaseManySync(leases: Iterable<LeaseOrToken>): Settled[] {
    return this.settleManySync(leases, RELEASING)
  }

  /** Renews many. What became of each: the lease itself (of a token, when it expires now), or its error. */
  async renewMany(leases: Iterable<LeaseOrToken>, options?: RenewOptions): Promise<(Renewed | Error)[]> {
    const many = listOf(leases)
    return allRenewed(many, await this.settleManyRaw(many, [RENEW, ...settleOptions('renew', options)], true))
  }

  /** {@link renewMany}, at once. */
  renewManySync(leases: Iterable<LeaseOrToken>, options?: RenewOptions): (Renewed | Error)[] {
    const many = listOf(leases)
    return allRenewed(many, this.settleManyRaw(many, [RENEW, ...settleOptions('renew', options)], false) as unknown[])
  }

  /** Frontier, high watermark and lag, exact at this moment. Walks no events. */
  async lag(options?: PartitionsOptions): Promise<Lag> {
    return lagOf(await this.call('read', 'lag', encodeOptions(SCHEMAS.partitions, options)))
  }

  /** {@link lag}, at once. */
  lagSync(options?: PartitionsOptions): Lag {
    return lagOf(this.callSync('lag', encodeOptions(SCHEMAS.partitions, options)))
  }

  /** What there is to know of the group. Walks no events. */
  async info(options?: PartitionsOptions): Promise<GroupInfo> {
    return infoOf(await this.call('read', 'groupInfo', encodeOptions(SCHEMAS.partitions, options)))
  }

  /** {@link info}, at once. */
  infoSync(options?: PartitionsOptions): GroupInfo {
    return infoOf(this.callSync('groupInfo', encodeOptions(SCHEMAS.partitions, options)))
  }

  /**
   * The dead letters, ordered by partition and sequence.
   *
   * @throws {RheoError} `ERR_RHEO_CURSOR_NOT_FOUND` when no dead letter has the event id `after`.
   */
  async deadLetters(options?: DeadLetterOptions): Promise<DeadLetter<P>[]> {
    return deadLettersOf(this.stream, await this.call('read', 'deadLetters', encodeOptions(SCHEMAS.deadLetters, options)))
  }

  /** {@link deadLetters}, at once. */
  deadLettersSync(options?: DeadLetterOptions): DeadLetter<P>[] {
    return deadLettersOf(this.stream, this.callSync('deadLetters', encodeOptions(SCHEMAS.deadLetters, options)))
  }

  /** Forgets dead letters for good, and gives how many. */
  async discardDeadLetters(which: DiscardOptions): Promise<number> {
    return (await this.call('admin', 'discardDeadLetters', undefined, discarded(which))) as number
  }

  /** {@link discardDeadLetters}, at once. */
  discardDeadLettersSync(which: DiscardOptions): number {
    return this.callSync('discardDeadLetters', undefined, discarded(which)) as number
  }

  /**
   * Makes deliveries available again, their attempts counting from the start, and gives how many.
   *
   * @throws {RheoError} `ERR_RHEO_INVALID_REPLAY_OPTS` unless exactly one way is given.
   */
  async replay(options: ReplayOptions): Promise<number> {
    const kind = given(options?.query) ? 'scan' : 'admin'
    return (await this.call(kind, 'replay', encodeOptions(SCHEMAS.replay, options))) as number
  }

  /** {@link replay}, at once. */
  replaySync(options: ReplayOptions): number {
    return this.callSync('replay', encodeOptions(SCHEMAS.replay, options)) as number
  }

  /**
   * Clears the group's deliveries and dead letters and moves it to a new start.
   *
   * @throws {RheoError} `ERR_RHEO_CONFIRM_REQUIRED` without `confirm: true`.
   */
  async reset(options: ResetOptions): Promise<void> {
    await this.call('admin', 'resetGroup', encodeOptions(SCHEMAS.reset, options))
  }

  /** {@link reset}, at once. */
  resetSync(options: ResetOptions): void {
    this.callSync('resetGroup', encodeOptions(SCHEMAS.reset, options))
  }

  /** Changes the group's limits. */
  async update(update: GroupUpdate): Promise<void> {
    await this.call('admin', 'updateGroup', encodeOptions(SCHEMAS.updateGroup, update, 'update'))
  }

  /** {@link update}, at once. */
  updateSync(update: GroupUpdate): void {
    this.callSync('updateGroup', encodeOptions(SCHEMAS.updateGroup, update, 'update'))
  }

  /** Deletes the group. Who holds leases of it, or waits, then gets `ERR_RHEO_GROUP_NOT_FOUND`. */
  async delete(): Promise<void> {
    await this.call('admin', 'deleteGroup')
  }

  /** {@link delete}, at once. */
  deleteSync(): void {
    this.callSync('deleteGroup')
  }

  /** @internal */
  tokenOf(lease: Lease): string {
    if (lease.rows.hasReceipt(lease.index)) return tokenText(lease)
    lease.rows.copyToken(lease.index, memory, HEAD)
    return this.native.token()
  }

  private callSync(operation: string, options?: string, text?: string): unknown {
    return this.core.call(operation, this.stream, this.name, options, text)
  }

  private call(kind: 'admin' | 'read' | 'scan', operation: string, options?: string, text?: string): Promise<unknown> {
    return this.core.callLater(kind, operation, this.stream, this.name, options, text)
  }

  /** Whether its words say all that a settle here needs. */
  private isPlain(lease: LeaseOrToken): lease is Lease {
    if (typeof lease === 'string') return false
    if (!(lease instanceof Lease)) throw wrongType('lease', 'a lease, or the text of its token', lease)
    const { owner } = lease
    const isOwn = owner === this || (owner.stream === this.stream && owner.name === this.name)
    return isOwn && !lease.rows.hasReceipt(lease.index)
  }

  private settle(lease: LeaseOrToken, [kind, reason, millis]: Settling): unknown {
    if (!this.isPlain(lease)) return first(this.native.settleTexts(kind, reason, millis, [tokenOf(lease)]))
    lease.rows.copyToken(lease.index, memory, HEAD)
    return this.native.settle(kind, reason, millis)
  }

  private async settleLater(lease: LeaseOrToken, [kind, reason, millis]: Settling): Promise<unknown> {
    if (!this.isPlain(lease)) return first(await this.native.settleTextsLater(kind, reason, millis, [tokenOf(lease)]))
    lease.rows.copyToken(lease.index, memory, HEAD)
    return this.native.settleLater(kind, reason, millis)
  }

  private settleManySync(leases: Iterable<LeaseOrToken>, settling: Settling): Settled[] {
    const many = listOf(leases)
    return settled(many.length, this.settleManyRaw(many, settling, false) as unknown[] | undefined)
  }

  private async settleMany(leases: Iterable<LeaseOrToken>, settling: Settling): Promise<Settled[]> {
    const many = listOf(leases)
    return settled(many.length, await this.settleManyRaw(many, settling, true))
  }

  /** What the native half gives: a list, or nothing when all went well. */
  private settleManyRaw(
    leases: readonly LeaseOrToken[], [kind, reason, millis]: Settling, mayHop: boolean,
  ): unknown[] | undefined | Promise<unknown[] | undefined> {
    const later = mayHop && this.core.deliveriesBlock
    const words = this.wordsOf(leases)
    if (words === undefined) {
      const tokens = leases.map(tokenOf)
      const { native } = this
      return later ? native.settleTextsLater(kind, reason, millis, tokens) : native.settleTexts(kind, reason, millis, tokens)
    }
    const length = words.length === leases.length * WORDS && leases.length > 0 ? WORDS : TOKEN_WORDS
    const settle = later ? this.native.settleManyLater : this.native.settleMany
    return settle(kind, reason, millis, words, leases.length, length)
  }

  /** The words of leases; nothing when some of them have to be told by their tokens. */
  private wordsOf(leases: readonly LeaseOrToken[]): Int32Array | undefined {
    const one = leases[0]
    const rows = one instanceof Lease ? one.rows : undefined
    let isWhole = rows !== undefined && rows.length === leases.length && rows.words instanceof Int32Array
    for (let at = 0; at < leases.length; at++) {
      const lease = leases[at]!
      if (!this.isPlain(lease)) return undefined
      isWhole &&= lease.rows === rows && lease.index === at
    }
    if (isWhole) return rows!.words as Int32Array
    const words = new Int32Array(leases.length * TOKEN_WORDS)
    leases.forEach((lease, at) => (lease as Lease).rows.copyToken((lease as Lease).index, words, at * TOKEN_WORDS))
    return words
  }
}

function nothing(): void {}

/** What is given as leases, as a list. @internal */
export function listOf(leases: Iterable<LeaseOrToken>): readonly LeaseOrToken[] {
  if (typeof leases === 'string') throw wrongType('leases', 'a list of leases or tokens', leases)
  return check.list('leases', 'a list of leases or tokens', leases) as LeaseOrToken[]
}

/** The token of what a settle is given. @internal */
export function tokenOf(lease: LeaseOrToken): string {
  if (typeof lease === 'string') return lease
  if (!(lease instanceof Lease)) throw wrongType('lease', 'a lease, or the text of its token', lease)
  return lease.token
}

/** The only result, thrown if it is an error. @internal */
export function first(results: unknown[] | undefined): unknown {
  const result = results?.[0]
  if (result instanceof Error) throw result
  return result
}

/** What became of each. @internal */
export function settled(count: number, results: unknown[] | undefined): Settled[] {
  return (results ?? new Array<undefined>(count).fill(undefined)) as Settled[]
}

/** @internal */
export function renewed<L extends LeaseOrToken>(lease: L, until: bigint): L extends string ? Renewed : L {
  type Answer = L extends string ? Renewed : L
  if (typeof lease === 'string') return { expiresAt: dateOf(until), expiresAtMicros: until } as Answer
  lease.renewedUntil = until
  return lease as Answer
}

/** @internal */
export function allRenewed(leases: readonly LeaseOrToken[], results: unknown[] | undefined): (Renewed | Error)[] {
  const each = (lease: LeaseOrToken, at: number): Renewed | Error => {
    const result = results?.[at]
    return result instanceof Error ? result : renewed(lease, result as bigint)
  }
  return leases.map(each)
}

function discarded(which: DiscardOptions): string | undefined {
  if (typeof which !== 'object' || which === null) throw wrongType('which', '{ eventIds } or { all: true }', which)
  for (const name in which) if (name !== 'eventIds' && name !== 'all') throw invalid(`there is no option ${shown(name)} here; there are: eventIds, all`)
  if (given(which.all) && given(which.eventIds)) throw invalid('all and eventIds are both given; give one of them')
  if (given(which.eventIds)) return check.texts('eventIds', which.eventIds)
  if (which.all === true) return undefined
  throw invalid('neither eventIds nor all: true is given; say which dead letters to forget')
}

/** The text of a token, made here: the native half knows nothing of the receipts of rows. */
function tokenText(lease: Lease): string {
  const names = [lease.stream, lease.group].map((name) => Buffer.from(name, 'utf8'))
  const head = Buffer.alloc(36)
  head.writeUInt32LE(lease.rows.partition(lease.index), 0)
  head.writeBigUInt64LE(BigInt(lease.rows.sequence(lease.index)), 4)
  head.writeBigUInt64LE(BigInt(lease.leaseMs), 12)
  head.write(lease.leaseId, 20, 'hex')
  const parts = names.flatMap((name) => [Buffer.of(name.length), name])
  const content = Buffer.concat([head, ...parts, Buffer.from(lease.receipt, 'utf8')])
  let sum = 0x811c9dc5
  for (const byte of content) sum = Math.imul(sum ^ byte, 0x01000193)
  const check = Buffer.alloc(4)
  check.writeInt32LE(sum)
  return `rheo1.${Buffer.concat([content, check]).toString('base64url')}`
}
