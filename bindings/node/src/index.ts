/// <reference types="node" />
/// <reference lib="esnext.disposable" />

export { Append } from './stream.js'
export { Batch } from './batch.js'
export { Event } from './event.js'
export { Group } from './group.js'
export { Instance } from './instance.js'
export { Lease } from './lease.js'
export { RheoError } from './errors.js'
export { Stream } from './stream.js'
export { getInstance, hasFeature, open, openSync, version } from './open.js'

export type { RheoErrorCode, SettleClass } from './errors.js'
export type { Encoding, Metadata, Sequence } from './event.js'
export type { LeaseOrToken } from './group.js'
export type { Renewed, Settled } from './lease.js'
export type {
  AppendOptions, ConfirmOptions, DeadLetterOptions, DiscardOptions, FetchNowOptions, FetchOptions, GroupOptions, GroupUpdate,
  OpenOptions, Operators, OrderBy, PageOptions, PartitionsOptions, QueryOptions, ReadOptions, RejectOptions, RenewOptions,
  ReplayOptions, ResetOptions, RetryOptions, Sequences, SharedOptions, StartOptions, StreamOptions, Time, TrimOptions,
} from './options.js'
export type { TelemetryMessage, TelemetryName } from './telemetry.js'
export type {
  Capabilities, DeadLetter, GroupInfo, Lag, Page, PartitionInfo, PartitionLag, StreamInfo,
} from './values.js'
