// Runs scenarios. ../README.md says what each part of them means.

import { setTimeout as sleep } from 'node:timers/promises'
import { difference } from './matching.mjs'
import { LibraryError } from './surface.mjs'
import { CLOCK_START, Lacking, Mistake, isObject, resolve, shown } from './values.mjs'

/** How long a join waits, in milliseconds: far more than anything takes, and less than the minute of a missed wake-up. */
const JOIN_DEADLINE = 30_000
/** The name under which a run keeps the instance under test. */
const UNDER_TEST = ''

const WANTED = ['expect', 'expect_error', 'save']
const STEPS = {
  op: [[], ['args', 'on', 'as', ...WANTED]],
  start: [['as'], []],
  join: [[], ['meanwhile', ...WANTED]],
  repeat: [['steps'], []],
}

let runs = 0

/** A step did not do what it should. */
export class Failed extends Error {
  constructor(call, expected, got) {
    super(`${call}: expected ${expected}, got ${got}`)
    Object.assign(this, { call, expected, got, step: '' })
  }
}

/** One run of a scenario. */
export class Run {
  constructor(session) {
    this.session = session
    this.unique = `${process.pid}-${runs++}`
    this.targets = new Map()
    this.saved = {}
    this.background = new Map()
  }

  async scenario({ options = {}, requires = [], steps }) {
    try {
      await at('0', () => this.step({ op: 'open', args: options, as: UNDER_TEST }))
      await at('0', () => this.require(requires))
      await this.steps(steps)
    } finally {
      await at('the end', () => this.end())
    }
  }

  async require(names) {
    const { guarantees } = await this.targets.get(UNDER_TEST).call('capabilities', {})
    const unknown = names.filter((name) => !(name in guarantees))
    if (unknown.length > 0) throw new Mistake(`there are no guarantees ${unknown}`)
    const missing = names.filter((name) => !guarantees[name])
    if (missing.length > 0) throw new Lacking(missing.map((name) => `the guarantee ${name}`).join(', '))
  }

  /** Closes every instance, which ends every call that still waits. */
  async end() {
    await this.session.close()
    for (const { text, promise } of this.background.values()) {
      const ended = await Promise.race([promise.then(() => true, () => true), sleep(JOIN_DEADLINE, false, { ref: false })])
      if (!ended) throw new Failed(text, 'an end soon after close', 'none')
    }
  }

  async steps(steps, within = '', index) {
    for (const [position, step] of steps.entries()) {
      const place = index === undefined ? `${position + 1}` : `${within}.${position + 1} (round ${index + 1})`
      await at(place, () => checkForm(step))
      if ('repeat' in step) {
        for (let turn = 0; turn < step.repeat; turn++) await this.steps(step.steps, place, turn)
      } else {
        await at(place, () => this.step(step, index))
      }
    }
  }

  async step(step, index) {
    if ('start' in step) return this.start(step.start, step.as, index)
    const [text, make] = 'join' in step ? this.joining(step, index) : this.prepared(step, index)
    const result = await this.compared(text, make, step, index)
    if ('save' in step) this.saved[step.save] = result
    return undefined
  }

  resolved(value, index) {
    return resolve({ saved: this.saved, unique: this.unique, index }, value)
  }

  prepared(call, index) {
    const { op, args: given = {}, as } = call
    const args = this.resolved(given, index)
    const text = `${op} ${shown(args)}`
    if (op === 'open') return [text, () => this.open(args, as)]
    if (op === 'get_instance') return [text, () => this.find(args, as)]
    const target = this.targets.get(call.on ?? UNDER_TEST)
    if (!target) throw new Mistake(`no instance is called ${call.on}`)
    return [text, () => target.call(op, op.startsWith('start_') ? { ...args, as } : args)]
  }

  async start(call, name, index) {
    const args = this.resolved(call.args ?? {}, index)
    const target = this.targets.get(call.on ?? UNDER_TEST)
    const { answer: promise } = await target.start(call.op, args)
    promise.catch(() => undefined)
    this.background.set(name, { text: `${call.op} ${shown(args)}`, promise })
  }

  joining(step, index) {
    const started = this.background.get(step.join)
    if (!started) throw new Mistake(`nothing was started as ${step.join}`)
    const { text, promise } = started
    const wait = async () => {
      const deadline = performance.now() + JOIN_DEADLINE
      const pending = Symbol('pending')
      for (;;) {
        const pause = sleep(step.meanwhile ? 1 : JOIN_DEADLINE, pending, { ref: false })
        const result = await Promise.race([promise, pause])
        if (result !== pending) return result
        if (performance.now() >= deadline) throw new Failed(text, 'an answer', `none within ${JOIN_DEADLINE / 1000} seconds`)
        if (step.meanwhile) await this.compared(...this.prepared(step.meanwhile, index), {}, index)
      }
    }
    return [text, wait]
  }

  async open({ url, ...options }, name) {
    const given = 'clock' in options ? options : { clock: 'manual', clock_start: CLOCK_START, ...options }
    const target = await this.session.open(url, given, `unnamed-${this.unique}-${this.targets.size}-${name ?? ''}`)
    if (name !== undefined) this.targets.set(name, target)
    return null
  }

  async find(args, name) {
    if (Object.keys(args).join() !== 'name') throw new Mistake(`get_instance takes a name, not ${shown(args)}`)
    const target = await this.session.find(args.name)
    if (target && name !== undefined) this.targets.set(name, target)
    return target ? target.view() : null
  }

  /** Makes a call, compares what came with what is expected, and gives it back. */
  async compared(call, make, step, index) {
    const wantsError = 'expect_error' in step
    let wanted = this.resolved(wantsError ? step.expect_error : step.expect, index)
    const expected = wantsError ? `the error ${shown(wanted)}` : 'expect' in step ? shown(wanted) : 'success'
    let result
    try {
      result = await make()
      if (wantsError) throw new Failed(call, expected, `success: ${shown(result)}`)
    } catch (error) {
      if (!(error instanceof LibraryError)) throw error
      if (!wantsError) throw new Failed(call, expected, `the error ${shown(error.view)}`)
      result = error.view
      if (!isObject(wanted)) wanted = { code: wanted }
    }
    const differs = wantsError || 'expect' in step ? difference(wanted, result) : undefined
    if (differs) throw new Failed(call, expected, `${shown(result)} (${differs})`)
    return result
  }
}

async function at(place, action) {
  try {
    await action()
  } catch (error) {
    if (error instanceof Lacking) throw error
    let failure = error
    if (error instanceof Mistake) failure = new Failed('the scenario', 'a well-formed step', error.message)
    else if (!(error instanceof Failed)) failure = new Failed('the runner', 'no exception', error.stack ?? String(error))
    failure.step ||= place
    throw failure
  }
}

function checkForm(step) {
  const kinds = Object.keys(step).filter((name) => name in STEPS)
  const [required, optional] = kinds.length === 1 ? STEPS[kinds[0]] : [['one of these'], []]
  const known = [...kinds, ...required, ...optional]
  const isComplete = required.every((name) => name in step) && Object.keys(step).every((name) => known.includes(name))
  if (!isComplete || ('expect' in step && 'expect_error' in step)) {
    throw new Mistake(`a step is one call, start, join or repeat, with what belongs to it, not ${shown(step)}`)
  }
}
