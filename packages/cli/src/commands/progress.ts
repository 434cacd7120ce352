import type { CommandIo } from '../io.ts'

/** Returns a function that tells a person which step is pending. Programs read only the outcome. */
export function progress({ stderr }: CommandIo, json: boolean): (step: string) => Promise<void> {
  return async step => {
    if (stderr.isTerminal && !json) await stderr.line(stderr.paint('dim', `berth: ${step}\u2026`))
  }
}
