import * as check from './check.js'
import { invalid, shown, wrongType } from './errors.js'
import type { Encoding, Sequence } from './event.js'
import type { Lease } from './lease.js'
import { metadataText } from './payload.js'

/** A time: a `Date`, or microseconds since the Unix epoch as a bigint. */
export type Time = Date | bigint

/** One sequence for all partitions, or one for each: `3`, `{ 0: 3, 2: 1 }` or a `Map`. */
export type Sequences = Sequence | Readonly<Record<number, Sequence>> | ReadonlyMap<number, Sequence>

/** How an instance is opened. */
export interface OpenOptions {
  /** A name by which {@link getInstance} finds the instance, from any thread of the process. */
  name?: string | undefined
  /** The `limit` of a fetch that is not given one; 10 when missing. */
  defaultMaxDemand?: number | undefined
  /** The `leaseMs` of a fetch that is not given one, in milliseconds; 30,000 when missing. */
  defaultLeaseMs?: number | undefined
  /** The `maxAttempts` of a group that is not given one; 5 when missing. */
  defaultMaxAttempts?: number | undefined
  /** The largest payload, in bytes; 16 MiB when missing, and at most. */
  maxPayloadBytes?: number | undefined
  /** `manual`: the clock stands still and moves only by `advanceClock`. For tests. */
  clock?: 'system' | 'manual' | undefined
  /** Where a manual clock starts; the machine's time when missing. */
  clockStart?: Time | undefined
  /**
   * Of a journal, when what is written is synced: `always` (the default): before an append is answered; `interval:100`: at
   * least every 100 ms; `never`: when the system sees fit.
   */
  sync?: 'always' | 'never' | `interval:${number}` | undefined
  /** Of a journal, whether a settle is answered only when it is synced; false when missing. */
  syncSettles?: boolean | undefined
  /** Of a journal, how large a file gets before the next begins, in bytes; 64 MiB when missing. */
  segmentBytes?: number | undefined
  /**
   * Whether the instance tells `node:diagnostics_channel` of its work (see {@link TelemetryMessage}). When missing: if one of the
   * channels has a subscriber when it is opened.
   */
  telemetry?: boolean | undefined
}

/** How a stream is created. */
export interface StreamOptions {
  /** 1 to 65,536; 1 when missing. It never changes. */
  partitionCount?: number | undefined
}

/** What confirms an operation that destroys state. */
export interface ConfirmOptions {
  /** Has to be true. */
  confirm?: boolean | undefined
}

/** Where a group begins, or begins anew. At most one of `startAfter` and `startAt`. */
export interface StartOptions {
  /** After this sequence (exclusive). Beyond the last one counts as the last one. */
  startAfter?: Sequences | undefined
  /** With the lowest sequence whose timestamp is at or after this time; at the end when there is none. */
  startAt?: Time | undefined
  /** In these partitions only; in all when missing. */
  partitions?: Iterable<number> | undefined
}

/** How a group is created. */
export interface GroupOptions extends StartOptions {
  /** A retry at this attempt makes a dead letter, at least 1; the instance's default when missing. */
  maxAttempts?: number | undefined
  /** A delivery that was leased this often becomes a dead letter instead of being offered again; 0 (unlimited) when missing. */
  maxDeliveries?: number | undefined
  /** `key`: while an event of a key is open, no later event of that key is offered. */
  ordering?: 'none' | 'key' | undefined
}

/** What of a group can be changed. What is missing stays. */
export interface GroupUpdate {
  /** At least 1. */
  maxAttempts?: number | undefined
  /** 0 is unlimited. */
  maxDeliveries?: number | undefined
}

/** What may go with payloads. */
export interface SharedOptions {
  /** 1 to 1,024 bytes; it routes the event unless `partition` does. */
  key?: string | undefined
  /** 1 to 255 bytes. */
  type?: string | undefined
  /** Headers and lineage: an object of at most 64 KiB of JSON. */
  metadata?: object | undefined
  /** When it happened; the instance's clock when missing. */
  timestamp?: Time | undefined
  /** The partition; by `key` when missing, else 0. */
  partition?: number | undefined
  /** How bytes are tagged; `bytes` when missing. Anything else is JSON. */
  encoding?: Encoding | undefined
}

/** What may go with a payload. */
export interface AppendOptions extends SharedOptions {
  /** 1 to 255 bytes. An id that the stream holds appends nothing. A UUIDv7 when missing. */
  id?: string | undefined
}

