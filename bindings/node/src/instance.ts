import { Core } from './core.js'
import * as check from './check.js'
import type { Batch } from './batch.js'
import type { BatchHandler, Consumer, Handler } from './consumer.js'
import type { Event } from './event.js'
import { allRenewed, first, Group, listOf, renewed, settled, tokenOf, type LeaseOrToken } from './group.js'
import { Lease, type Renewed, type Settled } from './lease.js'
import type { NativeInstance } from './addon'
import { library } from './native.js'
import type { Producer } from './producer.js'
import { Stream, type Append } from './stream.js'
import { dateOf } from './rows.js'
import type { Capabilities, DeadLetter, GroupInfo, Lag, Page, StreamInfo } from './values.js'
import {
  encodeOptions, SCHEMAS, settleOptions,
  type AppendOptions, type BatchConsumerOptions, type ConfirmOptions, type ConsumerOptions, type DeadLetterOptions, type DiscardOptions, type FetchNowOptions, type FetchOptions,
  type GroupOptions, type GroupUpdate, type PageOptions, type PartitionsOptions, type ProducerOptions, type QueryOptions, type ReadOptions,
  type RejectOptions, type RenewOptions, type ReplayOptions, type ResetOptions, type RetryOptions, type SharedOptions,
  type StreamOptions, type TrimOptions,
} from './options.js'

/** How many bound handles an instance keeps for those who call by names. */
const MOST_BOUND = 1024

/**
 * One opened backend. Every operation has two forms, as in `node:fs`: `append()` gives a promise, `appendSync()` does it at once. Where
 * the backend waits for nothing (memory; a journal but for the syncs of `sync: 'always'`), the promise form does its work at once too;
 * what waits does so on a few threads of the library, never on libuv's.
 *
 * An instance that is forgotten is closed when it is collected; {@link close} says whether that went well.
 */
export class Instance {
  private readonly core: Core
  private readonly native: NativeInstance
  private readonly streams = new Map<string, Stream>()
  private readonly groups = new Map<string, Map<string, Group>>()
  private groupCount = 0

  /** @internal */
  constructor(native: NativeInstance) {
    this.native = native
    this.core = new Core(native)
  }

  /** The name that it was opened with. */
  get name(): string | undefined {
    return this.native.instanceName()
  }

  /** Whether it was closed. */
  get closed(): boolean {
    return this.native.isClosed()
  }

  /**
   * Flushes and closes. Idempotent; every later call gives `ERR_RHEO_CLOSED`, and so do those that wait.
   *
   * @throws {RheoError} `ERR_RHEO_FAILED` or `ERR_RHEO_AMBIGUOUS` when flushing did; the instance is closed all the same.
   */
  async close(): Promise<void> {
    for (const each of this.core.waits) each.instanceCloses?.()
    try {
      await this.core.callLater('store', 'close')
    } finally {
      // What it told of its work comes before its end.
      library.drain()
    }
  }

  /** {@link close}, at once. */
  closeSync(): void {
    for (const each of this.core.waits) each.instanceCloses?.()
    try {
      this.core.call('close')
    } finally {
      library.drain()
    }
  }

  /** Closes the instance when a `using` block ends. */
  [Symbol.dispose](): void {
    this.closeSync()
  }

  /** Closes the instance when an `await using` block ends. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Lets waits and consumers keep the process alive, as they do unless `unref` is called. */
  ref(): this {
    return this.keepAlive(true)
  }

  /** Lets no wait and no consumer keep the process alive. (What is under way on a thread of the library does until it is done.) */
  unref(): this {
    return this.keepAlive(false)
  }

  private keepAlive(does: boolean): this {
    this.core.keepsAlive = does
    for (const wait of this.core.waits) wait.keepAlive(does)
    return this
  }

  /** Whether the store answers. */
  async ping(): Promise<void> {
    await this.core.callLater('store', 'ping')
  }

  /** {@link ping}, at once. */
  pingSync(): void {
    this.core.call('ping')
  }

  /** Creates what the store needs, such as a schema. Idempotent. */
  async ensureIndexes(): Promise<void> {
    await this.core.callLater('store', 'ensureIndexes')
  }

