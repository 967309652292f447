// Payloads and metadata on their way in: encoded once, and refused by name where JSON cannot say them.

import { isWellFormed } from './check.js'
import { invalid, shown, wrongType } from './errors.js'

/** A payload as the native half takes it. */
export interface Encoded {
  readonly content: string | Uint8Array
  readonly isJson: boolean
}

/** Whether it is bytes, which are appended as they are. */
export function isBytes(value: unknown): value is ArrayBuffer | SharedArrayBuffer | ArrayBufferView {
  return (
    typeof value === 'object' &&
    value !== null &&
    (ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof SharedArrayBuffer)
  )
}

/** Encodes a payload. `encoding` tags bytes. */
export function encode(value: unknown, encoding: unknown, what = 'payload'): Encoded {
  if (encoding !== undefined && encoding !== 'json' && encoding !== 'bytes') {
    throw invalid(`encoding is ${shown(encoding)}; it takes 'json' or 'bytes'`)
  }
  if (isBytes(value)) return { content: bytesOf(value, what), isJson: encoding === 'json' }
  if (encoding === 'bytes') {
    throw wrongType(what, "a Buffer, a Uint8Array or an ArrayBuffer, since its encoding is 'bytes'", value)
  }
  return { content: jsonText(value, what), isJson: true }
}

/** Objects that JSON.stringify makes an empty object of: a promise that nobody awaited, a Map, a Set, an Error. */
export function isNoData(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    (value instanceof Promise || value instanceof Map || value instanceof Set || value instanceof Error) &&
    !('toJSON' in value)
  )
}

function bytesOf(value: ArrayBuffer | SharedArrayBuffer | ArrayBufferView, what: string): Uint8Array {
  const memory = ArrayBuffer.isView(value) ? value.buffer : value
  if (value.byteLength === 0) {
    try {
      new Uint8Array(memory)
    } catch {
      throw invalid(`${what} is a buffer that was detached (transferred to another thread); pass a copy of it`)
    }
  }
  const bytes = ArrayBuffer.isView(value)
    ? new Uint8Array(memory, value.byteOffset, value.byteLength)
    : new Uint8Array(memory)
  // Other threads may write into shared memory while it is read.
  return memory instanceof SharedArrayBuffer ? bytes.slice() : bytes
}

/** The JSON of a value. */
export function jsonText(value: unknown, what = 'payload'): string {
  if (isNoData(value)) throw wrongType(what, 'a value that JSON has, or bytes', value)
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    throw explained(error, what)
  }
  if (text === undefined) throw wrongType(what, 'a value that JSON has, or bytes', value)
  // Whatever JSON.stringify bends shows as one of these, and is then looked for. Both are rare and the search is cheap.
  if (text.includes('null') || text.includes('\\ud')) search(value, '', what)
  return text
}

/** The JSON of metadata, which is an object. */
export function metadataText(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isBytes(value)) {
    throw wrongType('metadata', 'an object', value)
  }
  return jsonText(value, 'metadata')
}

function explained(error: unknown, what: string): Error {
  if (error instanceof TypeError && error.message.includes('BigInt')) {
    const explained = new TypeError(`${what} holds a bigint, which JSON has not; turn it into a number or a string`, {
      cause: error,
    })
    return Object.assign(explained, { code: 'ERR_INVALID_ARG_TYPE' as const })
  }
  const said = error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : shown(error)
  return invalid(`${what} cannot be turned into JSON: ${said}`, error)
}

/** Looks for what JSON.stringify would change without a word. What it leaves out of objects, it may leave out. */
function search(given: unknown, key: string, path: string): void {
  let value = given
  if (typeof value === 'object' && value !== null && 'toJSON' in value && typeof value.toJSON === 'function') {
    value = value.toJSON(key) as unknown
  }
  switch (typeof value) {
    case 'number':
      if (!Number.isFinite(value)) throw invalid(`${path} is ${value}; JSON has no such number`)
      return
    case 'string':
      if (!isWellFormed(value)) throw invalid(`${path} is ${shown(value)}, which holds half of a surrogate pair`)
      return
    case 'object':
      if (value === null) return
      if (Array.isArray(value)) {
        // Not forEach: that passes over holes.
        for (let at = 0; at < value.length; at++) {
          const element: unknown = value[at]
          const place = `${path}[${at}]`
          if (element === undefined || typeof element === 'function' || typeof element === 'symbol') {
            throw wrongType(place, 'a value that JSON has', element)
          }
          search(element, String(at), place)
        }
        return
      }
      for (const [name, field] of Object.entries(value)) {
        if (!isWellFormed(name)) throw invalid(`${path} has a field ${shown(name)}, which holds half of a surrogate pair`)
        search(field, name, `${path}.${name}`)
      }
      return
    default:
  }
}
