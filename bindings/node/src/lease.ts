import { inspect, type InspectOptions } from 'node:util'
import { safe, RowEvent, type Event } from './event.js'
import type { RheoError } from './errors.js'
import type { Group } from './group.js'
import type { RetryOptions } from './options.js'
import { dateOf, type Rows } from './rows.js'

/** What a renewal gives. */
export interface Renewed {
  /** When the lease expires now, rounded down to milliseconds. Informational: the store's own deadline counts. */
  readonly expiresAt: Date
  /** The same in microseconds since the Unix epoch: exact. */
  readonly expiresAtMicros: bigint
}

/** What became of one lease of many: nothing, when it was settled, or its error. */
export type Settled = undefined | RheoError

/**
 * A claim on one delivery until it expires, fenced by its lease id. A plain value: forgetting it settles nothing; the claim
 * ends by a settle or by expiry.
 */
export class Lease<P = any> implements Renewed {
  /** @internal */
  readonly owner: Group<P>
  /** @internal */
  readonly rows: Rows
  /** @internal */
  readonly index: number
  /** @internal */
  readonly holder: string
  /** @internal */
  renewedUntil: bigint | undefined
  private made: Event<P> | undefined

  /** @internal */
  constructor(owner: Group<P>, rows: Rows, index: number, holder: string, made?: Event<P>) {
    this.owner = owner
    this.rows = rows
    this.index = index
    this.holder = holder
    this.renewedUntil = undefined
    this.made = made
  }

  /** The event that is claimed. */
  get event(): Event<P> {
    return (this.made ??= new RowEvent<P>(this.owner.stream, this.rows, this.index))
  }

  /** The stream's name. */
  get stream(): string {
    return this.owner.stream
  }

  /** The group's name. */
  get group(): string {
    return this.owner.name
  }

  /** The fence: 32 hexadecimal digits. A new one at each claim, kept by a renewal. */
  get leaseId(): string {
    return this.rows.leaseId(this.index)
  }

  /** The store's own identity of the claim; the lease id where it has none. */
  get receipt(): string {
    return this.rows.receipt(this.index)
  }

  /** Who holds it. */
  get consumerId(): string {
    return this.holder
  }

  /** Which delivery of the event to the group this is, from 1. */
  get attempt(): number {
    return this.rows.attempt(this.index)
  }

  /** The duration asked for, in milliseconds. */
  get leaseMs(): number {
    return this.rows.leaseMs(this.index)
  }

  /** When it was claimed, rounded down to milliseconds. */
  get leasedAt(): Date {
    return dateOf(this.leasedAtMicros)
  }

  /** When it was claimed, in microseconds since the Unix epoch. */
  get leasedAtMicros(): bigint {
    return this.rows.leasedAt(this.index)
  }

  get expiresAt(): Date {
    return dateOf(this.expiresAtMicros)
  }

  get expiresAtMicros(): bigint {
    return this.renewedUntil ?? this.rows.expiresAt(this.index)
  }

  /** Printable text by which whoever reaches the same store can settle: it names the delivery and carries the fence. */
  get token(): string {
    return this.owner.tokenOf(this)
  }

  /**
   * Ends the claim: the work is done.
   *
   * @throws {RheoError} `ERR_RHEO_STALE_LEASE` when the delivery is not leased under this lease any more; see
   * {@link RheoError.settleClass} for what to conclude.
   */
  ack(): Promise<void> {
    return this.owner.ack(this)
  }

  /** {@link ack}, at once. */
  ackSync(): void {
    this.owner.ackSync(this)
  }

  /**
   * Gives the delivery back for another attempt after `delayMs` milliseconds; it becomes a dead letter at the group's
   * `maxAttempts`. At most 1 KiB of the reason is kept.
   */
  retry(reason?: string, options?: Omit<RetryOptions, 'reason'>): Promise<void> {
    return this.owner.retry(this, { ...options, reason })
  }

  /** {@link retry}, at once. */
  retrySync(reason?: string, options?: Omit<RetryOptions, 'reason'>): void {
    this.owner.retrySync(this, { ...options, reason })
  }

  /** Makes the delivery a dead letter. At most 1 KiB of the reason is kept. */
  reject(reason?: string): Promise<void> {
    return this.owner.reject(this, { reason })
  }

  /** {@link reject}, at once. */
  rejectSync(reason?: string): void {
    this.owner.rejectSync(this, { reason })
  }

  /** Gives the delivery back unworked: it is available at once, and the attempt does not count. */
  release(): Promise<void> {
    return this.owner.release(this)
  }

  /** {@link release}, at once. */
  releaseSync(): void {
    this.owner.releaseSync(this)
  }

  /** Extends the claim to `leaseMs` milliseconds from now (those it was made with when missing), and gives this lease. */
  renew(leaseMs?: number): Promise<Lease<P>> {
    return this.owner.renew(this, { leaseMs })
  }

  /** {@link renew}, at once. */
  renewSync(leaseMs?: number): Lease<P> {
    return this.owner.renewSync(this, { leaseMs })
  }

  /** What `JSON.stringify` takes. */
  toJSON(): Record<string, unknown> {
    const { leaseId, receipt, stream, group, event, consumerId, attempt, leaseMs, leasedAt, expiresAt, token } = this
    const [leasedAtMicros, expiresAtMicros] = [safe(this.leasedAtMicros), safe(this.expiresAtMicros)]
    return {
      leaseId, receipt, stream, group, event, consumerId, attempt, leaseMs, leasedAt, leasedAtMicros, expiresAt, expiresAtMicros, token,
    }
  }

  /** @internal */
  [inspect.custom](_depth: number, options: InspectOptions): string {
    const { leaseId, stream, group, attempt, leaseMs, expiresAt, event } = this
    return `Lease ${inspect({ leaseId, stream, group, attempt, leaseMs, expiresAt, event }, options)}`
  }
}
