import type { TerminalTicket } from '@berth/contract'

/** Output that the service may send ahead of the screen. */
export const CREDIT_BYTES = 512 * 1024
/** Pasted text is sent in pieces of this size. */
const PIECE_BYTES = 32 * 1024

/** Why the service ended a terminal, as it says it. */
export type EndReason = 'exited' | 'closed' | 'failed' | 'workspace_lost' | 'access_ended' | 'moved' | 'protocol'

/** A control message of the service. */
export type ControlMessage =
  | { readonly ready: { readonly scrollback: number } }
  | { readonly ended: { readonly reason: EndReason; readonly code: number | null } }

/** Opens the WebSocket of a ticket, always at this page's own origin. */
export function openSocket({ terminalId, ticket }: TerminalTicket): WebSocket {
  const url = new URL(`/cloud/terminals/${terminalId}`, location.href)
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  const socket = new WebSocket(url, ['berth.terminal.v1', `ticket.${ticket}`])
  socket.binaryType = 'arraybuffer'
  return socket
}

/** Sends typed or pasted bytes. */
export function sendInput(socket: WebSocket, bytes: Uint8Array<ArrayBuffer>): void {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) socket.send(bytes.subarray(at, at + PIECE_BYTES))
}