  /** {@link ensureIndexes}, at once. */
  ensureIndexesSync(): void {
    this.core.call('ensureIndexes')
  }

  /** What the backend guarantees and how. Static, and answered after `close` too. */
  capabilities(): Capabilities {
    return JSON.parse(this.native.capabilities()) as Capabilities
  }

  /**
   * Moves the manual clock by so many milliseconds, wakes whoever waits, and gives the new time.
   *
   * @throws {RheoError} `ERR_RHEO_UNSUPPORTED` unless the instance was opened with `clock: 'manual'`.
   */
  async advanceClock(ms: number): Promise<Date> {
    return this.advanceClockSync(ms)
  }

  /** {@link advanceClock}, at once. */
  advanceClockSync(ms: number): Date {
    return dateOf(this.native.advanceClock(check.whole('ms', ms)))
  }

  /** A stream, its name resolved once: the same operations without the name. */
  stream<P = any>(stream: string): Stream<P> {
    return this.boundStream(stream) as Stream<P>
  }

  /** A group, its names resolved once: the same operations without the names. */
  group<P = any>(stream: string, group: string): Group<P> {
    return this.boundGroup(stream, group) as Group<P>
  }

  private boundStream(name: string): Stream {
    const bound = this.streams.get(name)
    if (bound !== undefined) return bound
    const stream = new Stream(this.core, name)
    if (this.streams.size >= MOST_BOUND) this.streams.clear()
    this.streams.set(name, stream)
    return stream
  }

  private boundGroup(stream: string, name: string): Group {
    const bound = this.groups.get(stream)?.get(name)
    if (bound !== undefined) return bound
    const group = new Group(this.core, stream, name)
    if (this.groupCount >= MOST_BOUND) {
      this.groups.clear()
      this.groupCount = 0
    }
    let groups = this.groups.get(stream)
    if (groups === undefined) this.groups.set(stream, (groups = new Map()))
    groups.set(name, group)
    this.groupCount++
    return group
  }

  /**
   * Creates a stream.
   *
   * @throws {RheoError} `ERR_RHEO_ALREADY_EXISTS`, `ERR_RHEO_INVALID_PARTITION_COUNT`, `ERR_RHEO_INVALID_ARGUMENT` for the name.
   */
  async createStream(stream: string, options?: StreamOptions): Promise<void> {
    const encoded = encodeOptions(SCHEMAS.createStream, options)
    await this.core.callLater('admin', 'createStream', check.text('stream', stream), '', encoded)
  }

  /** {@link createStream}, at once. */
  createStreamSync(stream: string, options?: StreamOptions): void {
    this.core.call('createStream', check.text('stream', stream), '', encodeOptions(SCHEMAS.createStream, options))
  }

  /** The names of the streams, sorted by code point. */
  async listStreams(): Promise<string[]> {
    return JSON.parse((await this.core.callLater('read', 'listStreams')) as string) as string[]
  }

  /** {@link listStreams}, at once. */
  listStreamsSync(): string[] {
    return JSON.parse(this.core.call('listStreams') as string) as string[]
  }

  /**
   * Creates a group.
   *
   * @throws {RheoError} `ERR_RHEO_STREAM_NOT_FOUND`, `ERR_RHEO_ALREADY_EXISTS`, `ERR_RHEO_INVALID_PARTITION`, `ERR_RHEO_INVALID_ARGUMENT`.
   */
  async createGroup(stream: string, group: string, options?: GroupOptions): Promise<void> {
    const encoded = encodeOptions(SCHEMAS.createGroup, options)
    await this.core.callLater('admin', 'createGroup', check.text('stream', stream), check.text('group', group), encoded)
  }

  /** {@link createGroup}, at once. */
  createGroupSync(stream: string, group: string, options?: GroupOptions): void {
    const encoded = encodeOptions(SCHEMAS.createGroup, options)
    this.core.call('createGroup', check.text('stream', stream), check.text('group', group), encoded)
  }

  /** See {@link Stream.delete}. */
  async deleteStream(stream: string, options?: ConfirmOptions): Promise<void> {
    return this.boundStream(stream).delete(options)
  }

