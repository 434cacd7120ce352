import type { Log } from '../../../src/kit/log.ts'

export const silentLog: Log = { info() {}, warn() {}, error() {} }
