// A pipeline with a producer at its head: events → a transform → a file of results, written and synced many at a time. An event is acked only
// when the file has its result, so a kill at any moment loses nothing; what was written and not acked comes again, and is known by its id.
//
//     node pipeline.mjs JOURNAL RESULTS        goes on until SIGTERM; ends then with what it has begun

import { closeSync, existsSync, fsyncSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs'
import { Transform, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { open } from 'rheo'

const [journal, results] = process.argv.slice(2)

/** A sink that has what it says it has: results by event id, in a file. */
class Results extends Writable {
  #file
  #ids

  constructor(path, producer) {
    super({ objectMode: true, highWaterMark: 64 })
    this.producer = producer
    const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
    // A kill may have cut the last line.
    const whole = text.slice(0, text.lastIndexOf('\n') + 1)
    if (whole.length < text.length) truncateSync(path, Buffer.byteLength(whole))
    this.#ids = new Set(whole.split('\n').filter(Boolean).map((line) => JSON.parse(line).id))
    this.#file = openSync(path, 'a')
  }

  _write(chunk, _encoding, done) {
    this._writev([{ chunk }], done)
  }

  // Whatever has gathered goes in one write, one sync and one ack.
  _writev(chunks, done) {
    const all = chunks.map(({ chunk }) => chunk)
    const fresh = all.filter(({ lease }) => !this.#ids.has(lease.event.id))
    writeSync(this.#file, fresh.map(({ lease, result }) => `${JSON.stringify({ id: lease.event.id, result })}\n`).join(''))
    fsyncSync(this.#file)
    for (const { lease } of fresh) this.#ids.add(lease.event.id)
    this.producer.ackMany(all.map(({ lease }) => lease)).then(() => done(), done)
  }

  _final(done) {
    closeSync(this.#file)
    done()
  }
}

const work = new Transform({
  objectMode: true,
  highWaterMark: 64,
  transform(lease, _encoding, done) {
    done(null, { lease, result: lease.event.payload.n ** 2 })
  },
})

const db = await open(`journal:${journal}`)
const producer = db.producer('numbers', 'squares', { maxDemand: 200 })
process.once('SIGTERM', () => producer.drain())
await pipeline(producer.readable({ highWaterMark: 64 }), work, new Results(results, producer))
await db.close()
