import type { Log } from '@berth/platform/kit/log.ts'

export const silentLog: Log = { info() {}, warn() {}, error() {} }
