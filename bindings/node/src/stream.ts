import * as check from './check.js'
import type { Core } from './core.js'
import { invalid, wrongType } from './errors.js'
import { AppendedEvent, eventsOf, RowEvent, type Event } from './event.js'
import type { NativeStream, RowList } from './addon'
import { encode, isBytes, jsonText, isNoData } from './payload.js'
import { Position, Rows } from './rows.js'
import { streamInfoOf, type Page, type StreamInfo } from './values.js'
import {
  appendOptions, encodeOptions, given, SCHEMAS,
  type AppendOptions, type ConfirmOptions, type PageOptions, type QueryOptions, type ReadOptions, type SharedOptions,
  type TrimOptions,
} from './options.js'

/** An item of a batch that has options of its own; they win over the shared ones. */
export class Append<P = any> {
  /** What is appended: a JSON value, or bytes. */
  readonly payload: P
  /** What goes with it. */
  readonly options: AppendOptions

  constructor(payload: P, options: AppendOptions = {}) {
    this.payload = payload
    this.options = options
  }
}

/** The most items of a batch. */
const MOST_ITEMS = 10_000

/**
 * A stream, its name resolved once: the operations of the instance without the name. When the stream is deleted and created
 * anew, the handle goes on with the new one. Whether it exists shows at the first use.
 */
export class Stream<P = any> {
  /** The stream's name. */
  readonly name: string
  private readonly core: Core
  private readonly native: NativeStream

  /** @internal */
  constructor(core: Core, name: string) {
    this.core = core
    this.name = name
    this.native = core.native.stream(check.text('stream', name))
  }

  /**
   * Appends one event and gives it. A `Buffer`, a `Uint8Array` or an `ArrayBuffer` is appended as it is; anything else is encoded as JSON.
   * An explicit `id` that the stream holds appends nothing and gives the event that stands, marked as `deduplicated`.
   *
   * Where appends wait for a sync, those that are under way at once are in no particular order.
   *
   * @throws {RheoError} `ERR_RHEO_STREAM_NOT_FOUND`, `ERR_RHEO_INVALID_PARTITION`, `ERR_RHEO_PAYLOAD_TOO_LARGE`, `ERR_RHEO_INVALID_ARGUMENT`.
   */
  async append(payload: P, options?: AppendOptions): Promise<Event<P>> {
    if (!this.core.appendsBlock) return this.appendSync(payload, options)
    const [id, key, type, metadata, timestamp, partition] = appendOptions(options ?? {}) as Values
    const { content, isJson } = encode(payload, options?.encoding)
    const raw = await this.native.appendOneLater(content, isJson, id, key, type, metadata, timestamp, partition)
    return new RowEvent<P>(this.name, Rows.listed(raw), 0)
  }

  /** {@link append}, at once. */
  appendSync(payload: P, options?: AppendOptions): Event<P> {
    if (options === undefined && !isBytes(payload)) {
      const text = jsonText(payload)
      this.native.append(text)
      return new AppendedEvent<P>(this.name, new Position(), text)
    }
    const [id, key, type, metadata, timestamp, partition] = appendOptions(options ?? {}) as Values
    const { content, isJson } = encode(payload, options?.encoding)
    const raw = this.native.appendOne(content, isJson, id, key, type, metadata, timestamp, partition)
    return new RowEvent<P>(this.name, Rows.taken(raw), 0)
  }

  /**
   * Appends events, all or nothing, and gives the event of each, in order. An item is a payload, or an {@link Append} with options
   * of its own.
   *
   * @throws {RheoError} as `append`; `ERR_RHEO_INVALID_ARGUMENT` also above 10,000 items or 64 MiB, and for a shared `id`.
   */
  async appendBatch(items: Iterable<P | Append<P>>, shared?: SharedOptions): Promise<Event<P>[]> {
    if (!this.core.appendsBlock) return this.appendBatchSync(items, shared)
    const [flat, options] = flattened(check.list('items', 'a list of payloads', items), shared)
    return eventsOf<P>(this.name, Rows.listed(await this.native.appendItemsLater(flat, options)))
  }