  /** {@link deleteStream}, at once. */
  deleteStreamSync(stream: string, options?: ConfirmOptions): void {
    return this.boundStream(stream).deleteSync(options)
  }

  /** See {@link Stream.info}. */
  async streamInfo(stream: string): Promise<StreamInfo> {
    return this.boundStream(stream).info()
  }

  /** {@link streamInfo}, at once. */
  streamInfoSync(stream: string): StreamInfo {
    return this.boundStream(stream).infoSync()
  }

  /** See {@link Stream.listGroups}. */
  async listGroups(stream: string): Promise<string[]> {
    return this.boundStream(stream).listGroups()
  }

  /** {@link listGroups}, at once. */
  listGroupsSync(stream: string): string[] {
    return this.boundStream(stream).listGroupsSync()
  }

  /** See {@link Stream.append}. */
  async append<P = any>(stream: string, payload: P, options?: AppendOptions): Promise<Event<P>> {
    return this.boundStream(stream).append(payload, options)
  }

  /** {@link append}, at once. */
  appendSync<P = any>(stream: string, payload: P, options?: AppendOptions): Event<P> {
    return this.boundStream(stream).appendSync(payload, options)
  }

  /** See {@link Stream.appendBatch}. */
  async appendBatch<P = any>(stream: string, items: Iterable<P | Append<P>>, shared?: SharedOptions): Promise<Event<P>[]> {
    return this.boundStream(stream).appendBatch(items, shared)
  }

  /** {@link appendBatch}, at once. */
  appendBatchSync<P = any>(stream: string, items: Iterable<P | Append<P>>, shared?: SharedOptions): Event<P>[] {
    return this.boundStream(stream).appendBatchSync(items, shared)
  }

  /** See {@link Stream.read}. */
  async read<P = any>(stream: string, options?: ReadOptions): Promise<Event<P>[]> {
    return this.boundStream(stream).read(options)
  }

  /** {@link read}, at once. */
  readSync<P = any>(stream: string, options?: ReadOptions): Event<P>[] {
    return this.boundStream(stream).readSync(options)
  }

  /** See {@link Stream.get}. */
  async get<P = any>(stream: string, eventId: string): Promise<Event<P> | undefined> {
    return this.boundStream(stream).get(eventId)
  }

  /** {@link get}, at once. */
  getSync<P = any>(stream: string, eventId: string): Event<P> | undefined {
    return this.boundStream(stream).getSync(eventId)
  }

  /** See {@link Stream.query}. */
  async query<P = any>(stream: string, options?: QueryOptions): Promise<Event<P>[]> {
    return this.boundStream(stream).query(options)
  }

  /** {@link query}, at once. */
  querySync<P = any>(stream: string, options?: QueryOptions): Event<P>[] {
    return this.boundStream(stream).querySync(options)
  }

  /** See {@link Stream.queryPage}. */
  async queryPage<P = any>(stream: string, options?: PageOptions, cursor?: string): Promise<Page<P>> {
    return this.boundStream(stream).queryPage(options, cursor)
  }

  /** {@link queryPage}, at once. */
  queryPageSync<P = any>(stream: string, options?: PageOptions, cursor?: string): Page<P> {
    return this.boundStream(stream).queryPageSync(options, cursor)
  }

  /** See {@link Stream.queryStream}. */
  queryStream<P = any>(stream: string, options?: PageOptions): AsyncIterableIterator<Event<P>> {
    return this.boundStream(stream).queryStream(options)
  }

  /** {@link queryStream}, each page at once. */
  queryStreamSync<P = any>(stream: string, options?: PageOptions): IterableIterator<Event<P>> {
    return this.boundStream(stream).queryStreamSync(options)
  }

  /** See {@link Stream.trim}. */
  async trim(stream: string, options: TrimOptions): Promise<number> {
    return this.boundStream(stream).trim(options)
  }

  /** {@link trim}, at once. */
  trimSync(stream: string, options: TrimOptions): number {
    return this.boundStream(stream).trimSync(options)
  }

  /** See {@link Group.fetch}. */
  async fetch<P = any>(stream: string, group: string, options?: FetchOptions): Promise<Batch<P>> {
    return this.boundGroup(stream, group).fetch(options)
  }

