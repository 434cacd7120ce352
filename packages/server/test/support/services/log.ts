import type { Log } from '../../../src/kit/log.ts'

/** Says nothing. */
export const silentLog: Log = { info() {}, warn() {}, error() {} }
