// The same modules for `import`: one copy of everything, whichever way it is loaded.

export {
  ACK, Append, Batch, Consumer, Event, getInstance, Group, hasFeature, Instance, Lease, open, openSync, Producer, reject, RELEASE, retry, RheoError,
  Stream, version,
} from './index.js'
export type * from './index.js'
