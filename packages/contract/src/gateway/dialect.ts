import type { GatewayOperation } from '../operation.ts'

/** The provider whose clients an operation of the gateway serves. */
export type Dialect = 'openai' | 'anthropic' | 'google'

/** The header, besides `Authorization`, in which a dialect's clients send their key. */
export const keyHeaders: Readonly<Record<Dialect, string | null>> = {
  openai: null,
  anthropic: 'x-api-key',
  google: 'x-goog-api-key',
}

/**
 * Returns the dialect that a client shows by its headers, where the path does not tell it. Null for OpenAI's clients,
 * which send no header of their own.
 */
export function dialectOfSender(headers: Readonly<Record<string, unknown>>): Dialect | null {
  if (headers['x-goog-api-key'] !== undefined) return 'google'
  return headers['anthropic-version'] === undefined ? null : 'anthropic'
}

/** Returns the dialect of a request to an operation of the gateway. */
export const gatewayDialect = (
  { dialect, shared }: GatewayOperation,
  headers: Readonly<Record<string, unknown>>,
): Dialect => (shared === true ? dialectOfSender(headers) : null) ?? dialect
