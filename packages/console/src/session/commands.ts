/** A command that the engine reads in the first line of a message. */
export interface Command {
  readonly line: string
  readonly what: string
}

const commands: readonly Command[] = [
  { line: '/plan', what: 'Propose a plan first, and wait until you approve it' },
  { line: '/compact', what: 'Shorten the conversation to a summary, and go on' },
  { line: '/clear', what: 'Forget the conversation; the files stay' },
]

/**
 * Returns the commands that a message may be the beginning of; none once its first line is whole.
 * @param runtime absent for the native one, which alone reads commands
 */
export function commandsFor(text: string, runtime: string | undefined): readonly Command[] {
  if ((runtime ?? 'native') !== 'native' || !text.startsWith('/')) return []
  return commands.filter(({ line }) => line.startsWith(text) && line !== text)
}
