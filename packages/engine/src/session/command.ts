/** A command for the engine itself at the head of a message, and the rest of the message. */
export interface Command {
  readonly command: 'plan' | 'compact' | 'clear' | null
  readonly text: string
}

/** Reads `/plan`, `/compact` or `/clear` if it is the whole first line; anything else goes to the model verbatim. */
export function readCommand(message: string): Command {
  const end = message.indexOf('\n')
  const line = (end === -1 ? message : message.slice(0, end)).trimEnd()
  const rest = end === -1 ? '' : message.slice(end + 1)
  switch (line) {
    case '/plan':
      return { command: 'plan', text: rest }
    case '/compact':
      return { command: 'compact', text: rest }
    case '/clear':
      return { command: 'clear', text: rest }
    default:
      return { command: null, text: message }
  }
}
