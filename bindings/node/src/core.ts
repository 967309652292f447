// What the handles of one instance share: the native instance, what of it may wait, and who waits.

import type { NativeInstance } from './addon'

/** What kind of operation it is: what it may wait for. */
export type Kind = 'admin' | 'delivery' | 'read' | 'scan' | 'store'

/** What keeps the process alive, or not. */
export interface KeepsAlive {
  keepAlive(does: boolean): void
  /** The instance is about to be closed. */
  instanceCloses?(): void
}

/** An instance, as far as its handles need it. */
export class Core {
  readonly native: NativeInstance
  readonly isManual: boolean
  /** Whether appends, settles and fetches, and reads may wait for a device or a network. */
  readonly appendsBlock: boolean
  readonly deliveriesBlock: boolean
  readonly readsBlock: boolean
  readonly isDurable: boolean
  /** The waits and consumers that run, and whether they keep the process alive. */
  readonly waits = new Set<KeepsAlive>()
  keepsAlive = true

  constructor(native: NativeInstance) {
    this.native = native
    this.isManual = native.isManual()
    ;[this.appendsBlock, this.deliveriesBlock, this.readsBlock] = native.blocking()
    this.isDurable = (JSON.parse(native.capabilities()) as { guarantees: { durable: boolean } }).guarantees.durable
  }

  /** Calls an operation on this thread. */
  call(operation: string, stream = '', group = '', options?: string, text?: string): unknown {
    return this.native.call(operation, stream, group, text, options)
  }

  /** Calls an operation at once where it waits for nothing, else on a thread of the library. */
  async callLater(kind: Kind, operation: string, stream = '', group = '', options?: string, text?: string): Promise<unknown> {
    return this.mayBlock(kind)
      ? this.native.callLater(operation, stream, group, text, options)
      : this.native.call(operation, stream, group, text, options)
  }

  private mayBlock(kind: Kind): boolean {
    switch (kind) {
      case 'admin':
        return this.appendsBlock
      case 'delivery':
        return this.deliveriesBlock
      case 'read':
        return this.readsBlock
      case 'scan':
        // It may walk over all events there are, which no loop should have to wait for.
        return true
      case 'store':
        return this.isDurable || this.appendsBlock || this.readsBlock
    }
  }
}
