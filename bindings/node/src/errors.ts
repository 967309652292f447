/** What a failed settle says of the lease (see {@link RheoError.settleClass}). */
export type SettleClass = 'none' | 'lost' | 'definite' | 'unknown'

/** The contract's names of errors, by number. */
const NUMBERS = {
  stream_not_found: 101,
  group_not_found: 102,
  already_exists: 103,
  cursor_not_found: 104,
  stale_lease: 201,
  receipt_mismatch: 202,
  invalid_argument: 301,
  invalid_partition: 302,
  invalid_partition_count: 303,
  invalid_replay_opts: 304,
  confirm_required: 305,
  payload_too_large: 306,
  unsupported: 307,
  backend_unavailable: 401,
  failed: 402,
  ambiguous: 403,
  timeout: 404,
  already_draining: 405,
  closed: 501,
  forked: 502,
  poisoned: 503,
  locked: 504,
  corrupt: 505,
  version_mismatch: 506,
  internal: 901,
} as const

type ErrorName = keyof typeof NUMBERS

/** The code of a {@link RheoError}: the contract's name in Node's style. */
export type RheoErrorCode = `ERR_RHEO_${Uppercase<ErrorName>}`

/**
 * Every failure of the library. The message says what failed, with which value, and what to do.
 *
 * Values of a wrong type are told apart: those give a `TypeError` with the code `ERR_INVALID_ARG_TYPE`, as in Node itself,
 * and an aborted wait gives an `AbortError` with the code `ABORT_ERR`.
 */
export class RheoError extends Error {
  /** The contract's name, such as `ERR_RHEO_STALE_LEASE`. */
  readonly code: RheoErrorCode
  /** The contract's number, such as 201. Numbers are never reused. */
  readonly number: number
  /** Whether the same call may simply be repeated, and repeating can help. */
  readonly retriable: boolean
  /** Whether an append may be repeated when it carries the same explicit `id`. Also true where `retriable` is. */
  readonly retriableWithSameId: boolean
  /**
   * What to conclude of a lease whose settle failed: `lost`: it is gone, stop renewing it; `definite`: nothing was done, the
   * settle may be repeated; `unknown`: leave the lease to expire; `none`: the error says nothing of a lease.
   */
  readonly settleClass: SettleClass

  /** @internal */
  constructor(name: string, number: number, message: string, cause: unknown, retriable: string, settleClass: string) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = `ERR_RHEO_${name.toUpperCase()}` as RheoErrorCode
    this.number = number
    this.retriable = retriable === 'yes'
    this.retriableWithSameId = retriable !== 'no'
    this.settleClass = settleClass as SettleClass
  }

  static {
    // On the prototype, as Node's own errors have it, so that it is no field of each error.
    Object.defineProperty(this.prototype, 'name', { value: 'RheoError', writable: true, configurable: true })
  }
}

/** The error `invalid_argument` or another one that the form of an argument gives. @internal */
export function invalid(message: string, cause?: unknown, name: ErrorName = 'invalid_argument'): RheoError {
  const settleClass = name === 'invalid_argument' ? 'definite' : 'none'
  return new RheoError(name, NUMBERS[name], message, cause, 'no', settleClass)
}

/** The error of a value that has the wrong type. @internal */
export function wrongType(what: string, wanted: string, value: unknown): TypeError {
  const error = new TypeError(`${what} is ${shown(value)}; it takes ${wanted}`)
  return Object.assign(error, { code: 'ERR_INVALID_ARG_TYPE' as const })
}

/** The error of a wait that was aborted. @internal */
export function aborted(signal: AbortSignal): Error {
  const error = new Error('the wait was aborted; nothing was leased', { cause: signal.reason })
  error.name = 'AbortError'
  return Object.assign(error, { code: 'ABORT_ERR' as const })
}

/** A value as a message shows it. @internal */
export function shown(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value)
    case 'bigint':
      return `${value}n`
    case 'function':
      return `a function${value.name ? ` (${value.name})` : ''}`
    case 'symbol':
      return value.toString()
    case 'object': {
      if (value === null) return 'null'
      const name: unknown = Object.getPrototypeOf(value)?.constructor?.name
      return typeof name === 'string' && name !== 'Object' ? `an instance of ${name}` : 'an object'
    }
    default:
      return String(value)
  }
}