  /** {@link appendBatch}, at once. */
  appendBatchSync(items: Iterable<P | Append<P>>, shared?: SharedOptions): Event<P>[] {
    const list = check.list('items', 'a list of payloads', items)
    if (shared === undefined && list.length > 1 && list.length <= MOST_ITEMS && list.every(isPlainItem)) {
      const text = jsonText(list, 'items')
      return eventsOf<P>(this.name, Rows.over(text, this.native.appendList(text, list.length)))
    }
    const [flat, options] = flattened(list, shared)
    return eventsOf<P>(this.name, Rows.taken(this.native.appendItems(flat, options)))
  }

  /** Events of a partition after a sequence, ascending. Touches no group. */
  async read(options?: ReadOptions): Promise<Event<P>[]> {
    return this.events(await this.call('read', 'read', encodeOptions(SCHEMAS.read, options)))
  }

  /** {@link read}, at once. */
  readSync(options?: ReadOptions): Event<P>[] {
    return this.events(this.callSync('read', encodeOptions(SCHEMAS.read, options)))
  }

  /** The event with this id; nothing when the stream does not hold it. */
  async get(eventId: string): Promise<Event<P> | undefined> {
    return this.events(await this.call('read', 'get', undefined, check.text('eventId', eventId)))[0]
  }

  /** {@link get}, at once. */
  getSync(eventId: string): Event<P> | undefined {
    return this.events(this.callSync('get', undefined, check.text('eventId', eventId)))[0]
  }

  /** The events that match, at most `limit` (100 when missing). Runs on a thread of the library. */
  async query(options?: QueryOptions): Promise<Event<P>[]> {
    return this.events(await this.call('scan', 'query', encodeOptions(SCHEMAS.query, options)))
  }

  /** {@link query}, at once. */
  querySync(options?: QueryOptions): Event<P>[] {
    return this.events(this.callSync('query', encodeOptions(SCHEMAS.query, options)))
  }

  /** One page of the events that match, in the order of (sequence, partition). `cursor` is the `nextCursor` of the page before. */
  async queryPage(options?: PageOptions, cursor?: string): Promise<Page<P>> {
    return this.page(await this.call('scan', 'queryPage', encodeOptions(SCHEMAS.query, options), checkedCursor(cursor)))
  }

  /** {@link queryPage}, at once. */
  queryPageSync(options?: PageOptions, cursor?: string): Page<P> {
    return this.page(this.callSync('queryPage', encodeOptions(SCHEMAS.query, options), checkedCursor(cursor)))
  }

  /**
   * All events that match, in the order of (sequence, partition), fetched a page at a time as they are asked for. `limit` is the size of
   * a page.
   *
   * @throws {RheoError} `ERR_RHEO_INVALID_ARGUMENT` at once; others while it is iterated.
   */
  queryStream(options?: PageOptions): AsyncIterableIterator<Event<P>> {
    const encoded = encodeOptions(SCHEMAS.query, options)
    this.callSync('checkQueryStream', encoded)
    return this.pages(encoded)
  }

  /** {@link queryStream}, each page at once. */
  queryStreamSync(options?: PageOptions): IterableIterator<Event<P>> {
    const encoded = encodeOptions(SCHEMAS.query, options)
    this.callSync('checkQueryStream', encoded)
    return this.pagesSync(encoded)
  }

  /**
   * Removes old events and gives how many. Without `force` nothing is removed that some group still needs.
   *
   * @throws {RheoError} `ERR_RHEO_INVALID_ARGUMENT` unless exactly one way is given.
   */
  async trim(options: TrimOptions): Promise<number> {
    return (await this.call('admin', 'trim', encodeOptions(SCHEMAS.trim, options))) as number
  }

  /** {@link trim}, at once. */
  trimSync(options: TrimOptions): number {
    return this.callSync('trim', encodeOptions(SCHEMAS.trim, options)) as number
  }

  /** What there is to know of the stream, per partition. */
  async info(): Promise<StreamInfo> {
    return streamInfoOf(await this.call('read', 'streamInfo'))
  }

  /** {@link info}, at once. */
  infoSync(): StreamInfo {
    return streamInfoOf(this.callSync('streamInfo'))
  }

