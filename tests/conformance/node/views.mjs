// What the package gives, as JSON with the contract's field names: what `expect` is matched with.

import { Event, Lease, RheoError } from './rheo.mjs'
import { exact } from './values.mjs'

const SETTLE = /ack|retry|reject|release|renew/

/** What an operation gave. */
export function viewOf(op, result) {
  if (result instanceof Error) return errorView(result)
  switch (op) {
    case 'open':
    case 'advance_clock':
      return null
    case 'append':
    case 'get':
      return result === undefined ? null : eventView(result)
    case 'append_batch':
    case 'read':
    case 'query':
    case 'query_stream':
      return result.map(eventView)
    case 'query_page':
      return { events: result.events.map(eventView), next_cursor: result.nextCursor ?? null }
    case 'fetch':
      return Array.from(result, leaseView)
    case 'next':
      return result === 'stopped' ? result : Array.from(result, leaseView)
    case 'stream_info':
      return { stream: result.stream, partitions: result.partitions.map(partitionView) }
    case 'lag':
      return lagView(result)
    case 'group_info':
      return infoView(result)
    case 'dead_letters':
      return result.map(deadLetterView)
    default:
      return SETTLE.test(op) ? settledView(result) : (result ?? null)
  }
}

/** The error as the contract names its parts. Errors that are not the library's have no view. */
export function errorView(error) {
  if (!(error instanceof RheoError)) {
    // A wrong type cannot be said in every language; where the contract has a name for it, it is this.
    if (error.code === 'ERR_INVALID_ARG_TYPE') return { code: 'invalid_argument', message: error.message, number: 301 }
    throw error
  }
  return {
    code: error.code.slice('ERR_RHEO_'.length).toLowerCase(),
    number: error.number,
    message: error.message,
    cause: error.cause === undefined ? null : String(error.cause),
    retriable: error.retriable ? 'yes' : error.retriableWithSameId ? 'with_same_id' : 'no',
    settle_class: error.settleClass,
  }
}

function settledView(result) {
  if (Array.isArray(result)) return result.map((each) => (each instanceof Error ? errorView(each) : settledView(each)))
  return result === undefined ? null : { expires_at: exact(result.expiresAtMicros) }
}

function eventView(event) {
  if (!(event instanceof Event)) throw new Error(`${event} is no event`)
  const text = event.data.toString('utf8')
  const isText = event.encoding === 'json' && Buffer.from(text, 'utf8').equals(event.data)
  return {
    id: event.id,
    stream: event.stream,
    partition: event.partition,
    sequence: event.sequence,
    timestamp: exact(event.timestampMicros),
    key: event.key ?? null,
    type: event.type ?? null,
    metadata: event.metadata,
    encoding: event.encoding,
    payload: isText ? text : event.data.toString('base64'),
    deduplicated: event.deduplicated,
  }
}

function leaseView(lease) {
  if (!(lease instanceof Lease)) throw new Error(`${lease} is no lease`)
  return {
    lease_id: lease.leaseId,
    receipt: lease.receipt,
    stream: lease.stream,
    group: lease.group,
    event: eventView(lease.event),
    consumer_id: lease.consumerId,
    attempt: lease.attempt,
    lease_ms: lease.leaseMs,
    leased_at: exact(lease.leasedAtMicros),
    expires_at: exact(lease.expiresAtMicros),
    token: lease.token,
  }
}

function partitionView({ partition, firstSequence, highWatermark, bytes, heldBy }) {
  const held_by = heldBy ? { sequence: heldBy.sequence, group: heldBy.group, dead_letter: heldBy.deadLetter } : null
  return { partition, first_sequence: firstSequence, high_watermark: highWatermark, bytes, held_by }
}

function lagView({ stream, group, partitions, lag }) {
  const views = Object.entries(partitions).map(([partition, { frontier, highWatermark, lag }]) => [
    partition,
    { frontier, high_watermark: highWatermark, lag },
  ])
  return { stream, group, partitions: Object.fromEntries(views), lag }
}

function infoView(info) {
  const { maxAttempts, maxDeliveries, ordering } = info.options
  return {
    lag: lagView(info.lag),
    inflight_count: info.inflightCount,
    available_count: info.availableCount,
    delayed_count: info.delayedCount,
    dead_letter_count: info.deadLetterCount,
    oldest_unsettled_at: info.oldestUnsettledAtMicros === undefined ? null : exact(info.oldestUnsettledAtMicros),
    options: { max_attempts: maxAttempts, max_deliveries: maxDeliveries, ordering },
  }
}

function deadLetterView(letter) {
  const { stream, group, eventId, partition, sequence, attempt, reason, deadLetteredAtMicros, event } = letter
  return {
    stream, group, event_id: eventId, partition, sequence, attempt, reason,
    dead_lettered_at: exact(deadLetteredAtMicros), event: eventView(event),
  }
}
