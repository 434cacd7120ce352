import { relative } from 'node:path'

/** Where a started service answers. */
export interface Welcome {
  readonly baseUrl: string
  readonly consoleUrl: string
  /** File with the development tenant's key and password; null if this deployment has none. */
  readonly developmentFile: string | null
}

/**
 * Returns the next steps that a service shows at the terminal once it is ready.
 * @param directory the current one, to which paths are shown relatively
 */
export function welcome({ baseUrl, consoleUrl, developmentFile }: Welcome, directory: string): string {
  const steps: [string, string][] = [
    ['console', `${consoleUrl}/sessions`],
    ['API', `${baseUrl}/v1/docs`],
  ]
  if (developmentFile !== null) {
    const near = relative(directory, developmentFile)
    const path = near.startsWith('..') ? developmentFile : near
    steps.push(
      ['sign in', `developer@localhost; the password and an API key are in ${path}`],
      ['try', `npx berth run --runtime shell --follow 'echo hello'`],
    )
  }
  return `\n${steps.map(([name, text]) => `  ${name.padEnd(9)}${text}\n`).join('')}\n`
}