/** How to read. */
export interface ReadOptions {
  /** Begin after this sequence; 0 when missing. */
  after?: Sequence | undefined
  /** The most events; 100 when missing. */
  limit?: number | undefined
  /** The partition; 0 when missing. */
  partition?: number | undefined
}

/** What a field is compared with. Several of these in one object all have to hold. */
export interface Operators {
  /** Equal. */
  eq?: unknown
  /** Not equal. */
  ne?: unknown
  /** Greater. */
  gt?: unknown
  /** Greater or equal. */
  gte?: unknown
  /** Less. */
  lt?: unknown
  /** Less or equal. */
  lte?: unknown
  /** Equal to one of these. */
  in?: readonly unknown[]
  /** Whether the field is there. */
  exists?: boolean
  /** A text that begins with this. */
  prefix?: string
}

/** How a page of a query is asked for. */
export interface PageOptions {
  /**
   * Field → value, or field → {@link Operators}. Fields are `id`, `type`, `key`, `partition`, the lineage keys and
   * `metadata.NAME`; anything else, or `payload.NAME`, is a field of a JSON payload, dots descending. A bigint is compared exactly.
   */
  where?: Readonly<Record<string, unknown>> | undefined
  /** Only events of this time or later. */
  from?: Time | undefined
  /** Only events of this time or earlier. */
  to?: Time | undefined
  /** Only events with a higher sequence. */
  afterSequence?: Sequence | undefined
  /** Only events with this sequence or a lower one. */
  untilSequence?: Sequence | undefined
  /** The most events; 100 when missing. */
  limit?: number | undefined
}

/** What a query can be ordered by. */
export type OrderBy = readonly (readonly ['sequence' | 'timestamp', 'asc' | 'desc'])[]

/** A query. */
export interface QueryOptions extends PageOptions {
  /** Most significant first; `[['sequence', 'asc']]` when missing. */
  orderBy?: OrderBy | undefined
}

/** How far to trim: exactly one way, and whether by force. */
export interface TrimOptions {
  /** Remove what lies before this sequence. */
  beforeSequence?: Sequences | undefined
  /** Keep at most so many events per partition. */
  maxLen?: number | undefined
  /** Remove events older than so many milliseconds, up to the first younger one. */
  maxAgeMs?: number | undefined
  /** Keep at most so many bytes per partition. */
  maxBytes?: number | undefined
  /** Remove also what some group has not passed or lists as a dead letter. */
  force?: boolean | undefined
}

/** How to fetch without waiting. */
export interface FetchNowOptions {
  /** The most leases, 0 to 10,000; the instance's `defaultMaxDemand` when missing. */
  limit?: number | undefined
  /** How long the leases last, in milliseconds; the instance's `defaultLeaseMs` when missing. */
  leaseMs?: number | undefined
  /** Who takes them, 1 to 255 bytes; an id made for the instance when missing. */
  consumerId?: string | undefined
  /** From these partitions only; from all when missing. */
  partitions?: Iterable<number> | undefined
  /** How long to wait for work when there is none, in milliseconds; 0 when missing. */
  waitMs?: number | undefined
}

/** How to fetch. */
export interface FetchOptions extends FetchNowOptions {
  /** Ends the wait: the promise is rejected with an `AbortError`, and nothing is leased. */
  signal?: AbortSignal | undefined
}

/** How a delivery is given back for another attempt. */
export interface RetryOptions {
  /** Why; at most 1 KiB is kept. */
  reason?: string | undefined
  /** When it becomes available, in milliseconds from now; 0 when missing. */
  delayMs?: number | undefined
}

/** Why a delivery becomes a dead letter. */
export interface RejectOptions {
  /** At most 1 KiB is kept. */
  reason?: string | undefined
}

/** How long a lease lasts from now on. */
export interface RenewOptions {
  /** In milliseconds; those the lease was made with when missing. */
  leaseMs?: number | undefined
}

/** Which partitions to look at. */
export interface PartitionsOptions {
  /** These; all when missing. */
  partitions?: Iterable<number> | undefined
}

/** Which dead letters to list. */
export interface DeadLetterOptions extends PartitionsOptions {
  /** The most; 100 when missing. */
  limit?: number | undefined
  /** The id of the event after which to go on: that of the last one listed. */
  after?: string | undefined
}

