// Events and leases as they come from the native half (`native/rows.rs`): one text with all payloads, a row of words for
// each, and the payloads that are not in the text.

import { invalid } from './errors.js'
import { COUNT, HEAD, memory } from './native.js'
import type { RowList, Rows as RawRows } from './addon'

/** How many words a row has; the first {@link TOKEN_WORDS} are what a settle needs. */
const WORDS = 29
export const TOKEN_WORDS = 9

const PARTITION = 0
const SEQUENCE = 1
const LEASE_ID = 3
const LEASE_MS = 7
const FLAGS = 9
const TIMESTAMP = 10
const EVENT_ID = 12
const ATTEMPT = 16
const LEASED_AT = 17
const EXPIRES_AT = 19
const PAYLOAD = 21
const PAYLOAD_LENGTH = 22
const TEXTS = 23
const LENGTHS = 24

const IS_JSON = 1
const IS_APART = 2
const HAS_ID = 4
const HAS_RECEIPT = 64
const IS_DEDUPLICATED = 128

/** The texts of a row: at these places, there with these flags. */
export const KEY = 1
export const TYPE = 2
export const METADATA = 3
const RECEIPT = 4

/** A list of words: of one row a plain list, which costs less to make. */
export type Words = Int32Array | number[]

/** An unsigned integer of 64 bits: a number while that is exact, else a bigint. */
function unsigned(low: number, high: number): number | bigint {
  if (high >= 0 && high < 0x200000) return high * 0x1_0000_0000 + (low >>> 0)
  return (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0)
}

/** A signed one, always as a bigint. */
function signed(low: number, high: number): bigint {
  return (BigInt(high) << 32n) | BigInt(low >>> 0)
}

/** Signed microseconds as a `Date`, rounded down to its milliseconds. */
function date(low: number, high: number): Date {
  return dateOf(signed(low, high))
}

/** Microseconds as a `Date`, rounded down to its milliseconds. */
export function dateOf(micros: bigint): Date {
  const millis = micros / 1000n
  return new Date(Number(micros < 0n && millis * 1000n !== micros ? millis - 1n : millis))
}

const hex = (word: number): string => (word >>> 0).toString(16).padStart(8, '0')

/** Rows and what belongs to them. */
export class Rows {
  readonly text: string
  readonly words: Words
  readonly length: number
  readonly apart: Buffer[] | undefined
  /** All payloads of the text, once one was asked for. */
  private parsed: unknown[] | undefined
  private isUnfit = false

  constructor(text: string, words: Words, length: number, apart?: Buffer[]) {
    this.text = text
    this.words = words
    this.length = length
    this.apart = apart
    this.parsed = undefined
  }

  /** What came at once: the words may be in the shared memory, from where they are taken. */
  static taken(raw: RawRows): Rows {
    if (typeof raw === 'string') {
      const count = memory[COUNT]!
      return new Rows(raw, count === 1 ? oneRow() : memory.slice(HEAD, HEAD + count * WORDS), count)
    }
    if (raw[1] !== undefined) return Rows.listed(raw)
    const count = memory[COUNT]!
    return new Rows(raw[0], memory.slice(HEAD, HEAD + count * WORDS), count, raw[2])
  }

  /** What came with memory of its own. */
  static listed(raw: RowList): Rows {
    const words = new Int32Array(raw[1]!)
    return new Rows(raw[0], words, words.length / WORDS, raw[2])
  }

  /** Rows over a text that JavaScript made. */
  static over(text: string, given: ArrayBuffer | undefined): Rows {
    if (given) return Rows.listed([text, given, undefined, undefined])
    return Rows.taken(text)
  }

  private word(index: number, at: number): number {
    return this.words[index * WORDS + at]!
  }

  partition(index: number): number {
    return this.word(index, PARTITION) >>> 0
  }

  sequence(index: number): number | bigint {
    return unsigned(this.word(index, SEQUENCE), this.word(index, SEQUENCE + 1))
  }

  micros(index: number): bigint {
    return signed(this.word(index, TIMESTAMP), this.word(index, TIMESTAMP + 1))
  }

  date(index: number): Date {
    return date(this.word(index, TIMESTAMP), this.word(index, TIMESTAMP + 1))
  }

  id(index: number): string {
    if (this.word(index, FLAGS) & HAS_ID) return this.part(index, 0)
    const at = index * WORDS + EVENT_ID
    const words = this.words
    return uuid(words[at]!, words[at + 1]!, words[at + 2]!, words[at + 3]!)
  }

  leaseId(index: number): string {
    let text = ''
    for (let at = LEASE_ID; at < LEASE_ID + 4; at++) text += hex(this.word(index, at))
    return text
  }

  leaseMs(index: number): number {
    return Number(unsigned(this.word(index, LEASE_MS), this.word(index, LEASE_MS + 1)))
  }

  attempt(index: number): number {
    return this.word(index, ATTEMPT) >>> 0
  }

  leasedAt(index: number): bigint {
    return signed(this.word(index, LEASED_AT), this.word(index, LEASED_AT + 1))
  }

  expiresAt(index: number): bigint {
    return signed(this.word(index, EXPIRES_AT), this.word(index, EXPIRES_AT + 1))
  }

  receipt(index: number): string {
    return this.hasReceipt(index) ? this.part(index, RECEIPT) : this.leaseId(index)
  }

