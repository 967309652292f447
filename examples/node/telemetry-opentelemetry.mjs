// Feeds OpenTelemetry from Rheo's channels: durations as histograms, the rest as counters and gauges.
//
// `meter` is one of @opentelemetry/api: `metrics.getMeter('rheo')`. Here a stand-in prints, so that the example runs alone.

import { subscribe } from 'node:diagnostics_channel'
import { open } from 'rheo'

const SPANS = ['append', 'append_batch', 'query', 'fetch', 'renew', 'ack', 'retry', 'reject', 'release']
const COUNTERS = ['stream.create', 'group.create', 'lease', 'redelivery', 'dead_letter', 'group.replay', 'group.reset']

/** Feeds a meter. Call it before opening: an instance tells its work if somebody listens then. */
export function observe(meter) {
  const attributes = ({ instance, stream, group, partition, error }) => ({
    'rheo.instance': instance, 'rheo.stream': stream, 'rheo.group': group, 'rheo.partition': partition, 'error.type': error,
  })
  for (const name of SPANS) {
    const durations = meter.createHistogram(`rheo.${name}.duration`, { unit: 'ms' })
    const events = meter.createCounter(`rheo.${name}.events`)
    subscribe(`rheo:${name}`, (message) => {
      durations.record(message.durationMs, attributes(message))
      events.add(message.count, attributes(message))
    })
  }
  for (const name of COUNTERS) {
    const counter = meter.createCounter(`rheo.${name}`)
    subscribe(`rheo:${name}`, (message) => counter.add(message.count, attributes(message)))
  }
  const frontier = meter.createGauge('rheo.group.frontier')
  subscribe('rheo:group.frontier', (message) => frontier.record(message.count, attributes(message)))
}

const printing = (name) => (value, { 'rheo.stream': stream, 'rheo.group': group }) => console.log(name, value, stream, group ?? '')
observe({
  createHistogram: (name) => ({ record: printing(name) }),
  createCounter: (name) => ({ add: printing(name) }),
  createGauge: (name) => ({ record: printing(name) }),
})

const db = await open('memory:')
await db.createStream('orders')
await db.createGroup('orders', 'billing')
await db.append('orders', { total: 12.5 })
await (await db.fetch('orders', 'billing')).ack()
await db.lag('orders', 'billing')
await db.close()
