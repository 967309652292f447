// Generated from native/*.rs by scripts/native-types.mjs: change it there.

/** Rows with memory of their own: a text, words, payloads that are not in the text, another text. */
export type RowList = [text: string, words: ArrayBuffer | undefined, apart: Buffer[] | undefined, other: string | undefined]

/** Rows whose words may be in the shared memory: then they are the text, or a list without words. */
export type Rows = string | RowList

export interface NativeLibrary {
  readonly memory: ArrayBuffer
  open(url: string, options: string, telemetry: boolean): NativeInstance
  openLater(url: string, options: string, telemetry: boolean): Promise<NativeInstance>
  get(name: string): NativeInstance | undefined
  unwatch(number: number): void
  drain(): void
  hasFeature(name: string): boolean | undefined
  version(): string
}

export interface NativeInstance {
  call(operation: string, stream: string, group: string, text: string | undefined, options: string | undefined): unknown
  callLater(operation: string, stream: string, group: string, text: string | undefined, options: string | undefined): Promise<unknown>
  advanceClock(ms: number): bigint
  settleTexts(kind: number, reason: string | undefined, millis: number | undefined, tokens: string[]): unknown[] | undefined
  settleTextsLater(kind: number, reason: string | undefined, millis: number | undefined, tokens: string[]): Promise<unknown[] | undefined>
  stream(stream: string): NativeStream
  group(stream: string, group: string): NativeGroup
  producer(stream: string, group: string, options: string): NativeProducer
  consumer(stream: string, group: string, options: string): NativeProducer
  capabilities(): string
  blocking(): [boolean, boolean, boolean]
  instanceName(): string | undefined
  isClosed(): boolean
  isManual(): boolean
}

export interface NativeStream {
  append(text: string): void
  appendOne(payload: string | Uint8Array, isJson: boolean, id?: string, key?: string, type?: string, metadata?: string, timestamp?: bigint, partition?: number): Rows
  appendOneLater(payload: string | Uint8Array, isJson: boolean, id?: string, key?: string, type?: string, metadata?: string, timestamp?: bigint, partition?: number): Promise<RowList>
  appendList(list: string, count: number): ArrayBuffer | undefined
  appendItems(items: unknown[], shared: unknown[]): Rows
  appendItemsLater(items: unknown[], shared: unknown[]): Promise<RowList>
}

export interface NativeGroup {
  fetch(limit?: number, leaseMs?: number, consumerId?: string, partitions?: string): Rows | undefined
  fetchLater(limit?: number, leaseMs?: number, consumerId?: string, partitions?: string): Promise<RowList | number>
  fetchWaiting(limit: number | undefined, leaseMs: number | undefined, consumerId: string | undefined, partitions: string | undefined, waitMs: number, check: () => void): Rows | undefined
  settle(kind: number, reason?: string, millis?: number): bigint | undefined
  settleLater(kind: number, reason?: string, millis?: number): Promise<bigint | undefined>
  settleMany(kind: number, reason: string | undefined, millis: number | undefined, words: Int32Array, count: number, length: number): unknown[] | undefined
  settleManyLater(kind: number, reason: string | undefined, millis: number | undefined, words: Int32Array, count: number, length: number): Promise<unknown[] | undefined>
  settleTexts(kind: number, reason: string | undefined, millis: number | undefined, tokens: string[]): unknown[] | undefined
  settleTextsLater(kind: number, reason: string | undefined, millis: number | undefined, tokens: string[]): Promise<unknown[] | undefined>
  token(): string
  consumerId(): string
  watch(partitions?: string): number
}

export interface NativeProducer {
  take(most: number): Rows | undefined
  takeLater(most: number): Promise<RowList | number>
  begin(words: Int32Array, count: number): boolean[]
  complete(words: Int32Array, count: number, others?: unknown[]): void
  completeLater(words: Int32Array, count: number, others?: unknown[]): Promise<void>
  wasFired(): boolean
  cancelled(words: Int32Array, count: number): boolean[]
  confirm(leases: string[]): number
  inflightCount(): number
  isStopped(): boolean
  beginDrain(): void
  beginDrainLater(): Promise<void>
  endDrain(): void
  close(): void
  closeLater(): Promise<void>
  watch(): number
  leases(): NativeGroup
}
