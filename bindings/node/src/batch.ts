import type { Group } from './group.js'
import { Lease, type Settled } from './lease.js'
import type { RetryOptions } from './options.js'
import type { Rows } from './rows.js'

/** What settling no leases gives. */
const none = async (): Promise<[]> => []

/**
 * The leases of one fetch: an array of them that can do more. What `map`, `filter` and the like give are plain arrays.
 */
export class Batch<P = any> extends Array<Lease<P>> {
  static override get [Symbol.species](): ArrayConstructor {
    return Array
  }

  /** The payloads of the events, decoded. */
  payloads(): P[] {
    const payloads: P[] = []
    for (const lease of this) payloads.push(lease.event.payload)
    return payloads
  }

  /**
   * Acks all of them. Gives what became of each, in order; one that fails changes nothing for the others.
   *
   * @throws {RheoError} what keeps all of it from being done.
   */
  ack(): Promise<Settled[]> {
    return this[0]?.owner.ackMany(this) ?? none()
  }

  /** {@link ack}, at once. */
  ackSync(): Settled[] {
    return this[0]?.owner.ackManySync(this) ?? []
  }

  /** Retries all of them, with one reason and one delay in milliseconds. */
  retry(reason?: string, options?: Omit<RetryOptions, 'reason'>): Promise<Settled[]> {
    return this[0]?.owner.retryMany(this, { ...options, reason }) ?? none()
  }

  /** {@link retry}, at once. */
  retrySync(reason?: string, options?: Omit<RetryOptions, 'reason'>): Settled[] {
    return this[0]?.owner.retryManySync(this, { ...options, reason }) ?? []
  }

  /** Rejects all of them. */
  reject(reason?: string): Promise<Settled[]> {
    return this[0]?.owner.rejectMany(this, { reason }) ?? none()
  }

  /** {@link reject}, at once. */
  rejectSync(reason?: string): Settled[] {
    return this[0]?.owner.rejectManySync(this, { reason }) ?? []
  }

  /** Releases all of them. */
  release(): Promise<Settled[]> {
    return this[0]?.owner.releaseMany(this) ?? none()
  }

  /** {@link release}, at once. */
  releaseSync(): Settled[] {
    return this[0]?.owner.releaseManySync(this) ?? []
  }

  /** Renews all of them, to `leaseMs` milliseconds from now. What became of each: the lease itself, or its error. */
  renew(leaseMs?: number): Promise<(Lease<P> | Error)[]> {
    return this[0]?.owner.renewMany(this, { leaseMs }) as Promise<(Lease<P> | Error)[]> | undefined ?? none()
  }

  /** {@link renew}, at once. */
  renewSync(leaseMs?: number): (Lease<P> | Error)[] {
    return this[0]?.owner.renewManySync(this, { leaseMs }) as (Lease<P> | Error)[] | undefined ?? []
  }
}

/**
 * The leases of rows. A plain array that is given its class afterwards: making an object of a subclass of `Array` takes several times
 * as long. @internal
 */
export function batchOf<P>(owner: Group<P>, rows: Rows | undefined, holder = ''): Batch<P> {
  const leases: Lease<P>[] = []
  if (rows !== undefined) {
    for (let index = 0; index < rows.length; index++) leases.push(new Lease<P>(owner, rows, index, holder))
  }
  return Object.setPrototypeOf(leases, Batch.prototype) as Batch<P>
}
