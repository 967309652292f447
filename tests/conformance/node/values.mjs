// References and generated values: what an object with a `$` name stands for in a scenario. JSON with exact integers: what is
// beyond 2⁵³ is a bigint.

/** Where the clock of every scenario starts, in microseconds since the Unix epoch. */
export const CLOCK_START = 1_700_000_000_000_000

/** Each form, and what may stand beside it. */
const FORMS = {
  $ref: [],
  $time: [],
  $integer: [],
  $index: [],
  $concat: [],
  $unique: [],
  $repeat: ['count'],
  $generate: ['count'],
  $slice: ['from', 'to', 'step'],
  $token: ['stream', 'group', 'partition', 'sequence', 'lease_id', 'receipt', 'lease_ms'],
}

const TOKEN_PREFIX = 'rheo1.'

/** A mistake in the scenario itself. */
export class Mistake extends Error {}

/** What the scenario needs and this surface or store lacks. */
export class Lacking extends Error {}

export const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

/** An integer as the smallest of number and bigint that is exact. */
export function exact(integer) {
  const number = Number(integer)
  return Number.isSafeInteger(number) ? number : BigInt(integer)
}

/** Puts everything in. Names that stand for nothing here (matchers) stay. `context` is `{saved, unique, index}`. */
export function resolve(context, value) {
  if (Array.isArray(value)) return value.map((element) => resolve(context, element))
  if (!isObject(value)) return value
  const name = Object.keys(value).find((name) => Object.hasOwn(FORMS, name))
  if (name === undefined) {
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, resolve(context, field)]))
  }
  const { [name]: operand, ...beside } = value
  const strange = Object.keys(beside).filter((other) => !FORMS[name].includes(other))
  if (strange.length > 0) throw new Mistake(`${shown(value)}: ${strange} does not belong there`)
  return made(context, name, operand, beside)
}

function made(context, name, operand, beside) {
  switch (name) {
    case '$ref':
      return reference(context, operand)
    case '$time':
      return CLOCK_START + operand * 1000
    case '$integer':
      return exact(operand)
    case '$index':
      if (context.index === undefined) throw new Mistake('there is no loop around $index')
      return context.index + operand
    case '$concat':
      return resolve(context, operand).map(String).join('')
    case '$unique':
      return `${operand}-${context.unique}`
    case '$repeat':
      return operand.repeat(beside.count)
    case '$generate':
      return Array.from({ length: beside.count }, (_, index) => resolve({ ...context, index }, operand))
    case '$slice': {
      const { from = 0, to, step = 1 } = beside
      const whole = resolve(context, operand)
      if (typeof whole === 'string') return Array.from(whole).slice(from, to).join('')
      return whole.slice(from, to).filter((_, at) => at % step === 0)
    }
    default:
      return tokenText({ ...tokenParts(resolve(context, operand).token), ...resolve(context, beside) })
  }
}

function reference({ saved }, path) {
  const [name, ...parts] = path.split('.')
  if (!(name in saved)) throw new Mistake(`nothing was saved as ${name}`)
  return parts.reduce((value, part) => {
    if (value === null || typeof value !== 'object' || !(part in value)) throw new Mistake(`there is no ${path}`)
    return value[part]
  }, saved[name])
}

/** What the text of a token says; ../README.md describes the bytes. */
export function tokenParts(token) {
  const content = Buffer.from(token.slice(TOKEN_PREFIX.length), 'base64url').subarray(0, -4)
  const parts = {
    partition: content.readUInt32LE(0),
    sequence: content.readBigUInt64LE(4),
    lease_ms: content.readBigUInt64LE(12),
    lease_id: content.subarray(20, 36).toString('hex'),
  }
  let rest = content.subarray(36)
  for (const name of ['stream', 'group']) {
    parts[name] = rest.subarray(1, 1 + rest[0]).toString()
    rest = rest.subarray(1 + rest[0])
  }
  return { ...parts, receipt: rest.toString() }
}

/** The token that says this. */
export function tokenText(parts) {
  const head = Buffer.alloc(36)
  head.writeUInt32LE(Number(parts.partition), 0)
  head.writeBigUInt64LE(BigInt(parts.sequence), 4)
  head.writeBigUInt64LE(BigInt(parts.lease_ms), 12)
  head.write(parts.lease_id, 20, 'hex')
  const names = [parts.stream, parts.group].map((name) => Buffer.from(name))
  const content = Buffer.concat([head, ...names.flatMap((name) => [Buffer.of(name.length), name]), Buffer.from(parts.receipt)])
  let sum = 0x811c9dc5
  for (const byte of content) sum = Math.imul(sum ^ byte, 0x01000193)
  const end = Buffer.alloc(4)
  end.writeInt32LE(sum)
  return TOKEN_PREFIX + Buffer.concat([content, end]).toString('base64url')
}

/** A value as JSON, integers exact. */
export function compact(value) {
  if (typeof value === 'bigint') return value.toString()
  if (Array.isArray(value)) return `[${value.map(compact)}]`
  if (!isObject(value)) return JSON.stringify(value) ?? 'null'
  return `{${Object.entries(value).map(([name, field]) => `${JSON.stringify(name)}:${compact(field)}`)}}`
}

/** A value as text for people, cut where a reader would stop. */
export function shown(value, most = 600) {
  const text = compact(value)
  return text.length <= most ? text : `${text.slice(0, most)}… (${text.length} characters)`
}
