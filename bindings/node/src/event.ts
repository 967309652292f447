import { inspect, type InspectOptions } from 'node:util'
import { KEY, METADATA, TYPE, type Position, type Rows } from './rows.js'

/**
 * An unsigned integer of 64 bits: a `number` as long as that is exact, a `bigint` from 2⁵³ on. Nothing is ever rounded, and
 * what is a number today fits into JSON.
 */
export type Sequence = number | bigint

/** How a payload is tagged: a JSON value, or bytes of any kind. */
export type Encoding = 'json' | 'bytes'

/** Headers and lineage: a JSON object. */
export type Metadata = Readonly<Record<string, any>>

/**
 * One immutable record of a partition. What is read from it is decoded when it is first asked for.
 *
 * An event is a value of its own: it stays as it is, whatever becomes of its lease, its stream or the instance.
 */
export abstract class Event<P = any> {
  /** The id: the one given at append, else a UUIDv7. */
  abstract readonly id: string
  /** The stream's name. */
  readonly stream: string
  /** The partition, from 0. */
  abstract readonly partition: number
  /** The position in the partition: 1, 2, 3, … without gaps. */
  abstract readonly sequence: Sequence
  /** When it happened, rounded down to milliseconds, which is all that a `Date` has. */
  abstract readonly timestamp: Date
  /** When it happened, in microseconds since the Unix epoch: exact. */
  abstract readonly timestampMicros: bigint
  /** The key, if it was given one. */
  abstract readonly key: string | undefined
  /** The type, if it was given one. */
  abstract readonly type: string | undefined
  /** Headers and lineage. */
  abstract readonly metadata: Metadata
  /** How the payload is tagged. */
  abstract readonly encoding: Encoding
  /**
   * The payload: of an event tagged `json` the value, decoded at the first access; else the bytes, as {@link data}.
   *
   * @throws {RheoError} `ERR_RHEO_INVALID_ARGUMENT` when bytes were tagged `json` and are none.
   */
  abstract readonly payload: P
  /**
   * The payload as bytes, as they were appended. From 16 KiB on these are the library's own, lent without a copy for as long as the
   * buffer lives: do not write into them. Smaller ones are a copy, which costs less than a loan.
   */
  abstract readonly data: Buffer
  /** Whether this answers an append whose id the stream held already, so that nothing was appended. */
  abstract readonly deduplicated: boolean

  /** @internal */
  constructor(stream: string) {
    this.stream = stream
  }

  /**
   * What `JSON.stringify` takes. Integers beyond 2⁵³ are decimal text; a payload of bytes is base64.
   */
  toJSON(): Record<string, unknown> {
    return {
      id: this.id,
      stream: this.stream,
      partition: this.partition,
      sequence: safe(this.sequence),
      timestamp: this.timestamp,
      timestampMicros: safe(this.timestampMicros),
      key: this.key,
      type: this.type,
      metadata: this.metadata,
      encoding: this.encoding,
      payload: this.encoding === 'json' ? this.payload : this.data.toString('base64'),
      deduplicated: this.deduplicated,
    }
  }

  /** @internal */
  [inspect.custom](_depth: number, options: InspectOptions): string {
    const { id, stream, partition, sequence, timestampMicros, key, type, metadata, encoding, deduplicated } = this
    const payload = encoding === 'json' ? tried(() => this.payload, this.data) : this.data
    const fields = { id, stream, partition, sequence, timestampMicros, key, type, metadata, encoding, payload, deduplicated }
    return `Event ${inspect(fields, options)}`
  }
}

/** An integer as JSON can hold it exactly. @internal */
export function safe(value: number | bigint): number | string {
  if (typeof value === 'number') return value
  return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value.toString()
}

function tried<T, F>(attempt: () => T, otherwise: F): T | F {
  try {
    return attempt()
  } catch {
    return otherwise
  }
}

/** An event that lies in rows. @internal */
export class RowEvent<P> extends Event<P> {
  readonly #rows: Rows
  readonly #index: number
  #metadata: Metadata | undefined
  #payload: P | undefined
  #data: Buffer | undefined

  constructor(stream: string, rows: Rows, index: number) {
    super(stream)
    this.#rows = rows
    this.#index = index
  }

  get id(): string {
    return this.#rows.id(this.#index)
  }

  get partition(): number {
    return this.#rows.partition(this.#index)
  }

  get sequence(): Sequence {
    return this.#rows.sequence(this.#index)
  }

  get timestamp(): Date {
    return this.#rows.date(this.#index)
  }

  get timestampMicros(): bigint {
    return this.#rows.micros(this.#index)
  }

  get key(): string | undefined {
    return this.#rows.optional(this.#index, KEY)
  }

  get type(): string | undefined {
    return this.#rows.optional(this.#index, TYPE)
  }

  get metadata(): Metadata {
    return (this.#metadata ??= JSON.parse(this.#rows.optional(this.#index, METADATA) ?? '{}') as Metadata)
  }

  get encoding(): Encoding {
    return this.#rows.isJson(this.#index) ? 'json' : 'bytes'
  }

  get payload(): P {
    return (this.#payload ??= this.#rows.payload(this.#index) as P)
  }

  get data(): Buffer {
    return (this.#data ??= this.#rows.data(this.#index))
  }

  get deduplicated(): boolean {
    return this.#rows.isDeduplicated(this.#index)
  }
}

/** An event that was just appended: JSON, and nothing given with it. @internal */
export class AppendedEvent<P> extends Event<P> {
  readonly #position: Position
  readonly #text: string
  #payload: P | undefined

  constructor(stream: string, position: Position, text: string) {
    super(stream)
    this.#position = position
    this.#text = text
  }

  get id(): string {
    return this.#position.id
  }

  get partition(): number {
    return this.#position.partition
  }

  get sequence(): Sequence {
    return this.#position.sequence
  }

  get timestamp(): Date {
    return this.#position.date
  }

  get timestampMicros(): bigint {
    return this.#position.micros
  }

  get key(): undefined {
    return undefined
  }

  get type(): undefined {
    return undefined
  }

  get metadata(): Metadata {
    return {}
  }

  get encoding(): Encoding {
    return 'json'
  }

  get payload(): P {
    return (this.#payload ??= JSON.parse(this.#text) as P)
  }

  get data(): Buffer {
    return Buffer.from(this.#text, 'utf8')
  }

  get deduplicated(): boolean {
    return false
  }
}

/** The events of rows. @internal */
export function eventsOf<P>(stream: string, rows: Rows): Event<P>[] {
  const events: Event<P>[] = []
  for (let index = 0; index < rows.length; index++) events.push(new RowEvent<P>(stream, rows, index))
  return events
}
