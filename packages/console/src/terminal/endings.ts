import type { EndReason } from './wire.ts'

/** Ends of a terminal in words; `again` names the button that opens one in its place, where that can work. */
export const endings: Readonly<Record<EndReason, { readonly text: string; readonly again?: string }>> = {
  exited: { text: 'The shell has ended.', again: 'New terminal' },
  closed: { text: 'The terminal was ended.', again: 'New terminal' },
  failed: { text: 'The sandbox could not make a terminal.', again: 'Try again' },
  workspace_lost: { text: 'The sandbox has gone to sleep, and its terminals with it. Its files are saved.' },
  access_ended: { text: 'You are signed out, or no longer a member here.' },
  moved: { text: 'Another window has this terminal now.', again: 'Take it back' },
  protocol: { text: 'The connection broke off.', again: 'Reconnect' },
}
