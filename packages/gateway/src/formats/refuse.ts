import { UpstreamError } from '@berth/platform/kit/upstream-error.ts'

/** Returns a 400 for a field that the selected model does not support, or that is malformed. */
export function refuse(param: string, message: string, cause?: unknown): UpstreamError {
  return new UpstreamError({ status: 400, code: 'invalid_request', message, param, cause })
}
