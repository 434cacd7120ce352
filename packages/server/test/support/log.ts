import type { Log } from '../../src/storage/log.ts'

/** Says nothing. */
export const silentLog: Log = { info() {}, warn() {}, error() {} }
