import { type BerthClient, BerthError, type Environment, type EnvironmentRevision } from '@berth/client'
import { UsageError } from '../failure.ts'
import { findFile, isUuid } from './environment-file.ts'

const pageMax = 100

/** Lists environments of every page. */
export async function* readEnvironments(
  client: BerthClient,
  filter: { readonly archived?: 'true' | 'only' } = {},
): AsyncGenerator<Environment> {
  yield* client.items('listEnvironments', { query: { ...filter, limit: pageMax } })
}

/**
 * Finds an environment by its id or its name; a live one is preferred to an archived one of the same name.
 * @throws UsageError if there is none, or if several archived ones have the name
 */
export async function findEnvironment(client: BerthClient, named: string): Promise<Environment> {
  const byId = isUuid(named) ? await findById(client, named) : null
  if (byId !== null) return byId
  const wanted = fold(named)
  const found: Environment[] = []
  for await (const environment of readEnvironments(client, { archived: 'true' })) {
    if (fold(environment.name) === wanted) found.push(environment)
  }
  const live = found.find(({ archivedAt }) => archivedAt === null)
  if (live !== undefined) return live
  const [only, second] = found
  if (only === undefined) {
    throw new Error(`this organization has no environment ${named}; \`berth env list --archived\` lists all of them`)
  }
  if (second === undefined) return only
  throw new UsageError(`several archived environments are named ${named}: ${found.map(({ id }) => id).join(', ')}`)
}

/**
 * Finds the environment that the command line names, or else the one that the file in this directory is of.
 * @throws UsageError if neither names one
 */
export async function findNamedOrFiled(
  client: BerthClient,
  named: string | undefined,
  path: string,
): Promise<Environment> {
  const name = named ?? (await findFile(path))?.id
  if (name === undefined) throw new UsageError(`name an environment: there is no ${path} with the id of one`)
  return findEnvironment(client, name)
}

/** Reads one revision; null if there is none of this number. */
export async function findRevision(
  client: BerthClient,
  id: string,
  revision: number,
): Promise<EnvironmentRevision | null> {
  const { revisions } = await client.call('listEnvironmentRevisions', {
    environmentId: id,
    query: { before: revision + 1, limit: 1 },
  })
  return revisions.find(each => each.revision === revision) ?? null
}

/** Reads an environment; null if the organization has none of this id. */
export async function findById(client: BerthClient, id: string): Promise<Environment | null> {
  try {
    return (await client.call('getEnvironment', { environmentId: id })).environment
  } catch (failure) {
    if (failure instanceof BerthError && failure.code === 'environment_not_found') return null
    throw failure
  }
}

/** Returns the form in which the service compares names. */
const fold = (name: string): string => name.normalize('NFC').toLowerCase()
