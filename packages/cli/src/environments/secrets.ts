import { type BerthClient, BerthError, type Environment, ifRevision } from '@berth/client'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import type { CommandIo } from '../io.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'
import { findNamedOrFiled } from './find-environment.ts'
import type { FileOption } from './pull.ts'
import { readSecret } from './read-secret.ts'
import { type ExposureOptions, exposureOf, exposureText } from './secret-rule.ts'
import { printWarnings } from './show.ts'

export interface SecretOptions extends FileOption {
  readonly environment?: string
}

/** How often a write is tried anew if others write revisions at the same time. */
const tries = 5

/**
 * Writes a secret with a value from standard input or a hidden prompt, which is never printed, or changes how sandboxes
 * get it.
 */
export async function setSecret(
  name: string,
  options: SecretOptions & ExposureOptions,
  io: CommandIo,
): Promise<ExitCode> {
  const { client, stdout, stderr } = io
  const found = await findNamedOrFiled(client, options.environment, options.file)
  const exposure = exposureOf(
    name,
    options,
    found.secrets.find(secret => secret.name === name),
  )
  if (options.keepValue && Object.keys(exposure).length === 0) {
    throw new UsageError('--keep-value changes only how sandboxes get the secret: add --egress or --variable')
  }
  const value = options.keepValue ? undefined : await readSecret(name, io)
  if (value === null) return exitCode.cancelled
  const body = { ...exposure, ...(value !== undefined && { value }) }
  const environment = await onNewest(client, found, ({ id, revision }) =>
    client.call('putEnvironmentSecret', { environmentId: id, name, body, headers: ifRevision(revision) }),
  )
  const pin = environment.secrets.find(secret => secret.name === name)
  const { version } = pin ?? {}
  if (options.json) {
    const { exposure: exposed, egress } = pin ?? {}
    await stdout.line(jsonLine({ ...identity(environment), secret: name, version, exposure: exposed, egress }))
  } else {
    await stdout.line(
      printableLine(
        `wrote secret ${name}, version ${version}, of ${environment.name}, revision ${environment.revision}`,
      ),
    )
    if (pin?.egress !== undefined) await stdout.line(printableLine(`  ${exposureText(pin)}`))
    await printWarnings(
      { ...environment, warnings: environment.warnings.filter(({ path }) => path[1] === name) },
      stderr,
    )
  }
  return exitCode.completed
}

/** Lists the names of an environment's secrets with their versions, and how sandboxes get them. */
export async function listSecrets(options: SecretOptions, { client, stdout }: CommandIo): Promise<ExitCode> {
  const { secrets } = await findNamedOrFiled(client, options.environment, options.file)
  for (const secret of secrets) {
    await stdout.line(
      options.json
        ? jsonLine(secret)
        : printableLine(`${secret.name}  version ${secret.version}  ${exposureText(secret)}`),
    )
  }
  return exitCode.completed
}

export async function deleteSecret(name: string, options: SecretOptions, io: CommandIo): Promise<ExitCode> {
  const { client, stdout } = io
  const found = await findNamedOrFiled(client, options.environment, options.file)
  const existed = found.secrets.some(secret => secret.name === name)
  const environment = await onNewest(client, found, ({ id, revision }) =>
    client.call('deleteEnvironmentSecret', { environmentId: id, name, headers: ifRevision(revision) }),
  )
  const outcome = existed ? 'deleted' : 'there was no'
  if (options.json) await stdout.line(jsonLine({ ...identity(environment), secret: name, existed }))
  else
    await stdout.line(
      printableLine(`${outcome} secret ${name} of ${environment.name}, revision ${environment.revision}`),
    )
  return exitCode.completed
}

/** A write of a secret overwrites nothing else, so it is tried anew on the newest revision. */
async function onNewest(
  client: BerthClient,
  found: Environment,
  write: (newest: Environment) => Promise<{ readonly environment: Environment }>,
): Promise<Environment> {
  let newest = found
  for (let left = tries; ; left--) {
    try {
      return (await write(newest)).environment
    } catch (failure) {
      if (!(failure instanceof BerthError) || failure.code !== 'environment_conflict' || left <= 1) throw failure
      const { environment } = await client.call('getEnvironment', { environmentId: found.id })
      if (environment.revision === newest.revision) throw failure
      newest = environment
    }
  }
}

const identity = ({ id, name, revision }: Environment) => ({ id, name, revision })