  /** {@link fetch}, at once. */
  fetchSync<P = any>(stream: string, group: string, options?: FetchNowOptions): Batch<P> {
    return this.boundGroup(stream, group).fetchSync(options)
  }

  /** See {@link Group.consumer}. */
  consumer<P = any>(stream: string, group: string, handler: BatchHandler<P>, options: BatchConsumerOptions<P>): Consumer<P>
  consumer<P = any>(stream: string, group: string, handler: Handler<P>, options?: ConsumerOptions<P>): Consumer<P>
  consumer<P = any>(
    stream: string, group: string, handler: Handler<P> | BatchHandler<P>, options?: ConsumerOptions<P> | BatchConsumerOptions<P>,
  ): Consumer<P> {
    return this.boundGroup(stream, group).consumer(handler as Handler<P>, options as ConsumerOptions<P>)
  }

  /** See {@link Group.producer}. */
  producer<P = any>(stream: string, group: string, options?: ProducerOptions): Producer<P> {
    return this.boundGroup(stream, group).producer(options)
  }

  /** See {@link Group.update}. */
  async updateGroup(stream: string, group: string, update: GroupUpdate): Promise<void> {
    return this.boundGroup(stream, group).update(update)
  }

  /** {@link updateGroup}, at once. */
  updateGroupSync(stream: string, group: string, update: GroupUpdate): void {
    return this.boundGroup(stream, group).updateSync(update)
  }

  /** See {@link Group.delete}. */
  async deleteGroup(stream: string, group: string): Promise<void> {
    return this.boundGroup(stream, group).delete()
  }

  /** {@link deleteGroup}, at once. */
  deleteGroupSync(stream: string, group: string): void {
    return this.boundGroup(stream, group).deleteSync()
  }

  /** See {@link Group.lag}. */
  async lag(stream: string, group: string, options?: PartitionsOptions): Promise<Lag> {
    return this.boundGroup(stream, group).lag(options)
  }

  /** {@link lag}, at once. */
  lagSync(stream: string, group: string, options?: PartitionsOptions): Lag {
    return this.boundGroup(stream, group).lagSync(options)
  }

  /** See {@link Group.info}. */
  async groupInfo(stream: string, group: string, options?: PartitionsOptions): Promise<GroupInfo> {
    return this.boundGroup(stream, group).info(options)
  }

  /** {@link groupInfo}, at once. */
  groupInfoSync(stream: string, group: string, options?: PartitionsOptions): GroupInfo {
    return this.boundGroup(stream, group).infoSync(options)
  }

  /** See {@link Group.deadLetters}. */
  async deadLetters<P = any>(stream: string, group: string, options?: DeadLetterOptions): Promise<DeadLetter<P>[]> {
    return this.boundGroup(stream, group).deadLetters(options)
  }

  /** {@link deadLetters}, at once. */
  deadLettersSync<P = any>(stream: string, group: string, options?: DeadLetterOptions): DeadLetter<P>[] {
    return this.boundGroup(stream, group).deadLettersSync(options)
  }

  /** See {@link Group.discardDeadLetters}. */
  async discardDeadLetters(stream: string, group: string, which: DiscardOptions): Promise<number> {
    return this.boundGroup(stream, group).discardDeadLetters(which)
  }

  /** {@link discardDeadLetters}, at once. */
  discardDeadLettersSync(stream: string, group: string, which: DiscardOptions): number {
    return this.boundGroup(stream, group).discardDeadLettersSync(which)
  }

  /** See {@link Group.replay}. */
  async replay(stream: string, group: string, options: ReplayOptions): Promise<number> {
    return this.boundGroup(stream, group).replay(options)
  }

  /** {@link replay}, at once. */
  replaySync(stream: string, group: string, options: ReplayOptions): number {
    return this.boundGroup(stream, group).replaySync(options)
  }

  /** See {@link Group.reset}. */
  async resetGroup(stream: string, group: string, options: ResetOptions): Promise<void> {
    return this.boundGroup(stream, group).reset(options)
  }

  /** {@link resetGroup}, at once. */
  resetGroupSync(stream: string, group: string, options: ResetOptions): void {
    return this.boundGroup(stream, group).resetSync(options)
  }

