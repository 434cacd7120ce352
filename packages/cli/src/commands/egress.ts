import type { EgressHost } from '@berth/client'
import { formatBytes } from '@berth/client/transcript'
import { type ExitCode, exitCode } from '../exit-code.ts'
import type { CommandIo } from '../io.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'

/** Lists the hosts that a Session's sandboxes reached or were refused, the last one first. */
export async function egress(
  sessionId: string,
  { json }: { readonly json?: boolean },
  { client, stdout }: CommandIo,
): Promise<ExitCode> {
  const { hosts, others } = await client.call('getSessionEgress', { sessionId })
  for (const host of hosts) await stdout.line(json ? jsonLine(host) : printableLine(lineOf(host)))
  if (others !== undefined && !json) {
    await stdout.line(`further hosts  ${countsOf(others)}`)
  }
  return exitCode.completed
}

function lineOf(host: EgressHost): string {
  const uses = host.secrets.map(({ name, uses }) => `${name} ${uses}×`)
  return [
    `${host.host}:${host.port}`,
    countsOf(host),
    `${host.firstAt} to ${host.lastAt}`,
    ...(host.lastReason === undefined ? [] : [`last refusal: ${host.lastReason}`]),
    ...(uses.length === 0 ? [] : [`secrets: ${uses.join(', ')}`]),
  ].join('  ')
}

function countsOf({
  reached,
  refused,
  sentBytes,
  receivedBytes,
}: Pick<EgressHost, 'reached' | 'refused' | 'sentBytes' | 'receivedBytes'>): string {
  return `reached ${reached}×, refused ${refused}×, sent ${formatBytes(sentBytes)}, received ${formatBytes(receivedBytes)}`
}
