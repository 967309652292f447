// The package of this repository.

export * from '../../../bindings/node/dist/index.mjs'