  /** See {@link Group.ack}. Takes a lease of any group, or its token. */
  async ack(lease: LeaseOrToken): Promise<void> {
    const group = this.groupOf(lease)
    if (group !== undefined) return group.ack(lease)
    first(await this.byTokenLater(0, [undefined, undefined], [lease]))
  }

  /** {@link ack}, at once. */
  ackSync(lease: LeaseOrToken): void {
    const group = this.groupOf(lease)
    if (group !== undefined) return group.ackSync(lease)
    first(this.byToken(0, [undefined, undefined], [lease]))
  }

  /** See {@link Group.ackMany}. Takes leases of any groups, or their tokens. */
  async ackMany(leases: Iterable<LeaseOrToken>): Promise<Settled[]> {
    const many = listOf(leases)
    const group = this.groupOfAll(many)
    if (group !== undefined) return group.ackMany(many)
    return settled(many.length, await this.byTokenLater(0, [undefined, undefined], many))
  }

  /** {@link ackMany}, at once. */
  ackManySync(leases: Iterable<LeaseOrToken>): Settled[] {
    const many = listOf(leases)
    const group = this.groupOfAll(many)
    if (group !== undefined) return group.ackManySync(many)
    return settled(many.length, this.byToken(0, [undefined, undefined], many))
  }

  /** See {@link Group.retry}. Takes a lease of any group, or its token. */
  async retry(lease: LeaseOrToken, options?: RetryOptions): Promise<void> {
    const group = this.groupOf(lease)
    if (group !== undefined) return group.retry(lease, options)
    first(await this.byTokenLater(1, settleOptions('retry', options), [lease]))
  }

  /** {@link retry}, at once. */
  retrySync(lease: LeaseOrToken, options?: RetryOptions): void {
    const group = this.groupOf(lease)
    if (group !== undefined) return group.retrySync(lease, options)
    first(this.byToken(1, settleOptions('retry', options), [lease]))
  }

  /** See {@link Group.retryMany}. Takes leases of any groups, or their tokens. */
  async retryMany(leases: Iterable<LeaseOrToken>, options?: RetryOptions): Promise<Settled[]> {
    const many = listOf(leases)
    const group = this.groupOfAll(many)
    if (group !== undefined) return group.retryMany(many, options)
    return settled(many.length, await this.byTokenLater(1, settleOptions('retry', options), many))
  }

  /** {@link retryMany}, at once. */
  retryManySync(leases: Iterable<LeaseOrToken>, options?: RetryOptions): Settled[] {
    const many = listOf(leases)
    const group = this.groupOfAll(many)
    if (group !== undefined) return group.retryManySync(many, options)
    return settled(many.length, this.byToken(1, settleOptions('retry', options), many))
  }

  /** See {@link Group.reject}. Takes a lease of any group, or its token. */
  async reject(lease: LeaseOrToken, options?: RejectOptions): Promise<void> {
    const group = this.groupOf(lease)
    if (group !== undefined) return group.reject(lease, options)
    first(await this.byTokenLater(2, settleOptions('reject', options), [lease]))
  }

  /** {@link reject}, at once. */
  rejectSync(lease: LeaseOrToken, options?: RejectOptions): void {
    const group = this.groupOf(lease)
    if (group !== undefined) return group.rejectSync(lease, options)
    first(this.byToken(2, settleOptions('reject', options), [lease]))
  }

  /** See {@link Group.rejectMany}. Takes leases of any groups, or their tokens. */
  async rejectMany(leases: Iterable<LeaseOrToken>, options?: RejectOptions): Promise<Settled[]> {
    const many = listOf(leases)
    const group = this.groupOfAll(many)
    if (group !== undefined) return group.rejectMany(many, options)
    return settled(many.length, await this.byTokenLater(2, settleOptions('reject', options), many))
  }

  /** {@link rejectMany}, at once. */
  rejectManySync(leases: Iterable<LeaseOrToken>, options?: RejectOptions): Settled[] {
    const many = listOf(leases)
    const group = this.groupOfAll(many)
    if (group !== undefined) return group.rejectManySync(many, options)
    return settled(many.length, this.byToken(2, settleOptions('reject', options), many))
  }

