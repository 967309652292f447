/// <reference types="node" />
/// <reference lib="esnext.disposable" />

export { Append } from './stream.js'
export { Batch } from './batch.js'
export { Event } from './event.js'
export { Group } from './group.js'
export { Instance } from './instance.js'
export { Lease } from './lease.js'
export { Consumer } from './consumer.js'
export { Producer } from './producer.js'
export { ACK, reject, RELEASE, retry } from './outcome.js'
export { RheoError } from './errors.js'
export { Stream } from './stream.js'
export { getInstance, hasFeature, open, openSync, version } from './open.js'

export type { RheoErrorCode, SettleClass } from './errors.js'
export type { Encoding, Metadata, Sequence } from './event.js'
export type { LeaseOrToken } from './group.js'
export type { Renewed, Settled } from './lease.js'
export type { BatchContext, BatchHandler, Context, Handler } from './consumer.js'
export type { NextOptions, ReadableOptions } from './producer.js'
export type { Ack, Outcome, Reject, Release, Retry } from './outcome.js'
export type { EndOptions } from './runtime.js'
export type {
  AppendOptions, BatchConsumerOptions, ConfirmOptions, ConsumerOptions, DeadLetterOptions, DiscardOptions, FetchNowOptions,
  FetchOptions, GroupOptions, GroupUpdate, OpenOptions, Operators, OrderBy, PageOptions, PartitionsOptions, ProducerOptions, QueryOptions, ReadOptions, RejectOptions, RenewOptions,
  ReplayOptions, ResetOptions, RetryOptions, Sequences, SharedOptions, StartOptions, StreamOptions, Time, TrimOptions,
} from './options.js'
export type { TelemetryMessage, TelemetryName } from './telemetry.js'
export type {
  Capabilities, DeadLetter, GroupInfo, Lag, Page, PartitionInfo, PartitionLag, StreamInfo,
} from './values.js'
