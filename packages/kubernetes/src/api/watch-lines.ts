import { asObject, isObject } from '@berth/platform/kit/json.ts'
import type { ClusterApi, ClusterRequest } from './cluster-api.ts'
import { ClusterError, WatchExpired } from './cluster-error.ts'

/** One line of a watch. */
export interface WatchLine {
  readonly type: string
  readonly object: Readonly<Record<string, unknown>>
}

/** The largest object that etcd stores has 1.5 megabytes. */
const MAX_LINE = 4 * 1024 ** 2

/**
 * Yields the lines of a watch until the API server ends it.
 * @param silenceMs ends the watch if the API server says nothing for so long
 * @throws WatchExpired, ClusterError; the signal's reason
 */
export async function* watchLines(
  api: ClusterApi,
  request: ClusterRequest,
  silenceMs: number,
  signal: AbortSignal,
): AsyncGenerator<WatchLine> {
  const silent = new AbortController()
  const limit = () =>
    setTimeout(() => silent.abort(new ClusterError('a watch has been silent for too long')), silenceMs)
  let timer = limit()
  try {
    const body = await api.stream(request, AbortSignal.any([signal, silent.signal]))
    let left = ''
    for await (const chunk of body.setEncoding('utf8')) {
      clearTimeout(timer)
      timer = limit()
      const lines = `${left}${chunk}`.split('\n')
      left = lines.pop() ?? ''
      if (left.length > MAX_LINE) throw new ClusterError('a line of a watch is too long')
      for (const line of lines) if (line !== '') yield readLine(line)
    }
  } catch (error) {
    throw toClusterError(error, signal, silent.signal)
  } finally {
    clearTimeout(timer)
  }
}

function toClusterError(error: unknown, signal: AbortSignal, silent: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (silent.aborted) return silent.reason
  if (error instanceof ClusterError && error.status === 410) return new WatchExpired(error.message, { cause: error })
  if (error instanceof ClusterError || error instanceof WatchExpired) return error
  return new ClusterError('a watch was cut', { cause: error })
}

/** An API server that has begun to answer tells of an error as an object of the watch. */
function readLine(line: string): WatchLine {
  const value: unknown = JSON.parse(line)
  const { type, object } = asObject(value)
  if (typeof type !== 'string' || !isObject(object)) throw new ClusterError('not a line of a watch')
  if (type !== 'ERROR') return { type, object }
  const { code, message } = object
  if (code === 410) throw new WatchExpired(String(message))
  throw new ClusterError(`a watch ended: ${String(message)}`, { status: Number(code) })
}
