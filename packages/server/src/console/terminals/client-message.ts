import { isTerminalSize, type TerminalSize } from '@berth/supervisor/terminals'

/** Most output that a client may ask for beyond the output that it has shown. */
const MAX_CREDIT = 4 * 1024 * 1024

/**
 * The messages that the page sends as text; input comes as bytes. `open` comes first: the size of the window, and how many bytes
 * of output it takes. `credit` lets as many more come.
 */
export type ClientMessage =
  | { readonly open: TerminalSize & { readonly credit: number } }
  | { readonly resize: TerminalSize }
  | { readonly credit: number }

/** Reads a message of the page. @returns null if it is none */
export function parseClientMessage(text: string): ClientMessage | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  const { open, resize, credit } = value as { open?: { credit?: unknown }; resize?: unknown; credit?: unknown }
  if (isTerminalSize(resize)) return { resize: { columns: resize.columns, rows: resize.rows } }
  if (isCredit(credit)) return { credit }
  if (isTerminalSize(open) && isCredit(open.credit)) {
    return { open: { columns: open.columns, rows: open.rows, credit: open.credit } }
  }
  return null
}

const isCredit = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= MAX_CREDIT

/** Why a terminal stops at the page. */
export type TerminalStop =
  | 'exited'
  | 'closed'
  | 'failed'
  | 'workspace_lost'
  /** The person is signed out, no member any more, or the organization lost access. */
  | 'access_ended'
  /** Another window has it now. */
  | 'moved'
  /** The page broke the protocol. */
  | 'protocol'
