import { channel, type Channel } from 'node:diagnostics_channel'

/** What happened; each is a channel of `node:diagnostics_channel`, `rheo:` in front. */
const NAMES = [
  'append', 'append_batch', 'query', 'fetch', 'renew', 'ack', 'retry', 'reject', 'release',
  'stream.create', 'group.create', 'lease', 'redelivery', 'dead_letter', 'group.frontier', 'group.replay', 'group.reset',
  'consumer.start', 'consumer.stop', 'producer.start', 'producer.stop', 'fetch.error', 'settle.error', 'handler.error', 'worker.crash',
] as const

/** The name of a telemetry event. Its channel is `rheo:NAME`. */
export type TelemetryName = (typeof NAMES)[number]

/**
 * What the channels of `node:diagnostics_channel` get: `rheo:append`, `rheo:append_batch`, `rheo:query`, `rheo:fetch`, `rheo:renew`,
 * `rheo:ack`, `rheo:retry`, `rheo:reject`, `rheo:release` (spans, with a duration), and the counters `rheo:stream.create`,
 * `rheo:group.create`, `rheo:lease`, `rheo:redelivery`, `rheo:dead_letter`, `rheo:group.replay`, `rheo:group.reset` and the
 * gauge `rheo:group.frontier`; and of producers and consumers `rheo:consumer.start`, `rheo:consumer.stop`, `rheo:producer.start`, `rheo:producer.stop`,
 * `rheo:fetch.error`, `rheo:settle.error`, `rheo:handler.error` (`rheo:worker.crash` is told of threads of handlers, which Node has none of).
 */
export interface TelemetryMessage {
  /** What happened. */
  readonly name: TelemetryName
  /** The name of the instance, if it has one. */
  readonly instance: string | undefined
  /** The stream's name. */
  readonly stream: string
  /** The group's name, where it is about a group. */
  readonly group: string | undefined
  /** The partition, where it is about one. */
  readonly partition: number | undefined
  /** The measurement: events, leases, deliveries; of a gauge its value. */
  readonly count: number
  /** How many leases of a settle or a renewal failed. */
  readonly failed: number
  /** How long a span took, in milliseconds. */
  readonly durationMs: number | undefined
  /** The contract's name of the error with which a span failed, such as `stale_lease`. */
  readonly error: string | undefined
}

const channels = new Map<string, Channel>(NAMES.map((name) => [name, channel(`rheo:${name}`)]))
const dropped = channel('rheo:dropped')

/** Whether anybody listens. */
export function isListenedTo(): boolean {
  for (const each of channels.values()) if (each.hasSubscribers) return true
  return false
}

/** Publishes what came from the native half. */
export function publish(told: unknown[][], untold: number): void {
  for (const [name, instance, stream, group, partition, count, failed, durationMs, error] of told) {
    const to = channels.get(name as string)
    if (to?.hasSubscribers) to.publish({ name, instance, stream, group, partition, count, failed, durationMs, error })
  }
  if (untold > 0) dropped.publish({ count: untold })
}
