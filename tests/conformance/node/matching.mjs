// Whether what came is what was expected.

import { isObject, shown } from './values.mjs'

/** Where and how `actual` differs from what is expected; undefined when it matches. */
export function difference(expected, actual, path = 'it') {
  return differences(expected, actual, path).next().value
}

function* differences(expected, actual, path) {
  if (isObject(expected) && Object.keys(expected).some((name) => name.startsWith('$'))) {
    for (const [name, wanted] of Object.entries(expected)) yield* unmatched(name, wanted, actual, path)
  } else if (isObject(expected) && isObject(actual)) {
    for (const [name, wanted] of Object.entries(expected)) {
      yield* differences(wanted, Object.hasOwn(actual, name) ? actual[name] : null, `${path}.${name}`)
    }
  } else if (Array.isArray(expected) && Array.isArray(actual)) {
    if (expected.length !== actual.length) {
      yield `${path}: ${actual.length} elements instead of ${expected.length}: ${shown(actual)}`
      return
    }
    for (let at = 0; at < expected.length; at++) yield* differences(expected[at], actual[at], `${path}.${at}`)
  } else if (!equal(expected, actual)) {
    yield `${path}: ${shown(actual)} instead of ${shown(expected)}`
  }
}

function* unmatched(name, wanted, actual, path) {
  let holds = false
  switch (name) {
    case '$any':
      holds = wanted === true && actual !== null && actual !== undefined
      break
    case '$type':
      holds = typeOf(actual) === wanted
      break
    case '$ge':
      holds = isNumber(actual) && actual >= wanted
      break
    case '$le':
      holds = isNumber(actual) && actual <= wanted
      break
    case '$len':
      holds = Array.isArray(actual) && actual.length === wanted
      break
    case '$each':
      if (!Array.isArray(actual)) break
      for (const [at, element] of actual.entries()) yield* differences(wanted, element, `${path}.${at}`)
      return
    case '$set':
      holds = Array.isArray(actual) && actual.length === wanted.length && assigned(wanted, actual)
      break
    case '$ascending':
      holds = Array.isArray(actual) && actual.every((element, at) => at === 0 || ascends(actual[at - 1]?.[wanted], element?.[wanted]))
      break
    case '$exact':
      if (!isObject(actual)) break
      for (const other of Object.keys(actual)) {
        if (!Object.hasOwn(wanted, other)) yield `${path}: has a field ${other} that is not expected`
      }
      yield* differences(wanted, actual, path)
      return
    case '$not':
      holds = difference(wanted, actual) !== undefined
      break
    case '$contains':
      holds = typeof actual === 'string' && actual.includes(wanted)
      break
    case '$text_max_bytes':
      holds = typeof actual === 'string' && Buffer.byteLength(actual) <= wanted
      break
    case '$mask':
      holds = typeof actual === 'string' && actual.length === wanted.length
        && Array.from(wanted).every((sign, at) => (sign === '#' ? /[0-9a-f]/.test(actual[at]) : sign === actual[at]))
      break
    case '$json': {
      if (typeof actual !== 'string') break
      let parsed
      try {
        parsed = JSON.parse(actual)
      } catch (error) {
        yield `${path}: ${shown(actual)} is not JSON: ${error.message}`
        return
      }
      yield* differences(wanted, parsed, `${path}.$json`)
      return
    }
    default:
  }
  if (!holds) yield `${path}: ${shown(actual)} instead of ${shown({ [name]: wanted })}`
}

function typeOf(value) {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'bigint') return 'integer'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}

const isNumber = (value) => typeof value === 'number' || typeof value === 'bigint'

function equal(one, other) {
  // Numbers by value, whether or not they are bigints; nothing is null.
  if (isNumber(one) && isNumber(other)) return one == other
  return (one ?? null) === (other ?? null)
}

function ascends(one, following) {
  const alike = (isNumber(one) && isNumber(following)) || (typeof one === 'string' && typeof following === 'string')
  return alike && one < following
}

/** Whether every pattern can have an element of its own: a matching in a bipartite graph. */
function assigned(patterns, elements) {
  const holder = new Map()
  const fits = patterns.map((pattern) => elements.flatMap((element, at) => (difference(pattern, element) === undefined ? [at] : [])))
  const place = (pattern, tried) =>
    fits[pattern].some((at) => {
      if (tried.has(at)) return false
      tried.add(at)
      if (holder.has(at) && !place(holder.get(at), tried)) return false
      holder.set(at, pattern)
      return true
    })
  return patterns.every((_, pattern) => place(pattern, new Set()))
}
