// The same modules for `import`: one copy of everything, whichever way it is loaded.

export { Append, Batch, Event, getInstance, Group, hasFeature, Instance, Lease, open, openSync, RheoError, Stream, version } from './index.js'
export type * from './index.js'