/** Which dead letters to forget: those of some events, or all. */
export type DiscardOptions = { eventIds: Iterable<string>; all?: never } | { all: true; eventIds?: never }

/** What to replay: exactly one way. */
export interface ReplayOptions extends PartitionsOptions {
  /** Everything after this sequence (exclusive). */
  fromSequence?: Sequences | undefined
  /** Everything from the lowest sequence on whose timestamp is at or after this time. */
  from?: Time | undefined
  /** The events with these ids. */
  eventIds?: Iterable<string> | undefined
  /** The events that match; without a limit of its own, all of them. */
  query?: QueryOptions | undefined
}

/** How to reset a group. */
export interface ResetOptions extends StartOptions, ConfirmOptions {}

/** How a producer takes leases. The same names and defaults in every language. */
export interface ProducerOptions {
  /** The most unsettled leases held at once, 1 to 10,000; the instance's `defaultMaxDemand` when missing. */
  maxDemand?: number | undefined
  /** How long leases last unless they are renewed, in milliseconds; the instance's `defaultLeaseMs` when missing. */
  leaseMs?: number | undefined
  /** How often to look for work where the store does not notify, in milliseconds; 200 when missing. */
  pollMs?: number | undefined
  /** Who takes the leases, 1 to 255 bytes; an id made for the instance when missing. */
  consumerId?: string | undefined
  /** From these partitions only; from all when missing. */
  partitions?: Iterable<number> | undefined
  /** What becomes of a delivery whose handler failed: another attempt (`retry`, when missing), or a dead letter. */
  onFailure?: 'retry' | 'reject' | undefined
  /**
   * How long a delivery waits for its next attempt where nobody says, in milliseconds; or `exponential:FIRST_MS:MOST_MS`, which doubles with every
   * attempt; `exponential:100:5000` when missing.
   */
  retryDelay?: number | `exponential:${number}:${number}` | undefined
  /** Closes it when it is aborted. */
  signal?: AbortSignal | undefined
}

/** How a consumer runs its handler. The same names and defaults in every language. */
export interface ConsumerOptions<P = any> extends Omit<ProducerOptions, 'maxDemand'> {
  /**
   * The most unsettled leases held at once, 1 to 10,000; when missing the instance's `defaultMaxDemand`, or what the handlers can hold,
   * whichever is more.
   */
  maxDemand?: number | undefined
  /** How many handlers run at a time, 1 to 10,000; 1 when missing. */
  concurrency?: number | undefined
  /** After how long a handler's lease is no longer renewed and its signal fires, in milliseconds; 0, never, when missing. */
  maxLeaseMs?: number | undefined
  /** Given: the handler gets lists of at most so many events, 1 to 10,000. */
  batchSize?: undefined
  /**
   * Told of what handlers throw, of what is no outcome, each with its leases, and, without any, of the error that ends the consumer. What it
   * throws itself is an uncaught exception.
   */
  onError?: ((error: unknown, leases: readonly Lease<P>[]) => void) | undefined
}

/** How a consumer runs a handler of lists of events. */
export interface BatchConsumerOptions<P = any> extends Omit<ConsumerOptions<P>, 'batchSize'> {
  /** The most events that the handler gets at once, 1 to 10,000. */
  batchSize: number
  /** How long to wait for a list to fill once it has its first event, in milliseconds; 0, which takes what there is, when missing. */
  batchTimeoutMs?: number | undefined
}

type Kind = (what: string, value: unknown) => string
type Schema = Readonly<Record<string, Kind>>

const count: Kind = (what, value) => String(check.whole(what, value))
const time: Kind = (what, value) => check.micros(what, value).toString()
const word: Kind = (what, value) => JSON.stringify(check.text(what, value))
const flag: Kind = (what, value) => String(check.flag(what, value))

const where: Kind = (what, value) => {
  if (!check.isPlain(value)) throw wrongType(what, 'an object of fields', value)
  return check.jsonValue(what, value)
}

const order: Kind = (what, value) => {
  const wanted = "a list of pairs, such as [['sequence', 'desc']]"
  const pairs = check.list(what, wanted, value).map((pair, at) => {
    const [field, direction, ...rest] = check.list(`${what}[${at}]`, wanted, pair)
    if (rest.length > 0) throw wrongType(`${what}[${at}]`, "a pair, such as ['sequence', 'desc']", pair)
    return `[${word(`${what}[${at}][0]`, field)},${word(`${what}[${at}][1]`, direction)}]`
  })
  return `[${pairs}]`
}

