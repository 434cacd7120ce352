import { BerthConnectionError, BerthError, RepositoryNotListed } from '@berth/client'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { printable } from './text.ts'

/** A tool was called in a way that can be mended by calling it in another. */
export class ToolMisuse extends Error {
  override readonly name = 'ToolMisuse'
}

/**
 * Returns why a call failed, as a result that a model can act on.
 * @throws the failure, if it is none of the service's and none of the caller's
 */
export function refusalResult(failure: unknown): CallToolResult {
  const text = refusalText(failure)
  if (text === null) throw failure
  return { content: [{ type: 'text', text: printable(text) }], isError: true }
}

function refusalText(failure: unknown): string | null {
  if (failure instanceof ToolMisuse || failure instanceof RepositoryNotListed) return failure.message
  if (failure instanceof BerthConnectionError) return `The service cannot be reached: ${failure.message}`
  if (!(failure instanceof BerthError)) return null
  const { message, issues, requiredScope } = failure.fields
  const more = [
    ...(typeof message === 'string' ? [message] : []),
    ...(typeof requiredScope === 'string' ? [`the credential lacks ${requiredScope}`] : []),
    ...(Array.isArray(issues) ? [JSON.stringify(issues)] : []),
    ...(failure.retryAfterSeconds === null ? [] : [`try again in ${failure.retryAfterSeconds} s`]),
  ]
  return [`The service refused: ${failure.message}`, ...more].join('. ')
}
