import { BerthError } from '@berth/client'
import type { CredentialOrigin } from '../connection.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import type { CommandIo } from '../io.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'
import { printFacts } from './facts.ts'

/** Prints who the service says the caller is, and with which credential. */
export async function whoami({ json }: { readonly json?: boolean }, io: CommandIo): Promise<ExitCode> {
  const { client, connection, stdout } = io
  const { url: deployment, origin: credential } = connection
  const me = await client.call('getMe').catch(async (failure: unknown) => {
    // The service answers this to people alone. If the key is good for anything, it tells its capabilities.
    if (credential.kind === 'key' && failure instanceof BerthError && failure.status === 401) return null
    throw failure
  })
  if (me === null) {
    const { capabilities } = await client.call('getCapabilities')
    if (json) await stdout.line(jsonLine({ user: null, capabilities, deployment, credential }))
    else {
      await stdout.line('an integration, by its API key\n')
      await printFacts([['Deployment', deployment], ...described(credential, capabilities)], stdout)
    }
    return exitCode.completed
  }
  const { user, organization, membership, capabilities } = me
  if (json) await stdout.line(jsonLine({ user, organization, membership, capabilities, deployment, credential }))
  else {
    await stdout.line(`${stdout.paint('bold', printableLine(user.name))} <${printableLine(user.email)}>\n`)
    const where = [`${organization.name}`, organization.id]
    await printFacts(
      [
        ['Organization', where],
        ['Role', membership.role],
        ['Deployment', deployment],
        ...described(credential, capabilities),
      ],
      stdout,
    )
  }
  return exitCode.completed
}

const described = (credential: CredentialOrigin, capabilities: readonly string[]) =>
  [
    ['Credential', credential.kind === 'profile' ? `profile ${credential.name}` : `API key of ${credential.from}`],
    ['Capabilities', capabilities.length === 0 ? 'none' : capabilities],
  ] as const
