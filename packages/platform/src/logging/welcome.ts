import { relative } from 'node:path'

/** Where a started service answers. */
export interface Welcome {
  readonly baseUrl: string
  readonly consoleUrl: string
  /** File with the development tenant's key and password; null if this deployment has none. */
  readonly developmentFile: string | null
  /** Directory of the command `berth` that the PATH does not have yet; null if it has. */
  readonly commandDirectory: string | null
}

/**
 * Returns the next steps that a service shows at the terminal once it is ready. In a second terminal, in the same directory,
 * each command works as it stands there.
 * @param directory the current one, to which paths are shown relatively
 */
export function welcome(
  { baseUrl, consoleUrl, developmentFile, commandDirectory }: Welcome,
  directory: string,
): string {
  const steps: (readonly [string, string])[] = [
    ['console', `${consoleUrl}/sessions`],
    ['API', `${baseUrl}/v1/docs`],
  ]
  if (developmentFile !== null) {
    const near = relative(directory, developmentFile)
    const path = near.startsWith('..') ? developmentFile : near
    steps.push(
      ['sign in', `developer@localhost; the password and an API key are in ${path}`],
      ...(commandDirectory === null ? [] : [['command', `export PATH="${commandDirectory}:$PATH"`] as const]),
      ['try', `berth run --runtime shell --follow 'echo hello'`],
      ['check', 'berth doctor'],
      ['read on', 'docs/quickstart.md'],
    )
  }
  return `\n${steps.map(([name, text]) => `  ${name.padEnd(9)}${text}\n`).join('')}\n`
}