  /** See {@link Group.release}. Takes a lease of any group, or its token. */
  async release(lease: LeaseOrToken): Promise<void> {
    const group = this.groupOf(lease)
    if (group !== undefined) return group.release(lease)
    first(await this.byTokenLater(3, [undefined, undefined], [lease]))
  }

  /** {@link release}, at once. */
  releaseSync(lease: LeaseOrToken): void {
    const group = this.groupOf(lease)
    if (group !== undefined) return group.releaseSync(lease)
    first(this.byToken(3, [undefined, undefined], [lease]))
  }

  /** See {@link Group.releaseMany}. Takes leases of any groups, or their tokens. */
  async releaseMany(leases: Iterable<LeaseOrToken>): Promise<Settled[]> {
    const many = listOf(leases)
    const group = this.groupOfAll(many)
    if (group !== undefined) return group.releaseMany(many)
    return settled(many.length, await this.byTokenLater(3, [undefined, undefined], many))
  }

  /** {@link releaseMany}, at once. */
  releaseManySync(leases: Iterable<LeaseOrToken>): Settled[] {
    const many = listOf(leases)
    const group = this.groupOfAll(many)
    if (group !== undefined) return group.releaseManySync(many)
    return settled(many.length, this.byToken(3, [undefined, undefined], many))
  }

  /** See {@link Group.renew}. Takes a lease of any group, or its token. */
  async renew<L extends LeaseOrToken>(lease: L, options?: RenewOptions): Promise<L extends string ? Renewed : L> {
    const group = this.groupOf(lease)
    if (group !== undefined) return group.renew(lease, options)
    return renewed(lease, first(await this.byTokenLater(4, settleOptions('renew', options), [lease])) as bigint)
  }

  /** {@link renew}, at once. */
  renewSync<L extends LeaseOrToken>(lease: L, options?: RenewOptions): L extends string ? Renewed : L {
    const group = this.groupOf(lease)
    if (group !== undefined) return group.renewSync(lease, options)
    return renewed(lease, first(this.byToken(4, settleOptions('renew', options), [lease])) as bigint)
  }

  /** See {@link Group.renewMany}. Takes leases of any groups, or their tokens. */
  async renewMany(leases: Iterable<LeaseOrToken>, options?: RenewOptions): Promise<(Renewed | Error)[]> {
    const many = listOf(leases)
    const group = this.groupOfAll(many)
    if (group !== undefined) return group.renewMany(many, options)
    return allRenewed(many, await this.byTokenLater(4, settleOptions('renew', options), many))
  }

  /** {@link renewMany}, at once. */
  renewManySync(leases: Iterable<LeaseOrToken>, options?: RenewOptions): (Renewed | Error)[] {
    const many = listOf(leases)
    const group = this.groupOfAll(many)
    if (group !== undefined) return group.renewManySync(many, options)
    return allRenewed(many, this.byToken(4, settleOptions('renew', options), many))
  }

  /** The handle of a lease's group here; nothing of a token. */
  private groupOf(lease: LeaseOrToken): Group | undefined {
    if (!(lease instanceof Lease)) return undefined
    return lease.owner.core === this.core ? lease.owner : this.boundGroup(lease.stream, lease.group)
  }

  /** The handle of the group that all leases are of; nothing when they are of several, or some are tokens. */
  private groupOfAll(leases: readonly LeaseOrToken[]): Group | undefined {
    const [one] = leases
    if (!(one instanceof Lease)) return undefined
    const { owner } = one
    return leases.every((lease) => lease instanceof Lease && lease.owner === owner) ? this.groupOf(one) : undefined
  }

  private byToken(
    kind: number, [reason, millis]: [string | undefined, number | undefined], leases: readonly LeaseOrToken[],
  ): unknown[] | undefined {
    return this.native.settleTexts(kind, reason, millis, leases.map(tokenOf))
  }

  private async byTokenLater(
    kind: number, settling: [string | undefined, number | undefined], leases: readonly LeaseOrToken[],
  ): Promise<unknown[] | undefined> {
    if (!this.core.deliveriesBlock) return this.byToken(kind, settling, leases)
    return this.native.settleTextsLater(kind, ...settling, leases.map(tokenOf))
  }
}
