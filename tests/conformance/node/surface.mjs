// The package as the scenarios see it: an operation's name and arguments become calls, their results JSON.

import { Worker } from 'node:worker_threads'
import { ACK, Append, getInstance, open, openSync, reject, retry } from './rheo.mjs'
import { Mistake, compact, isObject, tokenParts } from './values.mjs'
import { errorView, viewOf } from './views.mjs'

/** The arguments of each operation besides its names: first those that stand alone, then its options. */
const OPERATIONS = {
  ping: [], ensure_indexes: [], close: [], capabilities: [],
  advance_clock: [['ms']],
  create_stream: [[], ['partition_count']],
  delete_stream: [[], ['confirm']],
  stream_info: [[]],
  list_streams: [],
  create_group: [[], ['max_attempts', 'max_deliveries', 'ordering', 'start_after', 'start_at', 'partitions']],
  update_group: [[], ['max_attempts', 'max_deliveries']],
  delete_group: [[]],
  list_groups: [[]],
  append: [['payload'], ['id', 'key', 'type', 'metadata', 'timestamp', 'partition', 'encoding']],
  append_batch: [['items'], ['id', 'key', 'type', 'metadata', 'timestamp', 'partition', 'encoding']],
  read: [[], ['after', 'limit', 'partition']],
  get: [['event_id']],
  query: [[], ['where', 'from', 'to', 'after_sequence', 'until_sequence', 'order_by', 'limit']],
  query_page: [[], ['where', 'from', 'to', 'after_sequence', 'until_sequence', 'order_by', 'limit'], ['cursor']],
  query_stream: [[], ['where', 'from', 'to', 'after_sequence', 'until_sequence', 'order_by', 'limit']],
  trim: [[], ['before_sequence', 'max_len', 'max_age_ms', 'max_bytes', 'force']],
  fetch: [[], ['limit', 'lease_ms', 'consumer_id', 'partitions', 'wait_ms']],
  lag: [[], ['partitions']],
  group_info: [[], ['partitions']],
  dead_letters: [[], ['limit', 'after', 'partitions']],
  discard_dead_letters: [[], ['event_ids', 'all']],
  replay: [[], ['from_sequence', 'from', 'event_ids', 'query', 'partitions']],
  reset_group: [[], ['confirm', 'start_after', 'start_at', 'partitions']],
  ack: [['lease']], release: [['lease']],
  retry: [['lease'], ['reason', 'delay_ms']],
  reject: [['lease'], ['reason']],
  renew: [['lease'], ['lease_ms']],
  ack_many: [['leases']], release_many: [['leases']],
  retry_many: [['leases'], ['reason', 'delay_ms']],
  reject_many: [['leases'], ['reason']],
  renew_many: [['leases'], ['lease_ms']],
}

const PRODUCER = ['max_demand', 'lease_ms', 'poll_ms', 'consumer_id', 'partitions', 'on_failure', 'retry_delay']

/** The arguments of what is done with a producer or a consumer, besides its name; the options of what starts one. */
const RUNTIME = {
  start_producer: PRODUCER,
  start_consumer: [...PRODUCER, 'concurrency', 'batch_size', 'batch_timeout_ms', 'max_lease_ms'],
  next: ['most', 'timeout_ms'], fail: ['lease', 'reason'], confirm: ['leases'], inflight_count: [],
  drain: ['timeout_ms'], close_producer: ['timeout_ms'], close_consumer: ['timeout_ms'],
  handled: ['count'], settled: [], ended: [],
}
/** How long to wait for what handlers do, in milliseconds. */
const SOON = 30_000

/** What a bound handle calls otherwise. */
const BOUND = {
  delete_stream: 'delete', stream_info: 'info', group_info: 'info', update_group: 'update', reset_group: 'reset',
  delete_group: 'delete',
}
const OF_STREAM = 'delete_stream stream_info list_groups append append_batch read get query query_page query_stream trim'.split(' ')
const OF_GROUP = 'fetch lag group_info dead_letters discard_dead_letters replay reset_group update_group delete_group'.split(' ')
const NAMED = [...OF_STREAM, ...OF_GROUP, 'create_stream', 'create_group']
const GROUPED = [...OF_GROUP, 'create_group']
const TIMES = ['timestamp', 'start_at', 'from', 'to', 'clock_start']
const SETTLES = /^(ack|retry|reject|release|renew)(_many)?$/

export const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase())

