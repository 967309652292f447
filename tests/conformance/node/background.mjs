// Calls on a thread of their own, one after the other, on instances found by name.

import { parentPort } from 'node:worker_threads'
import { getInstance } from './rheo.mjs'
import { LibraryError, Surface } from './surface.mjs'

parentPort.on('message', async ({ name, op, given, way }) => {
  const surface = new Surface(getInstance(name), way, new Map())
  // Whoever started this may go on now, and close the instance: the call finds that out by itself.
  parentPort.postMessage('ready')
  try {
    parentPort.postMessage({ view: await surface.call(op, given) })
  } catch (error) {
    if (!(error instanceof LibraryError)) throw error
    parentPort.postMessage({ error: error.view })
  }
})
