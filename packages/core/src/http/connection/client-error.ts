import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type ErrorCode, errors } from '@berth/contract'

const codes: Readonly<Record<string, ErrorCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'request_header_fields_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'request_entity_too_large',
}

/**
 * Answers a connection whose bytes are not a request, or never became a complete one. If the connection still owes
 * another response, it is closed without an answer: the client would take the answer for the owed response.
 */
export function answerClientError(
  error: Error & { readonly code?: string },
  socket: Socket,
  owesAnother: boolean,
): void {
  // The client sent more after a request with `Connection: close`. The response to that request will close the
  // connection.
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