/** Threads that have nothing to do. */
const idle = []

/** A thread that makes calls; while nothing is waited for it keeps no process alive. */
class Thread {
  constructor() {
    this.waiting = []
    this.arrived = []
    this.worker = new Worker(new URL('background.mjs', import.meta.url))
    this.worker.unref()
    this.worker.on('message', (message) => {
      const resolve = this.waiting.shift()
      if (resolve) resolve(message)
      else this.arrived.push(message)
    })
    this.worker.on('error', (error) => {
      throw error
    })
  }

  /** The next message, after one to the thread if there is one. */
  async next(message) {
    this.worker.ref()
    if (message) this.worker.postMessage(message)
    try {
      return this.arrived.shift() ?? (await new Promise((resolve) => this.waiting.push(resolve)))
    } finally {
      if (this.waiting.length === 0) this.worker.unref()
    }
  }
}

/** A failure that the library named. */
export class LibraryError extends Error {
  constructor(view) {
    super(view.message)
    this.view = view
  }
}

/** Calls something of the library; what it throws has a view. */
async function named(call) {
  try {
    return await call()
  } catch (error) {
    throw error instanceof Mistake ? error : new LibraryError(errorView(error))
  }
}

/** An instance and how it is called. `way` is `{bound, tokens, sync}`. */
export class Surface {
  constructor(db, way, leases, runtimes = new Map()) {
    this.db = db
    this.way = way
    this.leases = leases
    this.runtimes = runtimes
    this.bound = new Map()
  }

  view() {
    return { name: this.db.name ?? null }
  }

  /** Calls an operation. */
  async call(op, given) {
    if (op === 'inject') {
      const { fault, operation, count } = given
      return this.call('create_stream', { stream: `flaky!${fault}:${operation}:${count}` })
    }
    return viewOf(op, await named(() => this.make(op, { ...given })))
  }

  /**
   * Calls an operation in the background: in a promise, or, where calls block, on a thread of its own. Gives, once that thread has the
   * instance, the promise of the answer, in an object.
   */
  async start(op, given) {
    // Producers and consumers do nothing that blocks, and stay on their own thread.
    if (!this.way.sync || isRuntime(op, given)) return { answer: this.call(op, given) }
    const thread = idle.pop() ?? new Thread()
    await thread.next({ name: this.db.name, op, given, way: this.way })
    const answer = thread.next().then(({ view, error }) => {
      idle.push(thread)
      if (error) throw new LibraryError(error)
      return view
    })
    return { answer }
  }

  async make(op, args) {
    if (isRuntime(op, args)) return this.runtime(op, args)
    const shape = OPERATIONS[op]
    if (!shape) throw new Mistake(`there is no operation ${op}`)
    if (SETTLES.test(op)) return this.settle(op, args)
    const names = []
    if (NAMED.includes(op)) names.push(take(args, 'stream'))
    if (GROUPED.includes(op)) names.push(take(args, 'group'))
    if (op === 'append') content(args)
    if (op === 'append_batch') args.items = take(args, 'items').map(item)
    let subject = this.db
    let method = op
    if (this.way.bound && (OF_STREAM.includes(op) || OF_GROUP.includes(op))) {
      subject = this.handle(names)
      method = BOUND[op] ?? op
      names.length = 0
    }
    const values = this.values(shape, args)
    const result = await this.invoke(subject, method, [...names, ...values])
    if (op !== 'query_stream') return result
    const events = []
    for await (const event of result) events.push(event)
    return events
  }

  async settle(op, args) {
    const isMany = op.endsWith('_many')
    const given = isMany ? take(args, 'leases') : [take(args, 'lease')]
    let subject = this.db
    if (this.way.bound) {
      const groups = new Set(given.map(groupOf).map((names) => JSON.stringify(names)))
      if ('stream' in args) groups.clear(), groups.add(JSON.stringify([take(args, 'stream'), take(args, 'group')]))
      const [names] = groups
      if (groups.size === 1 && names !== 'null') subject = this.handle(JSON.parse(names))
    }
    const byToken = this.way.tokens
    const leases = given.map((lease) => (byToken || typeof lease === 'string' ? tokenOf(lease) : this.leases.get(lease.token) ?? tokenOf(lease)))
    const [, options] = OPERATIONS[op]
    return this.invoke(subject, op, [isMany ? leases : leases[0], ...this.values([[], options], args)])
  }