const delay: Kind = (what, value) => (typeof value === 'string' ? word(what, value) : count(what, value))

const producer = {
  maxDemand: count, leaseMs: count, pollMs: count, consumerId: word, partitions: check.partitions, onFailure: word, retryDelay: delay,
}

const start = { startAfter: check.sequences, startAt: time, partitions: check.partitions }

const page = {
  where, from: time, to: time, afterSequence: check.digits, untilSequence: check.digits, limit: count,
}

const query = { ...page, orderBy: order }

/** The options of each operation, with what they take. */
export const SCHEMAS = {
  open: {
    name: word,
    defaultMaxDemand: count,
    defaultLeaseMs: count,
    defaultMaxAttempts: count,
    maxPayloadBytes: count,
    clock: word,
    clockStart: time,
    sync: word,
    syncSettles: flag,
    segmentBytes: count,
  },
  createStream: { partitionCount: count },
  confirm: { confirm: flag },
  createGroup: { ...start, maxAttempts: count, maxDeliveries: count, ordering: word },
  updateGroup: { maxAttempts: count, maxDeliveries: count },
  read: { after: check.digits, limit: count, partition: count },
  query,
  trim: { beforeSequence: check.sequences, maxLen: count, maxAgeMs: count, maxBytes: count, force: flag },
  partitions: { partitions: check.partitions },
  deadLetters: { limit: count, after: word, partitions: check.partitions },
  replay: {
    fromSequence: check.sequences,
    from: time,
    eventIds: check.texts,
    query: (what: string, value: unknown) => encodeOptions(query, value, what) ?? '{}',
    partitions: check.partitions,
  },
  reset: { ...start, confirm: flag },
  producer,
  consumer: { ...producer, concurrency: count, batchSize: count, batchTimeoutMs: count, maxLeaseMs: count },
  none: {},
} satisfies Record<string, Schema>

/** Options as the JSON that the native half takes; nothing when none is given. What is undefined or null counts as missing. */
export function encodeOptions(schema: Schema, options: unknown, what = 'options'): string | undefined {
  if (options === undefined || options === null) return undefined
  if (typeof options !== 'object' || Array.isArray(options)) throw wrongType(what, 'an object', options)
  const parts: string[] = []
  for (const [name, value] of Object.entries(options)) {
    const kind = Object.hasOwn(schema, name) ? schema[name] : undefined
    if (kind === undefined) throw unknownOption(name, Object.keys(schema))
    if (value !== undefined && value !== null) parts.push(`"${snake(name)}":${kind(name, value)}`)
  }
  return `{${parts}}`
}

/** The error of an option that does not exist. */
export function unknownOption(name: string, known: string[]): Error {
  const there = known.length === 0 ? 'there are none' : `there are: ${known.join(', ')}`
  return invalid(`there is no option ${shown(name)} here; ${there}`)
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

const APPEND = ['id', 'key', 'type', 'metadata', 'timestamp', 'partition', 'encoding']

/** The options of an append as the native half takes them: id, key, type, metadata, timestamp, partition. */
export function appendOptions(options: AppendOptions): unknown[] {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw wrongType('options', 'an object', options)
  }
  for (const name in options) if (!APPEND.includes(name)) throw unknownOption(name, APPEND)
  const { id, key, type, metadata, timestamp, partition } = options
  return [
    given(id) ? check.text('id', id) : undefined,
    given(key) ? check.text('key', key) : undefined,
    given(type) ? check.text('type', type) : undefined,
    given(metadata) ? metadataText(metadata) : undefined,
    given(timestamp) ? check.micros('timestamp', timestamp) : undefined,
    given(partition) ? check.whole('partition', partition) : undefined,
  ]
}

/** Whether an option is there. */
export function given<T>(value: T): value is NonNullable<T> {
  return value !== undefined && value !== null
}

/** What a consumer does in JavaScript, checked, and the rest as the native half takes it. */
export interface Starting {
  readonly native: string
  readonly concurrency: number
  /** Nothing for a handler of single events. */
  readonly batchSize: number | undefined
  readonly batchTimeoutMs: number
  readonly maxLeaseMs: number
  readonly signal: AbortSignal | undefined
  readonly onError: ConsumerOptions['onError']
}

