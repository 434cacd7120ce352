import type { EventEmitter } from 'node:events'
import type { Command } from 'commander'

/** Returns the text of a command's help after its options: examples and remarks. */
export function textAfterHelp(command: Command): string {
  const shown: string[] = []
  // A command is an emitter, which its types leave out; help asks for this text by an event.
  const emitter = command as unknown as EventEmitter
  emitter.emit('afterHelp', { command, error: false, write: (text: string) => shown.push(text) })
  return shown.join('').replace(/^\n+|\s+$/g, '')
}