  /** Starts a producer or a consumer, or does something with one. */
  async runtime(op, args) {
    if (op === 'start_producer' || op === 'start_consumer') return this.startRuntime(op, args)
    const name = take(args, 'producer' in args ? 'producer' : 'consumer')
    const held = this.runtimes.get(name)
    if (!held) throw new Mistake(`nothing was started as ${name}`)
    const { runtime, handled } = held
    if (SETTLES.test(op) || op === 'fail') return this.settleThrough(runtime, op, args)
    const options = Object.fromEntries(RUNTIME[op].flatMap((name) => (name in args ? [[camel(name), take(args, name)]] : [])))
    checkNone(args)
    switch (op) {
      case 'next': {
        const leases = await runtime.next({ timeoutMs: 0, ...options })
        // Apart from those of fetches: who settles one without its producer does so elsewhere, by its token.
        for (const lease of leases ?? []) this.leases.set(`producer ${lease.token}`, lease)
        return leases ?? 'stopped'
      }
      case 'confirm':
        return runtime.confirm(options.leases.map((lease) => (this.way.tokens ? tokenOf(lease) : isObject(lease) ? lease.lease_id : lease)))
      case 'inflight_count':
        return runtime.inflightCount
      case 'drain':
        return runtime.drain({ timeoutMs: 0, ...options })
      case 'close_producer':
      case 'close_consumer':
        return runtime.close({ timeoutMs: 0, ...options })
      case 'handled':
        await until(() => handled.length >= options.count, () => `the handler was called for ${handled.length} events`)
        return handled.slice()
      case 'settled':
        return until(() => runtime.inflightCount === 0, () => `the consumer holds ${runtime.inflightCount} leases`)
      default:
        return soon(runtime.wait(), 'the consumer has not ended')
    }
  }

  startRuntime(op, args) {
    const [name, stream, group] = ['as', 'stream', 'group'].map((name) => take(args, name))
    const outcomes = 'outcomes' in args ? take(args, 'outcomes').slice() : []
    const options = Object.fromEntries(RUNTIME[op].flatMap((name) => (name in args ? [[camel(name), take(args, name)]] : [])))
    checkNone(args)
    const handled = []
    const said = (event, lease) => {
      handled.push({ event_id: event.id, attempt: lease.attempt })
      const outcome = outcomes.shift() ?? 'ack'
      if (outcome === 'ack') return ACK
      if (outcome === 'nothing') return undefined
      const [[kind, { reason, delay_ms }]] = Object.entries(outcome)
      if (kind === 'retry') return retry(reason, { delayMs: delay_ms })
      if (kind === 'reject') return reject(reason)
      return new Error(reason)
    }
    const one = (event, { lease }) => {
      const outcome = said(event, lease)
      if (outcome instanceof Error) throw outcome
      return outcome
    }
    const many = (events, { leases }) => events.map((event, at) => said(event, leases[at]))
    const handler = options.batchSize === undefined ? one : many
    // Handlers that give promises, too.
    const given = [...(op === 'start_consumer' ? [this.way.sync ? handler : async (...all) => handler(...all)] : []), options]
    const method = op === 'start_consumer' ? 'consumer' : 'producer'
    const runtime = this.way.bound ? this.db.group(stream, group)[method](...given) : this.db[method](stream, group, ...given)
    this.runtimes.set(name, { runtime, handled })
  }

  settleThrough(producer, op, args) {
    const sync = this.way.sync ? 'Sync' : ''
    const given = op.endsWith('_many') ? take(args, 'leases') : [take(args, 'lease')]
    const leases = given.map((lease) => (this.way.tokens ? tokenOf(lease) : this.leases.get(`producer ${tokenOf(lease)}`) ?? tokenOf(lease)))
    const [, options] = OPERATIONS[op] ?? [[], ['reason']]
    const values = this.values([[], options], args)
    if (op === 'ack_many') return producer[`ackMany${sync}`](leases)
    // A lease settles through its producer by itself, and where the instance is asked.
    if (op === 'renew' || (this.way.bound && !this.way.tokens && op === 'ack')) return this.db[`${op}${sync}`](leases[0], ...values)
    return producer[`${op}${sync}`](leases[0], ...values)
  }

  /** The values of a call, in their order. */
  values([first = [], options, last = []], args) {
    const values = first.map((name) => take(args, name))
    const named = {}
    for (const name of options ?? []) {
      if (name in args) named[camel(name)] = translated(name, take(args, name))
    }
    const rest = last.map((name) => (name in args ? take(args, name) : undefined))
    checkNone(args)
    if (Object.keys(named).length > 0) values.push(named)
    else if (rest.some((value) => value !== undefined)) values.push(undefined)
    return [...values, ...rest]
  }

