// What is measured: the same work by Rheo, by a better-sqlite3 queue and by Redis Streams. Each case gives nanoseconds for one event.

import Database from 'better-sqlite3'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'redis'
import { openSync } from '../../bindings/node/dist/index.mjs'
import { hundred, payload } from './payload.mjs'

/** Times some work; gives nanoseconds for one of `count` events. */
async function timed(count, work) {
  const started = process.hrtime.bigint()
  await work()
  return Number(process.hrtime.bigint() - started) / count
}

/** What reads a payload: something that nobody can leave out. */
let seen = 0
const look = (value) => {
  seen += value.order
}

/** The floor of all that encodes. */
export function floor() {
  const count = 50_000
  return {
    stringify: () =>
      timed(count, () => {
        for (let n = 0; n < count; n++) seen += JSON.stringify(payload(n)).length
      }),
    close() {},
  }
}

/** Rheo on a store. Memory that was given back is used again, so that nothing cold is measured; a journal keeps its files. */
export function rheo(url, count = 50_000, deletes = true) {
  const db = openSync(url)
  let round = 0
  /** A fresh stream and a group, with so many events; what was there before is given back. */
  const fresh = (events) => {
    if (round > 0 && deletes) db.deleteStreamSync(`s${round}`, { confirm: true })
    round++
    db.createStreamSync(`s${round}`)
    db.createGroupSync(`s${round}`, 'g')
    const [stream, group] = [db.stream(`s${round}`), db.group(`s${round}`, 'g')]
    for (let n = 0; n < events / 100; n++) stream.appendBatchSync(hundred)
    return { stream, group, name: `s${round}` }
  }
  return {
    append() {
      const { stream } = fresh(0)
      return timed(count, () => {
        for (let n = 0; n < count; n++) stream.appendSync(payload(n))
      })
    },
    append_by_name() {
      const { name } = fresh(0)
      return timed(count, () => {
        for (let n = 0; n < count; n++) db.appendSync(name, payload(n))
      })
    },
    append_awaited() {
      const { stream } = fresh(0)
      return timed(count, async () => {
        for (let n = 0; n < count; n++) await stream.append(payload(n))
      })
    },
    append_batch() {
      const { stream } = fresh(0)
      return timed(count, () => {
        for (let n = 0; n < count / 100; n++) stream.appendBatchSync(hundred)
      })
    },
    fetch_100_decoded() {
      const { group } = fresh(count)
      return timed(count, () => {
        for (let n = 0; n < count / 100; n++) {
          const leases = group.fetchSync({ limit: 100 })
          for (const lease of leases) look(lease.event.payload)
          group.ackManySync(leases)
        }
      })
    },
    fetch_100_untouched() {
      const { group } = fresh(count)
      return timed(count, () => {
        for (let n = 0; n < count / 100; n++) group.ackManySync(group.fetchSync({ limit: 100 }))
      })
    },
    fetch_one() {
      const { group } = fresh(count)
      return timed(count, () => {
        for (let n = 0; n < count; n++) {
          const [lease] = group.fetchSync({ limit: 1 })
          look(lease.event.payload)
          lease.ackSync()
        }
      })
    },
    close: () => db.closeSync(),
  }
}

/** A queue in SQLite as one would write it: WAL, synchronous NORMAL, statements prepared once, an index for what is claimable. */
export function sqlite(count = 3000) {
  const place = mkdtempSync(join(tmpdir(), 'rheo-bench-'))
  const db = new Database(join(place, 'queue.db'))
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = NORMAL')
  db.exec(`CREATE TABLE queue (id INTEGER PRIMARY KEY AUTOINCREMENT, payload TEXT NOT NULL, leased_until INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0);
           CREATE INDEX claimable ON queue (leased_until, id)`)
  const insert = db.prepare('INSERT INTO queue (payload) VALUES (?)')
  const claim = db.prepare(`UPDATE queue SET leased_until = ?, attempts = attempts + 1
    WHERE id IN (SELECT id FROM queue WHERE leased_until < ? ORDER BY leased_until, id LIMIT ?) RETURNING id, payload`)
  const remove = db.prepare('DELETE FROM queue WHERE id = ?')
  const insertAll = db.transaction((items) => {
    for (const item of items) insert.run(JSON.stringify(item))
  })
  const removeAll = db.transaction((rows) => {
    for (const row of rows) remove.run(row.id)
  })
  const fresh = (events) => {
    db.exec('DELETE FROM queue')
    for (let n = 0; n < events / 100; n++) insertAll(hundred)
  }
  const take = (limit) => {
    const now = Date.now()
    return claim.all(now + 30_000, now, limit)
  }
  return {
    append() {
      fresh(0)
      return timed(count, () => {
        for (let n = 0; n < count; n++) insert.run(JSON.stringify(payload(n)))
      })
    },
    append_batch() {
      fresh(0)
      return timed(count, () => {
        for (let n = 0; n < count / 100; n++) insertAll(hundred)
      })
    },
    fetch_100_decoded() {
      fresh(count)
      return timed(count, () => {
        for (let n = 0; n < count / 100; n++) {
          const rows = take(100)
          for (const row of rows) look(JSON.parse(row.payload))
          removeAll(rows)
        }
      })
    },
    fetch_100_untouched() {
      fresh(count)
      return timed(count, () => {
        for (let n = 0; n < count / 100; n++) removeAll(take(100))
      })
    },
    fetch_one() {
      fresh(count)
      return timed(count, () => {
        for (let n = 0; n < count; n++) {
          const [row] = take(1)
          look(JSON.parse(row.payload))
          remove.run(row.id)
        }
      })
    },
    close() {
      db.close()
      rmSync(place, { recursive: true, force: true })
    },
  }
}

/** Redis Streams over loopback, by node-redis. */
export async function redis(port, count = 2000) {
  const client = createClient({ url: `redis://127.0.0.1:${port}` })
  await client.connect()
  const add = (item) => client.xAdd('s', '*', { p: JSON.stringify(item) })
  const fresh = async (events) => {
    await client.del('s')
    await client.xGroupCreate('s', 'g', '0', { MKSTREAM: true })
    for (let n = 0; n < events / 100; n++) await Promise.all(hundred.map(add))
  }
  const take = async (limit) => {
    const [{ messages }] = await client.xReadGroup('g', 'c', [{ key: 's', id: '>' }], { COUNT: limit })
    return messages
  }
  return {
    async append() {
      await fresh(0)
      return timed(count, async () => {
        for (let n = 0; n < count; n++) await add(payload(n))
      })
    },
    async append_batch() {
      await fresh(0)
      return timed(count * 5, async () => {
        for (let n = 0; n < count / 20; n++) await Promise.all(hundred.map(add))
      })
    },
    async fetch_100_decoded() {
      await fresh(count * 5)
      return timed(count * 5, async () => {
        for (let n = 0; n < count / 20; n++) {
          const messages = await take(100)
          for (const { message } of messages) look(JSON.parse(message.p))
          await client.xAck('s', 'g', messages.map(({ id }) => id))
        }
      })
    },
    async fetch_one() {
      await fresh(count)
      return timed(count, async () => {
        for (let n = 0; n < count; n++) {
          const [{ id, message }] = await take(1)
          look(JSON.parse(message.p))
          await client.xAck('s', 'g', id)
        }
      })
    },
    close: () => client.destroy(),
  }
}
