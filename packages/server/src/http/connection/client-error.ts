import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type ErrorCode, errors } from '@berth/contract'

const codes: Readonly<Record<string, ErrorCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'request_header_fields_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'request_entity_too_large',
}

/**
 * Answers bytes that are no request, or never became a whole one (completions, Common rules). A connection that owes
 * another response is closed without a word: what is written now would be taken for that one.
 */
export function answerClientError(
  error: Error & { readonly code?: string },
  socket: Socket,
  owesAnother: boolean,
): void {
  // More was sent after a request that says it is the last. That one is answered, and the answer closes the connection.
  if (error.code === 'HPE_CLOSED_CONNECTION' && socket.writable && owesAnother) return
  if (error.code === 'ECONNRESET' || !socket.writable || owesAnother) {
    socket.destroy()
    return
  }
  const code = codes[error.code ?? ''] ?? 'malformed_request'
  const body = JSON.stringify({ error: code })
  const { status } = errors[code]
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
      'Content-Type: application/json; charset=utf-8',
      'Cache-Control: no-store',
      'Connection: close',
      `Content-Length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  )
}
