import { UpstreamError } from '../../kit/upstream-error.ts'

/** 400 for a field that means nothing to the selected model, or is not what it must be (interface 4.12). */
export function refuse(param: string, message: string, cause?: unknown): UpstreamError {
  return new UpstreamError({ status: 400, code: 'invalid_request', message, param, cause })
}