  /** The names of the stream's groups, sorted by code point. */
  async listGroups(): Promise<string[]> {
    return JSON.parse((await this.call('read', 'listGroups')) as string) as string[]
  }

  /** {@link listGroups}, at once. */
  listGroupsSync(): string[] {
    return JSON.parse(this.callSync('listGroups') as string) as string[]
  }

  /**
   * Deletes the stream with its events and groups. Who holds leases of it, or waits, then gets `ERR_RHEO_STREAM_NOT_FOUND`.
   *
   * @throws {RheoError} `ERR_RHEO_CONFIRM_REQUIRED` without `confirm: true`.
   */
  async delete(options?: ConfirmOptions): Promise<void> {
    await this.call('admin', 'deleteStream', encodeOptions(SCHEMAS.confirm, options))
  }

  /** {@link delete}, at once. */
  deleteSync(options?: ConfirmOptions): void {
    this.callSync('deleteStream', encodeOptions(SCHEMAS.confirm, options))
  }

  private callSync(operation: string, options?: string, text?: string): unknown {
    return this.core.call(operation, this.name, '', options, text)
  }

  private call(kind: 'admin' | 'read' | 'scan', operation: string, options?: string, text?: string): Promise<unknown> {
    return this.core.callLater(kind, operation, this.name, '', options, text)
  }

  private events(raw: unknown): Event<P>[] {
    return eventsOf<P>(this.name, Rows.listed(raw as RowList))
  }

  private page(raw: unknown): Page<P> {
    return { events: this.events(raw), nextCursor: (raw as RowList)[3] }
  }

  private async *pages(options: string | undefined): AsyncGenerator<Event<P>, undefined> {
    let cursor: string | undefined
    do {
      const page = this.page(await this.call('scan', 'queryPage', options, cursor))
      yield* page.events
      cursor = page.nextCursor
    } while (cursor !== undefined)
  }

  private *pagesSync(options: string | undefined): Generator<Event<P>, undefined> {
    let cursor: string | undefined
    do {
      const page = this.page(this.callSync('queryPage', options, cursor))
      yield* page.events
      cursor = page.nextCursor
    } while (cursor !== undefined)
  }
}

type Values = [
  id: string | undefined, key: string | undefined, type: string | undefined, metadata: string | undefined,
  timestamp: bigint | undefined, partition: number | undefined,
]

/** Whether it is a value that becomes JSON within a list as it does alone. */
function isPlainItem(item: unknown): boolean {
  switch (typeof item) {
    case 'object':
      return item === null || !(item instanceof Append || isBytes(item) || isNoData(item))
    case 'string':
    case 'number':
    case 'boolean':
      return true
    default:
      return false
  }
}

/** Items as the native half takes them, eight values each, and the shared options. */
function flattened(items: unknown[], shared: SharedOptions | undefined): [unknown[], unknown[]] {
  // The engine says this too; but before a million items are encoded is a better time.
  if (items.length > MOST_ITEMS) throw invalid(`the batch has ${items.length} items; it takes at most ${MOST_ITEMS}: split it`)
  const flat: unknown[] = []
  items.forEach((item, at) => {
    const { payload, options } = item instanceof Append ? item : { payload: item, options: NO_OPTIONS }
    const { content, isJson } = encode(payload, options.encoding ?? encodingFor(payload, shared), `items[${at}]`)
    flat.push(content, isJson, ...appendOptions(options))
  })
  if (!given(shared)) return [flat, []]
  return [flat, appendOptions(shared)]
}

const NO_OPTIONS: AppendOptions = {}

/** The shared encoding tags bytes; an item that is no bytes is JSON whatever it says. */
function encodingFor(payload: unknown, shared: SharedOptions | undefined): unknown {
  const encoding = shared?.encoding
  return encoding === 'bytes' && !isBytes(payload) ? undefined : encoding
}

function checkedCursor(cursor: unknown): string | undefined {
  if (!given(cursor)) return undefined
  if (typeof cursor !== 'string') throw wrongType('cursor', 'the nextCursor of the page before', cursor)
  return check.text('cursor', cursor)
}
