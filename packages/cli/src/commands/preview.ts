import type { PortList } from '@berth/client'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import type { CommandIo } from '../io.ts'
import { openBrowser } from '../sign-in/open-browser.ts'
import { jsonLine, printable, printableLine } from '../terminal-text.ts'
import { bringingBack } from './lapsed-workspace.ts'

export interface PreviewOptions {
  readonly minutes: number
  readonly end?: boolean
  readonly json?: boolean
}

/** Pause between two looks at the ports. */
const pollMs = 500

/**
 * Keeps the sandbox of an idle Session running, with its environment's preview, and prints the address of what listens.
 * A sandbox that is gone is brought back first.
 */
export async function preview(
  sessionId: string,
  { minutes, end, json }: PreviewOptions,
  env: NodeJS.ProcessEnv,
  io: CommandIo,
): Promise<ExitCode> {
  const { client, stdout, stderr, connection } = io
  if (connection.origin.kind === 'key') {
    throw new UsageError(
      'a preview is for people, and this is an API key: sign in with `berth login`, and leave BERTH_API_KEY out',
    )
  }
  if (end) {
    const { preview } = await client.call('listPorts', { sessionId })
    if (preview === undefined) throw new Error('the session has no preview')
    await client.call('endTerminal', { terminalId: preview.terminalId })
    return exitCode.completed
  }
  const body = { previewMinutes: minutes, columns: 120 }
  await bringingBack(sessionId, io, () => client.call('openTerminal', { sessionId, body }))
  const [ports, port] = await listening(sessionId, io)
  const until = ports.preview?.endsAt ?? ''
  if (port === null) {
    if (ports.previewCommand === undefined && ports.preview !== undefined) {
      await stdout.line(
        json ? jsonLine(ports) : printableLine(`the sandbox runs until ${until}; nothing listens in it`),
      )
      return exitCode.completed
    }
    await stderr.write(printable(ports.preview?.output ?? ''))
    throw new Error(endOf(ports))
  }
  if (!ports.canPreview) {
    throw new Error(
      `port ${port} listens until ${until}, and this service has no domain for previews (BERTH_PREVIEW_DOMAIN)`,
    )
  }
  const { url } = await client.call('openPortPreview', { sessionId, port: String(port) })
  if (stdout.isTerminal) openBrowser(url, env)
  await stdout.line(json ? jsonLine({ ...ports, port, url }) : printableLine(url))
  if (!json)
    await stderr.line(printableLine(`berth: port ${port}, until ${until}; the address opens once, within a minute`))
  return exitCode.completed
}

/** Waits until the preview's port listens, or it is clear that none will. @returns the port; null if there is none */
async function listening(sessionId: string, io: CommandIo): Promise<readonly [PortList, number | null]> {
  const { client, stderr } = io
  for (let polls = 0; ; polls += 1) {
    const list = await client.call('listPorts', { sessionId })
    const { preview, previewCommand, ports, atRest } = list
    const [first] = ports
    const port = previewCommand?.port ?? first
    if (port !== undefined && ports.includes(port)) return [list, port]
    const isOver = preview === undefined || preview.state === 'exited' || preview.state === 'failed'
    const isIdle = previewCommand === undefined && preview?.state === 'running' && !atRest
    if (isOver || isIdle) return [list, first ?? null]
    if (polls === 4) await stderr.line(`berth: waiting for ${port === undefined ? 'a port' : `port ${port}`}`)
    await client.platform.sleep(pollMs)
  }
}

function endOf({ preview }: PortList): string {
  if (preview === undefined) return 'the preview has ended'
  if (preview.state === 'failed') return 'the preview could not be started'
  return `the preview's command ended ${preview.exitCode === null ? 'by a signal' : `with exit code ${preview.exitCode}`}`
}
