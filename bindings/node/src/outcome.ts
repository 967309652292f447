import * as check from './check.js'
import { invalid, shown, wrongType } from './errors.js'
import { given, LONGEST_MS, unknownOption } from './options.js'

/** The delivery is done. */
export interface Ack { readonly outcome: 'ack' }
/** The delivery comes again. */
export interface Retry { readonly outcome: 'retry'; readonly reason: string | undefined; readonly delayMs: number | undefined }
/** The delivery becomes a dead letter. */
export interface Reject { readonly outcome: 'reject'; readonly reason: string | undefined }
/** The delivery is available to others at once, and the attempt does not count. */
export interface Release { readonly outcome: 'release' }

/** What a handler says of an event: {@link ACK}, {@link retry}, {@link reject} or {@link RELEASE}. */
export type Outcome = Ack | Retry | Reject | Release

/** How an outcome crosses. @internal */
export const FAIL = 5

/** All outcomes are of this class, so that nothing else passes for one. @internal */
export class Said {
  constructor(
    readonly outcome: Outcome['outcome'],
    readonly reason?: string,
    readonly delayMs?: number,
  ) {
    Object.freeze(this)
  }

  /** The kind as it crosses: that of a settle. */
  get kind(): number {
    return KINDS.indexOf(this.outcome)
  }
}

const KINDS: readonly Outcome['outcome'][] = ['ack', 'retry', 'reject', 'release']

/** The event is done. Returning nothing says the same. */
export const ACK = new Said('ack') as Ack

/** Gives the event back unworked: it is available at once, to this consumer too, and the attempt does not count. */
export const RELEASE = new Said('release') as Release

/**
 * Another attempt after `delayMs` milliseconds (what the consumer's `retryDelay` says when missing), unless there have been the group's
 * `maxAttempts`. At most 1 KiB of the reason is kept.
 *
 * @throws {RheoError} `ERR_RHEO_INVALID_ARGUMENT` for a delay below 0 or above ten years.
 */
export function retry(reason?: string, options?: { delayMs?: number | undefined }): Retry {
  if (given(options)) {
    if (typeof options !== 'object') throw wrongType('options', 'an object', options)
    for (const name in options) if (name !== 'delayMs') throw unknownOption(name, ['delayMs'])
  }
  const delayMs = given(options?.delayMs) ? check.whole('delayMs', options.delayMs) : undefined
  if (delayMs !== undefined && (delayMs < 0 || delayMs > LONGEST_MS)) {
    throw invalid(`delayMs is ${delayMs} ms; it takes 0 to ${LONGEST_MS} ms (ten years)`)
  }
  return new Said('retry', reasonOf(reason), delayMs) as Retry
}

/** A dead letter. At most 1 KiB of the reason is kept. */
export function reject(reason?: string): Reject {
  return new Said('reject', reasonOf(reason)) as Reject
}

function reasonOf(reason: unknown): string | undefined {
  if (!given(reason)) return undefined
  if (typeof reason !== 'string') throw wrongType('reason', 'a string', reason)
  return reason
}

/** The error of what is no outcome. @internal */
export function noOutcome(value: unknown, where = ''): TypeError {
  const error = new TypeError(`the handler's outcome${where} is ${shown(value)}; it takes ACK, RELEASE, retry(…) or reject(…)`)
  return Object.assign(error, { code: 'ERR_INVALID_ARG_TYPE' as const })
}

/** The text of what was thrown, whatever it is. @internal */
export function textOf(thrown: unknown): string {
  try {
    return String(thrown)
  } catch {
    return shown(thrown)
  }
}
