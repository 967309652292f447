import { dateOf, Rows } from './rows.js'
import { eventsOf, safe, type Event, type Sequence } from './event.js'
import type { RowList } from './addon'

/** How far a group has come in one partition. */
export interface PartitionLag {
  /** The last sequence of the longest settled prefix. */
  readonly frontier: Sequence
  /** The last visible sequence; 0 when there never was one. */
  readonly highWatermark: Sequence
  /** High watermark − frontier. */
  readonly lag: number
}

/** How far a group has come. */
export interface Lag {
  /** The stream's name. */
  readonly stream: string
  /** The group's name. */
  readonly group: string
  /** By partition. */
  readonly partitions: Readonly<Record<number, PartitionLag>>
  /** The sum over the partitions. */
  readonly lag: number
}

/** What there is to know of a group. */
export interface GroupInfo {
  /** How far it has come. */
  readonly lag: Lag
  /** Leases that have not expired. */
  readonly inflightCount: number
  /** Deliveries that are open and claimable now. */
  readonly availableCount: number
  /** Deliveries that are open and whose retry is not due yet. */
  readonly delayedCount: number
  /** Dead letters. */
  readonly deadLetterCount: number
  /** The oldest timestamp among the events right after each partition's frontier; nothing at lag 0. */
  readonly oldestUnsettledAt: Date | undefined
  /** The same in microseconds since the Unix epoch. */
  readonly oldestUnsettledAtMicros: bigint | undefined
  /** The group's standing options. */
  readonly options: { readonly maxAttempts: number; readonly maxDeliveries: number; readonly ordering: 'none' | 'key' }
  /** What `JSON.stringify` takes. */
  toJSON(): Record<string, unknown>
}

/** What there is to know of a partition. */
export interface PartitionInfo {
  /** The partition, from 0. */
  readonly partition: number
  /** The first sequence that is kept; high watermark + 1 when none is. */
  readonly firstSequence: Sequence
  /** The last visible sequence; 0 when there never was one. */
  readonly highWatermark: Sequence
  /** Bytes kept: payload, metadata, id, key and type. */
  readonly bytes: number
  /** What holds retention back: the lowest kept event that some group still needs. */
  readonly heldBy: { readonly sequence: Sequence; readonly group: string; readonly deadLetter: boolean } | undefined
}

/** What there is to know of a stream. */
export interface StreamInfo {
  /** The stream's name. */
  readonly stream: string
  /** Every partition, by number. */
  readonly partitions: readonly PartitionInfo[]
}

/** A delivery that was rejected or ran into a limit. It is not fetched again until it is replayed. */
export interface DeadLetter<P = any> {
  /** The stream's name. */
  readonly stream: string
  /** The group's name. */
  readonly group: string
  /** The event's id. */
  readonly eventId: string
  /** The event's partition. */
  readonly partition: number
  /** The event's sequence. */
  readonly sequence: Sequence
  /** How often it had been delivered. */
  readonly attempt: number
  /** Why, at most 1 KiB. */
  readonly reason: string
  /** When, rounded down to milliseconds. */
  readonly deadLetteredAt: Date
  /** When, in microseconds since the Unix epoch. */
  readonly deadLetteredAtMicros: bigint
  /** The event. */
  readonly event: Event<P>
  /** What `JSON.stringify` takes. */
  toJSON(): Record<string, unknown>
}

/** A page of a query. */
export interface Page<P = any> {
  /** The events of the page. */
  readonly events: Event<P>[]
  /** What gives the next page; nothing at the end. */
  readonly nextCursor: string | undefined
}

/** What a backend guarantees, and by which mechanisms. */
export interface Capabilities {
  /** `durable`, `distributed`, `at_least_once`, `lease_fencing`, `partitions` and so on. */
  readonly guarantees: Readonly<Record<string, boolean>>
  /** `notifications`, `native_consumer_groups` and so on. */
  readonly mechanisms: Readonly<Record<string, boolean>>
}

// What has 64 bits comes as decimal text.

function sequence(text: string): Sequence {
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : BigInt(text)
}

interface RawLag {
  stream: string
  group: string
  partitions: Record<string, { frontier: string; highWatermark: string; lag: number }>
  lag: number
}

function lag(raw: RawLag): Lag {
  const partitions: Record<number, PartitionLag> = {}
  for (const [partition, { frontier, highWatermark, lag }] of Object.entries(raw.partitions)) {
    partitions[Number(partition)] = { frontier: sequence(frontier), highWatermark: sequence(highWatermark), lag }
  }
  return { stream: raw.stream, group: raw.group, partitions, lag: raw.lag }
}

/** @internal */
export function lagOf(text: unknown): Lag {
  return lag(JSON.parse(text as string) as RawLag)
}

/** @internal */
export function infoOf(text: unknown): GroupInfo {
  const { lag: rawLag, oldestUnsettledAt, ...counts } = JSON.parse(text as string) as Omit<GroupInfo, 'toJSON' | 'lag'> & {
    lag: RawLag
    oldestUnsettledAt: string | null
  }
  const micros = oldestUnsettledAt === null ? undefined : BigInt(oldestUnsettledAt)
  const values = {
    ...counts,
    lag: lag(rawLag),
    oldestUnsettledAt: micros === undefined ? undefined : dateOf(micros),
    oldestUnsettledAtMicros: micros,
  }
  return withJson(values, { oldestUnsettledAtMicros: micros === undefined ? undefined : safe(micros) })
}

/** @internal */
export function streamInfoOf(text: unknown): StreamInfo {
  type Raw = { firstSequence: string; highWatermark: string; heldBy: { sequence: string } | null }
  const raw = JSON.parse(text as string) as { stream: string; partitions: (PartitionInfo & Raw)[] }
  const partitions = raw.partitions.map((partition) => ({
    ...partition,
    firstSequence: sequence(partition.firstSequence),
    highWatermark: sequence(partition.highWatermark),
    heldBy: partition.heldBy === null ? undefined : { ...partition.heldBy, sequence: sequence(partition.heldBy.sequence) },
  }))
  return { stream: raw.stream, partitions: partitions as PartitionInfo[] }
}

/** @internal */
export function deadLettersOf<P>(stream: string, raw: unknown): DeadLetter<P>[] {
  const list = raw as RowList
  const events = eventsOf<P>(stream, Rows.listed(list))
  type Raw = { group: string; attempt: number; reason: string; deadLetteredAt: string }
  return (JSON.parse(list[3]!) as Raw[]).map(({ group, attempt, reason, deadLetteredAt }, at) => {
    const event = events[at]!
    const micros = BigInt(deadLetteredAt)
    const values = {
      stream, group, eventId: event.id, partition: event.partition, sequence: event.sequence, attempt, reason,
      deadLetteredAt: dateOf(micros), deadLetteredAtMicros: micros, event,
    }
    return withJson(values, { sequence: safe(event.sequence), deadLetteredAtMicros: safe(micros) })
  })
}

/** Values with a `toJSON` that is no field of theirs. */
function withJson<T extends object>(values: T, safe: Partial<Record<keyof T, unknown>>): T & { toJSON(): Record<string, unknown> } {
  const toJSON = (): Record<string, unknown> => ({ ...values, ...safe })
  return Object.defineProperty(values, 'toJSON', { value: toJSON }) as T & { toJSON(): Record<string, unknown> }
}
