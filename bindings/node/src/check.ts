// The form of arguments. What only the engine can know, it says itself.

import { invalid, shown, wrongType } from './errors.js'

/** A string that UTF-8 can hold. */
export function text(what: string, value: unknown): string {
  if (typeof value !== 'string') throw wrongType(what, 'a string', value)
  if (!isWellFormed(value)) {
    throw invalid(`${what} is ${shown(value)}, which holds half of a surrogate pair; text has to be well-formed Unicode`)
  }
  return value
}

/** Whether a string is well-formed Unicode. (TypeScript's es2023 does not know the method yet.) */
export function isWellFormed(value: string): boolean {
  return (value as unknown as { isWellFormed(): boolean }).isWellFormed()
}

/** A whole number that is exact. Whether it may be negative, the engine says. */
export function whole(what: string, value: unknown): number {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) return value
    throw invalid(`${what} is ${value}; it takes a whole number`)
  }
  if (typeof value === 'bigint') {
    if (value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER) return Number(value)
    throw invalid(`${what} is ${value}; that is too large`)
  }
  throw wrongType(what, 'a whole number', value)
}

/** A whole number as digits; beyond 2⁵³ it has to be a bigint. */
export function digits(what: string, value: unknown): string {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'number') throw wrongType(what, 'a whole number or a bigint', value)
  if (Number.isSafeInteger(value)) return String(value)
  const why = Number.isInteger(value) ? 'it is not exact: beyond 2⁵³ pass a bigint' : 'it takes a whole number or a bigint'
  throw invalid(`${what} is ${value}; ${why}`)
}

/** A time in microseconds since the Unix epoch, as a `Date` or as a bigint of microseconds. */
export function micros(what: string, value: unknown): bigint {
  if (value instanceof Date) {
    const millis = value.getTime()
    if (Number.isNaN(millis)) throw invalid(`${what} is an invalid Date`)
    return BigInt(millis) * 1000n
  }
  if (typeof value !== 'bigint') throw wrongType(what, 'a Date, or microseconds since the Unix epoch as a bigint', value)
  if (BigInt.asIntN(64, value) !== value) throw invalid(`${what} is ${value}; it takes 64 bits of microseconds`)
  return value
}

/** true or false. */
export function flag(what: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw wrongType(what, 'true or false', value)
  return value
}

/** A list of strings, as JSON. */
export function texts(what: string, value: unknown): string {
  return `[${list(what, 'a list of strings', value).map((element, at) => JSON.stringify(text(`${what}[${at}]`, element)))}]`
}

/** A set of partitions, as JSON. */
export function partitions(what: string, value: unknown): string {
  return `[${list(what, 'a list of partitions, such as [0, 2]', value).map((element, at) => whole(`${what}[${at}]`, element))}]`
}

/** The elements of something iterable that is no string. */
export function list(what: string, wanted: string, value: unknown): unknown[] {
  if (Array.isArray(value)) return value as unknown[]
  if (typeof value === 'object' && value !== null && Symbol.iterator in value) return [...(value as Iterable<unknown>)]
  throw wrongType(what, wanted, value)
}

/** One sequence for all partitions, or one for each, as JSON. */
export function sequences(what: string, value: unknown): string {
  if (typeof value !== 'object' || value === null) return digits(what, value)
  if (!(value instanceof Map) && !isPlain(value)) {
    throw wrongType(what, 'a sequence, or an object or a Map of partitions to sequences', value)
  }
  const entries: Iterable<[unknown, unknown]> = value instanceof Map ? value : Object.entries(value)
  const parts: string[] = []
  for (const [partition, sequence] of entries) {
    parts.push(`"${whole(`a partition of ${what}`, Number(partition))}":${digits(`${what} of partition ${partition}`, sequence)}`)
  }
  return `{${parts}}`
}

/** A JSON value with exact integers: what a query compares with. */
export function jsonValue(what: string, value: unknown): string {
  switch (typeof value) {
    case 'bigint':
      return value.toString()
    case 'number':
      if (!Number.isFinite(value)) throw invalid(`${what} is ${value}; JSON has no such number`)
      return JSON.stringify(value)
    case 'string':
      return JSON.stringify(text(what, value))
    case 'boolean':
      return String(value)
    case 'object':
      if (value === null) return 'null'
      if (Array.isArray(value)) return `[${value.map((element, at) => jsonValue(`${what}[${at}]`, element))}]`
      if (value instanceof Set) return jsonValue(what, [...value])
      if (isPlain(value)) {
        const fields = Object.entries(value)
        // Left out, a condition would match everything.
        const missing = fields.find(([, field]) => field === undefined)
        if (missing) throw wrongType(`${what}.${missing[0]}`, 'a value to compare with', undefined)
        return `{${fields.map(([name, field]) => `${JSON.stringify(text(what, name))}:${jsonValue(`${what}.${name}`, field)}`)}}`
      }
      throw wrongType(what, 'a JSON value', value)
    default:
      throw wrongType(what, 'a JSON value', value)
  }
}

/** Whether it is an object without a class. */
export function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null
}
