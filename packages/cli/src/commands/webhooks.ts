import { createWebhookEndpoints, type WebhookEndpoint, type WebhookEndpoints } from '@berth/client'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import type { CommandIo } from '../io.ts'
import { printTable } from '../table.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'
import { readFamilies } from '../webhooks/families.ts'
import { printFacts } from './facts.ts'

/** Options of every command on endpoints. */
export interface EndpointOptions {
  readonly app: string
  readonly installation: string
  readonly json?: boolean
}

/**
 * Returns the endpoints of the installation that the options name.
 * @throws UsageError if the caller is no person
 */
export function endpointsOf({ app, installation }: EndpointOptions, { connection }: CommandIo): WebhookEndpoints {
  const { authUrl, credential, origin } = connection
  if (authUrl === null) {
    const key = origin.kind === 'key' ? `the API key of ${origin.from} is` : 'this credential is'
    throw new UsageError(
      `people manage endpoints, and ${key} nobody's: sign in with \`berth login\`, and name the profile with --profile`,
    )
  }
  return createWebhookEndpoints({
    authUrl,
    appSlug: app,
    installationId: installation,
    credential,
    retry: { attempts: 3 },
  })
}

/** Lists endpoints in the order of their registration. */
export async function list(options: EndpointOptions, io: CommandIo): Promise<ExitCode> {
  const { stdout, stderr } = io
  const { endpoints } = await endpointsOf(options, io).list()
  if (options.json) for (const endpoint of endpoints) await stdout.line(jsonLine(endpoint))
  else if (endpoints.length === 0) await stderr.line('berth: the installation has no endpoints')
  else {
    const header = ['ENDPOINT', 'FAMILIES', 'LAST SUCCESS', 'LAST FAILURE', 'URL']
    await printTable(header, endpoints.map(endpointRow), stdout)
  }
  return exitCode.completed
}

function endpointRow({ id, url, families, lastSuccessAt, lastFailure }: WebhookEndpoint): readonly string[] {
  const failure = lastFailure === undefined ? '-' : `${lastFailure.at} ${lastFailure.status ?? lastFailure.error ?? ''}`
  return [id, families.join(','), lastSuccessAt ?? '-', failure, url]
}

/** Registers an endpoint, and prints its secret. */
export async function add(
  url: string,
  options: EndpointOptions & { readonly families?: string },
  io: CommandIo,
): Promise<ExitCode> {
  const { stdout } = io
  const families = readFamilies(options.families)
  const { endpoint, secret } = await endpointsOf(options, io).register({ url, families })
  if (options.json) {
    await stdout.line(jsonLine({ endpoint, secret }))
    return exitCode.completed
  }
  const facts = [
    ['Endpoint', endpoint.id],
    ['URL', endpoint.url],
    ['Families', endpoint.families.join(', ')],
    ['Secret', secret],
  ] as const
  await printFacts(facts, stdout)
  await stdout.line(`
The secret is shown this once. Give it to the receiver, which verifies the Svc-Signature of every delivery with it
(verifyWebhook of the client package does). Then try it:
  berth webhooks ping ${printableLine(endpoint.id)} --app ${options.app} --installation ${options.installation}`)
  return exitCode.completed
}

/** Deletes an endpoint. */
export async function remove(endpointId: string, options: EndpointOptions, io: CommandIo): Promise<ExitCode> {
  await endpointsOf(options, io).remove(endpointId)
  await io.stdout.line(options.json ? jsonLine({ id: endpointId }) : `endpoint ${endpointId} is gone`)
  return exitCode.completed
}