/** Checks the options of a producer or a consumer. Their ranges the engine checks. */
export function runtimeOptions(kind: 'producer' | 'consumer', options: object | undefined): Starting {
  if (given(options) && (typeof options !== 'object' || Array.isArray(options))) throw wrongType('options', 'an object', options)
  const { signal, onError, ...rest } = (options ?? {}) as Partial<BatchConsumerOptions>
  if (given(signal) && !(signal instanceof AbortSignal)) throw wrongType('signal', 'an AbortSignal', signal)
  if (kind === 'producer' && given(onError)) throw unknownOption('onError', [...Object.keys(SCHEMAS.producer), 'signal'])
  if (given(onError) && typeof onError !== 'function') throw wrongType('onError', 'a function', onError)
  return {
    native: encodeOptions(SCHEMAS[kind], rest) ?? '{}',
    concurrency: Number(rest.concurrency ?? 1),
    batchSize: given(rest.batchSize) ? Number(rest.batchSize) : undefined,
    batchTimeoutMs: Number(rest.batchTimeoutMs ?? 0),
    maxLeaseMs: Number(rest.maxLeaseMs ?? 0),
    signal: signal ?? undefined,
    onError: onError ?? undefined,
  }
}

const FETCH = ['limit', 'leaseMs', 'consumerId', 'partitions', 'waitMs', 'signal']

/** The options of a fetch, checked. */
export interface Fetching {
  readonly limit: number | undefined
  readonly leaseMs: number | undefined
  readonly consumerId: string | undefined
  readonly partitions: string | undefined
  readonly waitMs: number
  readonly signal: AbortSignal | undefined
}

const NOTHING: Fetching = {
  limit: undefined, leaseMs: undefined, consumerId: undefined, partitions: undefined, waitMs: 0, signal: undefined,
}

/** Ten years of 365 days, the longest duration. */
export const LONGEST_MS = 10 * 365 * 24 * 60 * 60 * 1000

/** Checks the options of a fetch. */
export function fetchOptions(options: FetchOptions | undefined): Fetching {
  if (options === undefined || options === null) return NOTHING
  if (typeof options !== 'object' || Array.isArray(options)) throw wrongType('options', 'an object', options)
  for (const name in options) if (!FETCH.includes(name)) throw unknownOption(name, FETCH)
  const { limit, leaseMs, consumerId, partitions, waitMs, signal } = options
  if (given(signal) && !(signal instanceof AbortSignal)) throw wrongType('signal', 'an AbortSignal', signal)
  const wait = given(waitMs) ? check.whole('waitMs', waitMs) : 0
  if (wait < 0 || wait > LONGEST_MS) {
    throw invalid(`waitMs is ${wait} ms; it takes 0 to ${LONGEST_MS} ms (ten years)`)
  }
  return {
    limit: given(limit) ? check.whole('limit', limit) : undefined,
    leaseMs: given(leaseMs) ? check.whole('leaseMs', leaseMs) : undefined,
    consumerId: given(consumerId) ? check.text('consumerId', consumerId) : undefined,
    partitions: given(partitions) ? check.partitions('partitions', partitions) : undefined,
    waitMs: wait,
    signal: signal ?? undefined,
  }
}

const SETTLE = { retry: ['reason', 'delayMs'], reject: ['reason'], renew: ['leaseMs'] }

/** The options of a settle as the native half takes them: a reason, milliseconds. Reasons may be any text. */
export function settleOptions(kind: keyof typeof SETTLE, options: object | undefined): [string | undefined, number | undefined] {
  if (!given(options)) return [undefined, undefined]
  if (typeof options !== 'object' || Array.isArray(options)) throw wrongType('options', 'an object', options)
  for (const name in options) if (!SETTLE[kind].includes(name)) throw unknownOption(name, SETTLE[kind])
  const { reason, delayMs, leaseMs } = options as RetryOptions & RenewOptions
  const millis = delayMs ?? leaseMs
  // A reason is a diagnostic, and settling never fails because of it; but what is no text at all is a mistake.
  if (given(reason) && typeof reason !== 'string') throw wrongType('reason', 'a string', reason)
  return [
    given(reason) ? reason : undefined,
    given(millis) ? check.whole(kind === 'renew' ? 'leaseMs' : 'delayMs', millis) : undefined,
  ]
}