  async invoke(subject, method, values) {
    const name = camel(method) + (this.way.sync && method !== 'capabilities' ? 'Sync' : '')
    const result = await subject[name](...values)
    if (method === 'fetch') for (const lease of result) this.leases.set(lease.token, lease)
    return result
  }

  handle(names) {
    const key = JSON.stringify(names)
    if (!this.bound.has(key)) this.bound.set(key, names.length === 1 ? this.db.stream(...names) : this.db.group(...names))
    return this.bound.get(key)
  }
}

/** What one scenario has of the library. */
export class Session {
  constructor(url, way) {
    this.url = url
    this.way = way
    this.stores = 0
    this.leases = new Map()
    this.runtimes = new Map()
    this.surfaces = []
  }

  async open(url, options, unnamed) {
    const given = Object.fromEntries(Object.entries(options).map(([name, value]) => [camel(name), translated(name, value)]))
    // A thread of its own finds the instance by a name.
    if (this.way.sync && !('name' in given)) given.name = unnamed
    const at = url ?? this.url.replaceAll('{number}', String(this.stores++))
    return this.kept(await named(() => (this.way.sync ? openSync(at, given) : open(at, given))))
  }

  async find(name) {
    const db = await named(() => getInstance(name))
    return db && this.kept(db)
  }

  /** Closes every instance. Whether that works is for scenarios of their own. */
  async close() {
    for (const { runtime } of this.runtimes.values()) await runtime.close({ timeoutMs: 0 })
    for (const { db } of this.surfaces) await db.close().catch(() => undefined)
  }

  kept(db) {
    this.surfaces.push(new Surface(db, this.way, this.leases, this.runtimes))
    return this.surfaces.at(-1)
  }
}

const isRuntime = (op, args) => op in RUNTIME || (SETTLES.test(op) && 'producer' in args)

/** Waits for something that handlers bring about. */
async function until(holds, why) {
  const deadline = performance.now() + SOON
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`${why()} after ${SOON / 1000} seconds`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

async function soon(promise, why) {
  let timer
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`${why} after ${SOON / 1000} seconds`)), SOON)))
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

function checkNone(args) {
  const [strange] = Object.keys(args)
  if (strange) throw new Mistake(`there is no argument ${strange}`)
}

function take(args, name) {
  if (!(name in args)) throw new Mistake(`it needs the argument ${name}`)
  const value = args[name]
  delete args[name]
  return value
}

/** An argument as the package takes it. */
function translated(name, value) {
  if (TIMES.includes(name) && (typeof value === 'number' || typeof value === 'bigint')) return BigInt(value)
  if (name === 'query' && isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [camel(name), translated(name, field)]))
  }
  return value
}

const tokenOf = (lease) => {
  const token = isObject(lease) ? lease.token : lease
  if (typeof token !== 'string') throw new Mistake(`${lease} is neither a lease nor a token`)
  return token
}

function groupOf(lease) {
  if (isObject(lease)) return [lease.stream, lease.group]
  try {
    const { stream, group } = tokenParts(tokenOf(lease))
    return [stream, group]
  } catch {
    return null
  }
}

/** Turns the payload of an append into what the package takes. */
function content(args) {
  if ('encoding' in args) throw new Mistake('encoding belongs into the payload')
  const { json, text, bytes_text, bytes_hex, encoding, ...rest } = take(args, 'payload')
  if (Object.keys(rest).length > 0) throw new Mistake(`${compact(rest)} does not belong into a payload`)
  if (json !== undefined) args.payload = json
  else if (text !== undefined) Object.assign(args, { payload: Buffer.from(text), encoding: 'json' })
  else if (bytes_text !== undefined) args.payload = Buffer.from(bytes_text)
  else if (bytes_hex !== undefined) args.payload = Buffer.from(bytes_hex, 'hex')
  else throw new Mistake('that is no payload')
  if (encoding !== undefined) args.encoding = encoding
  return args
}

function item(given) {
  const { payload, ...options } = content({ ...given })
  const named = Object.entries(options).map(([name, value]) => [camel(name), translated(name, value)])
  return named.length > 0 ? new Append(payload, Object.fromEntries(named)) : payload
}