  hasReceipt(index: number): boolean {
    return (this.word(index, FLAGS) & HAS_RECEIPT) !== 0
  }

  isJson(index: number): boolean {
    return (this.word(index, FLAGS) & IS_JSON) !== 0
  }

  isDeduplicated(index: number): boolean {
    return (this.word(index, FLAGS) & IS_DEDUPLICATED) !== 0
  }

  /** The key, the type or the metadata, where there is one. */
  optional(index: number, which: number): string | undefined {
    return this.word(index, FLAGS) & (HAS_ID << which) ? this.part(index, which) : undefined
  }

  /** The text of the `which`th of id, key, type, metadata, receipt. */
  private part(index: number, which: number): string {
    let start = this.word(index, TEXTS)
    for (let at = 0; at < which; at++) start += this.word(index, LENGTHS + at)
    return this.text.slice(start, start + this.word(index, LENGTHS + which))
  }

  /** The payload as bytes. */
  data(index: number): Buffer {
    if (this.word(index, FLAGS) & IS_APART) return this.apart![this.word(index, PAYLOAD)]!
    return Buffer.from(this.payloadText(index), 'utf8')
  }

  private payloadText(index: number): string {
    const start = this.word(index, PAYLOAD)
    const length = this.word(index, PAYLOAD_LENGTH)
    const { text } = this
    return length === text.length ? text : text.slice(start, start + length)
  }

  /** The payload, decoded. */
  payload(index: number): unknown {
    const flags = this.word(index, FLAGS)
    if (flags & IS_APART) {
      const data = this.data(index)
      return flags & IS_JSON ? this.parse(index, data.toString('utf8')) : data
    }
    if (this.length === 1) return this.parse(index, this.payloadText(index))
    const parsed = (this.parsed ??= this.parseAll())
    return this.isUnfit ? this.parse(index, this.payloadText(index)) : parsed[index]
  }

  /** Decodes all payloads of the text at once, which costs less than one by one. */
  private parseAll(): unknown[] {
    const { text, words } = this
    const last = words.length - WORDS
    let end = text.length
    // Behind the list come the other texts, if there are any.
    if (words[last + TEXTS]! > 0) end = words[TEXTS]!
    try {
      const parsed: unknown = JSON.parse(end === text.length ? text : text.slice(0, end))
      if (Array.isArray(parsed) && parsed.length === this.length) return parsed
    } catch {
      // One of them is no JSON: each is on its own then.
    }
    this.isUnfit = true
    return []
  }

  private parse(index: number, text: string): unknown {
    try {
      return JSON.parse(text)
    } catch (cause) {
      const where = `event ${this.id(index)} (partition ${this.partition(index)}, sequence ${this.sequence(index)})`
      throw invalid(`the payload of ${where} is tagged json and is none; read its data instead`, cause)
    }
  }

  /** Copies what a settle needs of a row. */
  copyToken(index: number, into: Int32Array, at: number): void {
    const { words } = this
    const from = index * WORDS
    for (let word = 0; word < TOKEN_WORDS; word++) into[at + word] = words[from + word]!
  }
}

export { WORDS }

/** The text of a UUID. */
export function uuid(a: number, b: number, c: number, d: number): string {
  const [second, third] = [hex(b), hex(c)]
  return `${hex(a)}-${second.slice(0, 4)}-${second.slice(4)}-${third.slice(0, 4)}-${third.slice(4)}${hex(d)}`
}

/** The words of the only row in the shared memory. Written out, since a literal is the fastest list there is. */
function oneRow(): number[] {
  const m = memory
  return [
    m[8]!, m[9]!, m[10]!, m[11]!, m[12]!, m[13]!, m[14]!, m[15]!, m[16]!, m[17]!,
    m[18]!, m[19]!, m[20]!, m[21]!, m[22]!, m[23]!, m[24]!, m[25]!, m[26]!, m[27]!,
    m[28]!, m[29]!, m[30]!, m[31]!, m[32]!, m[33]!, m[34]!, m[35]!, m[36]!,
  ]
}

/** The position of an event that was just appended, in the shared memory. */
export class Position {
  readonly partition: number
  private readonly sequenceLow: number
  private readonly sequenceHigh: number
  private readonly timeLow: number
  private readonly timeHigh: number
  private readonly idA: number
  private readonly idB: number
  private readonly idC: number
  private readonly idD: number

  constructor() {
    const m = memory
    this.partition = m[HEAD + PARTITION]!
    this.sequenceLow = m[HEAD + SEQUENCE]!
    this.sequenceHigh = m[HEAD + SEQUENCE + 1]!
    this.timeLow = m[HEAD + TIMESTAMP]!
    this.timeHigh = m[HEAD + TIMESTAMP + 1]!
    this.idA = m[HEAD + EVENT_ID]!
    this.idB = m[HEAD + EVENT_ID + 1]!
    this.idC = m[HEAD + EVENT_ID + 2]!
    this.idD = m[HEAD + EVENT_ID + 3]!
  }

  get sequence(): number | bigint {
    return unsigned(this.sequenceLow, this.sequenceHigh)
  }

  get micros(): bigint {
    return signed(this.timeLow, this.timeHigh)
  }

  get date(): Date {
    return date(this.timeLow, this.timeHigh)
  }

  get id(): string {
    return uuid(this.idA, this.idB, this.idC, this.idD)
  }
}
